//! Who runs next (R1 to R5, R14, R15, R21, R22), what the last word is (R45).

use ekiden_engine::{
    AttemptId, Candidate, CandidateView, Continuing, Decision, Delivery, Effect, History, Holder,
    LastWord, Mode, Now, ParoleView, Passed, Presence, Purpose, QuarantineView, Reason, RouteId,
    SeatView, SessionId, Start, View, WaitFor, Why,
};

use super::ledger::Lone;
use super::trial::Try;
use super::{Again, InLine, Phase, Reference, Run, Runner, Said};

/// What a call has done with a candidate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mark {
    Fresh,
    Done,
    Cooled,
}

/// How a candidate stands to a call at this moment.
enum Standing {
    Runs(Mode),
    /// It would, but the conversation is surely too large for it.
    Small(Mode),
    Out(Reason),
}

enum Picked {
    One(usize, Mode),
    Wait(u64, WaitFor),
    Nobody,
}

impl Reference {
    /// One admission; true when the call asks again at once.
    pub(crate) fn admit(&mut self, now: Now, runner: &mut Runner) -> bool {
        let id = runner.spec.id;
        let place = self.line.iter().position(|other| other.call == id);
        if let Some(place) = place {
            self.line.remove(place);
        }
        let again = match runner.phase {
            Phase::Again(again) | Phase::Pausing(_, Some(again)) => Some(again),
            Phase::Choosing
            | Phase::Pausing(_, None)
            | Phase::Waiting { .. }
            | Phase::Asked { .. }
            | Phase::Running(_)
            | Phase::Over => None,
        };
        let ahead = match (again, place) {
            (Some(_), _) => Vec::new(),
            (None, Some(place)) => self.line[..place].to_vec(),
            (None, None) => self.line.clone(),
        };
        let view = self.look(now, runner, &ahead);
        let began = *runner.began.get_or_insert(now);
        if let Phase::Waiting { since_ms, .. } | Phase::Asked { since_ms, .. } = runner.phase {
            runner.waited_ms += now.mono_ms - since_ms;
        }
        runner.denied = match runner.phase {
            Phase::Asked { candidate, .. } => {
                Some(candidate).filter(|index| view.candidates[*index].seat == SeatView::Free)
            }
            Phase::Choosing
            | Phase::Again(_)
            | Phase::Pausing(..)
            | Phase::Waiting { .. }
            | Phase::Running(_)
            | Phase::Over => None,
        };
        let mut passed = Vec::new();
        let decision = self.decide(now, began, runner, &view, again, &mut passed);
        self.said.push(Said::Admitted(view.clone(), passed.clone(), decision));
        self.carry_out(now, runner, &view, &passed, decision, (again, place))
    }

    /// Does what was decided; true when the call asks again at once.
    fn carry_out(
        &mut self,
        now: Now,
        runner: &mut Runner,
        view: &View,
        passed: &[Passed],
        decision: Decision,
        (again, place): (Option<Again>, Option<usize>),
    ) -> bool {
        let id = runner.spec.id;
        match decision {
            Decision::Go(start) => {
                if again.is_none() {
                    let cools = |index: u32| view.candidates[index as usize].cooling_ms.is_some();
                    let cooling = passed.iter().filter(|p| cools(p.candidate));
                    runner.instead_of = cooling
                        .filter_map(|p| runner.spec.queue.candidates.get(p.candidate as usize))
                        .map(|candidate| candidate.route)
                        .collect();
                }
                self.go(now, runner, view, start, again);
                false
            }
            Decision::Lease { candidate } => {
                let index = candidate as usize;
                let left = runner.spec.queue.policy.wait_max_ms.saturating_sub(runner.waited_ms);
                let (since_ms, until_ms) = (now.mono_ms, now.mono_ms + left.max(1));
                runner.phase = Phase::Asked { since_ms, until_ms, candidate: index };
                let route = runner.spec.queue.candidates[index].route;
                let hopes = vec![(route, self.holder(runner, route))];
                self.stand_in_line(InLine { call: id, hopes }, place);
                self.ask(now, runner, index);
                false
            }
            Decision::Wait { ms, .. } => {
                let (since_ms, until_ms) = (now.mono_ms, now.mono_ms.saturating_add(ms));
                runner.phase = Phase::Waiting { since_ms, until_ms };
                let hopes = self.hopes(runner, view);
                self.stand_in_line(InLine { call: id, hopes }, place);
                false
            }
            Decision::Pause { ms, .. } => {
                if let Some(again) = again {
                    self.pay(runner, again);
                } else {
                    runner.delay_due = false;
                }
                let again = again.map(|again| Again { free: true, ..again });
                runner.phase = Phase::Pausing(now.mono_ms + ms, again);
                false
            }
            Decision::Judge { .. } => {
                let Some(again) = again else { return false };
                self.judge(now, runner, &again);
                self.done_with(runner, &again)
            }
            Decision::Exhausted(word) => {
                self.effect(Effect::Refuse(word));
                runner.phase = Phase::Over;
                false
            }
        }
    }

