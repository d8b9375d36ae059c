//! What the running gateway says and does: the demo's, with a relay behind it (R19, R32, R34, R39).

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

use insta::assert_snapshot;
use serde_json::Value;

use crate::program::{Ekiden, Served, steady};

const CHINESE: &str = "zh_CN.UTF-8";

fn demo() -> Served {
    Ekiden::new(&["demo"]).serve("Ctrl-C")
}

fn asked(gateway: &Served, words: &str) -> Ekiden {
    let words: Vec<&str> = words.split(' ').chain(["--url", &gateway.url]).collect();
    Ekiden::new(&words)
}

/// Each command with everything that it said.
fn told(gateway: &Served, locale: &str, commands: &[&str]) -> String {
    let one = |words: &&str| {
        let result = steady(&asked(gateway, words).env("LC_ALL", locale).result());
        format!("$ ekiden {words}\n{result}\n")
    };
    let text = commands.iter().map(one).collect::<Vec<_>>().join("\n");
    // How long the day still is, and how fast somebody spoke.
    let text = text.replace("[span] [span]", "[span]");
    text.lines().map(without_speeds).collect::<Vec<_>>().join("\n")
}

fn without_speeds(line: &str) -> String {
    match ["tokens a second today: ", "今日每秒词元："].iter().find(|head| line.contains(**head))
    {
        Some(head) => format!("  {head}[speeds]"),
        None => line.to_owned(),
    }
}

fn json(gateway: &Served, words: &str) -> Value {
    let (code, out, err) = asked(gateway, words).run();
    assert_eq!((code, err.as_str()), (0, ""), "{words}");
    serde_json::from_str(&out).unwrap()
}

#[test]
fn r32_what_happened_and_how_all_stands_is_told_and_let_go() {
    let demo = demo();
    let looks = ["status", "sessions demo", "journal", "journal --since 1h --what stalled"];
    assert_snapshot!("looks", told(&demo, "C", &looks));
    assert_snapshot!("looks-zh", told(&demo, CHINESE, &looks));
    assert_snapshot!(
        "let-go",
        told(
            &demo,
            "C",
            &[
                "sessions nobody",
                "release --session demo --queue demo --route acme/grand",
                "release --route cirrus/deep",
                "release --route nobody/model",
                "release --session demo",
                "journal --what lifted",
                "sessions demo",
                "release --all",
                "sessions demo --end",
                "journal --since never",
            ]
        )
    );
    assert_eq!(json(&demo, "sessions demo --json")["quarantined"], Value::Array(Vec::new()));
}

#[test]
fn r34_the_ledger_is_summed_by_what_is_asked_for() {
    let demo = demo();
    let sums = [
        "ledger",
        "ledger --by candidate --days 2",
        "ledger --by session --queue demo-anthropic",
        "ledger --by queue --route nobody/model",
    ];
    assert_snapshot!("ledger", told(&demo, "C", &sums));
    assert_snapshot!("ledger-zh", told(&demo, CHINESE, &sums[1..3]));
    let sums = json(&demo, "ledger --by candidate --json");
    assert_eq!((&sums["by"], &sums["sums"][0]["key"]), (&"route".into(), &"acme/grand".into()));
}

#[test]
fn r39_every_candidate_of_a_queue_is_asked_straight() {
    let demo = demo();
    // Its model refuses every other time.
    let (code, out, _) = asked(&demo, "test demo-anthropic").run();
    assert_eq!(code, 1, "{out}");
    assert!(out.contains("echo/calm") && out.contains("429 rate_limit_error: "), "{out}");
    let tested = json(&demo, "test demo-anthropic --json");
    assert_eq!(tested["candidates"][0]["ok"], Value::Bool(true));

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ekiden.toml");
    let text = "listen = \"127.0.0.1:0\"\n[providers.a]\nbase_url = \"http://127.0.0.1:9/v1\"\n\
                dialect = \"openai-chat\"\n[queues.gone]\ncandidates = [\"a/one\"]\n[queues.none]\n";
    std::fs::write(&path, text).unwrap();
    let other = Ekiden::new(&["serve", "--config", &path.display().to_string()]).serve("Ctrl-C");
    let (code, out, _) = asked(&other, "test gone").run();
    assert_eq!(code, 1, "{out}");
    assert!(out.contains("a/one") && out.contains("connection broke"), "{out}");
    assert_snapshot!(
        "test",
        told(&other, "C", &["test none", "test nobody", "status", "sessions"])
    );
}

#[test]
fn g09_tokens_are_made_listed_and_revoked() {
    let demo = demo();
    let made = json(&demo, "token new first --admin --json");
    let id = made["made"]["id"].as_str().unwrap();
    let text = told(
        &demo,
        "C",
        &[
            "token new laptop --queue demo --calls-max 2",
            "token new laptop --queue nobody",
            "token list",
            &format!("token revoke {id}"),
            &format!("token revoke {id}"),
        ],
    );
    let list = json(&demo, "token list --json");
    let other = list["tokens"][0]["id"].as_str().unwrap();
    assert_eq!(list["tokens"].as_array().unwrap().len(), 1);
    assert_snapshot!("tokens", text.replace(id, "[first]").replace(other, "[other]"));
    // What is shown of a revoked token is not let in, even where none is needed.
    let revoked = made["token"].as_str().unwrap();
    let (code, _, err) = asked(&demo, "status").env("EKIDEN_TOKEN", revoked).run();
    assert_eq!(code, 1, "{err}");
    assert!(err.contains("revoked") && err.contains("EKIDEN_TOKEN"), "{err}");
}

