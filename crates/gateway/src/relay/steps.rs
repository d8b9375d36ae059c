//! What comes from an attempt, told to the engine.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use ekiden_dialect::Dialect;
use ekiden_dialect::sse::Event;
use ekiden_dialect::stream::{self, Answer, Beat};
use ekiden_dialect::whole::Whole;
use ekiden_engine as engine;
use ekiden_engine::class::Scope;
use ekiden_engine::{
    AttemptId, AttemptInput, Class, Failure, Input, Origin, Repair, Terminal, ToolCall,
};
use ekiden_store::What;
use http::HeaderMap;

use crate::evidence::{self, Around, Judged, Loopback};
use crate::relay::attempt::{Reach, Running, Step};
use crate::relay::driver::Driver;
use crate::relay::notes::{Far, Heard};
use crate::relay::outbound::{self, Terms};
use crate::relay::repair;
use crate::upstream::{At, Fault};

/// How long the text of an error may take after its head, in milliseconds.
const ERROR_TEXT_MS: u64 = 5_000;
/// How long a stream that has given its reason for ending may take for its terminal event, in
/// milliseconds. Nobody needs that event: it is added where it does not come.
const AFTER_FINISH_MS: u64 = 250;
/// The same where the usage is due as well.
const AFTER_FINISH_BEFORE_USAGE_MS: u64 = 1_000;

impl Driver {
    pub(crate) fn step(&mut self, step: Step) {
        let Some(running) = &self.running else { return };
        let id = running.id;
        match step {
            Step::Sent => self.sent(id),
            Step::HeadOfError => {
                self.sent(id);
                self.patience_ms = Some(self.core.clock.now().mono_ms + ERROR_TEXT_MS);
            }
            Step::Head => {
                self.note_status(id, 200);
                self.sent(id);
                self.feed_attempt(id, AttemptInput::Head);
            }
            Step::Event(event, beat) => self.event(id, &event, beat),
            Step::Ended => self.ended(id, Terminal::Missing),
            Step::Whole(status, body, whole) => self.whole(id, status, body, whole),
            Step::Error { status, body } => self.error(id, status, body),
            Step::Broken { fault, network } => self.broken(id, &fault, network),
            Step::TooLarge => {
                let message = "the answer is larger than is read".to_owned();
                self.fail(id, &ours(Class::ServerError, message));
            }
        }
    }

    /// Told once: an answer may come so soon that nobody saw its request go out.
    fn sent(&mut self, id: AttemptId) {
        let Some(note) = self.notes.note(id).filter(|note| !note.sent) else { return };
        note.sent = true;
        self.feed_attempt(id, AttemptInput::Sent);
    }

    /// What was waited for is taken as it is.
    pub(crate) fn out_of_patience(&mut self) {
        let Some(running) = &mut self.running else { return };
        let id = running.id;
        match running.cut_error_short() {
            Some(step) => self.step(step),
            None if running.reader().is_complete() => self.ended(id, Terminal::Missing),
            None => {}
        }
    }

    fn event(&mut self, id: AttemptId, event: &Event, beat: Beat) {
        let now = self.core.clock.now();
        let now_ms = now.mono_ms;
        let bytes = u32::try_from(event.raw().len()).unwrap_or(u32::MAX);
        let beat = match beat {
            Beat::Wire => engine::Beat::Wire,
            Beat::Reasoning => {
                if self.inbound.dialect == Dialect::AnthropicMessages {
                    self.signatures.event(event.data().unwrap_or_default());
                }
                engine::Beat::Reasoning
            }
            Beat::Output => engine::Beat::Output,
            Beat::Terminal if self.ended_torn() => return self.torn(id),
            Beat::Terminal => {
                self.client.terminal(event);
                return self.ended(id, Terminal::Seen);
            }
            Beat::Error(data) => return self.error_event(id, data),
            Beat::Malformed(_) => return self.malformed(id),
        };
        if self.ended_torn() {
            // Not even the event that says so goes out: clients run tools once they read it.
            return self.torn(id);
        }
        self.client.event(event);
        self.feed_at(now, Input::Attempt(id, AttemptInput::Chunk { bytes, beat }));
        if let Some(ms) = self.patience_after_finish() {
            let until_ms = now_ms + ms;
            self.patience_ms = Some(self.patience_ms.map_or(until_ms, |at| at.min(until_ms)));
        }
    }

    /// How long the rest of an answer that has given its reason for ending may take.
    fn patience_after_finish(&self) -> Option<u64> {
        let running = self.running.as_ref().filter(|running| running.reader().is_complete())?;
        let seen = running.reader().answer().usage.output.is_some();
        let due = !seen && self.inbound.dialect == Dialect::OpenAiChat && self.asks_usage(running);
        Some(if due { AFTER_FINISH_BEFORE_USAGE_MS } else { AFTER_FINISH_MS })
    }

