//! Who runs next (R1 to R5, R14, R15, R21, R22), what the last word is (R45).

use std::sync::Arc;

use ekiden_engine::{
    Candidate, CandidateView, Decision, Effect, Holder, LastWord, Mode, Moves, Now, ParoleView,
    Passed, Presence, Purpose, QuarantineView, RouteId, SeatView, SessionId, Start, Switch, View,
    WaitFor, Whose,
};

use super::ledger::Lone;
use super::pick::*;
use super::table::backoff;
use super::trial::Try;
use super::{Again, InLine, Phase, Reference, Run, Runner, Said};

/// What a call has done with a candidate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mark {
    Fresh,
    Done,
    Cooled,
    /// Done, until another round (P1).
    Later,
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
            Phase::Asked { candidate, until_ms, .. } => {
                // A no holds until the call has waited for something else.
                let no = |index: usize| match view.candidates[index].1.seat {
                    SeatView::Free => true,
                    SeatView::Asked => index != candidate || until_ms <= now.mono_ms,
                    SeatView::Open
                    | SeatView::Held
                    | SeatView::Full { .. }
                    | SeatView::Resting { .. } => false,
                };
                let asked = runner.denied.iter().copied().chain([candidate]);
                asked.filter(|index| no(*index)).collect()
            }
            Phase::Choosing
            | Phase::Again(_)
            | Phase::Pausing(..)
            | Phase::Waiting { .. }
            | Phase::Running(_)
            | Phase::Over => Vec::new(),
        };
        let mut passed = Vec::new();
        let struck = runner.struck.take();
        let decision = self.decide(now, began, runner, &view, (again, struck), &mut passed);
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
                    let cools = |index: u32| view.candidates[index as usize].1.cooling_ms.is_some();
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
                runner.touched.insert(index);
                let left = patience(runner, view).min(600_000);
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
            let state = &view.candidates[*index].1;
            candidate.presence == Presence::Present
                && matches!(runner.marks[*index], Mark::Fresh | Mark::Cooled)
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
        let candidates = (0..).zip(&spec.queue.candidates);
        let candidates =
            candidates.map(|(index, c)| (index, self.look_at(now, runner, c, ahead))).collect();
        let count = self.talk(spec.session).truncations.get(&spec.queue.id).copied().unwrap_or(0);
        let start = match (spec.purpose, spec.queue.policy.rotate_after) {
            (Purpose::Internal, _) | (_, 0) => 0,
            (Purpose::Main, after) => count / after,
        };
        let session = Whose::Session(spec.session);
        let paused = self.pauses.contains(&Whose::All) || self.pauses.contains(&session);
        let paused = if paused { Switch::On } else { Switch::Off };
        let current = spec.queue.policy.sticky.is_on().then(|| {
            let route = self.talks[&spec.session].current.get(&spec.queue.id)?;
            spec.queue.candidates.iter().position(|c| c.route == *route)
        });
        let current = current.flatten().map(|index| index as u32);
        let candidates: Vec<(u32, CandidateView)> = candidates;
        let out = candidates.iter().any(|(_, state)| state.quarantine.is_some());
        let reordered = if out { Switch::On } else { Switch::Off };
        View { candidates, start, current, paused, reordered }
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
        let out = talk.out.get(&key).filter(|_| policy.quarantine.is_on());
        let quarantine = out.map(|(out, trial, due)| QuarantineView {
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
        runner: &mut Runner,
        view: &View,
        (again, struck): (Option<Again>, Option<usize>),
        passed: &mut Vec<Passed>,
    ) -> Decision {
        let queue = Arc::clone(&runner.spec.queue);
        let policy = &queue.policy;
        let deadline = runner.spec.deadline_ms.map(|ms| began.mono_ms.saturating_add(ms));
        if deadline.is_some_and(|at| at <= now.mono_ms) {
            return Decision::Exhausted(LastWord::Deadline);
        }
        if !policy.relay.is_on() {
            let first = queue.candidates.iter().position(|c| c.presence == Presence::Present);
            return first.map_or(Decision::Exhausted(LastWord::EmptyQueue), |index| {
                Decision::Go(start(runner, index, Mode::Normal, 0, false))
            });
        }
        if let Some(again) = again {
            return retry(runner, view, again);
        }
        // H5, C3: below the threshold, or where only the next call moves on, the failure goes up.
        if let Some(index) = struck
            && policy.breaker_threshold > 0
            && !policy.persist.is_on()
        {
            let state = &view.candidates[index].1;
            let open = state.cooling_ms.is_some() || state.untested || state.probing;
            if !open || policy.moves == Moves::NextCall {
                return Decision::Exhausted(last_word(runner, soonest(runner, view)));
            }
        }
        let mut view = view.clone();
        next_round(now, runner, &view);
        for &index in &runner.denied {
            view.candidates[index].1.seat = SeatView::Full { soonest_ms: None };
        }
        let picked = pick(runner, &view, passed);
        let spent = runner.attempts - runner.round_from >= policy.attempts_max;
        let left = deadline.map_or(u64::MAX, |at| at - now.mono_ms);
        let wait = |ms: u64, why| Decision::Wait { ms: ms.min(left), why };
        if let (Picked::One(index, mode), false) = (&picked, spent) {
            return run(runner, &view, *index, *mode);
        }
        // P1: somebody may be asked again in another round.
        let later = queue.candidates.iter().zip(&runner.marks).any(|(candidate, mark)| {
            let again = *mark == Mark::Later || spent && *mark != Mark::Done;
            candidate.presence == Presence::Present && again
        });
        if persists(runner, &view) && later {
            runner.ran_out = spent;
            let span = backoff(policy, runner.spec.seed, runner.rounds);
            let at = *runner.next_round_ms.get_or_insert(now.mono_ms + span.max(1));
            let ms = at.saturating_sub(now.mono_ms).max(1);
            return match picked {
                Picked::Wait(sooner, why) if sooner < ms && !spent => wait(sooner, why),
                Picked::Wait(..) | Picked::One(..) | Picked::Nobody => wait(ms, WaitFor::Round),
            };
        }
        // P5: who waits while it is paused has waited enough.
        let paused = policy.persist.is_on() && view.paused.is_on() && runner.failed.is_some();
        match picked {
            Picked::One(..) => Decision::Exhausted(last_word(runner, Some(0))),
            Picked::Wait(ms, why) if persists(runner, &view) => wait(ms, why),
            Picked::Wait(ms, _) if spent || paused => {
                Decision::Exhausted(last_word(runner, Some(ms)))
            }
            Picked::Wait(ms, why) => wait(ms, why),
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
            let broke = runner.spec.tried.len() as u32;
            runner.failovers = match runner.at {
                None => broke,
                Some(_) => runner.failovers + 1,
            };
            runner.retries = 0;
            runner.mended = false;
            runner.at = Some(index);
        }
        runner.touched.insert(index);
        runner.next_round_ms = None;
        if runner.marks[index] == Mark::Cooled && runner.spec.queue.policy.persist.is_on() {
            runner.marks[index] = Mark::Later;
            runner.rounds += 1;
            runner.round_from = runner.attempts;
            runner.retries = 0;
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

/// P1: another round begins.
fn next_round(now: Now, runner: &mut Runner, view: &View) {
    let due = runner.next_round_ms.is_some_and(|at| at <= now.mono_ms);
    if !due || !persists(runner, view) {
        return;
    }
    runner.next_round_ms = None;
    runner.rounds += 1;
    runner.round_from = runner.attempts;
    (runner.retries, runner.mended) = (0, false);
    if !runner.ran_out || !runner.marks.contains(&Mark::Fresh) {
        for mark in runner.marks.iter_mut().filter(|mark| **mark == Mark::Later) {
            *mark = Mark::Fresh;
        }
    }
}
