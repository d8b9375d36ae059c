//! The rules of the specification that the configuration keeps.

use std::collections::BTreeSet;

use crate::common::{BASE, error, errors, good, has, warnings};
use ekiden_config::{
    Clocks, Config, Locality, Lookup, Origin, PolicySettings, Preset, UnknownModel, Via, matches,
};

fn lookup<'a>(config: &'a Config, name: &'a str) -> Lookup<'a> {
    config.lookup(name, &BTreeSet::from(["old".to_owned()]))
}

fn queue_of(found: &Lookup<'_>) -> (String, Via) {
    match found {
        Lookup::Queue { queue, via } => (queue.id.clone(), *via),
        other => panic!("{other:?}"),
    }
}

const NAMES: &str = r#"
[queues.fast]
candidates = ["deepseek/deepseek-v4-flash"]
[aliases]
"gpt-5.4" = "fast"
"claude-*" = "default"
"claude-haiku-*" = "fast"
"#;

#[test]
fn r01_a_name_is_a_queue_id_then_an_alias_then_a_route_then_a_deleted_id() {
    let text = format!("{BASE}{NAMES}");
    let config = &good(&text).config;
    let queue = |name: &str| queue_of(&lookup(config, name));
    assert_eq!(queue("fast"), ("fast".into(), Via::Id));
    assert_eq!(queue("gpt-5.4"), ("fast".into(), Via::Alias));
    assert_eq!(queue("claude-opus-4-7"), ("default".into(), Via::Alias));
    assert_eq!(queue("claude-haiku-4-5"), ("fast".into(), Via::Alias), "the longer pattern");
    assert_eq!(queue("claude-queue-fast"), ("fast".into(), Via::Alias), "the picker's name");
    assert_eq!(queue("old"), ("default".into(), Via::Deleted), "the first queue");
    match lookup(config, "moonshot/org/kimi-k2.6") {
        Lookup::Direct { provider, model } => {
            assert_eq!((provider.id.as_str(), model), ("moonshot", "org/kimi-k2.6"));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn r01_an_unknown_name_gets_the_nearest_ones_or_the_first_queue() {
    let config = &good(&format!("{BASE}{NAMES}")).config;
    for (name, near) in [
        ("defualt", "default"),
        ("kimi-k2.5", "moonshot/kimi-k2.6"),
        ("deepsek/deepseek-v4-pro", "deepseek/deepseek-v4-pro"),
    ] {
        match lookup(config, name) {
            Lookup::Unknown { nearest } => assert_eq!(nearest[0], near, "{name}: {nearest:?}"),
            other => panic!("{other:?}"),
        }
    }
    for name in ["", "zzz", "deepseek/", "/x"] {
        assert!(matches!(lookup(config, name), Lookup::Unknown { .. }), "{name}");
    }
    let text = format!("unknown_model = \"first\"\n{BASE}");
    let config = &good(&text).config;
    assert_eq!(config.unknown_model, UnknownModel::First);
    assert_eq!(queue_of(&lookup(config, "zzz")), ("default".into(), Via::First));
}

#[test]
fn r01_globs_cover_whole_names() {
    for (pattern, name, covers) in [
        ("claude-*", "claude-", true),
        ("claude-*", "xclaude-1", false),
        ("*", "", true),
        ("?", "", false),
        ("g?t-*-mini", "gpt-5-a-mini", true),
        ("g?t-*-mini", "gpt-5-a-mini2", false),
        ("*a*b", "aabab", true),
        ("a", "a", true),
        ("模型*", "模型一", true),
    ] {
        assert_eq!(matches(pattern, name), covers, "{pattern} {name}");
    }
    // Backtracking would need 2^30 steps here.
    assert!(!matches(&format!("{}b", "a*".repeat(30)), &"a".repeat(2_000)));
}

#[test]
fn r01_queues_and_providers_keep_the_order_of_the_file() {
    let text = BASE.replace("[queues.default]", "[queues.zeta]\n[queues.alpha]");
    let config = &good(&text).config;
    let ids: Vec<_> = config.queues.iter().map(|queue| queue.id.as_str()).collect();
    assert_eq!(ids, ["zeta", "alpha"]);
}

#[test]
fn r01_an_empty_queue_is_allowed_and_warned_about() {
    let text = format!("{BASE}\n[queues.new]\n");
    assert!(good(&text).config.queue("new").unwrap().candidates.is_empty());
    has(&warnings(&text)[0], &["11:9", "queue `new` is empty", "candidates = ["]);
    let none = "[providers.a]\nbase_url = \"https://a.example\"\ndialect = \"openai-chat\"\n";
    assert_eq!(good(none).config.queues[0].id, "default");
    has(&warnings(none)[0], &["no queue is written"]);
}

#[test]
fn g01_candidates_whose_dialect_is_not_spoken_are_warned_about() {
    let more = "[providers.r]\nbase_url = \"https://r.example/v1\"\ndialect = \"openai-responses\"\n\
                api_key_env = \"R\"\n[queues.all]\ncandidates = [\"r/one\", \"r/two\"]\n\
                [queues.some]\ncandidates = [\"r/one\", \"deepseek/m\"]\n";
    let text = format!("{BASE}\n{more}");
    let warned = warnings(&text).join("\n");
    has(&warned, &["no candidate of queue `all` can be used: `r/one`, `r/two`"]);
    has(&warned, &["queue `some` has candidates that cannot be used: `r/one` |"]);
    has(&warned, &["does not speak openai-responses", "openai-chat"]);
    assert!(!warned.contains("queue `default`"), "{warned}");
}

#[test]
fn r01_aliases_lead_to_queues_and_hide_none() {
    let with = |line: &str| format!("{BASE}[aliases]\n{line}\n");
    has(
        &error(&with("a = \"defualt\"")),
        &["11:5", "leads to no queue", "did you mean \"default\"?"],
    );
    has(&error(&with("default = \"default\"")), &["11:1", "is the id of a queue"]);
    has(&error(&with("a = 3")), &["wrong type"]);
    let text = format!(
        "{BASE}[queues.deep]\ncandidates = [\"deepseek/a\"]\n[aliases]\n\"de*\" = \"deep\"\n"
    );
    has(&warnings(&text)[0], &["also covers the queue `default`"]);
}

#[test]
fn r02_a_route_stands_at_most_once_in_a_queue() {
    let text = BASE.replace("moonshot/kimi-k2.6", "deepseek/deepseek-v4-pro");
    has(&error(&text), &["9:43", "stands twice", "candidate 1"]);
}

#[test]
fn r06_a_queue_never_contains_a_queue() {
    let with = |route: &str| BASE.replace("moonshot/kimi-k2.6", route);
    has(&error(&with("default")), &["`default` is itself", "R6"]);
    let other = format!("{}[queues.b]\ncandidates = [\"deepseek/a\"]\n", with("b"));
    has(&error(&other), &["`b` is a queue", "R6"]);
    has(&error(&with("ekiden/default")), &["leads back to Ekiden"]);
    has(&error(&with("default/x")), &["leads back to Ekiden"]);
    for url in ["http://127.0.0.1:8787/v1", "http://localhost:8787", "http://[::1]:8787/v1"] {
        let text = BASE.replace("https://api.moonshot.cn/v1", url);
        has(&error(&text), &["points at Ekiden itself", "127.0.0.1:8787"]);
    }
    let elsewhere = BASE.replace("https://api.moonshot.cn/v1", "http://127.0.0.1:11434/v1");
    good(&elsewhere);
    let moved = format!("listen = \"127.0.0.1:11434\"\n{elsewhere}");
    has(&error(&moved), &["points at Ekiden itself"]);
}

#[test]
fn r11_clocks_of_a_candidate_come_from_it_its_queue_the_defaults_and_its_place() {
    let text = r#"
[defaults]
idle_timeout = "100s"
progress_timeout = "200s"
[providers.near]
base_url = "http://127.0.0.1:11434/v1"
dialect = "openai-chat"
[providers.far]
base_url = "https://far.example/v1"
dialect = "openai-chat"
[queues.q]
progress_timeout = "300s"
candidates = ["near/a", { route = "far/b", idle_timeout = 0, connect_timeout = "1s" }, "far/c"]
"#;
    let config = &good(text).config;
    let clocks: Vec<_> = config.queues[0].candidates.iter().map(|one| one.clocks).collect();
    let remote = Clocks::default_for(Locality::Remote);
    let local = Clocks::default_for(Locality::Local);
    assert_eq!(clocks[0], Clocks { idle_ms: 100_000, progress_ms: 300_000, ..local });
    assert_eq!((local.first_byte_ms, local.headers_ms), (600_000, 600_000));
    assert_eq!(clocks[1], Clocks { idle_ms: 0, progress_ms: 300_000, connect_ms: 1_000, ..remote });
    assert_eq!(clocks[2], Clocks { idle_ms: 100_000, progress_ms: 300_000, ..remote });
    assert_eq!((remote.connect_ms, remote.headers_ms, remote.idle_ms), (10_000, 90_000, 120_000));
    assert_eq!((remote.progress_ms, remote.first_output_ms), (600_000, 0));
    let direct = config.direct_clocks(&config.providers[1]);
    assert_eq!((direct.idle_ms, direct.progress_ms), (100_000, 200_000));
}

#[test]
fn r24_a_seat_cap_is_none_or_1_to_16() {
    let with = |cap: &str| {
        BASE.replace(
            "\"moonshot/kimi-k2.6\"",
            &format!("{{ route = \"moonshot/k\", max_sessions = {cap} }}"),
        )
    };
    let cap = |text: &str| good(text).config.queues[0].candidates[1].max_sessions;
    assert_eq!(cap(BASE), None);
    assert_eq!(cap(&with("16")), Some(16));
    has(&error(&with("0")), &["max_sessions", "from 1 to 16"]);
    has(&error(&with("17")), &["max_sessions", "from 1 to 16"]);
}

#[test]
fn r35_an_effort_that_the_model_does_not_know_is_warned_about() {
    let text = BASE.replace(
        "\"moonshot/kimi-k2.6\"",
        "{ route = \"moonshot/k\", effort = \"max\", effort_levels = [\"low\", \"high\"] }",
    );
    let candidate = &good(&text).config.queues[0].candidates[1];
    assert_eq!(candidate.effort.as_deref(), Some("max"));
    has(&warnings(&text)[0], &["effort `max`", "not sent"]);
}

#[test]
fn r36_a_queue_declares_the_window_of_its_first_candidate_that_has_one() {
    let text = BASE.replace(
        "\"moonshot/kimi-k2.6\"",
        "{ route = \"moonshot/k\", context_window = 262144 }, { route = \"moonshot/l\", context_window = 8192 }",
    );
    assert_eq!(good(&text).config.queues[0].context_window(), Some(262_144));
    assert_eq!(good(BASE).config.queues[0].context_window(), None);
}

#[test]
fn a_queues_own_fields_beat_the_defaults_and_those_the_preset() {
    let text = format!(
        "[defaults]\nretries = 5\nwait_max = \"9s\"\nenabled = false\n{BASE}retries = 1\n[queues.b]\npolicy = \"none\"\nretries = 3\n[direct]\ncooldown = \"5s\"\n"
    );
    let config = &good(&text).config;
    let relay = PolicySettings::preset(Preset::Relay);
    let expected = PolicySettings { retries: 1, wait_max_ms: 9_000, enabled: false, ..relay };
    assert_eq!(config.queues[0].policy, expected);
    let b = &config.queues[1].policy;
    assert_eq!((b.policy, b.enabled, b.retries), (Preset::None, false, 3));
    let direct = &config.direct.policy;
    assert_eq!((direct.policy, direct.enabled), (Preset::None, false));
    assert_eq!((direct.retries, direct.cooldown_ms), (5, 5_000));
    let on = format!("[defaults]\nenabled = true\n{BASE}");
    assert!(!good(&on).config.direct.policy.enabled, "direct calls are none unless set");
}

#[test]
fn r07_to_r27_the_relays_defaults_are_the_gateways() {
    let p = PolicySettings::preset(Preset::Relay);
    assert_eq!((p.retries, p.retry_pause_ms, p.attempts_max), (2, 250, 16));
    assert_eq!((p.continue_text.as_str(), p.continues_max, p.continue_delay_ms), ("继续", 3, 0));
    assert_eq!((p.continue_on_failover.name(), p.commit.name()), ("never", "first-output"));
    assert_eq!((p.rotate_after, p.overflow.name()), (2, "tell"));
    assert_eq!((p.wait_max_ms, p.inline_wait_ms), (30_000, 3_000));
    assert_eq!((p.parole_after_ms, p.parole_max_ms, p.parole_idle_ms), (60_000, 3_600_000, 30_000));
    assert_eq!((p.cooldown_ms, p.cooldown_max_ms), (60_000, 3_600_000));
    assert_eq!((p.lease_idle_ms, p.lease_rest_ms), (300_000, 5_000));
    assert!(p.retry_when_all_quarantined && p.enabled && !p.failover_on_filter);
}

#[test]
fn h7_candidates_may_be_written_one_a_line() {
    let lines = "\"\"\"\n# the list\ndeepseek/deepseek-v4-pro\nmoonshot|kimi-k2.6   # fast\nmoonshot org/kimi\n\n\"\"\"";
    let text = BASE.replace(r#"["deepseek/deepseek-v4-pro", "moonshot/kimi-k2.6"]"#, lines);
    let loaded = good(&text);
    let routes: Vec<_> = loaded.config.queues[0].candidates.iter().map(|one| one.route()).collect();
    assert_eq!(routes, ["deepseek/deepseek-v4-pro", "moonshot/kimi-k2.6", "moonshot/org/kimi"]);
    has(
        &warnings(&text.replace("moonshot|", "moonshit|"))[0],
        &["12:1 provider `moonshit`", "moonshot/"],
    );
}

#[test]
fn g9_it_listens_on_an_address_with_a_port() {
    for address in ["127.0.0.1:0", "[::1]:8787", "localhost:1", "0.0.0.0:8787", "192.168.1.2:80"] {
        good(&format!("listen = \"{address}\"\n{BASE}"));
    }
    for address in ["8787", "localhost", "127.0.0.1", "localhost:x"] {
        has(&error(&format!("listen = \"{address}\"\n{BASE}")), &["127.0.0.1:8787"]);
    }
}

#[test]
fn g9_link_local_and_metadata_addresses_are_refused_unless_allowed() {
    for url in
        ["http://169.254.169.254/v1", "http://metadata.google.internal", "http://[fe80::1]/v1"]
    {
        let text = BASE.replace("https://api.moonshot.cn/v1", url);
        has(&error(&text), &["link-local or metadata", "allow_link_local = true"]);
        let allowed =
            text.replace("[providers.moonshot]", "[providers.moonshot]\nallow_link_local = true");
        good(&allowed);
    }
}

#[test]
fn plain_text_to_a_remote_host_is_warned_about() {
    let text = BASE.replace("https://api.moonshot.cn", "http://api.moonshot.cn");
    has(&warnings(&text)[0], &["in plain text", "https://"]);
    let near = BASE.replace("https://api.moonshot.cn", "http://192.168.1.9:8000");
    assert!(warnings(&near).is_empty());
}

#[test]
fn r40_a_candidate_of_an_unknown_provider_is_kept_and_told_with_the_nearest_name() {
    let text = BASE.replace("moonshot/kimi-k2.6", "moonshoot/kimi-k2.6");
    has(
        &warnings(&text)[0],
        &[
            "9:43",
            "provider `moonshoot` is unknown",
            "passed over",
            "did you mean \"moonshot/kimi-k2.6\"?",
        ],
    );
    let far = BASE.replace("moonshot/kimi-k2.6", "qqq/x");
    has(&warnings(&far)[0], &["the providers are: deepseek, moonshot"]);
    let config = good(&far).config;
    assert_eq!(config.queues[0].candidates[1].route(), "qqq/x");
    assert!(config.provider("qqq").is_none());
    let alone = BASE.replace("moonshot/kimi-k2.6", "moonshot");
    has(&error(&alone), &["is no route", "\"moonshot/model\""]);
    // A provider that is written wrong is not unknown besides.
    let wrong = BASE.replace("https://api.moonshot.cn/v1", "nowhere");
    assert_eq!(errors(&wrong).len(), 1);
}

#[test]
fn two_queues_of_one_name_are_refused() {
    let text =
        format!("{BASE}name = \"A\"\n[queues.b]\nname = \"A\"\ncandidates = [\"deepseek/a\"]\n");
    has(&error(&text), &["12:8", "bears the name of queue `default`"]);
}

#[test]
fn endpoints_stand_where_the_dialect_has_them() {
    let text = r#"
[providers.a]
base_url = "https://api.anthropic.com/"
dialect = "anthropic-messages"
[providers.b]
base_url = "https://x.example/anthropic/v1"
dialect = "anthropic-messages"
[providers.c]
base_url = "https://api.openai.com/v1"
dialect = "openai-chat"
"#;
    let config = &good(text).config;
    let url = |at: usize, tail| config.providers[at].endpoint(tail);
    assert_eq!(url(0, "messages"), "https://api.anthropic.com/v1/messages");
    assert_eq!(url(1, "messages"), "https://x.example/anthropic/v1/messages");
    assert_eq!(url(2, "chat/completions"), "https://api.openai.com/v1/chat/completions");
    let profiles: Vec<_> = config.providers.iter().map(|one| one.profile.name()).collect();
    assert_eq!(profiles, ["native", "compatible", "native"]);
}

#[test]
fn a_queues_digest_moves_with_what_its_decisions_read_and_with_nothing_else() {
    let digest = |text: &str| {
        let config = &good(text).config;
        config.queue_digest(&config.queues[0])
    };
    let base = digest(BASE);
    assert_eq!(digest(BASE), base);
    assert_eq!(digest(&format!("log = \"debug\"\n{BASE}[queues.b]\nretries = 1\n")), base);
    assert_ne!(digest(&format!("{BASE}retries = 1\n")), base);
    assert_ne!(digest(&format!("reset_hour = 2\n{BASE}")), base);
    assert_ne!(digest(&format!("[defaults]\nidle_timeout = \"1s\"\n{BASE}")), base);
    assert_ne!(digest(&BASE.replace("api.moonshot.cn", "api.moonshot.ai")), base);
    // Written down, so that a change of the algorithm is seen.
    assert_eq!(base, 11_226_038_853_172_942_219);
}

#[test]
fn every_way_that_toml_writes_a_table_is_read() {
    let text = r#"
providers.a = { base_url = "https://a.example", dialect = "openai-chat" }
queues.q.retries = 0x3
[[queues.r.candidates]]
route = "a/one"
context_window = 128_000
[[queues.r.candidates]]
route = "a/two"
"#;
    let config = &good(text).config;
    assert_eq!(config.queues[0].policy.retries, 3);
    let routes: Vec<_> = config.queues[1].candidates.iter().map(|one| one.route()).collect();
    assert_eq!(routes, ["a/one", "a/two"]);
    assert_eq!(config.queues[1].candidates[0].context_window, Some(128_000));
}

#[test]
fn r34_a_price_is_the_users_own_before_that_of_the_table() {
    let plain = good(BASE).config;
    let known = plain.price("deepseek", "deepseek-v4-pro").unwrap();
    assert_eq!(known.to_string(), "USD 0.435 in, 0.87 out, 0.003625 cached");
    assert_eq!(plain.price("deepseek", "nobody-knows"), None);
    assert_eq!(plain.price("nobody", "deepseek-v4-pro"), None);
    // At another address the same model is somebody else's.
    let proxied = good(&BASE.replace("api.deepseek.com", "proxy.example")).config;
    assert_eq!(proxied.price("deepseek", "deepseek-v4-pro"), None);
    let own = "[prices]\n\"deepseek/deepseek-v4-pro\" = \"CNY 3 in, 6 out\"\n\"moonshot/kimi-k2.6\" = \"CNY 4 in, 16 out\"\n";
    let loaded = good(&format!("{BASE}{own}"));
    let price = |model: &str, provider| loaded.config.price(provider, model).unwrap().to_string();
    assert_eq!(price("deepseek-v4-pro", "deepseek"), "CNY 3 in, 6 out");
    assert_eq!(price("kimi-k2.6", "moonshot"), "CNY 4 in, 16 out");
    let shown = loaded.config.settings();
    let path = "prices.deepseek/deepseek-v4-pro";
    let shown = shown.iter().find(|setting| setting.path == path).unwrap();
    assert_eq!(shown.origin, Origin::File { line: 11 });
    assert_ne!(loaded.config.digest(), plain.digest());
}

#[test]
fn r34_a_price_that_is_none_is_told_with_its_form() {
    for (entry, message, hint) in [
        ("\"deepseek/a\" = 3", "is not written as a price", "such as \"USD 0.435 in"),
        ("\"deepseek/a\" = \"EUR 1 in, 2 out\"", "is not written as a price", "million tokens"),
        ("\"deepseek/a\" = \"USD 1000001 in, 2 out\"", "out of bounds", "from 0 to 1000000"),
        ("deepseek = \"USD 1 in, 2 out\"", "`deepseek` is no route", "in quotes"),
        ("\"deepseek|a\" = \"USD 1 in, 2 out\"", "is no route", "provider/model"),
    ] {
        has(&error(&format!("{BASE}[prices]\n{entry}\n")), &[message, hint]);
    }
}
