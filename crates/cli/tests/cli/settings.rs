//! Queues, providers, keys and settings of a running gateway (R1, R2, R40, R41, R46, G7).

use std::fs;
use std::path::{Path, PathBuf};

use insta::assert_snapshot;
use tempfile::TempDir;

use crate::program::{Ekiden, Served, steady};

const SETTINGS: &str = r#"# mine
listen = "127.0.0.1:0"
[providers.a]
base_url = "http://127.0.0.1:9/v1" # nobody's
dialect = "openai-chat"
[providers.b]
base_url = "http://127.0.0.1:9"
dialect = "anthropic-messages"
api_key_env = "B_KEY"
[queues.default]
candidates = ["a/one", "b/two"]
"#;

/// A gateway with a settings file and a state folder of its own.
struct Own {
    folder: TempDir,
    gateway: Served,
}

impl Own {
    fn started() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ekiden.toml");
        fs::write(&file, SETTINGS).unwrap();
        let serve = Ekiden::new(&["serve", "--config", &file.display().to_string()]);
        let state = folder.path().join("state").display().to_string();
        let gateway = serve.env("EKIDEN_STATE_DIR", &state).serve("Ctrl-C");
        Self { folder, gateway }
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("ekiden.toml")
    }

    fn text(&self) -> String {
        fs::read_to_string(self.file()).unwrap()
    }

    fn asked(&self, words: &str) -> Ekiden {
        let words: Vec<&str> = words.split(' ').chain(["--url", &self.gateway.url]).collect();
        Ekiden::new(&words).within(self.folder.path())
    }

    fn told(&self, locale: &str, commands: &[&str]) -> String {
        let one = |words: &&str| {
            let result = self.asked(words).env("LC_ALL", locale).result();
            format!("$ ekiden {words}\n{result}\n")
        };
        commands.iter().map(one).collect()
    }
}

fn state_holds(folder: &Path, text: &str) -> bool {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files = files.filter(|path| path.is_file());
    files.any(|path| {
        fs::read(path).is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains(text))
    })
}

#[test]
fn r01_r02_queues_are_made_named_filled_ordered_and_deleted() {
    let own = Own::started();
    assert_snapshot!(
        "queues",
        own.told(
            "C",
            &[
                "queue list",
                "queue new Fast a/quick",
                "queue rename fast Faster",
                "queue add fast b/two --at 1",
                "queue add fast b/two",
                "queue add nobody b/two",
                "queue move fast b/two 9",
                "queue move fast x/y 1",
                "queue remove fast a/quick",
                "queue order fast default",
                "queue list",
                "queue delete default",
                "queue delete default --yes",
                "queue delete fast --yes",
                "queue list",
            ]
        )
    );
    let text = own.text();
    assert!(text.starts_with("# mine\n") && text.contains("# nobody's"), "{text}");
    assert_snapshot!(
        "queues-zh",
        own.told(
            "zh_CN.UTF-8",
            &[
                "queue new Other",
                "queue add other a/one",
                "queue remove other x/y",
                "queue delete other",
                "queue delete other --yes",
                "queue delete nobody --yes",
            ]
        )
    );
}

