//! The gateway's own interface.

use http::Method;
use serde_json::{Value, json};

use crate::support::{Answer, CHAT, SETTINGS, World, hello, post, request, streamed};

async fn call(world: &World, session: &str) -> Answer {
    let headers = [("x-ekiden-session", session)];
    world.send(request(Method::POST, CHAT, &headers, streamed("default").to_string())).await
}

async fn state(world: &World) -> Value {
    world.get("/api/v1/state").await.json()
}

fn world(script: &str) -> World {
    let queue = "[queues.default]\nretries = 0\nname = \"默认模板\"\n\
        candidates = [{ route = \"chat/m\", max_sessions = 1 }, \"chat/n\"]";
    let settings = SETTINGS.replace(
        "[queues.default]\nname = \"默认模板\"\ncandidates = [\"chat/m\", \"claude/c\"]",
        queue,
    );
    assert!(settings.contains("retries = 0"), "the settings were changed");
    let world = World::with(&settings, "ok:Yes.");
    world.upstream.script_for("m", script.parse().expect("a script"));
    world
}

#[tokio::test(start_paused = true)]
async fn r17_state_shows_what_is_out_for_whom_and_release_lets_it_go() {
    let world = world("500; ok:Yes.");
    let answer = call(&world, "a").await;
    assert_eq!((answer.status, answer.header("x-ekiden-candidate")), (200, Some("chat/n")));
    assert_eq!(call(&world, "b").await.status, 200);
    let seen = state(&world).await;
    let out = &seen["sessions"][0];
    assert_eq!(out["key"], "open.a");
    assert_eq!(out["quarantined"][0]["route"], "chat/m");
    assert_eq!(out["quarantined"][0]["class"], "server_error");
    let listed = world.get("/api/v1/sessions").await.json();
    let said = &listed["sessions"][0]["quarantined"][0]["evidence"];
    assert_eq!(said["status"], 500, "{listed}");
    let bad = post("/api/v1/release", json!({ "session": "nobody" }).to_string());
    assert_eq!(world.send(bad).await.status, 404);
    let wish = json!({ "session": "a", "queue": "default", "route": "chat/m" });
    let released = world.post("/api/v1/release", &wish).await;
    assert_eq!(released.json(), json!({ "released": "place", "for_everybody": false }));
    let seen = state(&world).await;
    let still = seen["sessions"].as_array().expect("sessions").iter();
    assert!(still.clone().all(|session| session["quarantined"] == json!([])), "{seen}");
}

#[tokio::test(start_paused = true)]
async fn r19_a_route_is_released_for_everybody_and_says_so() {
    let world = world("429:600; ok:Yes.");
    assert_eq!(call(&world, "a").await.header("x-ekiden-candidate"), Some("chat/n"));
    let cooling = state(&world).await["queues"][0]["candidates"][0].clone();
    assert_eq!(cooling["state"], "cooling");
    assert!(cooling["ends_in_ms"].as_u64().is_some_and(|ms| ms > 500_000), "{cooling}");
    let released = world.post("/api/v1/release", &json!({ "route": "chat/m" })).await;
    assert_eq!(released.json(), json!({ "released": "route", "for_everybody": true }));
    assert_eq!(state(&world).await["queues"][0]["candidates"][0]["state"], "ready");
}

