use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};

use ekiden_dialect::{Dialect, request};

use super::*;

fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
    let pair = |(name, value): &(&str, &str)| {
        (
            name.parse::<HeaderName>().expect("a header's name"),
            value.parse::<HeaderValue>().expect("a header's value"),
        )
    };
    pairs.iter().map(pair).collect()
}

fn asked(body: &str) -> Request {
    asked_in(Dialect::OpenAiChat, body)
}

fn asked_in(dialect: Dialect, body: &str) -> Request {
    let body = Bytes::from(body.to_owned());
    request::read(dialect, &body).expect("a body")
}

const HELLO: &str = r#"{"model":"q","messages":[{"role":"user","content":"hello"}]}"#;
const WITH_TOOLS: &str =
    r#"{"model":"q","messages":[{"role":"user","content":"hello"}],"tools":[{}]}"#;

fn sessions() -> Sessions {
    Sessions::new(100)
}

fn named(pairs: &[(&str, &str)], body: &str) -> (SessionKind, String, Option<String>) {
    let identity = sessions().identify(&Said::of(&headers(pairs)), &asked(body), "q", &[]);
    let SessionKey { key, kind, agent } = identity.session;
    (kind, key, agent)
}

fn name(pairs: &[(&str, &str)], body: &str) -> String {
    named(pairs, body).1
}

#[test]
fn g04_the_first_hit_wins_in_the_measured_order() {
    let body = r#"{"model":"q","messages":[],"prompt_cache_key":"cache",
        "metadata":{"user_id":"{\"session_id\":\"meta\"}"},"client_metadata":{"session_id":"codex"}}"#;
    let mut pairs = vec![
        ("x-ekiden-session", "own"),
        ("x-claude-code-session-id", "claude"),
        ("session-id", "dash"),
        ("session_id", "underscore"),
        ("x-session-id", "opencode"),
        ("x-session-affinity", "affinity"),
    ];
    assert_eq!(name(&pairs, body), "open.own");
    pairs.remove(0);
    assert_eq!(name(&pairs, body), "open.claude");
    pairs.remove(0);
    assert_eq!(name(&pairs, body), "open.meta");
    let body = body.replace("user_id", "nothing");
    assert_eq!(name(&pairs, &body), "open.dash");
    pairs.remove(0);
    assert_eq!(name(&pairs, &body), "open.underscore");
    pairs.remove(0);
    assert_eq!(name(&pairs, &body), "open.codex");
    let body = body.replace("client_metadata", "nothing");
    assert_eq!(name(&pairs, &body), "open.opencode");
    pairs.remove(0);
    assert_eq!(name(&pairs, &body), "open.affinity");
    pairs.remove(0);
    assert_eq!(name(&pairs, &body), "open.cache");
}

#[test]
fn g04_deepseek_harness_names_its_session_and_r47_its_compaction() {
    let session = ("x-deepseek-harness-session-id", "session-1");
    assert_eq!(name(&[session, ("session_id", "other")], HELLO), "open.session-1");
    let purpose = |pairs: &[(&str, &str)]| {
        sessions().identify(&Said::of(&headers(pairs)), &asked(WITH_TOOLS), "q", &[]).purpose
    };
    assert_eq!(purpose(&[session]), Purpose::Main);
    assert_eq!(purpose(&[session, ("x-deepseek-harness-compact", "1")]), Purpose::Internal);
}

