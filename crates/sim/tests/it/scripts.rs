//! Which act a request gets.

use ekiden_sim::{Act, Answer, Endpoint, Script, Status, Then, Upstream};
use serde_json::json;

use crate::client::{Rig, Way, post};

async fn codes(rig: &mut Rig, count: usize) -> Vec<u16> {
    let mut out = Vec::new();
    for _ in 0..count {
        out.push(rig.ask(Way::ChatWhole).await.code.unwrap());
    }
    out
}

#[tokio::test(start_paused = true)]
async fn the_last_step_is_repeated() {
    let mut rig = Rig::new("2*500; 429; ok");
    assert_eq!(codes(&mut rig, 6).await, [500, 500, 429, 200, 200, 200]);
}

#[tokio::test(start_paused = true)]
async fn a_cycle_starts_over() {
    let mut rig = Rig::new("cycle: 500; ok");
    assert_eq!(codes(&mut rig, 5).await, [500, 200, 500, 200, 500]);
}

#[tokio::test(start_paused = true)]
async fn a_script_can_be_changed_at_any_time() {
    let mut rig = Rig::new("500");
    assert_eq!(codes(&mut rig, 2).await, [500, 500]);
    rig.upstream.script(Script::new([Act::status(503), Act::text("Back.")]));
    assert_eq!(codes(&mut rig, 3).await, [503, 200, 200]);
}

#[tokio::test(start_paused = true)]
async fn a_model_can_have_a_script_of_its_own() {
    let mut rig = Rig::new("ok:usual");
    rig.upstream.script_for("sim-b", "502; ok:other".parse().unwrap());
    for way in Way::ALL {
        rig.upstream.script_for("sim-b", "502; ok:other".parse().unwrap());
        let mut body = way.body();
        body["model"] = json!("sim-b");
        assert_eq!(rig.send(&way.request_of(&body)).await.code, Some(502));
        assert_eq!(rig.ask(way).await.said(way).text, "usual");
        assert_eq!(rig.send(&way.request_of(&body)).await.said(way).text, "other");
    }
    let log = rig.upstream.log();
    assert_eq!(log.calls_of("sim-b").count(), 8);
    assert_eq!(log.calls_of("sim-a").count(), 4);
}

#[tokio::test(start_paused = true)]
async fn an_endpoint_can_have_a_script_of_its_own() {
    let mut rig = Rig::new("ok:usual");
    rig.upstream.script_at(Endpoint::Models, Script::always(Status::new(401)));
    rig.upstream.script_at(Endpoint::CountTokens, "529; ok".parse().unwrap());
    assert_eq!(rig.send(b"GET /v1/models HTTP/1.1\r\n\r\n").await.code, Some(401));
    let count = post("/v1/messages/count_tokens", "{}");
    assert_eq!(rig.send(&count).await.code, Some(529));
    assert_eq!(rig.send(&count).await.json(), json!({ "input_tokens": 1 }));
    assert_eq!(rig.ask(Way::ChatWhole).await.code, Some(200));
    rig.upstream.script_at(Endpoint::Chat, "503".parse().unwrap());
    assert_eq!(rig.ask(Way::ChatWhole).await.code, Some(503));
    assert_eq!(rig.ask(Way::MessagesWhole).await.code, Some(200));
}

#[test]
fn a_script_of_no_steps_answers() {
    let none = Script::new(Vec::<Act>::new());
    for then in [Then::RepeatLast, Then::Cycle] {
        assert_eq!(none.clone().then(then).step(7), Act::from(Answer::default()));
    }
    assert_eq!(Upstream::default().log().requests.len(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_body_that_is_no_json_is_refused_and_takes_no_step() {
    let mut rig = Rig::new("500; ok");
    for path in ["/v1/chat/completions", "/v1/messages"] {
        let reply = rig.send(&post(path, "{\"model\":")).await;
        assert_eq!(reply.code, Some(400));
        assert!(reply.json()["error"]["message"].is_string());
    }
    assert_eq!(codes(&mut rig, 2).await, [500, 200]);
}
