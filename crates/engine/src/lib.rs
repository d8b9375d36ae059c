//! The decisions of Ekiden, and nothing else: no clock, no socket, no text, no chance, no library.
//!
//! - [`Engine`] is shared: quarantines, cooldowns, seats, budgets, tallies.
//! - [`Call`] belongs to one task: its attempts, and the moment of commit.
//!
//! A driver does this and nothing more:
//!
//! ```text
//! loop {
//!     match call.poll_output() {
//!         Output::Effect(effect) => carry it out,
//!         Output::Settle         => engine.settle(now, &mut call),
//!         Output::Admit          => engine.admit(now, &mut call),
//!         Output::Wake(at, why)  => sleep until `at` or until an input comes; call.handle(now, input),
//!     }
//! }
//! ```
//!
//! After `settle`, `admit`, `answer`, `turn`, `release` it drains [`Engine::poll_notice`].
//! Every input and effect names its attempt; whatever comes from an attempt that is over is
//! ignored. The same inputs give the same decisions, natively and as WebAssembly: see [`trace`].
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod attempt;
mod breaker;
mod call;
mod choose;
pub mod class;
mod codec;
mod continuation;
mod deciding;
mod engine;
mod fact;
pub mod history;
mod ids;
mod judge;
mod moved;
mod pausing;
mod policy;
mod recorder;
mod rounds;
mod running;
mod seats;
mod seed;
mod settle;
mod shared;
mod sorted;
mod status;
#[cfg(test)]
mod tables;
mod time;
pub mod trace;
mod view;
mod waiting;

pub use attempt::{Beat, Clock, Finish};
pub use call::{
    AttemptInput, Call, CallSpec, Decision, Delivery, Effect, History, Input, LastWord, Output,
    Purpose, Repair, Seating, Start, Terminal, ToolCall, Why,
};
pub use choose::{Mode, Passed, Reason, WaitFor};
pub use class::{Class, Failure, Origin, Reach, Scope, Wait};
pub use continuation::{Cause, Continuation, Continue, NotContinued, TurnEnd, TurnStart};
pub use engine::{Engine, Grant};
pub use fact::{Fact, LiftedBy, Notice, OpenedBy, Place, Quarantine, Want};
pub use ids::{AttemptId, CallId, LeaseId, QueueId, RouteId, SessionId};
pub use judge::{Reaction, Retry, Then, Verdict, react};
pub use moved::{Behind, Moved};
pub use pausing::Whose;
pub use policy::{
    AllCooling, Candidate, ClassSet, Clocks, CommitOn, Continuing, Moves, OnOverflow, Policy,
    Presence, Queue, Switch,
};
pub use seats::{Holder, Ticket};
pub use settle::Release;
pub use shared::{Speed, Tally};
pub use status::{Health, RouteStatus, SessionStatus};
pub use time::{Day, Now};
pub use trace::Trace;
pub use view::{CandidateView, ParoleView, QuarantineView, SeatView, View};
