//! Which candidate runs next (R2 to R5, R14, R15). Pure: reads a view and the call's own past.

use alloc::vec::Vec;

use crate::class::Class;
use crate::ids::RouteId;
use crate::policy::{AllCooling, Candidate, Policy, Presence, Queue};
use crate::view::{CandidateView, ParoleView, SeatView, Sight};

/// What this call has already done with a candidate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Past {
    /// Nothing yet.
    Untried,
    /// It was tried and is done with.
    Tried,
    /// It was tried and cooled: it may come back when nothing else can run (R5).
    Cooled,
    /// It was tried; another round may try it again (P1).
    NextRound,
}

/// Under which rule a candidate runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// In order.
    Normal,
    /// Alone, after a cooldown (R22).
    Probe,
    /// A quarantined candidate proves itself (R18).
    Parole,
    /// Everything else is quarantined (R5).
    LastResort,
}

/// Why a candidate was passed over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// This call has tried it.
    Tried,
    /// Its provider is not configured (R40).
    Missing,
    /// Out for the day here.
    Quarantined(Class),
    /// Another call is on parole there.
    ParoleRunning,
    /// Cooling for this many milliseconds.
    Cooling(u64),
    /// Its limit is over, but the run that stands in for it is not (R22).
    StandIn,
    /// Somebody is trying it alone after its cooldown (R22).
    Probing,
    /// No seat (R25).
    Full,
    /// Resting for this many milliseconds (R27).
    Resting(u64),
    /// The conversation is surely too large for it (R15).
    WindowTooSmall,
}

impl Reason {
    /// The same without how long it still lasts, which changes by itself.
    #[must_use]
    pub const fn without_span(self) -> Self {
        match self {
            Self::Cooling(_) => Self::Cooling(0),
            Self::Resting(_) => Self::Resting(0),
            Self::Tried
            | Self::Missing
            | Self::Quarantined(_)
            | Self::ParoleRunning
            | Self::StandIn
            | Self::Probing
            | Self::Full
            | Self::WindowTooSmall => self,
        }
    }
}

/// What a waiting call waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WaitFor {
    /// A cooldown.
    Cooldown,
    /// A rest.
    Rest,
    /// A parole.
    Parole,
    /// A run that stands in.
    StandIn,
    /// A seat.
    Seat,
    /// A call that is trying a candidate alone.
    Probe,
    /// Another round through the queue (P1).
    Round,
}

/// A candidate that was passed over, and why.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Passed {
    /// Its place in the queue, from 0.
    pub candidate: u32,
    /// Why.
    pub reason: Reason,
}

/// The outcome of a choice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Choice {
    /// This one runs.
    Run { candidate: u32, mode: Mode },
    /// This one would run if the session had a seat.
    Ask { candidate: u32, mode: Mode },
    /// Wait at most this long.
    Wait { ms: u64, why: WaitFor },
    /// Nothing can run; the soonest moment at which something may.
    Nothing { soonest_ms: Option<u64> },
}

/// What a choice reads beside the view.
pub(crate) struct Asking<'a> {
    pub(crate) queue: &'a Queue,
    pub(crate) view: &'a Sight<'a>,
    pub(crate) past: &'a [Past],
    /// Estimated size of the conversation; 0: unknown.
    pub(crate) input_tokens: u32,
    /// Only candidates with a larger known window than this (R15).
    pub(crate) window_above: Option<u32>,
    /// What is left of `wait_max`.
    pub(crate) patience_ms: u64,
    /// Whether the call has made no attempt yet.
    pub(crate) unspent: bool,
    /// Their seats were refused a moment ago, so that they count as full.
    pub(crate) denied: &'a [u32],
}

enum Standing {
    Runs(Mode),
    TooSmall(Mode),
    Out(Reason),
}

