//! Without a file, and beside one.

use crate::common::{BASE, env, has};
use ekiden_config::{
    Config, Credential, Dialect, FixedEnv, LOCAL_SERVERS, Origin, Severity, WELL_KNOWN, keys,
};

#[test]
fn g8_providers_and_the_queue_are_made_of_well_known_variables() {
    let env = env(&[("ANTHROPIC_API_KEY", "a"), ("DEEPSEEK_API_KEY", "d"), ("OTHER", "x")]);
    let loaded = Config::from_env(&env).unwrap();
    let config = &loaded.config;
    let queue = &config.queues[0];
    assert_eq!((queue.id.as_str(), queue.name.as_str()), ("default", "默认模板"));
    let routes: Vec<_> = queue.candidates.iter().map(|one| one.route()).collect();
    assert_eq!(
        routes,
        [
            "anthropic/claude-opus-4-7",
            "deepseek/deepseek-v4-pro",
            "deepseek-anthropic/deepseek-v4-pro"
        ]
    );
    let both: Vec<_> = config.providers[1..].iter().map(|one| one.dialect).collect();
    assert_eq!(both, [Dialect::OpenAiChat, Dialect::AnthropicMessages]);
    assert_eq!(config.providers[0].secrets().collect::<Vec<_>>(), ["a"]);
    assert_eq!(config.providers[0].credential, Credential::Env("ANTHROPIC_API_KEY".into()));
    assert_eq!(
        config.origin("providers.deepseek"),
        &Origin::Env { variable: "DEEPSEEK_API_KEY".into() }
    );
    assert!(loaded.warnings.list.is_empty(), "{}", loaded.warnings);
}

#[test]
fn g8_nothing_found_is_an_empty_queue_and_a_word_about_it() {
    let loaded = Config::from_env(&env(&[("OPENAI_API_KEY", "")])).unwrap();
    assert!(loaded.config.queues[0].candidates.is_empty());
    has(&loaded.warnings.to_string(), &["no provider was found", "OPENAI_API_KEY"]);
}

#[test]
fn g8_every_provider_of_the_table_holds() {
    let pairs: Vec<_> = WELL_KNOWN.iter().map(|known| (known.key_variable, "k")).collect();
    let loaded = Config::from_env(&env(&pairs)).unwrap();
    assert_eq!(loaded.config.providers.len(), WELL_KNOWN.len());
    assert_eq!(loaded.config.queues[0].candidates.len(), WELL_KNOWN.len());
    for variable in [
        "OPENAI_API_KEY",
        "ANTHROPIC_API_KEY",
        "DEEPSEEK_API_KEY",
        "OPENROUTER_API_KEY",
        "GEMINI_API_KEY",
        "MOONSHOT_API_KEY",
        "ZHIPU_API_KEY",
        "DASHSCOPE_API_KEY",
    ] {
        assert!(WELL_KNOWN.iter().any(|known| known.key_variable == variable), "{variable}");
    }
    for (at, known) in WELL_KNOWN.iter().enumerate() {
        assert!(WELL_KNOWN[..at].iter().all(|other| other.id != known.id), "{}", known.id);
        assert!(known.base_url.starts_with("https://"));
        // The file's rules hold for ids that nobody wrote too.
        let text = format!(
            "[providers.{}]\nbase_url = \"{}\"\ndialect = \"{}\"\n",
            known.id,
            known.base_url,
            known.dialect.name()
        );
        crate::common::good(&text);
    }
}

