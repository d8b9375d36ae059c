//! Refusals are English, and Chinese for whoever prefers it.

use std::collections::BTreeSet;

use http::Method;
use serde_json::{Value, json};

use crate::support::{Answer, CHAT, MESSAGES, SETTINGS, World, hello, request};

/// Anthropic's count of tokens.
const COUNT: &str = "/v1/messages/count_tokens";

const CHINESE: (&str, &str) = ("accept-language", "zh-CN,zh;q=0.9,en;q=0.8");

/// A request that is refused.
struct Bad {
    method: Method,
    path: &'static str,
    headers: &'static [(&'static str, &'static str)],
    body: String,
}

fn bad(method: Method, path: &'static str, body: &str) -> Bad {
    Bad { method, path, headers: &[], body: body.to_owned() }
}

fn api(method: Method, path: &'static str, body: &Value) -> Bad {
    bad(method, path, &body.to_string())
}

async fn ask(world: &World, bad: &Bad, more: &[(&str, &str)]) -> Answer {
    let headers: Vec<(&str, &str)> = bad.headers.iter().chain(more).copied().collect();
    world.send(request(bad.method.clone(), bad.path, &headers, bad.body.clone())).await
}

fn is_chinese(text: &str) -> bool {
    text.chars().any(|c| ('\u{4e00}'..='\u{9fff}').contains(&c))
}

/// What stands in backticks.
fn values(text: &str) -> BTreeSet<String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// The same status and code in both, the same values, and the language that was asked for.
async fn told_in_both(world: &World, bad: &Bad) {
    let english = ask(world, bad, &[]).await;
    let any = ask(world, bad, &[("accept-language", "*")]).await;
    let chinese = ask(world, bad, &[CHINESE]).await;
    let at = format!("{} {} {}", bad.method, bad.path, bad.body);
    assert!(english.status >= 400, "{at}: {english:?}");
    assert_eq!(english.body, any.body, "{at}");
    assert_eq!(english.status, chinese.status, "{at}");
    assert!(!is_chinese(&english.text()), "{at}: {}", english.text());
    assert!(is_chinese(&chinese.message()), "{at}: {}", chinese.text());
    let hints = (english.hint(), chinese.hint());
    assert_eq!(hints.0.is_empty(), hints.1.is_empty(), "{at}: {hints:?}");
    assert!(hints.1.is_empty() || is_chinese(&hints.1), "{at}: {hints:?}");
    let (english, chinese) = (english.json(), chinese.json());
    for member in ["code", "type", "param"] {
        assert_eq!(english["error"][member], chinese["error"][member], "{at}");
    }
    let text = |answer: &Value| {
        let part = |name: &str| answer["error"][name].as_str().unwrap_or_default().to_owned();
        format!("{} {}", part("message"), part("hint"))
    };
    assert_eq!(values(&text(&english)), values(&text(&chinese)), "{at}");
}