pub(crate) fn choose(asking: &Asking<'_>, passed: &mut Vec<Passed>) -> Choice {
    let order = order(asking.view, asking.queue.candidates.len());
    if let Some(choice) = first_runnable(asking, &order, passed) {
        return choice;
    }
    if let Some(choice) = first_cooled(asking, &order).or_else(|| all_cooling(asking, &order)) {
        return choice;
    }
    // R15: one that is surely too small is waited for only when no other can come back.
    let large = |candidate: &Candidate| !asking.surely_too_small(candidate);
    wait(asking, &order, large, next_moment)
        .or_else(|| first_too_small(asking, &order))
        .or_else(|| wait(asking, &order, |_| true, next_moment))
        .or_else(|| last_resort(asking, &order))
        .or_else(|| {
            wait(asking, &order, |_| true, last_moment).filter(|_| asking.has_last_resort())
        })
        .unwrap_or_else(|| Choice::Nothing { soonest_ms: soonest(asking, &order) })
}

/// The user's order, as a ring from the rotation's start (R14), with the unverified candidates
/// behind the verified ones once one before them is quarantined (R3).
pub(crate) fn order(view: &Sight<'_>, count: usize) -> Vec<u32> {
    let start = if count == 0 { 0 } else { view.start as usize % count };
    let mut ring: Vec<u32> = (start..count).chain(0..start).map(|index| index as u32).collect();
    // H3: the current one before all others.
    if let Some(at) = view.current.and_then(|current| ring.iter().position(|i| *i == current))
        && let Some(head) = ring.get_mut(..=at)
    {
        head.rotate_right(1);
    }
    if !view.reordered.is_on() {
        return ring;
    }
    let first_out = ring.iter().position(|index| view.at(*index).quarantine.is_some());
    if let Some(tail) = first_out.and_then(|out| ring.get_mut(out + 1..)) {
        tail.sort_by_key(|index| !view.at(*index).verified);
    }
    ring
}

fn first_runnable(asking: &Asking<'_>, order: &[u32], passed: &mut Vec<Passed>) -> Option<Choice> {
    for &index in order {
        let Some((candidate, state, past)) = asking.at(index) else { continue };
        let reason = match past {
            Past::Tried | Past::Cooled | Past::NextRound => Reason::Tried,
            Past::Untried => match asking.standing(candidate, &state) {
                Standing::Runs(mode) => return Some(run(index, &state, mode)),
                Standing::TooSmall(_) => Reason::WindowTooSmall,
                Standing::Out(reason) => reason,
            },
        };
        passed.push(Passed { candidate: index, reason });
    }
    None
}

/// A candidate that this call cooled is taken up again once its time is over and nothing else
/// can run.
fn first_cooled(asking: &Asking<'_>, order: &[u32]) -> Option<Choice> {
    order.iter().find_map(|&index| {
        let (candidate, state, past) = asking.at(index)?;
        match (past, asking.standing(candidate, &state)) {
            (Past::Cooled, Standing::Runs(mode)) => Some(run(index, &state, mode)),
            _ => None,
        }
    })
}

/// Policies `health` and `chain`: when every candidate is out for its health alone, one is tried.
/// Once in a call: its failure, or that of the last one, is final (C6).
fn all_cooling(asking: &Asking<'_>, order: &[u32]) -> Option<Choice> {
    if !asking.tries_ailing() {
        return None;
    }
    let policy = asking.queue.policy.all_cooling;
    let mut best: Option<((bool, u64), Choice)> = None;
    for &index in order {
        let (candidate, state, past) = asking.at(index)?;
        let counts = asking.may_return(candidate, past) && !asking.surely_too_small(candidate);
        if !counts {
            continue;
        }
        if !is_ailing(&state) || state.quarantine.is_some() {
            return None;
        }
        if asking.lack_of_room(&state).is_some() {
            continue;
        }
        // One that somebody is trying alone right now comes last.
        let rank = match policy {
            AllCooling::Soonest => (state.cooling_ms.is_none(), state.cooling_ms.unwrap_or(0)),
            AllCooling::Head | AllCooling::Wait => (false, 0),
        };
        if best.is_none_or(|(least, _)| rank < least) {
            best = Some((rank, run(index, &state, Mode::LastResort)));
        }
    }
    best.map(|(_, choice)| choice)
}