    /// Whether the client asked a Chat stream for its usage, or we did.
    fn asks_usage(&self, running: &Running) -> bool {
        let candidate = self.notes.queue.candidates.get(running.candidate);
        self.inbound.request.facts().include_usage
            || candidate.is_some_and(|candidate| candidate.provider.settings.stream_usage)
    }

    /// R13.
    fn malformed(&mut self, id: AttemptId) {
        let open = self.running.as_ref().is_some_and(|running| running.reader().tool_open());
        let tool_call = if open { ToolCall::Open } else { ToolCall::Closed };
        self.feed_attempt(id, AttemptInput::Malformed { tool_call });
        if let Some(running) = self.running.as_ref().filter(|running| running.id == id) {
            self.core.counters.chunks_skipped.fetch_add(1, Ordering::Relaxed);
            self.journal(What::ChunkSkipped { route: self.notes.route(running.candidate) });
        }
    }

    fn ended_torn(&self) -> bool {
        self.running.as_ref().is_some_and(|running| running.reader().ended_torn())
    }

    /// An end inside a tool call is none, whatever the upstream calls it (R13).
    fn torn(&mut self, id: AttemptId) {
        let message = "the answer ended inside a tool call".to_owned();
        self.fail(id, &ours(Class::ServerError, message));
    }

    fn ended(&mut self, id: AttemptId, terminal: Terminal) {
        let Some(running) = &mut self.running else { return };
        let answer = running.reader().answer().clone();
        let said = terminal == Terminal::Seen || running.reader().is_complete();
        if running.reader().ended_torn() {
            return self.torn(id);
        }
        running.end();
        self.patience_ms = None;
        self.truncated = answer.finish == Some(stream::Finish::Truncated);
        let finish = answer.finish.filter(|_| said).map(finish);
        let output_tokens = tokens(&answer);
        self.feed_attempt(id, AttemptInput::End { finish, terminal, output_tokens });
    }

    fn whole(&mut self, id: AttemptId, status: u16, body: Bytes, whole: Whole) {
        self.note_status(id, status);
        let answer = match whole {
            Whole::Answer(answer) => answer,
            Whole::Error(_) | Whole::Malformed(_) => return self.error(id, status, body),
        };
        self.truncated = answer.finish == Some(stream::Finish::Truncated);
        if let Some(note) = self.notes.note(id) {
            note.hear(&answer, Far::Over);
        }
        if answer.end() == stream::End::Torn {
            self.sent(id);
            return self.torn(id);
        }
        if self.inbound.dialect == Dialect::AnthropicMessages {
            self.signatures.whole(&body);
        }
        let bytes = u32::try_from(body.len()).unwrap_or(u32::MAX);
        let beat = if answer.output { engine::Beat::Output } else { engine::Beat::Wire };
        self.whole = Some((status, body));
        self.sent(id);
        self.feed_attempt(id, AttemptInput::Head);
        self.feed_attempt(id, AttemptInput::Chunk { bytes, beat });
        let end = AttemptInput::End {
            finish: answer.finish.map(finish),
            terminal: Terminal::Seen,
            output_tokens: tokens(&answer),
        };
        self.feed_attempt(id, end);
    }

    /// An answer that is an error, or a 200 that is none.
    fn error(&mut self, id: AttemptId, status: u16, body: Bytes) {
        self.patience_ms = None;
        let Some(running) = &self.running else { return };
        let headers = running.headers.clone();
        let judged = evidence::http(status, &headers, &body, &self.around(running.candidate));
        let judged = if status < 400 { never_well(judged) } else { judged };
        self.note_status(id, status);
        self.note_error(id, Heard { status, headers, body });
        self.fail(id, &judged);
    }

    /// An error inside a stream that began with 200.
    fn error_event(&mut self, id: AttemptId, data: Bytes) {
        let Some(running) = &self.running else { return };
        let judged = evidence::event(&running.headers, &data, &self.around(running.candidate));
        let mut headers = HeaderMap::new();
        let json = http::HeaderValue::from_static("application/json");
        headers.insert(http::header::CONTENT_TYPE, json);
        self.note_error(id, Heard { status: 200, headers, body: data });
        self.fail(id, &never_well(judged));
    }

    fn broken(&mut self, id: AttemptId, fault: &Fault, network: Option<Reach>) {
        let Some(running) = &self.running else { return };
        if fault.at == At::Body && running.reader().is_complete() {
            // It had said that it was over; what broke is the connection alone (R13).
            return self.ended(id, Terminal::Missing);
        }
        let mut judged = evidence::transport(fault, &self.around(running.candidate));
        if fault.at == At::Unserved {
            judged.failure = Failure::upstream(Class::TransportRemote);
            self.notes.failed(id, &judged);
            return self.feed_attempt(id, AttemptInput::Unserved);
        }
        if judged.failure.class == Class::LocalNetwork {
            match (network, self.another_host()) {
                (None, Some((host, port))) => return self.look(fault.clone(), host, port),
                (Some(Reach::No), _) => {}
                (None, None) if evidence::surely_offline(fault) => {}
                (Some(Reach::Yes), _) | (None, None) => {
                    judged.failure = Failure::upstream(Class::TransportRemote);
                }
            }
        }
        self.fail(id, &judged);
    }

