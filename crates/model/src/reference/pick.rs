//! Which candidate that is, from one view (R2 to R5, R15), and what is said when it is none (R45).

use ekiden_engine::{
    AllCooling, AttemptId, Candidate, CandidateView, Class, Continuing, Decision, Delivery,
    History, LastWord, Mode, Now, ParoleView, Passed, Presence, Purpose, Reason, SeatView, Start,
    View, WaitFor, Why,
};

use super::choice::Mark;
use super::{Again, Runner};

/// How a candidate stands to a call at this moment.
enum Standing {
    Runs(Mode),
    /// It would, but the conversation is surely too large for it.
    Small(Mode),
    Out(Reason),
}

pub(super) enum Picked {
    One(usize, Mode),
    Wait(u64, WaitFor),
    Nobody,
}

/// R8, R21: no retry where the route is out, crowded or spent, or where it would cost an untried
/// candidate its one attempt.
pub(super) fn retry(runner: &Runner, view: &View, again: Again) -> Decision {
    let policy = &runner.spec.queue.policy;
    let state = &view.candidates[again.candidate].1;
    let local = again.class == Class::LocalNetwork;
    if local && policy.persist.is_on() && view.paused.is_on() {
        return Decision::Exhausted(LastWord::LocalNetwork);
    }
    let left = policy.attempts_max.saturating_sub(runner.attempts - runner.round_from);
    let seated = matches!(state.seat, SeatView::Open | SeatView::Held);
    let others = others(runner, view, again.candidate);
    let barred = state.cooling_ms.is_some() || !seated || left == 0;
    if barred || (!again.free && (state.single || left <= others)) {
        let candidate = again.candidate as u32;
        return Decision::Judge { candidate, verdict: again.verdict };
    }
    if !again.free && again.pause_ms > 0 {
        return Decision::Pause { ms: again.pause_ms, why: again.why };
    }
    let said = if says_continue(runner) { runner.failovers } else { 0 };
    let continues = said.min(policy.continues_max);
    Decision::Go(start(runner, again.candidate, again.mode, continues, again.mend))
}

/// R9.
pub(super) fn run(runner: &Runner, view: &View, index: usize, mode: Mode) -> Decision {
    let state = &view.candidates[index].1;
    if !matches!(state.seat, SeatView::Open | SeatView::Held) {
        return Decision::Lease { candidate: index as u32 };
    }
    let policy = &runner.spec.queue.policy;
    let broke = runner.spec.tried.len() as u32;
    let failover = runner.at.map_or(broke > 0, |at| at != index);
    let trial = matches!(mode, Mode::Parole | Mode::LastResort);
    let delay = policy.continue_delay_ms;
    let says = says_continue(runner);
    if failover && says && runner.delay_due && delay > 0 && !state.single && !trial {
        return Decision::Pause { ms: delay, why: Why::ContinueDelay };
    }
    let so_far = if runner.at.is_none() { broke } else { runner.failovers + u32::from(failover) };
    let said = if says { so_far } else { 0 };
    Decision::Go(start(runner, index, mode, said.min(policy.continues_max), false))
}

fn says_continue(runner: &Runner) -> bool {
    runner.spec.purpose == Purpose::Main
        && match runner.spec.queue.policy.continuing {
            Continuing::Always => true,
            Continuing::Auto => runner.spec.history == History::Ongoing,
            Continuing::Never => false,
        }
}

pub(super) fn start(
    runner: &Runner,
    index: usize,
    mode: Mode,
    continues: u32,
    repair: bool,
) -> Start {
    let attempt = AttemptId(runner.attempts + 1);
    Start { attempt, candidate: index as u32, leg: 1, continues, mode, repair }
}

