//! What each input does in each state of a call: `call.rs`, `running.rs`.

use alloc::sync::Arc;
use std::string::{String, ToString as _};
use std::vec::Vec;
use std::{format, vec};

use crate::attempt::{Beat, Finish};
use crate::call::{
    AttemptInput, Call, CallSpec, Delivery, Effect, History, Input, LastWord, Output, Purpose,
    Repair, Seating, State, Terminal,
};
use crate::class::{Class, Failure, Wait};
use crate::engine::Engine;
use crate::ids::{AttemptId, CallId, QueueId, RouteId, SessionId};
use crate::policy::{Candidate, Clocks, Policy, Presence, Queue};
use crate::time::{Day, Now};

const STATES: [&str; 7] =
    ["running", "committed", "pausing", "waiting", "awaiting lease", "blocked", "over"];
const INPUTS: [&str; 10] = [
    "output",
    "end",
    "empty end",
    "fails",
    "unserved",
    "client gone",
    "stopped",
    "woken",
    "tick, early",
    "tick, a minute late",
];

/// One row a state, one cell an input; a dot: nothing.
const CELLS: [[&str; 10]; 7] = [
    [
        "commit → committed",
        "commit, deliver → over",
        "discard, start 0",
        "discard, start 0",
        "resend",
        "cancel → over",
        "cancel, discard, refuse: stopped → over",
        "·",
        "·",
        "cancel, discard, start 1",
    ],
    [
        "·",
        "deliver → over",
        "deliver → over",
        "refuse: broken, auth → over",
        "refuse: broken, transport_remote → over",
        "cancel → over",
        "cancel, refuse: broken, aborted → over",
        "·",
        "·",
        "cancel, refuse: broken, stall → over",
    ],
    ["·", "·", "·", "·", "·", "→ over", "refuse: stopped → over", "·", "·", "start 0 → running"],
    ["·", "·", "·", "·", "·", "→ over", "refuse: stopped → over", "·", "·", "start 0 → running"],
    ["·", "·", "·", "·", "·", "→ over", "refuse: stopped → over", "·", "·", "start 1 → running"],
    [
        "·",
        "deliver → over",
        "deliver → over",
        "refuse: broken, auth → over",
        "refuse: broken, transport_remote → over",
        "cancel → over",
        "cancel, refuse: broken, aborted → over",
        "·",
        "·",
        "·",
    ],
    ["·", "·", "·", "·", "·", "·", "·", "·", "·", "·"],
];

struct Stage {
    engine: Engine,
    call: Call,
    now: Now,
    attempt: AttemptId,
}

impl Stage {
    fn new(state: &str) -> Self {
        let route = |route, max_sessions| Candidate {
            route: RouteId(route),
            presence: Presence::Present,
            max_sessions,
            max_in_flight: None,
            window: None,
            clocks: Clocks { idle_ms: 50_000, ..Clocks::REMOTE },
        };
        let candidates = match state {
            "awaiting lease" => vec![route(0, Some(1)), route(1, None)],
            "waiting" => vec![route(0, None)],
            _ => vec![route(0, None), route(1, None)],
        };
        let queue = Queue { id: QueueId(1), digest: 0, policy: Policy::RELAY, candidates };
        let spec = CallSpec {
            id: CallId(1),
            queue: Arc::new(queue),
            session: SessionId(1),
            seating: Seating::Session,
            purpose: Purpose::Main,
            delivery: Delivery::Stream,
            history: History::Fresh,
            input_tokens: 0,
            deadline_ms: None,
            seed: 4,
            tried: vec![],
        };
        let now = Now { mono_ms: 1_000, wall_ms: 1_000 };
        let engine = Engine::new(Day { number: 1, ends_ms: u64::MAX });
        let mut stage = Self { engine, call: Call::new(spec), now, attempt: AttemptId(1) };
        stage.drain();
        let first = stage.attempt;
        let mut feed = |input| stage.feed(Input::Attempt(first, input));
        match state {
            "awaiting lease" => return stage,
            "pausing" => drop(feed(failed(Class::ServerError, Wait::Unnamed))),
            "waiting" => drop(feed(failed(Class::RateLimited, Wait::Ms(20_000)))),
            "over" => drop(stage.feed(Input::ClientGone)),
            _ => drop(feed(AttemptInput::Sent)),
        }
        if matches!(state, "committed" | "blocked") {
            stage.input("output");
        }
        if state == "blocked" {
            stage.feed(Input::ClientBlocked);
        }
        stage
    }

