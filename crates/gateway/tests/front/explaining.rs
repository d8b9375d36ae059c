//! Why a call asked whom it asked, and why nobody else (R33): every candidate of the queue is named, by
//! the dry run and afterwards by the call's own steps.

use std::collections::BTreeSet;
use std::time::Duration;

use http::Method;
use serde_json::{Value, json};

use crate::support::{CHAT, MESSAGES, SETTINGS, World, hello, request};

const SESSION: (&str, &str) = ("x-ekiden-session", "s");

/// A queue over these candidates, with what else is set for it.
fn world(candidates: &[&str], more: &str) -> World {
    let queue = format!("[queues.row]\ncandidates = {}\n{more}\n", json!(candidates));
    World::with(
        &SETTINGS.replace("[queues.default]", &format!("{queue}\n[queues.default]")),
        "ok:Yes.",
    )
}

fn script(world: &World, model: &str, script: &str) {
    world.upstream.script_for(model, script.parse().expect("a script"));
}

/// A call of the session, and what is told of it.
async fn call(world: &World, path: &str) -> Value {
    let asked = request(Method::POST, path, &[SESSION], hello("row").to_string());
    let answer = world.send(asked).await;
    let id = answer.header("x-ekiden-call").expect("a call").to_owned();
    world.gateway.core().tasks().idle().await;
    let told = world.get(&format!("/api/v1/calls/{id}")).await.json();
    every_one_is_named(world, &told["steps"]).await;
    told
}

/// What the next call of the session would do.
async fn dry(world: &World, dialect: &str) -> Value {
    let wish = json!({ "session": "s", "dialect": dialect });
    let told = world.post("/api/v1/queues/row/dry-run", &wish).await.json();
    every_one_is_named(world, &told["steps"]).await;
    told
}

async fn every_one_is_named(world: &World, steps: &Value) {
    let named: BTreeSet<&str> =
        steps.as_array().expect("steps").iter().filter_map(|step| step["route"].as_str()).collect();
    let state = world.get("/api/v1/state").await.json();
    let queues = state["queues"].as_array().expect("queues").iter();
    let row = queues
        .filter(|queue| queue["id"] == "row")
        .flat_map(|queue| queue["candidates"].as_array().expect("candidates").iter());
    let row: BTreeSet<&str> = row.map(|it| it["route"].as_str().expect("a route")).collect();
    assert_eq!(named, row, "{steps}");
}

/// Each candidate's step in short, in order.
fn told(told: &Value) -> Vec<String> {
    let steps = told["steps"].as_array().expect("steps").iter();
    let short = |step: &Value| {
        let route = step["route"].as_str()?;
        Some(match step["step"].as_str()? {
            "passed_over" => format!("{route} {}", step["reason"].as_str()?),
            other => format!("{route} {other}"),
        })
    };
    steps.filter_map(short).collect()
}

#[tokio::test(start_paused = true)]
async fn r33_r03_who_stands_behind_the_verified_is_named_with_the_reason() {
    let world = world(&["chat/a", "chat/b", "chat/c", "chat/d"], "retries = 0");
    script(&world, "a", "500; ok:a");
    script(&world, "b", "429:5; ok:b");
    let first = call(&world, CHAT).await;
    assert_eq!(
        told(&first),
        [
            "chat/a began",
            "chat/a tried",
            "chat/b began",
            "chat/b tried",
            "chat/c began",
            "chat/d not_reached"
        ],
        "{first}"
    );
    // Its cooldown is over, and it would come before `c` by the queue's order.
    tokio::time::sleep(Duration::from_secs(6)).await;
    let wanted = ["chat/a quarantined", "chat/b unverified", "chat/c began", "chat/d not_reached"];
    assert_eq!(told(&dry(&world, "openai-chat").await), wanted);
    let second = call(&world, CHAT).await;
    assert_eq!(
        (told(&second), &second["route"]),
        (wanted.map(str::to_owned).into(), &json!("chat/c"))
    );
}

#[tokio::test(start_paused = true)]
async fn r33_r03_who_stands_behind_and_is_out_itself_is_told_as_out() {
    let world = world(&["chat/a", "chat/b", "chat/c"], "retries = 0");
    script(&world, "a", "401; ok:a");
    script(&world, "b", "401; ok:b");
    call(&world, CHAT).await;
    let wanted = ["chat/a quarantined", "chat/b quarantined", "chat/c began"];
    let would = dry(&world, "openai-chat").await;
    assert_eq!(told(&would), wanted);
    assert!(would["steps"][1]["class"] == "auth", "{would}");
    assert_eq!(told(&call(&world, CHAT).await), wanted);
}

