//! The scripted upstream: one thread, one loop, answers made beforehand. It never looks at what a
//! request says beyond its path and whether it asks for usage, so that its own cost stays small
//! and the same for all that stand before it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, Read as _, Write as _};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use memchr::memmem::Finder;
use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token};

use crate::clock;
use crate::script::{Answers, CHUNKS, DRIP_MS, Script};
use crate::wire::{Body, head};

/// The port where every call is answered as its path says.
const GOOD: Token = Token(0);
/// The port where every call fails at once.
const FAILING: Token = Token(1);
const FIRST: usize = 2;

/// What the driver's own connection begins with; when it closes, the upstream ends.
pub(crate) const CONTROL: &[u8] = b"CONTROL\n";
/// What is written to that connection when a peer has left an open stream.
pub(crate) const LEFT: u8 = b'x';

/// Serves until the connection that said [`CONTROL`] closes.
///
/// # Errors
/// When it cannot listen, or the system's poll fails.
pub(crate) fn serve() -> anyhow::Result<()> {
    let loopback = SocketAddr::from(([127, 0, 0, 1], 0));
    let (mut good, mut failing) = (TcpListener::bind(loopback)?, TcpListener::bind(loopback)?);
    let poll = Poll::new()?;
    poll.registry().register(&mut good, GOOD, Interest::READABLE)?;
    poll.registry().register(&mut failing, FAILING, Interest::READABLE)?;
    let mut out = io::stdout();
    writeln!(out, "{} {}", good.local_addr()?.port(), failing.local_addr()?.port())?;
    out.flush()?;
    Upstream {
        poll,
        good,
        failing,
        answers: Answers::new(),
        asks_usage: Finder::new(b"\"include_usage\""),
        connections: Vec::new(),
        free: Vec::new(),
        ticks: BinaryHeap::new(),
        control: None,
        buffer: vec![0; 64 * 1024],
    }
    .run()
}

struct Upstream {
    poll: Poll,
    good: TcpListener,
    failing: TcpListener,
    answers: Answers,
    asks_usage: Finder<'static>,
    connections: Vec<Option<Connection>>,
    free: Vec<usize>,
    /// When which connection's next chunk is due.
    ticks: BinaryHeap<Reverse<(Instant, usize)>>,
    control: Option<usize>,
    buffer: Vec<u8>,
}

struct Connection {
    stream: TcpStream,
    fails: bool,
    /// What has been read and not yet answered.
    inbox: Vec<u8>,
    /// What could not be written yet.
    outbox: Vec<u8>,
    state: State,
}

#[derive(Clone, Copy)]
enum State {
    /// Waits for a request.
    Idle,
    /// Chunks to come, and whether usage comes last.
    Dripping { left: usize, with_usage: bool },
    /// An open stream with nothing more to say.
    Holding,
}

/// What is left of a connection after an event.
enum After {
    Stays,
    Closed,
    Finished,
}

