//! What each candidate is doing, as the gateway tells it. It refuses to assume: a bar grows while the
//! API says that an attempt is in flight, and what it became stands in the journal and the record.

use ekiden_engine::Class;
use serde_json::Value;

use crate::failure::Failure;
use crate::running::{Api, EntryTold};
use crate::terminal::Terminal;
use crate::why::{self, Consequence, Passing, Past, Step};

/// One lane for each candidate of a queue.
pub(super) struct Lanes {
    queue: &'static str,
    /// In the queue's order.
    pub(super) lanes: Vec<Lane>,
    /// How long the call has been running, in milliseconds.
    pub(super) elapsed_ms: u64,
    /// The newest entry of the journal before the call.
    since: u64,
}

/// One candidate.
pub(super) struct Lane {
    pub(super) route: String,
    pub(super) bars: Vec<Bar>,
    pub(super) note: Note,
}

/// A span of a candidate's time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Bar {
    pub(super) from_ms: u64,
    pub(super) to_ms: u64,
    pub(super) what: Doing,
}

/// What a candidate did in that span.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Doing {
    /// An attempt is in flight.
    Runs,
    /// An attempt that failed.
    Failed(Class),
    /// An attempt that answered.
    Answered,
    /// It was waited for.
    Waited,
}

/// What is written beside a lane.
#[derive(Clone, Debug)]
pub(super) enum Note {
    /// Nothing yet.
    Nothing,
    /// An attempt is in flight.
    Runs,
    /// It was passed over.
    Passed(Passing),
    /// It failed, and this was recorded.
    Judged { class: Class, entry: EntryTold, attempts: usize },
    /// It failed and nothing was recorded.
    Failed(Class),
    /// It answered, after so many attempts and a wait of so many milliseconds.
    Answered { attempts: usize, waited_ms: u64 },
}

impl Lanes {
    pub(super) fn new(queue: &'static str, routes: Vec<String>, since: u64) -> Self {
        let lane = |route| Lane { route, bars: Vec::new(), note: Note::Nothing };
        Self { queue, lanes: routes.into_iter().map(lane).collect(), elapsed_ms: 0, since }
    }

    /// Looks at the state and the journal as they are now.
    ///
    /// # Errors
    /// When the gateway does not answer.
    pub(super) async fn look(
        &mut self,
        terminal: &Terminal,
        api: &Api,
        elapsed_ms: u64,
    ) -> Result<(), Failure> {
        let state = api.state(terminal).await?;
        let journal = api.journal(terminal, None).await?;
        self.elapsed_ms = elapsed_ms;
        for lane in &mut self.lanes {
            let busy = in_flight(&state, self.queue, &lane.route) > 0;
            lane.grow(busy, elapsed_ms);
            let news = journal.iter().filter(|entry| entry.number > self.since);
            let judged = news
                .filter(|entry| entry.route.as_deref() == Some(&lane.route))
                .find(|entry| Consequence::of(entry).is_some());
            if let Some(entry) = judged
                && let Some(class) = entry.class.as_deref().and_then(Class::from_name)
            {
                let attempts = lane.bars.len();
                lane.finish(Doing::Failed(class), elapsed_ms);
                lane.note = Note::Judged { class, entry: entry.clone(), attempts };
            }
        }
        Ok(())
    }

    /// Takes everything from the call's record, now that it is over.
    ///
    /// # Errors
    /// When the gateway does not answer.
    pub(super) async fn settle(
        &mut self,
        terminal: &Terminal,
        api: &Api,
        call: &str,
    ) -> Result<(), Failure> {
        let past = why::past(terminal, api, call).await?;
        self.elapsed_ms = past.call.took_ms;
        for lane in &mut self.lanes {
            lane.bars.clear();
            lane.note = Note::Nothing;
        }
        let steps = past.steps();
        let mut last: Option<usize> = None;
        for step in &steps {
            match step {
                Step::Passed { route, passing, .. } => {
                    let lane = self.lanes.iter_mut().find(|lane| lane.route == *route);
                    if let Some(lane) = lane.filter(|lane| lane.bars.is_empty()) {
                        lane.note = Note::Passed(passing.clone());
                    }
                }
                Step::Waited { ms, at_ms, .. } => {
                    if let Some(lane) = last.and_then(|at| self.lanes.get_mut(at)) {
                        let (from_ms, to_ms) = (*at_ms, at_ms + ms);
                        lane.bars.push(Bar { from_ms, to_ms, what: Doing::Waited });
                    }
                }
                // It stands in the call's record; a lane has no place for it.
                Step::LeftOut { .. } => {}
                Step::Attempt(attempt) => {
                    last = self.lanes.iter().position(|lane| lane.route == attempt.route);
                    if let Some(lane) = last.and_then(|at| self.lanes.get_mut(at)) {
                        let from_ms = attempt.began_ms.saturating_sub(past.call.began_ms);
                        let what = attempt.class().map_or(Doing::Answered, Doing::Failed);
                        lane.bars.push(Bar { from_ms, to_ms: from_ms + attempt.took_ms, what });
                    }
                }
            }
        }
        for lane in &mut self.lanes {
            lane.conclude(&past);
        }
        Ok(())
    }
}

impl Lane {
    /// A bar grows, begins or stops growing.
    fn grow(&mut self, busy: bool, now_ms: u64) {
        match self.bars.last_mut() {
            Some(bar) if bar.what == Doing::Runs && busy => bar.to_ms = now_ms,
            Some(_) | None if busy => {
                self.bars.push(Bar { from_ms: now_ms, to_ms: now_ms, what: Doing::Runs });
                self.note = Note::Runs;
            }
            Some(_) | None => {}
        }
    }

    fn finish(&mut self, what: Doing, now_ms: u64) {
        if self.bars.is_empty() {
            // It was over between two looks.
            self.bars.push(Bar { from_ms: now_ms, to_ms: now_ms, what });
        }
        for bar in self.bars.iter_mut().filter(|bar| bar.what == Doing::Runs) {
            bar.what = what;
        }
    }

    /// The note that the whole of a call leaves.
    fn conclude(&mut self, past: &Past) {
        let attempts = self.bars.iter().filter(|bar| bar.what != Doing::Waited).count();
        let waits = self.bars.iter().filter(|bar| bar.what == Doing::Waited);
        let waited_ms = waits.map(|bar| bar.to_ms - bar.from_ms).sum();
        let recorded = past.recorded(&self.route).next();
        match (self.bars.last().map(|bar| bar.what), recorded) {
            (Some(Doing::Answered), _) => self.note = Note::Answered { attempts, waited_ms },
            (Some(Doing::Failed(class)), Some(entry)) => {
                self.note = Note::Judged { class, entry: entry.clone(), attempts };
            }
            (Some(Doing::Failed(class)), None) => self.note = Note::Failed(class),
            (Some(Doing::Runs | Doing::Waited) | None, _) => {}
        }
    }
}

fn in_flight(state: &Value, queue: &str, route: &str) -> u64 {
    let named = |list: Option<&Value>, key: &str, name: &str| {
        let list = list.and_then(Value::as_array).into_iter().flatten();
        let mut found = list.filter(|told| told.get(key).and_then(Value::as_str) == Some(name));
        found.next().cloned()
    };
    let queue = named(state.get("queues"), "id", queue);
    let candidate = queue.and_then(|queue| named(queue.get("candidates"), "route", route));
    candidate.and_then(|told| told.get("in_flight").and_then(Value::as_u64)).unwrap_or(0)
}