/// R2, R3, R14: the user's order from the rotation on; behind the first quarantined one the
/// verified come before the others.
fn order(view: &View) -> Vec<usize> {
    let n = view.candidates.len();
    let mut ring: Vec<usize> = (0..n).map(|step| (view.start as usize + step) % n).collect();
    if let Some(current) = view.current.map(|index| index as usize) {
        ring.retain(|index| *index != current);
        ring.insert(0, current);
    }
    let Some(out) = ring.iter().position(|i| view.candidates[*i].1.quarantine.is_some()) else {
        return ring;
    };
    let (before, after) = ring.split_at(out + 1);
    let proven = after.iter().filter(|i| view.candidates[**i].1.verified);
    let unproven = after.iter().filter(|i| !view.candidates[**i].1.verified);
    before.iter().chain(proven).chain(unproven).copied().collect()
}

pub(super) fn pick(runner: &Runner, view: &View, passed: &mut Vec<Passed>) -> Picked {
    let order = order(view);
    let standing = |i: usize| standing(runner, view, i);
    for &index in &order {
        let reason = match (runner.marks[index], standing(index)) {
            (Mark::Fresh, Standing::Runs(mode)) => return Picked::One(index, mode),
            (Mark::Fresh, Standing::Small(_)) => Reason::WindowTooSmall,
            (Mark::Fresh, Standing::Out(reason)) => reason,
            (Mark::Done | Mark::Cooled | Mark::Later, _) => Reason::Tried,
        };
        passed.push(Passed { candidate: index as u32, reason });
    }
    // Nobody new: one that this call cooled, once its time is up.
    for &index in &order {
        if let (Mark::Cooled, Standing::Runs(mode)) = (runner.marks[index], standing(index)) {
            return Picked::One(index, mode);
        }
    }
    if let Some(index) = last_hope(runner, view, &order) {
        return Picked::One(index, Mode::LastResort);
    }
    let large: Vec<usize> = order
        .iter()
        .copied()
        .filter(|index| !too_small(runner, &runner.spec.queue.candidates[*index]))
        .collect();
    if let Some((ms, why)) = wait(runner, view, &large, due) {
        return Picked::Wait(ms, why);
    }
    for &index in &order {
        if let (Mark::Fresh | Mark::Cooled, Standing::Small(mode)) =
            (runner.marks[index], standing(index))
        {
            return Picked::One(index, mode);
        }
    }
    if let Some((ms, why)) = wait(runner, view, &order, due) {
        return Picked::Wait(ms, why);
    }
    if runner.spec.queue.policy.retry_when_all_quarantined.is_on() {
        for &index in &order {
            let candidate = &runner.spec.queue.candidates[index];
            let state = &view.candidates[index].1;
            let out = state.quarantine.is_some_and(|out| out.parole != ParoleView::Running);
            let here = candidate.presence == Presence::Present && fits(runner, candidate);
            let fresh = runner.marks[index] == Mark::Fresh;
            if fresh && out && here && blocked(runner, view, state).is_none() {
                return Picked::One(index, Mode::LastResort);
            }
        }
        let late = |state: &CandidateView, mark: Mark| {
            let resort = state.quarantine.is_some() && mark == Mark::Fresh;
            resort.then(|| unblocked_in(state)).flatten().or_else(|| due(state, mark))
        };
        if let Some((ms, why)) = wait(runner, view, &order, late) {
            return Picked::Wait(ms, why);
        }
    }
    Picked::Nobody
}

