//! Everything that can be wrong, told in both languages.

use std::collections::BTreeSet;
use std::path::Path;

use ekiden_config::edit::{Change, EditError, SettingsFile, value_from_text};
use ekiden_config::{Config, FixedEnv, KEYS_FILE, Language, LoadError, Mistake, Problems, Value};

use crate::common::{BASE, env};

/// At the top.
const TOP: &[&str] = &[
    "reset_hour = 24",
    "reset_hour = \"x\"",
    "retries = 3",
    "retires = 3",
    "time_zonee = \"UTC\"",
    "qqqqqqqq = 1",
    "chains = []",
    "match = []",
    "models = 1",
    "on_failure = 1",
    "listen = \"8787\"",
    "log = \"inf\"",
    "time_zone = \"Asia/Shangai\"",
    "time_zone = \"??\"",
    "session_fields = [3]",
    "session_fields = 3",
    "hidden_providers = [\"a\", \"a\"]",
    "allowed_origins = [\"app\"]",
    "hidden_providers = [\"a\\nb\"]",
    "journal = 3",
    "[journal]\nentries_max = 1.5",
    "[limits]\nbody_bytes_max = 1048576",
    "[providers.\"a b\"]\nbase_url = \"https://a.example\"\ndialect = \"openai-chat\"",
    "listen = ",
];

/// In the queue, or behind it.
const QUEUE: &[&str] = &[
    "retries = true",
    "retrySameModelOnce = true",
    "retrys = 1",
    "idle_timeout = 120",
    "idle_timeout = \"2h\"",
    "continue_text = \"\"",
    "commit = \"?\"",
    "switch_on = [\"authh\"]",
    "enabled = []",
    "name = 1979-05-27",
    "name = \"a\\nb\"",
    "name = \"a\\u200bb\"",
    "[aliases]\n\"a\\nb\" = \"default\"",
    "[queues.b]\ncandidates = [\"deepseek/a\\nb\"]",
    "[queues.b]\nname = \"default\"",
    "[queues.\"b/c\"]\ncandidates = [\"deepseek/a\"]",
    "[queues.b]\ncandidates = [\"default\"]",
    "[queues.b]\ncandidates = [\"b\"]",
    "[queues.b]\ncandidates = [\"ekiden/b\"]",
    "[queues.b]\ncandidates = [\"deepsek\"]",
    "[queues.b]\ncandidates = [\"deepsek/a\", \"zzzz/a\"]",
    "[queues.b]\ncandidates = [\"deepseek/a\", \"deepseek/a\"]",
    "[queues.b]\ncandidates = [3, {}]",
    "[queues.b]\ncandidates = [{ route = \"deepseek/a\", effort = \"x\", effort_levels = [\"y\"] }]",
    "[direct]\nfallbacks = [\"deepseek/a\", \"deepseek|a\"]",
    "[direct]\npolicy = \"chain\"\nfallbacks = [\"deepseek/a\", \"deepseek/a\"]",
    "[direct]\nfallbacks = [\"deepseek/a\"]",
    "[aliases]\na = 3\ndefault = \"default\"\nb = \"defualt\"\nc = \"zzzz\"",
    "[queues.b]\ncandidates = [\"deepseek/a\"]\n[aliases]\n\"d*\" = \"b\"",
    "[prices]\nx = \"USD 1 in, 1 out\"\n\"a/b\" = \"1\"\n\"a/c\" = \"USD 9999999 in, 1 out\"",
];

/// In a provider.
const PROVIDERS: &[&str] = &[
    "base_ur = \"\"",
    "api_base = \"x\"",
    "proxy = \"p.example\"",
    "proxy = \"http://u:p@p.example\"",
    "proxy = \"socks5://p.example\"",
    "api_key = \"two words\"",
    "api_key = \"sk\"",
    "api_key_env = \"a b\"",
    "api_key_env = \"UNSET\"",
    "api_key = \"a\"\napi_key_env = \"B\"",
    "api_key_file = \"/not/there\"",
    "drop_fields = [\"model\"]",
    "headers = { \"a b\" = \"c\", host = \"d\" }",
    "headers = { host = \"d\" }",
    "headers = { a = 3 }",
];

/// As a base URL.
const URLS: &[&str] = &[
    "api.x.example",
    "https://",
    "https://u:p@x.example",
    "https://x.example?a",
    "http://2852039166",
    "https://x y.example",
    "http://127.0.0.1:8787",
    "http://169.254.169.254",
    "http://x.example",
];