#[test]
fn g04_metadata_user_id_in_all_its_forms() {
    for (user_id, session) in [
        (r#"{\"device_id\":\"d\",\"session_id\":\"s1\"}"#, "open.s1"),
        ("user_abc_account__session_11111111-2222", "open.11111111-2222"),
        ("customer-7", "open.customer-7"),
    ] {
        let body = format!(r#"{{"model":"q","messages":[],"metadata":{{"user_id":"{user_id}"}}}}"#);
        assert_eq!(name(&[], &body), session);
    }
}

#[test]
fn g04_clients_with_other_keys_share_nothing() {
    let session = ("x-ekiden-session", "s");
    let first = name(&[session, ("authorization", "Bearer one")], HELLO);
    let same = name(&[session, ("x-api-key", "one")], HELLO);
    let other = name(&[session, ("authorization", "Bearer two")], HELLO);
    assert_eq!(first, same);
    assert_ne!(first, other);
    assert!(!first.contains("one"), "the key itself is never in the name: {first}");
}

#[test]
fn g04_a_child_belongs_to_its_root() {
    let sessions = sessions();
    let ask = |pairs: &[(&str, &str)]| {
        let session =
            sessions.identify(&Said::of(&headers(pairs)), &asked(HELLO), "q", &[]).session;
        (session.key, session.agent)
    };
    let child = |agent: &str| ("open.root".to_owned(), Some(agent.to_owned()));
    assert_eq!(ask(&[("x-session-id", "root")]), ("open.root".to_owned(), None));
    assert_eq!(ask(&[("x-session-id", "a"), ("x-parent-session-id", "root")]), child("a"));
    assert_eq!(ask(&[("x-session-id", "b"), ("x-parent-session-id", "a")]), child("b"));
    assert_eq!(ask(&[("x-session-affinity", "b")]), child("b"), "remembered");
    let looped = ask(&[("x-session-id", "root"), ("x-parent-session-id", "b")]);
    assert_eq!(looped.0, "open.root", "a circle has no other root");
}

#[test]
fn g04_a_request_id_names_a_session_only_when_it_comes_again() {
    let sessions = sessions();
    let ask = |id: &str, agent: &str| {
        let pairs = [("x-client-request-id", id), ("user-agent", agent)];
        sessions.identify(&Said::of(&headers(&pairs)), &asked(HELLO), "q", &[]).session
    };
    assert_eq!(ask("one", "app/1").kind, SessionKind::Fingerprint);
    assert_eq!(ask("two", "app/1").kind, SessionKind::Fingerprint);
    assert_eq!(ask("one", "app/1").key, "open.one");
    assert_eq!(ask("three", "codex_cli_rs/1").key, "open.three");
}

#[test]
fn g04_user_fields_name_a_session_only_when_configured() {
    let body = r#"{"model":"q","messages":[],"user":"u","safety_identifier":"s"}"#;
    let ask = |fields: &[SessionField]| {
        sessions().identify(&Said::of(&HeaderMap::new()), &asked(body), "q", fields).session.key
    };
    assert_eq!(ask(&[]), "");
    assert_eq!(ask(&[SessionField::User]), "open.u");
    assert_eq!(ask(&[SessionField::SafetyIdentifier, SessionField::User]), "open.s");
}

#[test]
fn g04_a_fingerprint_stays_while_the_conversation_grows() {
    let grown = r#"{"model":"q","messages":[{"role":"user","content":"hello"},
        {"role":"assistant","content":"hi"},{"role":"user","content":"more"}]}"#;
    let agent = [("user-agent", "aider/1.0")];
    assert_eq!(named(&agent, HELLO).0, SessionKind::Fingerprint);
    assert_eq!(name(&agent, HELLO), name(&[("user-agent", "aider/2.0")], grown));
    assert_ne!(name(&agent, HELLO), name(&[("user-agent", "other/1.0")], HELLO));
    assert_ne!(name(&agent, HELLO), name(&agent, &HELLO.replace("hello", "bye")));
    let other_queue = sessions().identify(&Said::of(&headers(&agent)), &asked(HELLO), "q2", &[]);
    assert_ne!(name(&agent, HELLO), other_queue.session.key);
    assert!(!name(&agent, HELLO).contains("hello"), "no text of the user");
}

#[test]
fn r20_what_has_no_beginning_is_background_work() {
    let body = r#"{"model":"q","messages":[]}"#;
    assert_eq!(named(&[], body), (SessionKind::Background, String::new(), None));
}

