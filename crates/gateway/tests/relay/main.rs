//! Calls through the relay: in process, on scripted upstreams, in virtual time. Each rule on both
//! dialects, streamed and whole, unless it speaks of one alone.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::wildcard_enum_match_arm,
    clippy::disallowed_methods,
    reason = "a test that cannot go on says so, picks what it looks for, and times what it sees"
)]

mod amounts;
mod bodies;
mod choosing;
mod committing;
mod connections;
mod echoes;
mod faults;
mod many;
mod policies;
mod sockets;
mod stage;
mod telling;
mod torn;
mod waiting;
