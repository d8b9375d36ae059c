//! Changing the file as a person would (G7).

use std::path::{Path, PathBuf};

use ekiden_config::edit::{
    Change, Changed, EditError, SettingsFile, TextHash, plain_path, value_from_text,
};
use ekiden_config::keys::{Kind, SECTIONS, keys_of};
use ekiden_config::{Config, Env, FixedEnv, Language, StoredKeys, Value, WithKeys};

use crate::common::{BASE, env, has};
use crate::every_key_of_the_table_is_read::{file_with, other_value};

struct Desk {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

impl Desk {
    fn with(text: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        std::fs::write(&path, text).unwrap();
        Self { path, _folder: folder }
    }

    fn make(&self, changes: &[Change]) -> Result<Changed, EditError> {
        let file = SettingsFile::at(&self.path);
        let seen = file.read().unwrap().hash;
        file.change(&seen, changes, &FixedEnv::new(), None)
    }

    fn text(&self) -> String {
        std::fs::read_to_string(&self.path).unwrap()
    }
}

/// The file after changes that must hold.
fn after(text: &str, changes: &[Change]) -> String {
    let desk = Desk::with(text);
    desk.make(changes).unwrap_or_else(|error| panic!("{error}"));
    desk.text()
}

fn set(path: &str, value: Value) -> Change {
    Change::Set { path: path.to_owned(), value }
}

fn texts(list: &[&str]) -> Vec<String> {
    list.iter().map(|text| (*text).to_owned()).collect()
}

const MINE: &str = r#"# My relay.
# Hands off.

listen = "127.0.0.1:8787"   # the usual port

# The good one.
[providers.a]
base_url = "https://a.example/v1"
dialect = "openai-chat"
models = ["x"] # one

# The queue
# of the day.
[queues.default]
name = "默认"  # as people see it
candidates = [
  # first choice
  "a/x", # fast
  { route = "a/y", max_sessions = 2 }, # slow
]
retries = 1

[queues.second] # the spare
candidates = ["a/x"]

[aliases]
"claude-*" = "second"
"#;

#[test]
fn g07_one_key_changes_and_everything_else_stays() {
    let changed = after(MINE, &[set("queues.default.retries", Value::Integer(3))]);
    assert_eq!(changed, MINE.replace("retries = 1", "retries = 3"));
    let changed = after(MINE, &[set("listen", Value::Text("127.0.0.1:9000".into()))]);
    assert_eq!(changed, MINE.replace("8787", "9000"));
    let changed = after(MINE, &[set("queues.second.wait_max", Value::Ms(5_000))]);
    let line = "candidates = [\"a/x\"]\n\n[aliases]";
    let with = "candidates = [\"a/x\"]\nwait_max = \"5s\"\n\n[aliases]";
    assert_eq!(changed, MINE.replace(line, with));
    let changed = after(MINE, &[Change::Unset { path: "queues.default.retries".into() }]);
    assert_eq!(changed, MINE.replace("retries = 1\n", ""));
    let changed = after(MINE, &[set("aliases.gpt-4.1*", Value::Text("default".into()))]);
    assert_eq!(changed, format!("{MINE}\"gpt-4.1*\" = \"default\"\n"));
    let changed = after(MINE, &[set("limits.calls_max", Value::Integer(7))]);
    assert_eq!(changed, format!("{MINE}\n[limits]\ncalls_max = 7\n"));
}

#[test]
fn g07_line_ends_and_marks_of_editors_stay() {
    let windows = format!("\u{feff}{}", MINE.replace('\n', "\r\n"));
    let changed = after(&windows, &[set("queues.default.retries", Value::Integer(3))]);
    assert_eq!(changed, windows.replace("retries = 1", "retries = 3"));
}

#[test]
fn g07_candidates_keep_their_comments_when_they_move() {
    let queue = || "default".to_owned();
    let order = |routes: &[&str]| Change::OrderCandidates { queue: queue(), routes: texts(routes) };
    let changed = after(MINE, &[order(&["a/y", "a/x"])]);
    let list = "candidates = [\n  { route = \"a/y\", max_sessions = 2 }, # slow\n  \
                # first choice\n  \"a/x\", # fast\n]\n";
    has(&changed, &[list]);
    assert_eq!(after(&changed, &[order(&["a/x", "a/y"])]), MINE);

    let add = Change::AddCandidate { queue: queue(), route: "a/z".into(), at: Some(1) };
    let changed = after(MINE, &[add]);
    assert_eq!(changed, MINE.replace("# fast\n", "# fast\n  \"a/z\",\n"));
    let remove = Change::RemoveCandidate { queue: queue(), route: "a/z".into() };
    assert_eq!(after(&changed, &[remove]), MINE);

    let effort = |value: Option<Value>| Change::SetCandidate {
        queue: queue(),
        route: "a|x".into(),
        key: "effort".into(),
        value,
    };
    let changed = after(MINE, &[effort(Some(Value::Text("high".into())))]);
    has(&changed, &["  { route = \"a/x\", effort = \"high\" }, # fast\n"]);
    assert_eq!(after(&changed, &[effort(None)]), MINE);
    let by_place = set("queues.default.candidates.1.idle_timeout", Value::Ms(30_000));
    has(&after(MINE, &[by_place]), &["max_sessions = 2, idle_timeout = \"30s\" }, # slow"]);
}

#[test]
fn g07_each_way_to_write_candidates_can_be_changed() {
    let head = "[providers.a]\nbase_url = \"https://a.example/v1\"\ndialect = \"openai-chat\"\n";
    let add = Change::AddCandidate { queue: "q".into(), route: "a/z".into(), at: Some(0) };
    let order =
        Change::OrderCandidates { queue: "q".into(), routes: texts(&["a/y", "a/z", "a/x"]) };
    let routes = |text: &str| -> Vec<String> {
        let loaded = Config::parse(text, "test", &FixedEnv::new()).unwrap();
        loaded.config.queue("q").unwrap().candidates.iter().map(|one| one.route()).collect()
    };
    let ways = [
        "[queues.q]\ncandidates = [\"a/x\", \"a/y\"] # both\n",
        "[queues.q]\ncandidates = [\"a/x\", # one\n \"a/y\" # two\n ]\n",
        "[queues.q]\ncandidates = \"\"\"\n# first\na/x # one\na|y\n# end\n\"\"\"\n",
        "[[queues.q.candidates]]\nroute = \"a/x\" # one\n\n# two\n[[queues.q.candidates]]\n\
         route = \"a/y\"\nmax_sessions = 2\n\n[journal]\nenabled = true\n",
        "[queues]\nq = { candidates = [\"a/x\", \"a/y\"] }\n",
        "[queues]\nq.candidates = [\"a/x\", \"a/y\"]\nq.retries = 1\n",
    ];
    for way in ways {
        let text = format!("{head}{way}");
        assert_eq!(routes(&text), ["a/x", "a/y"], "{way}");
        let changed = after(&text, &[add.clone(), order.clone()]);
        assert_eq!(routes(&changed), ["a/y", "a/z", "a/x"], "{changed}");
        for comment in ["# both", "# one", "# two", "# first", "# end"] {
            assert_eq!(changed.contains(comment), way.contains(comment), "{changed}");
        }
        let changed =
            after(&changed, &[Change::RemoveCandidate { queue: "q".into(), route: "a/z".into() }]);
        assert_eq!(routes(&changed), ["a/y", "a/x"], "{changed}");
    }
}

#[test]
fn r01_queues_are_added_ordered_and_deleted_but_for_the_last() {
    let add = Change::AddQueue { id: "new".into(), name: Some("新".into()), routes: Vec::new() };
    let changed = after(MINE, std::slice::from_ref(&add));
    has(&changed, &["# the spare\n", "\n[queues.new]\nname = \"新\"\ncandidates = []\n"]);
    let order = |ids: &[&str]| Change::OrderQueues { ids: texts(ids) };
    let desk = Desk::with(&changed);
    let made = desk.make(&[order(&["second", "new", "default"])]).unwrap();
    let ids: Vec<&str> = made.loaded.config.queues.iter().map(|queue| &*queue.id).collect();
    assert_eq!(ids, ["second", "new", "default"]);
    has(&desk.text(), &["# The queue\n# of the day.\n[queues.default]", "# My relay.\n"]);
    desk.make(&[order(&["default", "second", "new"])]).unwrap();
    assert_eq!(desk.text(), changed);

    // An alias to a queue that goes, goes with it.
    let delete = |id: &str| Change::DeleteQueue { id: id.to_owned() };
    let made = desk.make(&[delete("second"), delete("new")]).unwrap();
    assert!(made.loaded.config.aliases.is_empty());
    let refused = desk.make(&[delete("default")]).unwrap_err();
    assert!(matches!(refused, EditError::Refused(_)), "{refused}");
    for (change, word) in [
        (add, "already"),
        (order(&["default"]), "each once"),
        (delete("defualt"), "no queue"),
        (Change::AddQueue { id: "a b".into(), name: None, routes: Vec::new() }, "no queue id"),
    ] {
        has(&Desk::with(&changed).make(&[change]).unwrap_err().to_string(), &[word]);
    }
}

#[test]
fn g07_the_head_of_the_file_outlives_its_first_section() {
    let text = format!("# My file.\n\n# about the spare\n[queues.spare]\n\n{BASE}");
    let changed = after(&text, &[Change::DeleteQueue { id: "spare".into() }]);
    has(&changed, &["# My file.\n"]);
    assert!(!changed.contains("about the spare"), "{changed}");
}

#[test]
fn g07_a_provider_is_added_and_taken_away() {
    let changes = [
        set("providers.b.c.base_url", Value::Text("https://b.example/v1".into())),
        set("providers.b.c.dialect", Value::Text("openai-chat".into())),
    ];
    let changed = after(MINE, &changes);
    has(&changed, &["[providers.\"b.c\"]\nbase_url = \"https://b.example/v1\"\n"]);
    let away = Change::Unset { path: "providers.b.c".into() };
    assert_eq!(after(&changed, &[away]), MINE);
    // The candidates of one that is in use stay, and are told (R40).
    let gone = Desk::with(MINE).make(&[Change::Unset { path: "providers.a".into() }]).unwrap();
    assert_eq!(gone.loaded.config.queues[0].candidates.len(), 2);
    has(&gone.loaded.warnings.to_string(), &["provider `a` is unknown"]);
}

#[test]
fn g07_every_key_can_be_set_and_r46_its_bounds_hold_at_both_ends() {
    let all = SECTIONS.iter().flat_map(|section| {
        let keys = section.groups.iter().flat_map(|group| keys_of(*group));
        keys.map(move |key| (section.path, key))
    });
    for (section, key) in all {
        let (whole, path) = file_with(section, key, &other_value(section, key));
        // The same file without the key, unless it would not hold without it.
        let line = format!("{} = {}", key.name, other_value(section, key));
        let bare =
            whole.replacen(&format!("{line}\n"), "", 1).replacen(&format!(", {line}"), "", 1);
        let desk = Desk::with(&bare);
        let typed = other_value(section, key);
        let plain = typed.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
        let typed = plain.unwrap_or(&typed);
        let value = value_from_text(&path, typed).unwrap_or_else(|error| panic!("{path}: {error}"));
        let required = ["base_url", "dialect", "route"].contains(&key.name);
        let made = desk.make(&[Change::Set { path: path.clone(), value }]);
        let made = made.unwrap_or_else(|error| panic!("{path}: {error}\n{bare}"));
        let expected = Config::parse(&whole, "test", &FixedEnv::new()).unwrap();
        if !required {
            assert_eq!(made.loaded.config.digest(), expected.config.digest(), "{path}");
        }
        let (least, most, value): (u64, u64, fn(u64) -> Value) = match key.kind {
            Kind::Integer { min, max } => (min, max, Value::Integer),
            Kind::Span { min_ms, max_ms } => (min_ms, max_ms, Value::Ms),
            Kind::Bytes { min, max } => (min, max, Value::Bytes),
            _ => continue,
        };
        for inside in [least, most] {
            let made = desk.make(&[set(&path, value(inside))]);
            made.unwrap_or_else(|error| panic!("{path}: {error}"));
        }
        let before = desk.text();
        // Nothing is below nothing; zero is zero in every unit.
        for outside in [Some(most + 1), least.checked_sub(1)].into_iter().flatten() {
            let refused = desk.make(&[set(&path, value(outside))]).unwrap_err();
            has(&refused.to_string(), &["out of bounds", key.name]);
            assert_eq!(desk.text(), before, "{path}");
        }
    }
}

#[test]
fn g07_a_file_that_changed_meanwhile_is_not_written_over() {
    let desk = Desk::with(MINE);
    let file = SettingsFile::at(&desk.path);
    let seen = file.read().unwrap().hash;
    std::fs::write(&desk.path, format!("{MINE}# an editor was here\n")).unwrap();
    let change = [set("queues.default.retries", Value::Integer(3))];
    let refused = file.change(&seen, &change, &FixedEnv::new(), None).unwrap_err();
    let EditError::Conflict { now } = refused else { panic!("{refused}") };
    has(&desk.text(), &["retries = 1", "# an editor was here"]);
    file.change(&now, &change, &FixedEnv::new(), None).unwrap();
    has(&desk.text(), &["retries = 3", "# an editor was here"]);
    let gone = TextHash::of(None);
    let refused = file.change(&gone, &change, &FixedEnv::new(), None).unwrap_err();
    assert!(matches!(refused, EditError::Conflict { .. }), "{refused}");
}

#[test]
fn g07_two_writers_never_lose_each_others_change() {
    let desk = Desk::with(MINE);
    let write = |path: &str, values: std::ops::Range<u64>| {
        for value in values {
            loop {
                let file = SettingsFile::at(&desk.path);
                let seen = file.read().unwrap().hash;
                let change = [set(path, Value::Integer(value))];
                match file.change(&seen, &change, &FixedEnv::new(), None) {
                    Ok(_) => break,
                    Err(EditError::Conflict { .. }) => {}
                    Err(error) => panic!("{error}"),
                }
                let config = Config::load(&desk.path, &FixedEnv::new()).unwrap().config;
                assert!(config.queues.len() == 2, "half a file");
            }
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| write("queues.default.retries", 0..10));
        scope.spawn(|| write("queues.second.retries", 0..10));
    });
    has(&desk.text(), &["retries = 9\n\n[queues.second]", "retries = 9\n\n[aliases]"]);
}

