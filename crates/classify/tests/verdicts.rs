//! What a verdict holds besides its class: waits in every notation, sizes, reach, origin.
#![expect(clippy::unwrap_used, reason = "a test may fail")]

use ekiden_classify::{
    Civil, CivilDate, Context, Evidence, NamedWait, OurAbort, Peer, Sizes, TransportKind, Verdict,
    Zone, classify, span_until,
};
use ekiden_engine::class::{Class, Origin, Reach, Scope, Wait};

/// 2026-03-05T00:00:00Z.
const NOW: u64 = 1_772_668_800_000;

fn http(status: u16, headers: &[(&str, &str)], body: &str) -> Verdict {
    let context = Context { now_wall_ms: Some(NOW), ..Context::default() };
    classify(&Evidence::Http { status: Some(status), headers, body }, &context).unwrap()
}

fn said(text: &str) -> NamedWait {
    let body = serde_json::json!({"error": {"message": text}}).to_string();
    http(429, &[], &body).wait
}

fn with(headers: &[(&str, &str)]) -> NamedWait {
    http(429, headers, "{\"error\":{\"message\":\"Rate limit reached\"}}").wait
}

#[test]
fn r21_spans_are_read_in_every_notation() {
    let table = [
        ("Please try again in 6ms.", 6),
        ("Please try again in 174ms", 174),
        ("try again in 9.816s", 9_816),
        ("try again in 20s.", 20_000),
        ("Please try again in 1m30s.", 90_000),
        ("try again in 6m0s", 360_000),
        ("Please try again in 9m38.016s.", 578_016),
        ("Your quota will reset after 161h39m41s.", 581_981_000),
        ("please try again after 1 seconds", 1_000),
        ("Please retry after 86400 seconds.", 86_400_000),
        ("Try again in 30 seconds.", 30_000),
        ("try again in 5 days 22 hours 11 minutes", 511_860_000),
        ("Please wait 587 hours 33 minutes before trying again", 2_115_180_000),
        ("try again in 1 day, 2 hours and 3 minutes", 93_780_000),
        ("请求过于频繁，请在 30 秒后重试", 30_000),
        ("请 2 分钟后再试", 120_000),
        ("请等待 1小时30分钟后重试", 5_400_000),
        ("Retry-After: 45", 45_000),
        ("retry_after=12.5", 12_500),
        ("Quota will be replenished in 2.23:05:10.", 255_910_000),
    ];
    for (text, ms) in table {
        assert_eq!(said(text), NamedWait::Ms(ms), "{text}");
    }
}

#[test]
fn r21_words_without_a_number_name_no_wait() {
    for text in [
        "Please try again later.",
        "Please wait a moment before trying again",
        "try again in a few minutes",
        "请稍后重试",
        "Limit 30000, Used 18928, Requested 11159.",
        "Too many requests, retry. 3 attempts were made",
        "The operation took 600 seconds",
    ] {
        assert_eq!(said(text), NamedWait::Unnamed, "{text}");
    }
}

#[test]
fn r21_headers_beat_bodies_and_milliseconds_beat_seconds() {
    assert_eq!(with(&[("Retry-After-Ms", "1500"), ("Retry-After", "2")]), NamedWait::Ms(1_500));
    assert_eq!(with(&[("retry-after", "2.5")]), NamedWait::Ms(2_500));
    assert_eq!(with(&[("retry-after", "0")]), NamedWait::Ms(0));
    let body = "{\"error\":{\"message\":\"Rate limit, try again in 9s\",\"retry_after\":7}}";
    assert_eq!(http(429, &[("retry-after", "3")], body).wait, NamedWait::Ms(3_000));
    assert_eq!(http(429, &[], body).wait, NamedWait::Ms(7_000));
}

#[test]
fn r21_an_http_date_is_measured_by_the_answers_own_clock() {
    let at = "Wed, 21 Oct 2026 07:28:30 GMT";
    let sent = "Wed, 21 Oct 2026 07:28:00 GMT";
    assert_eq!(with(&[("retry-after", at), ("date", sent)]), NamedWait::Ms(30_000));
    assert_eq!(with(&[("retry-after", at)]), NamedWait::At(1_792_567_710_000));
    assert_eq!(with(&[("expires", at)]), NamedWait::Unnamed);
}

