//! Changes as server-sent events.
//!
//! It refuses to wait for a slow reader: it is told that it missed something, and one that reads
//! nothing at all is let go.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Response, header};
use schemars::JsonSchema;
use serde::Serialize;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use ekiden_config::Language;
use ekiden_engine::Speed;
use ekiden_store::{CallRow, Ending, Record};

use crate::body::{Body, BodySender};
use crate::changes::{Change, Opened, Read};
use crate::core::Core;
use crate::front::Front;
use crate::front::client::{language, text};
use crate::front::limits::Share;
use crate::front::serve::{Stage, reached};

use super::Answered;
use super::journal::{Line, PlaceNamed};
use super::ledger::AttemptLine;
use super::refusal::Refusal;
use super::shape::Today;

/// Who may look on at once.
pub(in crate::front) const READERS_MAX: u64 = 64;

/// What may wait for a reader, in bytes.
const AHEAD_BYTES_MAX: usize = 64 << 10;

/// Changes that are put into words at once.
const BATCH: usize = 64;

/// A reader that takes nothing for so long is let go; it resumes where it was.
const PATIENCE: Duration = Duration::from_secs(30);

/// So often something is said, lest somebody between takes the connection for dead.
const KEEP_ALIVE_EVERY: Duration = Duration::from_secs(15);

/// A change.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(in crate::front) enum Event {
    /// Something was missed: read the state anew.
    Reset,
    /// A journal entry.
    Journal(Line),
    /// A call came.
    CallOpened {
        call: Arc<str>,
        session: Arc<str>,
        agent: Option<Arc<str>>,
        queue: Arc<str>,
        began_ms: u64,
    },
    /// An attempt began or ended.
    Attempt(AttemptLine),
    /// A call is over.
    CallEnded(CallLine),
    /// A candidate produced output for a session.
    Verified(PlaceNamed),
    /// It failed since.
    Unverified(PlaceNamed),
    /// Today's attempts on a route.
    Tally { route: Arc<str>, today: Today },
    /// A session's speed on a route today.
    Speed { session: Arc<str>, route: Arc<str>, tokens: u64, ms: u64 },
    /// A seat was taken or given back.
    Seat {
        route: Arc<str>,
        /// The session's key, or the id of the call that holds it for itself alone.
        holder: Arc<str>,
        held: bool,
    },
    /// A queue was deleted.
    QueueDeleted { queue: Arc<str> },
    /// The settings are others: read them anew.
    Settings,
}

/// A call that is over.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "LedgerCall")]
pub(in crate::front) struct CallLine {
    call: Arc<str>,
    session: Arc<str>,
    queue: Arc<str>,
    began_ms: u64,
    took_ms: u64,
    attempts: u32,
    /// Whose answer the client got.
    route: Option<Arc<str>>,
    /// `whole`, `truncated`, `refused`, `broken`, `left` or `stopped`.
    state: &'static str,
}

impl Front {
    pub(super) fn events(&self, headers: &HeaderMap) -> Answered {
        let Some(place) = Share::of(&self.readers, 1) else {
            return Err(Box::new(Refusal::TooManyReaders(READERS_MAX)));
        };
        let changes = &self.core.changes;
        let from = match text(headers, "last-event-id") {
            None => From::After(changes.last()),
            Some(id) => match number(self.core.instance(), id) {
                Some(number) => From::After(number),
                None => From::Anew,
            },
        };
        let (sender, body) = Body::stream(AHEAD_BYTES_MAX);
        let core = Arc::clone(&self.core);
        let (stage, language) = (self.stage.clone(), language(headers));
        drop(self.core.tasks().spawn(async move {
            let _place = place;
            tell(core, sender, (from, language), stage).await;
        }));
        let mut response = Response::new(body);
        let kind = HeaderValue::from_static("text/event-stream");
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, kind);
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        Ok(response)
    }
}

/// Where a reader begins.
enum From {
    After(u64),
    /// It comes from another process, or names nothing.
    Anew,
}

/// The number in `INSTANCE-NUMBER`, if the instance is this one.
fn number(instance: &str, id: &str) -> Option<u64> {
    id.trim().strip_prefix(instance)?.strip_prefix('-')?.parse().ok()
}