#[test]
fn g07_what_the_parser_refuses_is_not_written() {
    for (change, words) in [
        (set("queues.default.retries", Value::Integer(11)), "from 0 to 10"),
        (set("providers.a.dialect", Value::Text("klingon".into())), "klingon"),
        (set("queues.default.retires", Value::Integer(1)), "no key `queues.default.retires`"),
        (set("queues.nobody.retries", Value::Integer(1)), "no queue `nobody`"),
        (set("queues.default.candidates.7.effort", Value::Text("x".into())), "candidate 7"),
        (Change::Unset { path: "queues.default.wait_max".into() }, "no value"),
    ] {
        let desk = Desk::with(MINE);
        has(&desk.make(&[change]).unwrap_err().to_string(), &[words]);
        assert_eq!(desk.text(), MINE);
    }
    let retires = set("queues.default.retires", Value::Integer(1));
    let refused = Desk::with(MINE).make(&[retires]).unwrap_err();
    assert!(matches!(refused, EditError::NoSuch(_)), "{refused}");
    has(&refused.hint(Language::English).unwrap(), &["queues.default.retries"]);
    // A file that is broken already is told as such, and stays.
    let desk = Desk::with("reset_hour = ");
    let refused = desk.make(&[set("reset_hour", Value::Integer(3))]).unwrap_err();
    has(&refused.to_string(), &["this is not TOML"]);
    // One that is refused for what is mended can be mended.
    let mended = after("reset_hour = 99\n", &[set("reset_hour", Value::Integer(3))]);
    assert_eq!(mended, "reset_hour = 3\n");
}

