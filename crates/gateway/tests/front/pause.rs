//! Pause, resume and stop (P5).

use std::sync::Arc;

use ekiden_gateway::{CoreOptions, Gateway};
use ekiden_sim::Upstream;
use ekiden_store::{MemoryStore, Record, Store};
use serde_json::{Value, json};

use crate::support::{CHAT, SETTINGS, World, config, hello, options};

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
    for (script, stream) in [("hang", false), ("hang", true)] {
        let world = World::new(script);
        let mut body = hello("default");
        body["stream"] = json!(stream);
        let stopping = async {
            let call = open_call(&world).await;
            while world.upstream.log().requests.is_empty() {
                tokio::task::yield_now().await;
            }
            let told = world.post(&format!("/api/v1/calls/{call}/stop"), &json!({})).await;
            assert_eq!((told.status, told.json()), (200, json!({ "stopped": call })));
            call
        };
        let (answer, call) = tokio::join!(world.post(CHAT, &body), stopping);
        assert_eq!(answer.status, 429, "{script}: {answer:?}");
        assert_eq!(answer.header("x-should-retry"), Some("false"));
        assert!(answer.message().contains("stopped"), "{}", answer.message());
        let state = world.get("/api/v1/state").await.json();
        let blamed = |session: &Value| session["quarantined"] != json!([]);
        assert!(!state["sessions"].as_array().expect("sessions").iter().any(blamed), "{state}");
        assert_eq!(state["queues"][0]["candidates"][0]["today"]["failures"], 0);
        assert!(kinds(&world).await.contains(&"stopped".to_owned()));
        let again = world.post(&format!("/api/v1/calls/{call}/stop"), &json!({})).await;
        assert_eq!(
            (again.status, again.json()["error"]["code"].clone()),
            (404, json!("no_such_call"))
        );
    }
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
        let told = first.post("/api/v1/pause", &json!({})).await;
        assert_eq!((told.status, told.json()), (200, json!({ "paused": true, "session": null })));
    };
    let body = hello("default");
    let (answer, ()) = tokio::join!(first.post(CHAT, &body), pausing);
    assert!(answer.status >= 400, "with its last failure: {answer:?}");
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