fn standing(runner: &Runner, view: &View, index: usize) -> Standing {
    let (candidate, state) = (&runner.spec.queue.candidates[index], &view.candidates[index].1);
    if candidate.presence == Presence::Missing {
        return Standing::Out(Reason::Missing);
    }
    if !fits(runner, candidate) {
        return Standing::Out(Reason::WindowTooSmall);
    }
    match state.quarantine.map(|out| (out.parole, out.class)) {
        Some((ParoleView::Running, _)) => return Standing::Out(Reason::ParoleRunning),
        Some((ParoleView::Never, class)) => return Standing::Out(Reason::Quarantined(class)),
        Some((ParoleView::In(ms), class)) if ms > 0 => {
            return Standing::Out(Reason::Quarantined(class));
        }
        Some((ParoleView::In(_), _)) | None => {}
    }
    if let Some(reason) = blocked(runner, view, state) {
        return Standing::Out(reason);
    }
    let mode = match (state.quarantine.is_some(), state.untested) {
        (true, _) => Mode::Parole,
        (false, true) => Mode::Probe,
        (false, false) => Mode::Normal,
    };
    if too_small(runner, candidate) { Standing::Small(mode) } else { Standing::Runs(mode) }
}

/// R15: the estimate is over 1.2 × window.
fn too_small(runner: &Runner, candidate: &Candidate) -> bool {
    let tokens = u64::from(runner.spec.input_tokens);
    candidate.window.is_some_and(|window| tokens * 5 > u64::from(window) * 6)
}

pub(super) fn fits(runner: &Runner, candidate: &Candidate) -> bool {
    match (runner.floor, candidate.window) {
        (None, _) => true,
        (Some(floor), Some(window)) => window > floor,
        (Some(_), None) => false,
    }
}

/// What keeps everybody out, or this call for want of a seat.
fn blocked(runner: &Runner, view: &View, state: &CandidateView) -> Option<Reason> {
    match (state.cooling_ms, state.stand_in, state.probing, state.seat) {
        (Some(ms), ..) => Some(Reason::Cooling(ms)),
        (_, true, ..) => Some(Reason::StandIn),
        (_, _, true, _) => Some(Reason::Probing),
        (.., SeatView::Full { .. }) => Some(Reason::Full),
        (.., SeatView::Resting { ms }) => Some(Reason::Resting(ms)),
        (.., SeatView::Asked) if patience(runner, view) == 0 => Some(Reason::Full),
        (.., SeatView::Asked | SeatView::Free | SeatView::Held | SeatView::Open) => None,
    }
}

pub(super) fn patience(runner: &Runner, view: &View) -> u64 {
    let policy = &runner.spec.queue.policy;
    if persists(runner, view) {
        // P2: a named wait in full.
        return policy.cooldown_max_ms.max(policy.wait_max_ms).max(60_000);
    }
    policy.wait_max_ms.saturating_sub(runner.waited_ms)
}

/// P1, P5: whether another round may come.
pub(super) fn persists(runner: &Runner, view: &View) -> bool {
    let policy = &runner.spec.queue.policy;
    let rounds = policy.rounds_max == 0 || runner.rounds < policy.rounds_max;
    policy.persist.is_on() && rounds && !view.paused.is_on()
}

/// H1, C4: nothing was tried yet, and everybody is out for their health alone.
fn last_hope(runner: &Runner, view: &View, order: &[usize]) -> Option<usize> {
    let policy = &runner.spec.queue.policy;
    if policy.all_cooling == AllCooling::Wait || runner.attempts > 0 {
        return None;
    }
    let mut sick = Vec::new();
    for &index in order {
        let (candidate, state) = (&runner.spec.queue.candidates[index], &view.candidates[index].1);
        let counts = candidate.presence == Presence::Present
            && fits(runner, candidate)
            && !too_small(runner, candidate)
            && matches!(runner.marks[index], Mark::Fresh | Mark::Cooled);
        if !counts {
            continue;
        }
        let ailing = state.cooling_ms.is_some() || state.stand_in || state.probing;
        let room = match state.seat {
            SeatView::Full { .. } | SeatView::Resting { .. } => false,
            SeatView::Asked => patience(runner, view) > 0,
            SeatView::Free | SeatView::Held | SeatView::Open => true,
        };
        if state.quarantine.is_some() || !ailing {
            return None;
        }
        if room {
            sick.push(index);
        }
    }
    if policy.all_cooling == AllCooling::Soonest {
        sick.sort_by_key(|index| view.candidates[*index].1.cooling_ms.unwrap_or(u64::MAX));
    }
    sick.first().copied()
}

