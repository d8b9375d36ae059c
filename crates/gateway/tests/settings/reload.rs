//! A file that changes is taken anew; one that does not hold is not (G7).

use std::time::Duration;

use ekiden_gateway::Gateway;

use crate::desk::{Desk, MINE, ask, kinds, refused, routes};

const ONE: &str = r#"candidates = ["b/y"] # one"#;

fn with_one() -> String {
    MINE.replace(r#"candidates = ["a/x", "b/y"] # both"#, ONE)
}

#[tokio::test]
async fn g07_an_edit_holds_from_the_next_call_on() {
    let desk = Desk::new("ok", "ok");
    let gateway = desk.gateway();
    let core = gateway.core();
    assert_eq!(ask(&gateway, "s").await, (200, "a/x".to_owned()));
    desk.write(&with_one());
    core.reload_settings().unwrap();
    assert_eq!(ask(&gateway, "s").await, (200, "b/y".to_owned()));
    assert_eq!(desk.tellings(), ["taken"]);
    assert_eq!(kinds(core), ["settings_taken"]);
    // A comment changes nothing but the text.
    let before = core.settings();
    desk.write(&with_one().replace("# one", "# only one"));
    core.reload_settings().unwrap();
    assert_ne!(core.settings().hash, before.hash);
    assert_eq!(desk.tellings().len(), 1);
}

#[tokio::test]
async fn g07_a_bad_edit_keeps_the_last_good_settings_and_says_so_everywhere() {
    let desk = Desk::new("ok", "ok");
    let gateway = desk.gateway();
    let core = gateway.core();
    desk.write(&with_one().replace("candidates", "candidate"));
    for _ in 0..3 {
        let problems = core.reload_settings().unwrap_err();
        assert!(problems.to_string().contains("did you mean `candidates`?"), "{problems}");
    }
    assert_eq!(ask(&gateway, "s").await, (200, "a/x".to_owned()));
    let place = format!("{}:14:1", desk.file.display());
    // Once each: in the log, in the journal, in the state.
    let told = desk.tellings();
    assert_eq!(told.len(), 1);
    assert!(told[0].contains(&place), "{told:?}");
    let journal = core.store().journal(10);
    assert_eq!(journal.len(), 1);
    assert!(format!("{:?}", journal[0].what).contains(&place), "{journal:?}");
    assert!(refused(core).unwrap().to_string().contains(&place));

    desk.write(MINE);
    core.reload_settings().unwrap();
    assert!(refused(core).is_none());
    assert_eq!(kinds(core), ["settings_refused", "settings_taken"]);
    assert_eq!(desk.tellings().len(), 2);
    assert_eq!(
        desk.tellings()[1],
        "taken",
        "that it is mended is told too, though nothing changed"
    );
    desk.write(&with_one());
    core.reload_settings().unwrap();
    assert_eq!(routes(core), ["b/y"]);

    // As often as it happens, and from the mended text on.
    desk.write("nonsense");
    core.reload_settings().unwrap_err();
    assert_eq!(routes(core), ["b/y"], "the last good ones, not the first");
    desk.write(MINE);
    core.reload_settings().unwrap();
    assert_eq!(ask(&gateway, "s").await, (200, "a/x".to_owned()));
    assert_eq!(desk.tellings().len(), 5);
    let told = ["settings_refused", "settings_taken"];
    let again = ["settings_taken", "settings_refused", "settings_taken"];
    assert_eq!(kinds(core), [told.as_slice(), again.as_slice()].concat());
}

#[tokio::test]
async fn g07_a_file_that_is_gone_keeps_the_last_good_settings() {
    let desk = Desk::new("ok", "ok");
    let gateway = desk.gateway();
    let core = gateway.core();
    std::fs::remove_file(&desk.file).unwrap();
    assert!(core.reload_settings().unwrap_err().to_string().contains("the file is gone"));
    assert_eq!(routes(core), ["a/x", "b/y"]);
    desk.write(&with_one());
    core.reload_settings().unwrap();
    assert_eq!(routes(core), ["b/y"]);
}

#[tokio::test(start_paused = true)]
async fn g07_the_file_is_watched_and_half_an_edit_is_not_taken() {
    let desk = Desk::new("ok", "ok");
    let running = Gateway::start(desk.config(), desk.options()).await.unwrap();
    let core = running.core();
    let second = || tokio::time::sleep(Duration::from_secs(1));
    // An editor that empties a file first is seen in the middle of it.
    desk.write("");
    second().await;
    assert_eq!(routes(core), ["a/x", "b/y"]);
    desk.write(&with_one());
    let mut seconds = 0;
    while routes(core) != ["b/y"] {
        second().await;
        seconds += 1;
        assert!(seconds < 10, "not taken");
    }
    assert_eq!(kinds(core), ["settings_taken"]);
    running.shutdown_or(std::future::ready(())).await;
}

#[cfg(unix)]
#[tokio::test]
async fn g07_a_signal_has_the_settings_looked_at() {
    let desk = Desk::new("ok", "ok");
    let running = Gateway::start(desk.config(), desk.options()).await.unwrap();
    let core = running.core();
    tokio::task::yield_now().await;
    desk.write(&with_one());
    // Without a listener the signal would end these tests.
    let hangup = tokio::signal::unix::SignalKind::hangup();
    let _listener = tokio::signal::unix::signal(hangup).unwrap();
    tokio::time::timeout(Duration::from_secs(30), async {
        while routes(core) != ["b/y"] {
            let me = std::process::id().to_string();
            std::process::Command::new("kill").args(["-HUP", &me]).status().unwrap();
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await
    .unwrap();
    running.shutdown_or(std::future::ready(())).await;
}

#[tokio::test]
async fn r17_another_reset_hour_holds_at_once() {
    let desk = Desk::new("ok", "ok");
    let gateway = desk.gateway();
    let core = gateway.core();
    let hour = |ends_ms: u64| ends_ms / 3_600_000 % 24;
    assert_eq!(hour(core.turn()), 1);
    for wanted in [23, 0, 12] {
        desk.write(&format!("reset_hour = {wanted}\n{MINE}"));
        core.reload_settings().unwrap();
        let ends_ms = core.turn();
        // A day that has passed never comes back: the one that runs may be kept until its end.
        let left_ms = ends_ms - core.clock().now().wall_ms;
        assert!(left_ms <= 48 * 3_600_000);
        let today = core.clock().day(core.clock().now());
        assert!(hour(today.ends_ms) == wanted);
    }
}

#[tokio::test]
async fn r32_the_journals_bound_holds_at_once_and_other_keys_name_the_restart_they_need() {
    let desk = Desk::new("ok", "ok");
    let gateway = desk.gateway();
    let core = gateway.core();
    desk.write(&MINE.replace("127.0.0.1:0", "127.0.0.1:9999"));
    core.reload_settings().unwrap();
    assert_eq!(core.settings().after_restart, ["listen"]);
    assert_eq!(core.store().journal(10).len(), 1);
    desk.write(&format!("{MINE}[journal]\nenabled = false\n"));
    core.reload_settings().unwrap();
    assert_eq!(core.store().journal(10).len(), 0);
    assert!(core.settings().after_restart.is_empty());
}
