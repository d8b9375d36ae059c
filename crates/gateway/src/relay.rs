//! One call from its arrival to its one whole answer or its one honest error.
//!
//! It refuses to decide: the engine does, and here is what carries it out. A call has no task of its
//! own: it runs while its answer is waited for and read, in the task of the client's connection. The
//! server drops the futures and bodies of clients that leave, and dropping a call is its end.

mod attempt;
mod client;
mod driver;
mod effects;
mod last_word;
mod notes;
mod outbound;
mod repair;
mod signatures;
mod start;
mod steps;
mod straight;
mod timer;

use std::future::poll_fn;
use std::sync::Arc;

use http::Response;

use crate::body::Body;
use crate::core::Core;
use crate::inbound::Inbound;

use client::Given;
use driver::Driver;
pub(crate) use straight::Told as ToldStraight;

impl Core {
    /// Relays a call. Status and headers are held until the first byte that is let through, or until
    /// keep-alives begin (G2). Dropping the future, or the body, is the client's leaving (R12). What is
    /// read ahead of the client is what is joined, at most 64 KB and an event (G14).
    pub async fn relay(self: &Arc<Self>, inbound: Inbound) -> Response<Body> {
        let dialect = inbound.dialect;
        let mut driver = Box::new(Driver::new(Arc::clone(self), inbound));
        match poll_fn(|cx| driver.poll(cx)).await {
            Given::Stream(response) => response.map(|()| Body::made(driver)),
            Given::Whole(response) => response.map(Body::whole),
            Given::Piece(_) | Given::End | Given::Cut => start::lost(dialect),
        }
    }
}
