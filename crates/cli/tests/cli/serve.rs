//! `ekiden serve`, from its greeting to its end (G8, G13).

use std::io::{Read, Write};
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

/// A server on this machine that lists models, for as long as the test runs.
fn model_server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        let body = r#"{"object":"list","data":[{"id":"qwen3:8b"},{"id":"nomic-embed-text"}]}"#;
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut head = [0; 4_096];
            let read = stream.read(&mut head).unwrap();
            let asked = head[..read].starts_with(b"GET /v1/models ");
            let status = if asked { "200 OK" } else { "404 Not Found" };
            let answer = format!(
                "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
                 connection: close\r\n\r\n{body}",
                body.len()
            );
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    at
}

#[test]
fn g08_a_server_on_this_machine_is_found_used_and_named_as_the_source() {
    let ollama = model_server();
    let folder = tempfile::tempdir().unwrap();
    let ekiden = |words: &[&str]| {
        let home = folder.path().display().to_string();
        Ekiden::new(words).env("HOME", &home).env("OLLAMA_HOST", &ollama).within(folder.path())
    };
    let served = ekiden(&["--listen", "127.0.0.1:0"]).serve("Ctrl-C");
    let greeting = &served.greeting;
    assert!(greeting.contains("ollama/qwen3:8b"), "{greeting}");
    assert!(greeting.contains(&format!("found at http://{ollama}/v1")), "{greeting}");
    assert!(!greeting.contains("embed"), "what answers nothing is no candidate: {greeting}");

    let get = |words: &[&str]| {
        let words: Vec<&str> = words.iter().copied().chain(["--url", &served.url]).collect();
        ekiden(&words).run()
    };
    let (code, out, err) = get(&["config", "get", "providers.ollama"]);
    let line = out.lines().find(|line| line.contains("base_url")).unwrap_or_default();
    assert!(line.contains(&format!("found at http://{ollama}/v1")), "{code} {out} {err}");
    let (_, out, _) = get(&["config", "get", "providers.ollama.base_url", "--json"]);
    assert!(out.contains(r#""from":"found""#), "{out}");
    let (_, out, _) = get(&["config", "get", "queues.default.candidates.0.route"]);
    assert_eq!(out.trim(), "ollama/qwen3:8b");

    // What a start would make is what a check shows, and nothing is missed.
    let (code, out, err) = ekiden(&["check"]).run();
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert!(out.contains("ollama/qwen3:8b") && out.contains("found at http://"), "{out}");
}

#[test]
fn g08_a_local_server_stands_behind_what_keys_show() {
    let ollama = model_server();
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().display().to_string();
    let check = Ekiden::new(&["check"]).env("HOME", &home).env("OLLAMA_HOST", &ollama);
    let (_, out, _) = check.env("OPENAI_API_KEY", "sk-1").within(folder.path()).run();
    let remote = out.find("openai/").unwrap_or_else(|| panic!("{out}"));
    let local = out.find("ollama/").unwrap_or_else(|| panic!("{out}"));
    assert!(remote < local, "{out}");
}

#[test]
fn g08_a_variable_that_is_not_used_is_said_where_nothing_else_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().display().to_string();
    let ollama = "http://me:secret-word@127.0.0.1:9";
    let ekiden = |words: &[&str]| {
        Ekiden::new(words).env("HOME", &home).env("OLLAMA_HOST", ollama).within(folder.path())
    };
    let said = ekiden(&["--listen", "127.0.0.1:0"]).serve("no candidates.").kill();
    let why = "OLLAMA_HOST is not used: the URL carries a user name or password";
    assert!(said.contains(why) && !said.contains("secret-word"), "{said}");
    assert!(!said.contains("no provider was found"), "what to do is said in the greeting: {said}");
    let (_, out, err) = ekiden(&["check"]).run();
    assert!(err.contains(why) && !(out + &err).contains("secret-word"), "{err}");
}