#[tokio::test(start_paused = true)]
async fn r19_a_wish_that_names_nothing_or_too_much_is_told_the_forms() {
    let world = world("ok:Yes.");
    for wish in [
        json!({}),
        json!({ "all": true, "route": "chat/m" }),
        json!({ "session": "a", "route": "chat/m" }),
        json!({ "queue": "default" }),
        json!({ "sesion": "a" }),
        json!([]),
    ] {
        let answer = world.post("/api/v1/release", &wish).await;
        assert_eq!(answer.status, 400, "{wish}");
        let told = format!("{} {}", answer.message(), answer.hint());
        assert!(told.contains("{\"all\": true}"), "{told}");
    }
    assert_eq!(world.post("/api/v1/release", &json!({ "route": "chat/zzz" })).await.status, 200);
    assert_eq!(world.post("/api/v1/release", &json!({ "route": "no/such" })).await.status, 404);
    assert_eq!(world.post("/api/v1/release", &json!({ "all": true })).await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn g04_a_session_is_ended_by_its_name_and_its_seat_is_free() {
    let world = world("ok:Yes.");
    assert_eq!(call(&world, "a").await.header("x-ekiden-candidate"), Some("chat/m"));
    assert_eq!(state(&world).await["sessions"][0]["seats"], json!(["chat/m"]));
    assert_eq!(call(&world, "b").await.header("x-ekiden-candidate"), Some("chat/n"), "full");
    let ended = world.send(post("/api/v1/sessions/a/end", "")).await;
    assert_eq!(ended.json(), json!({ "ended": "open.a" }));
    let sessions = state(&world).await["sessions"].clone();
    let seats = sessions.as_array().expect("sessions").iter();
    assert!(seats.clone().all(|session| session["seats"] == json!([])), "{sessions}");
    assert_eq!(world.send(post("/api/v1/sessions/zzz/end", "")).await.status, 404);
}

#[tokio::test(start_paused = true)]
async fn r33_a_call_is_found_by_its_id_and_its_trace_replays() {
    let world = world("500; ok:Yes.");
    let answer = call(&world, "a").await;
    let id = answer.header("x-ekiden-call").expect("an id").to_owned();
    world.gateway.core().tasks().idle().await;
    let list = world.get("/api/v1/calls?limit=5").await.json();
    assert_eq!(list["past"][0]["call"], id.as_str(), "{list}");
    let shown = world.get(&format!("/api/v1/calls/{id}")).await.json();
    assert_eq!((&shown["state"], &shown["route"]), (&json!("whole"), &json!("chat/n")), "{shown}");
    assert_eq!(shown["attempts"][0]["class"], "server_error", "{shown}");
    let steps: Vec<_> = shown["steps"].as_array().expect("steps").iter().collect();
    let named = |step: &str, route: &str| {
        steps.iter().position(|found| found["step"] == step && found["route"] == route)
    };
    assert!(named("began", "chat/m") < named("began", "chat/n"), "{shown}");
    assert!(steps.iter().any(|step| step["step"] == "failed" && step["class"] == "server_error"));
    let trace = world.get(&format!("/api/v1/calls/{id}/trace")).await;
    let trace = ekiden_engine::Trace::from_text(&trace.text()).expect("a trace");
    trace.replay().expect("the same decisions");
    assert_eq!(world.get("/api/v1/calls/ek-0-0").await.status, 404);
}

#[tokio::test(start_paused = true)]
async fn r32_the_journal_tells_in_codes_newest_first_and_holds_no_secret() {
    let world = world("401 | body:{\"error\":{\"message\":\"bad key sk-upstream-secret\"}}");
    assert_eq!(call(&world, "a").await.status, 200);
    let journal = world.get("/api/v1/journal").await;
    let entries = journal.json()["entries"].as_array().expect("entries").clone();
    let codes: Vec<_> = entries.iter().filter_map(|entry| entry["what"].as_str()).collect();
    assert!(codes.contains(&"quarantined") && codes.contains(&"failed_over"), "{codes:?}");
    let numbers: Vec<_> = entries.iter().filter_map(|entry| entry["number"].as_u64()).collect();
    assert!(numbers.is_sorted_by(|a, b| a > b), "{numbers:?}");
    assert!(!journal.text().contains("sk-upstream-secret"), "{}", journal.text());
    assert_eq!(world.get("/api/v1/journal?limit=1").await.json()["entries"][0], entries[0]);
}

#[tokio::test(start_paused = true)]
async fn g07_no_key_and_no_prompt_is_in_the_state() {
    let world = world("ok:Yes.");
    let mut body = hello("default");
    body["messages"][0]["content"] = "a very private prompt".into();
    assert_eq!(world.post(CHAT, &body).await.status, 200);
    for path in ["/api/v1/state", "/api/v1/calls", "/api/v1/journal"] {
        let text = world.get(path).await.text();
        assert!(!text.contains("sk-upstream-secret") && !text.contains("private"), "{text}");
    }
}