#[test]
fn g07_a_gateway_is_found_where_it_listens_though_the_file_says_another_address() {
    let own = Own::started();
    let file = own.file().display().to_string();
    let state = own.folder.path().join("state");
    let asked = |words: &[&str]| Ekiden::new(words).env("EKIDEN_CONFIG", &file).state(&state).run();
    // Port 7 of loopback is nobody's.
    let (code, _, err) = asked(&["config", "set", "listen", "127.0.0.1:7"]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(own.text().contains("127.0.0.1:7"), "{}", own.text());
    let (code, out, err) = asked(&["status"]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.contains(&own.gateway.url), "{out}");
    fs::write(own.file(), "broken").unwrap();
    let (_, out, err) = asked(&["queue", "list"]);
    assert!(out.contains("a/one"), "{out}{err}");
    let (code, _, err) = asked(&["status", "--url", "http://127.0.0.1:7"]);
    assert!(code == 1 && err.contains("no gateway at http://127.0.0.1:7"), "{err}");
}

#[test]
fn r40_queues_are_carried_from_one_gateway_to_another() {
    let own = Own::started();
    let (code, exported, err) = own.asked("queue export").run();
    assert_eq!((code, err.as_str()), (0, ""));
    let to = own.folder.path().join("queues.json");
    assert_eq!(own.asked("queue export queues.json").run().0, 0);
    assert_eq!(fs::read_to_string(&to).unwrap(), exported);
    assert!(!exported.contains("B_KEY") && !exported.contains("127.0.0.1"), "{exported}");
    let by_pipe = own.asked("queue import -").input(&exported).result();
    assert!(by_pipe.contains("imported as default-1"), "{by_pipe}");
    fs::write(own.folder.path().join("torn.json"), &exported[..40]).unwrap();
    fs::write(own.folder.path().join("other.json"), "{\"version\": 1}").unwrap();
    let before = own.text();
    assert_snapshot!(
        "import",
        own.told(
            "C",
            &[
                "queue import torn.json",
                "queue import other.json",
                "queue import not-there.json",
                "queue list",
            ]
        )
    );
    assert_eq!(own.text(), before);
}

#[test]
fn g07_a_key_is_taken_from_a_pipe_stored_and_never_shown() {
    let own = Own::started();
    let key = "sk-nobody-may-see-this";
    let set = own.asked("key set a").input(&format!("{key}\n")).result();
    let rest = own.told(
        "C",
        &[
            "provider list",
            "key set a",
            "key set nobody",
            "key forget a",
            "key forget a",
            "provider list",
            "catalog nobody",
            "rescan aa",
        ],
    );
    assert!(!rest.contains(key));
    let in_sight = own.asked("key set a sk-in-sight").result();
    assert!(in_sight.starts_with("exit code 2"), "{in_sight}");
    assert!(!in_sight.contains("sk-in-sight"), "{in_sight}");
    assert_snapshot!("keys", set + &rest);
    let stranger = own.asked("key set nobody").input(key).result();
    assert!(stranger.starts_with("exit code 1") && !stranger.contains(key), "{stranger}");
    for (locale, told) in [
        ("C", "warning: the key is kept, but nothing uses it: there is no provider `deepseek`"),
        ("zh_CN.UTF-8", "警告: 密钥已保存，但没有用到：没有提供方 `deepseek`"),
    ] {
        let unused = own.asked("key set deepseek").env("LC_ALL", locale).input(key).run();
        assert!(unused.0 == 0 && unused.2.starts_with(told), "{unused:?}");
    }
    let again = own.asked("key set a").env("LC_ALL", "zh_CN.UTF-8").input(key).result();
    assert!(again.contains("已保存 a 的密钥"), "{again}");
    assert!(state_holds(&own.folder.path().join("state"), key));
}

#[test]
fn g07_r46_one_setting_is_shown_set_and_unset() {
    let own = Own::started();
    assert_snapshot!(
        "settings",
        own.told(
            "C",
            &[
                "config get defaults.retries",
                "config set defaults.retries 3",
                "config get defaults.retries --json",
                "config get providers.b",
                "config set defaults.retries 11",
                "config set defaults.retires 1",
                "config set queues.default.idle_timeout 90s",
                "config set queues.default.idle_timeout 90",
                "config unset defaults.retries",
                "config unset defaults.retries",
                "config set providers.c.base_url nowhere",
                "config get nobody",
            ]
        )
    );
    let text = own.text();
    assert!(text.starts_with("# mine\n") && text.contains("idle_timeout = \"90s\""), "{text}");
    assert_snapshot!(
        "settings-zh",
        own.told(
            "zh_CN.UTF-8",
            &[
                "config set defaults.retries 3",
                "config unset defaults.retries",
                "config get queues.default.idle_timeout",
                "config get nobody",
            ]
        )
    );
    // Somebody else writes: nothing is written over what was not seen.
    fs::write(own.file(), text + "# theirs\n").unwrap();
    let (code, _, err) = own.asked("config set defaults.retries 4").run();
    let now = own.text();
    assert!(now.contains("# theirs"), "{now}");
    assert!(code == 0 || err.contains("has changed since"), "{err}");
}

const NEW_PROVIDER: &[&str] = &[
    "config set providers.c.base_url https://c.example.com/v1",
    "config set providers.c.base_url=https://c.example.com/v1 providers.c.dialect=nobody",
    "config set providers.c.base_url=https://c.example.com/v1 providers.c.dialect",
    "config set reset_hour=4 providers.c.base_url=https://c.example.com/v1",
];

#[test]
fn g07_a_provider_is_added_by_one_command_or_not_at_all() {
    let own = Own::started();
    let before = own.text();
    let refused = own.told("C", NEW_PROVIDER);
    assert_eq!(own.text(), before, "all or none");
    let added = "config set providers.c.base_url=https://c.example.com/v1/a=b \
                 providers.c.dialect=openai-chat reset_hour=4";
    let told = own.told("C", &[added, "provider list", "config unset providers.c"]);
    let zh = own.told("zh_CN.UTF-8", &[NEW_PROVIDER[0], NEW_PROVIDER[2], added]);
    assert_snapshot!("provider-added", refused + &told + &zh);
    let text = own.text();
    assert!(text.starts_with("# mine\n") && text.contains("# nobody's"), "{text}");
}

#[test]
fn g07_without_a_gateway_a_provider_is_added_to_the_file_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ekiden.toml");
    fs::write(&file, SETTINGS).unwrap();
    let run = |line: &str| alone(folder.path(), &line.split(' ').collect::<Vec<_>>()).run();
    for line in NEW_PROVIDER {
        let (code, out, err) = run(line);
        assert!(code != 0 && out.is_empty(), "{line}: {out}");
        let lacks = err.contains("provider `c` has no `dialect`");
        assert_eq!(err.contains("one command sets both"), lacks, "{err}");
        assert_eq!(fs::read_to_string(&file).unwrap(), SETTINGS, "all or none");
    }
    let (code, out, err) = run(
        "config set providers.c.base_url=https://c.example.com/v1 providers.c.dialect=openai-chat",
    );
    assert_eq!((code, err.as_str(), out.lines().count()), (0, "", 2), "{out}");
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.starts_with("# mine\n") && text.contains("[providers.c]\n"), "{text}");
}