#[test]
fn g07_a_file_that_cannot_be_written_says_why() {
    let desk = Desk::with(MINE);
    let mut permissions = std::fs::metadata(&desk.path).unwrap().permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(&desk.path, permissions).unwrap();
    let refused = desk.make(&[set("reset_hour", Value::Integer(3))]).unwrap_err();
    assert!(matches!(refused, EditError::ReadOnly { .. }), "{refused}");
    assert!(SettingsFile::at(&desk.path).read_only().is_some());
}

#[test]
fn g08_what_was_found_is_written_down_before_it_is_changed() {
    let folder = tempfile::tempdir().unwrap();
    let file = SettingsFile::at(&folder.path().join("new/config.toml"));
    let around = env(&[("DEEPSEEK_API_KEY", "sk-marker"), ("MOONSHOT_API_KEY", "sk-marker")]);
    let found = Config::from_env(&around).unwrap().config;
    let seen = file.read().unwrap().hash;
    // What is about no queue leaves the finding to each start.
    let change = [set("defaults.retries", Value::Integer(1))];
    let made = file.change(&seen, &change, &around, Some(&found)).unwrap();
    assert_eq!(std::fs::read_to_string(file.path()).unwrap(), "[defaults]\nretries = 1\n");
    let route = made.loaded.config.queues[0].candidates[0].route();
    let change = [Change::RemoveCandidate { queue: "default".into(), route: route.clone() }];
    let made = file.change(&made.hash, &change, &around, Some(&found)).unwrap();
    let config = &made.loaded.config;
    assert_eq!(config.providers.len(), found.providers.len());
    assert!(config.providers.iter().all(|provider| !provider.lacks_key()));
    let without = |config: &Config| -> Vec<(String, Option<u32>)> {
        let candidates = config.queues[0].candidates.iter();
        let candidates = candidates.filter(|one| one.route() != route);
        candidates.map(|one| (one.route(), one.context_window)).collect()
    };
    assert_eq!(without(config), without(&found));
    assert_eq!(config.queues[0].candidates.len() + 1, found.queues[0].candidates.len());
    assert_eq!(config.queues[0].name, found.queues[0].name);
    assert!(!std::fs::read_to_string(file.path()).unwrap().contains("sk-marker"));
}

