//! Settings, keys and queues by the interface.

use http::{Method, Request};
use http_body_util::Full;
use serde_json::{Value, json};

use crate::support::{Answer, CHAT, SETTINGS, World, hello, post, request};

const PATH: &str = "/api/v1/settings";

fn world() -> World {
    World::on_file(&format!("# Mine.\nreset_hour = 3 # early\n{SETTINGS}"), "ok:Yes.")
}

async fn ask(world: &World, method: Method, path: &str, body: &Value) -> Answer {
    world.send(request(method, path, &[], body.to_string())).await
}

async fn hash(world: &World) -> String {
    let answer = world.get(PATH).await;
    let hash = answer.json()["hash"].as_str().expect("a hash").to_owned();
    assert_eq!(answer.header("etag"), Some(format!("\"{hash}\"").as_str()));
    hash
}

async fn change(world: &World, seen: &str, changes: Value) -> Answer {
    let tag = format!("\"{seen}\"");
    let body = json!({ "changes": changes }).to_string();
    let headers = [("if-match", tag.as_str())];
    world.send(request(Method::PATCH, PATH, &headers, body)).await
}

fn setting<'a>(settings: &'a Value, path: &str) -> &'a Value {
    let list = settings["settings"].as_array().expect("settings");
    list.iter().find(|it| it["path"] == path).unwrap_or_else(|| panic!("no {path}"))
}

#[tokio::test(start_paused = true)]
async fn g07_settings_tell_value_default_bounds_and_origin_and_no_key() {
    let world = world();
    let answer = world.get(PATH).await;
    assert!(!answer.text().contains("sk-upstream-secret"), "{}", answer.text());
    let settings = answer.json();
    let hour = setting(&settings, "reset_hour");
    assert_eq!((&hour["value"], &hour["default"]), (&json!(3), &json!("1")));
    assert_eq!(hour["origin"], json!({ "from": "file", "line": 2 }));
    assert_eq!(hour["takes"], json!({ "kind": "integer", "min": 0, "max": 23 }));
    assert!(hour["about"]["zh"].as_str().is_some_and(|about| !about.is_empty()));
    let retries = setting(&settings, "queues.default.retries");
    assert_eq!((&retries["value"], &retries["origin"]), (&json!(2), &json!({ "from": "default" })));
    let idle = setting(&settings, "queues.default.idle_timeout");
    assert_eq!(idle["value"], "2m");
}

#[tokio::test(start_paused = true)]
async fn g07_a_change_holds_at_once_and_keeps_comments() {
    let world = world();
    let seen = hash(&world).await;
    let changes = json!([
        { "do": "set", "path": "reset_hour", "value": 4 },
        { "do": "set", "path": "queues.default.idle_timeout", "value": "90s" },
        { "do": "set_candidate", "queue": "default", "route": "chat/m", "key": "max_sessions", "value": 2 },
    ]);
    let changed = change(&world, &seen, changes).await;
    assert_eq!(changed.status, 200, "{changed:?}");
    assert!(world.file().starts_with("# Mine.\nreset_hour = 4 # early\n"), "{}", world.file());
    let settings = world.get(PATH).await.json();
    assert_eq!(settings["hash"], changed.json()["hash"]);
    assert_eq!(setting(&settings, "queues.default.idle_timeout")["value"], "90s");
    assert_eq!(setting(&settings, "queues.default.candidates.0.max_sessions")["value"], 2);
    let journal = world.get("/api/v1/journal?what=settings_taken").await.json();
    assert_eq!(journal["entries"].as_array().map(Vec::len), Some(1), "{journal}");
}

