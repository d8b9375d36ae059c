//! The other policies, through the whole gateway (H1, H3, H5, C1 to C8, P1 to P4). What they decide
//! is tested with the engine; here it is that a configuration leads there.

use std::time::Duration;

use ekiden_store::What;
use tokio::time::sleep;

use super::stage::{Setting, Stage, Way};

fn with(queue: &'static str) -> Setting {
    Setting { queue, ..Setting::default() }
}

#[tokio::test(start_paused = true)]
async fn h01_h05_the_failure_is_told_and_the_next_call_of_anybody_goes_elsewhere() {
    for way in Way::ALL {
        let stage = Stage::set(way, "503", "ok:second", &with("policy = \"health\""));
        let first = stage.ask_in("one").await;
        assert_eq!(first.status, 503, "{}", first.raw);
        assert_eq!(stage.hits(), (1, 0), "no retry, and no second voice");
        stage.ask_in("one").await.is_whole("second");
        stage.ask_in("two").await.is_whole("second");
        assert_eq!(stage.hits(), (1, 2));
    }
}

#[tokio::test(start_paused = true)]
async fn h03_h05_inside_the_call_and_sticky() {
    let queue = "policy = \"health\"\nswitching = \"in-call\"";
    for way in Way::ALL {
        let stage = Stage::set(way, "503; ok:first", "ok:second", &with(queue));
        stage.ask_in("one").await.is_whole("second");
        sleep(Duration::from_secs(61)).await;
        stage.ask_in("one").await.is_whole("second");
        stage.ask_in("two").await.is_whole("first");
    }
}

#[tokio::test(start_paused = true)]
async fn c01_c04_c05_a_chain_goes_on_and_comes_back() {
    for way in Way::ALL {
        let stage = Stage::set(way, "500; ok:head", "ok:fallback", &with("policy = \"chain\""));
        stage.ask().await.is_whole("fallback");
        stage.ask().await.is_whole("fallback");
        assert_eq!(stage.hits(), (1, 2), "the head rests for 30 s");
        let (head, route) = ("a/m1".into(), "b/m2".into());
        let served = What::ServedInstead { head, route };
        let told = stage.journal().into_iter().filter(|entry| entry.what == served).count();
        assert_eq!(told, 2, "C7");
        sleep(Duration::from_secs(31)).await;
        stage.ask().await.is_whole("head");
    }
}

#[tokio::test(start_paused = true)]
async fn c03_c06_what_does_not_switch_goes_up_and_so_does_the_last_failure() {
    for way in Way::ALL {
        let stage = Stage::set(way, "503", "502", &with("policy = \"chain\""));
        let got = stage.ask().await;
        assert_eq!((got.status, stage.hits()), (502, (1, 1)), "{}", got.raw);
        // Auth is no class that switches, and no refusal of our own key is told as such (R45).
        let stage = Stage::set(way, "401", "ok:never", &with("policy = \"chain\""));
        let got = stage.ask().await;
        assert_eq!(stage.hits(), (1, 0));
        assert!(got.status != 401 && got.status >= 400, "{}", got.status);
    }
}

#[tokio::test(start_paused = true)]
async fn c01_c02_c08_a_model_that_is_asked_for_has_the_global_fallbacks() {
    for way in Way::ALL {
        let more = "[direct]\npolicy = \"chain\"\nfallbacks = [\"b/m2\"]\n";
        let setting = Setting { more, ..Setting::default() };
        let stage = Stage::set(way, "503", "ok:fallback", &setting);
        let mut body = stage.body();
        body["model"] = "a/any-model".into();
        let got = stage.ask_as("s", &body, &[]).await;
        got.is_whole("fallback");
        assert_eq!(got.header("x-ekiden-candidate"), "b/m2");
        let alone = Setting { more: "[direct]\npolicy = \"chain\"\n", ..Setting::default() };
        let stage = Stage::set(way, "503; ok:head", "ok:never", &alone);
        let first = stage.ask_as("s", &body, &[]).await;
        assert_eq!(first.status, 503, "dormant: the call passes as it is");
        stage.ask_as("s", &body, &[]).await.is_whole("head");
    }
}

#[tokio::test(start_paused = true)]
async fn p01_p02_one_open_call_goes_round_until_an_answer_comes() {
    for way in Way::ALL {
        let queue = "policy = \"persist\"\nbackoff_jitter = 0";
        let stage = Stage::set(way, "6*503; ok:at last", "500", &with(queue));
        let got = stage.ask().await;
        got.is_whole("at last");
        assert_eq!(stage.hits(), (7, 6));
        // 1 + 2 + 4 + 8 + 16 + 30 s.
        assert_eq!(got.took.as_secs(), 61, "{:?}", got.took);
    }
}

#[tokio::test(start_paused = true)]
async fn p01_p03_max_rounds_and_what_waiting_cannot_mend_end_it() {
    for way in Way::ALL {
        let queue = "policy = \"persist\"\nmax_rounds = 2";
        let stage = Stage::set(way, "503", "401", &with(queue));
        let got = stage.ask().await;
        assert_eq!(stage.hits(), (3, 1), "the refused key is asked once");
        assert_eq!(got.status, 503, "{}", got.raw);
        let stage = Stage::set(way, "401", "402", &with("policy = \"persist\""));
        let got = stage.ask().await;
        assert_eq!(stage.hits(), (1, 1));
        assert!(got.status >= 400 && got.took < Duration::from_secs(1));
    }
}
