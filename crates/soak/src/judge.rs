//! One call, judged: what its client got against what its upstreams said. It trusts no header and no
//! status alone, and it knows nothing of the gateway's insides.

use std::io::Read as _;
use std::time::Duration;

use ekiden_sim::{Act, Coding, Fault, Trouble};
use serde_json::Value;

use crate::client::{Heard, HeardEnd};
use crate::faults::is_sound;
use crate::plan::{Plan, Tongue};
use crate::read::{
    Kind, events, has_whole_tools, is_finish, is_same, is_usage_alone, is_whole, kind,
};
use crate::stage::{Attempt, PROVIDER_KEY, Played};

/// R8: attempts in one call at most.
const ATTEMPTS_MAX: usize = 16;

/// A request may be on its way when its client leaves, and its upstream may be slow to read it on a
/// machine that is busy. How soon it is given up is measured apart.
pub(crate) const LATE_MAX: Duration = Duration::from_secs(2);

/// What may be violated, as the table names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rule {
    /// An answer is one attempt's, byte for byte.
    Unmixed,
    /// A cut answer is never shown as whole.
    Honest,
    /// Every call gets an answer or an error.
    Answered,
    /// A whole answer that an upstream gave reaches its client.
    Kept,
    /// An error is one of the dialect's, and one that the client can act on.
    Told,
    /// Keys and session names stay where they belong; requests arrive as they were made.
    Passed,
    /// Attempts, retries and caps stay within their bounds.
    Bounded,
    /// Headers and the interface say what happened.
    Named,
    /// When a call is over, nothing of it goes on; a client that left is followed at once.
    Ended,
    /// Seats, sockets, tasks, memory come back.
    Returned,
    /// What was acknowledged, and what was recorded for a second, outlives `kill -9`.
    Durable,
    /// Settings change under load, and the program does not fall over.
    Steady,
}

impl Rule {
    pub(crate) const ALL: [Self; 12] = [
        Self::Unmixed,
        Self::Honest,
        Self::Answered,
        Self::Kept,
        Self::Told,
        Self::Passed,
        Self::Bounded,
        Self::Named,
        Self::Ended,
        Self::Returned,
        Self::Durable,
        Self::Steady,
    ];

    pub(crate) const fn says(self) -> &'static str {
        match self {
            Self::Unmixed => "answers are one attempt's, byte for byte (R16)",
            Self::Honest => "no cut answer is shown as whole (R10, R13)",
            Self::Answered => "every call gets an answer or an error",
            Self::Kept => "a whole answer reaches its client (R8)",
            Self::Told => "errors are the dialect's and of use (R15, R45)",
            Self::Passed => "requests arrive as made, keys and sessions stay (G7, G14)",
            Self::Bounded => "attempts, retries and caps are bounded (R8, R11, R24)",
            Self::Named => "headers and records say what happened (G5, R33)",
            Self::Ended => "nothing goes on after a call; who left is followed (G3)",
            Self::Returned => "seats, sockets, tasks and memory come back",
            Self::Durable => "kill -9 loses nothing that was kept (G12)",
            Self::Steady => "settings change under load, nothing falls over (G7)",
        }
    }
}

/// How a call went, for the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Went {
    Whole,
    /// A failure after commit, told as it is.
    Broken,
    /// An error before anything was shown.
    Refused,
    Left,
    /// The process was killed meanwhile.
    Killed,
    /// It violates a rule.
    Wrong,
}

/// The judgement.
pub(crate) struct Verdict {
    pub(crate) went: Went,
    pub(crate) wrong: Vec<(Rule, String)>,
}

/// A call and all that is known of it.
pub(crate) struct Case<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) heard: &'a Heard,
    pub(crate) played: &'a Played,
    /// The process was killed while the call was open.
    pub(crate) killed: bool,
}

