//! One generated life: an engine driven as a shell would drive it, and the reference beside it.
//! Time passes only where an operation says so.

mod by_hand;
mod verify;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use ekiden_engine::history::{
    History, call_line, day_line, drive_line, end_line, feed_line, grant_line, leave_line,
    notice_line, output_line, queue_line, recall_line, release_line, restart_line,
};
use ekiden_engine::trace::Record;
use ekiden_engine::{
    AttemptInput, Call, CallId, CallSpec, Class, Day, Decision, Effect, Engine, Fact, Grant, Input,
    Notice, Now, Output, Place, Release, Repair, RouteId, Seating, SessionId, Trace, Want, Why,
};

use crate::check::Protocol;
use crate::op::{Op, What, inputs};
use crate::reference::{Reference, Said};
use crate::rng::Rng;
use crate::scene::{self, ROUTES, Scene};

/// Something that must not be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Breach(pub String);

type Result<T = ()> = std::result::Result<T, Breach>;

const DAY_MS: u64 = 86_400_000;
/// More wake-ups than this without time passing is a livelock.
const STEPS_MAX: usize = 2_000;
/// Every call is over after this many wake-ups and answers, however it is treated.
const FINISH_STEPS_MAX: usize = 4_000;

/// An engine, its calls, and the second opinion.
#[derive(Debug)]
pub struct World {
    scene: Scene,
    engine: Engine,
    reference: Reference,
    calls: BTreeMap<CallId, Live>,
    arrived: u64,
    now: Now,
    day: Day,
    /// When the wall clock last did something of its own, on the monotonic one.
    disturbed_ms: u64,
    wants: Vec<Want>,
    /// Wishes whose answer is lost; the store of leases lets go of them in the end.
    lost: Vec<Want>,
    pending: VecDeque<Notice>,
    disk: Vec<Fact>,
    /// The history, line by line.
    lines: String,
    /// What the engine said to it.
    said: String,
    traces: u32,
}

#[derive(Debug)]
struct Live {
    call: Call,
    protocol: Protocol,
    wake_ms: Option<u64>,
    blocked: bool,
}

impl World {
    /// A world in which nothing has happened.
    #[must_use]
    pub fn new(scene: Scene) -> Self {
        let day = Day { number: 100, ends_ms: 1_000 * DAY_MS };
        let now = Now { mono_ms: 1_000_000, wall_ms: 999 * DAY_MS + 1_000 };
        let mut world = Self {
            scene,
            engine: Engine::new(day),
            reference: Reference::new(day),
            calls: BTreeMap::new(),
            arrived: 0,
            now,
            day,
            disturbed_ms: 0,
            wants: Vec::new(),
            lost: Vec::new(),
            pending: VecDeque::new(),
            disk: Vec::new(),
            lines: String::new(),
            said: String::new(),
            traces: 0,
        };
        world.line(&restart_line(day));
        for queue in world.scene.queues.clone() {
            world.line(&queue_line(&queue));
        }
        world
    }

    /// The history so far, as [`crate::run_history`] takes it.
    #[must_use]
    pub fn history(&self) -> &str {
        &self.lines
    }

    /// What the engine said to it.
    #[must_use]
    pub fn said(&self) -> &str {
        &self.said
    }

    /// How many traces were replayed.
    #[must_use]
    pub const fn traces(&self) -> u32 {
        self.traces
    }

