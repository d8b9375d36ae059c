//! The rules once more, slowly and plainly, from the same operations. It has no wake-ups, no
//! notices and no traces, and nothing in it is fast: lists are searched from the front, and what
//! follows from something else is worked out again each time.

mod choice;
mod ledger;
mod pick;
mod table;
mod trial;
mod turns;
mod verdict;

use std::collections::{BTreeMap, BTreeSet};

use ekiden_engine::{
    AttemptId, CallId, CallSpec, CandidateView, Class, Continuation, Day, Decision, Effect, Holder,
    LeaseId, Mode, Now, Passed, Quarantine, QueueId, RouteId, SeatView, SessionId, Verdict, View,
    Whose,
};

use choice::Mark;
use ledger::Road;
use trial::Try;

/// What the rules say that happens next.
#[derive(Clone, PartialEq, Debug)]
pub enum Said {
    /// The shell is told to do something.
    Effect(Effect),
    /// An admission: what is seen, who is passed over, what is decided.
    Admitted(View, Vec<Passed>, Decision),
}

impl Said {
    /// Whether the rules say the same. Of a view the engine tells what it looked at; the rules look
    /// at everything.
    #[must_use]
    pub fn covers(&self, engine: &Self) -> bool {
        match (self, engine) {
            (Self::Effect(one), Self::Effect(other)) => one == other,
            (Self::Admitted(all, passed, decision), Self::Admitted(some, others, decided)) => {
                let seen = |(index, _): &&(u32, CandidateView)| {
                    some.candidates.iter().any(|(other, _)| other == index)
                };
                let candidates = all.candidates.iter().filter(seen).copied().collect();
                let looked_at = View { candidates, ..all.clone() };
                looked_at == *some && passed == others && decision == decided
            }
            (Self::Effect(_), Self::Admitted(..)) | (Self::Admitted(..), Self::Effect(_)) => false,
        }
    }
}

/// The second opinion.
#[derive(Clone, Debug)]
pub struct Reference {
    pub(crate) day: Day,
    pub(crate) roads: BTreeMap<RouteId, Road>,
    pub(crate) talks: BTreeMap<SessionId, Talk>,
    pub(crate) runners: BTreeMap<CallId, Runner>,
    /// Who waits, first come first.
    pub(crate) line: Vec<InLine>,
    pub(crate) pauses: BTreeSet<Whose>,
    pub(crate) going_on: Continuation,
    leases: u64,
    said: Vec<Said>,
}

#[derive(Clone, Debug)]
pub(crate) struct InLine {
    call: CallId,
    hopes: Vec<(RouteId, Holder)>,
}

/// A session.
#[derive(Clone, Debug, Default)]
pub(crate) struct Talk {
    pub(crate) out: BTreeMap<(QueueId, RouteId), Out>,
    pub(crate) verified: BTreeSet<(QueueId, RouteId)>,
    pub(crate) truncations: BTreeMap<QueueId, u32>,
    pub(crate) runs: Vec<Run>,
    pub(crate) turns: turns::Turns,
    /// H3.
    pub(crate) current: BTreeMap<QueueId, RouteId>,
}

/// A quarantine, who is on trial there, and when its parole is due.
pub(crate) type Out = (Quarantine, Option<CallId>, Option<Now>);

#[derive(Clone, Debug)]
pub(crate) struct Run {
    call: CallId,
    attempt: AttemptId,
    began_ms: u64,
    instead_of: Vec<RouteId>,
}

/// A call.
#[derive(Clone, Debug)]
pub(crate) struct Runner {
    pub(crate) spec: CallSpec,
    pub(crate) phase: Phase,
    pub(crate) began: Option<Now>,
    pub(crate) marks: Vec<Mark>,
    pub(crate) attempts: u32,
    pub(crate) retries: u32,
    failovers: u32,
    at: Option<usize>,
    pub(crate) waited_ms: u64,
    network_waits: u32,
    sleeps: u32,
    mended: bool,
    delay_due: bool,
    instead_of: Vec<RouteId>,
    refused: Vec<AttemptId>,
    overflow: Option<AttemptId>,
    floor: Option<u32>,
    /// In the face of which refusals the last choice was made.
    denied: Vec<usize>,
    /// The last failure.
    pub(crate) failed: Option<(AttemptId, Class)>,
    /// It ran there, or wanted a seat.
    touched: BTreeSet<usize>,
    /// This candidate has just failed without quarantine.
    struck: Option<usize>,
    /// Rounds, attempts when this one began, when the next one begins (P1).
    pub(crate) rounds: u32,
    pub(crate) round_from: u32,
    pub(crate) next_round_ms: Option<u64>,
    /// Attempts ran out in this round.
    pub(crate) ran_out: bool,
}

