//! What is recorded against a candidate, and where the call goes then (R17, R18, R21, R24, R29).

use ekiden_engine::{
    Class, Failure, Holder, LastWord, Mode, Now, Policy, Purpose, Quarantine, RouteId, Then,
    Verdict,
};

use super::choice::{Mark, writes_to};
use super::ledger::Lone;
use super::pick::passes;
use super::table::table;
use super::trial::counted;
use super::{Again, Phase, Reference, Runner};

impl Reference {
    /// R17, R18, R21, R24, R29.
    pub(crate) fn judge(&mut self, now: Now, runner: &Runner, again: &Again) {
        let route = runner.spec.queue.candidates[again.candidate].route;
        let (me, key) = (writes_to(runner), (runner.spec.queue.id, route));
        match again.verdict {
            Verdict::Spared | Verdict::Whole | Verdict::Truncated => {
                self.end_trial(runner, route);
                return;
            }
            Verdict::Cooled { ms } => {
                let road = self.road(route);
                let until = now.after(ms);
                road.cooling = match road.cooling {
                    Some((_, later)) if later.mono_ms >= until.mono_ms => Some((now, later)),
                    Some(_) | None => Some((now, until)),
                };
                road.lone = Lone::NotNeeded;
                let out = self.talk(me).out.get(&key).map(|(out, ..)| out.class);
                if let Some(class) = out.filter(|_| again.mode == Mode::Parole) {
                    self.quarantine(now, runner, again.mode, route, class, None);
                }
            }
            Verdict::Struck { named_ms } => {
                let policy = &runner.spec.queue.policy;
                self.strike(now, policy, route, again.mode, again.class, named_ms);
                let judged = &mut self.road(route).judged;
                judged.retain(|(who, _)| *who != me);
                judged.push((me, now.mono_ms));
            }
            Verdict::Quarantined { until_ms } => {
                self.quarantine(now, runner, again.mode, route, again.class, until_ms);
                let judged = &mut self.road(route).judged;
                judged.retain(|(who, _)| *who != me);
                judged.push((me, now.mono_ms));
            }
        }
        self.talk(me).verified.remove(&key);
        let holder = match runner.spec.purpose {
            Purpose::Main => self.holder(runner, route),
            Purpose::Internal => Holder::Call(runner.spec.id),
        };
        let main = u32::from(runner.spec.purpose == Purpose::Main);
        let road = self.road(route);
        road.bad += main;
        road.give_back(now, holder);
        self.end_trial(runner, route);
    }

    /// H4: a probe in the background.
    pub fn probed(&mut self, now: Now, policy: &Policy, route: RouteId, failure: Option<Failure>) {
        let road = self.road(route);
        if let Some((_, until)) = road.cooling.filter(|(_, until)| now.reached(*until)) {
            road.cooling = None;
            road.over_ms = Some(until.mono_ms);
            road.lone = Lone::Needed;
        }
        let Some(failure) = failure else { return road.warm() };
        let mode = match (road.cooling.is_some(), road.lone) {
            (true, _) => Mode::LastResort,
            (false, Lone::Needed) => Mode::Probe,
            (false, Lone::NotNeeded | Lone::Runs(_)) => Mode::Normal,
        };
        let (_, verdict, _) = table(policy, &failure, now);
        if let (Verdict::Struck { named_ms }, 1..) = (verdict, policy.breaker_threshold) {
            self.strike(now, policy, route, mode, failure.class, named_ms);
        }
    }

    /// H1, H2, C4: the breaker.
    fn strike(
        &mut self,
        now: Now,
        policy: &Policy,
        route: RouteId,
        mode: Mode,
        class: Class,
        named_ms: Option<u64>,
    ) {
        let road = self.road(route);
        road.failures += 1;
        let breaks = policy.breaker_threshold > 0;
        let last_resort = mode == Mode::LastResort;
        let stale = road.cooling.is_some() && !last_resort;
        let reached = road.failures >= policy.breaker_threshold || mode == Mode::Probe;
        let mut span = policy.breaker_ms;
        for _ in 0..road.opened.saturating_sub(u32::from(last_resort)).min(20) {
            span = span.saturating_mul(2);
        }
        let span = span.min(policy.breaker_max_ms);
        let ms = if policy.breaker_at_once.contains(class) {
            Some(policy.breaker_max_ms.max(named_ms.unwrap_or(0)))
        } else if breaks && reached && !stale {
            Some(span.max(named_ms.unwrap_or(0)))
        } else {
            named_ms
        };
        let Some(ms) = ms else { return };
        if !last_resort || road.opened == 0 {
            road.opened += 1;
        }
        let until = now.after(ms);
        road.cooling = match road.cooling {
            Some((_, later)) if later.mono_ms >= until.mono_ms => Some((now, later)),
            Some(_) | None => Some((now, until)),
        };
        road.lone = Lone::NotNeeded;
    }

