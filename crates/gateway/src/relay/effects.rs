//! What the engine says, carried out.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use ekiden_engine::trace::Record as TraceRecord;
use ekiden_engine::{
    AttemptId, AttemptInput, Class, Clock, Effect, Failure, LastWord, Repair, Start, Why,
};
use ekiden_store::{Ending, Record, What};
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue};

use crate::front::Asker;
use crate::inbound::ToldBy;
use crate::relay::attempt::{Running, Streamed};
use crate::relay::driver::Driver;
use crate::relay::last_word::{Last, last};
use crate::relay::notes::Outcome;
use crate::relay::outbound::{self, Terms};
use crate::relay::start::{Named, name};
use crate::upstream::answer_headers;

/// A mark before JSON that its readers need not accept (RFC 8259).
const BOM: &[u8] = b"\xef\xbb\xbf";

impl Driver {
    pub(crate) fn carry_out(&mut self, effect: Effect) {
        match effect {
            Effect::Start(start) => self.begin(start),
            Effect::Resend(id) => self.resend(id),
            Effect::Commit(id) => self.commit(id),
            Effect::Deliver(id) => self.deliver(id),
            Effect::Discard(id) => {
                self.client.discard();
                self.whole = None;
                self.stop(id);
            }
            Effect::Cancel(id) => {
                self.note_stall();
                self.stop(id);
            }
            Effect::Refuse(word) => self.refuse(word),
        }
    }

    fn begin(&mut self, start: Start) {
        let index = start.candidate as usize;
        let queue = Arc::clone(&self.notes.queue);
        let now = self.core.clock.now();
        self.notes.begin(start.attempt, index, now);
        self.patience_ms = None;
        let _ = self.signatures.take();
        let Some(candidate) = queue.candidates.get(index) else {
            return self.never_sent(start.attempt);
        };
        let session = self.call.spec().session;
        let own = self.core.issuers.own(session, &candidate.provider.settings.vendor);
        let mend = self.mends.iter().find(|(of, _)| *of == index).map(|(_, mend)| mend);
        let mend = mend.filter(|_| start.repair);
        let terms = Terms { continues: start.continues, mend, own: &own };
        let body = outbound::body(&self.inbound, candidate, &terms);
        if let Some(mend) = mend {
            self.core.counters.repaired.fetch_add(1, Ordering::Relaxed);
            let param = mend.named.clone();
            self.journal(What::Repaired { route: Arc::clone(&candidate.route), param });
        }
        if start.continues > 0 {
            let route = Arc::clone(&candidate.route);
            self.journal(What::Continued { route, times: start.continues });
        }
        let Some(request) = outbound::request(&self.inbound, candidate, &body) else {
            return self.never_sent(start.attempt);
        };
        let sending = candidate.provider.lane.send(request);
        let facts = self.inbound.request.facts();
        let streamed = if facts.stream { Streamed::Yes } else { Streamed::No };
        let reads = (candidate.provider.dialect, facts.choices);
        self.note_heard();
        self.running = Some(Running::start(
            start.attempt,
            index,
            (body, start.continues),
            sending,
            streamed,
            reads,
        ));
        self.core
            .write(self.notes.begun_row(start.attempt).map(Record::Attempt).into_iter().collect());
    }

    fn never_sent(&mut self, id: AttemptId) {
        let failure = Failure::upstream(Class::NotFound);
        let failed = AttemptInput::Failed { failure, repair: Repair::Impossible };
        self.call.handle(self.core.clock.now(), ekiden_engine::Input::Attempt(id, failed));
    }

    /// R48: once more on a connection that nobody has used.
    fn resend(&mut self, id: AttemptId) {
        self.core.counters.resent.fetch_add(1, Ordering::Relaxed);
        let Some(running) = self.running.as_mut().filter(|running| running.id == id) else {
            return;
        };
        let Some(candidate) = self.notes.queue.candidates.get(running.candidate) else { return };
        if let Some(request) = outbound::request(&self.inbound, candidate, &running.sent) {
            running.resend(candidate.provider.lane.send_fresh(request));
        }
        if let Some(note) = self.notes.note(id) {
            note.sent = false;
        }
    }

    fn commit(&mut self, id: AttemptId) {
        let Some(note) = self.notes.note(id) else { return };
        note.outcome = Outcome::Shown;
        let index = note.candidate;
        self.served = Some(index);
        if !self.inbound.request.facts().stream {
            return;
        }
        let headers = self.answer_headers(index);
        self.client.begin_stream(headers);
        self.client.commit();
    }

    fn deliver(&mut self, id: AttemptId) {
        let Some(note) = self.notes.note(id) else { return };
        note.outcome = Outcome::Delivered;
        let index = note.candidate;
        self.ending = if self.truncated { Ending::Truncated } else { Ending::Whole };
        self.remember_issuer(index);
        match self.whole.take() {
            None => self.client.finish(),
            Some((status, body)) => {
                let mut headers = self.answer_headers(index);
                as_json(&mut headers);
                let bare = body.strip_prefix(BOM).map(|bare| body.slice_ref(bare));
                self.client.answer(status, headers, bare.unwrap_or(body));
            }
        }
    }