#[derive(Clone, Debug)]
pub(crate) enum Phase {
    Choosing,
    Again(Again),
    /// A pause; afterwards the same again, or another choice.
    Pausing(u64, Option<Again>),
    Waiting {
        since_ms: u64,
        until_ms: u64,
    },
    Asked {
        since_ms: u64,
        until_ms: u64,
        candidate: usize,
    },
    Running(Box<Try>),
    Over,
}

/// The same bytes to the same candidate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Again {
    failed: AttemptId,
    candidate: usize,
    mode: Mode,
    class: Class,
    verdict: Verdict,
    then: ekiden_engine::Then,
    pause_ms: u64,
    why: ekiden_engine::Why,
    mend: bool,
    /// Needs no payment from the route's budget, or has been paid.
    free: bool,
}

impl Reference {
    /// Knows nothing yet.
    #[must_use]
    pub const fn new(day: Day) -> Self {
        Self {
            day,
            roads: BTreeMap::new(),
            talks: BTreeMap::new(),
            runners: BTreeMap::new(),
            line: Vec::new(),
            pauses: BTreeSet::new(),
            going_on: Continuation::OFF,
            leases: 0,
            said: Vec::new(),
        }
    }

    /// A call arrives and is driven until it is quiet.
    pub fn arrive(&mut self, now: Now, spec: CallSpec) -> Vec<Said> {
        let id = spec.id;
        let runner = Runner {
            marks: spec
                .queue
                .candidates
                .iter()
                .map(|c| match spec.tried.contains(&c.route) {
                    false => Mark::Fresh,
                    true if spec.queue.policy.persist.is_on() => Mark::Later,
                    true => Mark::Done,
                })
                .collect(),
            delay_due: !spec.tried.is_empty(),
            spec,
            phase: Phase::Choosing,
            began: None,
            attempts: 0,
            retries: 0,
            failovers: 0,
            at: None,
            waited_ms: 0,
            network_waits: 0,
            sleeps: 0,
            mended: false,
            instead_of: Vec::new(),
            refused: Vec::new(),
            overflow: None,
            floor: None,
            denied: Vec::new(),
            failed: None,
            touched: BTreeSet::new(),
            struck: None,
            rounds: 0,
            round_from: 0,
            next_round_ms: None,
            ran_out: false,
        };
        self.settle_down(now, id, runner, true)
    }

    /// P5.
    pub fn pause(&mut self, whose: Whose) {
        self.pauses.insert(whose);
    }

    /// P5.
    pub fn resume(&mut self, whose: Whose) {
        self.pauses.remove(&whose);
    }

    /// Asks for admission as long as the call wants it.
    fn settle_down(
        &mut self,
        now: Now,
        id: CallId,
        mut runner: Runner,
        mut asks: bool,
    ) -> Vec<Said> {
        while asks {
            asks = self.admit(now, &mut runner);
        }
        if matches!(runner.phase, Phase::Over) {
            self.leave(now, &runner);
        } else {
            self.runners.insert(id, runner);
        }
        std::mem::take(&mut self.said)
    }

    /// Whether a call still goes on.
    #[must_use]
    pub fn knows(&self, id: CallId) -> bool {
        self.runners.contains_key(&id)
    }

    /// The day turns; one that has passed never comes back (R17).
    pub fn turn(&mut self, day: Day) {
        if day.number <= self.day.number {
            return;
        }
        self.day = day;
        for talk in self.talks.values_mut() {
            talk.out.clear();
            talk.verified.clear();
        }
        for road in self.roads.values_mut() {
            (road.good, road.bad) = (0, 0);
        }
    }

    pub(crate) fn talk(&mut self, id: SessionId) -> &mut Talk {
        self.talks.entry(id).or_default()
    }

    pub(crate) fn road(&mut self, id: RouteId) -> &mut Road {
        self.roads.entry(id).or_default()
    }

    fn effect(&mut self, effect: Effect) {
        self.said.push(Said::Effect(effect));
    }

