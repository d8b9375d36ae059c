//! Whose conversation a call belongs to, and whether a user waits for it (G4, R47).
//!
//! It refuses to keep anything of a conversation: names are kept as they came or as a digest, and
//! what is remembered of a session is one bit and a bound.

mod recent;

use std::sync::{Mutex, MutexGuard, PoisonError};

use sha2::{Digest, Sha256};

use ekiden_config::SessionField;
use ekiden_dialect::request::{Facts, Request, Root};
use ekiden_engine::Purpose;

use crate::front::client::Said;
use crate::inbound::{SessionKey, SessionKind};
use crate::tokens::hex;

use recent::Recent;

/// The header that names a session whatever the client is.
pub(crate) const SESSION_HEADER: &str = "x-ekiden-session";

/// Longer names, and such as cannot be shown, are kept as a digest. In bytes.
const NAME_MAX: usize = 128;

/// How opencode's request for a title begins.
const TITLE_WORDS: &str = "Generate a title for this conversation";

/// Whose call it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Identity {
    pub(crate) session: SessionKey,
    pub(crate) purpose: Purpose,
}

/// What has to be remembered between calls to name sessions.
#[derive(Debug)]
pub(crate) struct Sessions(Mutex<Memory>);

#[derive(Debug)]
struct Memory {
    /// Child session to its root (opencode).
    roots: Recent<String, String>,
    /// Sessions, with their agents, that have offered tools.
    with_tools: Recent<String, ()>,
    /// Request ids seen once: one that comes again names a session.
    request_ids: Recent<String, ()>,
}

impl Sessions {
    /// Remembers at most `most` of each.
    pub(crate) fn new(most: usize) -> Self {
        Self(Mutex::new(Memory {
            roots: Recent::new(most),
            with_tools: Recent::new(most),
            request_ids: Recent::new(most),
        }))
    }

    /// Names the session of a call to the queue of that id.
    pub(crate) fn identify(
        &self,
        said: &Said<'_>,
        request: &Request,
        queue: &str,
        fields: &[SessionField],
    ) -> Identity {
        let facts = request.facts();
        let client = client_digest(said);
        let mut memory = self.lock();
        let (kind, name, agent) = match memory.named(&client, said, facts, fields) {
            Some(Named { name, agent }) => (SessionKind::Named, name, agent),
            None => match fingerprint(said, request, queue) {
                Some(name) => (SessionKind::Fingerprint, name, None),
                None => (SessionKind::Background, String::new(), None),
            },
        };
        let agent = agent_of(said).or(agent);
        let key = match kind {
            SessionKind::Named | SessionKind::Fingerprint => [&*client, ".", &name].concat(),
            SessionKind::Background => String::new(),
        };
        let session = SessionKey { key, kind, agent };
        let purpose = memory.purpose(&session, said, request);
        Identity { session, purpose }
    }

    fn lock(&self) -> MutexGuard<'_, Memory> {
        // Each change is one insertion; a panic leaves nothing half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Named {
    name: String,
    /// The child that asks, where its root is another session.
    agent: Option<String>,
}

impl Named {
    const fn root(name: String) -> Self {
        Self { name, agent: None }
    }
}

impl Memory {
    /// The first name that is there, in the order that was measured to be right.
    fn named(
        &mut self,
        client: &str,
        said: &Said<'_>,
        facts: &Facts,
        fields: &[SessionField],
    ) -> Option<Named> {
        let header = |name: &str| said.text(name).and_then(clean);
        let body = |name: &Option<String>| name.as_deref().and_then(clean);
        let ids = &facts.ids;
        let first = header(SESSION_HEADER)
            .or_else(|| header("x-claude-code-session-id"))
            .or_else(|| header("x-deepseek-harness-session-id"))
            .or_else(|| body(&ids.metadata_session_id))
            .or_else(|| body(&ids.metadata_user_id))
            .or_else(|| header("session-id"))
            .or_else(|| header("session_id"))
            .or_else(|| body(&ids.client_session_id));
        if let Some(name) = first {
            return Some(Named::root(name));
        }
        if let Some(own) = header("x-session-id").or_else(|| header("x-session-affinity")) {
            return Some(self.rooted(client, own, header("x-parent-session-id")));
        }
        body(&ids.prompt_cache_key)
            .or_else(|| self.request_id(client, said))
            .or_else(|| {
                fields.iter().find_map(|field| match field {
                    SessionField::User => body(&ids.user),
                    SessionField::SafetyIdentifier => body(&ids.safety_identifier),
                })
            })
            .map(Named::root)
    }