#[test]
fn g8_a_client_pointed_at_us_does_not_point_us_at_ourselves() {
    for url in ["http://127.0.0.1:8787", "http://localhost:8787/v1"] {
        let env = env(&[("ANTHROPIC_API_KEY", "a"), ("ANTHROPIC_BASE_URL", url)]);
        let loaded = Config::from_env(&env).unwrap();
        assert_eq!(loaded.config.providers[0].base_url.as_str(), "https://api.anthropic.com");
        has(&loaded.warnings.to_string(), &["ANTHROPIC_BASE_URL points at Ekiden itself"]);
    }
    let other = env(&[("OPENAI_API_KEY", "a"), ("OPENAI_BASE_URL", "https://mirror.example/v1/")]);
    let loaded = Config::from_env(&other).unwrap();
    assert_eq!(loaded.config.providers[0].base_url.as_str(), "https://mirror.example/v1");
    let moved = env(&[
        ("EKIDEN_LISTEN", "127.0.0.1:9000"),
        ("OPENAI_API_KEY", "a"),
        ("OPENAI_BASE_URL", "http://127.0.0.1:9000/v1"),
    ]);
    let loaded = Config::from_env(&moved).unwrap();
    assert_eq!(loaded.config.providers[0].base_url.as_str(), "https://api.openai.com/v1");
}

#[test]
fn g8_a_file_without_providers_and_queues_leaves_them_to_the_environment() {
    let env = env(&[("DEEPSEEK_API_KEY", "d")]);
    let text = "reset_hour = 3\n[defaults]\nretries = 0\nidle_timeout = \"9s\"\n";
    let config = Config::parse(text, "f", &env).unwrap().config;
    assert_eq!(config.providers.len(), 2);
    assert_eq!(config.queues[0].policy.retries, 0);
    assert_eq!(config.queues[0].candidates[0].clocks.idle_ms, 9_000);
    let config = Config::parse(BASE, "f", &env).unwrap().config;
    assert_eq!(config.providers.len(), 2, "only those of the file");
    assert_eq!(config.providers[0].credential, Credential::None);
}

#[test]
fn g8_a_local_server_joins_at_the_end() {
    let config = Config::from_env(&env(&[("OPENAI_API_KEY", "a")])).unwrap().config;
    let ollama = LOCAL_SERVERS[0];
    let at = ollama.address(&env(&[]), config.listen).unwrap();
    let with = config.with_local_server(&ollama, &at, &["qwen3:8b".to_owned()]);
    let last = with.queues[0].candidates.last().unwrap();
    assert_eq!(last.route(), "ollama/qwen3:8b");
    assert_eq!(last.clocks.first_byte_ms, 600_000);
    assert!(!with.provider("ollama").unwrap().lacks_key());
    assert_ne!(with.digest(), config.digest());
    let again = with.with_local_server(&ollama, &at, &["x".to_owned()]);
    assert_eq!(again.digest(), with.digest(), "a provider joins once");
    let addresses: Vec<_> = LOCAL_SERVERS.iter().map(|server| server.base_url).collect();
    assert_eq!(addresses, ["http://127.0.0.1:11434/v1", "http://127.0.0.1:1234/v1"]);
}

#[test]
fn g8_settings_say_by_what_a_provider_was_found() {
    let around = env(&[("OPENAI_API_KEY", "a"), ("OPENAI_BASE_URL", "https://mirror.example/v1")]);
    let loaded = Config::from_env(&around).unwrap();
    let ollama = LOCAL_SERVERS[0];
    let at = ollama.address(&env(&[]), loaded.config.listen).unwrap();
    let with = loaded.config.with_local_server(&ollama, &at, &["qwen3:8b".to_owned()]);
    let origin = |path: &str| {
        let all = with.settings();
        all.into_iter().find(|one| one.path == path).unwrap_or_else(|| panic!("{path}")).origin
    };
    let variable = |name: &str| Origin::Env { variable: name.to_owned() };
    let found = Origin::Found { at: "http://127.0.0.1:11434/v1".to_owned() };
    for (path, by) in [
        ("providers.openai.api_key_env", variable("OPENAI_API_KEY")),
        ("providers.openai.base_url", variable("OPENAI_BASE_URL")),
        ("providers.openai.models", variable("OPENAI_API_KEY")),
        ("providers.openai.http2", Origin::Default),
        ("providers.ollama.base_url", found.clone()),
        ("providers.ollama.models", found.clone()),
        ("queues.default.candidates.0.route", variable("OPENAI_API_KEY")),
        ("queues.default.candidates.1.route", found),
    ] {
        assert_eq!(origin(path), by, "{path}");
    }
}