    /// Carries out one operation and compares.
    ///
    /// # Errors
    /// When the engine breaks a rule.
    pub fn step(&mut self, op: &Op) -> Result {
        match *op {
            Op::Arrive { session, .. } => self.arrive(op, session)?,
            Op::Feed(pick, what) => self.feed_running(pick, what)?,
            Op::Stale(pick, what) => self.feed_stale(pick, what)?,
            Op::Blocked(pick) => self.block(pick, true)?,
            Op::Ready(pick) => self.block(pick, false)?,
            Op::Gone(pick) => self.tell(pick, Input::ClientGone)?,
            Op::Woken(pick) => self.tell(pick, Input::Woken)?,
            Op::Advance(ms) => self.advance(ms)?,
            Op::NextWake => {
                if let Some(at) = self.calls.values().filter_map(|live| live.wake_ms).min() {
                    self.advance(at.saturating_sub(self.now.mono_ms))?;
                }
            }
            Op::Lag(ms) => {
                self.now = self.now.after(ms);
                self.ring()?;
            }
            Op::SetClock(by) => {
                self.disturbed_ms = self.now.mono_ms + 1;
                self.now.wall_ms = self.now.wall_ms.saturating_add_signed(by);
            }
            Op::Sleep(ms) => {
                self.disturbed_ms = self.now.mono_ms + 1;
                self.now.wall_ms += ms;
            }
            Op::Turn => self.turn(1)?,
            Op::TurnBack => self.turn(-1)?,
            Op::Answer(pick, granted) => {
                if let Some(index) = some(pick, self.wants.len()) {
                    let want = self.wants.remove(index);
                    self.grant(&want, granted)?;
                }
            }
            Op::Lose(pick) => {
                if let Some(index) = some(pick, self.wants.len()) {
                    let want = self.wants.remove(index);
                    self.lost.push(want);
                }
            }
            Op::Release(kind, pick) => self.release(kind, pick)?,
            Op::EndSession(pick) => self.end_session(SessionId(pick % 6))?,
            Op::Configure(pick, seed) => self.configure(pick, seed)?,
            Op::Restart => self.restart(),
            Op::Stop(pick) => self.tell(pick, Input::Stop)?,
            Op::Probed(pick, what) => self.probed(pick, what)?,
            Op::Pause(pick) => self.pause(pick)?,
            // Turns follow each other, and what is due is asked for in time.
            Op::Turns(pick, kind) => {
                for step in 0..6 {
                    self.turns(pick, kind >> (step * 3))?;
                }
            }
        }
        self.compare()
    }

    /// Lets everything come to its end, and looks whether anything is left behind.
    ///
    /// # Errors
    /// When a call does not end, or something leaks.
    pub fn finish(&mut self, rng: &mut Rng) -> Result {
        let began_ms = self.now.mono_ms;
        for step in 0..FINISH_STEPS_MAX {
            if self.calls.is_empty() {
                break;
            }
            // Whoever persists waits for as long as the store of leases.
            if step == FINISH_STEPS_MAX / 2 {
                for want in std::mem::take(&mut self.lost) {
                    self.grant(&want, false)?;
                }
            }
            let op = match rng.below(4) {
                0 => Op::Answer(rng.next(), rng.once_in(2)),
                1 => Op::Feed(rng.next(), What::Fails(Class::ServerError, None)),
                2 => Op::Feed(rng.next(), What::Whole),
                _ => Op::NextWake,
            };
            self.step(&op)?;
        }
        if let Some((id, live)) = self.calls.iter_mut().next() {
            let output = live.call.poll_output();
            return Err(Breach(format!("{id:?} does not end: {output:?}")));
        }
        // A generous bound: clocks, waits and rests at their limits.
        let took_ms = self.now.mono_ms - began_ms;
        let persists = self.scene.queues.iter().any(|queue| queue.policy.persist.is_on());
        if took_ms > 40 * DAY_MS && !persists {
            return Err(Breach(format!("the calls took {took_ms} ms to end")));
        }
        for want in std::mem::take(&mut self.wants) {
            self.grant(&want, true)?;
        }
        for want in std::mem::take(&mut self.lost) {
            self.grant(&want, false)?;
        }
        for session in 0..6 {
            self.end_session(SessionId(session))?;
        }
        self.nothing_left()
    }

    /// The whole history over again, in an engine of its own, line for line.
    ///
    /// # Errors
    /// When it says anything else.
    pub fn replay(&self) -> Result {
        let again = History::new().run(&self.lines);
        let again = again.map_err(|(line, bad)| Breach(format!("line {line}: {bad}")))?;
        if again == self.said {
            return Ok(());
        }
        let differ = again.lines().zip(self.said.lines()).find(|(one, other)| one != other);
        Err(Breach(format!("the history replays differently: {differ:?}")))
    }

    fn line(&mut self, line: &str) {
        self.lines.push_str(line);
        self.lines.push('\n');
    }

    fn say(&mut self, line: &str) {
        self.said.push_str(line);
        self.said.push('\n');
    }