    /// R5: first come first served; whoever waits on keeps the place.
    fn stand_in_line(&mut self, other: InLine, place: Option<usize>) {
        match place {
            Some(place) => self.line.insert(place, other),
            None => self.line.push(other),
        }
    }

    /// What a call would take as soon as nobody else stands in the way.
    fn hopes(&self, runner: &Runner, view: &View) -> Vec<(RouteId, Holder)> {
        let candidates = runner.spec.queue.candidates.iter().enumerate();
        let hoped = candidates.filter(|(index, candidate)| {
            let state = &view.candidates[*index];
            candidate.presence == Presence::Present
                && runner.marks[*index] != Mark::Done
                && fits(runner, candidate)
                && !state.stand_in
                && state.quarantine.is_none_or(|out| out.parole == ParoleView::In(0))
        });
        hoped.map(|(_, c)| (c.route, self.holder(runner, c.route))).collect()
    }

    fn look(&mut self, now: Now, runner: &Runner, ahead: &[InLine]) -> View {
        let spec = &runner.spec;
        // R17: a quarantine's own reset.
        let over = |until: Option<u64>| until.is_some_and(|at| at <= now.wall_ms);
        self.talk(spec.session).out.retain(|_, (out, ..)| !over(out.until_ms));
        for candidate in &spec.queue.candidates {
            let road = self.road(candidate.route);
            if let Some((_, until)) = road.cooling.filter(|(_, until)| now.reached(*until)) {
                road.cooling = None;
                road.over_ms = Some(until.mono_ms);
                road.lone = Lone::Needed;
            }
        }
        let candidates = spec.queue.candidates.iter();
        let candidates = candidates.map(|c| self.look_at(now, runner, c, ahead)).collect();
        let count = self.talk(spec.session).truncations.get(&spec.queue.id).copied().unwrap_or(0);
        let start = match (spec.purpose, spec.queue.policy.rotate_after) {
            (Purpose::Internal, _) | (_, 0) => 0,
            (Purpose::Main, after) => count / after,
        };
        View { candidates, start }
    }

