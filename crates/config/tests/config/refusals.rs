//! What is refused is told so that it can be mended, all at once, and without a credential.

use crate::common::{BASE, error, errors, good, has, parse, warnings};

#[test]
fn g7_every_problem_is_told_at_once_with_its_line_a_caret_and_a_hint() {
    let text = "reset_hour = 24\nlisten = 8787\n\n[providers.deepseek]\nbase_url = \"api.deepseek.com\"\ndialect = \"openai\"\n\n[queues.default]\nretrys = 3\ncandidates = [\"deepsek/a\"]\nidle_timeout = 120\n";
    let shown = parse(text).unwrap_err().to_string();
    let expected = r#"error: `reset_hour` is out of bounds: 24
 --> config.toml:1:14
  |
1 | reset_hour = 24
  |              ^^
hint: `reset_hour` is a whole number from 0 to 23

error: `listen` has the wrong type: integer
 --> config.toml:2:10
  |
2 | listen = 8787
  |          ^^^^
hint: `listen` is an address with a port, such as "127.0.0.1:8787"

error: `base_url`: a URL starts with `http://` or `https://`
 --> config.toml:5:12
  |
5 | base_url = "api.deepseek.com"
  |            ^^^^^^^^^^^^^^^^^^
hint: write "https://api.example.com/v1"

error: `dialect` does not know "openai"
 --> config.toml:6:11
  |
6 | dialect = "openai"
  |           ^^^^^^^^
hint: did you mean "openai-chat"? it is one of "openai-chat", "openai-responses", "anthropic-messages"

error: unknown key `retrys` in [queues.ID]
 --> config.toml:9:1
  |
9 | retrys = 3
  | ^^^^^^
hint: did you mean `retries`?

warning: provider `deepsek` is unknown: its candidate is passed over
  --> config.toml:10:15
   |
10 | candidates = ["deepsek/a"]
   |               ^^^^^^^^^^^
hint: did you mean "deepseek/a"?

error: `idle_timeout` needs a unit
  --> config.toml:11:16
   |
11 | idle_timeout = 120
   |                ^^^
hint: write `idle_timeout = "120s"` or `idle_timeout = "120ms"`; `idle_timeout` is a span with its unit, such as "250ms", "45s", "2m" or "1h", from 0 to 1h
"#;
    assert_eq!(shown, expected, "\n{shown}");
}

#[test]
fn g7_an_unknown_key_is_told_where_it_belongs() {
    let with = |line: &str| format!("{line}\n{BASE}");
    has(
        &error(&with("retries = 3")),
        &["1:1 unknown key `retries`", "[queues.ID], [defaults], [direct]"],
    );
    has(&error(&with("retires = 3")), &["did you mean `retries`? it belongs in"]);
    has(&error(&with("time_zonee = \"UTC\"")), &["did you mean `time_zone`?"]);
    has(&error(&with("[provider.x]")), &["did you mean `providers`?"]);
    has(&error(&with("qqqqqqqq = 1")), &["known here: listen"]);
    has(&error(&with("chains = []")), &["`policy = \"chain\"`", "`fallbacks`", "[queues.ID]"]);
    has(&error(&with("fallbacks = []")), &["belongs in [direct]"]);
    let text = BASE.replace(
        "dialect = \"openai-chat\"\n[queues",
        "dialect = \"openai-chat\"\napi_base = \"x\"\n[queues",
    );
    has(&error(&text), &["base_url"]);
}

#[test]
fn r08_the_seeds_retry_same_model_once_is_read_and_ignored() {
    let text = format!("{BASE}retrySameModelOnce = true\n");
    has(&warnings(&text)[0], &["10:1", "`retrySameModelOnce` is ignored"]);
}

