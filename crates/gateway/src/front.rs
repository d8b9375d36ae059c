//! The side that clients see: an HTTP server that takes calls in, names and limits them.
//!
//! It refuses to relay, to retry and to judge: what it has read it hands to the core.

mod bind;
mod client;
mod coding;
mod guard;
mod intake;
mod io;
mod limits;
mod reply;
mod route;
mod session;

pub use bind::StartError;
pub(crate) use limits::{HeldBytes, OpenCall};