    fn arrive(&mut self, op: &Op, session: u64) -> Result {
        let Op::Arrive {
            queue, purpose, delivery, history, tokens, deadline_ms, seed, tried, ..
        } = *op
        else {
            return Ok(());
        };
        let Some(index) = some(queue, self.scene.queues.len()) else { return Ok(()) };
        self.arrived += 1;
        let id = CallId(self.arrived);
        // `background` and fingerprints hold seats for the call alone.
        let seating = if session < 2 { Seating::Call } else { Seating::Session };
        let spec = CallSpec {
            id,
            queue: Arc::clone(&self.scene.queues[index]),
            session: SessionId(session),
            seating,
            purpose,
            delivery,
            history,
            input_tokens: tokens,
            deadline_ms,
            seed,
            tried: self.broke(index, tried),
        };
        self.line(&call_line(&spec));
        self.line(&drive_line(id, self.now));
        let live = Live {
            call: Call::new(spec.clone()),
            protocol: Protocol::default(),
            wake_ms: None,
            blocked: false,
        };
        self.calls.insert(id, live);
        let expected = self.reference.arrive(self.now, spec);
        self.drive(id, expected)?;
        self.attend()
    }

    fn feed(&mut self, id: CallId, input: Input) -> Result {
        let Some(live) = self.calls.get_mut(&id) else { return Ok(()) };
        let line = feed_line(id, self.now, input);
        live.call.handle(self.now, input);
        self.line(&line);
        let expected = self.reference.feed(self.now, id, input);
        self.drive(id, expected)
    }

    /// The driver's loop of the engine's own documentation.
    fn drive(&mut self, id: CallId, expected: Vec<Said>) -> Result {
        let Some(mut live) = self.calls.remove(&id) else { return Ok(()) };
        let mut expected = VecDeque::from(expected);
        loop {
            let output = live.call.poll_output();
            self.say(&output_line(id, &output));
            match output {
                Output::Effect(effect) => {
                    self.same(id, &mut expected, &Said::Effect(effect))?;
                    let spec = live.call.spec().clone();
                    live.protocol.effect(&spec, &effect).map_err(Breach)?;
                    if let Effect::Start(start) = effect {
                        self.within_caps(&live.call, &start)?;
                    }
                }
                Output::Settle => self.engine.settle(self.now, &mut live.call),
                Output::Admit => {
                    let before = self.holders();
                    let decision = self.engine.admit(self.now, &mut live.call);
                    if let Decision::Lease { candidate } = decision {
                        self.asked_within_cap(&live.call, candidate, &before)?;
                    }
                    self.admitted(&live.call, &mut expected, decision)?;
                }
                Output::Wake(at, why) => {
                    if at.is_none() && !matches!(why, Why::Running | Why::Over) {
                        return Err(Breach(format!("{id:?} waits for nothing: {why:?}")));
                    }
                    live.wake_ms = at;
                    break;
                }
            }
        }
        if let Some(missing) = expected.pop_front() {
            return Err(Breach(format!("{id:?}: expected next {missing:?}, nothing came")));
        }
        if live.call.is_over() {
            self.replay_trace(&live.call)?;
        } else {
            self.calls.insert(id, live);
        }
        while let Some(notice) = self.engine.poll_notice() {
            self.say(&notice_line(&notice));
            self.pending.push_back(notice);
        }
        Ok(())
    }

    /// A call keeps so many records: what it saw and did not keep is not compared, what it decided is.
    fn admitted(&self, call: &Call, expected: &mut VecDeque<Said>, decided: Decision) -> Result {
        let id = call.spec().id;
        let said = match (call.last_record(), expected.front()) {
            (Some(Record::Admitted { view, passed, .. }), _)
            | (None, Some(Said::Admitted(view, passed, _))) => {
                Said::Admitted(view.clone(), passed.clone(), decided)
            }
            (kept, rules) => {
                return Err(Breach(format!("{id:?}: {decided:?}, {kept:?}, the rules: {rules:?}")));
            }
        };
        self.same(id, expected, &said)
    }