    /// A child's calls belong to its root, also when a later one leaves its parent out.
    fn rooted(&mut self, client: &str, own: String, parent: Option<String>) -> Named {
        let place = |name: &str| format!("{client}.{name}");
        if let Some(parent) = parent.filter(|parent| *parent != own) {
            let root = self.roots.find(&place(&parent)).cloned().unwrap_or(parent);
            // Parents that name each other have no root; the first one said stays.
            if root != own {
                self.roots.keep(place(&own), root.clone());
                return Named { name: root, agent: Some(own) };
            }
        }
        match self.roots.find(&place(&own)).cloned() {
            Some(root) => Named { name: root, agent: Some(own) },
            None => Named::root(own),
        }
    }

    /// Codex names its thread with it; other programs send a fresh one with each call.
    fn request_id(&mut self, client: &str, said: &Said<'_>) -> Option<String> {
        let id = said.text("x-client-request-id").and_then(clean)?;
        if said.product().to_ascii_lowercase().starts_with("codex") {
            return Some(id);
        }
        let seen = !self.request_ids.keep(format!("{client}.{id}"), ());
        seen.then_some(id)
    }

    /// R47: the side-call test. Nobody waits for a title, a summary or a memory.
    fn purpose(&mut self, session: &SessionKey, said: &Said<'_>, request: &Request) -> Purpose {
        let facts = request.facts();
        let class = said.text("x-claude-code-request-class").map(str::trim);
        let mut side = facts.title_only
            || asks_for_title_in_words(said, request)
            || class.is_some_and(|class| !matches!(class, "" | "main" | "subagent"))
            || said.text("x-deepseek-harness-compact").is_some()
            || turn_kind(said).is_some_and(|kind| kind != "turn");
        // Everybody without a session shares the bucket: what one offered says nothing of another.
        if session.kind != SessionKind::Background {
            let agent = session.agent.as_deref().unwrap_or_default();
            let place = [&*session.key, "\n", agent].concat();
            if facts.tools > 0 {
                self.with_tools.keep(place, ());
            } else {
                side |= self.with_tools.find(&place).is_some();
            }
        }
        if side { Purpose::Internal } else { Purpose::Main }
    }
}

fn agent_of(said: &Said<'_>) -> Option<String> {
    let header = |name: &str| said.text(name).and_then(clean);
    header("x-claude-code-agent-id")
        .or_else(|| {
            header("thread-id")
                .filter(|thread| header("session-id").is_some_and(|session| session != *thread))
        })
        .or_else(|| header("x-openai-subagent"))
}

/// opencode asks for the title before the session's first turn, when no tools were seen yet, and
/// without a schema: its words are all that tells (measured with 1.18.33).
fn asks_for_title_in_words(said: &Said<'_>, request: &Request) -> bool {
    request.facts().tools == 0
        && said.product().eq_ignore_ascii_case("opencode")
        && request.root().user.is_some_and(|user| user.trim_start().starts_with(TITLE_WORDS))
}

/// `request_kind` of Codex's turn metadata, which is JSON in a header.
fn turn_kind(said: &Said<'_>) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Turn {
        request_kind: Option<String>,
    }
    let turn = said.text("x-codex-turn-metadata")?;
    serde_json::from_str::<Turn>(turn).ok()?.request_kind
}

/// A conversation without a name, by how it began. It changes after a compaction, and what comes
/// then inherits nothing.
fn fingerprint(said: &Said<'_>, request: &Request, queue: &str) -> Option<String> {
    let Root { system, user, .. } = request.root();
    let (system, user) = (system.unwrap_or_default(), user?);
    Some(format!("root-{}", digest(&[said.product(), queue, &system, &user], 16)))
}

/// What a client's key adds to its sessions' names, so that two clients never share one.
fn client_digest(said: &Said<'_>) -> String {
    let bearer = said
        .text("authorization")
        .map(|value| value.split_once(' ').map_or(value, |(_, token)| token));
    match bearer.or_else(|| said.text("x-api-key")).map(str::trim) {
        Some(key) if !key.is_empty() => digest(&[key], 5),
        Some(_) | None => "open".to_owned(),
    }
}

fn clean(name: &str) -> Option<String> {
    let name = name.trim();
    if name.is_empty() {
        return None;
    }
    let shown = name.len() <= NAME_MAX && name.bytes().all(|byte| byte.is_ascii_graphic());
    Some(if shown { name.to_owned() } else { format!("id-{}", digest(&[name], 16)) })
}

/// The first `bytes` of the SHA-256 of the parts, each after its length, in hexadecimal.
fn digest(parts: &[&str], bytes: usize) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    }
    hex(&hash.finalize()[..bytes])
}

#[cfg(test)]
mod tests;