/// Out for everybody, whether there is room or not.
const fn is_ailing(state: &CandidateView) -> bool {
    state.cooling_ms.is_some() || state.stand_in || state.probing
}

fn first_too_small(asking: &Asking<'_>, order: &[u32]) -> Option<Choice> {
    order.iter().find_map(|&index| {
        let (candidate, state, past) = asking.at(index)?;
        match (past, asking.standing(candidate, &state)) {
            (Past::Untried | Past::Cooled, Standing::TooSmall(mode)) => {
                Some(run(index, &state, mode))
            }
            _ => None,
        }
    })
}

fn last_resort(asking: &Asking<'_>, order: &[u32]) -> Option<Choice> {
    if !asking.has_last_resort() {
        return None;
    }
    order.iter().find_map(|&index| {
        let (candidate, state, past) = asking.at(index)?;
        let quarantine = state.quarantine?;
        let free = past == Past::Untried
            && candidate.presence == Presence::Present
            && quarantine.parole != ParoleView::Running
            && asking.obstacle(&state).is_none()
            && asking.window_fits(candidate);
        free.then(|| run(index, &state, Mode::LastResort))
    })
}

fn run(candidate: u32, state: &CandidateView, mode: Mode) -> Choice {
    match state.seat {
        SeatView::Open | SeatView::Held => Choice::Run { candidate, mode },
        SeatView::Free | SeatView::Asked | SeatView::Full { .. } | SeatView::Resting { .. } => {
            Choice::Ask { candidate, mode }
        }
    }
}

/// R5 (1): the soonest moment, if it can come within what is left of `wait_max`; a rest is waited
/// out in full.
fn wait(
    asking: &Asking<'_>,
    order: &[u32],
    counts: impl Fn(&Candidate) -> bool,
    moment: fn(&CandidateView, Past) -> Option<Moment>,
) -> Option<Choice> {
    let patience = asking.patience_ms;
    let moments = || {
        order.iter().filter_map(|&index| {
            let (candidate, state, past) = asking.at(index)?;
            if !asking.may_return(candidate, past) || !counts(candidate) {
                return None;
            }
            // Where an ailing one is tried all the same, it is room that it waits for.
            let room = seat_moment(&state).filter(|_| asking.tries_ailing() && is_ailing(&state));
            let (ms, why) = room.or_else(|| moment(&state, past))?;
            // C6: once a candidate was tried, no ailing one is waited for.
            Some((ms, why, asking.gives_up_ailing() && is_ailing(&state)))
        })
    };
    let in_reach = moments().filter_map(|(ms, why, given_up)| match (ms, why) {
        _ if given_up => None,
        (Some(ms), WaitFor::Rest) => Some((ms, why)),
        (Some(ms), WaitFor::Seat) if patience > 0 => Some((ms.min(patience), why)),
        (Some(ms), _) if ms <= patience => Some((ms, why)),
        // Not within reach by itself, but a release or a success may end it early.
        (None, _) if patience > 0 => Some((patience, why)),
        (Some(_) | None, _) => None,
    });
    let waited_for = in_reach.min_by_key(|(ms, _)| *ms)?;
    // Whoever waits anyway is there when anything else comes back sooner.
    let known = moments().filter_map(|(ms, why, _)| Some((ms?, why)));
    let (ms, why) = core::iter::once(waited_for).chain(known).min_by_key(|(ms, _)| *ms)?;
    Some(Choice::Wait { ms: ms.max(1), why })
}

/// The routes that the call would take as soon as nobody else stands in the way.
pub(crate) fn hopes(asking: &Asking<'_>) -> impl Iterator<Item = RouteId> {
    (0..asking.queue.candidates.len() as u32).filter_map(|index| {
        let (candidate, state, past) = asking.at(index)?;
        let in_play = state.quarantine.is_none_or(|out| out.parole == ParoleView::In(0));
        let hopes = asking.may_return(candidate, past) && in_play && !state.stand_in;
        hopes.then_some(candidate.route)
    })
}

