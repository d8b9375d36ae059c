//! What the user set: queues, candidates and every number that the decisions read.
//! Nothing here has an opinion about files, units in text, or where a value came from.

use alloc::vec::Vec;

use crate::class::Class;
use crate::ids::{QueueId, RouteId};

/// An ordered list of candidates plus a policy, as one call sees it from its start to its end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Queue {
    /// The queue.
    pub id: QueueId,
    /// A digest of everything that was configured; stands in each trace.
    pub digest: u64,
    /// The numbers.
    pub policy: Policy,
    /// In the user's order (R2).
    pub candidates: Vec<Candidate>,
}

/// A route in a queue with its own limits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Candidate {
    /// The route; it stands at most once in a queue.
    pub route: RouteId,
    /// Whether its provider is known here (R40).
    pub presence: Presence,
    /// How many sessions may hold a seat (R24); 1 to 16.
    pub max_sessions: Option<u32>,
    /// How many calls may run at once (R24).
    pub max_in_flight: Option<u32>,
    /// The context window in tokens, where known (R36).
    pub window: Option<u32>,
    /// The clocks of R11.
    pub clocks: Clocks,
}

impl Candidate {
    /// Whether no cap bounds who may run on it.
    pub(crate) const fn is_open(&self) -> bool {
        self.max_sessions.is_none() && self.max_in_flight.is_none()
    }
}

/// Whether a candidate can be asked at all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Presence {
    /// Its provider is configured.
    Present,
    /// Its provider is unknown here: kept, shown, passed over.
    Missing,
}

/// Limits on silence, in milliseconds; 0 switches a clock off (R11).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Clocks {
    /// From the start of the attempt until the request is on its way.
    pub connect_ms: u64,
    /// From there until the answer's head.
    pub headers_ms: u64,
    /// Until the first byte; replaces `idle_ms` before it. 0: `idle_ms` holds from the start.
    pub first_byte_ms: u64,
    /// No byte since the attempt was sent or since the last byte.
    pub idle_ms: u64,
    /// Bytes, but neither output nor reasoning.
    pub progress_ms: u64,
    /// From the start of the attempt until visible output.
    pub first_output_ms: u64,
}

