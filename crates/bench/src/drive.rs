//! The load driver: one thread, requests made beforehand, the next one as soon as the last answer
//! is whole. It counts and it measures, and a single wrong answer ends the run: a fast wrong
//! answer is worth nothing.

use std::io::{self, Read as _, Write as _};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};

use crate::clock;
use crate::script::{Request, SESSION_DIGITS};
use crate::upstream::{CONTROL, LEFT};
use crate::wire::{Body, head, status};

/// Longer than any answer of the script may take; then something hangs.
const PATIENCE: Duration = Duration::from_secs(15);

/// Which sessions the calls belong to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Sessions {
    /// One for each connection.
    PerConnection,
    /// So many, in turn.
    Among(u32),
    /// A new one for each call; the first has this number.
    New(u32),
}

/// What to ask, where, and how many at a time.
#[derive(Clone, Debug)]
pub(crate) struct Load {
    pub(crate) target: SocketAddr,
    pub(crate) request: Request,
    pub(crate) connections: usize,
    pub(crate) sessions: Sessions,
    /// Events that every answer must have; 0 for answers that are no streams.
    pub(crate) events: usize,
    /// From one connection's first call to the next one's.
    pub(crate) stagger: Duration,
}

/// What came of it.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// From request to whole answer, in nanoseconds.
    pub(crate) whole_ns: Vec<u64>,
    /// From request to the body's first byte, in nanoseconds.
    pub(crate) first_ns: Vec<u64>,
    pub(crate) elapsed: Duration,
}

impl Outcome {
    pub(crate) fn count(&self) -> f64 {
        self.whole_ns.len() as f64
    }
}

/// When a run ends; calls that are open then are finished.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Until {
    Span(Duration),
    /// So many calls on each connection.
    Calls(usize),
}

/// Connections that stand, ready to be used again and again.
pub(crate) struct Driver {
    poll: Poll,
    load: Load,
    lanes: Vec<Lane>,
    session: u32,
    buffer: Vec<u8>,
}

struct Lane {
    stream: TcpStream,
    phase: Phase,
    /// The head, while it is not whole.
    head: Vec<u8>,
    sent: Instant,
    first: Option<Instant>,
    lines: usize,
    calls: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Idle,
    Head,
    Body(Body),
}

impl Driver {
    pub(crate) fn open(load: Load) -> anyhow::Result<Self> {
        let poll = Poll::new()?;
        let lanes = (0..load.connections)
            .map(|index| {
                let stream = connect(load.target)?;
                let mut lane = Lane::new(stream);
                poll.registry().register(&mut lane.stream, Token(index), Interest::READABLE)?;
                Ok(lane)
            })
            .collect::<anyhow::Result<Vec<_>>>()?;
        let session = match load.sessions {
            Sessions::New(first) => first,
            Sessions::PerConnection | Sessions::Among(_) => 0,
        };
        Ok(Self { poll, load, lanes, session, buffer: vec![0; 256 * 1024] })
    }

    /// Keeps every connection busy.
    pub(crate) fn run(&mut self, until: Until) -> anyhow::Result<Outcome> {
        let mut outcome = Outcome::default();
        let begun = clock::now();
        let mut started = 0;
        for lane in &mut self.lanes {
            lane.calls = 0;
        }
        let mut events = Events::with_capacity(self.lanes.len().max(16));
        loop {
            let elapsed = begun.elapsed();
            while started < self.lanes.len() && elapsed >= self.load.stagger * started as u32 {
                self.send(started)?;
                started += 1;
            }
            if started == self.lanes.len()
                && self.lanes.iter().all(|lane| lane.phase == Phase::Idle)
            {
                break;
            }
            ensure!(elapsed < PATIENCE * 2, "answers did not end");
            let wait = if started < self.lanes.len() { Duration::ZERO } else { PATIENCE };
            poll(&mut self.poll, &mut events, wait)?;
            ensure!(!events.is_empty() || wait.is_zero(), "nothing came for {PATIENCE:?}");
            for event in &events {
                let index = event.token().0;
                if self.read(index, &mut outcome)? {
                    let lane = &self.lanes[index];
                    let goes_on = match until {
                        Until::Span(span) => begun.elapsed() < span,
                        Until::Calls(calls) => lane.calls < calls,
                    };
                    if goes_on {
                        self.send(index)?;
                    }
                }
            }
        }
        outcome.elapsed = begun.elapsed();
        Ok(outcome)
    }

    /// Sends a call on every connection and waits until every answer has begun.
    pub(crate) fn hold(&mut self) -> anyhow::Result<()> {
        let mut events = Events::with_capacity(self.lanes.len().max(16));
        let mut outcome = Outcome::default();
        for index in 0..self.lanes.len() {
            self.send(index)?;
            while self.lanes[index].first.is_none() {
                poll(&mut self.poll, &mut events, PATIENCE)?;
                ensure!(!events.is_empty(), "an open stream said nothing for {PATIENCE:?}");
                for event in &events {
                    self.read(event.token().0, &mut outcome)?;
                }
            }
        }
        Ok(())
    }