#[tokio::test(start_paused = true)]
async fn g07_who_did_not_see_what_stands_there_changes_nothing() {
    let world = world();
    let seen = hash(&world).await;
    let set = |value: u32| json!([{ "do": "set", "path": "reset_hour", "value": value }]);
    let without = ask(&world, Method::PATCH, PATH, &json!({ "changes": set(5) })).await;
    assert_eq!(without.status, 428, "{without:?}");
    let folder = world.folder.as_ref().expect("a folder").path();
    let text = format!("{}# by an editor\n", world.file());
    std::fs::write(folder.join("config.toml"), &text).expect("written");
    let late = change(&world, &seen, set(5)).await;
    assert_eq!((late.status, late.json()["error"]["code"].clone()), (412, json!("changed")));
    assert_eq!(world.file(), text);
    let now = late.header("etag").expect("what it is now").trim_matches('"').to_owned();
    assert_eq!(change(&world, &now, set(5)).await.status, 200);
    assert!(world.file().contains("reset_hour = 5") && world.file().contains("# by an editor"));
}

#[tokio::test(start_paused = true)]
async fn g07_whoever_changes_a_file_that_is_refused_hears_what_is_wrong_with_it() {
    let world = world();
    let seen = hash(&world).await;
    let set = json!([{ "do": "set", "path": "queues.default.retries", "value": 1 }]);
    let folder = world.folder.as_ref().expect("a folder").path();
    let text = world.file().replace("reset_hour = 3", "reset_hour = 99");
    std::fs::write(folder.join("config.toml"), &text).expect("written");
    let told = change(&world, &seen, set).await;
    assert_eq!((told.status, told.json()["error"]["code"].clone()), (409, json!("refused")));
    let message = told.message();
    for part in ["cannot be used", "config.toml:2: `reset_hour`"] {
        assert!(message.contains(part), "{message}");
    }
    assert!(told.hint().contains("mend it first"), "{told:?}");
    let problem = &told.json()["error"]["problems"][0];
    assert_eq!((&problem["code"], &problem["line"]), (&json!("out_of_bounds"), &json!(2)));
    world.post("/api/v1/settings/reload", &json!({})).await;
    let shown = &world.get("/api/v1/state").await.json()["settings"]["refused"][0];
    assert_eq!((&shown["code"], &shown["line"]), (&json!("out_of_bounds"), &json!(2)), "{shown}");
    assert_eq!(world.file(), text);
    assert_eq!(hash(&world).await, seen, "the last usable settings hold");
}

#[tokio::test(start_paused = true)]
async fn r46_what_does_not_fit_changes_nothing_and_names_the_bound() {
    let world = world();
    let before = world.file();
    let seen = hash(&world).await;
    for (changes, status, part) in [
        (json!([{ "do": "set", "path": "reset_hour", "value": 24 }]), 409, "0 to 23"),
        (json!([{ "do": "set", "path": "reset_hour", "value": null }]), 409, "does not take"),
        (json!([{ "do": "set", "path": "queues.default.retries", "value": 11 }]), 409, "0 to 10"),
        (json!([{ "do": "set", "path": "rest_hour", "value": 1 }]), 404, "reset_hour"),
        (
            json!([{ "do": "set", "path": "reset_hour", "value": 5 },
            { "do": "unset", "path": "queues.nope.retries" }]),
            404,
            "nope",
        ),
        (
            json!([{ "do": "add_candidate", "queue": "default", "route": "nobody" }]),
            400,
            "is no route",
        ),
        (json!([{ "do": "jump" }]), 400, "jump"),
    ] {
        let refused = change(&world, &seen, changes.clone()).await;
        assert_eq!(refused.status, status, "{changes}: {refused:?}");
        let told = format!("{} {}", refused.message(), refused.hint());
        assert!(told.contains(part), "{changes}: {told}");
        assert_eq!(world.file(), before, "{changes}");
    }
}