    fn look_at(
        &self,
        now: Now,
        runner: &Runner,
        candidate: &Candidate,
        ahead: &[InLine],
    ) -> CandidateView {
        let (spec, policy) = (&runner.spec, &runner.spec.queue.policy);
        let key = (spec.queue.id, candidate.route);
        let talk = &self.talks[&spec.session];
        let road = &self.roads[&candidate.route];
        let quarantine = talk.out.get(&key).map(|(out, trial, due)| QuarantineView {
            class: out.class,
            parole: match (trial, due) {
                (Some(other), _) if *other != spec.id => ParoleView::Running,
                (_, Some(due)) if policy.parole_after_ms > 0 => ParoleView::In(now.until(*due)),
                (_, _) => ParoleView::Never,
            },
            ends_ms: out.until_ms.map(|at| at - now.wall_ms),
        });
        let waited_for = ahead.iter().any(|o| o.hopes.iter().any(|(r, _)| *r == candidate.route));
        // R8: the budget is empty, or another session saw it fail within the last minute.
        let me = writes_to(runner);
        let seen = |(who, at): &(SessionId, u64)| {
            *who != me && now.mono_ms < at.saturating_add(policy.judged_memory_ms)
        };
        CandidateView {
            quarantine,
            verified: talk.verified.contains(&key),
            cooling_ms: road.cooling.map(|(_, until)| now.until(until)),
            stand_in: road.over_ms.is_some_and(|over| {
                let stands = |r: &Run| r.began_ms < over && r.instead_of.contains(&candidate.route);
                talk.runs.iter().any(stands)
            }),
            probing: match road.lone {
                Lone::NotNeeded => false,
                Lone::Needed => waited_for,
                Lone::Runs(other) => other != spec.id,
            },
            untested: road.lone == Lone::Needed,
            seat: self.room(now, runner, candidate, ahead),
            single: road.budget < 1_000 || road.judged.iter().any(seen),
        }
    }

    fn decide(
        &self,
        now: Now,
        began: Now,
        runner: &Runner,
        view: &View,
        again: Option<Again>,
        passed: &mut Vec<Passed>,
    ) -> Decision {
        let spec = &runner.spec;
        let deadline = spec.deadline_ms.map(|ms| began.mono_ms.saturating_add(ms));
        if deadline.is_some_and(|at| at <= now.mono_ms) {
            return Decision::Exhausted(LastWord::Deadline);
        }
        if !spec.queue.policy.relay.is_on() {
            let first = spec.queue.candidates.iter().position(|c| c.presence == Presence::Present);
            return first.map_or(Decision::Exhausted(LastWord::EmptyQueue), |index| {
                Decision::Go(start(runner, index, Mode::Normal, 0, false))
            });
        }
        if let Some(again) = again {
            return retry(runner, view, again);
        }
        let mut view = view.clone();
        if let Some(index) = runner.denied {
            view.candidates[index].seat = SeatView::Full { soonest_ms: None };
        }
        let picked = pick(runner, &view, passed);
        let spent = runner.attempts >= spec.queue.policy.attempts_max;
        match picked {
            Picked::One(..) if spent => Decision::Exhausted(last_word(runner, Some(0))),
            Picked::Wait(ms, _) if spent => Decision::Exhausted(last_word(runner, Some(ms))),
            Picked::One(index, mode) => run(runner, &view, index, mode),
            Picked::Wait(ms, why) => {
                let left = deadline.map_or(u64::MAX, |at| at - now.mono_ms);
                Decision::Wait { ms: ms.min(left), why }
            }
            Picked::Nobody => Decision::Exhausted(last_word(runner, soonest(runner, &view))),
        }
    }

    fn pay(&mut self, runner: &Runner, again: Again) {
        if !again.free {
            let route = runner.spec.queue.candidates[again.candidate].route;
            let road = self.road(route);
            road.budget = road.budget.saturating_sub(1_000);
        }
    }

    fn go(
        &mut self,
        now: Now,
        runner: &mut Runner,
        view: &View,
        start: Start,
        again: Option<Again>,
    ) {
        let index = start.candidate as usize;
        let candidate = runner.spec.queue.candidates[index];
        if let Some(again) = again {
            self.pay(runner, again);
        } else if runner.at != Some(index) {
            let road = self.road(candidate.route);
            road.budget = (road.budget + 100).min(10_000);
        }
        if runner.at != Some(index) {
            runner.failovers += u32::from(runner.at.is_some());
            runner.retries = 0;
            runner.mended = false;
            runner.at = Some(index);
        }
        runner.delay_due = false;
        runner.mended |= start.repair;
        runner.attempts += 1;
        let seat = candidate.max_sessions.map(|_| self.holder(runner, candidate.route));
        let road = self.road(candidate.route);
        let seat = road.begin(seat);
        if start.mode == Mode::Probe {
            road.lone = Lone::Runs(runner.spec.id);
        }
        let instead_of = runner.instead_of.clone();
        let (call, attempt) = (runner.spec.id, start.attempt);
        let talk = self.talk(runner.spec.session);
        talk.runs.push(Run { call, attempt, began_ms: now.mono_ms, instead_of });
        let key = (runner.spec.queue.id, candidate.route);
        if start.mode == Mode::Parole
            && let Some((_, trial, _)) = talk.out.get_mut(&key)
        {
            *trial = Some(call);
        }
        let share = share(now, runner, view, index);
        runner.phase = Phase::Running(Box::new(Try::new(now, runner, start, seat, share)));
        self.effect(Effect::Start(start));
    }
}