    /// Ids of seats asked for count up.
    fn next_lease(&mut self) -> LeaseId {
        self.leases += 1;
        LeaseId(self.leases)
    }

    fn saw_free(&self, candidate: usize) -> bool {
        let Some(Said::Admitted(view, ..)) = self.said.last() else { return false };
        view.candidates.get(candidate).is_some_and(|(_, state)| state.seat == SeatView::Free)
    }

    /// Whether the answer to a call's wish is still to come, and somebody still wants it.
    fn unanswered(&self, runner: &Runner, candidate: usize) -> bool {
        let route = runner.spec.queue.candidates[candidate].route;
        let holder = self.holder(runner, route);
        let seats = self.roads.get(&route).map_or(&[][..], |road| &road.seats);
        seats.iter().any(|seat| seat.holder == holder && seat.is_awaited())
    }

    /// A call that waits although it could run: nobody woke it.
    #[must_use]
    pub fn overlooked(&self, now: Now, since_ms: u64) -> Option<(CallId, String)> {
        let waits = |runner: &Runner| match runner.phase {
            Phase::Waiting { since_ms: began, until_ms }
            | Phase::Asked { since_ms: began, until_ms, .. } => {
                began >= since_ms && until_ms > now.mono_ms
            }
            Phase::Choosing
            | Phase::Again(_)
            | Phase::Pausing(..)
            | Phase::Running(_)
            | Phase::Over => false,
        };
        let waiting: Vec<CallId> =
            self.runners.iter().filter(|(_, runner)| waits(runner)).map(|(id, _)| *id).collect();
        waiting.into_iter().find_map(|id| {
            let runner = self.runners.get(&id)?;
            if let Phase::Asked { candidate, .. } = runner.phase {
                let overlooked = !self.unanswered(runner, candidate);
                return overlooked.then(|| (id, "its wish was answered or dropped".into()));
            }
            let mut other = self.clone();
            let mut runner = other.runners.remove(&id)?;
            let denied = runner.denied.clone();
            other.admit(now, &mut runner);
            let could = match runner.phase {
                Phase::Running(_) => true,
                // The answer to the wish of another of its session's calls will wake it.
                Phase::Asked { candidate, .. } => {
                    !denied.contains(&candidate) && other.saw_free(candidate)
                }
                Phase::Choosing
                | Phase::Again(_)
                | Phase::Pausing(..)
                | Phase::Waiting { .. }
                | Phase::Over => false,
            };
            could.then(|| (id, format!("{:?}", other.said)))
        })
    }
}

/// A route, as it can be looked at: cooling, resting, in flight, taken, holders, good and bad,
/// failures and openings in a row.
pub type RouteState = (Option<u64>, Option<u64>, u32, u32, Vec<Holder>, (u32, u32), (u32, u32));

/// A session, as it can be looked at: out, verified, truncations in a row.
pub type SessionState =
    (Vec<(QueueId, RouteId, Quarantine)>, Vec<(QueueId, RouteId)>, Vec<(QueueId, u32)>);

impl Reference {
    /// What the rules say about a route.
    #[must_use]
    pub fn route(&self, now: Now, id: RouteId) -> RouteState {
        let fresh = Road::default();
        let road = self.roads.get(&id).unwrap_or(&fresh);
        let cooling = road.cooling.map(|(_, until)| now.until(until)).filter(|ms| *ms > 0);
        let mut holders: Vec<Holder> = road.seats.iter().map(|seat| seat.holder).collect();
        holders.sort_unstable();
        let tally = (road.good, road.bad);
        let row = (road.failures, road.opened);
        (cooling, road.resting(now), road.in_flight, road.taken(), holders, tally, row)
    }

    /// What the rules say about a session.
    #[must_use]
    pub fn session(&self, now: Now, id: SessionId) -> SessionState {
        let fresh = Talk::default();
        let talk = self.talks.get(&id).unwrap_or(&fresh);
        let out = talk.out.iter().map(|((queue, route), (out, ..))| (*queue, *route, *out));
        let out = out.filter(|(_, _, out)| out.until_ms.is_none_or(|at| at > now.wall_ms));
        let truncations = talk.truncations.iter().map(|(queue, count)| (*queue, *count));
        (out.collect(), talk.verified.iter().copied().collect(), truncations.collect())
    }
}
