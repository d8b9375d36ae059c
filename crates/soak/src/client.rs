//! A client in one call: it asks, reads as its plan says, and keeps every byte. It refuses to
//! repair, to retry an answer, and to judge.

use std::net::SocketAddr;

use tokio::time::{Instant, timeout_at};

use crate::clock;
use crate::plan::{Manner, Plan};
use crate::stage::Stage;
use crate::wire::{Broken, Conn, Head};

/// A client that stalls takes so much before it is read: what its system holds must not hide it.
const SMALL_BUFFER: u32 = 8 * 1024;

/// What a client got.
#[derive(Clone, Debug)]
pub(crate) struct Heard {
    pub(crate) head: Option<Head>,
    /// Without framing.
    pub(crate) body: Vec<u8>,
    pub(crate) end: HeardEnd,
    pub(crate) asked: Instant,
    pub(crate) first: Option<Instant>,
    pub(crate) over: Instant,
}

/// How it ended for the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HeardEnd {
    /// As the framing promised.
    Whole,
    /// The connection ended inside the body.
    Cut,
    /// The connection ended before there was a head.
    Nothing(String),
    /// What came is no HTTP.
    Odd(String),
    /// The client left.
    Left,
    /// Nothing came for longer than the client waits.
    Silence,
}

/// Makes a call. The connection is kept for the next one where that can be.
pub(crate) async fn call(
    stage: &Stage,
    addr: SocketAddr,
    plan: &Plan,
    kept: &mut Option<Conn>,
) -> Heard {
    let asked = clock::now();
    let mut heard = Heard {
        head: None,
        body: Vec::new(),
        end: HeardEnd::Whole,
        asked,
        first: None,
        over: asked,
    };
    let request = plan.request(&addr.to_string());
    let mut conn = kept.take().filter(Conn::is_free);
    loop {
        let reused = conn.is_some();
        let mut own = match conn.take() {
            Some(conn) => conn,
            None => match Conn::open(addr, receive_bytes(plan)).await {
                Ok(conn) => conn,
                Err(Broken::Gone(why) | Broken::Odd(why)) => {
                    heard.end = HeardEnd::Nothing(why);
                    break;
                }
            },
        };
        heard.end = converse(plan, &mut own, &request, &mut heard).await;
        // A connection that had been used may have been closed as we asked.
        let stale = reused && matches!(heard.end, HeardEnd::Nothing(_));
        let again = stale && !stage.is_asked(plan.number);
        if heard.end == HeardEnd::Left {
            stage.left(plan.number);
        }
        if heard.end == HeardEnd::Whole && own.is_free() && receive_bytes(plan).is_none() {
            *kept = Some(own);
        }
        if !again {
            break;
        }
    }
    heard.over = clock::now();
    heard
}

fn receive_bytes(plan: &Plan) -> Option<u32> {
    matches!(plan.manner, Manner::Stalls(..)).then_some(SMALL_BUFFER)
}

async fn converse(plan: &Plan, conn: &mut Conn, request: &[u8], heard: &mut Heard) -> HeardEnd {
    let leaves_at = match plan.manner {
        Manner::Leaves(after) => heard.asked + after,
        Manner::Reads | Manner::LeavesAfter(_) | Manner::Stalls(..) => heard.asked + plan.enough,
    };
    let silence_at = heard.asked + plan.patience;
    let leaves = matches!(plan.manner, Manner::Leaves(_)) && leaves_at <= silence_at;
    let asking = async {
        conn.send(request).await?;
        conn.head().await
    };
    match timeout_at(if leaves { leaves_at } else { silence_at }, asking).await {
        Ok(Ok(head)) => heard.head = Some(head),
        Ok(Err(Broken::Gone(why))) => return HeardEnd::Nothing(why),
        Ok(Err(Broken::Odd(why))) => return HeardEnd::Odd(why),
        Err(_) if leaves => return HeardEnd::Left,
        Err(_) => return HeardEnd::Silence,
    }
    read(plan, conn, heard, leaves_at).await
}

async fn read(plan: &Plan, conn: &mut Conn, heard: &mut Heard, leaves_at: Instant) -> HeardEnd {
    let mut stalled = false;
    loop {
        match plan.manner {
            Manner::LeavesAfter(bytes) if heard.body.len() >= bytes => return HeardEnd::Left,
            Manner::Stalls(bytes, span) if heard.body.len() >= bytes && !stalled => {
                stalled = true;
                tokio::time::sleep(span).await;
            }
            Manner::Reads | Manner::Leaves(_) | Manner::LeavesAfter(_) | Manner::Stalls(..) => {}
        }
        let silence_at = clock::now() + plan.patience;
        match timeout_at(leaves_at.min(silence_at), conn.part()).await {
            Ok(Ok(Some(part))) => {
                heard.first.get_or_insert_with(clock::now);
                heard.body.extend_from_slice(&part);
            }
            Ok(Ok(None)) => return HeardEnd::Whole,
            Ok(Err(Broken::Gone(_))) => return HeardEnd::Cut,
            Ok(Err(Broken::Odd(why))) => return HeardEnd::Odd(why),
            Err(_) if leaves_at <= silence_at => return HeardEnd::Left,
            Err(_) => return HeardEnd::Silence,
        }
    }
}