#[tokio::test(start_paused = true)]
async fn g07_a_key_is_stored_used_and_never_shown() {
    let settings = SETTINGS.replace("api_key = \"sk-upstream-secret\"\n", "");
    let world = World::on_file(&settings, "ok:Yes.");
    let secret = "sk-stored-0123456789abcdef";
    let path = "/api/v1/providers/chat/key";
    let stored = ask(&world, Method::PUT, path, &json!({ "key": secret })).await;
    assert_eq!(stored.json(), json!({ "provider": "chat", "stored": true }));
    world.post(CHAT, &hello("default")).await;
    let sent = world.upstream.log();
    let headers =
        format!("{:?}", sent.calls().map(|call| call.headers.clone()).collect::<Vec<_>>());
    assert!(headers.contains(secret), "it is used: {headers}");
    for path in [PATH, "/api/v1/state", "/api/v1/journal", "/api/v1/export"] {
        assert!(!world.get(path).await.text().contains(secret), "{path}");
    }
    assert!(!world.file().contains(secret));
    for body in [
        json!({ "key": secret, "more": 1 }),
        json!({ "keys": secret }),
        json!(secret),
        json!({ "key": [secret] }),
    ] {
        let refused = ask(&world, Method::PUT, path, &body).await;
        assert_eq!(refused.status, 400);
        assert!(!refused.text().contains(secret), "{}", refused.text());
    }
    let body = json!({ "key": secret });
    let nobody = ask(&world, Method::PUT, "/api/v1/providers/nobody/key", &body).await;
    assert_eq!(nobody.status, 404);
    let found = "/api/v1/providers/deepseek/key";
    let known = ask(&world, Method::PUT, found, &body).await;
    assert_eq!(
        known.json(),
        json!({ "provider": "deepseek", "stored": true, "unused": { "why": "no_provider" } }),
        "what no setting names is kept, and said to be of no use"
    );
    assert_eq!(ask(&world, Method::DELETE, path, &json!({})).await.status, 200);
    assert_eq!(ask(&world, Method::DELETE, path, &json!({})).await.status, 404);
}

#[tokio::test(start_paused = true)]
async fn g07_a_key_that_nothing_uses_is_kept_and_said_to_be_unused() {
    let provider = |id: &str, key: &str| {
        let url = "base_url = \"http://127.0.0.1:9/v1\"\ndialect = \"openai-chat\"";
        format!("[providers.{id}]\n{url}\n{key}\n")
    };
    let more = provider("openrouter2", "") + &provider("by_file", "api_key_file = \"/dev/null\"");
    let world = World::on_file(&format!("{SETTINGS}\n{more}"), "ok:Yes.");
    let key = json!({ "key": "sk-stored-0123456789abcdef" });
    for (id, unused) in [
        ("chat", json!({ "why": "settings" })),
        ("openrouter", json!({ "why": "no_provider", "nearest": "openrouter2" })),
        ("openrouter2", json!(null)),
        // A file without a key gives none.
        ("by_file", json!(null)),
    ] {
        let stored = ask(&world, Method::PUT, &format!("/api/v1/providers/{id}/key"), &key).await;
        assert_eq!((stored.status, &stored.json()["stored"]), (200, &json!(true)), "{stored:?}");
        assert_eq!(stored.json()["unused"], unused, "{id}");
    }
    let folder = world.folder.as_ref().expect("a folder").path();
    std::fs::write(folder.join("config.toml"), "broken").expect("written");
    let stored = ask(&world, Method::PUT, "/api/v1/providers/chat/key", &key).await;
    assert_eq!(stored.json()["unused"], json!({ "why": "settings_refused" }));
    let near = ask(&world, Method::PUT, "/api/v1/providers/openrouter3/key", &key).await;
    assert_eq!((near.status, near.hint().as_str()), (404, "did you mean `openrouter2`?"));
}

