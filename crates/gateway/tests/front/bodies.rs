//! Bodies that are too large, coded, broken or too many.

use std::io::Write;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request};
use http_body::Frame;

use crate::support::{Answer, CHAT, MESSAGES, SETTINGS, World, hello, post, request, streamed};

fn limited(limits: &str) -> World {
    World::with(&format!("{SETTINGS}\n[limits]\n{limits}"), "ok:Yes.")
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    out.write_all(bytes).expect("memory");
    out.finish().expect("memory")
}

fn coded(coding: &str, body: Vec<u8>) -> Request<http_body_util::Full<Bytes>> {
    request(Method::POST, CHAT, &[("content-encoding", coding)], body)
}

/// A body without a known length that comes a piece at a time, each after a pause.
struct Dripping {
    pieces: Vec<Bytes>,
    pause: Duration,
    wait: Option<Pin<Box<tokio::time::Sleep>>>,
}

impl http_body::Body for Dripping {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let pause = self.pause;
        let wait = self.wait.get_or_insert_with(|| Box::pin(tokio::time::sleep(pause)));
        std::task::ready!(wait.as_mut().poll(cx));
        self.wait = None;
        Poll::Ready(self.pieces.pop().map(|piece| Ok(Frame::data(piece))))
    }
}

async fn drip(world: &World, path: &str, pieces: Vec<Bytes>, pause: Duration) -> Answer {
    let body = Dripping { pieces, pause, wait: None };
    let request = Request::post(path).header("host", "localhost").body(body).expect("a request");
    Answer::of(world.gateway.handle(request).await).await
}

#[tokio::test(start_paused = true)]
async fn g14_a_body_over_the_limit_is_413_in_the_dialect_with_the_limit() {
    let world = World::new("ok");
    let body = Bytes::from(vec![b' '; 100 << 20]);
    for (path, kind) in [(CHAT, "invalid_request_error"), (MESSAGES, "request_too_large")] {
        let answer = world.send(post(path, body.clone())).await;
        assert_eq!(answer.status, 413);
        assert_eq!(answer.json()["error"]["type"], kind);
        assert!(answer.message().contains("limits.body_bytes_max"), "{}", answer.message());
    }
}

#[tokio::test(start_paused = true)]
async fn g14_a_body_that_does_not_say_its_size_is_cut_off_at_the_limit() {
    let world = limited("body_bytes_max = \"1MB\"");
    let pieces = vec![Bytes::from(vec![b' '; 300 << 10]); 10];
    let answer = drip(&world, CHAT, pieces, Duration::from_millis(1)).await;
    assert_eq!(answer.status, 413, "{answer:?}");
}

#[tokio::test(start_paused = true)]
async fn g14_a_body_that_drips_is_read_and_one_that_stands_still_is_not_waited_for() {
    let world = World::new("ok:Yes.");
    let text = hello("default").to_string();
    let bytes = || text.bytes().rev().map(|byte| Bytes::from(vec![byte])).collect::<Vec<_>>();
    let slow = drip(&world, CHAT, bytes(), Duration::from_secs(1)).await;
    assert_eq!(slow.status, 200, "{slow:?}");
    let stopped = drip(&world, MESSAGES, bytes(), Duration::from_secs(31)).await;
    assert!(stopped.status == 408 && stopped.is_anthropic_error(), "{stopped:?}");
}

#[tokio::test(start_paused = true)]
async fn g14_coded_bodies_are_read_and_go_upstream_plain() {
    let world = World::new("ok:Yes.");
    let text = hello("default").to_string();
    let zstd = zstd::bulk::compress(text.as_bytes(), 1).expect("memory");
    for (coding, body) in
        [("gzip", gzip(text.as_bytes())), ("zstd", zstd.clone()), ("zstd, gzip", gzip(&zstd))]
    {
        let answer = world.send(coded(coding, body)).await;
        assert_eq!(answer.status, 200, "{coding}: {answer:?}");
    }
    let log = world.upstream.log();
    for seen in log.calls() {
        assert_eq!(seen.header("content-encoding"), None);
        assert_eq!(seen.json()["messages"][0]["content"], "hello");
    }
}

#[tokio::test(start_paused = true)]
async fn g14_an_unknown_coding_is_415_and_a_broken_one_400() {
    let world = World::new("ok");
    let unknown = world.send(coded("snappy", b"x".to_vec())).await;
    assert_eq!(unknown.status, 415);
    assert!(unknown.message().contains("zstd"), "{}", unknown.message());
    let broken = world.send(coded("gzip", b"no gzip".to_vec())).await;
    assert_eq!(broken.status, 400);
    assert!(broken.message().contains("content-encoding"), "{}", broken.message());
}

#[tokio::test(start_paused = true)]
async fn g14_a_bomb_is_413_and_gives_back_what_it_held() {
    let world = limited("body_bytes_max = \"1MB\"");
    let answer = world.send(coded("gzip", gzip(&vec![0; 64 << 20]))).await;
    assert_eq!(answer.status, 413, "{answer:?}");
    let state = world.get("/api/v1/state").await.json();
    assert_eq!(state["open"]["held_bytes"], 0);
}

