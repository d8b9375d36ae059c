//! The side that clients see, from its paths to its end: in process where that is enough, over
//! sockets where the claim is about sockets.

mod admin;
mod bodies;
mod ending;
mod guards;
mod lookup;
mod sockets;
mod support;