#[test]
fn g07_a_stored_key_comes_last_and_its_origin_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let key = secrecy::SecretString::from("sk-stored");
    for provider in ["a", "deepseek"] {
        StoredKeys::set(folder.path(), provider, &key).unwrap();
    }
    let keys = StoredKeys::open(folder.path()).unwrap();
    let key_of = |text: &str, env: &FixedEnv| {
        let around = WithKeys { env, keys: &keys };
        let loaded = Config::parse(text, "test", &around).unwrap();
        assert!(!format!("{loaded:?}").contains("sk-"), "{loaded:?}");
        let provider = loaded.config.providers[0].clone();
        let settings = loaded.config.settings();
        let origin = settings.iter().find(|setting| setting.path.contains(".api_key")).unwrap();
        (
            secrecy::ExposeSecret::expose_secret(provider.key.as_ref().unwrap()).to_owned(),
            format!("{} {:?}", origin.path, origin.origin),
            loaded.warnings.list.len(),
        )
    };
    let plain = MINE;
    let named = MINE.replace("[providers.a]\n", "[providers.a]\napi_key_env = \"A_KEY\"\n");
    let inline = MINE.replace("[providers.a]\n", "[providers.a]\napi_key = \"sk-file\"\n");
    let stored = ("sk-stored".to_owned(), "providers.a.api_key Stored".to_owned(), 0);
    assert_eq!(key_of(plain, &FixedEnv::new()), stored);
    assert_eq!(key_of(&named, &FixedEnv::new()), stored);
    assert_eq!(key_of(&named, &env(&[("A_KEY", "sk-env")])).0, "sk-env");
    assert_eq!(key_of(&inline, &FixedEnv::new()).0, "sk-file");
    // Without a file, a stored key is a finding like a variable (G8).
    let none = FixedEnv::new();
    let around = WithKeys { env: &none, keys: &keys };
    let config = Config::from_env(&around).unwrap().config;
    assert_eq!(config.providers[0].id, "deepseek");
    assert!(around.var("DEEPSEEK_API_KEY").is_none());
}

