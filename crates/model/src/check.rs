//! What must hold whatever the rules decide: checked on the engine's own words, without the
//! reference.

use std::collections::BTreeSet;

use ekiden_engine::{AttemptId, CallSpec, CommitOn, Delivery, Effect, LastWord, Mode, Start};

/// What a call has said so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Protocol {
    starts: Vec<Start>,
    running: Option<AttemptId>,
    discarded: BTreeSet<AttemptId>,
    committed: Option<AttemptId>,
    ended: bool,
    /// Agreed failures on each candidate that were paid from nobody's account.
    spared: u32,
}

impl Protocol {
    /// An attempt of this call that runs.
    pub(crate) const fn running(&self) -> Option<AttemptId> {
        self.running
    }

    /// Any attempt of this call that is over.
    pub(crate) fn over(&self) -> Option<AttemptId> {
        self.discarded.iter().next().copied()
    }

    pub(crate) const fn has_ended(&self) -> bool {
        self.ended
    }

    /// A failure that is nobody's fault, or a mended request: neither counts as a retry.
    pub(crate) const fn spare(&mut self) {
        self.spared += 1;
    }

    pub(crate) fn last_start(&self) -> Option<&Start> {
        self.starts.last()
    }

    /// Takes the next effect.
    pub(crate) fn effect(&mut self, spec: &CallSpec, effect: &Effect) -> Result<(), String> {
        let sane = |holds: bool, what: &str| {
            if holds { Ok(()) } else { Err(format!("{what}: {effect:?} after {self:?}")) }
        };
        sane(!self.ended, "nothing may follow the end of a call")?;
        match *effect {
            Effect::Start(start) => {
                sane(self.running.is_none(), "two attempts at once")?;
                sane(self.committed.is_none(), "a second voice (R10)")?;
                self.bounds(spec, &start)?;
                self.running = Some(start.attempt);
                self.starts.push(start);
            }
            Effect::Resend(id) => sane(self.running == Some(id), "resends what does not run")?,
            Effect::Commit(id) => {
                sane(self.running == Some(id), "commits what does not run")?;
                sane(self.committed.is_none(), "two commits (R10)")?;
                sane(!self.discarded.contains(&id), "a dropped attempt speaks (R16)")?;
                self.committed = Some(id);
            }
            Effect::Discard(id) => {
                sane(self.committed.is_none(), "drops what was let through (R10)")?;
                self.discarded.insert(id);
                self.running = None;
            }
            Effect::Cancel(id) => sane(self.running == Some(id), "cancels what does not run")?,
            Effect::Deliver(id) => {
                sane(self.committed == Some(id), "delivers what never spoke")?;
                self.ended = true;
            }
            Effect::Refuse(word) => {
                self.last_word(spec, word, effect)?;
                self.ended = true;
            }
        }
        Ok(())
    }

    fn last_word(&self, spec: &CallSpec, word: LastWord, effect: &Effect) -> Result<(), String> {
        let held = spec.delivery == Delivery::Whole
            || (spec.queue.policy.commit == CommitOn::Complete
                && spec.queue.policy.held_max_bytes == u64::MAX);
        let sane = match word {
            LastWord::Broken(id, _) => self.committed == Some(id) && !held,
            LastWord::AsItCame(id) | LastWord::Overflow(id) => {
                self.committed.is_none() && self.starts.iter().any(|start| start.attempt == id)
            }
            LastWord::ComeBack(_)
            | LastWord::DoNotRetry
            | LastWord::EmptyQueue
            | LastWord::LocalNetwork
            | LastWord::Stopped
            | LastWord::Deadline => self.committed.is_none(),
        };
        if sane {
            Ok(())
        } else {
            Err(format!("not the truth (R10, R45): {effect:?} after {self:?}"))
        }
    }

    /// R7, R8, R9.
    fn bounds(&self, spec: &CallSpec, start: &Start) -> Result<(), String> {
        let policy = &spec.queue.policy;
        let sane = |holds: bool, what: &str| {
            if holds { Ok(()) } else { Err(format!("{what}: {start:?} after {self:?}")) }
        };
        let attempts = self.starts.len() as u32 + 1;
        sane(start.attempt.0 == attempts, "attempts are not counted up")?;
        // P1: they are counted round by round, as often as it goes round.
        let round = policy.persist.is_on();
        sane(round || attempts <= policy.attempts_max.max(1), "attempts_max (R8)")?;
        sane(start.continues <= policy.continues_max, "continues_max (R9)")?;
        let in_a_row =
            self.starts.iter().rev().take_while(|other| other.candidate == start.candidate).count();
        let cooled_again = policy.wait_max_ms > 0 && matches!(start.mode, Mode::Probe);
        // R48: at most three more that a sleeping machine spared.
        let most = policy.retries + self.spared + 3;
        sane(round || in_a_row as u32 <= most || cooled_again, "retries (R7)")
    }
}
