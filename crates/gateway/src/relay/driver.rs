//! The loop that drives one call: it asks the engine, carries out what it says, and waits.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use ekiden_dialect::Dialect;
use ekiden_engine::{AttemptId, AttemptInput, Call, Input, Now, Output, Purpose, Why};
use ekiden_store::{CallRow, Ending, Record, Told, Waited, What};
use tokio::sync::Notify;
use tokio::sync::futures::OwnedNotified;

use crate::body::{Aborted, Source};
use crate::calls::{Open, Past};
use crate::core::{Core, Reach, Stop};
use crate::inbound::Inbound;
use crate::relay::attempt::{Running, Step};
use crate::relay::client::{ClientEnd, Given, UsageShown};
use crate::relay::notes::Notes;
use crate::relay::repair::Mend;
use crate::relay::signatures::Signatures;
use crate::relay::start;
use crate::relay::timer::Timer;

/// How long an ended answer's connection may take to become reusable.
const DRAIN: Duration = Duration::from_millis(500);
/// A piece that was taken so long ago, in milliseconds, was not read meanwhile.
const UNREAD_MS: u64 = 100;
/// After so many steps in a row it is looked what time it is: a flood never leaves a moment for it.
const STEPS_UNSEEN_MAX: u8 = 32;

/// One call and all that belongs to it.
pub(crate) struct Driver {
    pub(crate) core: Arc<Core>,
    pub(crate) inbound: Inbound,
    pub(crate) call: Call,
    pub(crate) notes: Notes,
    /// What candidates refused and is mended, by their place in the queue.
    pub(crate) mends: Vec<(usize, Mend)>,
    pub(crate) running: Option<Running>,
    pub(crate) client: ClientEnd,
    pub(crate) signatures: Signatures,
    /// A whole answer, until the engine calls it one.
    pub(crate) whole: Option<(u16, Bytes)>,
    /// When what is being waited for is taken as it is: an error's text, the end after a finish.
    pub(crate) patience_ms: Option<u64>,
    pub(crate) next_beat_ms: Option<u64>,
    pub(crate) ending: Ending,
    pub(crate) told: Option<Told>,
    /// The place of the candidate whose answer the client gets.
    pub(crate) served: Option<usize>,
    /// Why the call waits, as the engine said last.
    pub(crate) why: Why,
    /// The answer that ends was cut by its token limit.
    pub(crate) truncated: bool,
    /// Nobody waits for the answer any more.
    pub(crate) left: bool,
    /// A person ended it (P5).
    pub(crate) stopped: bool,
    open: Option<Open>,
    /// When the client was given a piece, until it asks for the next.
    given: Option<Now>,
    woken: Arc<Notify>,
    stop: Arc<Stop>,
    /// While nothing runs.
    waking: Option<Pin<Box<OwnedNotified>>>,
    timer: Timer,
    steps_unseen: u8,
}

/// What a call waited for has come.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "it is moved once, and most of them are steps")]
enum Happened {
    Step(Step),
    Stopped,
    Woken,
    Tick,
}

impl Driver {
    pub(crate) fn new(core: Arc<Core>, inbound: Inbound) -> Self {
        let (id, name, seed) = core.new_call();
        let spec = start::spec(&core, &inbound, id, seed);
        let began = core.clock.now();
        let facts = inbound.request.facts();
        let (streamed, input_tokens) = (facts.stream, facts.input_tokens);
        let session = core.names.session_name(spec.session);
        let session_id = spec.session;
        let open = Open {
            id,
            call: Arc::clone(&name),
            session: Arc::clone(&session),
            agent: inbound.session.agent.as_deref().map(Into::into),
            purpose: inbound.purpose,
            queue: Arc::clone(&inbound.queue),
            dialect: inbound.dialect,
            streamed,
            began,
        };
        let reach = Reach::default();
        let Reach { woken, stop } = reach.clone();
        core.open_call(open.clone(), reach);
        let asked = inbound.client.wants_usage || facts.include_usage;
        let usage = match (streamed && inbound.dialect == Dialect::OpenAiChat, asked) {
            (true, false) => UsageShown::No,
            (true, true) | (false, _) => UsageShown::Yes,
        };
        let keepalive_after_ms = core.plan().config().keepalive_after_ms;
        Self {
            notes: Notes::new(
                name,
                (session_id, session),
                Arc::clone(&inbound.queue),
                start::secrets(&inbound.headers),
                input_tokens,
                inbound.permit.payer.clone(),
            ),
            client: ClientEnd::new(inbound.dialect, usage),
            timer: Timer::default(),
            next_beat_ms: streamed.then(|| began.mono_ms + keepalive_after_ms),
            call: Call::new(spec),
            open: Some(open),
            mends: Vec::new(),
            running: None,
            signatures: Signatures::default(),
            whole: None,
            patience_ms: None,
            ending: Ending::Left,
            told: None,
            served: None,
            why: Why::Admission,
            truncated: false,
            left: false,
            stopped: false,
            given: None,
            steps_unseen: 0,
            waking: None,
            woken,
            stop,
            core,
            inbound,
        }
    }

