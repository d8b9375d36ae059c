//! The interface against its own document.

mod schema;

use std::path::Path;

use http::Method;
use serde_json::{Value, json};

use crate::support::{Answer, CHAT, SETTINGS, World, hello, post, request};
use schema::{Luck, broken, fitting, misfit};

const DOCUMENT: &str = "../../docs/openapi.json";
const ROUNDS: usize = 60;

fn stands() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(DOCUMENT);
    std::fs::read_to_string(path).unwrap_or_default().replace("\r\n", "\n")
}

#[test]
fn the_openapi_document_is_fresh() {
    assert!(
        stands() == ekiden_gateway::openapi(),
        "docs/openapi.json is old: run `cargo test -p ekiden-gateway --test front -- --ignored bless`"
    );
}

#[test]
#[ignore = "writes docs/openapi.json"]
fn bless() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(DOCUMENT);
    std::fs::write(path, ekiden_gateway::openapi()).expect("written");
}

#[test]
fn every_operation_is_described_in_the_docs() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/api.md");
    let docs = std::fs::read_to_string(path).expect("docs/api.md");
    let document: Value = serde_json::from_str(&ekiden_gateway::openapi()).expect("JSON");
    for (path, verbs) in document["paths"].as_object().expect("paths") {
        for verb in verbs.as_object().expect("verbs").keys() {
            let line = format!("`{} {path}`", verb.to_ascii_uppercase());
            assert!(docs.contains(&line), "docs/api.md says nothing of {line}");
        }
    }
}

/// A gateway in which something has happened.
async fn lived() -> World {
    let world = World::on_file(SETTINGS, "500; 500; 500; ok:Yes.");
    for session in ["a", "b"] {
        let headers = [("x-ekiden-session", session)];
        let call = request(Method::POST, CHAT, &headers, hello("default").to_string());
        world.send(call).await;
    }
    let key = json!({ "key": "sk-stored-0123456789" }).to_string();
    let path = "/api/v1/providers/chat/key";
    assert_eq!(world.send(request(Method::PUT, path, &[], key)).await.status, 200);
    world
}

/// One operation of the document.
struct Asked<'d> {
    document: &'d Value,
    path: &'d str,
    verb: &'d str,
    operation: &'d Value,
}

impl Asked<'_> {
    fn url(&self, luck: &mut Luck, calls: &[String]) -> String {
        let mut url = self.path.to_owned();
        let names = [
            "default",
            "bare",
            "chat",
            "a",
            "open.a",
            "background",
            "%00",
            "..",
            "x%2Fy",
            "%ff%fe",
            "%E9%95%B7",
        ];
        for name in ["{queue}", "{session}", "{call}", "{token}", "{provider}"] {
            let call = luck.pick(calls).clone();
            // There is one provider among the names, and a key fits it seldom enough.
            let known = name == "{provider}" && luck.one_in(2);
            let other = if luck.one_in(3) { &call } else { *luck.pick(&names) };
            let value = if known { "chat" } else { other };
            url = url.replace(name, value);
        }
        let mut mark = '?';
        for parameter in self.operation["parameters"].as_array().expect("parameters") {
            if parameter["in"] != "query" || luck.one_in(2) {
                continue;
            }
            let value = if luck.one_in(4) {
                luck.pick(&["", "-1", "99999999999999999999", "%00", "x", "1e3", "%"]).to_string()
            } else {
                let made = fitting(self.document, &parameter["schema"], luck);
                made.as_str().map_or_else(|| made.to_string(), str::to_owned).replace(' ', "+")
            };
            let name = parameter["name"].as_str().expect("a name");
            let value: String = value.chars().filter(|c| c.is_ascii()).collect();
            url.push_str(&format!("{mark}{name}={value}"));
            mark = '&';
        }
        if luck.one_in(12) {
            url.push_str(&format!("{mark}no_such=1"));
        }
        url.chars().filter(|c| c.is_ascii() && !c.is_control() && *c != ' ').collect()
    }

    fn body(&self, luck: &mut Luck) -> String {
        let schema = &self.operation["requestBody"]["content"]["application/json"]["schema"];
        if schema.is_null() {
            return luck.pick(&["", "{}", "[", "nonsense"]).to_string();
        }
        match luck.below(4) {
            0 => broken(self.document, schema, luck).to_string(),
            1 => luck.pick(&["", "{", "\u{0}", "{}{}", "[[[["]).to_string(),
            _ => fitting(self.document, schema, luck).to_string(),
        }
    }

    fn judge(&self, answer: &Answer, told: &str) {
        let status = answer.status.to_string();
        let responses = &self.operation["responses"];
        let response = if responses[&status].is_null() {
            assert!(answer.status >= 400, "{told}: {status} is not in the document");
            &self.document["components"]["responses"]["failure"]
        } else {
            &responses[&status]
        };
        assert!(answer.status < 500 || !responses[&status].is_null(), "{told}: {answer:?}");
        let kind = answer.header("content-type").unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default();
        let schema = &response["content"][kind]["schema"];
        assert!(schema.is_object(), "{told}: `{kind}` is not in the document");
        if kind == "application/json" {
            let wrong = misfit(self.document, schema, &answer.json());
            assert_eq!(wrong, None, "{told}: {}", answer.text());
        }
    }
}

