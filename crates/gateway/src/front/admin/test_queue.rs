//! Asking every candidate of a queue straight (R39).
//!
//! It refuses to keep what came of it: only who asked learns it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ekiden_config::Language;
use schemars::JsonSchema;
use serde::Serialize;

use crate::front::Front;
use crate::plan::QueueRuntime;
use crate::relay::ToldStraight;

use super::shape::ClassName;

/// What became of the questions, in the queue's order.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "QueueTested")]
pub(in crate::front) struct Tested {
    queue: Arc<str>,
    candidates: Vec<CandidateTested>,
}

/// What became of one question.
#[derive(Serialize, JsonSchema)]
struct CandidateTested {
    route: Arc<str>,
    /// Whether it answered; a truncated answer is one.
    ok: bool,
    took_ms: u64,
    /// What went wrong.
    class: Option<ClassName>,
    status: Option<u16>,
    /// Its machine code.
    code: Option<String>,
    /// Its words, at most 400 characters, with keys masked; ours, in the asker's language, where it
    /// said nothing.
    message: Option<String>,
}

impl Front {
    pub(super) async fn test_queue(&self, queue: &QueueRuntime, language: Language) -> Tested {
        let next = AtomicUsize::new(0);
        // Dropping the answer drops the questions with it.
        let (mut told, b, c, d) = tokio::join!(
            self.ask_some(queue, language, &next),
            self.ask_some(queue, language, &next),
            self.ask_some(queue, language, &next),
            self.ask_some(queue, language, &next),
        );
        told.extend(b.into_iter().chain(c).chain(d));
        told.sort_by_key(|(at, _)| *at);
        let shown = told.into_iter().filter_map(|(at, told)| {
            Some(CandidateTested::of(Arc::clone(&queue.candidates.get(at)?.route), told))
        });
        Tested { queue: Arc::clone(&queue.id), candidates: shown.collect() }
    }

    /// Asks one candidate after the other, as long as there is one that nobody has asked.
    async fn ask_some(
        &self,
        queue: &QueueRuntime,
        language: Language,
        next: &AtomicUsize,
    ) -> Vec<(usize, ToldStraight)> {
        let mut told = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(candidate) = queue.candidates.get(at) else { return told };
            told.push((at, self.core.ask_straight(candidate, language).await));
        }
    }
}

impl CandidateTested {
    fn of(route: Arc<str>, told: ToldStraight) -> Self {
        let ToldStraight { class, status, code, message, took_ms } = told;
        let ok = class.is_none();
        Self { route, ok, took_ms, class: class.map(ClassName), status, code, message }
    }
}