async fn tell(
    core: Arc<Core>,
    sender: BodySender,
    (from, language): (From, Language),
    mut stage: watch::Receiver<Stage>,
) {
    let changes = &core.changes;
    let mut news = changes.watch();
    let mut at = match from {
        From::After(number) => number,
        // Beyond what there is: the first look finds a gap.
        From::Anew => u64::MAX,
    };
    sender.send(Bytes::from_static(b"retry: 1000\n\n"));
    loop {
        news.borrow_and_update();
        let (first, list) = match changes.after(at, BATCH) {
            Read::Gap(newest) => {
                at = newest;
                sender.send(frame(core.instance(), at, &Event::Reset));
                continue;
            }
            Read::Since(first, list) => (first, list),
        };
        if list.is_empty() {
            tokio::select! {
                () = sender.gone() => return,
                () = reached(&mut stage, Stage::Draining) => return sender.finish(),
                _ = news.changed() => {}
                () = sleep(KEEP_ALIVE_EVERY) => sender.send(Bytes::from_static(b": \n\n")),
            }
            continue;
        }
        for (number, change) in (first..).zip(&list) {
            at = number;
            if let Some(event) = Event::of(change, language) {
                sender.send(frame(core.instance(), number, &event));
            }
        }
        tokio::select! {
            room = timeout(PATIENCE, sender.ready()) => if room.is_err() { return },
            () = sender.gone() => return,
            () = reached(&mut stage, Stage::Draining) => return sender.finish(),
        }
    }
}

fn frame(instance: &str, number: u64, event: &Event) -> Bytes {
    let data = serde_json::to_string(event).unwrap_or_default();
    format!("id: {instance}-{number}\nevent: {}\ndata: {data}\n\n", event.kind()).into()
}

impl Event {
    /// `None`: nobody looks at it.
    fn of(change: &Change, language: Language) -> Option<Self> {
        match change {
            Change::Kept(record) => Self::of_record(record, language),
            Change::Opened(opened) => {
                let Opened { call, session, agent, queue, began_ms } = &**opened;
                Some(Self::CallOpened {
                    call: Arc::clone(call),
                    session: Arc::clone(session),
                    agent: agent.clone(),
                    queue: Arc::clone(queue),
                    began_ms: *began_ms,
                })
            }
            Change::Seat { route, holder, held } => {
                let (route, holder) = (Arc::clone(route), Arc::clone(holder));
                Some(Self::Seat { route, holder, held: *held })
            }
            Change::Settings => Some(Self::Settings),
        }
    }

    fn of_record(record: &Record, language: Language) -> Option<Self> {
        match record {
            Record::Journal(entry) => Some(Self::Journal(Line::of(entry, language))),
            Record::Attempt(row) => Some(Self::Attempt(AttemptLine::of(row))),
            Record::Call(row) => Some(Self::CallEnded(CallLine::of(row))),
            Record::Verified { place, .. } => Some(Self::Verified(PlaceNamed::of(place))),
            Record::Unverified { place } => Some(Self::Unverified(PlaceNamed::of(place))),
            Record::Tallied { route, tally, .. } => {
                Some(Self::Tally { route: Arc::clone(route), today: Today::of(*tally) })
            }
            Record::Sped { session, route, speed: Speed { tokens, speaking_ms }, .. } => {
                let (session, route) = (Arc::clone(session), Arc::clone(route));
                Some(Self::Speed { session, route, tokens: *tokens, ms: *speaking_ms })
            }
            Record::QueueDeleted { queue } => Some(Self::QueueDeleted { queue: Arc::clone(queue) }),
            Record::Quarantined { .. }
            | Record::Lifted { .. }
            | Record::Turned { .. }
            | Record::Catalog(_)
            | Record::CatalogForgotten { .. }
            | Record::Paused { .. }
            | Record::Resumed { .. } => None,
        }
    }

    /// As in its member `event`.
    const fn kind(&self) -> &'static str {
        match self {
            Self::Reset => "reset",
            Self::Journal(_) => "journal",
            Self::CallOpened { .. } => "call_opened",
            Self::Attempt(_) => "attempt",
            Self::CallEnded(_) => "call_ended",
            Self::Verified(_) => "verified",
            Self::Unverified(_) => "unverified",
            Self::Tally { .. } => "tally",
            Self::Speed { .. } => "speed",
            Self::Seat { .. } => "seat",
            Self::QueueDeleted { .. } => "queue_deleted",
            Self::Settings => "settings",
        }
    }
}

impl CallLine {
    fn of(row: &CallRow) -> Self {
        Self {
            call: Arc::clone(&row.call),
            session: Arc::clone(&row.session),
            queue: Arc::clone(&row.queue),
            began_ms: row.began_ms,
            took_ms: row.took_ms,
            attempts: row.attempts,
            route: row.route.clone(),
            state: match row.ending {
                Ending::Whole => "whole",
                Ending::Truncated => "truncated",
                Ending::Refused => "refused",
                Ending::Broken => "broken",
                Ending::Left => "left",
                Ending::Stopped => "stopped",
            },
        }
    }
}
