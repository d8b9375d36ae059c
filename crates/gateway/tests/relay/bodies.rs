//! What of a request changes for a candidate, and what of a refused one is mended (G1, G6, G14, R35).

use serde_json::json;

use super::stage::{Setting, Stage, Way};

#[tokio::test(start_paused = true)]
async fn g14_keys_and_cookies_stay_here_and_the_providers_own_key_goes_out() {
    for way in Way::ALL {
        let stage = Stage::of(way, "ok:hi", "ok:never");
        let headers = [("cookie", "a=b"), ("user-agent", "my-app/1.0"), ("anthropic-beta", "x-1")];
        stage.ask_as("s", &stage.body(), &headers).await.is_whole("hi");
        let log = stage.a.log();
        let seen = log.calls().next().unwrap();
        let sent = format!("{:?}", seen.headers);
        assert!(!sent.contains("client-key") && !sent.contains("a=b"), "{sent}");
        assert!(!sent.contains("x-ekiden-session"), "{sent}");
        assert!(sent.contains("key-of-a-000000"), "{sent}");
        assert_eq!(seen.header("accept-encoding"), Some("identity"));
        assert!(seen.header("x-ekiden-hop").is_some());
        // A third party learns neither the program nor its beta flags.
        assert!(seen.header("user-agent").unwrap().starts_with("ekiden/"));
        assert_eq!(seen.header("anthropic-beta"), None);
        match way.dialect {
            super::stage::Dialect::Chat => assert!(seen.header("authorization").is_some()),
            super::stage::Dialect::Anthropic => {
                assert!(seen.header("x-api-key").is_some());
                assert!(seen.header("anthropic-version").is_some());
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn g14_a_coded_answer_is_decoded_all_the_same() {
    for way in Way::ALL {
        let stage = Stage::of(way, "ok:one two three | gzip", "ok:never");
        let got = stage.ask().await;
        got.is_whole("one two three");
        assert_eq!(got.header("content-encoding"), "");
    }
}

#[tokio::test(start_paused = true)]
async fn a_limit_that_a_candidate_names_is_kept_and_the_request_goes_again() {
    for way in Way::ALL {
        let refusal = r#"400 | body:{"type":"error","error":{"type":"invalid_request_error","message":"max_tokens: 1000 > 800, which is the maximum allowed number of output tokens for m1"}}; ok:done"#;
        let stage = Stage::of(way, refusal, "ok:never");
        stage.ask().await.is_whole("done");
        assert_eq!(stage.hits(), (2, 0));
        let log = stage.a.log();
        let sent: Vec<_> = log.calls().map(|seen| seen.json()["max_tokens"].clone()).collect();
        assert_eq!(sent, [json!(1000), json!(800)]);
        assert_eq!(stage.ledger().len(), 2);
    }
}

#[tokio::test(start_paused = true)]
async fn a_member_that_a_candidate_does_not_know_is_left_out_and_the_request_goes_again() {
    for way in Way::ALL {
        let refusal = r#"400 | body:{"error":{"message":"Unknown parameter: 'top_k'.","type":"invalid_request_error","param":"top_k","code":"unknown_parameter"}}; ok:done"#;
        let stage = Stage::of(way, refusal, "ok:never");
        let mut body = stage.body();
        body["top_k"] = json!(5);
        stage.ask_as("s", &body, &[]).await.is_whole("done");
        let log = stage.a.log();
        let sent: Vec<_> = log.calls().map(|seen| seen.json().get("top_k").cloned()).collect();
        assert_eq!(sent, [Some(json!(5)), None]);
    }
}

#[tokio::test(start_paused = true)]
async fn r35_more_output_than_the_candidate_gives_is_not_asked_for() {
    for way in Way::ALL {
        let setting = Setting {
            candidates: r#"{ route = "a/m1", max_tokens = 500, effort = "low", effort_levels = ["low", "high"] }"#,
            ..Setting::default()
        };
        let stage = Stage::set(way, "ok:hi", "ok:never", &setting);
        stage.ask().await.is_whole("hi");
        let log = stage.a.log();
        let sent = log.calls().next().unwrap().json();
        assert_eq!(sent["max_tokens"], 500);
        assert_eq!(sent["model"], "m1");
        if way.dialect == super::stage::Dialect::Chat {
            assert_eq!(sent["reasoning_effort"], "low");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn g06_thinking_of_another_issuer_is_not_sent() {
    let way = Way::ANTHROPIC;
    let stage = Stage::of(way, "ok:first", "ok:second");
    let mut body = stage.body();
    body["messages"] = json!([
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "hm", "signature": "made-elsewhere"},
            {"type": "text", "text": "hello"},
        ]},
        {"role": "user", "content": "go on"},
    ]);
    stage.ask_as("s", &body, &[]).await.is_whole("first");
    let log = stage.a.log();
    let sent = log.calls().next().unwrap().json();
    assert_eq!(sent["messages"][1]["content"], json!([{"type": "text", "text": "hello"}]));
    // Its server now is the session's last one, so that what it may have made goes back to it.
    stage.ask_as("s", &body, &[]).await.is_whole("first");
    let log = stage.a.log();
    let sent = log.calls().nth(1).unwrap().json();
    assert_eq!(sent["messages"][1]["content"].as_array().unwrap().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn g01_a_native_provider_gets_the_clients_own_bytes_but_for_the_model() {
    for way in Way::ALL {
        let setting = Setting {
            providers: "profile = \"native\"\nstream_usage = false",
            ..Setting::default()
        };
        let stage = Stage::set(way, "ok:hi", "ok:never", &setting);
        let mut body = stage.body();
        body["unknown_member"] = json!({"kept": [1, 2.50, "\u{e9}"]});
        body["store"] = json!(true);
        body["metadata"] = json!({"user_id": "u"});
        stage.ask_as("s", &body, &[]).await.is_whole("hi");
        let log = stage.a.log();
        let sent = String::from_utf8(log.calls().next().unwrap().body.to_vec()).unwrap();
        assert_eq!(sent, body.to_string().replace("\"default\"", "\"m1\""));
    }
}

#[tokio::test(start_paused = true)]
async fn g01_a_third_party_does_not_get_what_only_the_vendor_takes() {
    let stage = Stage::of(Way::CHAT, "ok:hi", "ok:never");
    let mut body = stage.body();
    body["messages"] =
        json!([{"role": "developer", "content": "be brief"}, {"role": "user", "content": "hi"}]);
    body["store"] = json!(false);
    body["max_completion_tokens"] = json!(50);
    body.as_object_mut().unwrap().remove("max_tokens");
    body["reasoning_effort"] = json!("high");
    stage.ask_as("s", &body, &[]).await.is_whole("hi");
    let log = stage.a.log();
    let sent = log.calls().next().unwrap().json();
    assert_eq!(sent["messages"][0]["role"], "system");
    assert_eq!((sent.get("store"), &sent["max_tokens"]), (None, &json!(50)));
    assert_eq!(sent.get("reasoning_effort"), None, "R35: nobody says that it knows this level");

    let stage = Stage::of(Way::ANTHROPIC, "ok:hi", "ok:never");
    let mut body = stage.body();
    body["thinking"] = json!({"type": "adaptive", "display": "omitted"});
    body["max_tokens"] = json!(32_000);
    body["context_management"] = json!({"edits": []});
    body["metadata"] = json!({"user_id": "u"});
    body["tools"] =
        json!([{"name": "t", "input_schema": {"type": "object"}, "defer_loading": true}]);
    body["messages"] =
        json!([{"role": "user", "content": "hi"}, {"role": "system", "content": "mind"}]);
    stage.ask_as("s", &body, &[]).await.is_whole("hi");
    let log = stage.a.log();
    let sent = log.calls().next().unwrap().json();
    assert_eq!(sent["thinking"]["type"], "enabled");
    assert!(sent["thinking"]["budget_tokens"].as_u64().unwrap() < 32_000);
    assert_eq!(sent.get("context_management").or(sent.get("metadata")), None);
    assert_eq!(sent["tools"][0].get("defer_loading"), None);
    assert_eq!(sent["messages"][1]["role"], "user");
}

#[tokio::test(start_paused = true)]
async fn g06_reasoning_that_a_candidate_wants_back_goes_back_after_its_refusal() {
    let refusal = r#"400 | body:{"error":{"message":"The reasoning_content in the thinking mode must be passed back to the API.","type":"invalid_request_error","param":null,"code":"invalid_request_error"}}; ok:done"#;
    let stage = Stage::of(Way::CHAT, refusal, "ok:never");
    let mut body = stage.body();
    body["messages"] = json!([
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "hello", "reasoning_content": "hm"},
        {"role": "user", "content": "go on"},
    ]);
    stage.ask_as("s", &body, &[]).await.is_whole("done");
    let log = stage.a.log();
    let sent: Vec<_> = log
        .calls()
        .map(|seen| seen.json()["messages"][1].get("reasoning_content").cloned())
        .collect();
    assert_eq!(sent, [None, Some(json!("hm"))]);
}