/// A command that does not end by itself.
struct Following(Child);

impl Drop for Following {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn r32_the_journal_is_followed_from_where_it_stands() {
    let mut demo = demo();
    let follow = ["journal", "--follow", "--json", "--what", "lifted", "--url", &demo.url];
    asked(&demo, "release --session demo --queue demo --route acme/grand").run();
    let child = Command::new(env!("CARGO_BIN_EXE_ekiden"))
        .args(follow)
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut child = Following(child);
    let mut lines = BufReader::new(child.0.stdout.take().unwrap()).lines();
    let mut next = || -> Value { serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap() };
    // What was there, then what comes.
    assert_eq!(next()["route"], "acme/grand");
    asked(&demo, "release --session demo --queue demo --route cirrus/deep").run();
    assert_eq!(next()["route"], "cirrus/deep");
    demo.child.kill().unwrap();
    assert_eq!(child.0.wait().unwrap().code(), Some(1));
}

#[test]
fn r33_a_dry_run_tells_what_a_call_would_do_and_why() {
    let demo = demo();
    let (code, out, _) = asked(&demo, "dry-run demo").run();
    assert_eq!(code, 0, "{out}");
    assert!(out.contains("it would ask "), "{out}");
    // The demo's own session has lost some.
    let looks = ["dry-run demo --session demo", "dry-run demo"];
    assert_snapshot!("dry-run", told(&demo, "C", &looks));
    assert_snapshot!("dry-run-zh", told(&demo, CHINESE, &looks));
    let told = json(&demo, "dry-run demo --json --tokens 5");
    assert_eq!(told["would"], "run");
    let (code, _, err) = asked(&demo, "dry-run nobody").run();
    assert!(code == 1 && err.contains("nobody"), "{err}");
}

#[test]
fn r37_the_catalog_is_shown_and_asked_for_anew() {
    let demo = demo();
    let (code, out, _) = asked(&demo, "catalog").run();
    assert_eq!(code, 0, "{out}");
    assert!(out.contains("not asked yet: `ekiden rescan`"), "{out}");
    let (code, out, err) = asked(&demo, "rescan acme").run();
    assert_eq!(code, 0, "{out}{err}");
    assert!(out.contains("acme: ") && out.contains("grand"), "{out}");
    let (code, _, err) = asked(&demo, "rescan nobody").run();
    assert!(code == 1 && err.contains("no provider `nobody` is known"), "{err}");
}

#[test]
fn p05_pause_resume_and_stop_are_told() {
    let demo = demo();
    let told = told(&demo, "C", &["pause", "resume", "stop last", "pause --session nobody"]);
    for part in ["paused: calls do not persist", "resumed: calls persist", "no call is open"] {
        assert!(told.contains(part), "{told}");
    }
    let told = json(&demo, "pause --session demo --json");
    assert_eq!(told["paused"], Value::Bool(true));
}

#[test]
fn p05_a_stopped_call_is_told_as_stopped_to_its_client_and_afterwards() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ekiden.toml");
    let text = format!(
        "listen = \"127.0.0.1:0\"\n[providers.a]\nbase_url = \"http://{}/v1\"\n\
         dialect = \"openai-chat\"\n[queues.default]\ncandidates = [\"a/silent\"]\n",
        silent.local_addr().unwrap()
    );
    std::fs::write(&path, text).unwrap();
    let gateway = Ekiden::new(&["serve", "--config", &path.display().to_string()]).serve("Ctrl-C");
    let body = r#"{"model":"default","messages":[{"role":"user","content":"hi"}]}"#;
    let (status, answer) = std::thread::scope(|threads| {
        let client = threads.spawn(|| gateway.ask("POST /v1/chat/completions", body));
        // An attempt is under way once its provider has been called.
        let connection = silent.accept().unwrap();
        let (code, out, err) = asked(&gateway, "stop last").run();
        assert_eq!((code, out.ends_with(" is stopped\n")), (0, true), "{out}{err}");
        drop(connection);
        client.join().unwrap()
    });
    let answer: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!((status, &answer["error"]["code"]), (499, &"call_stopped".into()), "{answer}");
    let looks = ["why last", "journal"];
    assert_snapshot!("stopped", told(&gateway, "C", &looks));
    assert_snapshot!("stopped-zh", told(&gateway, CHINESE, &looks));
    let told = json(&gateway, "why last --json");
    assert_eq!((&told["state"], &told["told"]["code"]), (&"stopped".into(), &"stopped".into()));
}