#[tokio::test(start_paused = true)]
async fn r33_r14_who_was_passed_by_rotation_is_named_with_the_reason() {
    let world = world(&["chat/a", "chat/b", "chat/c"], "");
    for model in ["a", "b", "c"] {
        script(&world, model, "length");
    }
    for _ in 0..2 {
        let straight = call(&world, CHAT).await;
        assert_eq!(told(&straight), ["chat/a began", "chat/b not_reached", "chat/c not_reached"]);
    }
    let wanted = ["chat/a rotated", "chat/b began", "chat/c not_reached"];
    assert_eq!(told(&dry(&world, "openai-chat").await), wanted);
    assert_eq!(told(&call(&world, CHAT).await), wanted);
    call(&world, CHAT).await;
    let wanted = ["chat/a rotated", "chat/b rotated", "chat/c began"];
    assert_eq!(told(&dry(&world, "openai-chat").await), wanted);
    assert_eq!(told(&call(&world, CHAT).await), wanted);
}

#[tokio::test(start_paused = true)]
async fn r33_h03_who_stands_behind_the_current_one_is_named_with_the_reason() {
    let world = world(&["chat/a", "chat/b"], "policy = \"health\"");
    script(&world, "a", "500; ok:a");
    // The first moves on; the next are served by the second.
    for _ in 0..2 {
        call(&world, CHAT).await;
    }
    tokio::time::sleep(Duration::from_secs(61)).await;
    let wanted = ["chat/a not_current", "chat/b began"];
    assert_eq!(told(&dry(&world, "openai-chat").await), wanted);
    assert_eq!(told(&call(&world, CHAT).await), wanted);
}

#[tokio::test(start_paused = true)]
async fn r33_who_speaks_another_dialect_is_told_so_wherever_it_stands() {
    let lack = |speaks: &str, asked: &str| json!({ "code": "other_dialect", "speaks": speaks, "asked": asked });
    let (chat, messages) = ("openai-chat", "anthropic-messages");
    // The relay off asks the first that can be asked, and names the others all the same (R0).
    for more in ["", "enabled = false"] {
        let world = world(&["chat/m", "claude/c", "chat/n"], more);
        for of in [dry(&world, messages).await, call(&world, MESSAGES).await] {
            let steps = ["chat/m missing", "claude/c began", "chat/n missing"];
            assert_eq!(told(&of), steps, "{of}");
            assert_eq!(of["steps"][0]["lack"], lack(chat, messages), "{of}");
        }
        for of in [dry(&world, chat).await, call(&world, CHAT).await] {
            let steps = ["chat/m began", "claude/c missing", "chat/n not_reached"];
            assert_eq!(told(&of), steps, "{of}");
            let steps = of["steps"].as_array().expect("steps");
            let step = steps.iter().find(|step| step["route"] == "claude/c").expect("named");
            assert_eq!(step["lack"], lack(messages, chat), "{of}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn r33_r40_what_a_candidate_lacks_is_told_by_a_code_and_in_the_readers_language() {
    let keyless = "[providers.keyless]\nbase_url = \"http://chat.test/v1\"\ndialect = \"openai-chat\"\n\
                   api_key_env = \"NO_SUCH_KEY\"\n";
    let row = "[queues.row]\ncandidates = [\"keyless/m\", \"claude/c\"]\n";
    let world = World::with(&format!("{keyless}{row}{SETTINGS}"), "ok:Yes.");
    let would = dry(&world, "openai-chat").await;
    assert_eq!(would["steps"][0]["lack"], json!({ "code": "no_key", "variable": "NO_SUCH_KEY" }));
    assert_eq!(would["steps"][1]["lack"]["code"], "other_dialect");
    for (language, lack, refused) in [
        (
            "en",
            "no key: NO_SUCH_KEY is not set",
            "No candidate of `row` can be asked: keyless/m: no key: NO_SUCH_KEY is not set; claude/c: \
             it speaks anthropic-messages and cannot answer a client that speaks openai-chat.",
        ),
        (
            "zh-CN",
            "没有密钥：未设置 NO_SUCH_KEY",
            "队列 `row` 没有可用的候选：keyless/m: 没有密钥：未设置 NO_SUCH_KEY; claude/c: \
             它使用 anthropic-messages 协议，无法回答使用 openai-chat 协议的客户端。",
        ),
    ] {
        let headers = [("accept-language", language)];
        let asked = request(Method::GET, "/api/v1/state", &headers, "");
        let state = world.send(asked).await.json();
        let shown = &state["queues"][0]["candidates"][0];
        assert_eq!((&shown["state"], &shown["lack"]), (&json!("missing"), &json!(lack)), "{state}");
        let tested = request(Method::POST, "/api/v1/queues/row/test", &headers, "");
        let tested = world.send(tested).await.json();
        assert_eq!(tested["candidates"][0]["message"], lack, "{tested}");
        let answer =
            world.send(request(Method::POST, CHAT, &headers, hello("row").to_string())).await;
        assert_eq!(answer.message(), refused);
    }
}
