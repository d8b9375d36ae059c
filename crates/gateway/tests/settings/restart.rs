//! What was learnt survives (R17, G12), and one process owns a state folder (G13).

use std::sync::Arc;

use ekiden_config::Language;
use ekiden_gateway::state::{self, Kept, WhyNot};
use ekiden_gateway::{CoreOptions, Gateway};

use crate::desk::{Desk, ask, get, kinds};

/// Ends a gateway as a process does.
fn end((gateway, kept): (Gateway, Kept)) {
    gateway.core().store().flush().unwrap();
    let Kept { store, folder, .. } = kept;
    drop((gateway, store));
    drop(folder);
}

#[tokio::test]
async fn r17_a_restart_keeps_quarantines_verified_marks_and_tallies() {
    let desk = Desk::new("400 | trouble:auth", "ok | usage:5/50");
    let first = desk.with_state();
    assert_eq!(ask(&first.0, "s").await, (200, "b/y".to_owned()));
    let asked = desk.a.log().requests.len();
    assert!(asked > 0);
    first.0.core().store().flush().unwrap();
    let before = get(&first.0, "/api/v1/state").await;
    let journal = kinds(first.0.core());
    end(first);

    let second = desk.with_state();
    let after = get(&second.0, "/api/v1/state").await;
    for part in ["key", "quarantined", "verified", "speeds"] {
        assert_eq!(before["sessions"][0][part], after["sessions"][0][part], "{part}");
    }
    let today = |state: &serde_json::Value| state["queues"][0]["candidates"][1]["today"].clone();
    assert_eq!(today(&before), today(&after));
    assert_eq!(kinds(second.0.core()), journal);
    // The candidate that is out is not asked again.
    assert_eq!(ask(&second.0, "s").await, (200, "b/y".to_owned()));
    assert_eq!(desk.a.log().requests.len(), asked);
    end(second);
}

#[tokio::test]
async fn r33_what_is_asked_right_after_a_call_is_complete() {
    let desk = Desk::new("400 | trouble:auth", "ok");
    let kept = desk.with_state();
    for session in ["s", "t", "u"] {
        assert_eq!(ask(&kept.0, session).await, (200, "b/y".to_owned()));
        // No flush between: the store writes in batches, and the question waits for its own.
        let calls = get(&kept.0, "/api/v1/calls").await;
        let call = calls["past"][0]["call"].as_str().unwrap().to_owned();
        let journal = get(&kept.0, &format!("/api/v1/journal?call={call}")).await;
        let whats: Vec<_> = journal["entries"].as_array().unwrap().iter().collect();
        for what in ["quarantined", "failed_over"] {
            assert!(whats.iter().any(|entry| entry["what"] == what), "{what}: {journal}");
        }
        let rows = get(&kept.0, &format!("/api/v1/ledger/attempts?call={call}")).await;
        let rows = rows["attempts"].as_array().unwrap();
        assert!(rows.len() > 1, "{rows:?}");
    }
    end(kept);
}

#[tokio::test]
async fn g13_a_folder_has_one_owner_and_the_second_learns_where_it_listens() {
    let desk = Desk::new("ok", "ok");
    let first = desk.with_state();
    let folder = first.1.folder.as_ref().unwrap();
    folder.announce("127.0.0.1:8787").unwrap();
    let held = state::open(Some(&desk.state), &desk.config()).unwrap_err();
    assert_eq!(held.address.as_deref(), Some("127.0.0.1:8787"));
    end(first);
    end(desk.with_state());
}

#[tokio::test]
async fn g12_a_folder_that_cannot_be_used_does_not_stop_serving() {
    let desk = Desk::new("ok", "ok");
    std::fs::write(&desk.state, "a file where the folder should be").unwrap();
    let kept = state::open(Some(&desk.state), &desk.config()).unwrap();
    assert!(kept.store.is_none());
    let why = kept.keeping.why_not.as_ref().unwrap().say(Language::English);
    assert!(why.contains(&desk.state.display().to_string()), "{why}");
    let options = CoreOptions { keeping: kept.keeping, ..desk.options() };
    let gateway = Gateway::in_process(desk.config(), options);
    assert_eq!(ask(&gateway, "s").await, (200, "a/x".to_owned()));
    let state = get(&gateway, "/api/v1/state").await;
    assert_eq!(state["recording"]["why_not"].as_str(), Some(why.as_str()));
    // A damaged file is left alone, and the folder is still ours.
    std::fs::remove_file(&desk.state).unwrap();
    std::fs::create_dir(&desk.state).unwrap();
    std::fs::write(desk.state.join(ekiden_store::FILE_NAME), "no database").unwrap();
    let kept = state::open(Some(&desk.state), &desk.config()).unwrap();
    assert!(kept.store.is_none() && kept.folder.is_some());
    let why = kept.keeping.why_not.as_ref().unwrap();
    assert!(why.say(Language::English).contains("is damaged: "), "{why:?}");
    assert!(why.say(Language::Chinese).contains(" 已损坏（"), "{why:?}");
    let text = std::fs::read_to_string(desk.state.join(ekiden_store::FILE_NAME)).unwrap();
    assert_eq!(text, "no database");
    let no_home = state::open(None, &desk.config()).unwrap();
    assert_eq!(no_home.keeping.why_not, Some(WhyNot::NoHome));
    let gateway = Gateway::in_process(desk.config(), desk.options());
    assert!(Arc::strong_count(gateway.core()) > 0);
}
