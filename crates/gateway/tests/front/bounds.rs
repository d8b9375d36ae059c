//! Bounds of every key and of every name, by the interface (R46, G7).

use http::Method;
use serde_json::{Value, json};

use ekiden_config::keys::{Kind, SECTIONS, keys_of};
use ekiden_config::{NAME_MAX_CHARS, Value as Setting};

use crate::support::{Answer, SETTINGS, World, request};

const PATH: &str = "/api/v1/settings";

async fn change(world: &World, changes: Value) -> Answer {
    let hash = world.get(PATH).await.json()["hash"].as_str().expect("a hash").to_owned();
    let tag = format!("\"{hash}\"");
    let body = json!({ "changes": changes }).to_string();
    world.send(request(Method::PATCH, PATH, &[("if-match", tag.as_str())], body)).await
}

/// Where a key of a section stands in [`SETTINGS`].
fn path_of(section: &str, name: &str) -> String {
    match section {
        "" => name.to_owned(),
        "providers.ID" => format!("providers.chat.{name}"),
        "queues.ID" => format!("queues.default.{name}"),
        "queues.ID.candidates" => format!("queues.default.candidates.0.{name}"),
        other => format!("{other}.{name}"),
    }
}

/// A number as the interface takes it for that kind.
fn written(kind: Kind, number: u64) -> Value {
    let text = |value: Setting| json!(value.to_string().trim_matches('"'));
    if matches!(kind, Kind::Span { .. }) {
        text(Setting::Ms(number))
    } else if matches!(kind, Kind::Bytes { .. }) {
        text(Setting::Bytes(number))
    } else {
        json!(number)
    }
}

/// Both ends of what a key takes, if it takes a number.
fn bounds(kind: Kind) -> Option<(u64, u64)> {
    if let Kind::Integer { min, max } | Kind::Bytes { min, max } = kind {
        return Some((min, max));
    }
    if let Kind::Span { min_ms, max_ms } = kind { Some((min_ms, max_ms)) } else { None }
}

#[tokio::test(start_paused = true)]
async fn r46_each_key_takes_both_ends_of_its_bounds_by_the_interface_and_nothing_beyond() {
    let mut seen = 0;
    for section in SECTIONS {
        // A world each: what one key is set to must not be what another one fails by.
        let world = World::on_file(SETTINGS, "ok:Yes.");
        for key in section.groups.iter().flat_map(|group| keys_of(*group)) {
            let Some((least, most)) = bounds(key.kind) else { continue };
            seen += 1;
            let path = path_of(section.path, key.name);
            let set = |number: u64| json!([{ "do": "set", "path": path, "value": written(key.kind, number) }]);
            for inside in [least, most] {
                let made = change(&world, set(inside)).await;
                assert_eq!(made.status, 200, "{path} = {inside}: {made:?}");
            }
            let before = world.file();
            for outside in [Some(most + 1), least.checked_sub(1)].into_iter().flatten() {
                let refused = change(&world, set(outside)).await;
                assert_eq!(refused.status, 409, "{path} = {outside}: {refused:?}");
                let message = format!("{} {}", refused.message(), refused.hint());
                assert!(message.contains(key.name) && message.contains("from"), "{message}");
                assert_eq!(world.file(), before, "{path}");
            }
            let unset = json!([{ "do": "unset", "path": path }]);
            assert_eq!(change(&world, unset).await.status, 200, "{path}");
        }
    }
    assert!(seen > 60, "{seen}");
}

#[tokio::test(start_paused = true)]
async fn r34_a_price_is_set_and_deleted_by_the_interface() {
    let world = World::on_file(SETTINGS, "cycle: ok:Yes. | usage:1000/100");
    let cost = async || {
        world.post(crate::support::CHAT, &crate::support::hello("default")).await;
        let rows = world.get("/api/v1/ledger/attempts").await.json();
        rows["attempts"][0]["cost"]["nano"].clone()
    };
    let price = "USD 2 in, 10 out";
    let set = json!([{ "do": "set", "path": "prices.chat/m", "value": price }]);
    assert_eq!(change(&world, set).await.status, 200);
    assert!(world.file().contains(price), "{}", world.file());
    assert_eq!(cost().await, 3_000_000);
    let unset = json!([{ "do": "unset", "path": "prices.chat/m" }]);
    assert_eq!(change(&world, unset.clone()).await.status, 200);
    assert_eq!(cost().await, Value::Null, "no price is no cost");
    assert!(!world.file().contains("chat/m\" ="), "{}", world.file());
    let listed = world.get(PATH).await.json();
    let listed = listed["settings"].as_array().expect("settings");
    assert!(listed.iter().all(|it| it["path"] != "prices.chat/m"));
    // Once is enough.
    let again = change(&world, unset).await;
    assert_eq!(again.status, 404, "{again:?}");
}