    fn send(&mut self, index: usize) -> anyhow::Result<()> {
        let session = match self.load.sessions {
            Sessions::PerConnection => index as u32,
            Sessions::Among(count) => self.session % count,
            Sessions::New(_) => self.session,
        };
        self.session += 1;
        let at = self.load.request.session_at;
        let mut rest = session;
        for digit in self.load.request.bytes[at..at + SESSION_DIGITS].iter_mut().rev() {
            *digit = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        let lane = &mut self.lanes[index];
        lane.phase = Phase::Head;
        lane.first = None;
        lane.lines = 0;
        lane.calls += 1;
        lane.sent = clock::now();
        // A request is far smaller than a socket's buffer: it goes whole or not at all.
        let written = lane.stream.write(&self.load.request.bytes).context("sending a request")?;
        ensure!(written == self.load.request.bytes.len(), "a request did not fit the socket");
        Ok(())
    }

    /// Reads what is there; whether the answer is whole now.
    fn read(&mut self, index: usize, outcome: &mut Outcome) -> anyhow::Result<bool> {
        let lane = &mut self.lanes[index];
        loop {
            let read = match lane.stream.read(&mut self.buffer) {
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error).context("reading an answer"),
            };
            if read == 0 {
                ensure!(lane.phase == Phase::Idle, "a connection was closed inside an answer");
                bail!("a connection was closed between two calls");
            }
            if lane.take(&self.buffer[..read])? {
                let now = clock::now();
                let events = lane.lines / 2;
                ensure!(
                    self.load.events == 0 || events == self.load.events,
                    "an answer had {events} events instead of {}",
                    self.load.events
                );
                lane.phase = Phase::Idle;
                outcome.whole_ns.push(nanos(now, lane.sent));
                outcome.first_ns.push(nanos(lane.first.unwrap_or(now), lane.sent));
                return Ok(true);
            }
            if read < self.buffer.len() {
                return Ok(false);
            }
        }
    }
}

impl Lane {
    fn new(stream: TcpStream) -> Self {
        Self {
            stream,
            phase: Phase::Idle,
            head: Vec::new(),
            sent: clock::now(),
            first: None,
            lines: 0,
            calls: 0,
        }
    }

    /// Reads on in the answer; whether it is whole.
    fn take(&mut self, bytes: &[u8]) -> anyhow::Result<bool> {
        if self.phase == Phase::Head {
            self.head.extend_from_slice(bytes);
            let Some(found) = head(&self.head) else { return Ok(false) };
            let code = status(&self.head);
            if code != 200 {
                bail!("answered {code}: {}", String::from_utf8_lossy(&self.head));
            }
            self.phase = Phase::Body(Body::new(found.framing));
            let mut joined = std::mem::take(&mut self.head);
            let done = self.body(&joined[found.len..]);
            joined.clear();
            self.head = joined;
            return Ok(done);
        }
        ensure!(self.phase != Phase::Idle, "bytes came after the end of an answer");
        Ok(self.body(bytes))
    }

    fn body(&mut self, bytes: &[u8]) -> bool {
        let Phase::Body(body) = &mut self.phase else { return false };
        let (first, lines) = (&mut self.first, &mut self.lines);
        body.read(bytes, |payload| {
            if first.is_none() && !payload.is_empty() {
                *first = Some(clock::now());
            }
            *lines += memchr::memchr_iter(b'\n', payload).count();
        });
        *body == Body::Done
    }
}

fn nanos(later: Instant, earlier: Instant) -> u64 {
    u64::try_from(later.duration_since(earlier).as_nanos()).unwrap_or(u64::MAX)
}

fn poll(poll: &mut Poll, events: &mut Events, wait: Duration) -> anyhow::Result<()> {
    match poll.poll(events, Some(wait)) {
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
        other => Ok(other?),
    }
}

fn connect(target: SocketAddr) -> anyhow::Result<TcpStream> {
    let stream = std::net::TcpStream::connect(target).context("connecting")?;
    stream.set_nodelay(true)?;
    stream.set_nonblocking(true)?;
    Ok(TcpStream::from_std(stream))
}

/// The connection on which the upstream tells of streams that were left open.
pub(crate) struct Control {
    stream: std::net::TcpStream,
}

impl Control {
    pub(crate) fn open(upstream: SocketAddr) -> anyhow::Result<Self> {
        let mut stream = std::net::TcpStream::connect(upstream)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.write_all(CONTROL)?;
        Ok(Self { stream })
    }

    /// Waits until so many more streams were left.
    pub(crate) fn await_left(&mut self, count: usize) -> anyhow::Result<()> {
        let mut told = vec![0; count];
        self.stream.read_exact(&mut told).context("the upstream was not told of the end")?;
        ensure!(told.iter().all(|byte| *byte == LEFT), "the upstream speaks oddly");
        Ok(())
    }
}

/// Opens streams one after another, leaves each at its first chunk, and measures in nanoseconds
/// how long it takes until the upstream is left, too.
pub(crate) fn cancel(
    load: &Load,
    control: &mut Control,
    span: Duration,
) -> anyhow::Result<Outcome> {
    let mut outcome = Outcome::default();
    let begun = clock::now();
    while begun.elapsed() < span {
        let mut driver = Driver::open(load.clone())?;
        driver.hold()?;
        let left = clock::now();
        drop(driver);
        control.await_left(load.connections)?;
        outcome.whole_ns.push(nanos(clock::now(), left));
    }
    outcome.elapsed = begun.elapsed();
    Ok(outcome)
}
