//! Whether a turn that did not come to its end is continued by itself (R42, R43). It sends nothing
//! and sets no timer: it says how long to wait, and, when asked again at that moment, whether to go.

use crate::class::Class;
use crate::engine::Engine;
use crate::fact::{Fact, Notice};
use crate::ids::SessionId;
use crate::policy::Switch;
use crate::time::Now;

/// What the user set about going on by itself (R42).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Continuation {
    /// The whole of it.
    pub enabled: Switch,
    /// For turns that were cut by the output-token limit.
    pub on_truncation: Switch,
    /// For turns that failed.
    pub on_failure: Switch,
    /// How many truncations in a row are continued; there is no upper bound.
    pub truncations_max: u32,
    /// How many failures in a row are continued; there is no upper bound.
    pub failures_max: u32,
    /// The wait before each, in milliseconds.
    pub delay_ms: u64,
}

/// Who began a turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TurnStart {
    /// A person, or anybody else who sent a message: both counts begin anew.
    User,
    /// The text that was sent because of [`Continue::Now`].
    Continued,
}

/// How a turn ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TurnEnd {
    /// Normally.
    Completed,
    /// The user stopped it.
    Stopped,
    /// Cut by the output-token limit.
    Truncated,
    /// It failed.
    Failed(Class),
    /// The host has no adapter for the model.
    MissingAdapter,
}

/// What is continued.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// A turn that was cut.
    Truncation,
    /// A turn that failed.
    Failure,
}

/// The answer to the end of a turn, and to the end of the wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Continue {
    /// Ask again with [`Engine::continue_due`] after so many milliseconds.
    After {
        /// How long.
        ms: u64,
        /// What for.
        cause: Cause,
        /// The how-manieth in a row it would be, from 1.
        count: u32,
    },
    /// Send `continue_text` now, as the user would.
    Now {
        /// What for.
        cause: Cause,
        /// The how-manieth in a row it is, from 1.
        count: u32,
    },
    /// Nothing is sent.
    Not(NotContinued),
}

/// Why a turn is not continued.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NotContinued {
    /// It ended normally.
    Completed,
    /// The user stopped it.
    Stopped,
    /// Switched off.
    Off,
    /// It is a sub-agent's: its parent decides.
    SubAgent,
    /// As many in a row as are allowed were continued.
    Limit,
    /// The conversation is too large: its client compacts it (R43).
    ContextOverflow,
    /// The credential is bad (R43).
    Auth,
    /// The host has no adapter for the model (R43).
    MissingAdapter,
    /// This machine's own network is in trouble (R43).
    LocalNetwork,
    /// Nothing is due any more: a message, a stop or an end came during the wait.
    Cancelled,
}

/// What is remembered of a session's turns.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Turns {
    truncations: u32,
    failures: u32,
    due: Option<(Now, Cause)>,
    sub_agent: bool,
}

impl Continuation {
    /// Nothing is continued: the gateway's default.
    pub const OFF: Self = Self {
        enabled: Switch::Off,
        on_truncation: Switch::On,
        on_failure: Switch::On,
        truncations_max: 10,
        failures_max: 1,
        delay_ms: 5_000,
    };
}

impl Engine {
    /// Other settings for going on by itself hold from now on.
    pub const fn set_continuation(&mut self, settings: Continuation) {
        self.continuation = settings;
    }

    /// The session is a sub-agent's: its turns are left to its parent (R42).
    pub fn mark_sub_agent(&mut self, now: Now, session: SessionId) {
        self.write_session(now, session).turns.sub_agent = true;
    }

    /// A turn begins. Whatever was about to be sent is not sent any more.
    pub fn turn_started(&mut self, now: Now, session: SessionId, start: TurnStart) {
        let turns = &mut self.write_session(now, session).turns;
        turns.due = None;
        match start {
            TurnStart::User => turns.begin_anew(),
            TurnStart::Continued => {}
        }
    }

    /// A turn has ended: is it continued (R42, R43)?
    pub fn turn_ended(&mut self, now: Now, session: SessionId, end: TurnEnd) -> Continue {
        let settings = self.continuation;
        let turns = &mut self.write_session(now, session).turns;
        turns.due = None;
        if end == TurnEnd::Completed {
            turns.begin_anew();
        }
        let cause = match turns.cause(&settings, end) {
            Ok(cause) => cause,
            Err(why) => return self.not_continued(session, why),
        };
        turns.due = Some((now.after(settings.delay_ms), cause));
        Continue::After { ms: settings.delay_ms, cause, count: turns.count(cause) + 1 }
    }

