//! Calls through the relay: in process, on scripted upstreams, in virtual time. Each rule on both
//! dialects, streamed and whole, unless it speaks of one alone.

mod bodies;
mod choosing;
mod committing;
mod connections;
mod faults;
mod stage;
mod telling;
mod waiting;
