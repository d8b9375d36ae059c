//! What the stores promise, from outside.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod bounds;
mod conformance;
mod differs;
mod killed;
mod made;
mod restart;
mod schema;
mod secrets;
mod sizes;
