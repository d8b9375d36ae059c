//! The state with 1,000 sessions that have lost their 20 candidates. The time is for people to read:
//! `cargo test --release -p ekiden-gateway --test settings sizes -- --ignored --nocapture`.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use ekiden_engine::{Class, Quarantine};
use ekiden_gateway::Gateway;
use ekiden_store::{Entry, Evidence, Place, Record, Store, What};
use http::Request;
use http_body_util::Full;
use serde_json::Value;

use crate::desk::{Desk, MINE, get};

const CANDIDATES: usize = 20;

fn config() -> String {
    let candidates: Vec<String> = (0..CANDIDATES).map(|at| format!("\"a/m{at}\"")).collect();
    let queue = format!("candidates = [{}] #", candidates.join(", "));
    MINE.replace("candidates = [\"a/x\", \"b/y\"] #", &queue)
}

fn said(at: usize) -> Evidence {
    Evidence {
        status: Some(503),
        code: Some("overloaded_error".to_owned()),
        param: None,
        message: Some(format!("{at} is overloaded. ").repeat(12)),
    }
}

fn lose(store: &dyn Store, session: usize, day: u32, now_ms: u64) {
    let mut records = Vec::new();
    for candidate in 0..CANDIDATES {
        let place = Place {
            session: format!("0a1b2c3d.session-{session}").into(),
            queue: "default".into(),
            route: format!("a/m{candidate}").into(),
        };
        let quarantine = Quarantine {
            class: Class::Overloaded,
            day,
            since_ms: now_ms,
            until_ms: None,
            parole_ms: Some(now_ms + 60_000),
            paroles: 0,
        };
        records.push(Record::Quarantined { place: place.clone(), quarantine });
        let what = What::Quarantined {
            place,
            class: Class::Overloaded,
            until_ms: None,
            parole_ms: None,
            evidence: said(session),
        };
        let number = (session * CANDIDATES + candidate) as u64 + 1;
        records.push(Record::Journal(Entry { number, at_ms: now_ms, call: None, what }));
    }
    store.keep(records).unwrap();
}

/// A gateway whose sessions have lost every candidate.
async fn lost(desk: &Desk, sessions: usize) -> (Gateway, ekiden_gateway::state::Kept) {
    desk.write(&config());
    let (gateway, kept) = desk.with_state();
    let state = get(&gateway, "/api/v1/state").await;
    let (day, now_ms) = (state["day"]["number"].as_u64().unwrap(), state["now_ms"].as_u64());
    let store = Arc::clone(gateway.core().store());
    for session in 0..sessions {
        lose(&*store, session, u32::try_from(day).unwrap(), now_ms.unwrap());
    }
    drop((gateway, store, kept));
    desk.with_state()
}

#[tokio::test]
async fn the_state_has_no_texts_and_sessions_come_in_pages_with_theirs() {
    let desk = Desk::new("ok", "ok");
    let (gateway, _kept) = lost(&desk, 5).await;
    let state = get(&gateway, "/api/v1/state?limit=2").await;
    assert_eq!((state["sessions_known"].as_u64(), &state["sessions"][2]), (Some(5), &Value::Null));
    let out = &state["sessions"][0]["quarantined"];
    assert_eq!(out.as_array().map(Vec::len), Some(CANDIDATES));
    assert!(!state.to_string().contains("overloaded. "), "{state}");
    let (mut seen, mut after) = (Vec::new(), String::new());
    loop {
        let page = get(&gateway, &format!("/api/v1/sessions?limit=2{after}")).await;
        for session in page["sessions"].as_array().unwrap() {
            let key = session["key"].as_str().unwrap();
            let (_, at) = key.split_once(".session-").unwrap();
            for out in session["quarantined"].as_array().unwrap() {
                let message = out["evidence"]["message"].as_str().unwrap();
                assert!(message.starts_with(&format!("{at} is overloaded. ")), "{out}");
            }
            seen.push(at.to_owned());
        }
        let Some(next) = page["next"].as_str() else { break };
        after.clear();
        write!(after, "&after={next}").unwrap();
    }
    seen.sort();
    assert_eq!(seen, ["0", "1", "2", "3", "4"]);
    // The state's own continuation leads to the same pages.
    let next = state["sessions_next"].as_str().unwrap();
    let page = get(&gateway, &format!("/api/v1/sessions?after={next}")).await;
    assert_eq!(page["sessions"].as_array().map(Vec::len), Some(3));
    let one = get(&gateway, "/api/v1/sessions/session-3").await;
    assert!(one["quarantined"][7]["evidence"]["message"].is_string(), "{one}");
    for wrong in ["x", "1", "1.x", "300.1"] {
        let refused = get(&gateway, &format!("/api/v1/sessions?after={wrong}")).await;
        assert_eq!(refused["error"]["code"], "bad_query", "{wrong}");
    }
}

#[tokio::test]
#[ignore = "worth it only with --release"]
#[expect(clippy::disallowed_methods, reason = "it measures")]
async fn the_state_of_a_thousand_sessions_is_told_within_20_ms() {
    let desk = Desk::new("ok", "ok");
    let (gateway, _kept) = lost(&desk, 1_000).await;
    for (path, most_ms) in [
        ("/api/v1/state", 20),
        ("/api/v1/state?limit=1000", 20),
        ("/api/v1/sessions?limit=200", 100),
        ("/api/v1/sessions/session-700", 20),
    ] {
        let mut took = Vec::new();
        let mut bytes = 0;
        for _ in 0..9 {
            let began = std::time::Instant::now();
            let request = Request::get(path).body(Full::new(Bytes::new())).unwrap();
            let body = gateway.handle(request).await.into_body();
            bytes = body.collect().await.unwrap().len();
            took.push(began.elapsed());
        }
        took.sort();
        println!("{path}: {:?} (median), {:?} (worst), {bytes} bytes", took[4], took[8]);
        assert!(took[4] < Duration::from_millis(most_ms), "{path}: {took:?}");
    }
}