#[test]
fn r21_of_several_limits_the_one_that_is_used_up_counts() {
    let limits = [
        ("x-ratelimit-remaining-requests", "0"),
        ("x-ratelimit-reset-requests", "8.64s"),
        ("x-ratelimit-remaining-tokens", "900"),
        ("x-ratelimit-reset-tokens", "6m0s"),
    ];
    assert_eq!(with(&limits), NamedWait::Ms(8_640));
    assert_eq!(with(&[limits[1], limits[3]]), NamedWait::Ms(360_000));
    // The same headers on an answer that failed for another reason say nothing.
    assert_eq!(http(401, &limits, "").wait, NamedWait::Unnamed);
}

#[test]
fn r21_waits_are_never_negative_past_or_endless() {
    assert_eq!(with(&[("retry-after", "-5")]), NamedWait::Ms(60_000));
    assert_eq!(with(&[("retry-after", "99999999")]), NamedWait::Ms(35 * 86_400_000));
    assert_eq!(span_until(NOW - 1, NOW), 60_000);
    assert_eq!(span_until(NOW + 5, NOW), 5);
    assert_eq!(span_until(u64::MAX, NOW), 35 * 86_400_000);
}

#[test]
fn r21_instants_keep_the_zone_they_were_written_in() {
    assert_eq!(said("resets at 2026-05-15T15:00:00Z"), NamedWait::At(1_778_857_200_000));
    assert_eq!(
        said("It will reset at 2026-09-23 23:59:59 +0800 CST."),
        NamedWait::At(1_790_179_199_000)
    );
    assert_eq!(said("您的限额将在 2026-03-09 14:20:11 重置。"), NamedWait::At(1_773_037_211_000));
    assert_eq!(said("usage limit reached|1760000400"), NamedWait::At(1_760_000_400_000));
    let date = Some(CivilDate { year: None, month: 1, day: 18 });
    let zone = Zone::Named("Asia/Calcutta".to_owned());
    assert_eq!(
        said("You've hit your limit · resets Jan 18, 11:30am (Asia/Calcutta)"),
        NamedWait::Civil(Civil { date, hour: 11, minute: 30, second: 0, zone })
    );
    let date = Some(CivilDate { year: Some(2026), month: 7, day: 3 });
    assert_eq!(
        said("try again after July 3, 2026 at 2:45 PM."),
        NamedWait::Civil(Civil { date, hour: 14, minute: 45, second: 0, zone: Zone::Unknown })
    );
    let date = Some(CivilDate { year: Some(2026), month: 1, day: 15 });
    assert_eq!(
        said("You can resume using this model at 1/15/2026, 9:12:44 PM."),
        NamedWait::Civil(Civil { date, hour: 21, minute: 12, second: 44, zone: Zone::Unknown })
    );
    // Only names of zones are zones.
    for text in
        ["limit reached ∙ resets 3pm\n /upgrade now", "limit reached, resets 3pm [/upgrade]"]
    {
        let civil = Civil { date: None, hour: 15, minute: 0, second: 0, zone: Zone::Unknown };
        assert_eq!(said(text), NamedWait::Civil(civil), "{text}");
    }
    assert_eq!(
        said("Vuelve a intentarlo / try again at 10 de jul. de 2026, 11:52"),
        NamedWait::Civil(Civil {
            date: Some(CivilDate { year: Some(2026), month: 7, day: 10 }),
            hour: 11,
            minute: 52,
            second: 0,
            zone: Zone::Unknown
        })
    );
}

#[test]
fn r21_what_a_civil_time_leaves_out_is_filled_in_forwards() {
    let civil =
        |date, hour| Civil { date, hour, minute: 0, second: 0, zone: Zone::Fixed(8 * 3_600) };
    // It is 8 in the morning there.
    assert_eq!(civil(None, 9).resolve_fixed(NOW), Some(NOW + 3_600_000));
    assert_eq!(civil(None, 8).resolve_fixed(NOW), Some(NOW + 86_400_000));
    let leap = Some(CivilDate { year: None, month: 2, day: 29 });
    assert_eq!(civil(leap, 8).resolve_fixed(NOW), Some(1_835_395_200_000));
    let never = Some(CivilDate { year: Some(2026), month: 2, day: 30 });
    assert_eq!(civil(never, 8).resolve_fixed(NOW), None);
    let unknown = Civil { zone: Zone::Unknown, ..civil(None, 9) };
    assert_eq!(unknown.resolve_fixed(NOW), None);
}