/// The mechanisms of a queue (spec section 2; the defaults are those of `relay` in the gateway).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Policy {
    /// Off: one try on the first candidate, nothing held, judged or recorded (R0).
    pub relay: Switch,
    /// Further attempts on the same candidate (R7).
    pub retries: u32,
    /// The pause before the first retry after `overloaded` or `server_error`; four times as long
    /// before the next ones, each jittered by a quarter (R7).
    pub retry_pause_ms: u64,
    /// Attempts in one call at most (R8).
    pub attempts_max: u32,
    /// How long a call may wait in all for a candidate to come back (R5).
    pub wait_max_ms: u64,
    /// A named wait up to this is simply waited for (R23).
    pub inline_wait_ms: u64,
    /// How long a rate-limited route cools when no wait was named (R21); 0: quarantine instead.
    pub cooldown_ms: u64,
    /// A named wait is cut to this (R21).
    pub cooldown_max_ms: u64,
    /// When a failover carries `continue_text` messages (R9).
    pub continuing: Continuing,
    /// At most this many of them (R9).
    pub continues_max: u32,
    /// The pause before a failover that carries them (R9).
    pub continue_delay_ms: u64,
    /// When held output is let through (R10).
    pub commit: CommitOn,
    /// More than this is not held back (R10).
    pub held_max_bytes: u64,
    /// Truncations in a row before the next call starts one candidate further (R14); 0: never.
    pub rotate_after: u32,
    /// What a context overflow does (R15).
    pub overflow: OnOverflow,
    /// Whether quarantined candidates are tried when nothing else can run (R5).
    pub retry_when_all_quarantined: Switch,
    /// Whether a content filter's refusal moves on to the next candidate.
    pub failover_on_filter: Switch,
    /// How long after a transient quarantine one call may try again (R18); 0: never.
    pub parole_after_ms: u64,
    /// `parole_after_ms` doubles up to this (R18).
    pub parole_max_ms: u64,
    /// The idle clock of a parole attempt at most (R18).
    pub parole_idle_ms: u64,
    /// How long a full route rests when a seat is given back (R27).
    pub rest_ms: u64,
    /// After how long an idle seat may be taken back (R26).
    pub lease_idle_ms: u64,
    /// For how long a judged failure keeps other sessions' calls from retrying there (R8).
    pub judged_memory_ms: u64,
    /// A client that reads nothing for this long counts as gone (R11).
    pub client_stall_ms: u64,
    /// Off: a judged failure quarantines nobody and cools nobody but for a wait that was named; it
    /// counts for the breaker and the tally.
    pub quarantine: Switch,
    /// Whether the candidate that answered last stays the first one while it is healthy (H3).
    pub sticky: Switch,
    /// Only these classes move on, count or cool; a failure of another class goes up (C3).
    pub switch_on: ClassSet,
    /// Whether the call in which a candidate was found out moves on, or only the next one (H5).
    pub moves: Moves,
    /// This many failures of a route in a row open its breaker; 0: there is none.
    pub breaker_threshold: u32,
    /// How long a route cools when its breaker opens.
    pub breaker_ms: u64,
    /// `breaker_ms` doubles up to this with each probe that fails.
    pub breaker_max_ms: u64,
    /// These open the breaker at once, for `breaker_max_ms` (H2).
    pub breaker_at_once: ClassSet,
    /// What a call does that finds every candidate cooling.
    pub all_cooling: AllCooling,
    /// Whether a call that is through the queue waits and goes round again (P1).
    pub persist: Switch,
    /// How often it goes round again at most; 0: no limit (P1).
    pub rounds_max: u32,
    /// The wait before the first further round, doubling with each (P2).
    pub backoff_ms: u64,
    /// It doubles up to this (P2).
    pub backoff_max_ms: u64,
    /// How far a wait may be off, up or down, in hundredths of a per cent (P2).
    pub backoff_jitter_bp: u32,
}

/// Some of the failure classes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ClassSet(u32);

/// Which call moves on when a candidate was found out (H5).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Moves {
    /// This one.
    InCall,
    /// The next one: this one is told the failure.
    NextCall,
}

/// What a call does that finds every candidate cooling, and has tried none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AllCooling {
    /// It waits for the soonest, as R5 says.
    Wait,
    /// It tries the one whose cooldown ends first (policy `health`).
    Soonest,
    /// It tries the first one (policy `chain`).
    Head,
}

/// On or off.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Switch {
    /// On.
    On,
    /// Off.
    Off,
}

/// When a failover says 'continue' (R9).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Continuing {
    /// On every failover.
    Always,
    /// Only when the conversation already has an assistant turn or a tool result.
    Auto,
    /// Never.
    Never,
}

/// When held output is let through (R10).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CommitOn {
    /// At the first visible output.
    FirstOutput,
    /// At the first output or reasoning.
    FirstToken,
    /// When the whole answer is there.
    Complete,
}

/// What a context overflow does (R15).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OnOverflow {
    /// The client is told, so that it compacts.
    Tell,
    /// A candidate whose known window is larger is tried.
    Larger,
}

impl Switch {
    /// Whether it is on.
    #[must_use]
    pub const fn is_on(self) -> bool {
        matches!(self, Self::On)
    }
}

