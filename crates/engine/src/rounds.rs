//! Policy `persist`: a call that is through its queue waits and goes round again (P1, P2, P4). It
//! decides when, never who runs.

use crate::call::Call;
use crate::choose::{Choice, Past, WaitFor};
use crate::class::Class;
use crate::policy::Presence;
use crate::seed;
use crate::time::Now;
use crate::view::Sight;

/// Whoever persists looks again at least this seldom while nothing changes.
const PATIENCE_MIN_MS: u64 = 60_000;
/// Keeps the backoff's luck apart from the retries'.
const ROUND_STEP: u64 = 1 << 32;

impl Call {
    /// What a call waits for that cannot run now; else the soonest moment at which something may.
    pub(crate) fn wait(
        &mut self,
        now: Now,
        view: &Sight<'_>,
        choice: Choice,
        spent: bool,
    ) -> Result<(u64, WaitFor), Option<u64>> {
        let waits = match choice {
            Choice::Wait { ms, why } => Ok((ms, why)),
            Choice::Run { .. } | Choice::Ask { .. } => Err(Some(0)),
            Choice::Nothing { soonest_ms } => Err(soonest_ms),
        };
        if !self.persists(view) {
            // P5: a call that waits while nothing persists ends with its last failure.
            let ended = spent || self.is_paused(view) && self.last_failure.is_some();
            return match waits {
                Ok((ms, _)) if ended => Err(Some(ms)),
                Ok(_) | Err(_) => waits,
            };
        }
        if !self.has_next_round(spent) {
            return waits;
        }
        let (due, _) = match self.round_due {
            Some(due) => due,
            None => (now.mono_ms.saturating_add(self.backoff_ms().max(1)), spent),
        };
        self.round_due = Some((due, spent));
        let round = (due.saturating_sub(now.mono_ms).max(1), WaitFor::Round);
        Ok(match waits {
            Ok((ms, why)) if ms < round.0 && !spent => (ms, why),
            Ok(_) | Err(_) => round,
        })
    }

    /// The next round begins, if it is time.
    pub(crate) fn begin_round(&mut self, now: Now, view: &Sight<'_>) {
        let due = self.round_due.filter(|(due, _)| now.mono_ms >= *due);
        let Some((_, spent)) = due.filter(|_| self.persists(view)) else { return };
        self.rounds += 1;
        self.round_base = self.attempts;
        self.round_due = None;
        self.retries = 0;
        self.repaired = false;
        // Whoever has not had a turn for want of attempts comes first.
        if spent && self.past.contains(&Past::Untried) {
            return;
        }
        for past in &mut self.past {
            match past {
                Past::NextRound => *past = Past::Untried,
                Past::Untried | Past::Tried | Past::Cooled => {}
            }
        }
    }

    /// An attempt begins. One on a candidate that this call cooled is another round.
    pub(crate) fn begin_again(&mut self, candidate: u32) {
        self.round_due = None;
        let persist = self.spec.queue.policy.persist.is_on();
        if let Some(past) = self.past.get_mut(candidate as usize)
            && *past == Past::Cooled
            && persist
        {
            // Until it fails again it is tried, not cooled: a retry is no further round.
            *past = Past::NextRound;
            self.rounds += 1;
            self.round_base = self.attempts;
            self.retries = 0;
        }
    }

    /// How long the call may wait for something to come back (R5, P2).
    pub(crate) fn patience_ms(&self, view: &Sight<'_>) -> u64 {
        let policy = &self.spec.queue.policy;
        if self.persists(view) {
            return policy.cooldown_max_ms.max(policy.wait_max_ms).max(PATIENCE_MIN_MS);
        }
        policy.wait_max_ms.saturating_sub(self.waited_ms)
    }

    /// What is left of `attempts_max`, which holds for each round.
    pub(crate) fn attempts_left(&self) -> u32 {
        let made = self.attempts.saturating_sub(self.round_base);
        self.spec.queue.policy.attempts_max.saturating_sub(made)
    }

    /// Whether a failure is told as it came where nobody is quarantined (C3, C6, P1). What a
    /// candidate says of our own key or of a name that is not the user's is never told (R45).
    pub(crate) fn goes_up(&self, class: Class) -> bool {
        let policy = &self.spec.queue.policy;
        let ours = matches!(class, Class::Auth | Class::QuotaExhausted | Class::NotFound);
        policy.breaker_threshold > 0 && !ours || policy.persist.is_on() && class.may_pass()
    }

    pub(crate) fn is_paused(&self, view: &Sight<'_>) -> bool {
        self.spec.queue.policy.persist.is_on() && view.paused.is_on()
    }

    fn persists(&self, view: &Sight<'_>) -> bool {
        let policy = &self.spec.queue.policy;
        let rounds_left = policy.rounds_max == 0 || self.rounds < policy.rounds_max;
        policy.persist.is_on() && !view.paused.is_on() && rounds_left
    }

    fn has_next_round(&self, spent: bool) -> bool {
        let candidates = self.spec.queue.candidates.iter().zip(&self.past);
        let mut present = candidates.filter(|(c, _)| c.presence == Presence::Present);
        present.any(|(_, past)| match past {
            Past::NextRound => true,
            Past::Untried | Past::Cooled => spent,
            Past::Tried => false,
        })
    }

    fn backoff_ms(&self) -> u64 {
        let policy = &self.spec.queue.policy;
        let doubled = policy.backoff_ms.saturating_mul(1 << self.rounds.min(30));
        let most = policy.backoff_max_ms;
        let step = ROUND_STEP | u64::from(self.rounds);
        seed::spread(self.spec.seed, step, doubled.min(most), policy.backoff_jitter_bp, most)
    }
}