#[test]
fn wrong_types_and_forms_are_told() {
    let queue = |line: &str| format!("{BASE}{line}\n");
    let top = |line: &str| format!("{line}\n{BASE}");
    has(&error(&queue("retries = \"2\"")), &["wrong type: string"]);
    has(&error(&queue("retries = 2.5")), &["wrong type: float"]);
    has(&error(&queue("enabled = \"yes\"")), &["`true` or `false`"]);
    has(&error(&queue("commit = \"first-outptu\"")), &["did you mean \"first-output\"?"]);
    has(&error(&queue("policy = \"chian\"")), &["did you mean \"chain\"?"]);
    has(&error(&queue("wait_max = \"1 fortnight\"")), &["such as \"250ms\""]);
    has(&error(&queue("wait_max = \"-1s\"")), &["such as \"250ms\""]);
    has(&error(&queue("hold_bytes_max = 1048576")), &["needs a unit", "1048576MiB"]);
    has(&error(&queue("continue_text = \"\"")), &["does not fit", "1 to 2000"]);
    has(&error(&top("time_zone = \"Asia/Shangai\"")), &["did you mean \"Asia/Shanghai\"?"]);
    has(&error(&top("session_fields = [\"users\"]")), &["did you mean \"user\"?"]);
    has(&error(&top("allowed_origins = [\"app://a\", \"app://a\"]")), &["one twice"]);
    has(
        &error(&top("queues = 3").replace("[queues.default]\ncandidates", "[defaults]\n#")),
        &["`queues` is a section"],
    );
    has(
        &error(&BASE.replace("[\"deepseek", "[3, \"deepseek")),
        &["`candidates` has the wrong type: integer"],
    );
    has(&error(&BASE.replace("\"moonshot/kimi-k2.6\"", "{ effort = \"x\" }")), &["no `route`"]);
    has(&error(&BASE.replace("[queues.default]", "[queues.\"a/b\"]")), &["no queue id"]);
    has(
        &error(&BASE.replace("dialect = \"openai-chat\"\n[queues", "[queues")),
        &["5:12 provider `moonshot` has no `dialect`"],
    );
}

#[test]
fn what_is_not_toml_is_told_with_every_place() {
    let text = "listen = \nreset_hour = 3 4\n[providers.a\n";
    let told = errors(text);
    assert!(told.len() >= 3, "{told:#?}");
    for line in ["1:", "2:", "3:"] {
        assert!(told.iter().any(|error| error.starts_with(line)), "{told:#?}");
    }
    has(&told[0], &["this is not TOML"]);
    has(&errors("a = 1\na = 2\n")[0], &["2:1", "duplicate key"]);
}

#[test]
fn the_caret_stands_under_wide_characters() {
    let text = format!("{BASE}name = \"默认\" x\n");
    let shown = parse(&text).unwrap_err().to_string();
    let lines: Vec<&str> = shown.lines().collect();
    let at = lines.iter().position(|line| line.contains("默认")).unwrap();
    let column = |line: &str, c: char| {
        let wide = |c: char| if ('\u{4e00}'..='\u{9fff}').contains(&c) { 2 } else { 1 };
        line.chars().take_while(|other| *other != c).map(wide).sum::<usize>()
    };
    assert_eq!(column(lines[at + 1], '^'), column(lines[at], 'x'), "\n{shown}");
}