#[test]
fn r15_an_overflow_names_its_sizes() {
    let table = [
        ("prompt is too long: 200049 tokens > 200000 maximum", 200_049, 200_000),
        (
            "This model's maximum context length is 131072 tokens. However, you requested 141980 tokens (133980 in the messages, 8000 in the completion).",
            133_980,
            131_072,
        ),
        (
            "This model's maximum context length is 8192 tokens. However, your messages resulted in 9,051 tokens.",
            9_051,
            8_192,
        ),
        (
            "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
            1_200_000,
            1_048_576,
        ),
        (
            "input length and `max_tokens` exceed context limit: 189136 + 20000 > 204648",
            189_136,
            204_648,
        ),
        (
            "This model's maximum prompt length is 131072 but the request contains 140000 tokens.",
            140_000,
            131_072,
        ),
    ];
    for (text, prompt, window) in table {
        let body = serde_json::json!({"error": {"message": text}}).to_string();
        let verdict = http(400, &[], &body);
        assert_eq!(verdict.failure.class, Class::ContextOverflow, "{text}");
        let sizes = Sizes { prompt_tokens: Some(prompt), window_tokens: Some(window) };
        assert_eq!(verdict.sizes, sizes, "{text}");
    }
}

#[test]
fn r17_message_code_and_parameter_are_the_innermost() {
    let body = r#"{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"error\":{\"message\":\"Unsupported parameter: 'x' is not supported with this model.\",\"type\":\"invalid_request_error\",\"param\":\"x\",\"code\":\"unsupported_parameter\"}}"}}}"#;
    let verdict = http(400, &[], body);
    assert_eq!(
        verdict.message.as_deref(),
        Some("Unsupported parameter: 'x' is not supported with this model.")
    );
    assert_eq!(verdict.param.as_deref(), Some("x"));
    assert!(matches!(
        verdict.code.as_deref(),
        Some("unsupported_parameter" | "invalid_request_error")
    ));
    assert_eq!(
        (verdict.failure.class, verdict.failure.reach),
        (Class::InvalidRequest, Reach::ModelSpecific)
    );
}

#[test]
fn r12_our_own_abort_is_no_failure_and_a_deadline_is_a_timeout() {
    let evidence = Evidence::Http { status: Some(429), headers: &[], body: "rate limit" };
    let class = |our_abort| {
        let context = Context { our_abort, ..Context::default() };
        classify(&evidence, &context).unwrap().failure.class
    };
    assert_eq!(class(OurAbort::Stopped), Class::Aborted);
    assert_eq!(class(OurAbort::Deadline), Class::Timeout);
    assert_eq!(class(OurAbort::No), Class::RateLimited);
}

#[test]
fn r43_only_this_machines_own_trouble_is_local() {
    let class = |kind, peer, text| {
        let evidence = Evidence::Transport { kind, peer, text };
        classify(&evidence, &Context::default()).unwrap().failure
    };
    let refused = class(Some(TransportKind::Refused), Peer::Remote, "");
    assert_eq!((refused.class, refused.origin), (Class::TransportRemote, Origin::Upstream));
    let proxy = class(Some(TransportKind::Refused), Peer::Proxy, "");
    assert_eq!(
        (proxy.class, proxy.origin, proxy.scope),
        (Class::LocalNetwork, Origin::Local, Scope::Network)
    );
    assert_eq!(
        class(Some(TransportKind::Refused), Peer::Loopback, "").class,
        Class::TransportRemote
    );
    assert_eq!(class(Some(TransportKind::Dns), Peer::Remote, "").class, Class::LocalNetwork);
    assert_eq!(class(Some(TransportKind::Timeout), Peer::Remote, "").class, Class::Timeout);
    let untrusted =
        class(Some(TransportKind::Tls), Peer::Remote, "invalid peer certificate: UnknownIssuer");
    assert_eq!(untrusted.class, Class::LocalNetwork);
    assert_eq!(
        class(Some(TransportKind::Tls), Peer::Remote, "handshake failure").class,
        Class::TransportRemote
    );
    // An answer was received, so whatever it says about networks is the other side's trouble.
    for text in
        ["Temporary failure in name resolution", "connect ECONNREFUSED 127.0.0.1:80", "网络错误"]
    {
        assert_eq!(http(500, &[], text).failure.class, Class::ServerError, "{text}");
    }
}

#[test]
fn r43_an_event_of_an_answer_never_speaks_of_our_own_network() {
    for text in
        ["getaddrinfo ENOTFOUND api.upstream.internal", "connect ECONNREFUSED 127.0.0.1:8080"]
    {
        let data = serde_json::json!({"error": {"message": text, "type": "proxy_error"}});
        let stream = format!("event: error\ndata: {data}\n\n");
        assert_eq!(http(200, &[], &stream).failure.class, Class::ServerError, "{text}");
        let evidence = Evidence::StreamEvent { headers: &[], data: &data.to_string() };
        let verdict = classify(&evidence, &Context::default()).unwrap();
        assert_eq!(verdict.failure.class, Class::ServerError, "{text}");
    }
}

