//! What survives the program, and what is never kept (G7, G12, G13, R17).

use std::path::Path;

use ekiden_sim::{Script, Upstream};
use insta::assert_snapshot;
use tempfile::TempDir;

use crate::program::{Ekiden, Served, steady};

/// Stands in keys; nothing about it looks like one.
const KEY_MARK: &str = "mark-of-a-key";
const STORED_MARK: &str = "mark-of-a-stored-key";
/// Stands in prompts, and in errors that echo them.
const PROMPT_MARK: &str = "mark-of-a-prompt";

/// Scripted providers on sockets, for as long as it lives.
struct Providers {
    runtime: tokio::runtime::Runtime,
    folder: TempDir,
}

impl Providers {
    fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        Self { runtime, folder: tempfile::tempdir().unwrap() }
    }

    fn url(&self, script: &str) -> String {
        let upstream = Upstream::new(script.parse::<Script>().unwrap());
        self.runtime.block_on(async {
            let (listener, address) = Upstream::bind().await.unwrap();
            self.runtime.spawn(upstream.run(listener, std::future::pending()));
            format!("http://{address}/v1")
        })
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    /// Two candidates with these scripts.
    fn settings(&self, a: &str, b: &str) {
        let text = format!(
            "listen = \"127.0.0.1:0\"\n[providers.a]\nbase_url = \"{}\"\n\
             dialect = \"openai-chat\"\napi_key_env = \"A_KEY\"\n[providers.b]\n\
             base_url = \"{}\"\ndialect = \"openai-chat\"\n\
             [queues.default]\ncandidates = [\"a/x\", \"b/y\"]\nretries = 0\n",
            self.url(a),
            self.url(b)
        );
        std::fs::write(self.path("ekiden.toml"), text).unwrap();
    }

    fn serve(&self) -> Served {
        let file = self.path("ekiden.toml").display().to_string();
        let ekiden = Ekiden::new(&["serve", "--config", &file]).env("A_KEY", KEY_MARK);
        ekiden.state(&self.path("state")).serve("Ctrl-C")
    }
}

fn call(served: &Served, session: &str) -> (u16, String) {
    let body = format!(
        "{{\"model\": \"default\", \"messages\": [{{\"role\": \"user\", \"content\": \
         \"{PROMPT_MARK} of {session}\"}}]}}"
    );
    let head =
        format!("POST /v1/chat/completions HTTP/1.1\r\nx-ekiden-session: {session}\r\nx-more: of");
    served.ask(&head, &body)
}

#[test]
fn r17_g12_a_kill_loses_no_quarantine() {
    let providers = Providers::new();
    providers.settings("400 | trouble:auth", "ok");
    let first = providers.serve();
    assert!(first.greeting.contains("state in [state]"), "{}", first.greeting);
    assert_eq!(call(&first, "s").0, 200);
    first.until("/api/v1/journal", |journal| journal.contains("\"quarantined\""));
    let out = |state: &str| state.split("\"quarantined\":").nth(1).unwrap().to_owned();
    let out = |state: String| out(&state).split("\"verified\"").next().unwrap().to_owned();
    let before = out(first.until("/api/v1/sessions", |state| state.contains("invalid_api_key")));
    first.kill();
    let second = providers.serve();
    let after = out(second.until("/api/v1/sessions", |state| state.contains("\"quarantined\":[{")));
    assert_eq!(before, after);
    assert_eq!(call(&second, "s").0, 200);
}

#[test]
fn g13_a_second_start_says_who_has_the_folder_and_how_to_reach_it() {
    let providers = Providers::new();
    providers.settings("ok", "ok");
    let first = providers.serve();
    let file = providers.path("ekiden.toml").display().to_string();
    let second = || {
        Ekiden::new(&["serve", "--config", &file]).state(&providers.path("state")).env("A_KEY", "k")
    };
    assert_snapshot!(steady(&second().result()));
    assert_snapshot!(steady(&second().env("LC_ALL", "zh_CN.UTF-8").result()));
    // The folder is free once its owner is gone, however it went.
    first.kill();
    drop(providers.serve());
}

