//! Why a call did what it did: its trace without the views, which nobody but a replay reads. It
//! decides nothing, and what it previews is thrown away.

use alloc::string::String;
use alloc::sync::Arc;

use super::{History, tell};
use crate::call::{Call, CallSpec};
use crate::codec::{BadWord, Read, Words, bad};
use crate::ids::{CallId, QueueId};
use crate::time::Now;
use crate::trace::Record;

/// Calls that are over and can still be asked about.
const OVER_MAX: usize = 32;

impl History {
    /// Reads what is known of a call when it arrives.
    pub(super) fn spec(&self, words: &mut Read<'_>) -> Result<CallSpec, BadWord> {
        let (id, queue) = (CallId::read(words)?, QueueId::read(words)?);
        let Some(queue) = self.queues.get(&queue).map(Arc::clone) else {
            return bad("the number of a known queue", "another");
        };
        Ok(CallSpec {
            id,
            queue,
            session: Words::read(words)?,
            seating: Words::read(words)?,
            purpose: Words::read(words)?,
            delivery: Words::read(words)?,
            history: Words::read(words)?,
            input_tokens: Words::read(words)?,
            deadline_ms: Words::read(words)?,
            seed: Words::read(words)?,
            tried: Words::read(words)?,
        })
    }

    /// A call is over: it can be asked about for a while.
    pub(super) fn set_aside(&mut self, id: CallId) {
        let Some(call) = self.calls.remove(&id) else { return };
        if self.over.len() == OVER_MAX {
            self.over.pop_front();
        }
        self.over.push_back(call);
    }

    /// What a call was decided, or would be.
    pub(super) fn look(
        &mut self,
        what: &str,
        words: &mut Read<'_>,
        out: &mut String,
    ) -> Result<(), BadWord> {
        if what == "preview" {
            let now = Now::read(words)?;
            let mut call = Call::new(self.spec(words)?);
            self.engine.preview(now, &mut call);
            explain(&call, out);
            return Ok(());
        }
        let Some(call) = self.known(CallId::read(words)?) else { return Ok(()) };
        match what {
            "why" => explain(call, out),
            _ => out.push_str(&call.trace().to_text()),
        }
        Ok(())
    }

    fn known(&self, id: CallId) -> Option<&Call> {
        let over = || self.over.iter().rev().find(|call| call.spec().id == id);
        self.calls.get(&id).or_else(over)
    }
}

fn explain(call: &Call, out: &mut String) {
    let trace = call.trace();
    for (record, moved) in trace.records.iter().zip(trace.moved()) {
        match record {
            Record::Admitted { now, passed, decision, .. } => {
                tell(out, "why admitted", &[now, passed, &moved, decision]);
            }
            Record::Fed { now, input } => tell(out, "why fed", &[now, input]),
        }
    }
}
