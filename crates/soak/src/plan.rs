//! What a client does in one call: whom it asks, what it says, and how it behaves. A plan is made
//! before the call and follows from the seed and the call's number alone.

use std::time::Duration;

use serde_json::{Value, json};

use crate::dice::Dice;

/// A dialect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tongue {
    Chat,
    Messages,
}

impl Tongue {
    pub(crate) const ALL: [Self; 2] = [Self::Chat, Self::Messages];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Messages => "messages",
        }
    }

    const fn path(self) -> &'static str {
        match self {
            Self::Chat => "/v1/chat/completions",
            Self::Messages => "/v1/messages",
        }
    }
}

/// How a client behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    /// It reads what comes.
    Reads,
    /// It leaves so long after it asked.
    Leaves(Duration),
    /// It leaves when so many bytes of the body have come.
    LeavesAfter(usize),
    /// When so many bytes of the body have come it reads nothing for so long, and then goes on.
    Stalls(usize, Duration),
}

/// What kind of program asks: it decides how an answer that broke off is told (wire facts).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Agent {
    /// A library: an error event.
    Library,
    /// A coding agent: a cut connection.
    Coder,
}

/// One call.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) number: u64,
    pub(crate) tongue: Tongue,
    /// The model that is asked for.
    pub(crate) queue: String,
    pub(crate) streamed: bool,
    /// Header and value that name the session, if anything does.
    pub(crate) session: Option<(&'static str, String)>,
    pub(crate) agent: Agent,
    /// Whether a Chat stream is asked for its usage.
    pub(crate) wants_usage: bool,
    pub(crate) deadline_ms: Option<u64>,
    /// Whether the request offers tools.
    pub(crate) tools: bool,
    pub(crate) manner: Manner,
    /// How long the client waits for the next byte; then something hangs.
    pub(crate) patience: Duration,
    /// How long it reads on; then it has had enough and leaves.
    pub(crate) enough: Duration,
    pub(crate) messages: Value,
}

/// The queues of the soak, without the dialect's name.
pub(crate) const QUEUES: [&str; 4] = ["plain", "complete", "token", "narrow"];
/// Sessions that come again; with all that are known by how they began fewer than are remembered,
/// so that nothing is forgotten on purpose.
const SESSIONS: u64 = 48;
/// Ways in which a conversation begins that has no name.
const BEGINNINGS: u64 = 6;

impl Plan {
    /// A call of the soak.
    pub(crate) fn drawn(seed: u64, number: u64) -> Self {
        let mut dice = Dice::of(seed, &[1, number]);
        let tongue = *dice.pick(&Tongue::ALL);
        let queue = format!("{}-{}", dice.pick(&QUEUES), tongue.name());
        let streamed = dice.in_hundred(70);
        let tools = dice.in_hundred(40);
        // A whole answer has the deadline alone; a client that would wait for minutes tells nothing.
        let deadline_ms = if !streamed {
            Some(dice.between(6_000, 12_000))
        } else {
            dice.in_hundred(5).then(|| dice.between(1_000, 9_000))
        };
        let session = session(&mut dice, tongue);
        let mut messages = messages(&mut dice, tongue, number, tools);
        if let (None, Some(all)) = (&session, messages.as_array_mut()) {
            let first = format!("Conversation {} of many.", dice.below(BEGINNINGS));
            all.insert(0, json!({ "role": "assistant", "content": words(&mut dice, 20) }));
            all.insert(0, json!({ "role": "user", "content": first }));
        }
        Self {
            number,
            tongue,
            queue,
            streamed,
            session,
            agent: if dice.in_hundred(30) { Agent::Coder } else { Agent::Library },
            wants_usage: dice.in_hundred(50),
            deadline_ms,
            tools,
            manner: manner(&mut dice),
            patience: Duration::from_secs(60),
            enough: Duration::from_secs(15),
            messages,
        }
    }

    /// A streamed call that reads all of its answer, for a queue and a session of its own.
    pub(crate) fn plain(number: u64, tongue: Tongue, queue: &str, session: &str) -> Self {
        Self {
            number,
            tongue,
            queue: queue.to_owned(),
            streamed: true,
            session: Some(("x-ekiden-session", session.to_owned())),
            agent: Agent::Library,
            wants_usage: true,
            deadline_ms: None,
            tools: false,
            manner: Manner::Reads,
            patience: Duration::from_secs(120),
            enough: Duration::from_secs(3_600),
            messages: json!([{ "role": "user", "content": tag(number) }]),
        }
    }

    /// The request as it goes out.
    pub(crate) fn request(&self, host: &str) -> Vec<u8> {
        let body = self.body().to_string();
        let mut head = format!("POST {} HTTP/1.1\r\nhost: {host}\r\n", self.tongue.path());
        let agent = match (self.agent, self.tongue) {
            (Agent::Library, Tongue::Chat) => "OpenAI/Python 3.57.0",
            (Agent::Library, Tongue::Messages) => "Anthropic/JS 1.14.0",
            (Agent::Coder, Tongue::Chat) => "opencode/1.18.33",
            (Agent::Coder, Tongue::Messages) => "claude-cli/2.1.332 (external, cli)",
        };
        let length = body.len().to_string();
        let mut fields = vec![
            ("user-agent", agent.to_owned()),
            ("authorization", format!("Bearer {CLIENT_KEY}")),
            ("content-type", "application/json".to_owned()),
            ("content-length", length),
        ];
        if self.tongue == Tongue::Messages {
            fields.push(("anthropic-version", "2023-06-01".to_owned()));
        }
        fields.extend(self.session.clone());
        fields.extend(self.deadline_ms.map(|ms| ("x-ekiden-deadline-ms", ms.to_string())));
        for (name, value) in fields {
            head += &format!("{name}: {value}\r\n");
        }
        head += "\r\n";
        let mut bytes = head.into_bytes();
        bytes.extend_from_slice(body.as_bytes());
        bytes
    }