impl Upstream {
    fn run(mut self) -> anyhow::Result<()> {
        let mut events = Events::with_capacity(1024);
        loop {
            let wait = self.ticks.peek().map(|Reverse((at, _))| at.duration_since(clock::now()));
            match self.poll.poll(&mut events, wait) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                other => other?,
            }
            for event in &events {
                match event.token() {
                    GOOD | FAILING => self.accept(event.token())?,
                    Token(token) => {
                        let index = token - FIRST;
                        let writable = event.is_writable();
                        let after = self.turn(index, writable);
                        if matches!(after, After::Finished) {
                            return Ok(());
                        }
                        if matches!(after, After::Closed) {
                            self.close(index);
                        }
                    }
                }
            }
            self.drip();
        }
    }

    fn accept(&mut self, token: Token) -> anyhow::Result<()> {
        loop {
            let listener = if token == GOOD { &self.good } else { &self.failing };
            let mut stream = match listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error.into()),
            };
            stream.set_nodelay(true)?;
            let index = self.free.pop().unwrap_or(self.connections.len());
            let token_of = Token(index + FIRST);
            let both = Interest::READABLE | Interest::WRITABLE;
            self.poll.registry().register(&mut stream, token_of, both)?;
            let connection = Connection {
                stream,
                fails: token == FAILING,
                inbox: Vec::new(),
                outbox: Vec::new(),
                state: State::Idle,
            };
            if index == self.connections.len() {
                self.connections.push(Some(connection));
            } else {
                self.connections[index] = Some(connection);
            }
        }
    }

    fn turn(&mut self, index: usize, writable: bool) -> After {
        let Some(connection) = self.connections[index].as_mut() else { return After::Stays };
        if writable && !connection.outbox.is_empty() {
            connection.flush();
        }
        loop {
            match connection.stream.read(&mut self.buffer) {
                Ok(0) if self.control == Some(index) => return After::Finished,
                Ok(0) => return After::Closed,
                Ok(read) => {
                    connection.inbox.extend_from_slice(&self.buffer[..read]);
                    // A short read has emptied the socket; the next bytes bring an event.
                    if read < self.buffer.len() {
                        break;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(_) => return After::Closed,
            }
        }
        if connection.inbox.starts_with(CONTROL) {
            connection.inbox.clear();
            self.control = Some(index);
            return After::Stays;
        }
        while let Some((len, script, usage)) = next_request(&connection.inbox, &self.asks_usage) {
            connection.inbox.drain(..len);
            answer(connection, &self.answers, script, usage);
            if matches!(connection.state, State::Dripping { .. }) {
                let due = clock::now() + Duration::from_millis(DRIP_MS);
                self.ticks.push(Reverse((due, index)));
            }
        }
        After::Stays
    }

    fn drip(&mut self) {
        while let Some(Reverse((due, index))) = self.ticks.peek().copied() {
            if due > clock::now() {
                return;
            }
            self.ticks.pop();
            let Some(connection) = self.connections[index].as_mut() else { continue };
            let State::Dripping { left, with_usage } = connection.state else { continue };
            if left > 0 {
                connection.send(&self.answers.chunk);
                connection.state = State::Dripping { left: left - 1, with_usage };
                self.ticks.push(Reverse((due + Duration::from_millis(DRIP_MS), index)));
            } else {
                let ending = &self.answers.ending;
                connection.send(ending.whole(with_usage));
                connection.state = State::Idle;
            }
        }
    }

    fn close(&mut self, index: usize) {
        let Some(connection) = self.connections[index].take() else { return };
        self.free.push(index);
        let left_open = !matches!(connection.state, State::Idle);
        let control = self.control.and_then(|control| self.connections[control].as_mut());
        if left_open && let Some(control) = control {
            control.send(&[LEFT]);
        }
    }
}

/// The next whole request: its length, its script, whether it asks for usage.
fn next_request(inbox: &[u8], asks_usage: &Finder<'_>) -> Option<(usize, Option<Script>, bool)> {
    let found = head(inbox)?;
    let mut body = Body::new(found.framing);
    let used = body.read(&inbox[found.len..], |_| {});
    let len = found.len + used;
    (body == Body::Done).then(|| {
        let usage = asks_usage.find(&inbox[found.len..len]).is_some();
        (len, Script::of(inbox), usage)
    })
}

fn answer(connection: &mut Connection, answers: &Answers, script: Option<Script>, usage: bool) {
    if connection.fails {
        connection.send(&answers.failure);
        return;
    }
    match script {
        None => connection.send(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n"),
        Some(Script::Plain) => connection.send(&answers.plain),
        Some(Script::Short) => connection.send(answers.short.whole(usage)),
        Some(Script::Burst) => connection.send(answers.burst.whole(usage)),
        Some(Script::Drip) => {
            connection.send(&answers.opening);
            connection.state = State::Dripping { left: CHUNKS - 1, with_usage: usage };
        }
        Some(Script::Hold) => {
            connection.send(&answers.opening);
            connection.state = State::Holding;
        }
    }
}

impl Connection {
    fn send(&mut self, bytes: &[u8]) {
        if !self.outbox.is_empty() {
            self.outbox.extend_from_slice(bytes);
            return;
        }
        // What does not fit waits for the socket's next event; an error shows when it is read.
        let written = self.stream.write(bytes).unwrap_or(0);
        self.outbox.extend_from_slice(&bytes[written..]);
    }

    fn flush(&mut self) {
        while !self.outbox.is_empty() {
            match self.stream.write(&self.outbox) {
                Ok(0) | Err(_) => return,
                Ok(written) => {
                    self.outbox.drain(..written);
                }
            }
        }
    }
}