impl Policy {
    /// The preset `relay` with the gateway's defaults.
    pub const RELAY: Self = Self {
        relay: Switch::On,
        retries: 2,
        retry_pause_ms: 250,
        attempts_max: 16,
        wait_max_ms: 30_000,
        inline_wait_ms: 3_000,
        cooldown_ms: 60_000,
        cooldown_max_ms: 3_600_000,
        continuing: Continuing::Never,
        continues_max: 3,
        continue_delay_ms: 0,
        commit: CommitOn::FirstOutput,
        held_max_bytes: 8 * 1024 * 1024,
        rotate_after: 2,
        overflow: OnOverflow::Tell,
        retry_when_all_quarantined: Switch::On,
        failover_on_filter: Switch::Off,
        parole_after_ms: 60_000,
        parole_max_ms: 3_600_000,
        parole_idle_ms: 30_000,
        rest_ms: 5_000,
        lease_idle_ms: 300_000,
        judged_memory_ms: 60_000,
        client_stall_ms: 300_000,
        quarantine: Switch::On,
        sticky: Switch::Off,
        switch_on: ClassSet::ALL,
        moves: Moves::InCall,
        breaker_threshold: 0,
        breaker_ms: 60_000,
        breaker_max_ms: 600_000,
        breaker_at_once: ClassSet::NONE,
        all_cooling: AllCooling::Wait,
        persist: Switch::Off,
        rounds_max: 0,
        backoff_ms: 1_000,
        backoff_max_ms: 30_000,
        backoff_jitter_bp: 2_000,
    };

    /// What the other presets have in common: no quarantine, no parole, no rotation, no
    /// `continue_text`, no retries.
    const PLAIN: Self = Self {
        retries: 0,
        rotate_after: 0,
        parole_after_ms: 0,
        continuing: Continuing::Never,
        quarantine: Switch::Off,
        ..Self::RELAY
    };

    /// The preset `health`: candidates carry their health for everybody (H1 to H5).
    pub const HEALTH: Self = Self {
        sticky: Switch::On,
        moves: Moves::NextCall,
        breaker_threshold: 1,
        breaker_at_once: ClassSet::of(&[Class::Auth, Class::NotFound]),
        all_cooling: AllCooling::Soonest,
        ..Self::PLAIN
    };

    /// The preset `chain`: a head and its fallbacks, each with a breaker (C1 to C8).
    pub const CHAIN: Self = Self {
        switch_on: ClassSet::of(&[
            Class::EmptyResponse,
            Class::RateLimited,
            Class::Overloaded,
            Class::ServerError,
            Class::NotFound,
            Class::Timeout,
            Class::Stall,
            Class::TransportRemote,
        ]),
        breaker_threshold: 1,
        breaker_ms: 30_000,
        breaker_max_ms: 30_000,
        all_cooling: AllCooling::Head,
        ..Self::PLAIN
    };

    /// The preset `persist`: round and round until an answer comes (P1 to P5).
    pub const PERSIST: Self = Self { persist: Switch::On, ..Self::PLAIN };
}

impl ClassSet {
    /// Every class.
    pub const ALL: Self = Self(u32::MAX);
    /// No class.
    pub const NONE: Self = Self(0);

    /// These.
    #[must_use]
    pub const fn of(classes: &[Class]) -> Self {
        let mut set = 0;
        let mut rest = classes;
        while let [class, tail @ ..] = rest {
            set |= 1 << *class as u32;
            rest = tail;
        }
        Self(set)
    }

    /// Whether a class is among them.
    #[must_use]
    pub const fn contains(self, class: Class) -> bool {
        self.0 & 1 << class as u32 != 0
    }

    /// The classes, in the order of the specification.
    pub fn iter(self) -> impl Iterator<Item = Class> {
        Class::ALL.into_iter().filter(move |class| self.contains(*class))
    }
}

impl Clocks {
    /// A remote provider, streamed.
    pub const REMOTE: Self = Self {
        connect_ms: 10_000,
        headers_ms: 90_000,
        first_byte_ms: 0,
        idle_ms: 120_000,
        progress_ms: 600_000,
        first_output_ms: 0,
    };

    /// A local base URL: models load slowly.
    pub const LOCAL: Self = Self { headers_ms: 600_000, first_byte_ms: 600_000, ..Self::REMOTE };
}