fn operations(document: &Value) -> Vec<Asked<'_>> {
    let paths = document["paths"].as_object().expect("paths").iter();
    paths
        .flat_map(|(path, verbs)| {
            let verbs = verbs.as_object().expect("verbs").iter();
            verbs.map(move |(verb, operation)| Asked { document, path, verb, operation })
        })
        .collect()
}

#[tokio::test(start_paused = true)]
async fn no_input_that_fits_or_breaks_the_document_is_answered_outside_of_it() {
    let world = lived().await;
    let served = world.get("/api/v1/openapi.json").await.json();
    assert_eq!(served, serde_json::from_str::<Value>(&ekiden_gateway::openapi()).expect("JSON"));
    let list = world.get("/api/v1/calls").await.json();
    let past = list["past"].as_array().expect("calls").iter();
    let calls: Vec<String> = past.map(|call| call["call"].as_str().expect("id").into()).collect();
    let mut luck = Luck::new(0x5eed);
    let (mut good, mut bad) = (0, 0);
    for asked in operations(&served) {
        if asked.path.ends_with("/events") {
            continue;
        }
        let mut answered = false;
        for _ in 0..ROUNDS {
            let (url, body) = (asked.url(&mut luck, &calls), asked.body(&mut luck));
            let method: Method = asked.verb.to_ascii_uppercase().parse().expect("a method");
            let told = format!("{method} {url} {}", body.chars().take(200).collect::<String>());
            let seen = world.gateway.core().settings().hash.to_string();
            let tag = luck.pick(&[&*seen, "\"absent\"", "*", "\u{ff}"]).to_string();
            let tag = if luck.one_in(2) { vec![("if-match", &*tag)] } else { Vec::new() };
            let answer = world.send(request(method, &url, &tag, body)).await;
            asked.judge(&answer, &told);
            answered |= answer.status < 300;
            if answer.status < 300 { good += 1 } else { bad += 1 }
        }
        // What these want is not guessed; other tests make them do it.
        let unguessed = [
            "changeSettings",
            "forgetKey",
            "orderQueues",
            "deleteQueue",
            "revokeToken",
            "stopCall",
        ];
        let never = unguessed.iter().any(|id| asked.operation["operationId"] == *id);
        assert!(answered || never, "{} {} never did anything", asked.verb, asked.path);
    }
    assert!(good > 200 && bad > 200, "{good} did something, {bad} were refused");
}

#[tokio::test(start_paused = true)]
async fn r33_a_dry_run_tells_what_a_call_would_do_and_does_nothing() {
    let world = lived().await;
    let before = world.get("/api/v1/state").await.json();
    let sent = world.upstream.log().requests.len();
    let path = "/api/v1/queues/default/dry-run";
    let fresh = world.post(path, &json!({})).await.json();
    assert_eq!((&fresh["would"], &fresh["route"]), (&json!("run"), &json!("chat/m")), "{fresh}");
    assert_eq!(fresh["steps"][0]["step"], "began");
    let bare = world.post("/api/v1/queues/bare/dry-run", &json!({})).await.json();
    assert_eq!((&bare["would"], &bare["route"]), (&json!("refuse"), &Value::Null), "{bare}");
    assert_eq!(bare["steps"][0]["told"], "empty_queue", "{bare}");
    let anthropic = json!({ "dialect": "anthropic-messages" });
    let other = world.post(path, &anthropic).await.json();
    assert_eq!(other["route"], "claude/c", "{other}");
    assert_eq!(other["steps"][0]["reason"], "missing", "{other}");
    assert_eq!(world.post("/api/v1/queues/nope/dry-run", &json!({})).await.status, 404);
    let after = world.get("/api/v1/state").await.json();
    for field in ["sessions", "queues", "sessions_known"] {
        assert_eq!(before[field], after[field], "{field}");
    }
    assert_eq!(world.upstream.log().requests.len(), sent);
}

#[tokio::test(start_paused = true)]
async fn r17_a_dry_run_passes_over_what_is_out_for_that_session_alone() {
    let world = World::with(
        &SETTINGS
            .replace("\"claude/c\"]\n\n[queues.opus]", "\"chat/n\"]\nretries = 0\n\n[queues.opus]"),
        "ok:Yes.",
    );
    world.upstream.script_for("m", "500; ok:Yes.".parse().expect("a script"));
    let headers = [("x-ekiden-session", "a")];
    world.send(request(Method::POST, CHAT, &headers, hello("default").to_string())).await;
    let path = "/api/v1/queues/default/dry-run";
    let own = world.post(path, &json!({ "session": "a" })).await.json();
    assert_eq!((&own["route"], &own["session"]), (&json!("chat/n"), &json!("open.a")), "{own}");
    assert_eq!(own["steps"][0]["reason"], "quarantined", "{own}");
    assert_eq!(own["steps"][0]["class"], "server_error", "{own}");
    let other = world.post(path, &json!({ "session": "b" })).await.json();
    assert_eq!(other["route"], "chat/m", "{other}");
}