    /// The wait is over: is it still to be continued? Asked too early it says how long to wait on.
    pub fn continue_due(&mut self, now: Now, session: SessionId) -> Continue {
        let settings = self.continuation;
        let known = self.sessions.get_mut(&session).map(|session| &mut session.turns);
        let Some((turns, (at, cause))) = known.and_then(|turns| turns.due.map(|due| (turns, due)))
        else {
            return Continue::Not(NotContinued::Cancelled);
        };
        let count = turns.count(cause) + 1;
        if !now.reached(at) {
            return Continue::After { ms: now.until(at), cause, count };
        }
        turns.due = None;
        if !settings.continues(cause) {
            return Continue::Not(NotContinued::Off);
        }
        *turns.counter(cause) = count;
        self.notices.push_back(Notice::Fact(Fact::Continued { session, cause, count }));
        Continue::Now { cause, count }
    }

    fn not_continued(&mut self, session: SessionId, why: NotContinued) -> Continue {
        let told = match why {
            NotContinued::Limit
            | NotContinued::ContextOverflow
            | NotContinued::Auth
            | NotContinued::MissingAdapter
            | NotContinued::LocalNetwork => true,
            NotContinued::Completed
            | NotContinued::Stopped
            | NotContinued::Off
            | NotContinued::SubAgent
            | NotContinued::Cancelled => false,
        };
        if told {
            self.notices.push_back(Notice::Fact(Fact::NotContinued { session, why }));
        }
        Continue::Not(why)
    }
}

impl Continuation {
    const fn continues(&self, cause: Cause) -> bool {
        let kind = match cause {
            Cause::Truncation => self.on_truncation,
            Cause::Failure => self.on_failure,
        };
        self.enabled.is_on() && kind.is_on()
    }
}

impl Turns {
    pub(crate) fn is_blank(&self) -> bool {
        *self == Self::default()
    }

    pub(crate) const fn is_sub_agent(&self) -> bool {
        self.sub_agent
    }

    /// Continued in a row after truncations, after failures.
    pub(crate) const fn continued(&self) -> (u32, u32) {
        (self.truncations, self.failures)
    }

    pub(crate) fn due_at(&self) -> Option<Now> {
        self.due.map(|(at, _)| at)
    }

    /// The session is over.
    pub(crate) const fn end(&mut self) {
        self.due = None;
        self.begin_anew();
    }

    const fn begin_anew(&mut self) {
        self.truncations = 0;
        self.failures = 0;
    }

    fn cause(&self, settings: &Continuation, end: TurnEnd) -> Result<Cause, NotContinued> {
        let cause = match end {
            TurnEnd::Completed => return Err(NotContinued::Completed),
            TurnEnd::Stopped | TurnEnd::Failed(Class::Aborted) => {
                return Err(NotContinued::Stopped);
            }
            TurnEnd::Truncated | TurnEnd::Failed(Class::Truncated) => Cause::Truncation,
            TurnEnd::Failed(_) | TurnEnd::MissingAdapter => Cause::Failure,
        };
        if !settings.continues(cause) {
            return Err(NotContinued::Off);
        }
        if self.sub_agent {
            return Err(NotContinued::SubAgent);
        }
        if let Some(why) = barred(end) {
            return Err(why);
        }
        let most = match cause {
            Cause::Truncation => settings.truncations_max,
            Cause::Failure => settings.failures_max,
        };
        if self.count(cause) < most { Ok(cause) } else { Err(NotContinued::Limit) }
    }

    const fn count(&self, cause: Cause) -> u32 {
        match cause {
            Cause::Truncation => self.truncations,
            Cause::Failure => self.failures,
        }
    }

    const fn counter(&mut self, cause: Cause) -> &mut u32 {
        match cause {
            Cause::Truncation => &mut self.truncations,
            Cause::Failure => &mut self.failures,
        }
    }
}

/// R43: what asking again cannot mend, or what is this machine's own trouble.
const fn barred(end: TurnEnd) -> Option<NotContinued> {
    match end {
        TurnEnd::MissingAdapter => Some(NotContinued::MissingAdapter),
        TurnEnd::Failed(Class::ContextOverflow) => Some(NotContinued::ContextOverflow),
        TurnEnd::Failed(Class::Auth) => Some(NotContinued::Auth),
        TurnEnd::Failed(Class::LocalNetwork) => Some(NotContinued::LocalNetwork),
        TurnEnd::Failed(
            Class::RateLimited
            | Class::Overloaded
            | Class::ServerError
            | Class::Timeout
            | Class::TransportRemote
            | Class::EmptyResponse
            | Class::Stall
            | Class::QuotaExhausted
            | Class::NotFound
            | Class::InvalidRequest
            | Class::ContentFilter
            | Class::Aborted
            | Class::Truncated,
        )
        | TurnEnd::Completed
        | TurnEnd::Stopped
        | TurnEnd::Truncated => None,
    }
}
