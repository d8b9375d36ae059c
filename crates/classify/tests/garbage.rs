//! Whatever an upstream sends: no panic, and nothing that takes longer than the text is long.
//!
//! A megabyte of any of these would not end within hours if a step were quadratic, so that ending is the proof.
#![expect(clippy::unwrap_used, reason = "a test may fail")]

use ekiden_classify::{Context, Evidence, Peer, Verdict, classify};
use ekiden_engine::class::Class;

const MEGABYTE: usize = 1 << 20;

/// A generator with a name and a seed: xorshift64*.
struct Luck(u64);

impl Luck {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound as u64).unwrap()
    }
}

fn all_ways(text: &str) {
    let context = Context { now_wall_ms: Some(1_770_000_000_000), ..Context::default() };
    let headers = [
        ("retry-after", text),
        ("x-ratelimit-reset", text),
        ("date", text),
        ("x-amzn-errortype", text),
    ];
    for status in [None, Some(200), Some(429), Some(500)] {
        let _: Option<Verdict> =
            classify(&Evidence::Http { status, headers: &headers, body: text }, &context);
    }
    let _: Option<Verdict> =
        classify(&Evidence::StreamEvent { headers: &[], data: text }, &context);
    let _: Option<Verdict> =
        classify(&Evidence::Transport { kind: None, peer: Peer::Remote, text }, &context);
    let _: Option<Verdict> =
        classify(&Evidence::Host { code: "UNKNOWN", message: text, status: None }, &context);
}

#[test]
fn s3_random_bytes_never_panic() {
    let mut luck = Luck(0x5EED);
    for _ in 0..200 {
        let len = luck.below(200);
        let bytes: Vec<u8> = (0..len).map(|_| u8::try_from(luck.below(256)).unwrap()).collect();
        all_ways(&String::from_utf8_lossy(&bytes));
    }
}

#[test]
fn s3_random_pieces_of_real_bodies_never_panic() {
    let corpus = include_str!("corpus.jsonl");
    let pieces: Vec<&str> =
        corpus.split_inclusive(['{', '}', '"', '\\', ':', ' ', ',', '秒', '后']).collect();
    let mut luck = Luck(7);
    for _ in 0..200 {
        let count = luck.below(40);
        let text: String = (0..count).map(|_| pieces[luck.below(pieces.len())]).collect();
        all_ways(&text);
    }
}

#[test]
fn s3_a_body_cut_anywhere_never_panics() {
    for line in include_str!("corpus.jsonl").lines().step_by(16) {
        let body: serde_json::Value = serde_json::from_str(line).unwrap();
        let body = body["body"].as_str().unwrap();
        for (at, _) in body.char_indices().step_by(5) {
            all_ways(&body[..at]);
            all_ways(&body[at..]);
        }
    }
}

#[test]
fn s3_deep_nesting_is_survived() {
    for (open, close) in
        [("[", "]"), ("{\"error\":", "}"), ("{\"a\":[", "]}"), ("{'message':", "}")]
    {
        all_ways(&open.repeat(10_000));
        all_ways(&format!("{}1{}", open.repeat(10_000), close.repeat(10_000)));
    }
    let mut nested = String::from("rate limit");
    for _ in 0..12 {
        nested = serde_json::json!({"error": {"message": nested}}).to_string();
    }
    all_ways(&nested);
}

/// By one way into each reader; the others lead to the same ones.
fn a_megabyte_of(pieces: &[&str]) {
    let context = Context { now_wall_ms: Some(1_770_000_000_000), ..Context::default() };
    for piece in pieces {
        let text = piece.repeat(MEGABYTE / piece.len());
        let headers = [("retry-after", text.as_str()), ("x-ratelimit-reset", &text)];
        for evidence in [
            Evidence::Http { status: None, headers: &headers, body: &text },
            Evidence::Http { status: Some(429), headers: &headers, body: &text },
            Evidence::StreamEvent { headers: &[], data: &text },
            Evidence::Transport { kind: None, peer: Peer::Remote, text: &text },
        ] {
            let _: Option<Verdict> = classify(&evidence, &context);
        }
    }
}

#[test]
fn s3_a_megabyte_of_words_takes_linear_time() {
    a_megabyte_of(&[
        "try again in ",
        "retry after 1",
        "1",
        "9.",
        "(1008)",
        "<script",
        "<",
        "后重试",
        "1秒",
        "status 500 ",
        "prompt is ",
        "resets ",
        "a",
        " ",
    ]);
}

#[test]
fn s3_a_megabyte_of_brackets_takes_linear_time() {
    a_megabyte_of(&[
        "{",
        "[",
        "\"",
        "\\",
        "{\"",
        "{\"a\":",
        "[1234]",
        "data: {\n",
        "data: {}\n\n",
        "event: error\n",
        "{\\\"",
        "\n",
        "{\"error\":{\"message\":\"x\"}}",
    ]);
    let long = format!(
        "{{\"error\":{{\"message\":\"{}\",\"code\":\"context_length_exceeded\"}}}}",
        "x".repeat(MEGABYTE)
    );
    let evidence = Evidence::Http { status: Some(400), headers: &[], body: &long };
    let verdict = classify(&evidence, &Context::default()).unwrap();
    assert_eq!(verdict.failure.class, Class::ContextOverflow);
}

/// Every pattern finds all its letters in these, so that each is searched for to the end.
#[test]
fn s3_texts_of_every_letter_take_linear_time() {
    let letters = "abcdefghijklmnopqrstuvwxyz0123456789_-'\"`:/|.,()[] ";
    for piece in ["prompt is ", "exceed", "model "] {
        let body = format!("{}{letters}", piece.repeat(MEGABYTE / piece.len() / 64));
        all_ways(&format!("{{\"error\":{{\"message\":{body:?}}}}}"));
    }
}
