//! Classifying whatever an upstream says.

use ekiden_classify::{
    Context, Evidence, NamedWait, OurAbort, Peer, TransportKind, Verdict, classify, rules,
};
use ekiden_engine::class::Class;

use crate::input::Input;

/// The longest wait that is believed, in milliseconds.
const LONGEST_MS: u64 = 35 * 86_400_000;
const NOW_MS: u64 = 1_770_000_000_000;

/// One byte chooses the evidence, one the status, one the length of a header's value; the rest is the text.
pub fn classifying(data: &[u8]) {
    let mut input = Input::new(data);
    let (way, status) = (input.byte(), input.pick(&STATUSES));
    let header_len = usize::from(input.byte());
    let text = String::from_utf8_lossy(input.rest());
    let mut cut = header_len.min(text.len());
    while !text.is_char_boundary(cut) {
        cut -= 1;
    }
    let (value, body) = text.split_at(cut);
    let headers = [
        ("retry-after", value),
        ("x-ratelimit-reset-requests", value),
        ("date", "Mon, 12 May 2025 11:11:55 GMT"),
        ("x-amzn-errortype", value),
    ];
    let headers = &headers[usize::from(way) / 8 % 5..];
    let evidence = match way % 4 {
        0 => Evidence::Http { status, headers, body },
        1 => Evidence::StreamEvent { headers, data: body },
        2 => Evidence::Transport {
            kind: KINDS[header_len % KINDS.len()],
            peer: Peer::Remote,
            text: body,
        },
        _ => Evidence::Host { code: value, message: body, status },
    };
    let context = Context { now_wall_ms: Some(NOW_MS), ..Context::default() };
    let verdict = classify(&evidence, &context);
    assert_eq!(verdict, classify(&evidence, &context), "the same evidence, another verdict");
    let may_be_whole = matches!(evidence, Evidence::Http { status: Some(200..=299) | None, .. });
    assert!(verdict.is_some() || may_be_whole, "a failure without a verdict");
    if let Some(verdict) = &verdict {
        sane(verdict, &evidence);
    }
    let stopped = Context { our_abort: OurAbort::Stopped, ..context };
    let class = classify(&evidence, &stopped).map(|verdict| verdict.failure.class);
    assert_eq!(class, Some(Class::Aborted), "our own abort is judged by its text");
}

const STATUSES: [Option<u16>; 16] = [
    None,
    Some(200),
    Some(400),
    Some(401),
    Some(402),
    Some(403),
    Some(404),
    Some(408),
    Some(409),
    Some(413),
    Some(422),
    Some(429),
    Some(500),
    Some(503),
    Some(529),
    Some(999),
];

const KINDS: [Option<TransportKind>; 9] = [
    None,
    Some(TransportKind::Refused),
    Some(TransportKind::Dns),
    Some(TransportKind::Unreachable),
    Some(TransportKind::Tls),
    Some(TransportKind::Reset),
    Some(TransportKind::Timeout),
    Some(TransportKind::Eof),
    Some(TransportKind::MalformedChunk),
];

fn sane(verdict: &Verdict, evidence: &Evidence<'_>) {
    let class = verdict.failure.class;
    assert!(class != Class::Aborted, "a text made us believe that we stopped it ourselves");
    if let Evidence::Http { status: Some(_), .. } | Evidence::StreamEvent { .. } = evidence {
        assert!(class != Class::LocalNetwork, "an answer came, and our own network is blamed");
    }
    for wait in [&verdict.wait, &verdict.until] {
        let span = wait.span_ms(Some(NOW_MS));
        assert!(span.is_none_or(|span| span <= LONGEST_MS), "a wait that nobody believes");
        assert_eq!(wait.span_ms(None).is_some(), matches!(wait, NamedWait::Ms(_)));
    }
    let known = rules().any(|rule| rule.id == verdict.rule);
    assert!(known || OUTSIDE.contains(&verdict.rule), "{} is no rule", verdict.rule);
    if let Some(message) = &verdict.message {
        assert!(!message.trim().is_empty(), "a message that says nothing");
    }
}

/// What decides without standing in the table.
const OUTSIDE: [&str; 15] = [
    "answer-arguments-cut",
    "answer-cut",
    "answer-empty",
    "answer-failed",
    "answer-filtered",
    "answer-length",
    "answer-malformed-call",
    "answer-no-resource",
    "connection",
    "local-proxy-down",
    "local-server-down",
    "own-abort",
    "own-deadline",
    "transport-kind",
    "unknown",
];
