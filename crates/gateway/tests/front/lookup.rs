//! What model names and paths mean.

use http::Method;
use serde_json::json;

use crate::support::{CHAT, MESSAGES, World, hello, request, streamed};

#[tokio::test(start_paused = true)]
async fn r01_a_queue_is_a_model_under_its_id_its_aliases_and_the_pickers_name() {
    let world = World::new("ok:Yes.");
    for model in ["default", "gpt-5.2", "claude-queue-default"] {
        let answer = world.post(CHAT, &hello(model)).await;
        assert_eq!(answer.status, 200, "{model}: {answer:?}");
        assert_eq!(answer.json()["choices"][0]["message"]["content"], "Yes.", "{model}");
        assert_eq!(answer.header("x-ekiden-queue"), Some("default"), "{model}");
    }
}

#[tokio::test(start_paused = true)]
async fn r01_a_provider_and_model_are_asked_directly_and_only_once() {
    let world = World::new("500");
    let answer = world.post(CHAT, &hello("chat/whatever")).await;
    assert_eq!(answer.status / 100, 5, "{answer:?}");
    let log = world.upstream.log();
    let models: Vec<_> = log.calls().map(|seen| seen.model.clone()).collect();
    assert_eq!(models, [Some("whatever".to_owned())], "no relay: one attempt");
}

#[tokio::test(start_paused = true)]
async fn r01_an_unknown_model_is_a_404_of_the_dialect_with_the_nearest_names() {
    let world = World::new("ok");
    let chat = world.post(CHAT, &hello("defalt")).await;
    assert_eq!(
        (chat.status, chat.json()["error"]["code"].clone()),
        (404, json!("model_not_found"))
    );
    assert!(chat.message().contains("`default`"), "{}", chat.message());
    let claude = world.post(MESSAGES, &hello("opsu")).await;
    assert_eq!(claude.status, 404);
    assert!(claude.is_anthropic_error() && claude.message().contains("`opus`"), "{claude:?}");
    assert_eq!(world.upstream.log().requests.len(), 0);
}

#[tokio::test(start_paused = true)]
async fn r01_an_empty_queue_says_where_to_add_candidates() {
    let world = World::new("ok");
    for (path, body) in
        [(CHAT, hello("bare")), (CHAT, streamed("bare")), (MESSAGES, streamed("bare"))]
    {
        let answer = world.post(path, &body).await;
        assert!(answer.status >= 400, "{answer:?}");
        let message = answer.message();
        assert!(message.contains("bare") && message.contains("candidate"), "{message}");
    }
}

#[tokio::test(start_paused = true)]
async fn r01_a_deleted_queue_leads_to_the_first_one_and_the_journal_says_so() {
    let world = World::new("ok:Yes.");
    let without = crate::support::SETTINGS.replace("[queues.opus]", "[queues.sonnet]");
    world.gateway.core().reload(crate::support::config(&without));
    let answer = world.post(CHAT, &hello("opus")).await;
    assert_eq!((answer.status, answer.header("x-ekiden-queue")), (200, Some("default")));
    let journal = world.get("/api/v1/journal").await.json();
    let gone = journal["entries"].as_array().expect("entries").iter().find(|entry| {
        entry["what"] == "queue_gone" && entry["asked"] == "opus" && entry["queue"] == "default"
    });
    assert!(gone.is_some(), "{journal}");
}