#[test]
fn g04_names_that_cannot_be_shown_become_digests() {
    let long = "x".repeat(NAME_MAX + 1);
    for odd in [long.as_str(), "with space", "a\tb"] {
        let key = name(&[("x-ekiden-session", odd)], HELLO);
        assert!(key.starts_with("open.id-") && key.len() == 40, "{key}");
    }
    assert_eq!(named(&[("x-ekiden-session", "  ")], HELLO).0, SessionKind::Fingerprint);
}

#[test]
fn g04_agents_are_told_apart_inside_their_session() {
    let session = ("session-id", "s");
    for (pairs, agent) in [
        (&[session][..], None),
        (&[session, ("thread-id", "s")][..], None),
        (&[session, ("thread-id", "t")][..], Some("t")),
        (&[session, ("x-openai-subagent", "collab_spawn")][..], Some("collab_spawn")),
        (&[("x-claude-code-session-id", "s"), ("x-claude-code-agent-id", "a")][..], Some("a")),
    ] {
        assert_eq!(named(pairs, HELLO).1, "open.s", "{pairs:?}");
        assert_eq!(named(pairs, HELLO).2.as_deref(), agent, "{pairs:?}");
    }
}

#[test]
fn r47_a_call_without_tools_is_a_side_call_once_its_session_has_used_some() {
    let sessions = sessions();
    let ask = |session: &str, body: &str| {
        let pairs = [("x-session-id", session)];
        sessions.identify(&Said::of(&headers(&pairs)), &asked(body), "q", &[]).purpose
    };
    assert_eq!(ask("a", HELLO), Purpose::Main, "nothing is known yet");
    assert_eq!(ask("a", WITH_TOOLS), Purpose::Main);
    assert_eq!(ask("a", HELLO), Purpose::Internal);
    assert_eq!(ask("b", HELLO), Purpose::Main, "another session");
    assert_eq!(ask("a", WITH_TOOLS), Purpose::Main);
}