    /// Drives the call on, to what the client gets next.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Given> {
        self.note_reading();
        loop {
            let wake_ms = self.drain();
            if let Some(given) = self.client.give() {
                if matches!(given, Given::End | Given::Cut | Given::Whole(_)) {
                    self.close();
                    self.let_rest(cx);
                }
                return Poll::Ready(self.hand(given));
            }
            if self.call.is_over() {
                self.close();
                return Poll::Ready(Given::Cut);
            }
            match self.poll_next(cx, wake_ms) {
                Poll::Ready(happened) => self.take(happened),
                // What has been joined goes out when the upstream has nothing more at hand.
                Poll::Pending => {
                    let given = self.client.give_piece();
                    return given.map_or(Poll::Pending, |given| Poll::Ready(self.hand(given)));
                }
            }
        }
    }

    fn hand(&mut self, given: Given) -> Given {
        if matches!(given, Given::Piece(_)) {
            self.given = Some(self.core.clock.now());
        }
        given
    }

    /// R11: no clock runs while the client does not read. The server asks for the next piece as soon
    /// as it has room for it.
    fn note_reading(&mut self) {
        let Some(given) = self.given.take() else { return };
        let now = self.core.clock.now();
        if now.mono_ms.saturating_sub(given.mono_ms) >= UNREAD_MS {
            self.feed_at(given, Input::ClientBlocked);
            self.feed_at(now, Input::ClientReady);
        }
    }

    /// Off the client's way, whose answer is complete: what is left of the upstream's is read so that
    /// its connection can be kept.
    fn let_rest(&mut self, cx: &mut Context<'_>) {
        let Some(mut running) = self.running.take() else { return };
        if running.poll_drained(cx).is_pending() {
            drop(self.core.tasks.spawn(async move {
                let drained = std::future::poll_fn(|cx| running.poll_drained(cx));
                let _ = tokio::time::timeout(DRAIN, drained).await;
            }));
        }
    }

    /// Carries out what the call wants, until it wants to wait.
    pub(crate) fn drain(&mut self) -> Option<u64> {
        loop {
            match self.call.poll_output() {
                Output::Effect(effect) => self.carry_out(effect),
                Output::Settle => {
                    self.note_heard();
                    self.core.settle(&mut self.call, &self.notes);
                }
                Output::Admit => {
                    self.note_heard();
                    self.core.admit(&mut self.call, &self.notes);
                }
                Output::Wake(at, why) => {
                    self.note_why(why);
                    return at;
                }
            }
        }
    }

    /// Gives the call an input and carries out what it leads to.
    pub(crate) fn feed(&mut self, input: Input) {
        self.feed_at(self.core.clock.now(), input);
    }

    /// The same, where the clocks have just been read.
    pub(crate) fn feed_at(&mut self, now: Now, input: Input) {
        self.call.handle(now, input);
        self.drain();
    }

    pub(crate) fn feed_attempt(&mut self, id: AttemptId, input: AttemptInput) {
        self.feed(Input::Attempt(id, input));
    }

    pub(crate) fn is_internal(&self) -> bool {
        self.inbound.purpose == Purpose::Internal
    }

    /// R32: that a call waits is an entry, once for each reason in a row. While it does, it stands among
    /// those that wait.
    fn note_why(&mut self, why: Why) {
        let before = std::mem::replace(&mut self.why, why);
        let (waited, waits) = (waited(before), waited(why));
        if waited == waits {
            return;
        }
        self.core.calls().note_wait(self.call.spec().id, waits, self.core.clock.now());
        let Some(why) = waits else { return };
        let session = Arc::clone(&self.notes.session);
        let queue = Arc::clone(&self.notes.queue.id);
        self.journal(What::Waited { session, queue, why });
    }

    pub(crate) fn journal(&self, what: What) {
        self.core.note(Some(Arc::clone(&self.notes.call)), what);
    }

    /// The next thing that happens.
    fn poll_next(&mut self, cx: &mut Context<'_>, wake_ms: Option<u64>) -> Poll<Happened> {
        let beat_ms = self.next_beat_ms.filter(|_| !self.client.is_committed());
        let rings = [wake_ms, beat_ms, self.patience_ms].into_iter().flatten().min();
        self.timer.set(rings.map(|ms| self.core.clock.instant(ms)));
        if let Some(running) = &mut self.running {
            self.waking = None;
            if self.steps_unseen < STEPS_UNSEEN_MAX
                && let Poll::Ready(step) = running.poll(cx)
            {
                self.steps_unseen += 1;
                return Poll::Ready(Happened::Step(step));
            }
        } else {
            let woken = &self.woken;
            let waking =
                self.waking.get_or_insert_with(|| Box::pin(Arc::clone(woken).notified_owned()));
            if waking.as_mut().poll(cx).is_ready() {
                self.waking = None;
                return Poll::Ready(Happened::Woken);
            }
        }
        let unseen = std::mem::take(&mut self.steps_unseen) >= STEPS_UNSEEN_MAX;
        if self.stop.poll(cx) {
            return Poll::Ready(Happened::Stopped);
        }
        if self.timer.poll(cx).is_ready() {
            return Poll::Ready(Happened::Tick);
        }
        match self.running.as_mut().filter(|_| unseen) {
            Some(running) => running.poll(cx).map(Happened::Step),
            None => Poll::Pending,
        }
    }

    fn take(&mut self, happened: Happened) {
        match happened {
            Happened::Step(step) => self.step(step),
            Happened::Woken => self.feed(Input::Woken),
            Happened::Stopped => {
                self.stopped = true;
                self.feed(Input::Stop);
            }
            Happened::Tick => self.tick(),
        }
    }

    fn tick(&mut self) {
        let now = self.core.clock.now();
        if self.patience_ms.is_some_and(|at| now.mono_ms >= at) {
            self.patience_ms = None;
            self.out_of_patience();
        }
        if self.next_beat_ms.is_some_and(|at| now.mono_ms >= at) && !self.client.is_committed() {
            self.beat(now);
        }
        self.feed(Input::Tick);
    }

    /// G2: from `keepalive_after` on the client hears that we are busy.
    fn beat(&mut self, now: Now) {
        if self.client.is_head_held() {
            let headers = self.early_headers();
            self.client.begin_stream(headers);
        }
        self.client.beat();
        let every_ms = self.core.plan().config().keepalive_every_ms.max(1_000);
        self.next_beat_ms = Some(now.mono_ms + every_ms);
    }

    /// The call is over, or nobody asks for the rest of it: everything is given back and written down, once.
    fn close(&mut self) {
        let Some(open) = self.open.take() else { return };
        let now = self.core.clock.now();
        // P5: whoever stops a call whose client takes nothing has its connection dropped.
        if !self.call.is_over() && self.stop.take() {
            self.take(Happened::Stopped);
        }
        if !self.call.is_over() {
            self.left = true;
            self.call.abandon(now);
        }
        self.drain();
        let route = self.served.map(|served| self.notes.route(served));
        let row = CallRow {
            call: Arc::clone(&open.call),
            session: Arc::clone(&open.session),
            queue: Arc::clone(&open.queue.id),
            began_ms: open.began.wall_ms,
            took_ms: now.mono_ms.saturating_sub(open.began.mono_ms),
            attempts: self.notes.all().len() as u32,
            route: route.clone(),
            ending: self.ending,
        };
        self.core.write(vec![Record::Call(row)]);
        self.core.close_call(Past {
            open,
            ended: now,
            ending: self.ending,
            told: self.told,
            route,
            attempts: self.notes.past(now),
            trace: self.call.trace(),
        });
    }
}