#[tokio::test(start_paused = true)]
async fn g01_paths_work_without_the_version() {
    let world = World::new("ok:Yes.");
    for path in ["/chat/completions", "/v1/v1/chat/completions", "/v1/chat/completions/"] {
        assert_eq!(world.post(path, &hello("default")).await.status, 200, "{path}");
    }
    for path in ["/messages", "/v1/messages?beta=true"] {
        let answer = world.post(path, &hello("opus")).await;
        assert_eq!(answer.json()["type"], "message", "{path}: {answer:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn g01_misses_teach_in_the_dialect_that_was_asked_in() {
    let world = World::new("ok");
    let gone = world.get("/v1/embeddings").await;
    assert_eq!(gone.status, 404);
    assert!(gone.message().contains("/v1/chat/completions"), "{}", gone.message());
    let claude = world.get("/v1/messages/batches").await;
    assert!(claude.status == 404 && claude.is_anthropic_error(), "{claude:?}");
    let method = world.get(CHAT).await;
    assert_eq!((method.status, method.header("allow")), (405, Some("POST")));
    assert!(method.message().contains("POST"), "{}", method.message());
}

#[tokio::test(start_paused = true)]
async fn g01_responses_say_that_they_come_later_and_sockets_that_they_do_not() {
    let world = World::new("ok");
    let later = world.post("/v1/responses", &json!({ "model": "default", "input": "hi" })).await;
    assert_eq!(later.status, 501);
    assert!(later.message().contains("later version"), "{}", later.message());
    let upgrade = [("connection", "upgrade"), ("upgrade", "websocket")];
    let socket = world.send(request(Method::GET, "/v1/responses", &upgrade, "")).await;
    assert_eq!(socket.status, 426);
}

#[tokio::test(start_paused = true)]
async fn g01_probes_are_answered_without_a_key() {
    let world = World::new("ok");
    for path in ["/", "/api/hello", "/health", "/healthz", "/readyz"] {
        assert_eq!(world.get(path).await.status, 200, "{path}");
        assert_eq!(world.send(request(Method::HEAD, path, &[], "")).await.status, 200, "{path}");
    }
    assert_eq!(world.get("/healthz").await.json()["service"], "ekiden");
    let page = world.send(request(Method::GET, "/", &[("accept", "text/html,*/*")], "")).await;
    assert!(page.text().contains("默认模板"), "{}", page.text());
    let bare = World::with("listen = \"127.0.0.1:1\"\n[queues.a]\ncandidates = []", "ok");
    assert_eq!(bare.get("/readyz").await.status, 503);
}

#[tokio::test(start_paused = true)]
async fn g01_models_are_listed_for_both_dialects_and_found_by_id() {
    let world = World::new("ok");
    let list = world.get("/v1/models?limit=1000").await.json();
    let ids: Vec<_> = list["data"].as_array().expect("data").iter().map(|m| &m["id"]).collect();
    for id in ["default", "opus", "claude-queue-default", "chat/m", "claude/c"] {
        assert_eq!(ids.iter().filter(|found| **found == id).count(), 1, "{id} in {list}");
    }
    assert_eq!((&list["object"], &list["first_id"]), (&json!("list"), &json!("default")));
    assert_eq!(world.get("/models/chat%2Fm").await.json()["id"], "chat/m");
    let claude = [("anthropic-version", "2023-06-01")];
    let gone = world.send(request(Method::GET, "/v1/models/nope", &claude, "")).await;
    assert!(gone.status == 404 && gone.is_anthropic_error(), "{gone:?}");
}

#[tokio::test(start_paused = true)]
async fn g04_the_clients_key_and_session_never_go_upstream() {
    let world = World::new("ok:Yes.");
    let headers = [
        ("authorization", "Bearer client-secret"),
        ("x-api-key", "client-secret"),
        ("x-ekiden-session", "my-session"),
        ("x-session-id", "ses_1"),
        ("cookie", "a=client-secret"),
    ];
    let body = hello("default").to_string();
    let answer = world.send(request(Method::POST, CHAT, &headers, body)).await;
    assert_eq!(answer.status, 200);
    let session = answer.header("x-ekiden-session").expect("the session");
    assert!(session.ends_with(".my-session"), "{session}");
    let log = world.upstream.log();
    let seen = log.calls().next().expect("one call");
    for (name, value) in &seen.headers {
        let ours = ["client-secret", "my-session", "ses_1"];
        assert!(!ours.iter().any(|secret| value.contains(secret)), "{name}: {value}");
    }
    assert_eq!(seen.header("authorization"), Some("Bearer sk-upstream-secret"));
}

#[tokio::test(start_paused = true)]
async fn r47_a_count_is_the_candidates_own_and_leaves_no_trace() {
    let world = World::new("ok");
    let answer = world.post("/v1/messages/count_tokens", &hello("opus")).await;
    let log = world.upstream.log();
    assert_eq!(log.requests.len(), 1);
    let seen = &log.requests[0];
    assert_eq!(seen.endpoint, ekiden_sim::Endpoint::CountTokens);
    assert_eq!(seen.path, "/v1/messages/count_tokens");
    assert_eq!(
        (seen.model.as_deref(), seen.header("x-api-key")),
        (Some("c"), Some("sk-upstream-secret"))
    );
    let estimate = World::new("ok");
    estimate
        .upstream
        .script_at(ekiden_sim::Endpoint::CountTokens, "404".parse().expect("a script"));
    let estimated = estimate.post("/v1/messages/count_tokens", &hello("opus")).await;
    assert_ne!(answer.json(), estimated.json(), "counted there, estimated here");
    assert_eq!(world.get("/api/v1/calls").await.json(), json!({ "open": [], "past": [] }));
}

#[tokio::test(start_paused = true)]
async fn r47_token_counts_come_from_the_candidate_or_are_estimated_and_never_fail() {
    let world = World::new("ok");
    let path = "/v1/messages/count_tokens?beta=true";
    world.upstream.script("500".parse().expect("a script"));
    let estimated = world.post(path, &hello("opus")).await;
    assert_eq!(estimated.status, 200, "{estimated:?}");
    assert!(estimated.json()["input_tokens"].as_u64().is_some_and(|tokens| tokens > 0));
    let of_chat = world.post(path, &hello("default")).await;
    assert_eq!(of_chat.status, 200, "the current candidate speaks another dialect");
    let hung = World::new("hang");
    let body = hello("opus");
    let (a, b) = tokio::join!(hung.post(path, &body), hung.post(path, &body));
    assert_eq!((a.status, b.status), (200, 200));
    let state = world.get("/api/v1/state").await.json();
    assert_eq!(state["queues"][1]["candidates"][0]["today"]["failures"], 0);
    assert_eq!(state["sessions"], json!([]), "nobody is blamed, nobody holds a seat");
}
