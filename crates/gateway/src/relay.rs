//! One call from its arrival to its one whole answer or its one honest error.
//!
//! It refuses to decide: the engine does, and here is what carries it out. A call is a task of its
//! own, because the server drops the futures of clients that leave.

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

use std::sync::Arc;

use http::Response;
use tokio::sync::oneshot;

use crate::body::Body;
use crate::core::Core;
use crate::inbound::Inbound;

use client::Head;
use driver::Driver;
pub(crate) use straight::Told as ToldStraight;

/// What may wait for a client to read it, in bytes (G14).
const READ_AHEAD_BYTES_MAX: usize = 256 * 1024;

impl Core {
    /// Relays a call. Status and headers are held until the first byte that is let through, or until
    /// keep-alives begin (G2). Dropping the future, or the body, is the client's leaving (R12).
    pub async fn relay(self: &Arc<Self>, inbound: Inbound) -> Response<Body> {
        let (sender, body) = Body::stream(READ_AHEAD_BYTES_MAX);
        let (head, told) = oneshot::channel();
        let dialect = inbound.dialect;
        // In a box, or the task would hold it twice: as what it was given and as what it works on.
        let driver = Box::new(Driver::new(Arc::clone(self), inbound, head, sender));
        drop(self.tasks.spawn(driver.run()));
        match told.await {
            Ok(Head::Stream(response)) => response.map(|()| body),
            Ok(Head::Whole(response)) => response.map(Body::whole),
            Err(_) => start::lost(dialect),
        }
    }
}
