//! A history of many calls through one queue, in which most things that can happen do. It proves
//! nothing by itself: the same numbers give the same lines, always.

use std::sync::Arc;

use ekiden_engine::history::{
    self, History, call_line, drive_line, feed_line, grant_line, queue_line,
};
use ekiden_engine::{
    AttemptId, AttemptInput, Beat, CallId, CallSpec, Candidate, Class, Clocks, Day, Delivery,
    Failure, Finish, Grant, Input, LeaseId, Now, Policy, Presence, Purpose, Queue, QueueId, Repair,
    RouteId, Seating, SessionId, Terminal, Wait,
};
use ekiden_wasm::answer;

/// Steps of one call at most; whoever is not through then has lost its client.
const STEPS_MAX: u32 = 40;

/// What is written, and the engine that answers it, whose answers decide what comes next.
struct Writer {
    history: History,
    out: String,
    random: u64,
    now: Now,
}

/// The lines of a history with this many calls.
pub(crate) fn history(calls: u64) -> String {
    let now = Now { mono_ms: 0, wall_ms: 1_767_225_600_000 };
    let mut writer = Writer { history: History::new(), out: String::new(), random: 1, now };
    let day = Day { number: 20_454, ends_ms: now.wall_ms + 86_400_000 };
    writer.line(&history::day_line(day));
    let queue = Arc::new(queue());
    writer.line(&queue_line(&queue));
    for call in 1..=calls {
        let spec = CallSpec {
            id: CallId(call),
            queue: queue.clone(),
            session: SessionId(1 + call % 5),
            seating: Seating::Session,
            purpose: if call % 11 == 0 { Purpose::Internal } else { Purpose::Main },
            delivery: Delivery::Stream,
            history: ekiden_engine::History::Ongoing,
            input_tokens: 1_000,
            deadline_ms: (call % 7 == 0).then_some(600_000),
            seed: call,
            tried: Vec::new(),
        };
        writer.call(&spec);
    }
    writer.out
}

fn queue() -> Queue {
    let candidate = |route, max_sessions| Candidate {
        route: RouteId(route),
        presence: Presence::Present,
        max_sessions,
        max_in_flight: None,
        window: None,
        clocks: Clocks::REMOTE,
    };
    let candidates = vec![candidate(1, Some(2)), candidate(2, None), candidate(3, None)];
    Queue { id: QueueId(1), digest: 7, policy: Policy::RELAY, candidates }
}

impl Writer {
    fn line(&mut self, line: &str) -> String {
        self.out.push_str(line);
        self.out.push('\n');
        answer::lines(&mut self.history, line)
    }

    fn call(&mut self, spec: &CallSpec) {
        let mut said = self.line(&call_line(spec));
        said.push_str(&self.line(&drive_line(spec.id, self.now)));
        let mut attempt = 0;
        for _ in 0..STEPS_MAX {
            attempt = started(&said).unwrap_or(attempt);
            if said.lines().any(|line| line.ends_with("wake - over")) {
                return;
            }
            let input = match self.answer_wants(&said) {
                Some(woken) => woken,
                None => self.input(AttemptId(attempt)),
            };
            said = self.line(&feed_line(spec.id, self.now, input));
            if self.draw(16) == 0 {
                self.line(&format!("trace {}", spec.id.0));
            }
        }
        self.line(&feed_line(spec.id, self.now, Input::ClientGone));
    }

    /// Grants or refuses each seat that is asked for, in lines such as `want LEASE ROUTE …`.
    fn answer_wants(&mut self, said: &str) -> Option<Input> {
        let wants = said.lines().filter_map(|line| line.strip_prefix("want "));
        let mut woken = None;
        for want in wants {
            let mut numbers = want.split(' ').map_while(|word| word.parse::<u32>().ok());
            let (lease, route) = (numbers.next()?, numbers.next()?);
            let grant = if self.draw(4) == 0 { Grant::Refused } else { Grant::Granted };
            self.line(&grant_line(LeaseId(u64::from(lease)), RouteId(route), grant));
            woken = Some(Input::Woken);
        }
        woken
    }

    fn input(&mut self, attempt: AttemptId) -> Input {
        let spent = 1 + self.draw(20_000);
        self.now.mono_ms += spent;
        self.now.wall_ms += spent;
        let chunk = |beat| AttemptInput::Chunk { bytes: 120, beat };
        let end = |finish| AttemptInput::End {
            finish: Some(finish),
            terminal: Terminal::Seen,
            output_tokens: Some(300),
        };
        let input = match self.draw(12) {
            0 => AttemptInput::Sent,
            1 => AttemptInput::Head,
            2 => chunk(Beat::Wire),
            3 => chunk(Beat::Reasoning),
            4 | 5 => chunk(Beat::Output),
            6 | 7 => end(Finish::Stop),
            8 => end(Finish::Truncated),
            9 => return Input::Tick,
            _ => self.failure(),
        };
        Input::Attempt(attempt, input)
    }

    fn failure(&mut self) -> AttemptInput {
        let which = self.draw(Class::ALL.len() as u64) as usize;
        let mut failure = Failure::upstream(Class::ALL[which]);
        if self.draw(3) == 0 {
            failure.wait = Wait::Ms(self.draw(100_000));
        }
        AttemptInput::Failed { failure, repair: Repair::Impossible }
    }

    /// A number below `below`, from a shift register (Marsaglia's xorshift64).
    fn draw(&mut self, below: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % below
    }
}

/// The attempt that was begun last, from lines such as `call 1 effect start 2 …`.
fn started(said: &str) -> Option<u32> {
    let words = said.lines().rev().find_map(|line| line.split_once(" effect start "));
    words?.1.split(' ').next()?.parse().ok()
}