#[test]
fn g12_a_folder_that_cannot_be_used_does_not_stop_serving() {
    let providers = Providers::new();
    providers.settings("ok", "ok");
    std::fs::write(providers.path("state"), "no folder").unwrap();
    let served = providers.serve();
    assert!(served.greeting.contains("nothing outlives this process: "), "{}", served.greeting);
    assert_eq!(call(&served, "s").0, 200);
    assert!(served.ask("GET /api/v1/state", "").1.contains("\"why_not\":\"the state folder"));
    let chinese = "GET /api/v1/state HTTP/1.1\r\naccept-language: zh\r\nx-none:";
    assert!(served.ask(chinese, "").1.contains("\"why_not\":\"状态文件夹"));
}

#[test]
fn g07_a_bad_edit_is_told_by_log_state_journal_and_check() {
    let providers = Providers::new();
    providers.settings("ok", "ok");
    let file = providers.path("ekiden.toml");
    let good = std::fs::read_to_string(&file).unwrap();
    let served = providers.serve();
    std::fs::write(&file, good.replace("retries = 0", "retries = 99")).unwrap();
    let state = served.until("/api/v1/state", |state| state.contains("out of bounds"));
    assert!(state.contains("\"line\":11,\"column\":11"), "{state}");
    served.until("/api/v1/journal", |journal| journal.contains("settings_refused"));
    let check = Ekiden::new(&["check", &file.display().to_string()]).result();
    assert!(check.contains("ekiden.toml:11:11"), "{check}");
    assert_eq!(call(&served, "s").0, 200);
    std::fs::write(&file, good.replace("retries = 0", "retries = 9")).unwrap();
    served.until("/api/v1/journal", |journal| journal.contains("settings_taken"));
    assert!(served.ask("GET /api/v1/state", "").1.contains("\"refused\":[]"));
    let log = served.kill();
    assert!(log.contains("ekiden.toml:11:11"), "{log}");
    assert!(log.contains("the last good settings still hold"), "{log}");
    assert!(log.contains("ekiden.toml taken"), "{log}");
}

/// All files below a folder, by name.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        found.push((name, std::fs::read(&path).unwrap()));
    }
    found
}

/// Providers that repeat whatever they were sent, and more.
fn settings_of_tell_tales(providers: &Providers) {
    let echo = |status: u16, words: &str| {
        format!("{status} | body:{{\"error\":{{\"message\":\"{words}\",\"type\":\"x\"}}}}")
    };
    let a = [
        echo(401, &format!("Incorrect API key provided: {KEY_MARK}")),
        echo(500, &format!("upstream refused Bearer {KEY_MARK}, and {STORED_MARK}")),
        echo(400, &format!("Unsupported parameter for this model: {PROMPT_MARK}")),
        "filter".to_owned(),
        "reset".to_owned(),
        "ok".to_owned(),
    ]
    .join("; ");
    let b = [
        echo(403, &format!("no rights for {STORED_MARK}")),
        echo(429, &format!("slow down {STORED_MARK}")),
        "ok".to_owned(),
    ]
    .join("; ");
    providers.settings(&a, &b);
}