#[tokio::test(start_paused = true)]
async fn r01_a_queue_is_made_renamed_ordered_and_its_deletion_confirmed() {
    let world = world();
    let made =
        world.post("/api/v1/queues", &json!({ "name": "Night shift", "routes": ["chat/m"] })).await;
    assert_eq!((made.status, made.json()["id"].clone()), (201, json!("night-shift")), "{made:?}");
    assert_eq!(world.post(CHAT, &hello("night-shift")).await.status, 200, "a model at once");
    let path = "/api/v1/queues/night-shift";
    let renamed = ask(&world, Method::PATCH, path, &json!({ "name": "Nachtschicht" })).await;
    assert_eq!(renamed.status, 200, "{renamed:?}");
    let order = json!({ "order": ["night-shift", "default", "opus", "bare"] });
    assert_eq!(ask(&world, Method::PUT, "/api/v1/queues", &order).await.status, 200);
    let state = world.get("/api/v1/state").await.json();
    assert_eq!(
        (&state["queues"][0]["id"], &state["queues"][0]["name"]),
        (&json!("night-shift"), &json!("Nachtschicht"))
    );
    let turned = json!({ "order": ["claude/c", "chat/m"] });
    assert_eq!(ask(&world, Method::PATCH, "/api/v1/queues/default", &turned).await.status, 200);
    let state = world.get("/api/v1/state").await.json();
    assert_eq!(state["queues"][1]["candidates"][0]["route"], "claude/c");
    for path in [path.to_owned(), format!("{path}?candidates=2")] {
        let asked = ask(&world, Method::DELETE, &path, &json!({})).await;
        assert_eq!(asked.status, 409);
        assert!(asked.message().contains("1 candidates go with it"), "{}", asked.message());
    }
    let gone = ask(&world, Method::DELETE, &format!("{path}?candidates=1"), &json!({})).await;
    assert_eq!(gone.status, 200, "{gone:?}");
    assert_eq!(world.post(CHAT, &hello("night-shift")).await.status, 200, "remembered");
    let again = world.post("/api/v1/queues", &json!({ "name": "Night shift" })).await;
    assert_eq!(again.json()["id"], "night-shift-2", "an id that clients may still ask for");
}

#[tokio::test(start_paused = true)]
async fn r40_an_export_comes_back_as_it_was_under_other_names() {
    let world = world();
    let changes = json!([
        { "do": "set", "path": "defaults.retries", "value": 1 },
        { "do": "set", "path": "queues.default.wait_max", "value": "5s" },
        { "do": "set_candidate", "queue": "default", "route": "chat/m", "key": "idle_timeout", "value": "33s" },
    ]);
    let seen = hash(&world).await;
    assert_eq!(change(&world, &seen, changes).await.status, 200);
    let export = world.get("/api/v1/export").await;
    assert!(
        !export.text().contains("sk-upstream-secret") && !export.text().contains("\"default\"")
    );
    let mut file = export.json();
    let first = &file["queues"][0];
    assert_eq!(first["settings"], json!({ "wait_max": "5s" }), "of its own alone: {first}");
    assert_eq!(
        first["candidates"][0],
        json!({ "route": "chat/m", "options": { "idle_timeout": "33s" } })
    );
    let before = world.get("/api/v1/state").await.json()["queues"].clone();
    let imported = world.post("/api/v1/import", &file).await;
    assert_eq!(imported.status, 201, "{imported:?}");
    let named = &imported.json()["imported"][0];
    assert_eq!((&named["name"], &named["candidates"]), (&json!("默认模板 (1)"), &json!(2)));
    let after = world.get("/api/v1/state").await.json()["queues"].clone();
    let (before, after) = (before.as_array().expect("queues"), after.as_array().expect("queues"));
    assert_eq!(before[..], after[..before.len()], "nothing that was there changes");
    assert_eq!(after.len(), 2 * before.len());
    let again = world.get("/api/v1/export").await.json();
    assert_eq!(again["queues"][3]["settings"], file["queues"][0]["settings"]);
    assert_eq!(again["queues"][3]["candidates"], file["queues"][0]["candidates"]);
    let text = world.file();
    file["queues"][1]["settings"] = json!({ "retries": 99 });
    let bad = world.post("/api/v1/import", &file).await;
    assert!(bad.message().contains("queues[1].settings.retries"), "{}", bad.message());
    file["queues"][1] = json!({ "name": "x", "candidates": [{ "route": "nobody" }] });
    let bad = world.post("/api/v1/import", &file).await;
    assert!(bad.message().contains("queues[1].candidates[0].route"), "{}", bad.message());
    let torn = world
        .send(post("/api/v1/import", "{\"format\": \"ekiden-queues\",\n \"version\": }"))
        .await;
    assert!(torn.message().contains("line 2"), "{}", torn.message());
    assert_eq!(world.file(), text, "a bad file changes nothing");
}

