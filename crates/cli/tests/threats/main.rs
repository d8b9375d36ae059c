//! What others say is shown, and does nothing to the terminal that shows it. THREAT_MODEL.md names these tests.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on says so; its helpers are no tests to the lint"
)]

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread;

#[path = "../cli/program.rs"]
#[expect(dead_code, reason = "these tests need a part of it")]
mod program;

use program::{Ekiden, Served};

/// A title, colours, a link, a bell, a cleared screen, a returned and an overwritten line, C1 controls, text that
/// runs backwards, a line that looks like another entry.
const EVIL: &str = "\u{1b}]0;pwned\u{7}\u{1b}[31mred\u{1b}[2J\u{1b}]8;;http://evil.example\u{1b}\\link\r\
    over\u{8}\u{9b}31m\u{90}q\u{202e}exe.gpj\u{2066}\u{2069}\u{200f}\u{2028}\nok  everything is fine\u{7f}";

/// An upstream that fails with these words for ever.
fn upstream() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let error = serde_json::json!({ "error": {
        "message": format!("no luck {EVIL} here"), "type": format!("t{EVIL}"), "code": format!("c{EVIL}"), "param": EVIL
    } });
    let body = error.to_string();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let body = body.clone();
            thread::spawn(move || answer(stream, &body));
        }
    });
    format!("http://{address}/v1")
}

fn answer(mut stream: TcpStream, body: &str) {
    let mut asked = Vec::new();
    let mut piece = [0; 4096];
    while !String::from_utf8_lossy(&asked).contains("\"messages\"") {
        match stream.read(&mut piece) {
            Ok(0) | Err(_) => break,
            Ok(len) => asked.extend_from_slice(&piece[..len]),
        }
    }
    let head = format!(
        "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nconnection: close\r\n\
         content-length: {}\r\n\r\n",
        body.len()
    );
    let _ = stream.write_all(format!("{head}{body}").as_bytes());
}

/// Letters that steer a terminal, or the order in which others are shown.
fn steers(letter: char) -> bool {
    (letter.is_control() && letter != '\n')
        || matches!(letter, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn assert_calm(what: &str, said: &str) {
    let found: String = said.chars().filter(|letter| steers(*letter)).collect();
    assert!(found.is_empty(), "{what} says {found:?}:\n{}", said.escape_debug());
    let forged = said.lines().find(|line| line.starts_with("ok  everything"));
    assert_eq!(forged, None, "{what} shows a line of its own:\n{said}");
}

fn settings(name: &str) -> String {
    format!(
        "listen = \"127.0.0.1:0\"\n[providers.a]\nbase_url = \"{}\"\ndialect = \"openai-chat\"\napi_key = \"k\"\n\
         [queues.default]\nname = {}\ncandidates = [\"a/x\"]\nretries = 0\n",
        upstream(),
        serde_json::to_string(name).unwrap()
    )
}

fn served(folder: &std::path::Path) -> Served {
    let file = folder.join("ekiden.toml");
    std::fs::write(&file, settings("Mine")).unwrap();
    let words = ["serve", "--config", &file.display().to_string()].map(str::to_owned);
    Ekiden::new(&words.each_ref().map(String::as_str)).state(&folder.join("state")).serve("Ctrl-C")
}

#[test]
fn g09_what_an_upstream_says_steers_no_terminal_and_forges_no_line() {
    let folder = tempfile::tempdir().unwrap();
    let served = served(folder.path());
    let body = r#"{"model": "default", "messages": [{"role": "user", "content": "hi"}]}"#;
    let head = "POST /v1/chat/completions HTTP/1.1\r\nx-ekiden-session: s1\r\nx-more: of";
    let (status, _) = served.ask(head, body);
    assert_ne!(status, 200);
    let calls = served.until("/api/v1/calls", |calls| calls.contains("ek-"));
    let call = calls.split('"').find(|word| word.starts_with("ek-")).unwrap().to_owned();
    served.until("/api/v1/journal", |journal| journal.contains("no luck"));
    for words in [
        "status",
        "sessions",
        "sessions s1",
        "journal",
        "ledger",
        "test default",
        &format!("why {call}"),
    ] {
        for locale in ["C", "zh_CN.UTF-8"] {
            let all: Vec<&str> = words.split(' ').chain(["--url", &served.url]).collect();
            let (code, out, err) = Ekiden::new(&all).env("LC_ALL", locale).run();
            assert!(
                !out.is_empty() || !err.is_empty(),
                "{words} says nothing and ends with {code}"
            );
            assert_calm(words, &out);
            assert_calm(words, &err);
        }
    }
    assert_calm("the gateway", &served.greeting);
    assert_calm("the gateway's log", &served.kill());
}

#[test]
fn g07_names_in_a_file_steer_no_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let served = served(folder.path());
    let file = folder.path().join("ekiden.toml").display().to_string();
    // They are refused (G7), in words that hold nothing of them.
    for name in ["Mine \u{1b}[31m evil", "Mine \u{202e} evil"] {
        std::fs::write(&file, settings(name)).unwrap();
        for words in ["check", "serve --config"] {
            let all: Vec<&str> = words.split(' ').chain([file.as_str()]).collect();
            let (code, out, err) = Ekiden::new(&all).run();
            assert_eq!(code, 2, "{words}: {out}{err}");
            assert_calm(words, &format!("{out}{err}"));
        }
    }
    served.until("/api/v1/journal", |journal| journal.contains("settings_refused"));
    for words in ["status", "queue list", "journal"] {
        let all: Vec<&str> = words.split(' ').chain(["--url", &served.url]).collect();
        let (_, out, err) = Ekiden::new(&all).run();
        assert_calm(words, &format!("{out}{err}"));
    }
    assert_calm("the gateway's log", &served.kill());
    std::fs::write(
        folder.path().join("ekiden.toml"),
        format!("# {EVIL}\n\"{}\" = 1\n", "a\\u001b[31mb\\u202e"),
    )
    .unwrap();
    let (_, out, err) = Ekiden::new(&["check", &file]).run();
    assert_calm("check of a broken file", &format!("{out}{err}"));
}