#[test]
fn g07_opening_finds_the_stored_keys_of_the_state_folder() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    let path = folder.path().join("config.toml");
    std::fs::write(&path, format!("state_dir = \"state\"\n{MINE}")).unwrap();
    let open = |path: &Path| Config::open(Some(path), &FixedEnv::new()).unwrap();
    assert!(open(&path).config.providers[0].key.is_none());
    StoredKeys::set(&state, "a", &secrecy::SecretString::from("sk-1")).unwrap();
    assert!(open(&path).config.providers[0].key.is_some());
    // An error elsewhere does not make a stored key a missing one.
    let broken = folder.path().join("broken.toml");
    let text = "resett_hour = 3\n[providers.a]\nbase_url = \"https://a.example/v1\"\n\
        dialect = \"openai-chat\"\napi_key_env = \"NOT_SET\"\n[queues.q]\ncandidates = [\"a/m\"]\n";
    std::fs::write(&broken, text).unwrap();
    let wrong = |env: &FixedEnv| Config::open(Some(&broken), env).unwrap_err().to_string();
    has(&wrong(&FixedEnv::new()), &["resett_hour", "NOT_SET is not set"]);
    let here = state.display().to_string();
    let told = wrong(&FixedEnv::from([("EKIDEN_STATE_DIR".to_owned(), here)]));
    assert!(told.contains("resett_hour") && !told.contains("NOT_SET"), "{told}");
    std::fs::write(state.join(ekiden_config::KEYS_FILE), "a = 3").unwrap();
    let opened = open(&path);
    assert!(opened.config.providers[0].key.is_none());
    has(&opened.warnings.to_string(), &["no stored key is used"]);
}