type Moment = (Option<u64>, WaitFor);

fn unblocked_in(state: &CandidateView) -> Option<Moment> {
    match (state.cooling_ms, state.stand_in, state.probing, state.seat) {
        (Some(ms), ..) => Some((Some(ms), WaitFor::Cooldown)),
        (_, true, ..) => Some((None, WaitFor::StandIn)),
        (_, _, true, _) => Some((None, WaitFor::Probe)),
        (.., SeatView::Full { soonest_ms }) => Some((soonest_ms, WaitFor::Seat)),
        (.., SeatView::Resting { ms }) => Some((Some(ms), WaitFor::Rest)),
        (.., SeatView::Asked | SeatView::Free | SeatView::Held | SeatView::Open) => None,
    }
}

/// When a candidate may run in its own right.
fn due(state: &CandidateView, _: Mark) -> Option<Moment> {
    let Some(out) = state.quarantine else { return unblocked_in(state) };
    let parole = match out.parole {
        ParoleView::Running => return Some((None, WaitFor::Parole)),
        ParoleView::Never => None,
        ParoleView::In(ms) => Some(ms),
    };
    let free = match (parole, out.ends_ms) {
        (Some(one), Some(other)) => one.min(other),
        (one, other) => one.or(other)?,
    };
    match state.cooling_ms {
        _ if free == 0 => unblocked_in(state),
        Some(cooling) if cooling > free => Some((Some(cooling), WaitFor::Cooldown)),
        Some(_) | None => Some((Some(free), WaitFor::Parole)),
    }
}

/// R5 (1).
fn wait(
    runner: &Runner,
    view: &View,
    order: &[usize],
    moment: impl Fn(&CandidateView, Mark) -> Option<Moment>,
) -> Option<(u64, WaitFor)> {
    let patience = patience(runner, view);
    let mut soonest: Option<(u64, WaitFor)> = None;
    let mut out_of_reach: Option<(u64, WaitFor)> = None;
    for &index in order {
        let candidate = &runner.spec.queue.candidates[index];
        let mark = runner.marks[index];
        let may = candidate.presence == Presence::Present && fits(runner, candidate);
        if !may || matches!(mark, Mark::Done | Mark::Later) {
            continue;
        }
        let state = &view.candidates[index].1;
        let ailing = state.cooling_ms.is_some() || state.stand_in || state.probing;
        let tries = runner.spec.queue.policy.all_cooling != AllCooling::Wait;
        let room = match state.seat {
            _ if !tries || !ailing || runner.attempts > 0 => None,
            SeatView::Resting { ms } => Some((Some(ms), WaitFor::Rest)),
            SeatView::Full { soonest_ms } => Some((soonest_ms, WaitFor::Seat)),
            SeatView::Open | SeatView::Held | SeatView::Free | SeatView::Asked => None,
        };
        let moment = room.or_else(|| moment(state, mark));
        if let Some((Some(ms), why)) = moment
            && out_of_reach.is_none_or(|(least, _)| ms < least)
        {
            out_of_reach = Some((ms, why));
        }
        let wait = match moment {
            // C6: one that ails is not waited for once anybody was tried.
            _ if tries && ailing && runner.attempts > 0 => None,
            Some((Some(ms), WaitFor::Rest)) => Some((ms, WaitFor::Rest)),
            Some((Some(ms), WaitFor::Seat)) if patience > 0 => {
                Some((ms.min(patience), WaitFor::Seat))
            }
            Some((None, why)) if patience > 0 => Some((patience, why)),
            Some((Some(ms), why)) if ms <= patience => Some((ms, why)),
            Some(_) | None => None,
        };
        soonest = match (soonest, wait) {
            (Some(one), Some(other)) if other.0 < one.0 => Some(other),
            (None, other) => other,
            (one, _) => one,
        };
    }
    // Whoever waits anyway takes what comes back before that.
    let (ms, why) = soonest?;
    let (ms, why) = out_of_reach.filter(|(sooner, _)| *sooner < ms).unwrap_or((ms, why));
    Some((ms.max(1), why))
}

