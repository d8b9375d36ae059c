//! The steps of a call whose instructions are counted. Each is prepared first and then run, so
//! that counting a run without the steps and one with them leaves the steps alone. It opens no
//! socket and reads no clock.

use std::hint::black_box;
use std::sync::Arc;

use bytes::Bytes;
use ekiden_classify::{Context, Evidence, classify};
use ekiden_dialect::splice::{Edits, splice};
use ekiden_dialect::{Dialect, request, sse, stream};
use ekiden_engine::{
    AttemptInput, Beat, Call, CallId, CallSpec, Candidate, Clocks, Day, Decision, Delivery, Effect,
    Engine, Finish, History, Input, Now, Output, Policy, Presence, Purpose, Queue, QueueId,
    RouteId, Seating, SessionId, Terminal,
};

use crate::script::{Script, body, failure_body, text_chunk};
use crate::systems::MANY_CANDIDATES;

/// How many times a step is run.
pub(crate) const TIMES: usize = 200;
/// Sessions that the engine knows in the step that says so.
const MANY_SESSIONS: u64 = 10_000;

/// One step of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// A call of a session that is known, between two candidates.
    Admit,
    /// The same, with 10,000 sessions known.
    AdmitSessions,
    /// The same, among 50 candidates.
    AdmitCandidates,
    /// A streamed chunk is read and told to the engine.
    Chunk,
    /// An error answer is classified.
    Classify,
    /// A request's body is read.
    Read,
    /// The model's name is changed in a body that was read.
    Splice,
    /// An event is cut out of a burst.
    Frame,
}

impl Step {
    pub(crate) const ALL: [Self; 8] = [
        Self::Admit,
        Self::AdmitSessions,
        Self::AdmitCandidates,
        Self::Chunk,
        Self::Classify,
        Self::Read,
        Self::Splice,
        Self::Frame,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Admit => "admit",
            Self::AdmitSessions => "admit-sessions",
            Self::AdmitCandidates => "admit-candidates",
            Self::Chunk => "chunk",
            Self::Classify => "classify",
            Self::Read => "read",
            Self::Splice => "splice",
            Self::Frame => "frame",
        }
    }

    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::Admit => "admit a call: 1 session known, 2 candidates",
            Self::AdmitSessions => "admit a call: 10,000 sessions known, 2 candidates",
            Self::AdmitCandidates => "admit a call: 1 session known, 50 candidates",
            Self::Chunk => "read a chunk of 250 bytes and tell the engine",
            Self::Classify => "classify an error answer of 500",
            Self::Read => "read a request's body of 600 bytes",
            Self::Splice => "change the model's name in it",
            Self::Frame => "cut an event of 250 bytes out of a burst",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|step| step.name() == name)
    }
}

/// What a run does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Extent {
    /// Everything but the steps.
    Preparation,
    /// The steps too.
    Steps,
}

/// Prepares the step so many times and, if wished, runs it.
pub(crate) fn run(step: Step, times: usize, extent: Extent) {
    match step {
        Step::Admit => admit(engines(times, 1, 2), extent),
        Step::AdmitSessions => admit(engines(times, MANY_SESSIONS, 2), extent),
        Step::AdmitCandidates => admit(engines(times, 1, MANY_CANDIDATES), extent),
        Step::Chunk => chunks(times, extent),
        Step::Classify => each(times, extent, |()| {
            let headers = [("content-type", "application/json")];
            let evidence =
                Evidence::Http { status: Some(500), headers: &headers, body: failure_body() };
            black_box(classify(black_box(&evidence), &Context::default()));
        }),
        Step::Read => {
            let body = Bytes::from(body("plain", Script::Plain));
            each(times, extent, |()| {
                black_box(request::read(Dialect::OpenAiChat, black_box(&body)).is_ok());
            });
        }
        Step::Splice => {
            let body = Bytes::from(body("plain", Script::Plain));
            let Ok(read) = request::read(Dialect::OpenAiChat, &body) else { return };
            let edits = Edits { model: Some("m"), ..Edits::default() };
            each(times, extent, |()| {
                black_box(splice(black_box(&read), black_box(&edits)));
            });
        }
        Step::Frame => frames(times, extent),
    }
}

fn each(times: usize, extent: Extent, mut step: impl FnMut(())) {
    if extent == Extent::Steps {
        (0..times).for_each(|_| step(()));
    }
}

const NOW: Now = Now { mono_ms: 1_000_000, wall_ms: 1_800_000_000_000 };

fn queue(candidates: usize) -> Arc<Queue> {
    let candidate = |route: usize| Candidate {
        route: RouteId(route as u32),
        presence: Presence::Present,
        max_sessions: None,
        max_in_flight: None,
        window: None,
        clocks: Clocks::REMOTE,
    };
    Arc::new(Queue {
        id: QueueId(1),
        digest: 0,
        policy: Policy::RELAY,
        candidates: (0..candidates).map(candidate).collect(),
    })
}

/// A call for a whole answer, whose candidates share the time that it has.
fn call(queue: &Arc<Queue>, id: u64, session: u64) -> Call {
    Call::new(CallSpec {
        id: CallId(id),
        queue: Arc::clone(queue),
        session: SessionId(session),
        seating: Seating::Session,
        purpose: Purpose::Main,
        delivery: Delivery::Whole,
        history: History::Fresh,
        input_tokens: 110,
        deadline_ms: Some(295_000),
        seed: id,
        tried: Vec::new(),
    })
}

