//! What one call decided, and from what. Replaying a trace feeds the recorded views and inputs to a
//! new call and compares its decisions; it starts from classes and counts, never from text.

use alloc::string::String;
use alloc::vec::Vec;

pub use crate::codec::BadWord;

use crate::attempt::Beat;
use crate::call::{AttemptInput, Call, CallSpec, Decision, Input, Output};
use crate::choose::Passed;
use crate::codec::{Words, bad, next, word};
use crate::time::Now;
use crate::view::{Sight, View};

/// The first line of every trace; a reader refuses another version.
const HEADER: &str = "ekiden-trace 2";
/// A call that is fed more than this keeps its decisions and drops what led nowhere.
const RECORDS_MAX: usize = 4_096;

/// One call as it was decided.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trace {
    /// What was known when it arrived.
    pub spec: CallSpec,
    /// What happened, in order.
    pub records: Vec<Record>,
}

/// One thing that happened to a call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Record {
    /// It asked and was answered.
    Admitted {
        /// When.
        now: Now,
        /// What it saw.
        view: View,
        /// Whom it passed over, in order.
        passed: Vec<Passed>,
        /// What it decided.
        decision: Decision,
    },
    /// It was fed.
    Fed {
        /// When.
        now: Now,
        /// With what. Pieces of an answer that changed nothing are summed up.
        input: Input,
    },
}

/// A replay that went another way.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Divergence {
    /// Which record, from 1.
    pub record: usize,
    /// What was recorded.
    pub recorded: Decision,
    /// What was decided now.
    pub replayed: Decision,
}

impl Trace {
    /// The trace as text, a line a record.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut out = String::from(HEADER);
        out.push_str("\ncall");
        self.spec.write(&mut out);
        for record in &self.records {
            out.push('\n');
            record.write(&mut out);
        }
        out.push('\n');
        out
    }

    /// Reads what [`Trace::to_text`] wrote.
    ///
    /// # Errors
    /// With the number of the line, from 1, that cannot be read.
    pub fn from_text(text: &str) -> Result<Self, (usize, BadWord)> {
        let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let header = lines.next().map_or("", |(_, line)| line.trim());
        if header != HEADER {
            return bad("the first line `ekiden-trace 2`", header).map_err(|bad| (1, bad));
        }
        let (at, line) = lines.next().unwrap_or((1, ""));
        let mut words = line.split_ascii_whitespace();
        let spec = match next(&mut words, "call") {
            Ok("call") => CallSpec::read(&mut words),
            Ok(found) => bad("call", found),
            Err(missing) => Err(missing),
        };
        let spec = spec.map_err(|bad| (at + 1, bad))?;
        let records = lines
            .map(|(at, line)| {
                Record::read(&mut line.split_ascii_whitespace()).map_err(|bad| (at + 1, bad))
            })
            .collect::<Result<_, _>>()?;
        Ok(Self { spec, records })
    }

    /// Decides everything again and gives what the call had to say, a line an output.
    ///
    /// # Errors
    /// At the first decision that differs from the recorded one.
    pub fn replay(&self) -> Result<String, Divergence> {
        let mut call = Call::new(self.spec.clone());
        let mut said = String::new();
        drain(&mut call, &mut said);
        for (index, record) in self.records.iter().enumerate() {
            match record {
                Record::Admitted { now, view, decision, .. } => {
                    let replayed = call.decide(*now, &Sight::recorded(view));
                    if replayed != *decision {
                        let recorded = *decision;
                        return Err(Divergence { record: index + 1, recorded, replayed });
                    }
                }
                Record::Fed { now, input } => call.handle(*now, *input),
            }
            call.reports.clear();
            drain(&mut call, &mut said);
        }
        Ok(said)
    }
}

fn drain(call: &mut Call, said: &mut String) {
    loop {
        let output = call.poll_output();
        output.write(said);
        said.push('\n');
        if matches!(output, Output::Wake(..)) {
            return;
        }
    }
}

impl Words for Record {
    fn write(&self, out: &mut String) {
        match self {
            Self::Admitted { now, view, passed, decision } => {
                word(out, "admitted");
                now.write(out);
                view.write(out);
                passed.write(out);
                decision.write(out);
            }
            Self::Fed { now, input } => {
                word(out, "fed");
                now.write(out);
                input.write(out);
            }
        }
    }

    fn read(words: &mut crate::codec::Read<'_>) -> Result<Self, BadWord> {
        match next(words, "admitted or fed")? {
            "admitted" => Ok(Self::Admitted {
                now: Words::read(words)?,
                view: Words::read(words)?,
                passed: Words::read(words)?,
                decision: Words::read(words)?,
            }),
            "fed" => Ok(Self::Fed { now: Words::read(words)?, input: Words::read(words)? }),
            found => bad("admitted or fed", found),
        }
    }
}

/// Keeps a trace while the call runs, at no cost for each piece of an answer.
#[derive(Debug)]
pub(crate) struct Recorder {
    trace: Trace,
    /// The last piece of each kind that changed nothing, not yet written down.
    quiet: [Option<(Now, Input)>; 3],
}

impl Recorder {
    pub(crate) fn new(spec: &CallSpec) -> Self {
        let trace = Trace { spec: spec.clone(), records: Vec::new() };
        Self { trace, quiet: [None; 3] }
    }

    pub(crate) fn admitted(&mut self, now: Now, view: View, passed: &[Passed], decision: Decision) {
        self.flush();
        let passed = passed.to_vec();
        self.push(Record::Admitted { now, view, passed, decision });
    }

    /// `told`: whether the input led to anything.
    pub(crate) fn fed(&mut self, now: Now, input: Input, told: bool) {
        match input {
            Input::Attempt(id, AttemptInput::Chunk { bytes, beat }) if !told => {
                let slot = match beat {
                    Beat::Wire => 0,
                    Beat::Reasoning => 1,
                    Beat::Output => 2,
                };
                let Some(quiet) = self.quiet.get_mut(slot) else { return };
                let sum = match quiet {
                    Some((_, Input::Attempt(same, AttemptInput::Chunk { bytes, .. })))
                        if *same == id =>
                    {
                        *bytes
                    }
                    _ => 0,
                };
                let bytes = bytes.saturating_add(sum);
                *quiet = Some((now, Input::Attempt(id, AttemptInput::Chunk { bytes, beat })));
            }
            Input::Tick | Input::Woken if !told => {}
            Input::Attempt(..)
            | Input::ClientBlocked
            | Input::ClientReady
            | Input::ClientGone
            | Input::Stop
            | Input::Woken
            | Input::Tick => {
                self.flush();
                self.push(Record::Fed { now, input });
            }
        }
    }

    fn flush(&mut self) {
        let mut quiet: Vec<_> = self.quiet.iter_mut().filter_map(Option::take).collect();
        quiet.sort_by_key(|(now, _)| now.mono_ms);
        for (now, input) in quiet {
            self.push(Record::Fed { now, input });
        }
    }

    fn push(&mut self, record: Record) {
        if self.trace.records.len() < RECORDS_MAX {
            self.trace.records.push(record);
        }
    }

    pub(crate) fn trace(&self) -> Trace {
        let mut whole = Self { trace: self.trace.clone(), quiet: self.quiet };
        whole.flush();
        whole.trace
    }
}
