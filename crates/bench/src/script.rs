//! What the upstream says, and what the driver asks. Sizes are those that other gateways were
//! measured with: a request of 0.6 KB, an answer of 0.94 KB, a chunk of 0.25 KB. It computes
//! nothing while it is being measured: every answer is bytes that were made before.

/// Chunks of text in a burst, and in a stream that drips.
pub(crate) const CHUNKS: usize = 200;
/// Chunks of text in a short stream.
pub(crate) const SHORT_CHUNKS: usize = 10;
/// The pause between two chunks that drip, in milliseconds.
pub(crate) const DRIP_MS: u64 = 10;
/// Events around the chunks of text: the role, the finish, `[DONE]`.
const FRAME_EVENTS: usize = 3;

const REQUEST_BYTES: usize = 600;
const ANSWER_BYTES: usize = 940;
const CHUNK_BYTES: usize = 250;

/// One way in which the upstream answers; the first part of the path names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Script {
    /// A whole JSON answer.
    Plain,
    /// A stream of a few chunks, all at once.
    Short,
    /// A stream of 200 chunks, all at once.
    Burst,
    /// A stream of 200 chunks, one each 10 ms.
    Drip,
    /// A stream that says one chunk and then stays open.
    Hold,
}

impl Script {
    pub(crate) const ALL: [Self; 5] =
        [Self::Plain, Self::Short, Self::Burst, Self::Drip, Self::Hold];

    /// As it stands in paths, and as models and queues are called.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Short => "short",
            Self::Burst => "burst",
            Self::Drip => "drip",
            Self::Hold => "hold",
        }
    }

    /// The script of a request that starts like this.
    pub(crate) fn of(request: &[u8]) -> Option<Self> {
        let path = request.strip_prefix(b"POST /")?;
        Self::ALL.into_iter().find(|script| path.starts_with(script.name().as_bytes()))
    }

    /// Events that a client sees of a whole stream.
    pub(crate) const fn events(self) -> usize {
        match self {
            Self::Plain | Self::Hold => 0,
            Self::Short => SHORT_CHUNKS + FRAME_EVENTS,
            Self::Burst | Self::Drip => CHUNKS + FRAME_EVENTS,
        }
    }
}

/// Every answer, ready to be written.
pub(crate) struct Answers {
    pub(crate) plain: Vec<u8>,
    pub(crate) failure: Vec<u8>,
    pub(crate) short: Variants,
    pub(crate) burst: Variants,
    /// The head, the role and the first chunk of text.
    pub(crate) opening: Vec<u8>,
    /// One more chunk of text.
    pub(crate) chunk: Vec<u8>,
    /// What ends a stream that drips.
    pub(crate) ending: Variants,
}

/// Bytes for a client that asked for its usage, and for one that did not.
pub(crate) struct Variants {
    bare: Vec<u8>,
    with_usage: Vec<u8>,
}

impl Variants {
    pub(crate) fn whole(&self, usage: bool) -> &[u8] {
        if usage { &self.with_usage } else { &self.bare }
    }
}

impl Answers {
    pub(crate) fn new() -> Self {
        let opening = [STREAM_HEAD.as_bytes(), &frame(&role()), &frame(&text_chunk())].concat();
        let chunk = frame(&text_chunk());
        let ending = Variants { bare: ending(""), with_usage: ending(&usage()) };
        let stream = |chunks: usize| {
            let start = [opening.as_slice(), &chunk.repeat(chunks - 1)].concat();
            Variants {
                bare: [start.as_slice(), &ending.bare].concat(),
                with_usage: [start.as_slice(), &ending.with_usage].concat(),
            }
        };
        Self {
            plain: answer("200 OK", &whole()),
            failure: answer("500 Internal Server Error", FAILURE),
            short: stream(SHORT_CHUNKS),
            burst: stream(CHUNKS),
            opening,
            chunk,
            ending,
        }
    }
}

const FAILURE: &str = r#"{"error":{"message":"The server had an error while processing your request.","type":"server_error","param":null,"code":null}}"#;
const STREAM_HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n\
    cache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n";
const PROSE: &str = "The runner takes the sash, looks ahead to the next bend of the coast road, and sets out at an even pace. ";

fn answer(status: &str, body: &str) -> Vec<u8> {
    let len = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {len}\r\n\r\n"
    );
    (head + body).into_bytes()
}

fn prose(len: usize) -> String {
    PROSE.chars().cycle().take(len).collect()
}

/// Text that fills the rest of `len` bytes around it.
fn filled(before: &str, after: &str, len: usize) -> String {
    let rest = len.saturating_sub(before.len() + after.len());
    format!("{before}{}{after}", prose(rest))
}

fn whole() -> String {
    filled(
        r#"{"id":"chatcmpl-bench","object":"chat.completion","created":1700000000,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":""#,
        r#"","refusal":null},"logprobs":null,"finish_reason":"stop"}],"usage":{"prompt_tokens":110,"completion_tokens":130,"total_tokens":240},"system_fingerprint":null}"#,
        ANSWER_BYTES,
    )
}