impl Case<'_> {
    pub(crate) fn judge(&self) -> Verdict {
        let mut wrong: Vec<(Rule, String)> =
            self.played.wrong.iter().map(|text| (Rule::Passed, text.clone())).collect();
        let went = self.answer(&mut wrong);
        if !self.killed {
            self.bounds(&mut wrong);
        }
        self.secrets(&mut wrong);
        let went = if wrong.is_empty() { went } else { Went::Wrong };
        Verdict { went, wrong }
    }

    fn answer(&self, wrong: &mut Vec<(Rule, String)>) -> Went {
        let Some(head) = &self.heard.head else { return self.nothing(wrong) };
        if let HeardEnd::Odd(why) = &self.heard.end {
            wrong.push((Rule::Answered, format!("no HTTP: {why}")));
            return Went::Wrong;
        }
        if head.status != 200 {
            self.refusal(head.status, wrong);
            return Went::Refused;
        }
        if self.plan.streamed { self.stream(wrong) } else { self.whole(wrong) }
    }

    fn nothing(&self, wrong: &mut Vec<(Rule, String)>) -> Went {
        match &self.heard.end {
            HeardEnd::Left => Went::Left,
            _ if self.killed => Went::Killed,
            HeardEnd::Silence => {
                wrong.push((Rule::Answered, "nothing came for as long as it waits".to_owned()));
                Went::Wrong
            }
            HeardEnd::Nothing(why) | HeardEnd::Odd(why) => {
                wrong.push((Rule::Answered, format!("no answer at all: {why}")));
                Went::Wrong
            }
            HeardEnd::Whole | HeardEnd::Cut => {
                wrong.push((Rule::Answered, "no head".to_owned()));
                Went::Wrong
            }
        }
    }

    /// An error in place of an answer.
    fn refusal(&self, status: u16, wrong: &mut Vec<(Rule, String)>) {
        let mut tell = |rule, text: String| wrong.push((rule, text));
        if self.heard.end == HeardEnd::Left {
            return;
        }
        if self.heard.end != HeardEnd::Whole && !self.killed {
            tell(Rule::Answered, format!("{status} whose body was cut"));
        }
        let json: Value = serde_json::from_slice(&self.heard.body).unwrap_or_default();
        let message = json["error"]["message"].as_str().unwrap_or_default();
        let typed = self.plan.tongue == Tongue::Chat || json["type"] == "error";
        if (message.is_empty() || !typed) && self.heard.end == HeardEnd::Whole {
            tell(Rule::Told, format!("{status} is no error of the dialect: {json}"));
        }
        let header = |name: &str| self.heard.head.as_ref().and_then(|head| head.header(name));
        match status {
            400 | 413 | 422 if self.is_theirs() || is_overflow(message) => {}
            429 | 503 | 529 => {
                let again: Option<u64> = header("retry-after").and_then(|text| text.parse().ok());
                let come_back = again.is_some_and(|seconds| (1..=60).contains(&seconds));
                let never = header("x-should-retry") == Some("false");
                if !come_back && !never && !message.contains("own network") {
                    tell(Rule::Told, format!("{status} says neither when nor never: {message}"));
                }
            }
            502 | 504 => {}
            _ => tell(Rule::Told, format!("{status}: {message}")),
        }
        let kept = self.played.attempts.iter().find(|one| is_sound(&one.act) && one.is_played());
        // A deadline may come between an answer's end and its delivery.
        if let Some(kept) = kept.filter(|_| status != 504) {
            tell(Rule::Kept, format!("{} answered well and the client got {status}", kept.route()));
        }
    }

    /// Whether the body is one that an upstream sent with an error.
    fn is_theirs(&self) -> bool {
        let same = |one: &&Attempt| {
            let said = decoded(one);
            said == self.heard.body
                || events(&said).0.iter().any(|event| match kind(self.plan.tongue, event) {
                    Kind::Error(json) => serde_json::from_slice::<Value>(&self.heard.body)
                        .is_ok_and(|own| own == json),
                    Kind::Beat | Kind::Said(_) | Kind::Terminal | Kind::Malformed => false,
                })
        };
        self.played.attempts.iter().any(|one| same(&one))
    }

    /// A 200 that is one piece of JSON.
    fn whole(&self, wrong: &mut Vec<(Rule, String)>) -> Went {
        let Some(attempt) = self.named(wrong) else { return Went::Wrong };
        let said = decoded(attempt);
        let body = &self.heard.body;
        match &self.heard.end {
            HeardEnd::Whole if *body != said => {
                let at = body.iter().zip(&said).position(|(one, other)| one != other);
                let at = at.unwrap_or(body.len().min(said.len()));
                let text = format!("differs from {} at byte {at}", attempt.route());
                wrong.push((Rule::Unmixed, text));
            }
            HeardEnd::Whole if !is_whole(self.plan.tongue, body) => {
                wrong.push((Rule::Honest, "a broken answer with 200".to_owned()));
            }
            HeardEnd::Whole => return Went::Whole,
            HeardEnd::Left | HeardEnd::Cut if !said.starts_with(body) => {
                wrong.push((Rule::Unmixed, format!("is no part of {}", attempt.route())));
            }
            HeardEnd::Left => return Went::Left,
            _ if self.killed => return Went::Killed,
            HeardEnd::Cut | HeardEnd::Silence | HeardEnd::Nothing(_) | HeardEnd::Odd(_) => {
                wrong.push((Rule::Answered, "a whole answer was cut".to_owned()));
            }
        }
        Went::Wrong
    }

    /// A 200 that is a stream.
    fn stream(&self, wrong: &mut Vec<(Rule, String)>) -> Went {
        let tongue = self.plan.tongue;
        let (all, rest) = events(&self.heard.body);
        let shown = without_beats(tongue, &all);
        let last = shown.last().map(|event| kind(tongue, event));
        let ending = match (&self.heard.end, last) {
            (HeardEnd::Left, _) => Went::Left,
            (HeardEnd::Whole, Some(Kind::Terminal)) => Went::Whole,
            (HeardEnd::Whole, Some(Kind::Error(_))) => Went::Broken,
            (HeardEnd::Whole, _) => {
                wrong.push((Rule::Honest, "a stream that ends without a word".to_owned()));
                return Went::Wrong;
            }
            (HeardEnd::Cut, Some(Kind::Terminal)) => {
                wrong.push((Rule::Honest, "cut after the terminal event".to_owned()));
                return Went::Wrong;
            }
            (HeardEnd::Cut, _) if self.killed => Went::Killed,
            (HeardEnd::Cut, _) => Went::Broken,
            (HeardEnd::Silence | HeardEnd::Nothing(_) | HeardEnd::Odd(_), _) => {
                wrong.push((Rule::Answered, "a stream that went silent".to_owned()));
                return Went::Wrong;
            }
        };
        // A client may have left with the last event in its hands.
        let closing = shown
            .last()
            .is_some_and(|event| matches!(kind(tongue, event), Kind::Terminal | Kind::Error(_)));
        let content = &shown[..shown.len() - usize::from(closing)];
        if content.is_empty() && rest.is_empty() && ending != Went::Whole {
            // The head went out with keep-alives, and then nothing of any answer.
            return self.nothing_shown(ending, wrong);
        }
        let Some(attempt) = self.named(wrong) else { return Went::Wrong };
        self.compare(attempt, content, rest, ending, wrong);
        ending
    }

    fn nothing_shown(&self, ending: Went, wrong: &mut Vec<(Rule, String)>) -> Went {
        let kept = self.played.attempts.iter().find(|one| is_sound(&one.act) && one.is_played());
        if let Some(kept) =
            kept.filter(|_| ending == Went::Broken && self.plan.deadline_ms.is_none())
        {
            let text = format!("{} answered well and the client got an error", kept.route());
            wrong.push((Rule::Kept, text));
        }
        if ending == Went::Broken { Went::Refused } else { ending }
    }

    /// What was shown against what one attempt said.
    fn compare(
        &self,
        attempt: &Attempt,
        content: &[&[u8]],
        rest: &[u8],
        ending: Went,
        wrong: &mut Vec<(Rule, String)>,
    ) {
        let tongue = self.plan.tongue;
        let hides = tongue == Tongue::Chat && !self.plan.wants_usage;
        let said = decoded(attempt);
        let (told, told_rest) = events(&said);
        let told = expected(tongue, &without_beats(tongue, &told), hides);
        let route = attempt.route();
        let differs = (0..content.len())
            .find(|at| !told.get(*at).is_some_and(|told| is_same(content[*at], told, hides)));
        if let Some(at) = differs {
            let shown = String::from_utf8_lossy(content[at]);
            let text = format!("event {at} is none of {route}: {}", shown.trim());
            return wrong.push((Rule::Unmixed, text));
        }
        // Half an event may come where the connection was cut or left: of the next one, of the last
        // one, or of an error.
        if !rest.is_empty() && !hides {
            let next = told.get(content.len()).copied().unwrap_or(told_rest);
            let last = told.len() == content.len() && starts_as(rest, terminal(tongue));
            let beat = content.is_empty() && starts_as(rest, beat(tongue));
            if !next.starts_with(rest) && !last && !beat && !starts_as(rest, error(tongue)) {
                return wrong.push((Rule::Unmixed, format!("half an event is none of {route}")));
            }
        }
        let finished = content.iter().any(|event| match kind(tongue, event) {
            Kind::Said(json) => is_finish(tongue, &json),
            Kind::Beat | Kind::Terminal | Kind::Error(_) | Kind::Malformed => false,
        });
        match ending {
            Went::Whole if !finished => {
                wrong.push((Rule::Honest, format!("{route} gave no reason for its end")));
            }
            Went::Whole if !has_whole_tools(tongue, content) && !self.is_truncated(attempt) => {
                wrong.push((Rule::Honest, "half a tool call in a whole answer".to_owned()));
            }
            Went::Broken if is_sound(&attempt.act) && attempt.is_played() => {
                // A deadline ends what is on its way.
                if self.plan.deadline_ms.is_none() {
                    wrong.push((Rule::Kept, format!("{route} answered well and was broken off")));
                }
            }
            Went::Whole
            | Went::Broken
            | Went::Refused
            | Went::Left
            | Went::Killed
            | Went::Wrong => {}
        }
    }

    fn is_truncated(&self, attempt: &Attempt) -> bool {
        match &attempt.act {
            Act::Answer(answer) => answer.finish == ekiden_sim::Finish::Truncated,
            Act::Status(_)
            | Act::Reset(_)
            | Act::Hang
            | Act::HeadersThenSilence
            | Act::Html
            | Act::ZeroBytes => false,
        }
    }

    /// The attempt that the headers name, which must be the last.
    fn named(&self, wrong: &mut Vec<(Rule, String)>) -> Option<&Attempt> {
        let head = self.heard.head.as_ref();
        let header = |name: &str| head.and_then(|head| head.header(name));
        let Some(last) = self.played.attempts.last() else {
            wrong.push((Rule::Unmixed, "an answer without any attempt".to_owned()));
            return None;
        };
        if header("x-ekiden-call").is_none() || header("x-ekiden-queue") != Some(&self.plan.queue) {
            wrong.push((Rule::Named, "call or queue is missing in the headers".to_owned()));
        }
        let Some(candidate) = header("x-ekiden-candidate") else {
            // The head went out with a keep-alive: nobody was chosen then.
            return Some(last);
        };
        if candidate != last.route() {
            let text = format!("named {candidate}, and {} was asked last", last.route());
            wrong.push((Rule::Named, text));
        }
        let attempts: usize =
            header("x-ekiden-attempts").and_then(|text| text.parse().ok()).unwrap_or_default();
        let seen = self.played.attempts.len();
        let resent = seen - self.counted();
        // A process that was killed had begun some of them for a client that then asked again.
        let unnamed = !self.killed && attempts + resent < seen;
        if attempts > seen || unnamed {
            let text = format!("{attempts} attempts named, {seen} seen");
            wrong.push((Rule::Named, text));
        }
        Some(last)
    }

    /// Attempts without those whose connection was reset: what came before may be lost with it, and
    /// then they went out once more without being counted (R48).
    fn counted(&self) -> usize {
        self.played.attempts.iter().filter(|one| !is_reset(&one.act)).count()
    }

    fn bounds(&self, wrong: &mut Vec<(Rule, String)>) {
        if self.counted() > ATTEMPTS_MAX {
            wrong.push((Rule::Bounded, format!("{} attempts in one call", self.counted())));
        }
        for pair in self.played.attempts.windows(2) {
            let [one, next] = pair else { continue };
            let same = one.route() == next.route();
            if same && self.plan.streamed && matches!(one.act, Act::Hang | Act::HeadersThenSilence)
            {
                let text = format!("{} was silent and was asked again (R11)", one.route());
                wrong.push((Rule::Bounded, text));
            }
            if is_final(one) {
                let text =
                    format!("{} refused the request, and {} was asked", one.route(), next.route());
                wrong.push((Rule::Bounded, text));
            }
        }
        for one in &self.played.attempts {
            if one.begun > self.heard.over + LATE_MAX {
                let late = one.begun - self.heard.over;
                let text = format!("{} was asked {late:?} after the call was over", one.route());
                wrong.push((Rule::Ended, text));
            }
            if one.end.is_none() {
                let text = format!("an attempt on {} goes on after the call", one.route());
                wrong.push((Rule::Ended, text));
            }
        }
    }

    fn secrets(&self, wrong: &mut Vec<(Rule, String)>) {
        let key = PROVIDER_KEY.as_bytes();
        let body = self.heard.body.windows(key.len()).any(|part| part == key);
        let headers =
            self.heard.head.as_ref().is_some_and(|head| {
                head.headers.iter().any(|(_, value)| value.contains(PROVIDER_KEY))
            });
        if body || headers {
            wrong.push((Rule::Passed, "a provider's key reached the client".to_owned()));
        }
    }
}