/// R5 (3).
pub(super) fn soonest(runner: &Runner, view: &View) -> Option<u64> {
    let pairs = runner.spec.queue.candidates.iter().zip(&view.candidates);
    let here = pairs.filter(|(candidate, _)| candidate.presence == Presence::Present);
    here.filter_map(|(_, (_, state))| match state.quarantine {
        Some(out) => {
            let parole = match out.parole {
                ParoleView::Never => None,
                ParoleView::In(ms) => Some(ms),
                ParoleView::Running => Some(0),
            };
            let free = [parole, out.ends_ms].into_iter().flatten().min()?;
            Some(free.max(state.cooling_ms.unwrap_or(0)))
        }
        None => match (state.cooling_ms, state.seat) {
            (Some(ms), _) | (None, SeatView::Resting { ms }) => Some(ms),
            (None, SeatView::Full { soonest_ms }) => Some(soonest_ms.unwrap_or(0)),
            (None, SeatView::Open | SeatView::Held | SeatView::Free | SeatView::Asked) => {
                (state.stand_in || state.probing).then_some(0)
            }
        },
    })
    .min()
}

/// R45.
pub(super) fn last_word(runner: &Runner, soonest_ms: Option<u64>) -> LastWord {
    let candidates = &runner.spec.queue.candidates;
    if candidates.iter().all(|candidate| candidate.presence == Presence::Missing) {
        return LastWord::EmptyQueue;
    }
    if let Some(attempt) = runner.overflow {
        return LastWord::Overflow(attempt);
    }
    let policy = &runner.spec.queue.policy;
    if let Some((attempt, class)) = runner.failed {
        let ours = matches!(class, Class::Auth | Class::NotFound | Class::QuotaExhausted);
        if policy.breaker_threshold > 0 && !ours || policy.persist.is_on() && passes(class) {
            return LastWord::AsItCame(attempt);
        }
    }
    let tried = runner.marks.iter().filter(|mark| **mark != Mark::Fresh).count();
    match (runner.refused.first(), soonest_ms) {
        (_, Some(ms)) => LastWord::ComeBack(ms),
        (Some(first), None) if runner.refused.len() == tried => LastWord::AsItCame(*first),
        (_, None) => LastWord::DoNotRetry,
    }
}

/// P3, P4: what passes by itself.
pub(super) const fn passes(class: Class) -> bool {
    !matches!(
        class,
        Class::Auth
            | Class::QuotaExhausted
            | Class::NotFound
            | Class::InvalidRequest
            | Class::ContentFilter
            | Class::ContextOverflow
            | Class::LocalNetwork
    )
}

/// R8: who else could run at this moment.
fn others(runner: &Runner, view: &View, except: usize) -> u32 {
    let all = 0..runner.marks.len();
    let could = all.filter(|index| {
        *index != except
            && runner.marks[*index] == Mark::Fresh
            && matches!(standing(runner, view, *index), Standing::Runs(_))
    });
    could.count() as u32
}

/// R11: whole answers share what is left of the deadline.
pub(super) fn share(now: Now, runner: &Runner, view: &View, index: usize) -> Option<u64> {
    let relay = runner.spec.queue.policy.relay.is_on();
    if runner.spec.delivery == Delivery::Stream || !relay {
        return None;
    }
    let deadline = runner.began?.mono_ms.saturating_add(runner.spec.deadline_ms?);
    let others = u64::from(others(runner, view, index));
    let left = deadline.saturating_sub(now.mono_ms);
    (others > 0).then(|| now.mono_ms + left / (others + 1))
}