#[test]
fn no_credential_is_ever_printed() {
    const SECRET: &str = "hunter2-hunter2";
    let broken = [
        // A key that is no key, in a file that is no TOML, under a name that is unknown.
        format!("{BASE}[providers.x]\napi_key = \"{SECRET}\" x\n"),
        format!("{BASE}[providers.x]\napi_key = \"{SECRET}\n"),
        format!("{BASE}[providers.x]\napi_key = {SECRET}\n"),
        format!("{BASE}[providers.x]\napikey = \"{SECRET}\"\n"),
        format!("{BASE}[providers.x]\napi_key = [\"{SECRET}\"]\n"),
        format!("{BASE}[providers.x]\napi_key = \"{SECRET} {SECRET}\"\n"),
        format!(
            "{BASE}[providers.x]\nbase_url = \"https://u:{SECRET}@x.example\"\ndialect = \"openai-chat\"\n"
        ),
        format!(
            "{BASE}[providers.x]\nbase_url = \"https://x.example?k={SECRET}\"\ndialect = \"openai-chat\"\n"
        ),
        format!("{BASE}[providers.x.headers]\nx-team = \"{SECRET}\" x\n"),
        format!("{BASE}[providers.x.headers]\n\"bad header\" = \"{SECRET}\"\n"),
        format!(
            "{BASE}[providers]\nx = {{ base_url = \"b\", api_key = \"{SECRET}\", dialect = 3 }}\n"
        ),
        format!("{BASE}[providers.x]\nheaders = {{ \"a b\" = \"{SECRET}\" }}\n"),
        format!("{BASE}[providers.x]\napi_key = \"\"\"\n{SECRET}\n\"\"\" x\n"),
        format!("{BASE}[providers.x]\napi_key = \"a\"\napi_key = \"{SECRET}\"\n"),
        format!("{BASE}[providers.x]\napi_key = \"\"\"\n{SECRET}=\\q\n\"\"\"\n"),
        format!("{BASE}[providers.x]\napi_key = [\n\"{SECRET}\" x,\n]\n"),
        format!("{BASE}[providers.x]\nheaders = {{\n a = \"{SECRET}\" x }}\n"),
        format!("{BASE}[providers.x]\nheaders = {{ b = \"}}\",\n a = \"{SECRET}\" x }}\n"),
        format!("{BASE}[providers.x.headers]\na = \"\"\"\n{SECRET}=\\q\n\"\"\"\n"),
        format!("access_token = \"{SECRET}\"\n{BASE}"),
    ];
    for text in broken {
        let shown = parse(&text).unwrap_err().to_string();
        assert!(!shown.contains("hunter2"), "{text}\n{shown}");
    }
    // A known kind of key in a place where nobody expects one.
    let key = "sk-proj-abcdefghijklmnop123456";
    for line in [
        format!("{key} = 1"),
        format!("log = \"{key}\""),
        format!("listen = \"{key}\""),
        format!("time_zone = \"{key}\""),
    ] {
        let shown = parse(&format!("{line}\n{BASE}")).unwrap_err().to_string();
        assert!(!shown.contains(key), "{shown}");
    }
    let misplaced = format!(
        "{BASE}[providers.x]\nbase_url = \"https://x.example\"\ndialect = \"openai-chat\"\napi_key_env = \"{key}\"\n"
    );
    let shown = parse(&misplaced).unwrap_err().to_string();
    assert!(!shown.contains(key) && shown.contains("and not the key itself"), "{shown}");
}

#[test]
fn no_credential_is_in_debug_settings_or_warnings() {
    let text = format!(
        "{BASE}[providers.x]\nbase_url = \"https://x.example\"\ndialect = \"openai-chat\"\napi_key = \"hunter2\"\nheaders = {{ x-team = \"hunter3\" }}\n"
    );
    let loaded = good(&text);
    let provider = loaded.config.provider("x").unwrap();
    assert_eq!(provider.secrets().collect::<Vec<_>>(), ["hunter2", "hunter3"]);
    let all = format!("{loaded:?} {:?} {}", loaded.config.settings(), loaded.warnings);
    assert!(!all.contains("hunter"), "{all}");
    has(&loaded.warnings.to_string(), &["the key stands in this file", "api_key_env"]);
    let other = good(&text.replace("hunter2", "another"));
    assert_eq!(loaded.config.digest(), other.config.digest());
}

#[test]
fn a_provider_has_one_key() {
    let text = format!(
        "{BASE}[providers.x]\nbase_url = \"https://x.example\"\ndialect = \"openai-chat\"\napi_key = \"a\"\napi_key_env = \"B\"\n"
    );
    has(&error(&text), &["stands beside"]);
}

#[test]
fn garbage_never_panics() {
    let base = format!("{BASE}name = \"默认模板\"\n[aliases]\n\"claude-*\" = \"default\"\n");
    let chars: Vec<char> = base.chars().collect();
    for at in 0..chars.len() {
        let cut: String = chars[..at].iter().collect();
        let _ = parse(&cut).map_err(|problems| problems.to_string());
        for wrong in ['"', '=', '\n', '[', '{', '继', '\u{0}', '#'] {
            let mut text = chars.clone();
            text[at] = wrong;
            let text: String = text.into_iter().collect();
            let _ = parse(&text).map_err(|problems| problems.to_string());
        }
    }
}

#[test]
fn deep_nesting_and_thousands_of_problems_end_soon() {
    let deep = format!("a = {}", "[".repeat(200_000));
    has(&parse(&deep).unwrap_err().to_string(), &["this is not TOML"]);
    let many: String = (0..3_000).map(|at| format!("key{at} = 1\n")).collect();
    let problems = parse(&many).unwrap_err();
    has(&problems.to_string(), &["unknown key `key0`", "and 2901 more"]);
}