/// After how long, where that is known, and what changes then.
type Moment = (Option<u64>, WaitFor);

/// When a candidate may run of itself.
fn next_moment(state: &CandidateView, _: Past) -> Option<Moment> {
    let Some(quarantine) = state.quarantine else { return shared_moment(state) };
    let parole = match quarantine.parole {
        ParoleView::Never => None,
        ParoleView::In(ms) => Some(ms),
        ParoleView::Running => return Some((None, WaitFor::Parole)),
    };
    match ([parole, quarantine.ends_ms].into_iter().flatten().min()?, state.cooling_ms) {
        (0, _) => shared_moment(state),
        (ms, Some(cooling)) if cooling > ms => Some((Some(cooling), WaitFor::Cooldown)),
        (ms, _) => Some((Some(ms), WaitFor::Parole)),
    }
}

/// When a candidate may run of itself, or because all are quarantined.
fn last_moment(state: &CandidateView, past: Past) -> Option<Moment> {
    let out = state.quarantine.filter(|_| past == Past::Untried);
    out.and_then(|_| shared_moment(state)).or_else(|| next_moment(state, past))
}

fn shared_moment(state: &CandidateView) -> Option<Moment> {
    if let Some(ms) = state.cooling_ms {
        return Some((Some(ms), WaitFor::Cooldown));
    }
    if state.stand_in {
        return Some((None, WaitFor::StandIn));
    }
    if state.probing {
        return Some((None, WaitFor::Probe));
    }
    seat_moment(state)
}

fn seat_moment(state: &CandidateView) -> Option<Moment> {
    match state.seat {
        SeatView::Resting { ms } => Some((Some(ms), WaitFor::Rest)),
        SeatView::Full { soonest_ms } => Some((soonest_ms, WaitFor::Seat)),
        SeatView::Open | SeatView::Held | SeatView::Free | SeatView::Asked => None,
    }
}

/// The soonest moment at which anything may run, in whatever order.
pub(crate) fn soonest_of(asking: &Asking<'_>) -> Option<u64> {
    soonest(asking, &order(asking.view, asking.queue.candidates.len()))
}

/// The soonest moment for `Retry-After` (R5 (3)), tried candidates included.
fn soonest(asking: &Asking<'_>, order: &[u32]) -> Option<u64> {
    order
        .iter()
        .filter_map(|&index| {
            let (candidate, state, _) = asking.at(index)?;
            if candidate.presence == Presence::Missing {
                return None;
            }
            let quarantine = state.quarantine.and_then(|quarantine| {
                let parole = match quarantine.parole {
                    ParoleView::Never => None,
                    ParoleView::In(ms) => Some(ms),
                    ParoleView::Running => Some(0),
                };
                [parole, quarantine.ends_ms].into_iter().flatten().min()
            });
            match (state.quarantine, state.cooling_ms, state.seat) {
                (Some(_), cooling, _) => quarantine.map(|ms| ms.max(cooling.unwrap_or(0))),
                (None, Some(ms), _) | (None, None, SeatView::Resting { ms }) => Some(ms),
                (None, None, SeatView::Full { soonest_ms }) => Some(soonest_ms.unwrap_or(0)),
                (None, None, _) if state.stand_in || state.probing => Some(0),
                (None, None, _) => None,
            }
        })
        .min()
}