fn is_reset(act: &Act) -> bool {
    match act {
        Act::Reset(_) => true,
        Act::Answer(answer) => matches!(answer.fault, Some(Fault::Reset { .. })),
        Act::Status(_) | Act::Hang | Act::HeadersThenSilence | Act::Html | Act::ZeroBytes => false,
    }
}

/// Whether nobody else may be asked after this (R15).
fn is_final(attempt: &Attempt) -> bool {
    let trouble = match &attempt.act {
        Act::Status(status) => status.trouble,
        Act::Answer(answer) => {
            if let Some(Fault::ErrorEvent { trouble, .. }) = answer.fault {
                Some(trouble)
            } else {
                None
            }
        }
        Act::Reset(_) | Act::Hang | Act::HeadersThenSilence | Act::Html | Act::ZeroBytes => None,
    };
    attempt.is_played()
        && matches!(trouble, Some(Trouble::ContextOverflow | Trouble::ContentFilter))
}

/// Whether one is the beginning of the other.
fn starts_as(rest: &[u8], whole: &[u8]) -> bool {
    rest.starts_with(whole) || whole.starts_with(rest)
}

const fn terminal(tongue: Tongue) -> &'static [u8] {
    match tongue {
        Tongue::Chat => b"data: [DONE]\n\n",
        Tongue::Messages => b"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
    }
}

