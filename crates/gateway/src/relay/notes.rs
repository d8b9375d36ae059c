//! What a call remembers of its attempts: for its last word, for the ledger and for the journal.
//!
//! It refuses to keep an answer: of a failed attempt the error alone, bounded.

use std::cell::Cell;
use std::sync::Arc;

use bytes::Bytes;
use ekiden_classify::Sizes;
use ekiden_dialect::request::TEXT_BYTES_PER_TOKEN;
use ekiden_dialect::stream::{Answer, Usage};
use ekiden_engine::{AttemptId, Class, Now, SessionId, Verdict};
use ekiden_store::{AttemptRow, AttemptState, CallName, Cost, Evidence, Place, Tokens};
use http::HeaderMap;

use crate::calls::PastAttempt;
use crate::core::spending::cost;
use crate::core::{Ended, Witness};
use crate::evidence::Judged;
use crate::plan::QueueRuntime;

/// All attempts of one call.
#[derive(Debug)]
pub(crate) struct Notes {
    pub(crate) call: CallName,
    pub(crate) session: Arc<str>,
    session_id: SessionId,
    pub(crate) queue: Arc<QueueRuntime>,
    /// Credentials of the client, which an upstream may repeat.
    pub(crate) secrets: Vec<String>,
    pub(crate) input_tokens: u64,
    /// The id of the client's token, if it showed one.
    pub(crate) token: Option<Arc<str>>,
    attempts: Vec<Note>,
}

/// One attempt.
#[derive(Debug)]
pub(crate) struct Note {
    pub(crate) attempt: AttemptId,
    pub(crate) candidate: usize,
    pub(crate) began: Now,
    /// Whether a connection stood, so that something may have been billed.
    pub(crate) sent: bool,
    pub(crate) status: Option<u16>,
    /// Set when the engine has spoken, which is while the notes are read.
    end: Cell<Option<End>>,
    /// What the candidate said, if it answered with an error.
    pub(crate) error: Option<Heard>,
    pub(crate) evidence: Evidence,
    pub(crate) sizes: Sizes,
    /// What upstream has told of tokens and cost so far.
    usage: Usage,
    /// The output so far.
    output: Tokens,
    pub(crate) outcome: Outcome,
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug)]
struct End {
    at: Now,
    class: Option<Class>,
}

/// How far an attempt came with the client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    /// Nothing of it was let through.
    Held,
    /// Some of it was.
    Shown,
    /// All of it was.
    Delivered,
}

/// How far an answer has come with us.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Far {
    /// More may come.
    Open,
    /// It has said that it is over.
    Over,
}

/// An error as it came.
#[derive(Clone, Debug)]
pub(crate) struct Heard {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Notes {
    pub(crate) fn new(
        call: CallName,
        (session_id, session): (SessionId, Arc<str>),
        queue: Arc<QueueRuntime>,
        secrets: Vec<String>,
        input_tokens: u64,
        token: Option<Arc<str>>,
    ) -> Self {
        let attempts = Vec::new();
        Self { call, session, session_id, queue, secrets, input_tokens, token, attempts }
    }

    pub(crate) fn begin(&mut self, attempt: AttemptId, candidate: usize, now: Now) {
        // Most calls make one attempt, and what is set aside stays while its stream is open.
        self.attempts.reserve_exact(1);
        self.attempts.push(Note {
            attempt,
            candidate,
            began: now,
            sent: false,
            status: None,
            end: Cell::new(None),
            error: None,
            evidence: Evidence::default(),
            sizes: Sizes::default(),
            usage: Usage::default(),
            output: Tokens::Unknown,
            outcome: Outcome::Held,
        });
    }

    pub(crate) fn get(&self, attempt: AttemptId) -> Option<&Note> {
        self.attempts.iter().rev().find(|note| note.attempt == attempt)
    }

    pub(crate) fn note(&mut self, attempt: AttemptId) -> Option<&mut Note> {
        self.attempts.iter_mut().rev().find(|note| note.attempt == attempt)
    }

    pub(crate) fn all(&self) -> &[Note] {
        &self.attempts
    }

    /// The attempt failed like this.
    pub(crate) fn failed(&mut self, attempt: AttemptId, judged: &Judged) {
        let Some(at) = self.attempts.iter().rposition(|note| note.attempt == attempt) else {
            return;
        };
        // Of the whole queue: one proxy may stand before several providers.
        let providers = self.queue.candidates.iter().map(|candidate| &candidate.provider);
        let mut known: Vec<&str> = self.secrets.iter().map(String::as_str).collect();
        known.extend(providers.flat_map(|provider| provider.secrets()));
        let note = &mut self.attempts[at];
        note.sizes = judged.sizes;
        note.evidence = Evidence::kept(
            judged.failure.class,
            note.status,
            judged.code.as_deref(),
            judged.param.as_deref(),
            &judged.message,
            &known,
        );
    }

