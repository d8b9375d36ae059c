//! Order, and what is carried from call to call (R2, R3, R8, R15, R35).

use serde_json::json;

use super::stage::{Setting, Stage, Way};

#[tokio::test(start_paused = true)]
async fn r02_candidates_are_tried_in_the_users_order() {
    for way in Way::ALL {
        let setting = Setting { candidates: r#""a/m1", "b/m2", "c/m3""#, ..Setting::default() };
        let stage = Stage::set(way, "503", "503", &setting);
        let got = stage.ask().await;
        got.is_whole("from c");
        assert_eq!(got.header("x-ekiden-candidate"), "c/m3");
        let (a, b) = stage.hits();
        assert!(a >= 1 && b >= 1);
    }
}

#[tokio::test(start_paused = true)]
async fn r08_while_others_have_just_seen_it_fail_a_candidate_is_tried_once() {
    for way in Way::ALL {
        let stage = Stage::of(way, "503", "ok:second");
        stage.ask_in("one").await.is_whole("second");
        let first = stage.hits().0;
        assert_eq!(first, 3);
        stage.ask_in("two").await.is_whole("second");
        assert_eq!(stage.hits().0, first + 1);
    }
}

#[tokio::test(start_paused = true)]
async fn r15_a_window_that_is_surely_too_small_is_passed_over() {
    for way in Way::ALL {
        let setting = Setting {
            candidates: r#"{ route = "a/m1", context_window = 1000 }, "b/m2""#,
            ..Setting::default()
        };
        let stage = Stage::set(way, "ok:first", "ok:second", &setting);
        let mut body = stage.body();
        body["messages"][0]["content"] = json!("word ".repeat(2_000));
        stage.ask_as("s", &body, &[]).await.is_whole("second");
        stage.ask().await.is_whole("first");
    }
}

#[tokio::test(start_paused = true)]
async fn r40_a_candidate_of_another_dialect_is_passed_over_and_named() {
    for way in Way::ALL {
        let other = match way.dialect {
            super::stage::Dialect::Chat => "anthropic-messages",
            super::stage::Dialect::Anthropic => "openai-chat",
        };
        let more: &'static str = Box::leak(
            format!("[providers.d]\nbase_url = \"http://d.example/v1\"\ndialect = \"{other}\"\napi_key = \"key-of-d-0000\"\n")
                .into_boxed_str(),
        );
        let setting = Setting { candidates: r#""d/m", "b/m2""#, more, ..Setting::default() };
        let stage = Stage::set(way, "ok:never", "ok:second", &setting);
        stage.ask().await.is_whole("second");
        let setting = Setting { candidates: r#""d/m""#, more, ..Setting::default() };
        let stage = Stage::set(way, "ok:never", "ok:never", &setting);
        let got = stage.ask().await;
        let message = got.error()["message"].as_str().unwrap().to_owned();
        assert!(message.contains(&format!("d/m: it speaks {other} and cannot")), "{message}");
    }
}