#[tokio::test(start_paused = true)]
async fn r39_a_test_asks_each_candidate_straight_and_keeps_nothing() {
    let world = World::new("length");
    world.upstream.script_for(
        "c",
        "401 | body:{\"error\":{\"type\":\"authentication_error\",\"message\":\"bad key sk-upstream-secret\"}}"
            .parse()
            .expect("a script"),
    );
    let tested = world.send(post("/api/v1/queues/default/test", "")).await;
    assert_eq!(tested.status, 200, "{tested:?}");
    let json = tested.json();
    let (chat, claude) = (&json["candidates"][0], &json["candidates"][1]);
    assert_eq!((&chat["route"], &chat["ok"]), (&json!("chat/m"), &json!(true)), "{json}");
    assert_eq!((&claude["ok"], &claude["class"]), (&json!(false), &json!("auth")), "{json}");
    assert_eq!(claude["status"], 401);
    assert!(!tested.text().contains("sk-upstream-secret"), "{}", tested.text());
    let log = world.upstream.log();
    let asked: Vec<Value> =
        log.calls().map(|call| serde_json::from_slice(&call.body).expect("JSON")).collect();
    assert_eq!(asked.len(), 2);
    assert!(asked.iter().all(|body| body["max_tokens"] == 8), "{asked:?}");
    let state = world.get("/api/v1/state").await.json();
    assert_eq!(
        state["queues"][0]["candidates"][1]["today"],
        json!({ "successes": 0, "failures": 0 })
    );
    assert_eq!(state["sessions_known"], 0, "{state}");
    assert_eq!(world.get("/api/v1/journal").await.json()["entries"], json!([]));
    assert_eq!(world.get("/api/v1/ledger").await.json()["sums"], json!([]));
}

#[tokio::test(start_paused = true)]
async fn r39_a_candidate_that_hangs_is_left_after_15_seconds_and_four_run_at_once() {
    let candidates: Vec<String> = (0..9).map(|at| format!("\"chat/m{at}\"")).collect();
    let settings =
        SETTINGS.replace("candidates = []", &format!("candidates = [{}]", candidates.join(",")));
    let world = World::with(&settings, "hang");
    let clock = world.gateway.core().clock();
    let began_ms = clock.now().mono_ms;
    let tested = world.send(post("/api/v1/queues/bare/test", "")).await.json();
    assert_eq!((clock.now().mono_ms - began_ms) / 1_000, 45, "nine, four at a time");
    let classes: Vec<_> =
        tested["candidates"].as_array().expect("all").iter().map(|it| &it["class"]).collect();
    assert_eq!(classes, vec!["timeout"; 9]);
}

#[tokio::test(start_paused = true)]
async fn r34_the_ledger_sums_by_what_is_asked_and_pages() {
    let world = lived().await;
    world.gateway.core().tasks().idle().await;
    let by_session = world.get("/api/v1/ledger?by=session&limit=1").await.json();
    assert_eq!(by_session["sums"][0]["key"], "open.a", "{by_session}");
    let next = by_session["next"].as_str().expect("another page");
    let rest = world.get(&format!("/api/v1/ledger?by=session&after={next}")).await.json();
    assert_eq!(rest["sums"][0]["key"], "open.b", "{rest}");
    assert_eq!(rest["next"], Value::Null);
    let by_route = world.get("/api/v1/ledger?by=route").await.json();
    let attempts = |of: &Value| of["attempts"].as_u64().expect("a number");
    let sums = by_route["sums"].as_array().expect("sums").iter();
    let (all, waste) = sums.fold((0, 0), |(all, waste), sum| {
        (all + attempts(&sum["all"]), waste + attempts(&sum["waste"]))
    });
    assert!(all > waste && waste > 0, "{by_route}");
    let bad = world.get("/api/v1/ledger?by=moon").await;
    assert_eq!((bad.status, bad.json()["error"]["code"].clone()), (400, json!("bad_query")));
}

#[tokio::test(start_paused = true)]
async fn r32_the_journal_is_filtered_and_paged() {
    let world = lived().await;
    let all = world.get("/api/v1/journal").await.json()["entries"].clone();
    let all = all.as_array().expect("entries");
    let page = world.get("/api/v1/journal?limit=1").await.json();
    let next = page["next"].as_u64().expect("another page");
    let rest = world.get(&format!("/api/v1/journal?before={next}")).await.json();
    assert_eq!(rest["entries"], json!(all[1..]));
    let kind = all[0]["what"].as_str().expect("a kind");
    let same = world.get(&format!("/api/v1/journal?what={kind}")).await.json();
    let same = same["entries"].as_array().expect("entries").clone();
    assert!(!same.is_empty() && same.iter().all(|entry| entry["what"] == kind), "{same:?}");
    let call = all.iter().find_map(|entry| entry["call"].as_str()).expect("a call's entry");
    let its = world.get(&format!("/api/v1/journal?call={call}")).await.json();
    assert!(its["entries"].as_array().expect("entries").iter().all(|entry| entry["call"] == call));
}