    fn same(&self, id: CallId, expected: &mut VecDeque<Said>, said: &Said) -> Result {
        match expected.pop_front() {
            Some(rule) if rule.covers(said) => Ok(()),
            other => Err(Breach(format!(
                "{id:?} at {:?}\n  the rules: {other:?}\n  the engine: {said:?}",
                self.now
            ))),
        }
    }

    fn replay_trace(&mut self, call: &Call) -> Result {
        self.traces += 1;
        let trace = call.trace();
        let text = trace.to_text();
        let read = Trace::from_text(&text)
            .map_err(|(line, bad)| Breach(format!("trace line {line}: {bad}\n{text}")))?;
        if read != trace {
            return Err(Breach(format!("the trace reads differently:\n{text}")));
        }
        match read.replay() {
            Ok(_) => Ok(()),
            Err(other) => Err(Breach(format!("the trace replays differently: {other:?}\n{text}"))),
        }
    }

    /// What the engine has to say, carried out in order, until it has no more.
    fn attend(&mut self) -> Result {
        for _ in 0..STEPS_MAX {
            while let Some(notice) = self.engine.poll_notice() {
                self.say(&notice_line(&notice));
                self.pending.push_back(notice);
            }
            match self.pending.pop_front() {
                None => return Ok(()),
                Some(Notice::Fact(fact)) => self.note(&fact)?,
                Some(Notice::Wake(id)) => self.feed(id, Input::Woken)?,
                Some(Notice::Want(want)) => {
                    if self.scene.prompt_leases {
                        self.grant(&want, true)?;
                    } else {
                        self.wants.push(want);
                    }
                }
            }
        }
        Err(Breach("no end of wake-ups".into()))
    }

    fn note(&mut self, fact: &Fact) -> Result {
        match fact {
            // What lives on disk (R17).
            Fact::Quarantined { .. }
            | Fact::Lifted { .. }
            | Fact::Verified { .. }
            | Fact::Unverified { .. }
            | Fact::Paused { .. }
            | Fact::Resumed { .. } => self.disk.push(*fact),
            Fact::Attempted { verdict, class, .. } => {
                use ekiden_engine::Verdict;
                let spared = matches!(
                    class,
                    Some(
                        Class::ContextOverflow
                            | Class::Aborted
                            | Class::LocalNetwork
                            | Class::ContentFilter
                            | Class::InvalidRequest
                    )
                );
                let blamed = matches!(
                    verdict,
                    Verdict::Cooled { .. } | Verdict::Struck { .. } | Verdict::Quarantined { .. }
                );
                // An upstream that says 'aborted' or 'truncated' broke off; our own abort is spared.
                if spared && blamed && *class != Some(Class::Aborted) {
                    return Err(Breach(format!("blames somebody: {fact:?}")));
                }
            }
            Fact::Cooled { .. }
            | Fact::Warmed { .. }
            | Fact::FailedOver { .. }
            | Fact::OnTrial { .. }
            | Fact::Rotated { .. }
            | Fact::Seated { .. }
            | Fact::Unseated { .. }
            | Fact::Called { .. }
            | Fact::Turned { .. }
            | Fact::Opened { .. }
            | Fact::ServedInstead { .. }
            | Fact::Continued { .. }
            | Fact::NotContinued { .. } => {}
        }
        Ok(())
    }

    fn grant(&mut self, want: &Want, granted: bool) -> Result {
        let grant = if granted { Grant::Granted } else { Grant::Refused };
        self.line(&grant_line(want.lease, want.route, grant));
        self.engine.answer(want.lease, want.route, grant);
        self.reference.answer(want.lease, want.route, granted);
        self.attend()
    }

    fn feed_running(&mut self, pick: u64, what: What) -> Result {
        let running: Vec<CallId> = self
            .calls
            .iter()
            .filter(|(_, live)| live.protocol.running().is_some())
            .map(|(id, _)| *id)
            .collect();
        let Some(index) = some(pick, running.len()) else { return Ok(()) };
        let id = running[index];
        for input in inputs(what, self.now) {
            let Some(live) = self.calls.get_mut(&id) else { break };
            let Some(attempt) = live.protocol.running() else { break };
            let trial = live.protocol.last_start().is_some();
            if trial && matches!(input, AttemptInput::Failed { .. }) {
                self.count_spared(id, &input);
            }
            self.feed(id, Input::Attempt(attempt, input))?;
            self.attend()?;
        }
        Ok(())
    }