#[test]
fn the_path_of_the_file_needs_no_gateway() {
    let path = |name: &str, value: &str| Ekiden::new(&["config", "path"]).env(name, value).run();
    assert_eq!(path("EKIDEN_CONFIG", "some.toml"), (0, "some.toml\n".to_owned(), String::new()));
    if cfg!(unix) {
        assert_eq!(path("HOME", "/home/a").1, "/home/a/.config/ekiden/config.toml\n");
    }
}

/// The program where no gateway runs, with a file and a state folder of its own.
fn alone(folder: &Path, words: &[&str]) -> Ekiden {
    let file = folder.join("ekiden.toml").display().to_string();
    Ekiden::new(words).env("EKIDEN_CONFIG", &file).state(&folder.join("state"))
}

#[test]
fn g07_without_a_gateway_the_file_itself_is_changed_and_mended() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ekiden.toml");
    fs::write(&file, SETTINGS).unwrap();
    let run = |words: &[&str]| alone(folder.path(), words).run();
    let (code, out, err) = run(&["config", "set", "defaults.retries", "3"]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.starts_with("defaults.retries is written into "), "{out}");
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains("# nobody's") && text.contains("[defaults]\nretries = 3\n"), "{text}");
    let (code, _, err) = run(&["config", "set", "defaults.retries", "11"]);
    assert!(code != 0 && err.contains("0 to 10"), "{err}");
    // An edit that cannot be used is mended by the change that makes it usable, and by no other.
    fs::write(&file, text.replace("retries = 3", "retries = 99")).unwrap();
    let (code, _, err) = run(&["config", "set", "reset_hour", "4"]);
    assert!(code == 2 && err.contains("`retries`"), "{err}");
    assert_eq!(run(&["config", "set", "defaults.retries", "2"]).0, 0);
    assert!(fs::read_to_string(&file).unwrap().contains("retries = 2"));
    let (code, out, _) = run(&["config", "unset", "defaults.retries"]);
    assert!(code == 0 && out.starts_with("defaults.retries is removed from "), "{out}");
    let (code, _, err) = run(&["config", "unset", "defaults.retries"]);
    assert!(code == 1 && err.contains("there is no value of `defaults.retries`"), "{err}");
    assert!(!fs::read_to_string(&file).unwrap().contains("retries"));
    // Where one runs, it is asked, and a bad edit can be mended all the same.
    let serve = alone(folder.path(), &["serve"]).serve("Ctrl-C");
    let (code, out, err) = run(&["config", "set", "reset_hour", "5"]);
    assert_eq!((code, err.as_str(), out.as_str()), (0, "", "reset_hour = 5 (line 3)\n"));
    drop(serve);
}

