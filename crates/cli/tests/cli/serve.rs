//! `ekiden serve`, from its greeting to its end (G8, G13).

use std::net::TcpListener;

use insta::assert_snapshot;

use crate::program::{Ekiden, Served, steady};

const QUEUE: &str = r#"
listen = "127.0.0.1:0"
[providers.a]
base_url = "http://127.0.0.1:9/v1"
dialect = "openai-chat"
[providers.b]
base_url = "http://127.0.0.1:9"
dialect = "anthropic-messages"
api_key_env = "B_KEY"
[queues.default]
candidates = ["a/one", "b/two"]
"#;

fn served(env: &[(&str, &str)], last_line: &str) -> Served {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ekiden.toml");
    std::fs::write(&path, QUEUE).unwrap();
    let ekiden = Ekiden::new(&["serve", "--config", &path.display().to_string()]);
    let ekiden = env.iter().fold(ekiden, |ekiden, (name, value)| ekiden.env(name, value));
    let mut served = ekiden.serve(last_line);
    served.greeting = served.greeting.replace(&path.display().to_string(), "[file]");
    served
}

#[test]
#[cfg(unix)]
fn g08_the_greeting_says_what_to_put_into_a_client() {
    let english = served(&[("B_KEY", "sk-not-shown")], "Ctrl-C");
    assert_snapshot!(steady(&english.greeting));
    let chinese = served(&[("LC_ALL", "zh_CN.UTF-8")], "Ctrl-C");
    assert_snapshot!(steady(&chinese.greeting));
}

#[test]
#[cfg(unix)]
fn g08_without_any_provider_it_stays_up_and_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let ekiden = Ekiden::new(&["--listen", "127.0.0.1:0"]).env("HOME", "/home/somebody");
    let served = ekiden.within(folder.path()).serve("no candidates.");
    // Whoever runs these tests may have a model server of their own.
    if served.greeting.contains("There is no model yet") {
        assert_snapshot!(steady(&served.greeting));
        let chinese = Ekiden::new(&["--listen", "127.0.0.1:0"]).env("HOME", "/home/somebody");
        let chinese = chinese.env("LC_ALL", "zh_CN.UTF-8").within(folder.path()).serve("没有候选");
        assert_snapshot!(steady(&chinese.greeting));
    }
}

#[test]
fn g13_a_taken_port_is_told_with_who_has_it() {
    let stranger = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = stranger.local_addr().unwrap().to_string();
    let refused = Ekiden::new(&["--listen", &taken]).env("OPENAI_API_KEY", "sk-1").result();
    drop(stranger);
    assert_snapshot!(steady(&refused));

    let first = served(&[], "Ctrl-C");
    let taken = format!("127.0.0.1:{}", first.port());
    let second = Ekiden::new(&["--listen", &taken]).env("OPENAI_API_KEY", "sk-1");
    assert_snapshot!(steady(&second.result()));
}

#[test]
#[cfg(unix)]
fn g13_a_signal_ends_it_in_order() {
    let mut served = served(&[], "Ctrl-C");
    let pid = served.child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    assert_eq!(served.child.wait().unwrap().code(), Some(0));
}

#[test]
fn r33_a_gateway_without_calls_says_so() {
    let served = served(&[], "Ctrl-C");
    let why = |words: &[&str]| {
        let words: Vec<&str> = words.iter().copied().chain(["--url", &served.url]).collect();
        steady(&Ekiden::new(&words).result())
    };
    assert_snapshot!(why(&["why", "last"]));
    assert_snapshot!(why(&["why", "ek-nobody-1"]));
}
