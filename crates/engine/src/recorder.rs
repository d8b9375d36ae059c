//! Keeps the trace of a call while it runs. It refuses to grow with what changes nothing: a client
//! that reads slowly, an answer without end and a wait that is woken a thousand times leave a few
//! records each, and a replay decides the same from them.

use alloc::vec::Vec;

use crate::attempt::Beat;
use crate::call::{AttemptInput, CallSpec, Decision, Input};
use crate::choose::Passed;
use crate::ids::AttemptId;
use crate::time::Now;
use crate::trace::{Record, Trace};
use crate::view::View;

/// What comes after so many records is counted and not kept.
const RECORDS_MAX: usize = 4_096;

/// Whether an admission changed anything in its call but how long it has waited.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Changed {
    Nothing,
    Something,
}

/// Keeps a trace while the call runs, at no cost for each piece of an answer.
#[derive(Clone, Debug)]
pub(crate) struct Recorder {
    trace: Trace,
    /// The last piece of each kind that changed nothing, not yet written down.
    quiet: [Option<(Now, Input)>; 3],
    unread: Unread,
    /// The attempt of which a piece that could not be read was skipped last.
    skipped: Option<AttemptId>,
    /// The last record is a wait that says what the wait before it said.
    repeats: bool,
}

/// When the client did not read, not yet written down.
#[derive(Clone, Copy, Default, Debug)]
struct Unread {
    /// For how many milliseconds in all, and when it read again.
    over: Option<(u64, Now)>,
    /// Since when it does not read.
    since: Option<Now>,
}

impl Recorder {
    pub(crate) fn new(spec: &CallSpec) -> Self {
        let trace = Trace { spec: spec.clone(), records: Vec::new(), left_out: 0 };
        let unread = Unread::default();
        Self { trace, quiet: [None; 3], unread, skipped: None, repeats: false }
    }

    pub(crate) fn admitted(
        &mut self,
        now: Now,
        view: View,
        passed: &[Passed],
        decision: Decision,
        changed: Changed,
    ) {
        self.flush();
        let same = self.says_the_same(passed, decision);
        if same && self.repeats {
            // Of a run of waits for the same the first and the last are kept. Waiting times add up,
            // so that a replay finds the last one as it was.
            let woken = self.trace.records.pop();
            self.trace.records.truncate(self.trace.records.len() - 2);
            self.trace.records.extend(woken);
        }
        let passed = passed.to_vec();
        self.push(Record::Admitted { now, view, passed, decision });
        self.repeats = same && changed == Changed::Nothing && self.trace.left_out == 0;
    }

    /// Whether the call was only woken since its last admission, and both waited for the same.
    fn says_the_same(&self, passed: &[Passed], decision: Decision) -> bool {
        let [
            ..,
            Record::Admitted { passed: before, decision: Decision::Wait { why, .. }, .. },
            woken,
        ] = self.trace.records.as_slice()
        else {
            return false;
        };
        let woken = matches!(woken, Record::Fed { input: Input::Woken | Input::Tick, .. });
        let waits = matches!(decision, Decision::Wait { why: again, .. } if again == *why);
        let same = |(one, other): (&Passed, &Passed)| is_same(*one, *other);
        let alike = before.len() == passed.len() && before.iter().zip(passed).all(same);
        woken && waits && alike
    }

    /// `told`: whether the input led to anything.
    pub(crate) fn fed(&mut self, now: Now, input: Input, told: bool) {
        if told {
            return self.note(now, input);
        }
        match input {
            Input::Attempt(id, AttemptInput::Chunk { bytes, beat }) => {
                self.sum_up(now, id, bytes, beat);
            }
            Input::Attempt(id, AttemptInput::Malformed { .. }) => {
                // A call that goes on after one of them does so after all of them.
                if self.skipped != Some(id) {
                    self.note(now, input);
                    self.skipped = Some(id);
                }
            }
            Input::ClientBlocked => {
                self.unread.since.get_or_insert(now);
            }
            Input::ClientReady => match self.unread.since.take() {
                Some(since) => {
                    let before = self.unread.over.map_or(0, |(ms, _)| ms);
                    let ms = now.mono_ms.saturating_sub(since.mono_ms);
                    self.unread.over = Some((before.saturating_add(ms), now));
                }
                None => self.note(now, input),
            },
            Input::Tick | Input::Woken => {}
            Input::Attempt(..) | Input::ClientGone | Input::Stop => self.note(now, input),
        }
    }

    fn sum_up(&mut self, now: Now, id: AttemptId, bytes: u32, beat: Beat) {
        let slot = match beat {
            Beat::Wire => 0,
            Beat::Reasoning => 1,
            Beat::Output => 2,
        };
        let Some(quiet) = self.quiet.get_mut(slot) else { return };
        let sum = match quiet {
            Some((_, Input::Attempt(same, AttemptInput::Chunk { bytes, .. }))) if *same == id => {
                *bytes
            }
            _ => 0,
        };
        let bytes = bytes.saturating_add(sum);
        *quiet = Some((now, Input::Attempt(id, AttemptInput::Chunk { bytes, beat })));
    }

    fn note(&mut self, now: Now, input: Input) {
        self.flush();
        self.push(Record::Fed { now, input });
    }

    fn flush(&mut self) {
        let mut quiet: Vec<_> = self.quiet.iter_mut().filter_map(Option::take).collect();
        let unread = core::mem::take(&mut self.unread);
        if let Some((ms, again)) = unread.over {
            // The sum and the end are all that a clock asks for.
            quiet.push((again.before(ms), Input::ClientBlocked));
            quiet.push((again, Input::ClientReady));
        }
        if let Some(since) = unread.since {
            quiet.push((since, Input::ClientBlocked));
        }
        quiet.sort_by_key(|(now, _)| now.mono_ms);
        for (now, input) in quiet {
            self.push(Record::Fed { now, input });
        }
    }

    fn push(&mut self, record: Record) {
        let woken = matches!(record, Record::Fed { input: Input::Woken | Input::Tick, .. });
        // A replay goes from the beginning: nothing is kept behind a gap.
        let kept = self.trace.left_out == 0 && self.trace.records.len() < RECORDS_MAX;
        self.repeats = self.repeats && woken && kept;
        if kept {
            self.trace.records.push(record);
        } else {
            self.trace.left_out = self.trace.left_out.saturating_add(1);
        }
    }

    /// The last record, unless others came after it and were not kept.
    pub(crate) fn last(&self) -> Option<&Record> {
        self.trace.records.last().filter(|_| self.trace.left_out == 0)
    }

    pub(crate) fn trace(&self) -> Trace {
        let mut whole = self.clone();
        whole.flush();
        whole.trace
    }
}

/// Whether both were passed over for the same.
fn is_same(one: Passed, other: Passed) -> bool {
    one.candidate == other.candidate && one.reason.without_span() == other.reason.without_span()
}
