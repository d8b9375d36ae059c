//! The side that clients see, from its paths to its end: in process where that is enough, over
//! sockets where the claim is about sockets.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on says so; its helpers are no tests to the lint"
)]

mod admin;
mod api;
mod bodies;
mod bounds;
mod catalog;
mod ending;
mod events;
mod explaining;
mod guards;
mod languages;
mod lookup;
mod pause;
mod settings;
mod sockets;
mod support;
mod tokens;