    fn body(&self) -> Value {
        let mut body = json!({
            "model": self.queue, "stream": self.streamed, "max_tokens": 512,
            "messages": self.messages,
        });
        if self.tools {
            body["tools"] = match self.tongue {
                Tongue::Chat => json!([{ "type": "function", "function": {
                    "name": TOOL, "parameters": { "type": "object" },
                } }]),
                Tongue::Messages => {
                    json!([{ "name": TOOL, "input_schema": { "type": "object" } }])
                }
            };
        }
        if self.tongue == Tongue::Chat && self.streamed && self.wants_usage {
            body["stream_options"] = json!({ "include_usage": true });
        }
        body
    }
}

/// The only tool.
pub(crate) const TOOL: &str = "read_file";
/// What clients show; no upstream may see it.
pub(crate) const CLIENT_KEY: &str = "sk-soak-client-0123456789";

/// How a call is known again at the upstream.
pub(crate) fn tag(number: u64) -> String {
    format!("soak#{number};")
}

/// The number of the call that a request belongs to.
pub(crate) fn call_of(body: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(body).ok()?;
    let rest = text.rsplit_once("soak#")?.1;
    rest.split_once(';')?.0.parse().ok()
}

fn session(dice: &mut Dice, tongue: Tongue) -> Option<(&'static str, String)> {
    let own = format!("s{}", dice.below(SESSIONS));
    let name = match (dice.below(6), tongue) {
        (0 | 1, _) => return None,
        (2, Tongue::Messages) => "x-claude-code-session-id",
        (2, Tongue::Chat) => "session-id",
        (3, _) => "x-session-id",
        (_, _) => "x-ekiden-session",
    };
    Some((name, own))
}

fn manner(dice: &mut Dice) -> Manner {
    match dice.below(100) {
        0..=11 => Manner::Leaves(Duration::from_millis(dice.between(1, 2_500))),
        12..=19 => Manner::LeavesAfter(dice.between(1, 4_000) as usize),
        20..=26 => {
            let span = Duration::from_millis(dice.between(200, 4_000));
            Manner::Stalls(dice.between(0, 3_000) as usize, span)
        }
        _ => Manner::Reads,
    }
}

fn messages(dice: &mut Dice, tongue: Tongue, number: u64, tools: bool) -> Value {
    let mut all = Vec::new();
    for turn in 0..dice.below(4) {
        all.push(
            json!({ "role": "user", "content": format!("Question {turn}: {}", words(dice, 30)) }),
        );
        if tools && dice.in_hundred(50) {
            tool_turn(&mut all, tongue, turn);
        }
        all.push(json!({ "role": "assistant", "content": words(dice, 40) }));
    }
    let long = match dice.below(50) {
        0 => 300_000,
        1..=4 => 20_000,
        _ => 0,
    };
    let last = format!("{} {}{}", words(dice, 60), "x".repeat(long), tag(number));
    all.push(json!({ "role": "user", "content": last }));
    all.into()
}

/// A tool that was called and has answered.
fn tool_turn(all: &mut Vec<Value>, tongue: Tongue, turn: u64) {
    let id = format!("call_{turn}");
    match tongue {
        Tongue::Chat => {
            all.push(json!({ "role": "assistant", "content": null, "tool_calls": [{
                "id": id, "type": "function",
                "function": { "name": TOOL, "arguments": "{\"path\":\"a.txt\"}" },
            }] }));
            all.push(json!({ "role": "tool", "tool_call_id": id, "content": "It says nothing." }));
        }
        Tongue::Messages => {
            all.push(json!({ "role": "assistant", "content": [{
                "type": "tool_use", "id": id, "name": TOOL, "input": { "path": "a.txt" },
            }] }));
            all.push(json!({ "role": "user", "content": [{
                "type": "tool_result", "tool_use_id": id, "content": "It says nothing.",
            }] }));
        }
    }
}

const WORDS: [&str; 16] = [
    "relay",
    "sash",
    "runner",
    "路",
    "hands",
    "on",
    "the",
    "駅伝",
    "\"quoted\"",
    "back\\slash",
    "naïve",
    "🏃",
    "tab\tbed",
    "line\nfeed",
    "and",
    "so",
];

/// At most so many words, at least one.
pub(crate) fn words(dice: &mut Dice, most: u64) -> String {
    let count = dice.between(1, most);
    let all: Vec<&str> = (0..count).map(|_| *dice.pick(&WORDS)).collect();
    all.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_follows_from_seed_and_number() {
        let shown = |seed, number| format!("{:?}", Plan::drawn(seed, number));
        assert_eq!(shown(3, 4), shown(3, 4));
        assert_ne!(shown(3, 4), shown(3, 5));
        assert_ne!(shown(3, 4), shown(4, 4));
    }

    #[test]
    fn a_call_is_known_again_by_its_body() {
        for number in [0, 17, 4_000_000] {
            let plan = Plan::drawn(1, number);
            assert_eq!(call_of(plan.body().to_string().as_bytes()), Some(number));
        }
        assert_eq!(call_of(b"{}"), None);
    }
}