#[tokio::test(start_paused = true)]
async fn g07_our_own_interface_refuses_in_the_language_that_is_asked_for() {
    let world = World::on_file(SETTINGS, "ok:Yes.");
    for bad in [
        bad(Method::GET, "/api/v1/journal?limt=1", ""),
        bad(Method::GET, "/api/v1/state?limt=1", ""),
        bad(Method::GET, "/api/v1/catalog?a=1", ""),
        bad(Method::GET, "/api/v1/journal?limit=0", ""),
        bad(Method::GET, "/api/v1/journal?limit=1&limit=2", ""),
        bad(Method::GET, "/api/v1/sessions?after=x", ""),
        bad(Method::GET, "/api/v1/ledger?by=x", ""),
        bad(Method::GET, "/api/v1/journal?what=x", ""),
        bad(Method::GET, "/api/v1/sessions/nobody", ""),
        bad(Method::GET, "/api/v1/calls/none", ""),
        bad(Method::DELETE, "/api/v1/calls/none", ""),
        bad(Method::DELETE, "/api/v1/tokens/none", ""),
        bad(Method::POST, "/api/v1/release", "{"),
        api(Method::POST, "/api/v1/release", &json!({})),
        api(Method::POST, "/api/v1/release", &json!({ "route": "no/route" })),
        api(Method::POST, "/api/v1/pause", &json!({ "session": "nobody" })),
        api(Method::POST, "/api/v1/pause", &json!({ "sesion": 1 })),
        api(Method::POST, "/api/v1/queues/none/dry-run", &json!({})),
        api(Method::POST, "/api/v1/queues/none/test", &json!({})),
        api(Method::POST, "/api/v1/rescan", &json!({ "providers": ["none"] })),
        api(Method::POST, "/api/v1/tokens", &json!({ "name": "", "scope": "client" })),
        api(
            Method::POST,
            "/api/v1/tokens",
            &json!({ "name": "a", "scope": "client", "budget_per_day": "5" }),
        ),
        api(Method::POST, "/api/v1/tokens", &json!({ "scope": "client" })),
        api(Method::PUT, "/api/v1/providers/none/key", &json!({ "key": "a" })),
        api(Method::PUT, "/api/v1/providers/chat/key", &json!({ "ky": "a" })),
        api(Method::PUT, "/api/v1/providers/chat/key", &json!({ "key": "two words" })),
        bad(Method::DELETE, "/api/v1/providers/chat/key", ""),
        api(Method::PATCH, "/api/v1/settings", &json!({ "changes": [] })),
        bad(Method::DELETE, "/api/v1/queues/default", ""),
        api(Method::PUT, "/api/v1/queues/order", &json!({ "order": [] })),
        api(Method::POST, "/api/v1/queues", &json!({ "name": "a", "id": "default" })),
        api(Method::POST, "/api/v1/queues", &json!({ "name": "a", "routes": ["nobody"] })),
        api(
            Method::POST,
            "/api/v1/import",
            &json!({ "format": "other", "version": 1, "queues": [] }),
        ),
        api(
            Method::POST,
            "/api/v1/import",
            &json!({ "format": "ekiden-queues", "version": 1,
                "queues": [{ "name": "a", "settings": { "retries": 99 } }] }),
        ),
    ] {
        told_in_both(&world, &bad).await;
    }
    let large = Bad { body: " ".repeat(64 << 10 | 1), ..bad(Method::POST, "/api/v1/pause", "") };
    told_in_both(&world, &large).await;
}

#[tokio::test(start_paused = true)]
async fn g14_a_body_that_is_too_large_for_our_own_interface_names_its_own_bound() {
    let world = World::on_file(SETTINGS, "ok:Yes.");
    for (method, path, most) in [
        (Method::POST, "/api/v1/pause", 64_usize << 10),
        (Method::PUT, "/api/v1/providers/chat/key", 64 << 10),
        (Method::POST, "/api/v1/import", 4 << 20),
    ] {
        let ask = |size: usize| world.send(request(method.clone(), path, &[], " ".repeat(size)));
        let refused = ask(most + 1).await;
        assert_eq!(
            (refused.status, &refused.json()["error"]["code"]),
            (413, &json!("body_too_large"))
        );
        let told = refused.message();
        assert!(told.contains(&most.to_string()) && !told.contains("limits."), "{told}");
        assert_eq!(ask(most).await.status, 400, "no JSON, but not too large");
    }
}

#[tokio::test(start_paused = true)]
async fn g07_a_refusal_tells_what_refuses_and_no_warning_of_another_line() {
    let settings = format!(
        "{SETTINGS}\n[providers.warned]\n\
        base_url = \"http://127.0.0.1:9\"\ndialect = \"openai-chat\"\napi_key_env = \"NOT_SET\"\n"
    );
    let world = World::on_file(&settings, "ok:Yes.");
    let hash = world.get("/api/v1/settings").await.json()["hash"].clone();
    let path = "providers.new.base_url";
    let changes =
        json!({ "changes": [{ "do": "set", "path": path, "value": "http://127.0.0.1:8" }] });
    let headers = [("if-match", hash.as_str().expect("a hash"))];
    let patch = request(Method::PATCH, "/api/v1/settings", &headers, changes.to_string());
    let told = world.send(patch).await.message();
    assert!(told.starts_with("error: provider `new` has no `dialect`"), "{told}");
    assert!(!told.contains("NOT_SET"), "{told}");
    let folder = world.folder.as_ref().expect("a folder").path();
    std::fs::write(folder.join("config.toml"), format!("{settings}[queues.x]\nretries = 99\n"))
        .expect("written");
    let told = world.post("/api/v1/settings/reload", &json!({})).await.message();
    assert!(told.starts_with("error: `retries`") && !told.contains("NOT_SET"), "{told}");
}