#[test]
fn g7_a_name_is_one_line_of_a_bounded_length() {
    let queue = |name: &str| format!("{BASE}\n[queues.second]\nname = {name:?}\n");
    good(&queue(&"长".repeat(100)));
    has(&error(&queue(&"长".repeat(101))), &["`name` does not fit", "1 to 100 characters"]);
    for name in ["two\\nlines", "\\u001b[2J", "tab\\t", "two\\u2028lines", "\\u007f"] {
        let line = format!("\"{name}\"");
        let named = format!("{BASE}\n[queues.second]\nname = {line}\n");
        has(&error(&named), &["`name` does not fit", "is one line"]);
        let provider = "base_url = \"https://x.example\"\ndialect = \"openai-chat\"";
        let named = format!("[providers.x]\nname = {line}\n{provider}\n{BASE}");
        has(&error(&named), &["`name` does not fit", "is one line"]);
        let route = format!("\"deepseek/{name}\"");
        let candidate = format!("{BASE}\n[queues.second]\ncandidates = [{route}]\n");
        has(&error(&candidate), &["is no route"]);
        has(&error(&format!("{BASE}\n[aliases]\n{line} = \"default\"\n")), &["is no alias"]);
        let price = format!("{BASE}\n[prices]\n{route} = \"USD 1 in, 1 out\"\n");
        has(&error(&price), &["is no route"]);
        let listed = format!("hidden_providers = [{line}]\n{BASE}");
        has(&error(&listed), &["holds a text that does not fit", "at most 300 characters"]);
    }
    let alias =
        |length: usize| format!("{BASE}\n[aliases]\n\"{}\" = \"default\"\n", "x".repeat(length));
    good(&alias(300));
    has(&error(&alias(301)), &["is no alias", "1 to 300 characters"]);
    has(&error(&alias(0)), &["is no alias"]);
    // What goes to a model may have lines.
    good(&format!("{BASE}\n[defaults]\ncontinue_text = \"go\\non\"\n"));
}

#[test]
fn g7_a_name_holds_no_character_that_nobody_sees() {
    let base = "base_url = \"https://x.example\"\ndialect = \"openai-chat\"";
    for (letter, code) in [
        ("\\u200b", "U+200B"),
        ("\\u200d", "U+200D"),
        ("\\u2060", "U+2060"),
        ("\\ufeff", "U+FEFF"),
        ("\\u00ad", "U+00AD"),
        ("\\u202e", "U+202E"),
        ("\\u2066", "U+2066"),
        ("\\u200e", "U+200E"),
        ("\\u3164", "U+3164"),
        ("\\U000E0041", "U+E0041"),
    ] {
        let told = |name: &str, at: usize| {
            [
                format!("`{name}` holds a character that nobody sees: {code}, number {at}"),
                "write it anew without that character".to_owned(),
            ]
        };
        let line = format!("\"ab{letter}c\"");
        let route = format!("\"deepseek/m{letter}\"");
        for (text, name, at) in [
            (format!("{BASE}\n[queues.second]\nname = {line}\n"), "name", 3),
            (format!("[providers.x]\nname = {line}\n{base}\n{BASE}"), "name", 3),
            (format!("{BASE}\n[queues.second]\ncandidates = [{route}]\n"), "candidates", 11),
            (
                format!("{BASE}\n[queues.second]\ncandidates = [{{ route = {route} }}]\n"),
                "route",
                11,
            ),
            (format!("{BASE}\n[queues.{line}]\n"), "queues", 3),
            (format!("[providers.{line}]\n{base}\n{BASE}"), "providers", 3),
            (format!("{BASE}\n[aliases]\n{line} = \"default\"\n"), "aliases", 3),
            (format!("{BASE}\n[prices]\n{route} = \"USD 1 in, 1 out\"\n"), "prices", 11),
            (format!("hidden_providers = [{line}]\n{BASE}"), "hidden_providers", 3),
        ] {
            let [what, hint] = told(name, at);
            has(&error(&text), &[&what, &hint]);
        }
    }
    // Joiners that join, marks, and what chooses a picture's form are seen.
    for name in ["می‌خواهم", "क्‍ष", "👩‍💻 夜班", "❤️", "e\u{301}té", "甲 乙"]
    {
        good(&format!("{BASE}\n[queues.second]\nname = \"{name}\"\n"));
    }
    good(&format!("{BASE}\n[defaults]\ncontinue_text = \"go\u{200b}on\"\n"));
}
