//! Connections that rest between two calls to one provider. It refuses to wait: there is one, or a
//! new one is made.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::Uri;
use tokio::time::sleep;

use crate::tasks::Tasks;
use crate::upstream::connect::{ConnectFault, Connector};

use super::request::Form;
use super::wire::Wire;

/// Connections that nobody has used for 25 to 50 s are closed. Most servers keep theirs a minute or
/// more; a shorter span here loses fewer races against them (R48).
const SWEEP: Duration = Duration::from_secs(25);
/// Sweeps that a resting connection outlives.
const SWEEPS_MAX: u8 = 1;
/// Connections that rest at most.
const RESTING_MAX: usize = 256;

/// The connections to one provider, all of which lead to the same host and port.
#[derive(Debug)]
pub(crate) struct Pool {
    connector: Connector,
    tasks: Tasks,
    resting: Mutex<Resting>,
}

/// Whether a connection that has carried a request may carry another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reuse {
    /// It may.
    May,
    /// A connection of its own (R48).
    Never,
}

#[derive(Debug, Default)]
struct Resting {
    /// The last one to rest is the last, and the first to be taken.
    wires: Vec<Rest>,
    swept: bool,
}

#[derive(Debug)]
struct Rest {
    wire: Wire,
    sweeps: u8,
}

impl Pool {
    pub(crate) fn new(connector: Connector, tasks: Tasks) -> Arc<Self> {
        Arc::new(Self { connector, tasks, resting: Mutex::default() })
    }

    /// A connection that rests and is not closed, as far as anybody knows.
    pub(super) fn take(&self) -> Option<Wire> {
        loop {
            let mut wire = self.resting().wires.pop()?.wire;
            if wire.is_quiet() {
                wire.begin();
                return Some(wire);
            }
        }
    }

    /// A new connection.
    pub(super) async fn connect(self: Arc<Self>, uri: Uri) -> Result<Wire, ConnectFault> {
        let opened = self.connector.clone().open(&uri).await?;
        let form = if opened.proxied { Form::Absolute } else { Form::Origin };
        Ok(Wire::new(opened.stream, form))
    }

    /// The connection rests until the next request.
    pub(super) fn put(self: &Arc<Self>, wire: Wire) {
        let mut resting = self.resting();
        if resting.wires.len() >= RESTING_MAX {
            return;
        }
        resting.wires.push(Rest { wire, sweeps: 0 });
        if !std::mem::replace(&mut resting.swept, true) {
            drop(resting);
            let pool = Arc::downgrade(self);
            drop(self.tasks.spawn(async move {
                loop {
                    sleep(SWEEP).await;
                    let Some(pool) = pool.upgrade() else { return };
                    if pool.sweep() == Left::Nothing {
                        return;
                    }
                }
            }));
        }
    }

    /// Closes what has rested long enough, and what the other side has closed.
    fn sweep(&self) -> Left {
        let mut resting = self.resting();
        resting.wires.retain_mut(|rest| {
            rest.sweeps += 1;
            rest.sweeps <= SWEEPS_MAX && rest.wire.is_quiet()
        });
        resting.swept = !resting.wires.is_empty();
        if resting.swept { Left::Some } else { Left::Nothing }
    }

    fn resting(&self) -> MutexGuard<'_, Resting> {
        // A panic between two lines loses a connection, nothing worse.
        self.resting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Left {
    Nothing,
    Some,
}
