//! Acts that depend on the request, and everything that is said, for those who check a gateway byte
//! for byte. It refuses to keep anything itself: a director that wants to know later remembers.

use std::fmt::Debug;

use bytes::Bytes;

use crate::act::Act;
use crate::log::End;

/// Chooses acts by what is asked, where a script only counts ([`crate::Upstream::directed`]).
///
/// It is called from the connections' own tasks, and none of them goes on before it returns.
pub trait Director: Debug + Send + Sync {
    /// The act for a request that was read.
    fn act(&self, asked: &Asked<'_>) -> Act;

    /// These bytes of an answer's body go out now, without HTTP's framing, as they are coded. The
    /// last ones may not arrive.
    fn says(&self, number: usize, part: &[u8]);

    /// The exchange is over; also for requests that could not be read, and had no act.
    fn ended(&self, number: usize, end: End);
}

/// A request as a director sees it.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// Its number, as in the log.
    pub number: usize,
    /// Its path and query, as sent.
    pub path: &'a str,
    /// Its headers in order: names in lower case, values as sent.
    pub headers: &'a [(String, String)],
    /// Its body as sent, without HTTP's framing.
    pub body: &'a Bytes,
}
