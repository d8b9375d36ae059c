//! Whether a turn is continued by itself (R42, R43).

use ekiden_engine::{
    Cause, Class, Continuation, Continue, NotContinued, Now, SessionId, TurnEnd, TurnStart,
};

use super::Reference;

/// A session's turns: continued in a row, whose they are, and what is due.
#[derive(Clone, Debug, Default)]
pub(crate) struct Turns {
    cut: u32,
    failed: u32,
    child: bool,
    due: Option<(Now, Cause)>,
}

impl Turns {
    pub(crate) fn over(&mut self) {
        *self = Self { child: self.child, ..Self::default() };
    }
}

impl Reference {
    /// Other settings.
    pub const fn set_continuation(&mut self, settings: Continuation) {
        self.going_on = settings;
    }

    /// A sub-agent's session.
    pub fn mark_sub_agent(&mut self, session: SessionId) {
        self.talk(session).turns.child = true;
    }

    /// A turn begins.
    pub fn turn_started(&mut self, session: SessionId, start: TurnStart) {
        let turns = &mut self.talk(session).turns;
        turns.due = None;
        if start == TurnStart::User {
            (turns.cut, turns.failed) = (0, 0);
        }
    }

    /// A turn ends.
    pub fn turn_ended(&mut self, now: Now, session: SessionId, end: TurnEnd) -> Continue {
        let set = self.going_on;
        let turns = &mut self.talk(session).turns;
        turns.due = None;
        let cut = matches!(end, TurnEnd::Truncated | TurnEnd::Failed(Class::Truncated));
        let (on, so_far, most, cause) = if cut {
            (set.on_truncation, turns.cut, set.truncations_max, Cause::Truncation)
        } else {
            (set.on_failure, turns.failed, set.failures_max, Cause::Failure)
        };
        let why = match end {
            TurnEnd::Completed => {
                (turns.cut, turns.failed) = (0, 0);
                Some(NotContinued::Completed)
            }
            TurnEnd::Stopped | TurnEnd::Failed(Class::Aborted) => Some(NotContinued::Stopped),
            _ if !set.enabled.is_on() || !on.is_on() => Some(NotContinued::Off),
            _ if turns.child => Some(NotContinued::SubAgent),
            TurnEnd::MissingAdapter => Some(NotContinued::MissingAdapter),
            TurnEnd::Failed(Class::ContextOverflow) => Some(NotContinued::ContextOverflow),
            TurnEnd::Failed(Class::Auth) => Some(NotContinued::Auth),
            TurnEnd::Failed(Class::LocalNetwork) => Some(NotContinued::LocalNetwork),
            _ if so_far >= most => Some(NotContinued::Limit),
            TurnEnd::Truncated | TurnEnd::Failed(_) => None,
        };
        if let Some(why) = why {
            return Continue::Not(why);
        }
        turns.due = Some((now.after(set.delay_ms), cause));
        Continue::After { ms: set.delay_ms, cause, count: so_far + 1 }
    }

    /// The wait is over.
    pub fn continue_due(&mut self, now: Now, session: SessionId) -> Continue {
        let set = self.going_on;
        let turns = &mut self.talk(session).turns;
        let Some((at, cause)) = turns.due else { return Continue::Not(NotContinued::Cancelled) };
        let (count, on) = match cause {
            Cause::Truncation => (&mut turns.cut, set.on_truncation),
            Cause::Failure => (&mut turns.failed, set.on_failure),
        };
        let wait = now.until(at);
        if wait > 0 && !now.reached(at) {
            return Continue::After { ms: wait, cause, count: *count + 1 };
        }
        turns.due = None;
        if !set.enabled.is_on() || !on.is_on() {
            return Continue::Not(NotContinued::Off);
        }
        *count += 1;
        Continue::Now { cause, count: *count }
    }
}