    /// Failures after which another attempt is no retry: mended requests, this machine's network,
    /// and whatever a sleeping machine saw.
    fn count_spared(&mut self, id: CallId, input: &AttemptInput) {
        let Some(live) = self.calls.get_mut(&id) else { return };
        if let AttemptInput::Failed { failure, repair } = input
            && (failure.class == Class::LocalNetwork || *repair == Repair::Possible)
        {
            live.protocol.spare();
        }
    }

    fn feed_stale(&mut self, pick: u64, what: What) -> Result {
        let all: Vec<_> =
            self.calls.iter().filter_map(|(id, l)| Some((*id, l.protocol.over()?))).collect();
        let Some(index) = some(pick, all.len()) else { return Ok(()) };
        let (id, attempt) = all[index];
        for input in inputs(what, self.now) {
            let before = self.said.len();
            self.feed(id, Input::Attempt(attempt, input))?;
            if self.said.get(before..).is_some_and(|said| said.contains("effect")) {
                return Err(Breach(format!("an attempt that is over is listened to: {input:?}")));
            }
            self.attend()?;
        }
        Ok(())
    }

    fn block(&mut self, pick: u64, blocked: bool) -> Result {
        let ids: Vec<CallId> =
            self.calls.iter().filter(|(_, l)| l.blocked != blocked).map(|(id, _)| *id).collect();
        let Some(index) = some(pick, ids.len()) else { return Ok(()) };
        if let Some(live) = self.calls.get_mut(&ids[index]) {
            live.blocked = blocked;
        }
        let input = if blocked { Input::ClientBlocked } else { Input::ClientReady };
        self.feed(ids[index], input)?;
        self.attend()
    }

    fn tell(&mut self, pick: u64, input: Input) -> Result {
        let ids: Vec<CallId> = self.calls.keys().copied().collect();
        let Some(index) = some(pick, ids.len()) else { return Ok(()) };
        self.feed(ids[index], input)?;
        self.attend()
    }

    /// Every timer on the way rings at its time.
    fn advance(&mut self, ms: u64) -> Result {
        let target = self.now.after(ms);
        for _ in 0..STEPS_MAX {
            let soonest = self.calls.values().filter_map(|live| live.wake_ms).min();
            match soonest.filter(|at| *at <= target.mono_ms) {
                None => {
                    self.now = target;
                    return Ok(());
                }
                Some(at) => {
                    self.now = self.now.after(at.saturating_sub(self.now.mono_ms));
                    self.ring()?;
                }
            }
        }
        Err(Breach(format!("the timers do not come to rest before {target:?}")))
    }

    fn ring(&mut self) -> Result {
        let mut due: Vec<(u64, CallId)> = self
            .calls
            .iter()
            .filter_map(|(id, live)| Some((live.wake_ms?, *id)))
            .filter(|(at, _)| *at <= self.now.mono_ms)
            .collect();
        due.sort_unstable();
        for (_, id) in due {
            self.feed(id, Input::Tick)?;
            self.attend()?;
        }
        Ok(())
    }

    fn turn(&mut self, by: i64) -> Result {
        let number = self.day.number.saturating_add_signed(by as i32);
        let ends_ms = self.day.ends_ms.saturating_add_signed(by * DAY_MS as i64);
        let day = Day { number, ends_ms };
        if by > 0 {
            // As calendars go: the day that comes is 23, 24 or 25 hours long.
            let skew = [0, 3_600_000, DAY_MS - 3_600_000];
            let ends_ms = self.day.ends_ms + DAY_MS + skew[number as usize % 2];
            self.day = Day { number, ends_ms };
            if self.now.wall_ms < day.ends_ms - DAY_MS {
                self.disturbed_ms = self.now.mono_ms + 1;
                self.now.wall_ms = day.ends_ms - DAY_MS;
            }
        }
        let day = if by > 0 { self.day } else { day };
        self.line(&day_line(day));
        self.engine.turn(day);
        self.reference.turn(day);
        self.attend()
    }
}

fn some(pick: u64, count: usize) -> Option<usize> {
    (count > 0).then(|| (pick % count as u64) as usize)
}
