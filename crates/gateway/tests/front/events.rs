//! Changes as they happen.

use std::time::Duration;

use http::{Method, Response};
use serde_json::Value;

use ekiden_gateway::body::Body;

use crate::support::{Answer, CHAT, World, hello, post, request};

const EVENTS: &str = "/api/v1/events";

/// A reader of events.
struct Reader {
    body: Body,
    text: String,
}

#[derive(Clone, Debug)]
struct Event {
    id: String,
    kind: String,
    data: Value,
}

impl Reader {
    async fn open(world: &World, last: Option<&str>) -> Self {
        let headers: Vec<_> = last.map(|last| ("last-event-id", last)).into_iter().collect();
        let response: Response<Body> =
            world.gateway.handle(request(Method::GET, EVENTS, &headers, "")).await;
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self { body: response.into_body(), text: String::new() }
    }

    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some((block, rest)) = self.text.split_once("\n\n") {
                let (block, rest) = (block.to_owned(), rest.to_owned());
                self.text = rest;
                let field = |name: &str| {
                    let mut lines = block.lines();
                    lines
                        .find_map(|line| line.strip_prefix(name))
                        .unwrap_or_default()
                        .trim()
                        .to_owned()
                };
                if field("event:").is_empty() {
                    continue;
                }
                let data: Value = serde_json::from_str(&field("data:")).expect("JSON");
                assert_eq!(data["event"], field("event:"));
                return Some(Event { id: field("id:"), kind: field("event:"), data });
            }
            let piece = self.body.piece().await?.expect("whole");
            self.text.push_str(std::str::from_utf8(&piece).expect("text"));
        }
    }

    async fn until(&mut self, kind: &str) -> Vec<Event> {
        let mut seen = Vec::new();
        loop {
            let event = self.next().await.expect("an event");
            seen.push(event.clone());
            if event.kind == kind {
                return seen;
            }
        }
    }
}

async fn call(world: &World) -> Answer {
    let headers = [("x-ekiden-session", "a")];
    let mut body = hello("default");
    body["messages"][0]["content"] = "a very private prompt".into();
    world.send(request(Method::POST, CHAT, &headers, body.to_string())).await
}

#[tokio::test(start_paused = true)]
async fn r33_a_calls_life_is_told_in_order_and_without_its_text() {
    let world = World::new("500; 500; 500; ok:A very private answer.");
    let mut reader = Reader::open(&world, None).await;
    let answer = call(&world).await;
    let seen = reader.until("call_ended").await;
    let kinds: Vec<_> = seen.iter().map(|event| event.kind.as_str()).collect();
    assert_eq!(kinds.first(), Some(&"call_opened"), "{kinds:?}");
    for kind in ["attempt", "journal", "tally"] {
        assert!(kinds.contains(&kind), "{kind}: {kinds:?}");
    }
    let id = answer.header("x-ekiden-call").expect("an id");
    assert_eq!(seen[0].data["call"], id);
    let begun = seen.iter().find(|event| event.kind == "attempt").expect("one");
    assert_eq!((&begun.data["state"], &begun.data["route"]), (&"sent".into(), &"chat/m".into()));
    let told: String = seen.iter().map(|event| event.data.to_string()).collect();
    for secret in ["private", "sk-upstream-secret"] {
        assert!(!told.contains(secret), "{told}");
    }
    let numbers: Vec<u64> = seen
        .iter()
        .map(|event| event.id.rsplit_once('-').expect("a number").1.parse().expect("a number"))
        .collect();
    assert!(numbers.windows(2).all(|pair| pair[1] == pair[0] + 1), "{numbers:?}");
}

#[tokio::test(start_paused = true)]
async fn a_reader_resumes_where_it_stopped_and_is_reset_where_that_is_forgotten() {
    let world = World::new("ok:Yes.");
    let mut reader = Reader::open(&world, None).await;
    call(&world).await;
    let seen = reader.until("call_ended").await;
    drop(reader);
    let mut resumed = Reader::open(&world, Some(&seen[1].id)).await;
    let again = resumed.until("call_ended").await;
    let ids = |list: &[Event]| list.iter().map(|event| event.id.clone()).collect::<Vec<_>>();
    assert_eq!(ids(&again), ids(&seen[2..]));
    let newest = seen.last().expect("one").id.clone();
    for unknown in ["", "nonsense", "00000000-3", &format!("{newest}9")] {
        let mut reader = Reader::open(&world, Some(unknown)).await;
        let first = reader.next().await.expect("an event");
        assert_eq!((first.kind.as_str(), &first.id), ("reset", &newest), "{unknown:?}");
    }
    let mut reader = Reader::open(&world, Some("nonsense")).await;
    assert_eq!(reader.next().await.expect("an event").kind, "reset");
    call(&world).await;
    assert_eq!(reader.next().await.expect("an event").kind, "call_opened", "it goes on");
}

#[tokio::test(start_paused = true)]
async fn a_slow_reader_holds_nobody_up_is_told_of_the_gap_and_let_go_if_it_never_reads() {
    let world = World::new("ok:Yes.");
    let mut slow = Reader::open(&world, None).await;
    for _ in 0..400 {
        assert_eq!(call(&world).await.status, 200);
    }
    let kinds = slow.until("reset").await;
    assert!(kinds.len() < 2_000, "{}", kinds.len());
    call(&world).await;
    slow.until("call_ended").await;
    let before = world.gateway.core().tasks().live();
    let still = Reader::open(&world, None).await;
    for _ in 0..400 {
        call(&world).await;
    }
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(world.gateway.core().tasks().live() <= before, "it was let go");
    drop(still);
}

#[tokio::test(start_paused = true)]
async fn a_quiet_stream_is_kept_alive_and_readers_are_bounded() {
    let world = World::new("ok:Yes.");
    let mut readers = Vec::new();
    for _ in 0..64 {
        readers.push(Reader::open(&world, None).await);
    }
    let refused = world.get(EVENTS).await;
    assert_eq!(refused.json()["error"]["code"], "too_many_readers");
    let mut reader = readers.pop().expect("one");
    let clock = world.gateway.core().clock();
    let began_ms = clock.now().mono_ms;
    for _ in 0..3 {
        reader.body.piece().await.expect("more").expect("whole");
    }
    assert!(clock.now().mono_ms - began_ms <= 31_000);
    drop(readers);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(Reader::open(&world, None).await.text, "");
}

#[tokio::test(start_paused = true)]
async fn r19_a_release_by_hand_is_seen_by_all_who_look_on() {
    let world = World::new("429:600; ok:Yes.");
    let (mut one, mut two) = (Reader::open(&world, None).await, Reader::open(&world, None).await);
    call(&world).await;
    one.until("call_ended").await;
    two.until("call_ended").await;
    world.send(post("/api/v1/release", "{\"all\":true}")).await;
    for reader in [&mut one, &mut two] {
        let seen = reader.until("journal").await;
        let last = &seen.last().expect("one").data;
        assert_eq!((&last["what"], &last["by"]), (&"warmed".into(), &"release".into()), "{last}");
    }
}