/// Names that nobody could read in a list.
fn unreadable() -> [String; 5] {
    let line = |between: &str| format!("two{between}lines");
    [
        line("\n"),
        line("\u{1b}[2J"),
        line("\u{202e}"),
        line("\u{2028}"),
        "长".repeat(NAME_MAX_CHARS + 1),
    ]
}

#[tokio::test(start_paused = true)]
async fn g07_names_are_one_line_of_a_bounded_length_wherever_they_are_given() {
    let world = World::on_file(SETTINGS, "ok:Yes.");
    let before = world.file();
    let carried = |name: &str, route: &str| {
        let queue = json!({ "name": name, "candidates": [{ "route": route }] });
        json!({ "format": "ekiden-queues", "version": 1, "queues": [queue] })
    };
    for name in unreadable() {
        let made = world.post("/api/v1/queues", &json!({ "name": name, "id": "it" })).await;
        let imported = world.post("/api/v1/import", &carried(&name, "chat/m")).await;
        assert!(imported.message().contains("queues[0].name"), "{}", imported.message());
        let renamed = json!({ "name": name }).to_string();
        let renamed = request(Method::PATCH, "/api/v1/queues/default", &[], renamed);
        let token = json!({ "name": name, "scope": "client" });
        let mut told = vec![
            made,
            imported,
            world.send(renamed).await,
            world.post("/api/v1/tokens", &token).await,
        ];
        for path in ["providers.chat.name", "queues.default.name", "providers.chat.vendor"] {
            told.push(change(&world, json!([{ "do": "set", "path": path, "value": name }])).await);
        }
        for told in told {
            assert!(matches!(told.status, 400 | 409), "{name:?}: {told:?}");
            assert_ne!(told.message(), "");
        }
    }
    // Routes and aliases are names too.
    for (text, long) in [("a\u{1}b", false), ("x", true)] {
        let route = format!("chat/{}", if long { text.repeat(296) } else { text.to_owned() });
        let imported = world.post("/api/v1/import", &carried("it", &route)).await;
        assert!(imported.message().contains("queues[0].candidates[0].route"), "{imported:?}");
        let alias = if long { text.repeat(301) } else { text.to_owned() };
        for changes in [
            json!([{ "do": "set", "path": format!("aliases.{alias}"), "value": "default" }]),
            json!([{ "do": "set", "path": format!("prices.{route}"), "value": "USD 1 in, 1 out" }]),
            json!([{ "do": "add_candidate", "queue": "default", "route": route }]),
            json!([{ "do": "set", "path": "direct.fallbacks", "value": [route] }]),
            json!([{ "do": "set", "path": "providers.chat.models", "value": [route] }]),
        ] {
            let told = change(&world, changes.clone()).await;
            assert!(matches!(told.status, 400 | 409), "{changes}: {told:?}");
        }
    }
    assert_eq!(world.file(), before);
    // The longest ones fit, and one that comes again is numbered within the bound.
    let longest = "长".repeat(NAME_MAX_CHARS);
    let made = world.post("/api/v1/queues", &json!({ "name": longest })).await;
    assert_eq!(made.status, 201, "{made:?}");
    let imported = world.post("/api/v1/import", &carried(&longest, "chat/m")).await;
    assert_eq!(imported.status, 201, "{imported:?}");
    let name = imported.json()["imported"][0]["name"].as_str().expect("a name").to_owned();
    assert!(name.ends_with("长 (1)") && name.chars().count() == NAME_MAX_CHARS, "{name}");
    let route = format!("chat/{}", "x".repeat(295));
    let added = json!([{ "do": "add_candidate", "queue": "default", "route": route }]);
    assert_eq!(change(&world, added).await.status, 200);
    let alias = format!("aliases.{}", "x".repeat(300));
    let named = json!([{ "do": "set", "path": alias, "value": "default" }]);
    assert_eq!(change(&world, named).await.status, 200);
    // Whoever writes to a model may write lines.
    let lines = json!([{ "do": "set", "path": "defaults.continue_text", "value": "go\non" }]);
    assert_eq!(change(&world, lines).await.status, 200);
}
