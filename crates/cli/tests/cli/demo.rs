//! `ekiden demo`: a whole relay through real sockets, without a key (G8).

use insta::assert_snapshot;

use crate::program::{Ekiden, steady};

#[test]
fn g08_the_demo_plays_a_relay_and_ends() {
    assert_snapshot!(steady(&Ekiden::new(&["demo", "--once"]).result()));
}

#[test]
fn g08_the_demo_speaks_chinese() {
    let demo = Ekiden::new(&["demo", "--once"]).env("LC_ALL", "zh_CN.UTF-8");
    assert_snapshot!(steady(&demo.result()));
}

#[test]
fn r33_a_call_of_the_demo_can_be_told_and_decided_again() {
    let demo = Ekiden::new(&["demo"]).serve("Ctrl-C");
    let asked = |words: &[&str]| {
        let words: Vec<&str> = words.iter().copied().chain(["--url", &demo.url]).collect();
        Ekiden::new(&words).run()
    };
    let (code, told, err) = asked(&["why", "last"]);
    assert_eq!(code, 0, "{err}");
    assert!(told.contains("waited 1 s as the model asked for"), "{told}");
    let (code, json, _) = asked(&["why", "last", "--json"]);
    let call: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((code, call["state"].as_str()), (0, Some("whole")));
    let id = call["call"].as_str().unwrap();
    let (code, replayed, err) = asked(&["replay", id]);
    assert_eq!(code, 0, "{replayed}{err}");
    assert!(replayed.contains("echo/calm"), "{replayed}");
    assert!(replayed.trim_end().ends_with("decisions"), "{replayed}");
}

#[test]
fn r33_r03_a_replay_says_who_stood_further_back_and_why() {
    let demo = Ekiden::new(&["demo"]).serve("Ctrl-C");
    let (_, calls) = demo.ask("GET /api/v1/calls", "");
    let calls: serde_json::Value = serde_json::from_str(&calls).unwrap();
    // Newest first: the second of three turns, when two stood behind the one that had answered.
    let second = calls["past"][1]["call"].as_str().unwrap();
    for (locale, said) in [
        ("C", "further back, borealis/swift: quarantined here (silent for too long)"),
        ("zh_CN.UTF-8", "靠后，borealis/swift：在此处隔离中（停滞）"),
    ] {
        let replay = Ekiden::new(&["replay", second, "--url", &demo.url]).env("LC_ALL", locale);
        let (code, told, err) = replay.run();
        assert_eq!(code, 0, "{err}");
        assert!(told.contains(said), "{told}");
    }
}