impl Asking<'_> {
    fn at(&self, index: u32) -> Option<(&Candidate, CandidateView, Past)> {
        self.with(index, self.view.at(index))
    }

    fn with(
        &self,
        index: u32,
        mut state: CandidateView,
    ) -> Option<(&Candidate, CandidateView, Past)> {
        let candidate = self.queue.candidates.get(index as usize)?;
        if self.denied.contains(&index) {
            state.seat = SeatView::Full { soonest_ms: None };
        }
        Some((candidate, state, *self.past.get(index as usize)?))
    }

    fn standing(&self, candidate: &Candidate, state: &CandidateView) -> Standing {
        if candidate.presence == Presence::Missing {
            return Standing::Out(Reason::Missing);
        }
        if !self.window_fits(candidate) {
            return Standing::Out(Reason::WindowTooSmall);
        }
        if let Some(quarantine) = state.quarantine {
            match quarantine.parole {
                ParoleView::Running => return Standing::Out(Reason::ParoleRunning),
                ParoleView::Never | ParoleView::In(1..) => {
                    return Standing::Out(Reason::Quarantined(quarantine.class));
                }
                ParoleView::In(0) => {}
            }
        }
        if let Some(reason) = self.obstacle(state) {
            return Standing::Out(reason);
        }
        let mode = match (state.quarantine, state.untested) {
            (Some(_), _) => Mode::Parole,
            (None, true) => Mode::Probe,
            (None, false) => Mode::Normal,
        };
        if self.surely_too_small(candidate) {
            Standing::TooSmall(mode)
        } else {
            Standing::Runs(mode)
        }
    }

    /// What stands in the way for everybody, or for want of a seat.
    fn obstacle(&self, state: &CandidateView) -> Option<Reason> {
        if let Some(ms) = state.cooling_ms {
            return Some(Reason::Cooling(ms));
        }
        if state.stand_in {
            return Some(Reason::StandIn);
        }
        if state.probing {
            return Some(Reason::Probing);
        }
        self.lack_of_room(state)
    }

    fn lack_of_room(&self, state: &CandidateView) -> Option<Reason> {
        match state.seat {
            SeatView::Full { .. } => Some(Reason::Full),
            // An answer that does not come is a no.
            SeatView::Asked if self.patience_ms == 0 => Some(Reason::Full),
            SeatView::Resting { ms } => Some(Reason::Resting(ms)),
            SeatView::Open | SeatView::Held | SeatView::Free | SeatView::Asked => None,
        }
    }

    /// R15: the estimate is over 1.2 times the known window.
    fn surely_too_small(&self, candidate: &Candidate) -> bool {
        candidate
            .window
            .is_some_and(|window| u64::from(self.input_tokens) * 10 > u64::from(window) * 12)
    }

    fn window_fits(&self, candidate: &Candidate) -> bool {
        self.window_above.is_none_or(|floor| candidate.window.is_some_and(|window| window > floor))
    }

    /// Whether a call that finds all of them ailing tries one.
    fn tries_ailing(&self) -> bool {
        self.unspent && self.queue.policy.all_cooling != AllCooling::Wait
    }

    fn gives_up_ailing(&self) -> bool {
        !self.unspent && self.queue.policy.all_cooling != AllCooling::Wait
    }

    const fn has_last_resort(&self) -> bool {
        self.queue.policy.retry_when_all_quarantined.is_on()
    }

    fn may_return(&self, candidate: &Candidate, past: Past) -> bool {
        candidate.presence == Presence::Present
            && matches!(past, Past::Untried | Past::Cooled)
            && self.window_fits(candidate)
    }
}

/// How many other candidates could run now: they share what is left of a whole answer's time, and
/// each keeps its one attempt (R8).
pub(crate) fn untried_runnable(asking: &Asking<'_>, except: u32) -> u32 {
    let count = (0..asking.queue.candidates.len() as u32)
        .filter(|&index| index != except)
        .filter_map(|index| asking.with(index, asking.view.counted(index)))
        .filter(|(candidate, state, past)| {
            *past == Past::Untried && matches!(asking.standing(candidate, state), Standing::Runs(_))
        })
        .count();
    count as u32
}

/// R9: `continue_text` messages on the n-th failover.
pub(crate) fn continues(policy: &Policy, failovers: u32) -> u32 {
    failovers.min(policy.continues_max)
}
