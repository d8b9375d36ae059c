//! The catalog: what is known of models without asking, and what a rescan asks (R35 to R38).

use std::sync::Arc;

use ekiden_gateway::{CoreOptions, Gateway};
use ekiden_sim::{Endpoint, Upstream};
use ekiden_store::{Catalog, MemoryStore, Record, Store};
use http::Method;
use serde_json::{Value, json};

use crate::support::{CHAT, SETTINGS, World, config, hello, options, request};

const PATH: &str = "/api/v1/catalog";

fn provider<'a>(catalog: &'a Value, id: &str) -> &'a Value {
    let providers = catalog["providers"].as_array().expect("providers");
    providers.iter().find(|it| it["id"] == id).unwrap_or_else(|| panic!("no {id}: {catalog}"))
}

fn models(provider: &Value) -> Vec<&str> {
    let models = provider["models"].as_array().expect("models").iter();
    models.map(|model| model["model"].as_str().expect("a name")).collect()
}

/// A gateway whose store has kept something.
fn world(settings: &str, store: &Arc<MemoryStore>) -> World {
    let upstream = Upstream::new("ok:Yes.".parse().expect("a script"));
    let store: Arc<dyn Store> = Arc::clone(store) as Arc<dyn Store>;
    let options = CoreOptions { store: Some(store), ..options(&upstream) };
    World { gateway: Gateway::in_process(config(settings), options), upstream, folder: None }
}

fn kept(provider: &str, version: u32, json: &Value) -> Record {
    let (provider, json) = (provider.into(), json.to_string().into());
    Record::Catalog(Catalog { provider, version, json })
}

#[tokio::test(start_paused = true)]
async fn r37_looking_asks_nobody_and_a_rescan_forgets_and_asks_again() {
    let world = World::new("ok:Yes.");
    world.upstream.list_models(["m", "newer"]);
    for path in [PATH, "/v1/models", "/api/v1/state"] {
        assert_eq!(world.get(path).await.status, 200, "{path}");
    }
    assert_eq!(world.upstream.log().requests.len(), 0, "looking asks nobody");
    let before = world.get(PATH).await.json();
    assert_eq!(before["scanned_ms"], Value::Null);
    assert_eq!(models(provider(&before, "chat")), ["m"], "what the settings name");
    let told = world.post("/api/v1/catalog/rescan", &json!({ "providers": ["chat"] })).await;
    let told = told.json();
    assert_eq!(models(provider(&told, "chat")), ["m", "newer"]);
    assert_eq!(provider(&told, "chat")["models"][1]["offered"], true);
    assert_eq!(provider(&told, "claude")["scanned_ms"], Value::Null, "only who was named");
    let asked = world.upstream.log().requests;
    assert_eq!((asked.len(), asked[0].path.as_str()), (1, "/v1/models"));
    world.upstream.list_models(["other"]);
    let again = world.post("/api/v1/catalog/rescan", &json!({})).await.json();
    assert_eq!(models(provider(&again, "chat")), ["m", "other"], "the old list is forgotten");
    assert_eq!(provider(&again, "chat")["models"][0]["offered"], false);
    assert_eq!(models(provider(&again, "claude")), ["c", "other"]);
    assert!(again["scanned_ms"].is_u64() && again["scanning"] == false, "{again}");
    let asked = world.upstream.log().requests.len();
    assert_eq!(world.get(PATH).await.json(), again);
    assert_eq!(world.upstream.log().requests.len(), asked);
    let nobody = world.post("/api/v1/catalog/rescan", &json!({ "providers": ["x"] })).await;
    assert_eq!(
        (nobody.status, nobody.json()["error"]["code"].clone()),
        (404, json!("no_such_provider"))
    );
}

#[tokio::test(start_paused = true)]
async fn r37_a_provider_that_cannot_be_asked_says_why_and_holds_nobody_up() {
    let world = World::new("ok:Yes.");
    for (script, trouble) in [
        ("503", "http_503"),
        ("hang", "unreachable"),
        ("reset", "unreachable"),
        ("401", "http_401"),
    ] {
        world.upstream.script_at(Endpoint::Models, script.parse().expect("a script"));
        let told = world.post("/api/v1/catalog/rescan", &json!({})).await.json();
        assert_eq!(provider(&told, "chat")["trouble"], trouble, "{script}");
        assert_eq!(models(provider(&told, "chat")), ["m"], "what is known without asking");
        assert!(!told.to_string().contains("sk-upstream-secret"));
    }
    world.upstream.script_at(Endpoint::Models, "ok".parse().expect("a script"));
    let told = world.post("/api/v1/catalog/rescan", &json!({})).await.json();
    assert_eq!(provider(&told, "chat")["trouble"], Value::Null);
}