fn bad_files() -> Vec<String> {
    let provider = |lines: &str| {
        format!(
            "{BASE}[providers.x]\nbase_url = \"https://x.example\"\ndialect = \"openai-chat\"\n{lines}\n"
        )
    };
    let of_top = TOP.iter().map(|line| format!("{line}\n{BASE}"));
    let of_queue = QUEUE.iter().map(|line| format!("{BASE}{line}\n"));
    let of_urls = URLS.iter().map(|url| provider("").replace("https://x.example", url));
    let unspoken = BASE.replace("openai-chat\"\n[queues", "openai-responses\"\n[queues");
    let others = [
        format!("{BASE}[providers.y]\n"),
        "[queues.default]\ncandidates = [\"deepseek/a\"]\n".to_owned(),
        "[providers.x]\nbase_url = \"https://x.example\"\ndialect = \"openai-chat\"\n".to_owned(),
        "[queues.default]\n".to_owned(),
        unspoken.replace("[\"deepseek/deepseek-v4-pro\", ", "["),
        unspoken,
    ];
    let of_providers = PROVIDERS.iter().map(|lines| provider(lines));
    of_top.chain(of_queue).chain(of_providers).chain(of_urls).chain(others).collect()
}

fn problems(text: &str, env: &FixedEnv) -> Problems {
    match Config::parse(text, "config.toml", env) {
        Ok(loaded) => loaded.warnings,
        Err(problems) => problems,
    }
}

fn bad_changes() -> Vec<Change> {
    let set = |path: &str| Change::Set { path: path.to_owned(), value: Value::Integer(1) };
    let unset = |path: &str| Change::Unset { path: path.to_owned() };
    let queue = |id: &str| Change::DeleteQueue { id: id.to_owned() };
    let new = |id: &str| Change::AddQueue { id: id.to_owned(), name: None, routes: Vec::new() };
    let add = |route: &str| Change::AddCandidate {
        queue: "default".to_owned(),
        route: route.to_owned(),
        at: None,
    };
    let remove = |route: &str| Change::RemoveCandidate {
        queue: "default".to_owned(),
        route: route.to_owned(),
    };
    vec![
        set("queues.default.retires"),
        set("providers.deepseek"),
        set("queues.default.candidates.7.effort"),
        set("queues.defualt.retries"),
        set("queues.zzzz.retries"),
        unset("reset_hour"),
        unset("queues.default.candidates.0.effort"),
        unset("providers.zzzz"),
        queue("default"),
        new("default"),
        add("deepseek/deepseek-v4-pro"),
        remove("deepseek/nothing"),
        remove("zzzz"),
        Change::OrderQueues { ids: Vec::new() },
        Change::OrderCandidates { queue: "default".to_owned(), routes: Vec::new() },
    ]
}

fn refused(folder: &Path, text: &str, change: Change) -> EditError {
    let path = folder.join("config.toml");
    std::fs::write(&path, text).unwrap();
    let file = SettingsFile::at(&path);
    let seen = file.read().unwrap().hash;
    file.change(&seen, &[change], &FixedEnv::new(), None).unwrap_err()
}

/// Everything that is found wrong, at least once each.
fn all_mistakes() -> Vec<Mistake> {
    let none = FixedEnv::new();
    let of_files = bad_files();
    let mut lists: Vec<Problems> = of_files.iter().map(|text| problems(text, &none)).collect();
    assert!(lists.iter().all(|problems| !problems.list.is_empty()), "a good file among the bad");
    for pairs in [
        [("EKIDEN_RESET_HOUR", "99"), ("A", "b")],
        [("ANTHROPIC_API_KEY", "a"), ("ANTHROPIC_BASE_URL", "http://127.0.0.1:8787")],
        [("ANTHROPIC_API_KEY", "a"), ("ANTHROPIC_BASE_URL", "http://169.254.169.254")],
        [("ANTHROPIC_API_KEY", "a"), ("ANTHROPIC_BASE_URL", "no")],
    ] {
        lists.push(problems("", &env(&pairs)));
    }
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in [
        ("wide", &b"\xff\xfea\0"[..]),
        ("bytes", b"a = \"\xff\""),
        ("empty", b""),
        ("words", b"two words"),
        ("shared", b"sk-shared"),
    ] {
        std::fs::write(folder.path().join(name), bytes).unwrap();
        let key = format!(
            "[providers.x]\nbase_url = \"https://x.example\"\ndialect = \"openai-chat\"\napi_key_file = \"{name}\"\n"
        );
        let text = if name == "wide" || name == "bytes" { bytes } else { key.as_bytes() };
        lists.push(match Config::of_bytes(&folder.path().join("config.toml"), text, &none) {
            Ok(loaded) => loaded.warnings,
            Err(problems) => problems,
        });
    }
    std::fs::write(folder.path().join(KEYS_FILE), "no keys").unwrap();
    let state = folder.path().display().to_string();
    let path = folder.path().join("good.toml");
    std::fs::write(&path, format!("state_dir = '{state}'\n{BASE}")).unwrap();
    lists.push(Config::open(Some(&path), &none).unwrap().warnings);
    let gone = folder.path().join("gone.toml");
    lists.push(Problems::gone(&gone));
    lists.push(Problems::unreadable(&gone, std::io::Error::other("broken").into()));
    let mut all: Vec<Mistake> = lists
        .into_iter()
        .flat_map(|problems| problems.list)
        .map(|problem| problem.mistake)
        .collect();
    let odd = ["providers = 3\n", "[queues.default]\ncandidates = true\n"];
    let changes = bad_changes().into_iter().map(|change| (BASE, change));
    let more = [
        (odd[0], Change::Set { path: "providers.a.name".into(), value: Value::Text("a".into()) }),
        (odd[1], Change::AddCandidate { queue: "default".into(), route: "a/b".into(), at: None }),
    ];
    for (text, change) in changes.chain(more) {
        all.push(told(refused(folder.path(), text, change)));
    }
    for (path, text) in [("queues.default.switch_on", "[a"), ("reset_hour", "25"), ("none", "1")] {
        all.push(told(value_from_text(path, text).unwrap_err()));
    }
    let mut seen = BTreeSet::new();
    all.retain(|mistake| {
        seen.insert((
            mistake.code(),
            mistake.message(Language::English),
            mistake.hint(Language::English),
        ))
    });
    all.sort_by_key(|mistake| (mistake.code(), mistake.message(Language::English)));
    all
}