#[test]
fn g07_quotes_around_paths_are_not_taken_literally() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ekiden.toml");
    fs::write(&file, SETTINGS).unwrap();
    let quoted = format!("\"{}\"", file.display());
    let run = |words: &[&str]| alone(folder.path(), words).env("EKIDEN_CONFIG", &quoted).run();
    assert_eq!(run(&["config", "path"]).1, format!("{}\n", file.display()));
    let (code, _, err) = run(&["config", "set", "aliases.\"gpt-*\"", "default"]);
    assert_eq!((code, err.as_str()), (0, ""));
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains("[aliases]\n\"gpt-*\" = \"default\"\n"), "{text}");
    let serve = alone(folder.path(), &["serve"]).env("EKIDEN_CONFIG", &quoted).serve("Ctrl-C");
    let (code, out, err) = run(&["config", "set", "\"reset_hour\"", "5"]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.contains(" = 5 (line 3)"), "{out}");
    assert_eq!(run(&["config", "get", "'reset_hour'"]).1, "5\n");
    drop(serve);
}

#[test]
fn g09_a_token_is_made_before_the_first_start_for_other_machines() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ekiden.toml");
    fs::write(&file, SETTINGS.replace("127.0.0.1:0", "0.0.0.0:0")).unwrap();
    let run = |words: &[&str]| alone(folder.path(), words).run();
    let (code, client, err) = run(&["token", "new", "laptop", "--budget", "USD 5"]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(client.starts_with("ekt_"), "{client}");
    let (code, admin, _) = run(&["token", "new", "me", "--admin", "--json"]);
    assert!(code == 0 && admin.contains("\"token\":\"ekt_"), "{admin}");
    assert!(!state_holds(&folder.path().join("state"), client.trim()), "only a digest is kept");
    let (code, _, err) = run(&["token", "new", "x", "--queue", "nobody"]);
    assert!(code == 1 && err.contains("there is no queue `nobody`"), "{err}");
    let (code, _, err) = run(&["token", "new", "x", "--budget", "5"]);
    assert!(code == 1 && err.contains("USD 5"), "{err}");
}

#[test]
fn p05_r00_status_tells_what_is_off_what_is_paused_and_who_waits() {
    let own = Own::started();
    let set = "config set queues.default.policy=persist queues.default.backoff=10m queues.default.backoff_jitter=0";
    let queue = "queue new Off a/one --id off";
    let told = own.told("C", &[set, queue, "config set queues.off.enabled false"]);
    let body = r#"{"model": "default", "messages": [{"role": "user", "content": "hi"}]}"#;
    let call = "POST /v1/chat/completions HTTP/1.1\r\nx-ekiden-session: mine\r\nx-none:";
    let open = own.gateway.send(call, body);
    own.gateway.until("/api/v1/state", |state| state.contains("\"for\":\"round\""));
    let waits = own.told("C", &["status"]) + &own.told("zh_CN.UTF-8", &["status"]);
    drop(open);
    own.gateway.until("/api/v1/state", |state| !state.contains("\"waits\""));
    let paused = ["pause", "status", "config set enabled false", "status"];
    let paused = own.told("C", &paused) + &own.told("zh_CN.UTF-8", &["status"]);
    let steady = steady(&(waits + &paused)).replace("[span] [span]", "[span]");
    assert_snapshot!("status", told + &steady);
}