    /// The public id of a candidate's route.
    pub(crate) fn route(&self, candidate: usize) -> Arc<str> {
        let found = self.queue.candidates.get(candidate);
        found.map_or_else(|| "?".into(), |candidate| Arc::clone(&candidate.route))
    }

    pub(crate) fn begun_row(&self, attempt: AttemptId) -> Option<AttemptRow> {
        let note = self.get(attempt)?;
        Some(AttemptRow { wasted: false, ..self.row_of(note, AttemptState::Sent) })
    }

    /// The attempts as the ring of past calls keeps them.
    pub(crate) fn past(&self, now: Now) -> Vec<PastAttempt> {
        let past = |note: &Note| PastAttempt {
            attempt: note.attempt,
            route: self.route(note.candidate),
            began: note.began,
            took_ms: took_ms(note, now),
            class: note.class(),
            evidence: note.evidence.clone(),
        };
        self.attempts.iter().map(past).collect()
    }

    fn row_of(&self, note: &Note, state: AttemptState) -> AttemptRow {
        let input = match (note.usage.input, note.sent || state == AttemptState::Sent) {
            (Some(tokens), _) => Tokens::Reported(tokens),
            (None, true) => Tokens::Estimated(self.input_tokens),
            (None, false) => Tokens::Unknown,
        };
        let output = note.output;
        let caches = (note.usage.cached, note.usage.cache_written);
        // A refusal is not billed, and before the end nobody knows. Of an attempt that nothing was wrong
        // with, since its client left or it was stopped, the input is.
        let came = match state {
            AttemptState::Complete => true,
            AttemptState::Unknown => {
                output != Tokens::Unknown
                    || note.sent && matches!(note.class(), None | Some(Class::Aborted))
            }
            AttemptState::Sent => false,
        };
        let candidate = self.queue.candidates.get(note.candidate).filter(|_| came);
        AttemptRow {
            call: Arc::clone(&self.call),
            attempt: note.attempt.0,
            place: Place {
                session: Arc::clone(&self.session),
                queue: Arc::clone(&self.queue.id),
                route: self.route(note.candidate),
            },
            began_ms: note.began.wall_ms,
            took_ms: took_ms(note, note.began),
            state,
            class: note.class(),
            status: note.status,
            input,
            output,
            cached: caches.0,
            cache_written: caches.1,
            cost: note
                .usage
                .cost_nano_usd
                .map(Cost::reported_usd)
                .or_else(|| candidate.and_then(|candidate| cost(candidate, input, output, caches))),
            token: self.token.clone(),
            wasted: note.outcome == Outcome::Held,
        }
    }
}

impl Witness for Notes {
    fn session(&self) -> SessionId {
        self.session_id
    }

    fn evidence(&self, attempt: AttemptId) -> Evidence {
        let said = |note: &Note| Evidence {
            // An answer that was cut or empty has a status and no words.
            status: note.evidence.status.or(note.status),
            ..note.evidence.clone()
        };
        self.get(attempt).map(said).unwrap_or_default()
    }

    fn row(&self, ended: &Ended) -> Option<AttemptRow> {
        let note = self.get(ended.attempt)?;
        note.end.set(Some(End { at: ended.at, class: ended.class }));
        let state = match ended.verdict {
            Verdict::Whole | Verdict::Truncated => AttemptState::Complete,
            Verdict::Spared if note.outcome == Outcome::Delivered => AttemptState::Complete,
            Verdict::Spared
            | Verdict::Cooled { .. }
            | Verdict::Struck { .. }
            | Verdict::Quarantined { .. } => AttemptState::Unknown,
        };
        // Budgets count what the ledger keeps.
        Some(self.row_of(note, state).bounded())
    }

    fn last_class(&self) -> Option<Class> {
        // The newest note is that of the attempt that failed: the next one is not begun yet.
        self.attempts.last().and_then(Note::class)
    }
}

impl Note {
    /// What its answer has said so far. Output is reported where the answer is over and its tokens were
    /// told; else it is estimated from what was written, and no less than was told on the way: an answer
    /// that broke off, or whose client left, is counted as far as it came.
    pub(crate) fn hear(&mut self, answer: &Answer, far: Far) {
        self.usage = answer.usage;
        let written = answer.written.div_ceil(TEXT_BYTES_PER_TOKEN);
        self.output = match (answer.usage.output, far) {
            // No tokens for what was written are no count.
            (Some(tokens), Far::Over) if tokens > 0 || written == 0 => Tokens::Reported(tokens),
            (_, Far::Over | Far::Open) if written == 0 => Tokens::Unknown,
            (told, Far::Over | Far::Open) => Tokens::Estimated(written.max(told.unwrap_or(0))),
        };
    }

    /// What went wrong, once that is known.
    pub(crate) fn class(&self) -> Option<Class> {
        self.end.get().and_then(|end| end.class)
    }
}

fn took_ms(note: &Note, now: Now) -> u64 {
    note.end.get().map_or(now, |end| end.at).mono_ms.saturating_sub(note.began.mono_ms)
}
