//! What a call without a whole answer is told (R15, R45).
//!
//! It refuses to show a candidate's own refusal of our key, or a name that is not the user's: of
//! each candidate the route, the class and the time stand in the message, nothing of its text.

use std::borrow::Cow;

use bytes::Bytes;
use ekiden_classify::Sizes;
use ekiden_config::{Language, say};
use ekiden_dialect::Dialect;
use ekiden_dialect::write::{
    Fault, Reply, StreamFault, context_overflow, do_not_retry, error, error_event, retry_later,
    stopped,
};
use ekiden_engine::trace::Record;
use ekiden_engine::{AttemptId, Class, LastWord, Reason, Trace};
use ekiden_store::Told;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName, HeaderValue};

use crate::front::Asker;
use crate::relay::notes::{Heard, Note, Notes};
use crate::upstream::error_headers;

/// The longest `Retry-After`, in seconds (R5).
const RETRY_AFTER_MAX_S: u64 = 60;

/// An answer that ends the call.
#[derive(Clone, Debug)]
pub(crate) struct Last {
    /// As a whole answer.
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// As an event of a stream that has begun.
    pub(crate) event: Bytes,
    pub(crate) told: Told,
}

/// Puts a last word into the asker's dialect. What is said of a call that was tried is English.
pub(crate) fn last(asker: Asker, word: LastWord, notes: &Notes, trace: &Trace) -> Last {
    let dialect = asker.dialect;
    let list = || candidates(dialect, notes, trace);
    match word {
        LastWord::AsItCame(attempt) => {
            match notes.get(attempt).and_then(|note| note.error.as_ref()) {
                Some(heard) => as_it_came(dialect, heard, notes),
                None => without_an_answer(dialect, notes, attempt, &list()),
            }
        }
        LastWord::Overflow(attempt) => {
            let sizes = notes.get(attempt).map(|note| note.sizes).unwrap_or_default();
            let (tokens, window) = overflow_sizes(sizes, notes, attempt);
            let fault = StreamFault::ContextOverflow { tokens, window };
            let event = error_event(dialect, fault, "", None);
            ours(&context_overflow(dialect, tokens, window), event, Told::Overflow)
        }
        LastWord::ComeBack(ms) => {
            let seconds = ms.div_ceil(1_000).clamp(1, RETRY_AFTER_MAX_S);
            let says = format!("{} Try again in {seconds} s.", intro(notes));
            let message = with_list(&says, &list());
            let event = error_event(dialect, StreamFault::Overloaded, &message, None);
            ours(&retry_later(dialect, &message, seconds), event, Told::ComeBack(seconds))
        }
        LastWord::DoNotRetry => {
            let says = format!("{} Nothing comes back by itself today.", intro(notes));
            given_up(dialect, &with_list(&says, &list()), Told::DoNotRetry)
        }
        LastWord::EmptyQueue => given_up(dialect, &empty_queue(asker, notes), Told::EmptyQueue),
        LastWord::LocalNetwork => {
            let message = format!(
                "This machine's own network is in trouble, so that no candidate of {} can be \
                 reached. No candidate is blamed for it.",
                queue_name(notes)
            );
            let event = error_event(dialect, StreamFault::Overloaded, &message, None);
            ours(&error(dialect, Fault::Unavailable, &message, None), event, Told::LocalNetwork)
        }
        LastWord::Deadline => {
            let says = "The call's own time was up before a candidate had answered.";
            broken_off(dialect, Fault::Timeout, &with_list(says, &list()), Told::Deadline)
        }
        LastWord::Stopped => {
            let message = with_list("Somebody stopped this call.", &list());
            let event = error_event(dialect, StreamFault::Stopped, &message, None);
            ours(&stopped(dialect, &message), event, Told::Stopped)
        }
        LastWord::Broken(attempt, class) => {
            let route = notes.get(attempt).map(|note| notes.route(note.candidate));
            // pi asks again where it reads "ended without" (0.73.1), and gives up else.
            let message = format!(
                "The answer broke off: {} ({}). It ended without being whole.",
                route.as_deref().unwrap_or("?"),
                class.name()
            );
            broken_off(dialect, Fault::BadGateway, &message, Told::Broken(class))
        }
    }
}