#[tokio::test(start_paused = true)]
async fn r37_what_was_asked_outlives_the_process_and_what_cannot_be_read_is_thrown_away() {
    let store = Arc::new(MemoryStore::default());
    let first = world(SETTINGS, &store);
    first.upstream.list_models(["kept"]);
    let _ = first.post("/api/v1/catalog/rescan", &json!({})).await;
    drop(first);
    let second = world(SETTINGS, &store);
    let told = second.get(PATH).await.json();
    assert_eq!(models(provider(&told, "chat")), ["m", "kept"]);
    assert_eq!(second.upstream.log().requests.len(), 0);
    drop(second);
    // At another address it is another provider.
    let moved = world(&SETTINGS.replace("http://chat.test/v1", "http://other.test/v1"), &store);
    assert_eq!(models(provider(&moved.get(PATH).await.json(), "chat")), ["m"]);
    drop(moved);
    for unreadable in [kept("chat", 99, &json!({})), kept("chat", 1, &json!({ "models": 3 }))] {
        store.write(vec![unreadable]);
        let third = world(SETTINGS, &store);
        assert_eq!(models(provider(&third.get(PATH).await.json(), "chat")), ["m"]);
        assert!(store.catalogs().iter().all(|catalog| &*catalog.provider != "chat"));
    }
}

#[tokio::test(start_paused = true)]
async fn r35_r36_what_a_provider_says_of_a_model_holds_unless_the_user_says_otherwise() {
    let store = Arc::new(MemoryStore::default());
    let model = json!({ "model": "m", "context_window": 50_000, "effort_levels": ["low", "high"] });
    let offer = json!({ "base_url": "http://chat.test/v1", "scanned_ms": 7, "models": [model] });
    store.write(vec![kept("chat", 1, &offer)]);
    let world = world(SETTINGS, &store);
    let state = world.get("/api/v1/state").await.json();
    let queue = &state["queues"][0];
    assert_eq!(
        (&queue["context_window"], &queue["compaction_point"]),
        (&json!(50_000), &json!(40_000))
    );
    assert_eq!(queue["candidates"][0]["effort_levels"], json!(["low", "high"]));
    let listed = world.get("/v1/models").await.json();
    assert_eq!(listed["data"][0]["context_length"], 50_000, "the queue declares it: {listed}");
    // R35: a level that it does not have is not sent; one that it has goes on.
    for (asked, sent) in [("medium", Value::Null), ("high", json!("high"))] {
        let mut body = hello("default");
        body["reasoning_effort"] = json!(asked);
        assert_eq!(world.post(CHAT, &body).await.status, 200);
        let log = world.upstream.log();
        let last: Value =
            serde_json::from_slice(&log.requests.last().expect("one").body).expect("JSON");
        assert_eq!(last["reasoning_effort"], sent, "{asked}");
    }
    let own = "{ route = \"chat/m\", context_window = 8000 }";
    let mine = SETTINGS.replacen("\"chat/m\"", own, 1);
    let world = self::world(&mine, &store);
    let state = world.get("/api/v1/state").await.json();
    assert_eq!(state["queues"][0]["context_window"], 8_000);
}

#[tokio::test(start_paused = true)]
async fn r36_r38_well_known_models_have_windows_and_prices_and_a_hidden_provider_is_shown_without()
{
    let more = "\n[providers.deepseek]\nbase_url = \"https://api.deepseek.com/v1\"\n\
                dialect = \"openai-chat\"\napi_key = \"sk-x\"\n";
    let world = World::on_file(&format!("{SETTINGS}{more}"), "ok:Yes.");
    let told = world.get(PATH).await.json();
    assert!(told["known"]["source"].as_str().is_some_and(|source| source.contains("0.73.1")));
    let deepseek = provider(&told, "deepseek");
    let pro = deepseek["models"].as_array().expect("models").iter();
    let pro = pro.clone().find(|model| model["model"] == "deepseek-v4-pro").expect("it");
    let want = json!({
        "model": "deepseek-v4-pro", "name": "deepseek-v4-pro", "offered": null,
        "context_window": 1_000_000, "compaction_point": 800_000, "window_source": "known",
        "max_tokens": 384_000, "efforts": ["high", "max"], "efforts_source": "known",
        "price": "USD 0.435 in, 0.87 out, 0.003625 cached",
    });
    assert_eq!(*pro, want);
    for (hidden, shown) in [(json!(["deepseek", "gone"]), false), (json!([]), true)] {
        let seen = world.get("/api/v1/settings").await;
        let tag = seen.header("etag").expect("a tag").to_owned();
        let change = json!({ "do": "set", "path": "hidden_providers", "value": hidden });
        let body = json!({ "changes": [change] }).to_string();
        let headers = [("if-match", tag.as_str())];
        let changed = world.send(request(Method::PATCH, "/api/v1/settings", &headers, body)).await;
        assert_eq!(changed.status, 200, "{changed:?}");
        let told = world.get(PATH).await.json();
        assert_eq!(provider(&told, "deepseek")["hidden"], !shown);
        assert_eq!(models(provider(&told, "deepseek")).is_empty(), !shown);
    }
}