/// For what a call waits that says so when nothing can run.
const fn waited(why: Why) -> Option<Waited> {
    match why {
        Why::Candidate(why) => Some(Waited::Candidate(why)),
        Why::LocalNetwork => Some(Waited::LocalNetwork),
        Why::Clock(_)
        | Why::Running
        | Why::ClientBlocked
        | Why::RetryPause
        | Why::NamedWait
        | Why::ContinueDelay
        | Why::Lease
        | Why::Admission
        | Why::Over => None,
    }
}

/// The stream of a call. It is driven by whoever reads it: there is no task of its own between the
/// client's connection and the upstream's.
impl Source for Driver {
    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Aborted>>> {
        loop {
            return Poll::Ready(match std::task::ready!(self.poll(cx)) {
                Given::Piece(bytes) => Some(Ok(bytes)),
                Given::End => None,
                Given::Cut => Some(Err(Aborted)),
                // Told before.
                Given::Stream(_) | Given::Whole(_) => continue,
            });
        }
    }

    fn stop(&self) -> Arc<Stop> {
        Arc::clone(&self.stop)
    }
}

impl std::fmt::Debug for Driver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Driver").field("call", &self.notes.call).finish_non_exhaustive()
    }
}

/// The server drops what it made for a client that has left (R12).
impl Drop for Driver {
    fn drop(&mut self) {
        self.close();
    }
}