#[test]
fn r47_what_clients_say_about_a_call_is_believed() {
    let ask = |pairs: &[(&str, &str)], body: &str| {
        sessions().identify(&Said::of(&headers(pairs)), &asked(body), "q", &[]).purpose
    };
    let class = "x-claude-code-request-class";
    for (said, purpose) in [
        ("main", Purpose::Main),
        ("subagent", Purpose::Main),
        ("compaction", Purpose::Internal),
        ("auxiliary", Purpose::Internal),
    ] {
        assert_eq!(ask(&[(class, said)], WITH_TOOLS), purpose, "{said}");
    }
    let turn = "x-codex-turn-metadata";
    assert_eq!(ask(&[(turn, r#"{"request_kind":"turn"}"#)], HELLO), Purpose::Main);
    assert_eq!(ask(&[(turn, r#"{"request_kind":"compaction"}"#)], HELLO), Purpose::Internal);
    assert_eq!(ask(&[(turn, "no json")], HELLO), Purpose::Main);
    let title = r#"{"model":"q","messages":[],"tools":[{}],"response_format":{"type":"json_schema",
        "json_schema":{"schema":{"type":"object","properties":{"title":{"type":"string"}}}}}}"#;
    assert_eq!(ask(&[], title), Purpose::Internal);
}

#[test]
fn r47_opencodes_first_call_asks_for_a_title_and_is_a_side_call() {
    let ask = |agent: &str, words: &str, tools: &str| {
        let body = format!(
            r#"{{"model":"q","messages":[{{"role":"user","content":"{words}"}}],"tools":[{tools}]}}"#
        );
        let pairs = [("user-agent", agent), ("x-session-id", "s")];
        sessions().identify(&Said::of(&headers(&pairs)), &asked(&body), "q", &[]).purpose
    };
    let words = r"Generate a title for this conversation:\n";
    assert_eq!(ask("opencode/1.18.33", words, ""), Purpose::Internal);
    assert_eq!(ask("opencode/1.18.33", words, "{}"), Purpose::Main, "its user says so");
    assert_eq!(ask("opencode/1.18.33", "Fix the title", ""), Purpose::Main);
    assert_eq!(ask("OpenAI/Python 2.20.0", words, ""), Purpose::Main, "a program's own matter");
}

/// What each recorded client's call is taken for: kind, name, agent, purpose.
#[test]
fn g04_every_recorded_client_is_known() {
    use Purpose::{Internal, Main};
    use SessionKind::{Fingerprint, Named};
    let uuid = |n: u32| format!("00000000-0000-4000-8000-{n:012}");
    let uuid7 = |n: u32| format!("00000000-0000-7000-8000-{n:012}");
    let opencode = |n: u32| format!("ses_anon{n:016}");
    let table = [
        ("ai-sdk.anthropic.json", Fingerprint, None, None, Main),
        ("ai-sdk.chat.json", Fingerprint, None, None, Main),
        ("ai-sdk.responses.json", Fingerprint, None, None, Main),
        ("aider.chat.main.json", Fingerprint, None, None, Main),
        ("anthropic-js.messages.json", Fingerprint, None, None, Main),
        ("anthropic-py.messages.json", Fingerprint, None, None, Main),
        ("claude-code.anthropic.count_tokens.json", Named, Some(uuid(3)), None, Main),
        (
            "claude-code.anthropic.hint-headers.json",
            Named,
            Some(uuid(4)),
            Some("abb7761d139f607ed"),
            Main,
        ),
        ("claude-code.anthropic.main.json", Named, Some(uuid(1)), None, Main),
        (
            "claude-code.anthropic.subagent.json",
            Named,
            Some(uuid(2)),
            Some("a9f4285e3f2f00ba5"),
            Main,
        ),
        ("claude-code.anthropic.title.json", Named, Some(uuid(3)), None, Internal),
        ("codex.responses.main.json", Named, Some(uuid7(6)), None, Main),
        ("langchain-js.chat.json", Fingerprint, None, None, Main),
        ("openai-js.chat.json", Fingerprint, None, None, Main),
        ("openai-py.chat.json", Fingerprint, None, None, Main),
        ("openai-py.responses.json", Fingerprint, None, None, Main),
        ("opencode.anthropic.main.json", Named, Some(opencode(28)), None, Main),
        // Before the main call of its session: opencode asks in this order.
        ("opencode.chat.title.json", Named, Some(opencode(27)), None, Internal),
        ("opencode.chat.main.json", Named, Some(opencode(27)), None, Main),
        ("pi.chat.main.json", Fingerprint, None, None, Main),
        ("pi.chat.compaction.json", Fingerprint, None, None, Main),
        ("pi.responses.main.json", Named, Some(uuid7(30)), None, Main),
        ("qwen-code.chat.main.json", Fingerprint, None, None, Main),
    ];
    let sessions = sessions();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../dialect/tests/fixtures");
    for (file, kind, session, agent, purpose) in &table {
        let text = std::fs::read_to_string(format!("{folder}/{file}")).expect("a fixture");
        let fixture: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let dialect = match fixture["path"].as_str().expect("a path") {
            path if path.contains("messages") => Dialect::AnthropicMessages,
            path if path.contains("responses") => Dialect::OpenAiResponses,
            _ => Dialect::OpenAiChat,
        };
        let pairs: Vec<(&str, &str)> = fixture["headers"]
            .as_array()
            .expect("headers")
            .iter()
            .map(|pair| (pair[0].as_str().expect("a name"), pair[1].as_str().expect("a value")))
            .collect();
        let request = asked_in(dialect, &fixture["body"].to_string());
        let identity = sessions.identify(&Said::of(&headers(&pairs)), &request, "q", &[]);
        assert_eq!(identity.session.kind, *kind, "{file}");
        if let Some(session) = session {
            assert!(identity.session.key.ends_with(&format!(".{session}")), "{file}: {identity:?}");
        }
        assert_eq!(identity.session.agent.as_deref(), *agent, "{file}");
        assert_eq!(identity.purpose, *purpose, "{file}");
    }
    let files = std::fs::read_dir(folder).expect("the folder").count();
    // Gemini's dialect is not one that we are asked in.
    assert_eq!(files, table.len() + 1, "a new fixture wants a row");
}