const CHUNK_START: &str = r#"data: {"id":"chatcmpl-bench","object":"chat.completion.chunk","created":1700000000,"model":"m","choices":["#;

pub(crate) fn text_chunk() -> String {
    let before = format!(r#"{CHUNK_START}{{"index":0,"delta":{{"content":""#);
    filled(&before, "\"},\"finish_reason\":null}]}\n\n", CHUNK_BYTES)
}

fn role() -> String {
    format!(
        "{CHUNK_START}{{\"index\":0,\"delta\":{{\"role\":\"assistant\",\"content\":\"\"}},\"finish_reason\":null}}]}}\n\n"
    )
}

fn finish() -> String {
    format!("{CHUNK_START}{{\"index\":0,\"delta\":{{}},\"finish_reason\":\"stop\"}}]}}\n\n")
}

fn usage() -> String {
    format!(
        "{CHUNK_START}],\"usage\":{{\"prompt_tokens\":110,\"completion_tokens\":2000,\"total_tokens\":2110}}}}\n\n"
    )
}

fn ending(usage: &str) -> Vec<u8> {
    let mut bytes = frame(&finish());
    if !usage.is_empty() {
        bytes.extend(frame(usage));
    }
    bytes.extend(frame("data: [DONE]\n\n"));
    bytes.extend(b"0\r\n\r\n");
    bytes
}

/// One chunk of the transfer encoding.
fn frame(event: &str) -> Vec<u8> {
    format!("{:x}\r\n{event}\r\n", event.len()).into_bytes()
}

/// Where the session's number stands in a request.
const SESSION: &str = "bench-00000000";
pub(crate) const SESSION_DIGITS: usize = 8;

/// A request of the driver, and where its session's number stands.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) bytes: Vec<u8>,
    pub(crate) session_at: usize,
}

impl Request {
    /// Through a gateway the model says what is wanted, everywhere else the path does.
    pub(crate) fn new(path: &str, model: &str, script: Script) -> Self {
        let body = body(model, script);
        let mut text = format!(
            "POST {path}/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\nuser-agent: bench\r\n\
             authorization: Bearer bench\r\ncontent-type: application/json\r\naccept: */*\r\n\
             x-ekiden-session: "
        );
        let session_at = text.len() + SESSION.len() - SESSION_DIGITS;
        text += &format!("{SESSION}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        Self { bytes: text.into_bytes(), session_at }
    }
}

/// A conversation's body.
pub(crate) fn body(model: &str, script: Script) -> String {
    let stream = match script {
        Script::Plain => "",
        Script::Short | Script::Burst | Script::Drip | Script::Hold => r#""stream":true,"#,
    };
    let before = format!(
        r#"{{"model":"{model}",{stream}"temperature":0.2,"messages":[{{"role":"system","content":"You answer in one paragraph."}},{{"role":"user","content":""#
    );
    filled(&before, r#""}]}"#, REQUEST_BYTES)
}

/// The answer of a candidate that fails, as text.
pub(crate) const fn failure_body() -> &'static str {
    FAILURE
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Body, head};

    fn payload(answer: &[u8]) -> Vec<u8> {
        let head = head(answer).unwrap();
        let mut body = Body::new(head.framing);
        let mut all = Vec::new();
        let used = body.read(&answer[head.len..], |part| all.extend_from_slice(part));
        assert_eq!((body, used), (Body::Done, answer.len() - head.len));
        all
    }

    #[test]
    fn sizes_are_those_that_others_were_measured_with() {
        let answers = Answers::new();
        assert_eq!(payload(&answers.plain).len(), ANSWER_BYTES);
        assert_eq!(text_chunk().len(), CHUNK_BYTES);
        assert_eq!(body("plain", Script::Burst).len(), REQUEST_BYTES);
    }

    #[test]
    fn every_event_of_a_stream_is_json_and_they_are_as_many_as_promised() {
        let answers = Answers::new();
        for (stream, script) in [(&answers.short, Script::Short), (&answers.burst, Script::Burst)] {
            for (bytes, more) in [(&stream.bare, 0), (&stream.with_usage, 1)] {
                let text = String::from_utf8(payload(bytes)).unwrap();
                let events: Vec<&str> = text.split_terminator("\n\n").collect();
                assert_eq!(events.len(), script.events() + more);
                assert_eq!(*events.last().unwrap(), "data: [DONE]");
                for event in &events[..events.len() - 1] {
                    let data = event.strip_prefix("data: ").unwrap();
                    serde_json::from_str::<serde_json::Value>(data).unwrap();
                }
            }
        }
        serde_json::from_slice::<serde_json::Value>(&payload(&answers.plain)).unwrap();
        for script in Script::ALL {
            serde_json::from_str::<serde_json::Value>(&body("m", script)).unwrap();
        }
    }

    #[test]
    fn the_session_s_number_stands_where_it_is_said_to() {
        let request = Request::new("/plain/v1", "plain", Script::Plain);
        let digits = &request.bytes[request.session_at..request.session_at + SESSION_DIGITS];
        assert_eq!(digits, b"00000000");
        assert_eq!(Script::of(&request.bytes), Some(Script::Plain));
    }
}