#[test]
fn g8_a_local_server_alone_is_a_queue_and_takes_the_word_about_nothing_away() {
    let bare = Config::from_env(&env(&[])).unwrap();
    assert_eq!(bare.warnings.list.len(), 1);
    let ollama = LOCAL_SERVERS[0];
    let at = ollama.address(&env(&[]), bare.config.listen).unwrap();
    let none = bare.clone().with_found(|config| config.with_local_server(&ollama, &at, &[]));
    assert_eq!(none.warnings.list.len(), 1, "a server without models is no provider");
    let models =
        ["qwen3:8b", "", "two words", "two\nlines", &"x".repeat(201), "llama"].map(str::to_owned);
    let with = bare.with_found(|config| config.with_local_server(&ollama, &at, &models));
    assert!(with.warnings.list.is_empty(), "{}", with.warnings);
    let routes: Vec<_> = with.config.queues[0].candidates.iter().map(|one| one.route()).collect();
    assert_eq!(routes, ["ollama/qwen3:8b", "ollama/llama"]);
    // Whoever writes down what there is asks no surroundings.
    let file = Config::parse(BASE, "f", &env(&[])).unwrap();
    let same = file.clone().with_found(|config| config.with_local_server(&ollama, &at, &models));
    assert_eq!(same.config.digest(), file.config.digest());
}

#[test]
fn g8_ollama_is_asked_where_its_variable_says() {
    let listen = Config::from_env(&env(&[])).unwrap().config.listen;
    let ollama = LOCAL_SERVERS[0];
    for (written, asked) in [
        ("", "http://127.0.0.1:11434/v1"),
        ("0.0.0.0", "http://127.0.0.1:11434/v1"),
        ("[::]:9", "http://[::1]:9/v1"),
        ("::1", "http://[::1]:11434/v1"),
        (":9", "http://127.0.0.1:9/v1"),
        ("127.0.0.1:9", "http://127.0.0.1:9/v1"),
        ("box.lan", "http://box.lan:11434/v1"),
        ("box.lan:nope", "http://box.lan:11434/v1"),
        ("http://box.lan", "http://box.lan:80/v1"),
        (" \"http://box.lan:9/\" ", "http://box.lan:9/v1"),
        ("https://box.lan/ollama/", "https://box.lan:443/ollama/v1"),
        // What is no address, or one of a cloud's credentials, counts as not said.
        ("unix:///run/ollama", "http://127.0.0.1:11434/v1"),
        ("169.254.169.254:80", "http://127.0.0.1:11434/v1"),
    ] {
        let at = ollama.address(&env(&[("OLLAMA_HOST", written)]), listen);
        assert_eq!(at.unwrap().as_str(), asked, "{written}");
    }
    let itself = format!("0.0.0.0:{}", listen.port());
    assert_eq!(ollama.address(&env(&[("OLLAMA_HOST", &itself)]), listen), None, "R6");
}

#[test]
fn g8_a_variable_of_a_local_server_that_is_not_used_is_said_and_not_repeated() {
    for (written, why) in [
        ("http://me:secret-word@box.lan:9", "the URL carries a user name or password"),
        ("me:secret-word@box.lan", "the URL carries a user name or password"),
        ("unix:///run/ollama", "a URL starts with `http://` or `https://`"),
        ("http://169.254.169.254", "is a link-local or metadata address"),
    ] {
        let told = Config::from_env(&env(&[("OLLAMA_HOST", written)])).unwrap().warnings;
        let told = told.to_string();
        assert!(told.contains("warning: OLLAMA_HOST ") && told.contains(why), "{written}: {told}");
        assert!(told.contains("`ollama` is asked at http://127.0.0.1:11434/v1 instead"), "{told}");
        assert!(!told.contains("secret-word"), "{told}");
    }
    for fine in ["", " ", "box.lan:9", "0.0.0.0"] {
        let told = Config::from_env(&env(&[("OLLAMA_HOST", fine)])).unwrap().warnings;
        assert!(!told.to_string().contains("OLLAMA_HOST"), "{told}");
    }
    // Where a file says which queues there are, nobody looks for servers.
    let told = Config::parse(BASE, "f", &env(&[("OLLAMA_HOST", "a:b@c")])).unwrap().warnings;
    assert!(!told.to_string().contains("OLLAMA_HOST"), "{told}");
}

