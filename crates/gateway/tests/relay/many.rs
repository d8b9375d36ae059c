//! Many calls at once through everything that can go wrong: each gets one whole answer or one honest
//! error, and nothing is left behind.

use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::stage::{Setting, Stage, Way};

const TROUBLES: &str = "cycle: ok:fine; 500; ok:fine | cut:0; 429:1; error:overloaded; reset; ok:fine | \
     drip:200; hang; malformed:2; empty; ok:fine | cut:4; 401; html; ok:fine | close; silence:2/20s; \
     ok:fine | die-on-reuse; zero; ok:fine | length; overflow; 503; 429:90";

#[tokio::test(start_paused = true)]
async fn every_call_ends_and_leaves_nothing_behind() {
    for way in Way::ALL {
        let setting = Setting {
            candidates: r#"{ route = "a/m1", max_sessions = 4 }, "b/m2", "c/m3""#,
            ..Setting::default()
        };
        let stage = std::sync::Arc::new(Stage::set(way, TROUBLES, TROUBLES, &setting));
        let mut calls = JoinSet::new();
        for number in 0..200_u64 {
            let stage = std::sync::Arc::clone(&stage);
            calls.spawn(async move {
                sleep(Duration::from_millis(number * 37)).await;
                let session = format!("s{}", number % 17);
                // Every seventh client loses its patience.
                let patience = if number % 7 == 0 { 2 } else { 3_600 };
                let call = stage.ask_in(&session);
                timeout(Duration::from_secs(patience), call).await.ok()
            });
        }
        let mut whole = 0;
        while let Some(got) = calls.join_next().await {
            let Some(got) = got.unwrap() else { continue };
            let said = got.error();
            let honest = got.ended_well() != (said.is_object() || got.cut);
            assert!(honest, "one of both: {got:?}");
            assert!(!got.raw.contains("broken"), "{got:?}");
            whole += usize::from(got.ended_well());
        }
        assert!(whole > 120, "{whole}");
        let core = stage.gateway.core();
        assert_eq!(core.calls().open_count(), 0);
        // Connections that are kept idle close after a while; then no task is left.
        timeout(Duration::from_secs(300), core.tasks().idle()).await.expect("nothing is left");
        for past in core.calls().past(1_000) {
            past.trace
                .replay()
                .unwrap_or_else(|other| panic!("{other:?}\n{}", past.trace.to_text()));
        }
    }
}