#[tokio::test(start_paused = true)]
async fn g07_a_change_is_refused_in_the_language_that_is_asked_for() {
    let world = World::on_file(SETTINGS, "ok:Yes.");
    let seen = world.get("/api/v1/settings").await;
    let hash = seen.json()["hash"].as_str().expect("a hash").to_owned();
    for (seen, changes) in [
        ("stale", json!([{ "do": "unset", "path": "reset_hour" }])),
        (hash.as_str(), json!([{ "do": "set", "path": "reset_hour", "value": 24 }])),
        (hash.as_str(), json!([{ "do": "set", "path": "reset_hour", "value": null }])),
        (hash.as_str(), json!([{ "do": "set", "path": "rest_hour", "value": 1 }])),
    ] {
        let body = json!({ "changes": changes }).to_string();
        let patch = |language| {
            let headers = [("if-match", seen), language];
            world.send(request(Method::PATCH, "/api/v1/settings", &headers, body.clone()))
        };
        let (english, chinese) = (patch(("x-none", "")).await, patch(CHINESE).await);
        assert_eq!(english.status, chinese.status, "{body}");
        assert!(!is_chinese(&english.text()) && is_chinese(&chinese.message()), "{chinese:?}");
        let problems = |answer: &Answer| answer.json()["error"]["problems"][0]["code"].clone();
        assert_eq!(problems(&english), problems(&chinese), "{body}");
    }
}

#[tokio::test(start_paused = true)]
async fn g07_a_file_that_is_refused_is_told_in_the_language_that_is_asked_for() {
    let world = World::on_file(SETTINGS, "ok:Yes.");
    let folder = world.folder.as_ref().expect("a folder").path();
    let text = format!("reset_hour = 99\n{SETTINGS}");
    std::fs::write(folder.join("config.toml"), text).expect("written");
    let reload = bad(Method::POST, "/api/v1/settings/reload", "");
    let chinese = ask(&world, &reload, &[CHINESE]).await;
    assert_eq!(chinese.status, 400);
    assert!(chinese.message().contains("`reset_hour` 超出范围：99"), "{}", chinese.message());
    assert_eq!(chinese.json()["error"]["problems"][0]["code"], "out_of_bounds");
    let state = bad(Method::GET, "/api/v1/state", "");
    let refused = |answer: &Answer| answer.json()["settings"]["refused"][0].clone();
    let (english, chinese) =
        (ask(&world, &state, &[]).await, ask(&world, &state, &[CHINESE]).await);
    assert_eq!(refused(&english)["message"], "`reset_hour` is out of bounds: 99");
    assert_eq!(refused(&chinese)["message"], "`reset_hour` 超出范围：99");
    assert_eq!(refused(&chinese)["hint"], "`reset_hour` 应为 0 到 23 的整数");
    // The journal is one for everybody, in values; what is wrong with settings is kept in both.
    for (languages, message) in [
        (&[][..], "`reset_hour` is out of bounds: 99"),
        (&[CHINESE][..], "`reset_hour` 超出范围：99"),
    ] {
        let path = "/api/v1/journal?what=settings_refused";
        let journal = ask(&world, &bad(Method::GET, path, ""), languages).await.json();
        let entry = &journal["entries"][0];
        assert_eq!((&entry["message"], &entry["code"]), (&json!(message), &json!("out_of_bounds")));
    }
}

#[tokio::test(start_paused = true)]
async fn g09_who_is_turned_away_hears_it_in_the_language_that_is_asked_for() {
    let world = World::new("ok:Yes.");
    let hello = hello("default");
    let with = |headers: &'static [(&str, &str)], path: &'static str| Bad {
        headers,
        ..api(Method::POST, path, &hello)
    };
    for bad in [
        with(&[("host", "evil.example")], CHAT),
        with(&[("origin", "https://evil.example")], MESSAGES),
        with(&[("sec-fetch-site", "cross-site")], CHAT),
        with(&[("content-encoding", "strange")], MESSAGES),
        with(&[("content-encoding", "gzip")], CHAT),
        with(
            &[(
                "authorization",
                "Bearer ekt_0000000000000000000000000000000000000000000000000000000000000000000000000000",
            )],
            CHAT,
        ),
        bad(Method::POST, CHAT, "{"),
        bad(Method::POST, MESSAGES, "{}"),
        api(Method::POST, CHAT, &json!({ "model": 1, "messages": [] })),
        api(Method::POST, CHAT, &json!({ "model": "default" })),
        api(Method::POST, CHAT, &json!({ "model": "defualt", "messages": [] })),
        api(Method::POST, MESSAGES, &json!({ "model": "nobody's", "messages": [] })),
        api(Method::POST, COUNT, &json!({ "model": "nobody's", "messages": [] })),
        bad(Method::GET, "/v1/models/defualt", ""),
        api(Method::POST, "/v1/responses", &hello),
        bad(Method::GET, "/v1/responses", ""),
        bad(Method::GET, "/nowhere", ""),
        bad(Method::GET, CHAT, ""),
    ] {
        told_in_both(&world, &bad).await;
    }
}