/// A keep-alive, the gateway's own or an upstream's.
const fn beat(tongue: Tongue) -> &'static [u8] {
    match tongue {
        Tongue::Chat => b": keep-alive\n\n",
        Tongue::Messages => b"event: ping\ndata: {\"type\":\"ping\"}\n\n",
    }
}

/// How an error event begins.
const fn error(tongue: Tongue) -> &'static [u8] {
    match tongue {
        Tongue::Chat => b"data: {\"error\"",
        Tongue::Messages => b"event: error\ndata: ",
    }
}

fn is_overflow(message: &str) -> bool {
    message.contains("maximum context length") || message.contains("prompt is too long")
}

/// The events of a stream without the keep-alives before its first word.
fn without_beats<'a>(tongue: Tongue, all: &[&'a [u8]]) -> Vec<&'a [u8]> {
    all.iter().skip_while(|event| kind(tongue, event) == Kind::Beat).copied().collect()
}

/// What a client is to see of what an upstream said: nothing malformed, nothing from an error or
/// the terminal event on, no usage that it did not ask for.
fn expected<'a>(tongue: Tongue, all: &[&'a [u8]], hides: bool) -> Vec<&'a [u8]> {
    let mut seen = Vec::new();
    for event in all {
        match kind(tongue, event) {
            Kind::Terminal | Kind::Error(_) => break,
            Kind::Malformed => {}
            Kind::Said(json) if hides && is_usage_alone(&json) => {}
            Kind::Said(_) | Kind::Beat => seen.push(*event),
        }
    }
    seen
}

/// The body that an attempt's upstream meant.
fn decoded(attempt: &Attempt) -> Vec<u8> {
    match attempt.coding() {
        Coding::Identity => attempt.said.clone(),
        Coding::Gzip => {
            let mut plain = Vec::new();
            // What was cut ends in an error, with all that could be read before it.
            let _ = flate2::read::GzDecoder::new(attempt.said.as_slice()).read_to_end(&mut plain);
            plain
        }
    }
}

#[cfg(test)]
mod tests;