fn told(error: EditError) -> Mistake {
    match error {
        EditError::NoSuch(mistake) | EditError::Refused(mistake) => mistake,
        other => panic!("{other}"),
    }
}

#[test]
fn g07_all_that_can_be_wrong_is_told_in_both_languages() {
    let mut told = String::new();
    // What the system says, and where, differs between machines.
    let temporary = std::env::temp_dir().display().to_string();
    for mistake in all_mistakes() {
        let message = mistake.message(Language::English);
        if message.contains(&temporary) || message.contains("os error") {
            continue;
        }
        told.push_str(&format!("{}\n", mistake.code()));
        for language in Language::ALL {
            let hint = mistake.hint(language).unwrap_or_default();
            told.push_str(&format!("  {}\n    {hint}\n", mistake.message(language)));
        }
    }
    insta::assert_snapshot!(told);
}

/// Scripts go by the codes: the page lists those that there are.
#[test]
fn g07_the_page_about_settings_lists_the_codes() {
    let page = std::fs::read_to_string("../../docs/settings.md").unwrap();
    let (_, listed) = page.split_once("## What is wrong, in codes").unwrap();
    let listed = listed.split("\n## ").next().unwrap();
    let rows = listed.lines().filter(|line| line.starts_with("| `"));
    let listed: BTreeSet<&str> =
        rows.flat_map(|row| row.split('|').nth(1).unwrap().split('`').skip(1).step_by(2)).collect();
    let mut codes: BTreeSet<&str> = all_mistakes().iter().map(Mistake::code).collect();
    // These need a file of their own name, or cannot come out of any file.
    codes.extend([
        "keys_unused",
        "key_shared",
        "no_key_in_file",
        "by_hand_alone",
        "unwritable_value",
    ]);
    assert_eq!(listed, codes);
}

#[test]
fn g07_a_whole_refusal_is_chinese_where_chinese_is_asked_for() {
    let text = format!("reset_hour = 24\n{BASE}");
    let shown = problems(&text, &FixedEnv::new()).say(Language::Chinese);
    let expected = "错误: `reset_hour` 超出范围：24\n --> config.toml:1:14\n  |\n1 | reset_hour = 24\n  |              ^^\n提示: `reset_hour` 应为 0 到 23 的整数\n";
    assert_eq!(shown, expected);
    let folder = tempfile::tempdir().unwrap();
    let missing = Config::find(Some(&folder.path().join("x.toml")), &FixedEnv::new()).unwrap_err();
    assert!(matches!(missing, LoadError::Missing { .. }));
    let shown = missing.say(Language::Chinese);
    assert!(shown.starts_with("错误: 没有文件 ") && shown.contains("提示: 它由 --config 指定"));
    let unreadable = Config::load(folder.path(), &FixedEnv::new()).unwrap_err();
    assert!(unreadable.say(Language::Chinese).contains("无法读取：这是一个文件夹（"));
    assert!(!unreadable.to_string().contains('（'));
    let many: String = (0..130).map(|n| format!("k{n} = 1\n")).collect();
    let shown = problems(&many, &FixedEnv::new()).say(Language::Chinese);
    assert!(shown.ends_with("\n还有 31 处\n"), "{shown}");
}