pub(crate) fn writes_to(runner: &Runner) -> SessionId {
    match runner.spec.purpose {
        Purpose::Main => runner.spec.session,
        Purpose::Internal => SessionId::BACKGROUND,
    }
}

/// R8, R21: no retry where the route is out, crowded or spent, or where it would cost an untried
/// candidate its one attempt.
fn retry(runner: &Runner, view: &View, again: Again) -> Decision {
    let policy = &runner.spec.queue.policy;
    let state = &view.candidates[again.candidate];
    let left = policy.attempts_max.saturating_sub(runner.attempts);
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
fn run(runner: &Runner, view: &View, index: usize, mode: Mode) -> Decision {
    let state = &view.candidates[index];
    if !matches!(state.seat, SeatView::Open | SeatView::Held) {
        return Decision::Lease { candidate: index as u32 };
    }
    let policy = &runner.spec.queue.policy;
    let failover = runner.at.is_some_and(|at| at != index);
    let trial = matches!(mode, Mode::Parole | Mode::LastResort);
    let delay = policy.continue_delay_ms;
    let says = says_continue(runner);
    if failover && says && runner.delay_due && delay > 0 && !state.single && !trial {
        return Decision::Pause { ms: delay, why: Why::ContinueDelay };
    }
    let said = if says { runner.failovers + u32::from(failover) } else { 0 };
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

fn start(runner: &Runner, index: usize, mode: Mode, continues: u32, repair: bool) -> Start {
    let attempt = AttemptId(runner.attempts + 1);
    Start { attempt, candidate: index as u32, leg: 1, continues, mode, repair }
}

/// R2, R3, R14: the user's order from the rotation on; behind the first quarantined one the
/// verified come before the others.
fn order(view: &View) -> Vec<usize> {
    let n = view.candidates.len();
    let ring: Vec<usize> = (0..n).map(|step| (view.start as usize + step) % n).collect();
    let Some(out) = ring.iter().position(|i| view.candidates[*i].quarantine.is_some()) else {
        return ring;
    };
    let (before, after) = ring.split_at(out + 1);
    let proven = after.iter().filter(|i| view.candidates[**i].verified);
    let unproven = after.iter().filter(|i| !view.candidates[**i].verified);
    before.iter().chain(proven).chain(unproven).copied().collect()
}

fn pick(runner: &Runner, view: &View, passed: &mut Vec<Passed>) -> Picked {
    let order = order(view);
    let standing = |i: usize| standing(runner, view, i);
    for &index in &order {
        let reason = match (runner.marks[index], standing(index)) {
            (Mark::Fresh, Standing::Runs(mode)) => return Picked::One(index, mode),
            (Mark::Fresh, Standing::Small(_)) => Reason::WindowTooSmall,
            (Mark::Fresh, Standing::Out(reason)) => reason,
            (Mark::Done | Mark::Cooled, _) => Reason::Tried,
        };
        passed.push(Passed { candidate: index as u32, reason });
    }
    // Nobody new: one that this call cooled, once its time is up.
    for &index in &order {
        if let (Mark::Cooled, Standing::Runs(mode)) = (runner.marks[index], standing(index)) {
            return Picked::One(index, mode);
        }
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
            let state = &view.candidates[index];
            let out = state.quarantine.is_some_and(|out| out.parole != ParoleView::Running);
            let here = candidate.presence == Presence::Present && fits(runner, candidate);
            let fresh = runner.marks[index] == Mark::Fresh;
            if fresh && out && here && blocked(runner, state).is_none() {
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
    let (candidate, state) = (&runner.spec.queue.candidates[index], &view.candidates[index]);
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
    if let Some(reason) = blocked(runner, state) {
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

fn fits(runner: &Runner, candidate: &Candidate) -> bool {
    match (runner.floor, candidate.window) {
        (None, _) => true,
        (Some(floor), Some(window)) => window > floor,
        (Some(_), None) => false,
    }
}

/// What keeps everybody out, or this call for want of a seat.
fn blocked(runner: &Runner, state: &CandidateView) -> Option<Reason> {
    match (state.cooling_ms, state.stand_in, state.probing, state.seat) {
        (Some(ms), ..) => Some(Reason::Cooling(ms)),
        (_, true, ..) => Some(Reason::StandIn),
        (_, _, true, _) => Some(Reason::Probing),
        (.., SeatView::Full { .. }) => Some(Reason::Full),
        (.., SeatView::Resting { ms }) => Some(Reason::Resting(ms)),
        (.., SeatView::Asked) if patience(runner) == 0 => Some(Reason::Full),
        (.., SeatView::Asked | SeatView::Free | SeatView::Held | SeatView::Open) => None,
    }
}

fn patience(runner: &Runner) -> u64 {
    runner.spec.queue.policy.wait_max_ms.saturating_sub(runner.waited_ms)
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
    let patience = patience(runner);
    let mut soonest: Option<(u64, WaitFor)> = None;
    let mut out_of_reach: Option<(u64, WaitFor)> = None;
    for &index in order {
        let candidate = &runner.spec.queue.candidates[index];
        let mark = runner.marks[index];
        let may = candidate.presence == Presence::Present && fits(runner, candidate);
        if !may || mark == Mark::Done {
            continue;
        }
        let moment = moment(&view.candidates[index], mark);
        if let Some((Some(ms), why)) = moment
            && out_of_reach.is_none_or(|(least, _)| ms < least)
        {
            out_of_reach = Some((ms, why));
        }
        let wait = match moment {
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
fn soonest(runner: &Runner, view: &View) -> Option<u64> {
    let pairs = runner.spec.queue.candidates.iter().zip(&view.candidates);
    let here = pairs.filter(|(candidate, _)| candidate.presence == Presence::Present);
    here.filter_map(|(_, state)| match state.quarantine {
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
fn last_word(runner: &Runner, soonest_ms: Option<u64>) -> LastWord {
    let candidates = &runner.spec.queue.candidates;
    if candidates.iter().all(|candidate| candidate.presence == Presence::Missing) {
        return LastWord::EmptyQueue;
    }
    if let Some(attempt) = runner.overflow {
        return LastWord::Overflow(attempt);
    }
    let tried = runner.marks.iter().filter(|mark| **mark != Mark::Fresh).count();
    match (runner.refused.first(), soonest_ms) {
        (_, Some(ms)) => LastWord::ComeBack(ms),
        (Some(first), None) if runner.refused.len() == tried => LastWord::AsItCame(*first),
        (_, None) => LastWord::DoNotRetry,
    }
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
fn share(now: Now, runner: &Runner, view: &View, index: usize) -> Option<u64> {
    let relay = runner.spec.queue.policy.relay.is_on();
    if runner.spec.delivery == Delivery::Stream || !relay {
        return None;
    }
    let deadline = runner.began?.mono_ms.saturating_add(runner.spec.deadline_ms?);
    let others = u64::from(others(runner, view, index));
    let left = deadline.saturating_sub(now.mono_ms);
    (others > 0).then(|| now.mono_ms + left / (others + 1))
}