#[test]
fn g7_quotes_that_a_file_of_variables_leaves_are_not_part_of_a_path() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("my config.toml");
    std::fs::write(&file, BASE).unwrap();
    for quote in ["\"", "'"] {
        let quoted = format!("{quote}{}{quote}", file.display());
        let quoted_state = format!("{quote}/state{quote}");
        let env = env(&[("EKIDEN_CONFIG", &quoted), ("EKIDEN_STATE_DIR", &quoted_state)]);
        let loaded = Config::find(None, &env).unwrap();
        assert_eq!(loaded.path.as_deref(), Some(file.as_path()));
        assert_eq!(loaded.config.state_dir.as_deref(), Some("/state".as_ref()));
        let named = Config::find(Some(quoted.as_ref()), &FixedEnv::new()).unwrap();
        assert_eq!(named.path.as_deref(), Some(file.as_path()));
    }
}

#[test]
fn g7_a_variable_beats_the_file_and_is_remembered() {
    let env = env(&[
        ("EKIDEN_LISTEN", "127.0.0.1:9"),
        ("EKIDEN_LOG", "debug"),
        ("EKIDEN_RESET_HOUR", "5"),
        ("EKIDEN_TIME_ZONE", "Asia/Shanghai"),
        ("EKIDEN_STATE_DIR", "/state"),
    ]);
    let text = format!("listen = \"127.0.0.1:1\"\nreset_hour = 3\n{BASE}");
    let config = Config::parse(&text, "f", &env).unwrap().config;
    assert_eq!((config.listen.port(), config.reset_hour), (9, 5));
    assert_eq!(config.time_zone.as_deref(), Some("Asia/Shanghai"));
    assert_eq!(config.state_dir.as_deref(), Some("/state".as_ref()));
    assert_eq!(config.log.name(), "debug");
    for key in keys::keys_of(keys::Group::Top) {
        let expected = match key.variable {
            Some(variable) => Origin::Env { variable: variable.to_owned() },
            None => Origin::Default,
        };
        assert_eq!(config.origin(key.name), &expected, "{}", key.name);
    }
}

#[test]
fn g7_a_variable_that_does_not_fit_is_named() {
    for (variable, value, part) in [
        ("EKIDEN_LISTEN", "0.0.0.0", "no address with a port"),
        ("EKIDEN_RESET_HOUR", "24", "from 0 to 23"),
        ("EKIDEN_RESET_HOUR", "x", "from 0 to 23"),
        ("EKIDEN_TIME_ZONE", "Mars", "no time zone"),
        ("EKIDEN_LOG", "loud", "\"debug\""),
    ] {
        let problems = Config::parse(BASE, "f", &env(&[(variable, value)])).unwrap_err();
        has(&problems.to_string(), &[&format!("environment variable {variable}: "), part]);
        assert!(problems.list.iter().any(|one| one.severity == Severity::Error));
    }
}

#[test]
fn g7_a_key_comes_from_its_variable_and_its_lack_is_a_warning() {
    let text = BASE.replace("[providers.moonshot]", "[providers.moonshot]\napi_key_env = \"K\"");
    let with = Config::parse(&text, "f", &env(&[("K", "secret")])).unwrap();
    let moonshot = with.config.provider("moonshot").unwrap();
    assert_eq!(moonshot.secrets().collect::<Vec<_>>(), ["secret"]);
    assert!(!moonshot.lacks_key() && with.warnings.list.is_empty());
    let without = Config::parse(&text, "f", &env(&[])).unwrap();
    assert!(without.config.provider("moonshot").unwrap().lacks_key());
    has(&without.warnings.to_string(), &["variable K is not set", "f:6:15"]);
}