#[test]
fn r34_a_price_is_set_and_unset_by_its_route_dots_and_all() {
    let path = "prices.moonshot/kimi-k2.6";
    let value = value_from_text(path, "CNY 4 in, 16 out").unwrap();
    let set = after(BASE, &[set(path, value)]);
    has(&set, &["[prices]\n\"moonshot/kimi-k2.6\" = \"CNY 4 in, 16 out\"\n"]);
    let unset = after(&set, &[Change::Unset { path: path.to_owned() }]);
    assert!(!unset.contains("CNY"), "{unset}");
    let desk = Desk::with(BASE);
    let wrong = desk.make(&[Change::Set { path: path.into(), value: Value::Text("4".into()) }]);
    assert!(matches!(wrong, Err(EditError::Invalid(_))), "{wrong:?}");
}

#[test]
fn g7_quotes_in_the_path_of_a_key_are_those_of_toml() {
    for (written, path) in [
        ("defaults.retries", "defaults.retries"),
        ("\"defaults.retries\"", "defaults.retries"),
        ("'defaults.retries'", "defaults.retries"),
        ("aliases.\"gpt-*\"", "aliases.gpt-*"),
        ("aliases.'a.b'", "aliases.a.b"),
        ("providers.\"a.b\".base_url", "providers.a.b.base_url"),
        ("queues.\"a\".candidates.0.effort", "queues.a.candidates.0.effort"),
        ("\"queues\".\"a\"", "queues.a"),
        // Where they enclose no name they stay.
        ("aliases.it's", "aliases.it's"),
        ("aliases.\"a\"b", "aliases.\"a\"b"),
        ("aliases.", "aliases."),
        ("\"", "\""),
    ] {
        assert_eq!(plain_path(written), path, "{written}");
    }
}
