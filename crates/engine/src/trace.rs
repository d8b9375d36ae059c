//! What one call decided, and from what. Replaying a trace feeds the recorded views and inputs to a
//! new call and compares its decisions; it starts from classes and counts, never from text.

use alloc::string::String;
use alloc::vec::Vec;

pub use crate::codec::BadWord;

use crate::call::{Call, CallSpec, Decision, Input, Output};
use crate::choose::Passed;
use crate::codec::{Words, bad, next, word};
use crate::time::Now;
use crate::view::{Sight, View};

/// The first line of every trace; a reader refuses another version.
const HEADER: &str = "ekiden-trace 2";
/// The first word of the last line of a trace that is not whole.
const LEFT_OUT: &str = "left-out";

/// One call as it was decided.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trace {
    /// What was known when it arrived.
    pub spec: CallSpec,
    /// What happened, in order.
    pub records: Vec<Record>,
    /// How many records came after these and were not kept; 0: the trace is whole.
    pub left_out: u32,
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
        /// With what. What changed nothing is summed up: pieces of an answer, the times in which
        /// the client did not read, and wakings after which the call waited on for the same.
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
        if self.left_out > 0 {
            out.push_str(LEFT_OUT);
            self.left_out.write(&mut out);
            out.push('\n');
        }
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
        let mut trace = Self { spec, records: Vec::new(), left_out: 0 };
        for (at, line) in lines {
            trace.read_line(line).map_err(|bad| (at + 1, bad))?;
        }
        Ok(trace)
    }

    fn read_line(&mut self, line: &str) -> Result<(), BadWord> {
        if self.left_out > 0 {
            return bad("nothing after what was left out", line);
        }
        let mut words = line.split_ascii_whitespace();
        match line.split_ascii_whitespace().next() {
            Some(LEFT_OUT) => {
                words.next();
                self.left_out = Words::read(&mut words)?;
            }
            Some(_) | None => self.records.push(Record::read(&mut words)?),
        }
        Ok(())
    }

    /// Keeps the first `most` records and says how many are left out.
    pub fn shorten(&mut self, most: usize) {
        let dropped = self.records.len().saturating_sub(most);
        self.records.truncate(most);
        self.records.shrink_to_fit();
        self.left_out = self.left_out.saturating_add(u32::try_from(dropped).unwrap_or(u32::MAX));
    }

    /// Decides everything again and gives what the call had to say, a line an output. What was left
    /// out is not decided again.
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