#[tokio::test(start_paused = true)]
async fn r40_a_candidate_of_an_unknown_provider_is_kept_shown_as_missing_and_passed_over() {
    let world = world();
    let queue = json!({
        "name": "carried",
        "settings": { "retries": 0 },
        "candidates": [
            { "route": "nobody/m", "options": { "max_sessions": 3 } },
            { "route": "chat/m" },
        ],
    });
    let file = json!({ "format": "ekiden-queues", "version": 1, "queues": [queue] });
    let imported = world.post("/api/v1/import", &file).await;
    assert_eq!(imported.status, 201, "{imported:?}");
    assert_eq!(imported.json()["imported"][0]["missing"], json!(["nobody/m"]));
    let state = world.get("/api/v1/state").await.json();
    let queues = state["queues"].as_array().expect("queues");
    let shown = &queues.iter().find(|queue| queue["id"] == "carried").expect("it")["candidates"];
    assert_eq!(shown[0]["state"], "missing", "{shown}");
    assert_eq!(shown[0]["lack"], "there is no provider `nobody`");
    assert_eq!(shown[1]["state"], "ready");
    let would = world.post("/api/v1/queues/carried/dry-run", &json!({})).await.json();
    assert_eq!(would["would"]["run"], json!(null), "{would}");
    assert_eq!(would["route"], "chat/m", "{would}");
    assert_eq!(would["steps"][0]["reason"], "missing", "{would}");
    // It goes on as it came, and nothing that `[defaults]` says here goes with it.
    let again = world.get("/api/v1/export").await.json();
    let again = again["queues"].as_array().expect("queues").iter();
    let carried = again.clone().find(|queue| queue["name"] == "carried").expect("it");
    assert_eq!(carried["settings"], json!({ "retries": 0 }));
    let options = json!({ "route": "nobody/m", "options": { "max_sessions": 3 } });
    assert_eq!(carried["candidates"][0], options);
    // A provider of that name brings it in.
    let seen = hash(&world).await;
    let provider = json!([
        { "do": "set", "path": "providers.nobody.base_url", "value": "http://chat.test/v1" },
        { "do": "set", "path": "providers.nobody.dialect", "value": "openai-chat" },
    ]);
    assert_eq!(change(&world, &seen, provider).await.status, 200);
    let would = world.post("/api/v1/queues/carried/dry-run", &json!({})).await.json();
    assert_eq!(would["route"], "nobody/m", "{would}");
}

#[tokio::test(start_paused = true)]
async fn g07_a_bad_edit_is_told_when_it_is_looked_at() {
    let world = world();
    let good = world.file();
    let folder = world.folder.as_ref().expect("a folder").path();
    std::fs::write(folder.join("config.toml"), "nonsense").expect("written");
    let told = world.send(post("/api/v1/settings/reload", "")).await;
    assert_eq!(
        (told.status, told.json()["error"]["code"].clone()),
        (400, json!("invalid_settings"))
    );
    assert_ne!(world.get(PATH).await.json()["refused"], json!([]));
    assert_eq!(world.post(CHAT, &hello("default")).await.status, 200, "the last good ones hold");
    std::fs::write(folder.join("config.toml"), good).expect("written");
    assert_eq!(world.send(post("/api/v1/settings/reload", "")).await.status, 200);
    assert_eq!(world.get(PATH).await.json()["refused"], json!([]));
    let page: Request<Full<_>> =
        request(Method::PUT, PATH, &[("origin", "https://evil.example")], "");
    assert_eq!(world.send(page).await.status, 403);
}