    /// G6: what this answer is signed with goes back to its maker alone.
    fn remember_issuer(&mut self, index: usize) {
        let signatures = self.signatures.take();
        let Some(candidate) = self.notes.queue.candidates.get(index) else { return };
        let vendor: Arc<str> = candidate.provider.settings.vendor.as_str().into();
        let session = self.call.spec().session;
        for signature in signatures {
            self.core.issuers.made(session, &signature, &vendor);
        }
        if !self.is_internal() {
            self.core.issuers.served(session, &vendor);
        }
    }

    /// A candidate was silent for too long. A whole answer that has used up its share of the time
    /// was not, and neither was one that its client left, that a person stopped, or that ran into
    /// the call's deadline.
    fn note_stall(&self) {
        if let (Why::Clock(clock), Some(running)) = (self.why, &self.running)
            && clock != Clock::Share
            && !(self.left || self.stopped || self.is_out_of_time())
        {
            let route = self.notes.route(running.candidate);
            self.journal(What::Stalled { route, clock });
        }
    }

    /// Whether the call's deadline has passed, which counts from its first admission.
    fn is_out_of_time(&self) -> bool {
        let Some(deadline_ms) = self.call.spec().deadline_ms else { return false };
        let began = self.call.trace().records.iter().find_map(|record| match record {
            TraceRecord::Admitted { now, .. } => Some(*now),
            TraceRecord::Fed { .. } => None,
        });
        let now = self.core.clock.now();
        began.is_some_and(|began| now.mono_ms >= began.mono_ms.saturating_add(deadline_ms))
    }

    fn stop(&mut self, id: AttemptId) {
        if self.running.as_ref().is_some_and(|running| running.id == id) {
            self.note_heard();
            self.running = None;
            self.patience_ms = None;
        }
    }

    fn refuse(&mut self, word: LastWord) {
        self.note_heard();
        self.running = None;
        let broken = matches!(word, LastWord::Broken(..));
        // To the engine an answer of which some was shown breaks off, whoever ended it.
        let word = if self.stopped { LastWord::Stopped } else { word };
        let asker = Asker { dialect: self.inbound.dialect, language: self.inbound.client.language };
        let Last { status, mut headers, body, event, told } =
            last(asker, word, &self.notes, &self.call.trace());
        self.told = Some(told);
        self.ending = match (self.stopped, broken) {
            (true, _) => Ending::Stopped,
            (false, true) => Ending::Broken,
            (false, false) => Ending::Refused,
        };
        if broken && let Some(served) = self.served {
            self.remember_issuer(served);
        }
        let (session, queue) = (Arc::clone(&self.notes.session), Arc::clone(&self.notes.queue.id));
        self.journal(What::Refused { session, queue, told });
        if self.client.is_head_held() {
            headers.extend(self.named_headers(None));
            return self.client.answer(status, headers, body);
        }
        let cut = self.inbound.client.told_by() == ToldBy::Cut && is_worth_another_try(word);
        if cut { self.client.cut() } else { self.client.finish_with(event) }
    }

    /// Our own, and what of the candidate's goes on.
    fn answer_headers(&self, index: usize) -> HeaderMap {
        let mut headers = self.named_headers(Some(index));
        if let Some(running) = &self.running {
            answer_headers(&running.headers, &mut headers);
        }
        headers
    }

    /// G5.
    fn named_headers(&self, by: Option<usize>) -> HeaderMap {
        self.names(by, Some(self.notes.all().len()))
    }

    /// The same before it is known who will answer, and after how many attempts.
    pub(crate) fn early_headers(&self) -> HeaderMap {
        self.names(None, None)
    }

    fn names(&self, by: Option<usize>, attempts: Option<usize>) -> HeaderMap {
        let mut headers = HeaderMap::with_capacity(12);
        let by = by.and_then(|index| self.notes.queue.candidates.get(index));
        let named = Named {
            call: &self.notes.call,
            queue: &self.notes.queue.id,
            session: &self.notes.session,
            by,
            attempts,
        };
        name(&mut headers, &named);
        headers
    }
}

/// What was read as JSON is called so, whatever its upstream called it: clients go by the name.
fn as_json(headers: &mut HeaderMap) {
    let said = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = said.split(';').next().unwrap_or_default().trim();
    if !kind.eq_ignore_ascii_case("application/json") {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    }
}

/// A cut makes a coding agent ask again; where that is of no use it is told why instead.
const fn is_worth_another_try(word: LastWord) -> bool {
    match word {
        LastWord::Broken(..)
        | LastWord::ComeBack(_)
        | LastWord::LocalNetwork
        | LastWord::Deadline => true,
        LastWord::AsItCame(_)
        | LastWord::Overflow(_)
        | LastWord::DoNotRetry
        | LastWord::EmptyQueue
        | LastWord::Stopped => false,
    }
}