#[test]
fn g07_r17_no_key_and_no_prompt_is_in_anything_that_is_kept_said_or_answered() {
    let providers = Providers::new();
    settings_of_tell_tales(&providers);
    let state = providers.path("state");
    std::fs::create_dir(&state).unwrap();
    std::fs::write(state.join("keys.toml"), format!("b = \"{STORED_MARK}\"\n")).unwrap();
    let served = providers.serve();
    let mut said = vec![("greeting".to_owned(), served.greeting.clone().into_bytes())];
    let mut ids = Vec::new();
    for number in 0..8 {
        let (_, answer) = call(&served, &format!("s{number}"));
        // A client may hear its own prompt again, and no key.
        said.push((format!("answer {number}"), answer.replace(PROMPT_MARK, "").into_bytes()));
    }
    let edit = format!("api_key = \"{KEY_MARK}\" oops\n");
    let file = providers.path("ekiden.toml");
    let good = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("{good}[providers.c]\n{edit}")).unwrap();
    served.until("/api/v1/state", |state| state.contains("this is not TOML"));
    // What providers say of their models is kept, too.
    let rescan = served.ask("POST /api/v1/catalog/rescan", "{}");
    said.push(("rescan".to_owned(), rescan.1.into_bytes()));
    for path in [
        "state",
        "sessions",
        "journal",
        "calls",
        "catalog",
        "settings",
        "export",
        "tokens",
        "ledger?by=day",
        "ledger?by=call",
        "ledger?by=token",
        "ledger/attempts",
    ] {
        let (status, answer) = served.ask(&format!("GET /api/v1/{path}"), "");
        assert_eq!(status, 200, "{path}: {answer}");
        ids.extend(answer.split('"').filter(|word| word.starts_with("ek-")).map(str::to_owned));
        said.push((path.to_owned(), answer.into_bytes()));
    }
    ids.sort();
    ids.dedup();
    assert!(ids.len() >= 8, "{ids:?}");
    for id in &ids {
        for path in [format!("calls/{id}"), format!("calls/{id}/trace")] {
            said.push((
                path.clone(),
                served.ask(&format!("GET /api/v1/{path}"), "").1.into_bytes(),
            ));
        }
    }
    let words = ["check", &file.display().to_string()].map(str::to_owned);
    let check = Ekiden::new(&words.each_ref().map(String::as_str)).state(&state).result();
    said.push(("check".to_owned(), check.into_bytes()));
    served.until("/api/v1/journal", |journal| journal.contains("settings_refused"));
    // A killed process leaves its log of the database beside it.
    said.push(("log".to_owned(), served.kill().into_bytes()));
    let kept = files(&state);
    let names: Vec<&str> = kept.iter().map(|(name, _)| name.as_str()).collect();
    for name in ["ekiden.sqlite", "ekiden.sqlite-wal", "keys.toml"] {
        assert!(names.contains(&name), "{names:?}");
    }
    let keys = kept.iter().find(|(name, _)| name == "keys.toml").unwrap();
    assert!(String::from_utf8_lossy(&keys.1).contains(STORED_MARK));
    said.extend(kept.into_iter().filter(|(name, _)| name != "keys.toml"));
    for (name, bytes) in &said {
        for mark in [KEY_MARK, STORED_MARK, PROMPT_MARK] {
            let found = bytes.windows(mark.len()).any(|window| window == mark.as_bytes());
            assert!(!found, "{mark} in {name}: {}", String::from_utf8_lossy(bytes));
        }
    }
}

/// The limit is the shell's, and stands for a disk on which nothing more fits.
#[cfg(unix)]
#[test]
fn g12_a_full_disk_loses_no_setting_and_stops_no_call() {
    let providers = Providers::new();
    providers.settings("ok", "ok");
    let file = providers.path("ekiden.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    // Larger than what may be written.
    let text = format!("{}{text}", "# a long word about it\n".repeat(2_000));
    std::fs::write(&file, &text).unwrap();
    let words = ["serve".to_owned(), "--config".to_owned(), file.display().to_string()];
    let ekiden = Ekiden::new(&words.each_ref().map(String::as_str)).env("A_KEY", KEY_MARK);
    let served = ekiden.state(&providers.path("state")).files_max(16).serve("Ctrl-C");
    assert_eq!(call(&served, "s").0, 200);
    for _ in 0..3 {
        let (status, told) = served.ask("POST /api/v1/queues", "{\"name\": \"more\"}");
        assert_eq!(status, 503, "{told}");
        assert!(told.contains("\"not_kept\""), "{told}");
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text, "no half-written file");
    let left = std::fs::read_dir(providers.folder.path()).unwrap();
    let left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "no draft is left: {left:?}");
    let (_, settings) = served.ask("GET /api/v1/settings", "");
    assert!(!settings.contains("queues.more"), "what is not kept does not hold");
    assert_eq!(call(&served, "t").0, 200, "it serves all the same");

    // Somebody makes room: settings are kept again, without a restart.
    let room = format!("reset_hour = 5\n{}", text.replace("# a long word about it\n", ""));
    std::fs::write(&file, &room).unwrap();
    served.until("/api/v1/settings", |settings| {
        settings.contains(r#""path":"reset_hour","value":5"#)
    });
    let (status, told) = served.ask("POST /api/v1/queues", "{\"name\": \"more\"}");
    assert_eq!(status, 201, "{told}");
    let kept = std::fs::read_to_string(&file).unwrap();
    assert!(kept.contains("[queues.more]") && kept.contains("reset_hour = 5"), "{kept}");
    let (_, settings) = served.ask("GET /api/v1/settings", "");
    assert!(settings.contains("queues.more"), "it holds");
}