    /// One cheap look at another host: what fails there too is this machine's trouble.
    fn look(&mut self, fault: Fault, host: String, port: u16) {
        let core = Arc::clone(&self.core);
        if let Some(running) = &mut self.running {
            running.look(fault, async move { core.upstream.reaches(&host, port).await });
        }
    }

    /// Another remote host that this queue, or any provider, has.
    fn another_host(&self) -> Option<(String, u16)> {
        let running = self.running.as_ref()?;
        let own = &self.notes.queue.candidates.get(running.candidate)?.provider.settings.base_url;
        let of_queue =
            self.notes.queue.candidates.iter().map(|one| one.provider.settings.base_url.clone());
        let plan = self.core.plan();
        let of_all = plan.config().providers.iter().map(|provider| provider.base_url.clone());
        of_queue
            .chain(of_all)
            .find(|url| url.host() != own.host() && !url.is_loopback())
            .map(|url| (url.host().to_owned(), url.port()))
    }

    pub(crate) fn fail(&mut self, id: AttemptId, judged: &Judged) {
        self.patience_ms = None;
        self.notes.failed(id, judged);
        let repair = self.mend(judged);
        self.feed_attempt(id, AttemptInput::Failed { failure: judged.failure, repair });
    }

    /// Whether a mended request would be another one than was refused.
    fn mend(&mut self, judged: &Judged) -> Repair {
        let Some(running) = &self.running else { return Repair::Impossible };
        let index = running.candidate;
        let Some(mend) = repair::mend(judged, self.inbound.request.facts()) else {
            return Repair::Impossible;
        };
        if self.mends.iter().any(|(of, _)| *of == index) {
            return Repair::Impossible;
        }
        let Some(candidate) = self.notes.queue.candidates.get(index) else {
            return Repair::Impossible;
        };
        let session = self.call.spec().session;
        let own = self.core.issuers.own(session, &candidate.provider.settings.vendor);
        let terms = Terms { continues: running.continues, mend: Some(&mend), own: &own };
        let mended = outbound::body(&self.inbound, candidate, &terms);
        if mended.to_bytes() == running.sent.to_bytes() {
            return Repair::Impossible;
        }
        self.mends.push((index, mend));
        Repair::Possible
    }

    fn around(&self, candidate: usize) -> Around<'_> {
        let provider = self.notes.queue.candidates.get(candidate).map(|one| &one.provider.settings);
        let loopback = provider.is_some_and(|provider| provider.base_url.is_loopback());
        Around {
            wall_ms: self.core.clock.now().wall_ms,
            provider: provider.map_or("", |provider| &provider.id),
            zone: self.core.clock.zone(),
            loopback: if loopback { Loopback::Yes } else { Loopback::No },
        }
    }

    fn note_status(&mut self, id: AttemptId, status: u16) {
        if let Some(note) = self.notes.note(id) {
            note.status = Some(status);
        }
    }

    fn note_error(&mut self, id: AttemptId, heard: Heard) {
        if let Some(note) = self.notes.note(id) {
            note.error = Some(heard);
        }
    }

    /// Whoever asks for a row of the attempt that runs is told what its stream has said so far.
    pub(crate) fn note_heard(&mut self) {
        let Some(running) = &self.running else { return };
        if let Some(answer) = running.heard()
            && let Some(note) = self.notes.note(running.id)
        {
            note.hear(answer, if running.reader().is_complete() { Far::Over } else { Far::Open });
        }
    }
}

fn tokens(answer: &Answer) -> Option<u32> {
    answer.usage.output.map(|tokens| u32::try_from(tokens).unwrap_or(u32::MAX))
}

const fn finish(said: stream::Finish) -> engine::Finish {
    match said {
        stream::Finish::Stop | stream::Finish::Other => engine::Finish::Stop,
        stream::Finish::ToolCalls => engine::Finish::ToolCalls,
        stream::Finish::Truncated => engine::Finish::Truncated,
        stream::Finish::Filtered => engine::Finish::Filtered,
    }
}

/// What came in place of an answer is a failure, whatever words stand in it.
fn never_well(judged: Judged) -> Judged {
    let odd = [Class::Aborted, Class::Truncated, Class::LocalNetwork];
    let said = judged.failure.class;
    let class = if odd.contains(&said) { Class::ServerError } else { said };
    Judged { failure: Failure { class, ..judged.failure }, ..judged }
}

fn ours(class: Class, message: String) -> Judged {
    let failure =
        Failure { origin: Origin::Upstream, scope: Scope::Candidate, ..Failure::upstream(class) };
    Judged { failure, code: None, param: None, message, sizes: ekiden_classify::Sizes::default() }
}