#[tokio::test(start_paused = true)]
async fn g14_what_is_no_request_is_told_so_in_the_dialect() {
    let world = World::new("ok");
    let deep =
        format!("{{\"model\":\"default\",\"messages\":{}{}}}", "[".repeat(5000), "]".repeat(5000));
    for (body, words) in [
        (Bytes::from_static(b"{\"model\": \"\xff\xfe\"}"), "UTF-8"),
        (Bytes::from_static(b"{\"model\": }"), "not JSON"),
        (Bytes::from_static(b"[1, 2]"), "object"),
        (Bytes::from_static(b""), "not JSON"),
        (Bytes::from_static(b"{\"messages\": []}"), "`model` is missing"),
        (Bytes::from_static(b"{\"model\": 4, \"messages\": []}"), "`model` must be a string"),
        (Bytes::from_static(b"{\"model\": \"default\"}"), "`messages` is missing"),
        (Bytes::from(deep), "levels deep"),
    ] {
        for path in [CHAT, MESSAGES] {
            let answer = world.send(post(path, body.clone())).await;
            assert_eq!(answer.status, 400, "{words}");
            assert!(answer.message().contains(words), "{words}: {}", answer.message());
            assert_eq!(answer.is_anthropic_error(), path == MESSAGES, "{answer:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn g14_a_large_body_is_read_off_the_runtime_and_goes_upstream_whole() {
    let world = World::new("ok:Yes.");
    let mut body = hello("default");
    body["messages"][0]["content"] = "word ".repeat(200_000).into();
    let answer = world.post(CHAT, &body).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let log = world.upstream.log();
    let seen = log.calls().next().expect("one call");
    assert_eq!(seen.json()["messages"], body["messages"]);
}

#[tokio::test(start_paused = true)]
async fn g14_held_bodies_are_bounded_over_all_calls_and_given_back() {
    let world = World::with(
        &format!("{SETTINGS}\n[limits]\nheld_bytes_max = \"1MiB\"\nbody_bytes_max = \"1MiB\""),
        "silence:1",
    );
    let mut body = streamed("default");
    body["messages"][0]["content"] = "x".repeat(600 << 10).into();
    let first = world.gateway.handle(post(CHAT, body.to_string())).await;
    assert_eq!(first.status(), 200);
    let second = world.post(MESSAGES, &body).await;
    assert!(second.status == 503 && second.is_anthropic_error(), "{second:?}");
    assert!(second.message().contains("limits.held_bytes_max"), "{}", second.message());
    assert!(second.header("retry-after").is_some());
    drop(first);
    world.gateway.core().tasks().idle().await;
    world.upstream.script("ok:Yes.".parse().expect("a script"));
    assert_eq!(world.post(CHAT, &body).await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn g09_open_calls_are_bounded_and_given_back() {
    let world = World::with(&format!("{SETTINGS}\n[limits]\ncalls_max = 2"), "silence:1");
    let body = streamed("default").to_string();
    let first = world.gateway.handle(post(CHAT, body.clone())).await;
    let second = world.gateway.handle(post(CHAT, body.clone())).await;
    assert_eq!((first.status().as_u16(), second.status().as_u16()), (200, 200));
    let third = world.send(post(CHAT, body.clone())).await;
    assert_eq!(third.status, 503);
    assert!(third.message().contains("limits.calls_max"), "{}", third.message());
    drop((first, second));
    world.gateway.core().tasks().idle().await;
    let fourth = world.gateway.handle(post(CHAT, body)).await;
    assert_eq!(fourth.status(), 200);
}

#[tokio::test(start_paused = true)]
async fn g14_members_of_a_wrong_type_are_named_and_no_candidate_is_asked() {
    for (member, value) in [
        ("stream", serde_json::json!("true")),
        ("stream", serde_json::json!(1)),
        ("stream_options", serde_json::json!(true)),
        ("max_tokens", serde_json::json!("100")),
        ("messages", serde_json::json!({ "role": "user" })),
        ("messages", serde_json::json!("hi")),
        ("model", serde_json::json!(5)),
        ("n", serde_json::json!("2")),
        ("tools", serde_json::json!({})),
        ("thinking", serde_json::json!("on")),
    ] {
        let world = World::new("ok");
        for path in [CHAT, MESSAGES] {
            for mut body in [hello("default"), streamed("default")] {
                body[member] = value.clone();
                let answer = world.post(path, &body).await;
                assert_eq!(answer.status, 400, "{path} {member}: {answer:?}");
                let message = answer.message();
                assert!(message.contains(&format!("`{member}` must be")), "{message}");
                assert_eq!(answer.is_anthropic_error(), path == MESSAGES, "{answer:?}");
            }
        }
        assert_eq!(world.upstream.log().requests.len(), 0);
    }
    let world = World::new("ok:Yes.");
    let mut body = hello("default");
    body["stream"] = serde_json::Value::Null;
    assert_eq!(world.post(CHAT, &body).await.status, 200, "null says nothing");
}
