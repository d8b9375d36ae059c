//! Pause, resume and stop (P5).

use std::sync::Arc;

use bytes::Bytes;
use ekiden_gateway::{CoreOptions, Gateway};
use ekiden_sim::Upstream;
use ekiden_store::{Ending, MemoryStore, Record, Store};
use http::{Method, Request};
use http_body_util::Full;
use serde_json::{Value, json};

use crate::support::{
    Answer, CHAT, MESSAGES, SETTINGS, World, config, hello, options, post, request, streamed,
};

const PERSISTING: &str = "\n[defaults]\npolicy = \"persist\"\n";

async fn open_call(world: &World) -> String {
    loop {
        let calls = world.get("/api/v1/calls").await.json();
        if let Some(call) = calls["open"][0]["call"].as_str() {
            return call.to_owned();
        }
        tokio::task::yield_now().await;
    }
}

async fn kinds(world: &World) -> Vec<String> {
    let journal = world.get("/api/v1/journal").await.json();
    let entries = journal["entries"].as_array().expect("entries").iter();
    entries.map(|entry| entry["what"].as_str().expect("a kind").to_owned()).collect()
}

#[tokio::test(start_paused = true)]
async fn p05_a_stopped_call_ends_with_an_error_and_blames_nobody() {
    for (path, queue) in [(CHAT, "default"), (MESSAGES, "opus")] {
        for body in [hello(queue), streamed(queue)] {
            let (world, answer, call) = stopped(path, &body, "hang").await;
            assert_eq!(answer.status, 499, "{path}: {answer:?}");
            assert_eq!(answer.header("x-should-retry"), Some("false"));
            assert_eq!(answer.message(), "Somebody stopped this call.");
            is_called_stopped(path, &answer.json()["error"]);
            is_told_as_stopped(&world, &call).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn p05_an_answer_that_is_stopped_after_output_ends_with_an_error_and_no_cut() {
    for (path, queue) in [(CHAT, "default"), (MESSAGES, "opus")] {
        // Of the first client of each it is known that it is told of a break by a cut.
        for agent in ["claude-cli/2.1.332 (external, sdk-cli)", "openai/js 7.59.0"] {
            let headers = [("content-type", "application/json"), ("user-agent", agent)];
            let body = streamed(queue).to_string();
            let asked = request(Method::POST, path, &headers, body);
            let (world, answer, call) =
                stopped_of(asked, "ok:one two three four five six | drip:10s").await;
            assert_eq!(answer.status, 200, "{answer:?}");
            let text = answer.text();
            assert!(text.contains("one"), "some was shown: {text}");
            let last = text.trim_end().rsplit("data: ").next().expect("an event");
            let last: Value = serde_json::from_str(last).expect("JSON");
            assert_eq!(last["error"]["message"], "Somebody stopped this call.");
            is_called_stopped(path, &last["error"]);
            is_told_as_stopped(&world, &call).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn p05_a_call_that_is_stopped_while_it_waits_names_who_failed_before() {
    let world = World::with(&format!("{SETTINGS}{PERSISTING}"), "503");
    let body = hello("default");
    let stopping = async {
        let call = open_call(&world).await;
        tokio::time::sleep(std::time::Duration::from_secs(60)).await;
        world.post(&format!("/api/v1/calls/{call}/stop"), &json!({})).await;
        call
    };
    let (answer, call) = tokio::join!(world.post(CHAT, &body), stopping);
    assert_eq!(answer.status, 499, "{answer:?}");
    let message = answer.message();
    assert!(message.starts_with("Somebody stopped this call. (chat/m: overloaded; "), "{message}");
    let told = world.get(&format!("/api/v1/calls/{call}")).await.json();
    assert_eq!((&told["state"], &told["told"]["code"]), (&json!("stopped"), &json!("stopped")));
}

/// A call that hangs at its upstream, or has got some of its answer, and is stopped.
async fn stopped(path: &str, body: &Value, script: &str) -> (World, Answer, String) {
    stopped_of(post(path, body.to_string()), script).await
}

async fn stopped_of(asked: Request<Full<Bytes>>, script: &str) -> (World, Answer, String) {
    let world = World::new(script);
    let stopping = async {
        let call = open_call(&world).await;
        // Virtual: past the first words, and within every clock.
        tokio::time::sleep(std::time::Duration::from_secs(25)).await;
        let told = world.post(&format!("/api/v1/calls/{call}/stop"), &json!({})).await;
        assert_eq!((told.status, told.json()), (200, json!({ "stopped": call })));
        call
    };
    let (answer, call) = tokio::join!(world.send(asked), stopping);
    (world, answer, call)
}

fn is_called_stopped(path: &str, error: &Value) {
    assert_eq!(error["type"], "call_stopped", "{error}");
    if path == CHAT {
        assert_eq!(error["code"], "call_stopped", "{error}");
    }
}

/// In the call's record, the journal and the ledger; nowhere is anybody blamed.
async fn is_told_as_stopped(world: &World, call: &str) {
    world.gateway.core().tasks().idle().await;
    let told = world.get(&format!("/api/v1/calls/{call}")).await.json();
    assert_eq!((&told["state"], &told["told"]), (&json!("stopped"), &json!({ "code": "stopped" })));
    let steps = told["steps"].as_array().expect("steps");
    assert!(steps.iter().any(|step| step["step"] == "stopped"), "{told}");
    assert_eq!(told["attempts"][0]["class"], "aborted", "{told}");
    assert_eq!(kinds(world).await, ["refused", "stopped"], "neither a stall nor a quarantine");
    let entries = world.get("/api/v1/journal").await.json();
    assert_eq!(entries["entries"][0]["told"], json!({ "code": "stopped" }), "{entries}");
    assert_eq!(world.gateway.core().store().calls(1)[0].ending, Ending::Stopped);
    let state = world.get("/api/v1/state").await.json();
    let blamed = |session: &Value| session["quarantined"] != json!([]);
    assert!(!state["sessions"].as_array().expect("sessions").iter().any(blamed), "{state}");
    for candidate in state["queues"][0]["candidates"].as_array().expect("candidates") {
        assert_eq!(
            (&candidate["state"], &candidate["today"]["failures"]),
            (&json!("ready"), &json!(0))
        );
    }
    let log = world.upstream.wait_for(|log| log.in_flight == 0).await;
    assert_eq!(log.calls().count(), 1, "nobody else is asked");
    let again = world.post(&format!("/api/v1/calls/{call}/stop"), &json!({})).await;
    assert_eq!((again.status, again.json()["error"]["code"].clone()), (404, json!("no_such_call")));
}

#[tokio::test(start_paused = true)]
async fn p05_a_pause_ends_waits_and_outlives_the_process_until_it_is_resumed() {
    let store = Arc::new(MemoryStore::default());
    let world = |script: &str| {
        let upstream = Upstream::new(script.parse().expect("a script"));
        let kept: Arc<dyn Store> = Arc::clone(&store) as Arc<dyn Store>;
        let options = CoreOptions { store: Some(kept), ..options(&upstream) };
        let gateway = Gateway::in_process(config(&format!("{SETTINGS}{PERSISTING}")), options);
        World { gateway, upstream, folder: None }
    };
    let first = world("500");
    let pausing = async {
        open_call(&first).await;
        tokio::time::sleep(std::time::Duration::from_secs(60)).await;
        assert!(first.upstream.log().requests.len() > 3, "it goes round");
        let state = first.get("/api/v1/state").await.json();
        let waits = &state["waits"][0];
        let wait =
            json!({ "session": waits["session"], "queue": waits["queue"], "for": waits["for"] });
        let session = state["sessions"][0]["key"].clone();
        assert_eq!(
            wait,
            json!({ "session": session, "queue": "default", "for": "round" }),
            "{state}"
        );
        assert!(waits["since_ms"].as_u64() <= state["now_ms"].as_u64(), "{state}");
        let told = first.post("/api/v1/pause", &json!({})).await;
        assert_eq!((told.status, told.json()), (200, json!({ "paused": true, "session": null })));
    };
    let body = hello("default");
    let (answer, ()) = tokio::join!(first.post(CHAT, &body), pausing);
    assert!(answer.status >= 400, "with its last failure: {answer:?}");
    assert_eq!(first.get("/api/v1/state").await.json()["waits"], json!(null), "nobody waits");
    assert_eq!(first.get("/api/v1/state").await.json()["pauses"], json!([null]));
    let asked = first.upstream.log().requests.len();
    assert!(first.post(CHAT, &hello("default")).await.status >= 400, "later ones do not persist");
    assert_eq!(first.upstream.log().requests.len(), asked + 1, "one round");
    drop(first);

    let second = world("500; 500; ok:Yes.");
    assert_eq!(second.get("/api/v1/state").await.json()["pauses"], json!([null]));
    let told = second.post("/api/v1/resume", &json!({})).await;
    assert_eq!(told.json(), json!({ "paused": false, "session": null }));
    assert_eq!(second.get("/api/v1/state").await.json()["pauses"], json!([]));
    assert_eq!(second.post(CHAT, &hello("default")).await.status, 200, "it persists again");
    assert_eq!(kinds(&second).await.iter().filter(|kind| *kind == "resumed").count(), 1);
    // One session alone.
    let key = second.get("/api/v1/sessions").await.json()["sessions"][0]["key"].clone();
    let told = second.post("/api/v1/pause", &json!({ "session": key })).await;
    assert_eq!(told.json(), json!({ "paused": true, "session": key }));
    assert_eq!(second.get("/api/v1/state").await.json()["pauses"], json!([key]));
    let kept = store.recall();
    assert!(kept.iter().any(|record| matches!(record, Record::Paused { session: Some(_), .. })));
    let nobody = second.post("/api/v1/pause", &json!({ "session": "nobody" })).await;
    assert_eq!(nobody.status, 404);
}

#[tokio::test(start_paused = true)]
async fn r00_the_state_tells_what_is_off() {
    let on = |settings: &str| {
        let world = World::on_file(settings, "ok:Yes.");
        async move {
            let state = world.get("/api/v1/state").await.json();
            let queues = state["queues"].as_array().expect("queues").iter();
            let queues = queues.map(|queue| (queue["id"] == "opus", queue["enabled"] == true));
            (state["enabled"] == true, queues.collect::<Vec<_>>())
        }
    };
    let (all, queues) = on(SETTINGS).await;
    assert!(all && queues.iter().all(|(_, on)| *on), "{queues:?}");
    let (all, queues) =
        on(&SETTINGS.replace("[queues.opus]", "[queues.opus]\nenabled = false")).await;
    assert!(all && queues.iter().all(|(opus, on)| opus != on), "{queues:?}");
    let (all, queues) = on(&format!("enabled = false\n{SETTINGS}")).await;
    assert!(!all && !queues.iter().any(|(_, on)| *on), "{queues:?}");
}
