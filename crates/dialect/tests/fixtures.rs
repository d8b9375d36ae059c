//! Requests captured from real clients: each is read, and goes out unharmed.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test stops at the first surprise")]

use bytes::Bytes;
use ekiden_dialect::request::{self, Thinking};
use ekiden_dialect::splice::{Append, Edits, ThinkingBlocks, ThinkingMode, splice};
use ekiden_dialect::{Dialect, request::Request};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

#[derive(Deserialize)]
struct Fixture {
    path: String,
    body: Box<RawValue>,
}

fn fixtures() -> Vec<(String, Dialect, Request)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures");
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        let fixture: Fixture = serde_json::from_str(&text).unwrap();
        let dialect = match fixture.path.split('?').next().unwrap() {
            "/v1/chat/completions" => Dialect::OpenAiChat,
            "/v1/responses" => Dialect::OpenAiResponses,
            "/v1/messages" | "/v1/messages/count_tokens" => Dialect::AnthropicMessages,
            _ => continue,
        };
        let body = Bytes::copy_from_slice(fixture.body.get().as_bytes());
        let request = request::read(dialect, &body).unwrap_or_else(|e| panic!("{name}: {e}"));
        found.push((name, dialect, request));
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found
}

fn one(name: &str) -> Request {
    fixtures().into_iter().find(|(found, ..)| found == name).unwrap().2
}

fn value(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap()
}

#[test]
fn every_client_is_read() {
    let seen: Vec<String> = fixtures()
        .iter()
        .map(|(name, _, request)| {
            let facts = request.facts();
            let mut marks = vec![format!("{} turns", facts.turns)];
            let flags = [
                (facts.stream, "stream"),
                (facts.include_usage, "usage"),
                (facts.under_way, "under way"),
                (facts.tools > 0, "tools"),
                (facts.title_only, "title"),
            ];
            marks.extend(flags.iter().filter(|(on, _)| *on).map(|(_, mark)| (*mark).to_owned()));
            marks.extend(facts.max_tokens.map(|tokens| format!("max {tokens}")));
            marks.extend(facts.effort.as_ref().map(|effort| format!("effort {effort}")));
            format!("{name}: {}", marks.join(", "))
        })
        .collect();
    let want = "\
ai-sdk.anthropic: 1 turns, stream, max 4096
ai-sdk.chat: 1 turns, stream
ai-sdk.responses: 1 turns, stream
aider.chat.main: 8 turns, stream, under way
anthropic-js.messages: 1 turns, stream, max 100
anthropic-py.messages: 1 turns, stream, max 100
claude-code.anthropic.count_tokens: 1 turns
claude-code.anthropic.hint-headers: 2 turns, stream, tools, max 32000, effort high
claude-code.anthropic.main: 4 turns, stream, under way, tools, max 32000, effort high
claude-code.anthropic.subagent: 2 turns, stream, tools, max 32000, effort high
claude-code.anthropic.title: 1 turns, stream, title, max 32000, effort high
codex.responses.main: 7 turns, stream, under way, tools
langchain-js.chat: 1 turns, stream, usage
openai-js.chat: 1 turns, stream
openai-py.chat: 1 turns, stream
openai-py.responses: 1 turns, stream
opencode.anthropic.main: 3 turns, stream, under way, tools, max 8000
opencode.chat.main: 4 turns, stream, usage, under way, tools, max 8000
opencode.chat.title: 3 turns, stream, usage, max 32000
pi.chat.compaction: 2 turns, stream, usage, max 13107, effort medium
pi.chat.main: 4 turns, stream, usage, under way, tools, max 8000, effort medium
pi.responses.main: 5 turns, stream, under way, tools, max 8000, effort medium
qwen-code.chat.main: 4 turns, stream, usage, under way, tools, max 32000";
    assert_eq!(seen.join("\n"), want);
}

#[test]
fn g4_session_ids_are_found() {
    let claude = one("claude-code.anthropic.main");
    let session = claude.facts().ids.metadata_session_id.as_deref();
    assert_eq!(session, Some("00000000-0000-4000-8000-000000000001"));
    let codex = one("codex.responses.main");
    let session = Some("00000000-0000-7000-8000-000000000006");
    assert_eq!(codex.facts().ids.client_session_id.as_deref(), session);
    assert_eq!(codex.facts().ids.prompt_cache_key.as_deref(), session);
    assert_eq!(one("qwen-code.chat.main").facts().ids, request::Ids::default());
}

#[test]
fn g4_the_user_s_own_words_are_found_behind_the_client_s() {
    for name in ["claude-code.anthropic.main", "qwen-code.chat.main", "pi.chat.main"] {
        assert_eq!(one(name).root().user.as_deref(), Some("run echo"), "{name}");
    }
    let claude = one("claude-code.anthropic.main");
    assert!(claude.root().system.as_deref().unwrap().starts_with("You are a Claude agent"));
    assert_eq!(claude.facts().thinking, Thinking::Adaptive);
}

#[test]
fn g1_every_client_s_body_goes_out_unharmed() {
    for (name, _, request) in fixtures() {
        let edits = Edits { model: Some("upstream/model-1"), ..Edits::default() };
        let out = splice(&request, &edits).to_bytes();
        let before = std::str::from_utf8(request.body()).unwrap();
        let asked = format!("\"model\": \"{}\"", request.facts().model);
        assert_eq!(before.matches(&asked).count(), 1, "{name}");
        let want = before.replace(&asked, "\"model\": \"upstream/model-1\"");
        assert_eq!(std::str::from_utf8(&out).unwrap(), want, "{name}");
        assert_eq!(splice(&request, &Edits::default()).to_bytes(), request.body(), "{name}");
    }
}

#[test]
fn r9_continuing_leaves_every_client_s_turns_as_they_were() {
    for (name, dialect, request) in fixtures() {
        let append = Some(Append { times: 3, text: "继续" });
        let out = value(&splice(&request, &Edits { append, ..Edits::default() }).to_bytes());
        let list = if dialect == Dialect::OpenAiResponses { "input" } else { "messages" };
        let turns = out[list].as_array().unwrap();
        assert_eq!(turns.len(), request.facts().turns + 3, "{name}");
        if let Some(before) = value(request.body())[list].as_array() {
            assert_eq!(&turns[..before.len()], before.as_slice(), "{name}");
        }
    }
}

#[test]
fn g6_claude_code_s_body_fits_a_compatible_provider() {
    let edits = Edits {
        model: Some("glm"),
        max_tokens_cap: Some(8192),
        drop_members: &["context_management", "output_config", "metadata"],
        thinking_blocks: ThinkingBlocks::Strip,
        thinking: ThinkingMode::AdaptiveAsBudget(4096),
        system_turns_as_user: true,
        ..Edits::default()
    };
    let out = value(&splice(&one("claude-code.anthropic.main"), &edits).to_bytes());
    let names: Vec<_> = out.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(names, ["max_tokens", "messages", "model", "stream", "system", "thinking", "tools"]);
    assert_eq!(out["max_tokens"], 8192);
    assert_eq!(out["messages"][1]["role"], "user");
    assert_eq!(out["messages"][2]["content"].as_array().unwrap().len(), 1);
    assert_eq!(out["messages"][2]["content"][0]["type"], "tool_use");
}