    fn input(&mut self, name: &str) -> String {
        let first = self.attempt;
        let end = |finish| AttemptInput::End {
            finish: Some(finish),
            terminal: Terminal::Seen,
            output_tokens: Some(3),
        };
        let input = match name {
            "output" => Input::Attempt(first, AttemptInput::Chunk { bytes: 9, beat: Beat::Output }),
            "end" | "empty end" => Input::Attempt(first, end(Finish::Stop)),
            "fails" => Input::Attempt(first, failed(Class::Auth, Wait::Unnamed)),
            "unserved" => Input::Attempt(first, AttemptInput::Unserved),
            "client gone" => Input::ClientGone,
            "stopped" => Input::Stop,
            "woken" => Input::Woken,
            _ => Input::Tick,
        };
        if name == "end" {
            let output = AttemptInput::Chunk { bytes: 9, beat: Beat::Output };
            let spoken = self.feed(Input::Attempt(first, output));
            return [spoken, self.feed(input)].concat();
        }
        if name == "tick, a minute late" {
            self.now = self.now.after(60_000);
        }
        self.feed(input)
    }

    fn feed(&mut self, input: Input) -> String {
        self.call.handle(self.now, input);
        self.drain()
    }

    fn drain(&mut self) -> String {
        let mut said = String::new();
        loop {
            match self.call.poll_output() {
                Output::Effect(effect) => said.push_str(&format!("{}, ", self.effect(effect))),
                Output::Settle => self.engine.settle(self.now, &mut self.call),
                Output::Admit => drop(self.engine.admit(self.now, &mut self.call)),
                Output::Wake(..) => return said,
            }
        }
    }

    fn effect(&mut self, effect: Effect) -> String {
        match effect {
            Effect::Start(start) => {
                self.attempt = start.attempt;
                format!("start {}", start.candidate)
            }
            Effect::Resend(_) => "resend".into(),
            Effect::Commit(_) => "commit".into(),
            Effect::Deliver(_) => "deliver".into(),
            Effect::Discard(_) => "discard".into(),
            Effect::Cancel(_) => "cancel".into(),
            Effect::Refuse(LastWord::Broken(_, class)) => {
                format!("refuse: broken, {}", class.name())
            }
            Effect::Refuse(LastWord::Stopped) => "refuse: stopped".into(),
            Effect::Refuse(word) => format!("refuse: {word:?}"),
        }
    }

    fn state(&self) -> &'static str {
        match &self.call.state {
            State::Choosing(_) => "choosing",
            State::Pausing { .. } => "pausing",
            State::Waiting { .. } => "waiting",
            State::AwaitingLease { .. } => "awaiting lease",
            State::Running(attempt) if attempt.blocked_since_ms().is_some() => "blocked",
            State::Running(attempt) if attempt.committed => "committed",
            State::Running(_) => "running",
            State::Over => "over",
        }
    }
}

const fn failed(class: Class, wait: Wait) -> AttemptInput {
    let failure = Failure { wait, ..Failure::upstream(class) };
    AttemptInput::Failed { failure, repair: Repair::Impossible }
}

/// What was said, then the state if it changed.
fn cell(state: &str, input: &str) -> String {
    let mut stage = Stage::new(state);
    assert_eq!(stage.state(), state);
    let said = stage.input(input);
    match (said.trim_end_matches(", "), stage.state()) {
        ("", now) if now == state => "·".into(),
        ("", now) => format!("→ {now}"),
        (said, now) if now == state => said.into(),
        (said, now) => format!("{said} → {now}"),
    }
}

#[test]
fn r07_r10_r11_r12_r16_p05_every_input_in_every_state() {
    for (state, cells) in STATES.iter().zip(CELLS) {
        for (input, expected) in INPUTS.iter().zip(cells) {
            assert_eq!(cell(state, input), expected, "{state}: {input}");
        }
    }
}

#[test]
#[ignore = "prints the cells as they are, to be read before they are believed"]
fn print_cells() {
    for state in STATES {
        let cells: Vec<String> = INPUTS.iter().map(|input| cell(state, input)).collect();
        std::println!("    {cells:?},");
    }
}

pub(super) fn page() -> String {
    let rows = INPUTS.iter().enumerate().map(|(index, input)| {
        let mut row = vec![input.to_string()];
        row.extend(CELLS.iter().map(|cells| cells[index].to_string()));
        row
    });
    let mut head = vec!["input"];
    head.extend(STATES);
    super::table(
        "A call: input by state",
        "What the shell is told, then the state if it is another (R5, R7, R10 to R12, R16, R48, P5). \
         A queue of two on remote providers with an idle clock of 50 s; `fails` is an `auth`; \
         while it waits there is one candidate, cooled for 20 s. An input from an attempt that is \
         over does nothing.",
        &head,
        rows,
    )
}