/// The one candidate that was to be asked gave no answer at all, not even an error.
fn without_an_answer(dialect: Dialect, notes: &Notes, attempt: AttemptId, list: &str) -> Last {
    let late =
        matches!(notes.get(attempt).and_then(Note::class), Some(Class::Timeout | Class::Stall));
    let fault = if late { Fault::Timeout } else { Fault::BadGateway };
    broken_off(dialect, fault, &with_list(&intro(notes), list), Told::AsItCame)
}

fn broken_off(dialect: Dialect, fault: Fault, message: &str, told: Told) -> Last {
    let event = error_event(dialect, StreamFault::Broken, message, None);
    ours(&error(dialect, fault, message, None), event, told)
}

fn given_up(dialect: Dialect, message: &str, told: Told) -> Last {
    let event = error_event(dialect, StreamFault::Exhausted, message, None);
    ours(&do_not_retry(dialect, message), event, told)
}

/// A reply of our own.
fn ours(reply: &Reply, event: Bytes, told: Told) -> Last {
    let mut headers = HeaderMap::new();
    for (name, value) in &reply.headers {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(HeaderName::from_static(name), value);
        }
    }
    Last { status: reply.status, headers, body: reply.body.clone(), event, told }
}

fn as_it_came(dialect: Dialect, heard: &Heard, notes: &Notes) -> Last {
    let ours = notes.queue.candidates.iter().flat_map(|one| one.provider.keys());
    let (body, masked_headers) = without_keys(heard, &ours.collect::<Vec<_>>());
    // An error inside a 200 has no status of its own.
    let status = if heard.status < 400 { 400 } else { heard.status };
    let name: &[u8] = match dialect {
        Dialect::OpenAiChat => b"",
        Dialect::AnthropicMessages | Dialect::OpenAiResponses => b"event: error\n",
    };
    let mut event = Vec::with_capacity(body.len() + 32);
    event.extend_from_slice(name);
    event.extend_from_slice(b"data: ");
    // Line feeds outside strings are blanks to JSON, and inside strings there are none.
    event.extend(body.iter().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { *byte }));
    event.extend_from_slice(b"\n\n");
    let headers = error_headers(&masked_headers);
    Last { status, headers, body, event: event.into(), told: Told::AsItCame }
}