/// Feeds a call's attempt and carries out what it wants of the engine; whether the call is over.
fn feed(engine: &mut Engine, call: &mut Call, inputs: &[AttemptInput]) -> bool {
    let mut left = inputs.iter();
    let mut running = None;
    loop {
        match call.poll_output() {
            Output::Admit => {
                black_box(engine.admit(NOW, call));
            }
            Output::Settle => engine.settle(NOW, call),
            Output::Effect(Effect::Start(start)) => running = Some(start.attempt),
            Output::Effect(_) => {}
            Output::Wake(..) => {
                let (Some(attempt), Some(input)) = (running, left.next()) else { break };
                call.handle(NOW, Input::Attempt(attempt, *input));
            }
        }
    }
    while engine.poll_notice().is_some() {}
    call.is_over()
}

/// Engines that know so many sessions, each with calls that wait to be admitted: `times` calls in
/// all, no two of one session.
fn engines(times: usize, sessions: u64, candidates: usize) -> Vec<(Engine, Vec<Call>)> {
    let queue = queue(candidates);
    let whole = [
        AttemptInput::Sent,
        AttemptInput::Head,
        AttemptInput::Chunk { bytes: 250, beat: Beat::Output },
        AttemptInput::End {
            finish: Some(Finish::Stop),
            terminal: Terminal::Seen,
            output_tokens: Some(130),
        },
    ];
    let per_engine = times.min(sessions as usize);
    let day = Day { number: 1, ends_ms: NOW.wall_ms + 86_400_000 };
    let engine = |_| {
        let mut engine = Engine::new(day);
        for session in 1..=sessions {
            feed(&mut engine, &mut call(&queue, session, session), &whole);
        }
        let calls = (1..=per_engine as u64).map(|session| {
            let mut call = call(&queue, sessions + session, session);
            // Its wish to be admitted is taken, so that the step answers it.
            black_box(call.poll_output());
            call
        });
        let calls = calls.collect();
        (engine, calls)
    };
    (0..times / per_engine).map(engine).collect()
}

fn admit(mut engines: Vec<(Engine, Vec<Call>)>, extent: Extent) {
    if extent == Extent::Steps {
        for (engine, calls) in &mut engines {
            for call in calls {
                let decision = engine.admit(NOW, call);
                assert!(matches!(decision, Decision::Go(_)), "nothing stands in the way");
                black_box(decision);
            }
        }
    }
    // What 10,000 sessions cost to take down differs by more than an admission costs.
    std::mem::forget(engines);
}

fn chunks(times: usize, extent: Extent) {
    let queue = queue(2);
    let mut engine = Engine::new(Day { number: 1, ends_ms: NOW.wall_ms + 86_400_000 });
    let streamed = CallSpec {
        delivery: Delivery::Stream,
        deadline_ms: None,
        ..call(&queue, 1, 1).spec().clone()
    };
    let mut call = Call::new(streamed);
    let first = AttemptInput::Chunk { bytes: 250, beat: Beat::Output };
    feed(&mut engine, &mut call, &[AttemptInput::Sent, AttemptInput::Head, first]);
    let event = sse::Event::parse(Bytes::from(text_chunk()));
    let mut reader = stream::Reader::new(Dialect::OpenAiChat);
    each(times, extent, |()| {
        let beat = match reader.read(black_box(&event)) {
            stream::Beat::Output => Beat::Output,
            stream::Beat::Reasoning => Beat::Reasoning,
            stream::Beat::Wire
            | stream::Beat::Terminal
            | stream::Beat::Error(_)
            | stream::Beat::Malformed(_) => Beat::Wire,
        };
        let input = AttemptInput::Chunk { bytes: 250, beat };
        call.handle(NOW, Input::Attempt(ekiden_engine::AttemptId(1), input));
        black_box(call.poll_output());
    });
}

fn frames(times: usize, extent: Extent) {
    let burst = Bytes::from(text_chunk().repeat(times));
    let mut reader = sse::Reader::new();
    reader.push(burst);
    each(times, extent, |()| {
        black_box(reader.next_event().is_ok());
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_runs_and_has_its_own_name() {
        for step in Step::ALL {
            assert_eq!(Step::named(step.name()), Some(step));
            run(step, 4, Extent::Preparation);
            run(step, 4, Extent::Steps);
        }
    }

    #[test]
    fn as_many_calls_are_admitted_as_are_counted() {
        for (times, sessions) in [(8, 1), (8, 8), (8, 100)] {
            let engines = engines(times, sessions, 2);
            assert_eq!(engines.iter().map(|(_, calls)| calls.len()).sum::<usize>(), times);
        }
    }

    #[test]
    fn a_prepared_session_s_call_ends_whole() {
        let mut engine = Engine::new(Day { number: 1, ends_ms: NOW.wall_ms + 1 });
        let mut one = call(&queue(2), 1, 1);
        let whole = AttemptInput::End {
            finish: Some(Finish::Stop),
            terminal: Terminal::Seen,
            output_tokens: None,
        };
        let output = AttemptInput::Chunk { bytes: 1, beat: Beat::Output };
        assert!(feed(
            &mut engine,
            &mut one,
            &[AttemptInput::Sent, AttemptInput::Head, output, whole]
        ));
    }
}