    fn quarantine(
        &mut self,
        now: Now,
        runner: &Runner,
        mode: Mode,
        route: RouteId,
        class: Class,
        until_ms: Option<u64>,
    ) {
        let policy = &runner.spec.queue.policy;
        let (me, day) = (writes_to(runner), self.day);
        let key = (runner.spec.queue.id, route);
        let trial = u32::from(mode == Mode::Parole);
        let out = &mut self.talks.entry(me).or_default().out;
        let paroles = out.get(&key).map_or(0, |(out, ..)| out.paroles + trial);
        let comes_back = matches!(
            class,
            Class::Overloaded
                | Class::ServerError
                | Class::Timeout
                | Class::TransportRemote
                | Class::EmptyResponse
                | Class::Stall
        );
        let mut span = policy.parole_after_ms;
        for _ in 0..paroles.min(20) {
            span = span.saturating_mul(2);
        }
        let parole = comes_back && policy.parole_after_ms > 0;
        let parole_ms = parole.then(|| now.wall_ms + span.min(policy.parole_max_ms));
        let until_ms = until_ms.filter(|at| *at < day.ends_ms);
        let facts = Quarantine {
            class,
            day: day.number,
            since_ms: now.wall_ms,
            until_ms,
            parole_ms,
            paroles,
        };
        out.insert(key, counted(now, facts));
    }

    pub(crate) fn end_trial(&mut self, runner: &Runner, route: RouteId) {
        let id = runner.spec.id;
        let road = self.road(route);
        if road.lone == Lone::Runs(id) {
            road.lone = Lone::Needed;
        }
        let key = (runner.spec.queue.id, route);
        if let Some((_, trial, _)) = self.talk(runner.spec.session).out.get_mut(&key)
            && *trial == Some(id)
        {
            *trial = None;
        }
    }

    /// The call is done with a candidate; true when it asks for another.
    pub(crate) fn done_with(&mut self, runner: &mut Runner, again: &Again) -> bool {
        runner.marks[again.candidate] = match again.verdict {
            Verdict::Cooled { .. } => Mark::Cooled,
            Verdict::Spared
            | Verdict::Whole
            | Verdict::Truncated
            | Verdict::Struck { .. }
            | Verdict::Quarantined { .. } => {
                let passes = runner.failed.is_some_and(|(_, class)| passes(class));
                let persist = runner.spec.queue.policy.persist.is_on();
                let later = persist && passes && again.then == Then::FailOver;
                if later { Mark::Later } else { Mark::Done }
            }
        };
        match again.then {
            Then::FailOver | Then::WaitForNetwork => {}
            Then::FailOverRefused => runner.refused.push(again.failed),
            Then::FailOverLarger => {
                runner.overflow.get_or_insert(again.failed);
                let window = runner.spec.queue.candidates[again.candidate].window;
                runner.floor = Some(window.unwrap_or(u32::MAX));
            }
            Then::Tell => {
                // R45: a refusal of our own key is nobody's business.
                let ours = [Class::Auth, Class::QuotaExhausted, Class::NotFound];
                let mine = runner.failed.is_some_and(|(_, class)| ours.contains(&class));
                let told = LastWord::AsItCame(again.failed);
                return self.refuse(runner, if mine { LastWord::DoNotRetry } else { told });
            }
            Then::TellOverflow => return self.refuse(runner, LastWord::Overflow(again.failed)),
        }
        runner.delay_due = true;
        let struck = matches!(again.verdict, Verdict::Struck { .. });
        runner.struck = struck.then_some(again.candidate);
        runner.phase = Phase::Choosing;
        true
    }
}