#[test]
fn s3_a_clients_name_in_brackets_is_no_answer() {
    let body = "[anthropic] 400 {\"error\":{\"message\":\"Your credit balance is too low\"}}";
    for text in [body.to_owned(), "[API Error: You have exhausted your daily quota.]".to_owned()] {
        let evidence = Evidence::Http { status: None, headers: &[], body: &text };
        let verdict = classify(&evidence, &Context::default()).unwrap();
        assert_eq!(verdict.failure.class, Class::QuotaExhausted, "{text}");
    }
}

#[test]
fn s3_a_409_a_425_and_an_upstreams_own_499_are_server_errors() {
    for status in [409, 425, 499] {
        assert_eq!(http(status, &[], "").failure.class, Class::ServerError, "{status}");
    }
}

#[test]
fn r13_an_empty_answer_is_a_failure_and_a_whole_one_is_none() {
    let answer = |body: &str| {
        let evidence = Evidence::Http { status: Some(200), headers: &[], body };
        classify(&evidence, &Context::default()).map(|verdict| verdict.failure.class)
    };
    let event = |delta: &str, finish: &str| {
        format!(
            "data: {{\"choices\":[{{\"index\":0,\"delta\":{delta},\"finish_reason\":{finish}}}]}}\n\n"
        )
    };
    let hello = event("{\"content\":\"Hi\"}", "null");
    let stop = event("{}", "\"stop\"");
    assert_eq!(answer(&format!("{hello}{stop}data: [DONE]\n\n")), None);
    assert_eq!(answer(&format!("{stop}data: [DONE]\n\n")), Some(Class::EmptyResponse));
    // A finish reason ends an answer even without the terminal event; nothing at all does not.
    assert_eq!(answer(&format!("{hello}{stop}")), None);
    assert_eq!(answer(&hello), Some(Class::TransportRemote));
    assert_eq!(answer(""), Some(Class::EmptyResponse));
}

#[test]
fn r14_a_cut_answer_is_truncated_even_without_output() {
    let body = "{\"candidates\":[{\"finishReason\":\"MAX_TOKENS\",\"index\":0}]}";
    assert_eq!(http(200, &[], body).failure.class, Class::Truncated);
}

#[test]
fn s3_the_engines_wait_is_unnamed_while_a_zone_has_to_be_looked_up() {
    let verdict = http(429, &[], "You've hit your limit · resets 1pm (America/Los_Angeles)");
    assert!(matches!(verdict.wait, NamedWait::Civil(_)));
    assert_eq!(verdict.failure.wait, Wait::Unnamed);
    assert_eq!(verdict.failure.class, Class::QuotaExhausted);
    assert_eq!(http(429, &[("retry-after", "3")], "").failure.wait, Wait::Ms(3_000));
}

#[test]
fn s3_one_event_of_a_stream_is_judged_by_its_error_or_its_reason() {
    let class = |data| {
        let evidence = Evidence::StreamEvent { headers: &[], data };
        classify(&evidence, &Context::default()).unwrap().failure.class
    };
    let overloaded =
        r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    assert_eq!(class(overloaded), Class::Overloaded);
    let cut = r#"{"type":"response.incomplete","response":{"incomplete_details":{"reason":"max_output_tokens"}}}"#;
    assert_eq!(class(cut), Class::Truncated);
    let filtered = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"content_filter"}]}"#;
    assert_eq!(class(filtered), Class::ContentFilter);
    let quota = r#"{"type":"response.failed","response":{"status":"failed","error":{"code":"insufficient_quota","message":"x"}}}"#;
    assert_eq!(class(quota), Class::QuotaExhausted);
    assert_eq!(class("not JSON: too many requests"), Class::RateLimited);
}

#[test]
fn r43_a_host_says_in_words_that_this_machine_has_no_network() {
    let host = |code, message| {
        let evidence = Evidence::Host { code, message, status: None };
        classify(&evidence, &Context::default()).unwrap().failure.class
    };
    for code in ["SERVER", "TRANSPORT", "UNKNOWN", "PI_AI_ERROR"] {
        for message in [
            "local name resolution failed",
            "fetch failed: tunnel_destination_denied",
            "getaddrinfo EAI_AGAIN api.example.com",
        ] {
            assert_eq!(host(code, message), Class::LocalNetwork, "{code}: {message}");
        }
        // What had an answer, or may be the other side's doing, is not ours.
        assert_ne!(host(code, "upstream returned 502 Bad Gateway"), Class::LocalNetwork);
        assert_ne!(host(code, "socket hang up"), Class::LocalNetwork);
    }
}