/// G7: an upstream may repeat the key that it was asked with, and the client is not to learn it. An
/// error that does not stays as it came, byte for byte.
fn without_keys(heard: &Heard, keys: &[Cow<'_, str>]) -> (Bytes, HeaderMap) {
    let mut body = heard.body.clone();
    let mut headers = heard.headers.clone();
    for key in keys {
        if let Some(masked) = without(&body, key.as_bytes()) {
            body = masked.into();
        }
        for (name, value) in &mut headers {
            if name != CONTENT_TYPE
                && let Some(masked) = without(value.as_bytes(), key.as_bytes())
                && let Ok(masked) = HeaderValue::from_bytes(&masked)
            {
                *value = masked;
            }
        }
    }
    (body, headers)
}

/// The text with a mask in place of the key; `None`: it is not in it.
fn without(text: &[u8], key: &[u8]) -> Option<Vec<u8>> {
    let mut found = memchr::memmem::find_iter(text, key).peekable();
    found.peek()?;
    let mut out = Vec::with_capacity(text.len());
    let mut from = 0;
    for at in found {
        out.extend_from_slice(&text[from..at]);
        out.extend_from_slice(b"***");
        from = at + key.len();
    }
    out.extend_from_slice(&text[from..]);
    Some(out)
}

/// What the error names; else our estimate and the window that is known, as long as the two say
/// together what is the case.
fn overflow_sizes(sizes: Sizes, notes: &Notes, attempt: AttemptId) -> (Option<u64>, Option<u64>) {
    let candidate = notes.get(attempt).map(|note| note.candidate);
    let known = candidate.and_then(|index| {
        let queue = notes.queue.engine(notes.queue.candidates.get(index)?.provider.dialect);
        queue.candidates.get(index)?.window.map(u64::from)
    });
    match (sizes.prompt_tokens, sizes.window_tokens.or(known)) {
        (Some(tokens), window) => (Some(tokens), window),
        // Clients size their compaction by these numbers: an estimate below the window would say
        // that there is nothing to do.
        (None, Some(window)) => (Some(notes.input_tokens.max(window + 1)), Some(window)),
        (None, None) => (None, None),
    }
}

fn queue_name(notes: &Notes) -> String {
    format!("`{}`", notes.queue.id)
}

fn intro(notes: &Notes) -> String {
    format!("No candidate of {} can answer now.", queue_name(notes))
}

/// R1. Nobody was asked, so that it is a refusal of ours and in the client's language.
fn empty_queue(asker: Asker, notes: &Notes) -> String {
    let Asker { dialect, language } = asker;
    let (queue, id) = (queue_name(notes), &notes.queue.id);
    if notes.queue.candidates.is_empty() {
        return say!(
            language,
            "The queue {queue} has no candidates. Add some under `[queues.{id}]`, `candidates = \
             [\"provider/model\"]`, in the configuration file.",
            "队列 {queue} 没有候选。请在配置文件的 `[queues.{id}]` 下添加：`candidates = \
             [\"provider/model\"]`。",
            queue,
            id,
        );
    }
    let lacks: Vec<String> = notes
        .queue
        .candidates
        .iter()
        .map(|candidate| match candidate.lack(dialect) {
            Some(lack) => format!("{}: {}", candidate.route, lack.say(language)),
            None => candidate.route.to_string(),
        })
        .collect();
    say!(
        language,
        "No candidate of {queue} can be asked: {lacks}.",
        "队列 {queue} 没有可用的候选：{lacks}。",
        queue,
        lacks = lacks.join("; "),
    )
}

/// What is said, and of which candidates, if there is anything to say of any.
fn with_list(says: &str, list: &str) -> String {
    if list.is_empty() { says.to_owned() } else { format!("{says} {list}") }
}

/// Each candidate with why it did not answer, in the order of the queue.
fn candidates(dialect: Dialect, notes: &Notes, trace: &Trace) -> String {
    let passed = trace.records.iter().rev().find_map(|record| match record {
        Record::Admitted { passed, .. } => Some(passed.as_slice()),
        Record::Fed { .. } => None,
    });
    let mut parts = Vec::new();
    for (index, candidate) in notes.queue.candidates.iter().enumerate() {
        let tried = notes.all().iter().rev().find(|note| note.candidate == index);
        let reason = passed
            .unwrap_or_default()
            .iter()
            .find(|passed| passed.candidate as usize == index)
            .map(|passed| passed.reason);
        let why = match (reason, tried.and_then(Note::class)) {
            (Some(Reason::Missing), _) => {
                let lack = candidate.lack(dialect);
                lack.map_or_else(|| "missing".to_owned(), |lack| lack.say(Language::English))
            }
            (Some(Reason::Cooling(ms)), Some(class)) if class != Class::Aborted => {
                format!("{}, back in {} s", class.name(), ms.div_ceil(1_000))
            }
            // Another call has seen why.
            (Some(cooling @ Reason::Cooling(_)), _) => passed_over(cooling),
            // Nothing is said of whom its client or a person cut short.
            (_, Some(Class::Aborted)) => continue,
            (_, Some(class)) => class.name().to_owned(),
            (Some(reason), None) => passed_over(reason),
            (None, None) => continue,
        };
        parts.push(format!("{}: {why}", candidate.route));
    }
    if parts.is_empty() { String::new() } else { format!("({})", parts.join("; ")) }
}

fn passed_over(reason: Reason) -> String {
    match reason {
        Reason::Tried => "tried".to_owned(),
        Reason::Missing => "missing".to_owned(),
        Reason::Quarantined(class) => format!("quarantined today, {}", class.name()),
        Reason::ParoleRunning => "quarantined, another call is trying it".to_owned(),
        Reason::Cooling(ms) => format!("cooling, back in {} s", ms.div_ceil(1_000)),
        Reason::StandIn => "waits for a run of this session".to_owned(),
        Reason::Probing => "another call is trying it".to_owned(),
        Reason::Full => "all seats taken".to_owned(),
        Reason::Resting(ms) => format!("resting, back in {} s", ms.div_ceil(1_000)),
        Reason::WindowTooSmall => "its window is too small".to_owned(),
    }
}
