use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use ekiden_classify::TransportKind;
use ekiden_dialect::splice::{Edits, splice};
use ekiden_dialect::{Dialect, request as dialect_request};
use http::{HeaderName, HeaderValue, Method};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::time::{sleep, timeout};

use super::chunked::Chunks;
use super::head::{After, Framing, Read};
use super::request::Form;
use super::*;
use crate::tasks::Tasks;
use crate::upstream::connect::Connector;
use crate::upstream::fault::{At, Fault};
use crate::upstream::headers::HeaderList;
use crate::upstream::{Answer, Ask, Sending};

/// What the far side does on one connection: for each request one answer in pieces, then it stays
/// silent, or closes.
#[derive(Clone)]
struct Line {
    answers: Vec<Vec<&'static str>>,
    then: Then,
    room: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Then {
    Stays,
    Closes,
}

#[derive(Clone, Default)]
struct Far {
    /// The bytes that came, a text for each connection.
    heard: Arc<Mutex<Vec<String>>>,
    closed: Arc<Mutex<usize>>,
}

fn line(answers: &[&[&'static str]], then: Then) -> Line {
    Line { answers: answers.iter().map(|pieces| pieces.to_vec()).collect(), then, room: 64 * 1024 }
}

impl Far {
    fn pool(&self, lines: Vec<Line>) -> Arc<Pool> {
        let lines = Mutex::new(VecDeque::from(lines));
        let far = self.clone();
        let dial = move |_: &str, _: u16| {
            let Some(line) = lines.lock().unwrap().pop_front() else {
                return Some(Err(std::io::ErrorKind::ConnectionRefused.into()));
            };
            let (near, end) = tokio::io::duplex(line.room);
            drop(Tasks::default().spawn(far.clone().play(end, line)));
            Some(Ok(near))
        };
        Pool::new(Connector::new(None, Some(Arc::new(dial))), Tasks::default())
    }

    async fn play(self, mut end: DuplexStream, line: Line) {
        let place = {
            let mut heard = self.heard.lock().unwrap();
            heard.push(String::new());
            heard.len() - 1
        };
        for pieces in line.answers {
            let mut asked = String::new();
            while !is_whole(&asked) {
                let mut byte = [0; 1];
                if end.read(&mut byte).await.unwrap_or(0) == 0 {
                    *self.closed.lock().unwrap() += 1;
                    return;
                }
                asked.push(byte[0] as char);
                // An answer may come before its request is whole.
                if line.room < 1024 && asked.ends_with("\r\n\r\n") {
                    break;
                }
            }
            self.heard.lock().unwrap()[place].push_str(&asked);
            for piece in pieces {
                end.write_all(piece.as_bytes()).await.unwrap();
                sleep(Duration::from_millis(1)).await;
            }
        }
        if line.then == Then::Stays {
            let mut rest = Vec::new();
            let _ = end.read_to_end(&mut rest).await;
            *self.closed.lock().unwrap() += 1;
        }
    }

    fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }

    async fn closes(&self, connections: usize) {
        let closed = async {
            while *self.closed.lock().unwrap() < connections {
                sleep(Duration::from_millis(1)).await;
            }
        };
        timeout(Duration::from_secs(1), closed).await.expect("closed");
    }
}

fn is_whole(asked: &str) -> bool {
    let Some((head, body)) = asked.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    body.len() == length.unwrap().parse::<usize>().unwrap()
}

fn asked_with(text: &str, headers: HeaderList) -> Ask {
    let body = Bytes::from(format!(
        "{{\"model\":\"m\",\"messages\":[{{\"role\":\"user\",\"content\":\"{text}\"}}]}}"
    ));
    let read = dialect_request::read(Dialect::OpenAiChat, &body).unwrap();
    Ask {
        method: Method::POST,
        uri: "http://user:secret@a.example:8080/v1/chat?x=1".parse().unwrap(),
        headers,
        body: splice(&read, &Edits::default()),
    }
}

fn asked() -> Ask {
    asked_with("hi", HeaderList::new())
}

async fn begin(pool: &Arc<Pool>) -> Result<Answer, Fault> {
    let exchange = Exchange::start(pool, Reuse::May, asked());
    Sending::Own(Box::new(exchange)).answer().await
}

async fn ask(pool: &Arc<Pool>) -> Result<String, Fault> {
    let answer = begin(pool).await?;
    let body = answer.body.whole(1 << 20).await?.expect("not so long");
    Ok(String::from_utf8(body.to_vec()).unwrap())
}

const HI: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi";
const CHUNKS: &str = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";

fn final_head(text: &str) -> Result<(usize, Box<head::Head>), Malformed> {
    match head::read(text.as_bytes(), 0)? {
        Read::Final(len, head) => Ok((len, head)),
        other @ (Read::More | Read::Interim(_)) => panic!("{other:?}: {text}"),
    }
}

#[test]
fn a_head_says_where_its_body_ends() {
    for (text, framing, after) in [
        ("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n", Framing::Length(5), After::Kept),
        (
            "HTTP/1.1 200 OK\r\ncontent-length: 5\r\nCONTENT-LENGTH: 5\r\n\r\n",
            Framing::Length(5),
            After::Kept,
        ),
        ("HTTP/1.1 200 OK\r\ncontent-length: 5, 5\r\n\r\n", Framing::Length(5), After::Kept),
        ("HTTP/1.1 200\r\nTransfer-Encoding: Chunked\r\n\r\n", Framing::Chunked, After::Kept),
        ("HTTP/1.1 200 OK\r\n\r\n", Framing::Close, After::Closed),
        ("HTTP/1.0 200 OK\r\ncontent-length: 5\r\n\r\n", Framing::Length(5), After::Closed),
        ("HTTP/1.1 204 No\r\ncontent-length: 5\r\n\r\n", Framing::Length(0), After::Kept),
        ("HTTP/1.1 304 Same\r\n\r\n", Framing::Length(0), After::Kept),
        (
            "HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: x, Close\r\n\r\n",
            Framing::Length(5),
            After::Closed,
        ),
    ] {
        let (len, head) = final_head(text).expect(text);
        assert_eq!((len, head.framing, head.after), (text.len(), framing, after), "{text}");
    }
}

#[test]
fn a_head_that_two_readers_could_read_differently_is_refused() {
    let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "a: b\r\n".repeat(head::HEADERS_MAX + 1));
    let long = format!("HTTP/1.1 200 OK\r\na: {}", "b".repeat(head::HEAD_BYTES_MAX));
    let long_whole = format!("{long}\r\n\r\n");
    for (text, why) in [
        ("content-length: 5\r\ncontent-length: 6", Malformed::Length),
        ("content-length: 5, 6", Malformed::Length),
        ("content-length: +5", Malformed::Length),
        ("content-length: 0x5", Malformed::Length),
        ("content-length: ", Malformed::Length),
        ("content-length: 99999999999999999999", Malformed::Length),
        ("content-length: 5\r\ntransfer-encoding: chunked", Malformed::Length),
        ("transfer-encoding: gzip, chunked", Malformed::Coding),
        ("transfer-encoding: chunked\r\ntransfer-encoding: chunked", Malformed::Coding),
        ("transfer-encoding: identity", Malformed::Coding),
        ("a: b\r\n c", Malformed::Head),
        ("a : b", Malformed::Head),
        ("a", Malformed::Head),
        ("a: \u{0}", Malformed::Head),
    ] {
        let text = format!("HTTP/1.1 200 OK\r\n{text}\r\n\r\n");
        assert_eq!(final_head(&text).map(|_| ()), Err(why), "{text}");
    }
    for (text, why) in [
        ("HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", Malformed::Coding),
        ("HTTP/1.1 101 Go\r\n\r\n", Malformed::Switch),
        ("HTTP/1.1 abc\r\n\r\n", Malformed::Head),
        ("HTTP/2 200 OK\r\n\r\n", Malformed::Head),
        ("SSH-2", Malformed::Head),
        (&many, Malformed::TooLarge),
        (&long, Malformed::TooLarge),
        (&long_whole, Malformed::TooLarge),
    ] {
        assert_eq!(
            head::read(text.as_bytes(), 0).map(|_| ()),
            Err(why),
            "{}",
            &text[..9.min(text.len())]
        );
    }
}

#[test]
fn a_head_is_the_same_however_it_is_split() {
    let text = "HTTP/1.1 200 OK\r\na: b\r\ncontent-length: 5\r\n\r\nrest";
    let whole = text.len() - 4;
    for known in 0..whole {
        assert!(matches!(head::read(&text.as_bytes()[..known], 0), Ok(Read::More)), "{known}");
        let Ok(Read::Final(len, head)) = head::read(text.as_bytes(), known) else { panic!() };
        assert_eq!((len, head.headers["a"].as_bytes()), (whole, b"b".as_slice()));
    }
}

fn unchunked(pieces: &[&[u8]]) -> Result<(String, bool), Malformed> {
    let (mut chunks, mut out) = (Chunks::default(), Vec::new());
    for piece in pieces {
        chunks.read(piece, &mut out)?;
    }
    Ok((String::from_utf8(out).unwrap(), chunks.is_over()))
}

#[test]
fn chunks_are_the_same_however_they_are_split() {
    let wire = b"5 ;a=\"b\"\r\nhello\r\n00B\r\n, relay run\r\n0;x\r\nt: dropped\r\nu: v\r\n\r\n";
    for at in 0..=wire.len() {
        let (head, tail) = wire.split_at(at);
        assert_eq!(unchunked(&[head, tail]), Ok(("hello, relay run".into(), true)), "{at}");
    }
    let single: Vec<&[u8]> = wire.chunks(1).collect();
    assert_eq!(unchunked(&single), Ok(("hello, relay run".into(), true)));
    let mut chunks = Chunks::default();
    assert_eq!(chunks.read(b"0\r\n\r\nHTTP/1.1", &mut Vec::new()), Ok(5), "no byte of the next");
}

#[test]
fn chunks_that_two_readers_could_read_differently_are_refused() {
    let aside = format!("1;{}", "x".repeat(20_000));
    let trailers = format!("0\r\n{}", "a: b\r\n".repeat(5_000));
    for wire in [
        "5\nhello\r\n",
        "5\r\nhello\n",
        "5\r\nhelloo\r\n",
        "\r\n5\r\n",
        "-5\r\n",
        "0x5\r\n",
        "g\r\n",
        "5;a\nb\r\n",
        "5\rhello",
        "0\r\na: b\n\r\n",
        "0\r\n\rx",
        "1000000000000000\r\n",
        &aside,
        &trailers,
    ] {
        assert_eq!(unchunked(&[wire.as_bytes()]), Err(Malformed::Chunk), "{wire:.20}");
    }
}

#[test]
fn an_answer_at_rest_is_read_as_one_on_the_wire() {
    let text = format!("HTTP/1.1 100 Go on\r\n\r\n{CHUNKS}2\r\nhi\r\n0\r\n\r\nmore");
    let whole = read_whole(text.as_bytes()).unwrap().expect("whole");
    assert_eq!((whole.status, &*whole.body, whole.bytes), (200, &b"hi"[..], text.len() - 4));
    for at in 0..text.len() - 4 {
        assert_eq!(read_whole(&text.as_bytes()[..at]), Ok(None), "{at}");
    }
    assert_eq!(read_whole(b"SMTP"), Err(Malformed::Head));
    assert_eq!(read_whole(&HI.as_bytes()[..HI.len() - 1]), Ok(None));
}

#[tokio::test(start_paused = true)]
async fn g14_a_request_is_framed_once_whatever_headers_are_set() {
    let far = Far::default();
    let pool = far.pool(vec![line(&[&[HI]], Then::Stays)]);
    let mut headers = HeaderList::new();
    for (name, value) in [
        ("content-length", "3"),
        ("transfer-encoding", "chunked"),
        ("connection", "close"),
        ("expect", "100-continue"),
        ("x-mine", "yes"),
    ] {
        headers.push((HeaderName::from_static(name), HeaderValue::from_static(value)));
    }
    let exchange = Exchange::start(&pool, Reuse::May, asked_with("hi", headers));
    let answer = Sending::Own(Box::new(exchange)).answer().await.unwrap();
    assert_eq!(answer.status, 200);
    let body = "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}";
    let expected = format!(
        "POST /v1/chat?x=1 HTTP/1.1\r\nhost: a.example:8080\r\nx-mine: yes\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    assert_eq!(far.heard(), [expected]);
}

#[test]
fn a_proxy_of_plain_requests_is_told_the_whole_url() {
    let out = super::request::Outgoing::of(&asked(), Form::Absolute);
    let begin = b"POST http://a.example:8080/v1/chat?x=1 HTTP/1.1\r\nhost: a.example:8080\r\n";
    assert!(out.next().unwrap().starts_with(begin));
}

#[tokio::test(start_paused = true)]
async fn a_connection_carries_one_request_after_the_other() {
    let far = Far::default();
    let closing = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nhi";
    let chunked: &[&'static str] = &[CHUNKS, "1\r\nh", "\r\n1\r\ni\r\n0\r\n", "\r\n"];
    let none: &[&'static str] = &["HTTP/1.1 204 No Content\r\n\r\n"];
    let pool = far.pool(vec![
        line(&[&[HI], chunked, none, &[closing]], Then::Stays),
        line(&[&[HI]], Then::Stays),
    ]);
    for text in ["hi", "hi", "", "hi", "hi"] {
        assert_eq!(ask(&pool).await.unwrap(), text);
    }
    let heard = far.heard();
    let counts: Vec<usize> = heard.iter().map(|text| text.matches("POST ").count()).collect();
    assert_eq!(counts, [4, 1], "one that is to be closed is not used again");
}

#[tokio::test(start_paused = true)]
async fn informational_heads_are_passed_and_not_without_end() {
    let interim = "HTTP/1.1 103 Early\r\nlink: x\r\n\r\n";
    let far = Far::default();
    let pool =
        far.pool(vec![line(&[&[interim, "HTTP/1.1 100 Con", "tinue\r\n\r\n", HI]], Then::Stays)]);
    assert_eq!(ask(&pool).await.unwrap(), "hi");
    let pool = far.pool(vec![line(&[&[interim; 20]], Then::Stays)]);
    let fault = ask(&pool).await.unwrap_err();
    assert_eq!((fault.at, fault.kind), (At::Request, Some(TransportKind::MalformedChunk)));
}

#[tokio::test(start_paused = true)]
async fn r48_only_a_used_connection_that_dies_before_any_byte_is_nobodys_fault() {
    for (lines, at) in [
        (vec![line(&[&[HI], &[]], Then::Closes)], At::Unserved),
        (vec![line(&[&[HI], &["HTTP/1.1 2"]], Then::Closes)], At::Request),
        (vec![line(&[&[HI], &["HTTP/1.1 100 Go\r\n\r\n"]], Then::Closes)], At::Request),
    ] {
        let pool = Far::default().pool(lines);
        assert_eq!(ask(&pool).await.unwrap(), "hi");
        let fault = ask(&pool).await.unwrap_err();
        assert_eq!((fault.at, fault.kind), (at, Some(TransportKind::Eof)));
    }
    let pool = Far::default().pool(vec![line(&[&[]], Then::Closes)]);
    let fault = ask(&pool).await.unwrap_err();
    assert_eq!((fault.at, fault.kind), (At::Request, Some(TransportKind::Eof)));
    let fault = ask(&pool).await.unwrap_err();
    assert_eq!((fault.at, fault.kind), (At::Connect, Some(TransportKind::Refused)));
}

#[tokio::test(start_paused = true)]
async fn r48_a_fresh_connection_is_asked_for_and_given() {
    let far = Far::default();
    let pool = far.pool(vec![line(&[&[HI], &[HI]], Then::Stays), line(&[&[HI]], Then::Stays)]);
    assert_eq!(ask(&pool).await.unwrap(), "hi");
    let exchange = Exchange::start(&pool, Reuse::Never, asked());
    assert_eq!(Sending::Own(Box::new(exchange)).answer().await.unwrap().status, 200);
    assert_eq!(far.heard().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_was_closed_meanwhile_or_said_too_much_is_not_used_again() {
    let too_much = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhiHTTP/1.1 200 OK\r\n\r\n";
    let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n!";
    let late: &[&'static str] = &[HI, "HTTP/1.1 200 OK\r\n\r\n"];
    for first in [
        line(&[&[HI]], Then::Closes),
        line(&[&[too_much]], Then::Stays),
        line(&[&[chunked]], Then::Stays),
        line(&[late], Then::Stays),
    ] {
        let far = Far::default();
        let pool = far.pool(vec![first, line(&[&[HI]], Then::Stays)]);
        assert_eq!(ask(&pool).await.unwrap(), "hi");
        sleep(Duration::from_millis(10)).await;
        assert_eq!(ask(&pool).await.unwrap(), "hi");
        assert_eq!(far.heard().len(), 2);
    }
}

#[tokio::test(start_paused = true)]
async fn k2_an_answer_that_breaks_off_never_ends_well() {
    let body = |text: &'static [&'static str]| line(&[text], Then::Closes);
    for (line, kind) in [
        (body(&["HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhal"]), TransportKind::Eof),
        (body(&[CHUNKS, "5\r\nhal"]), TransportKind::Eof),
        (body(&[CHUNKS, "5\r\nhallo\r\n"]), TransportKind::Eof),
        (body(&[CHUNKS, "0\r\n"]), TransportKind::Eof),
        (body(&[CHUNKS, "5\r\nhallooo"]), TransportKind::MalformedChunk),
    ] {
        let fault = ask(&Far::default().pool(vec![line])).await.unwrap_err();
        assert_eq!((fault.at, fault.kind), (At::Body, Some(kind)));
    }
    let whole = body(&["HTTP/1.1 200 OK\r\n\r\nhal", "lo"]);
    assert_eq!(ask(&Far::default().pool(vec![whole])).await.unwrap(), "hallo");
}

#[tokio::test(start_paused = true)]
async fn a_broken_head_is_known_at_once() {
    for text in
        ["SSH-2.0-x\r\n", "HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\n"]
    {
        let pool = Far::default().pool(vec![line(&[&[text]], Then::Stays)]);
        let soon = timeout(Duration::from_millis(100), ask(&pool)).await.expect("at once");
        let fault = soon.unwrap_err();
        assert_eq!((fault.at, fault.kind), (At::Request, Some(TransportKind::MalformedChunk)));
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_before_the_request_is_out_is_read_and_the_rest_is_not_sent() {
    let answer = "HTTP/1.1 413 Too Large\r\ncontent-length: 2\r\n\r\nno";
    let far = Far::default();
    let narrow = Line { room: 256, ..line(&[&[answer]], Then::Closes) };
    let pool = far.pool(vec![narrow, line(&[&[HI]], Then::Stays)]);
    let long = asked_with(&"x".repeat(100_000), HeaderList::new());
    let exchange = Exchange::start(&pool, Reuse::May, long);
    let answer = Sending::Own(Box::new(exchange)).answer().await.unwrap();
    assert_eq!(answer.status, 413);
    assert_eq!(answer.body.whole(100).await.unwrap().unwrap(), "no");
    assert_eq!(ask(&pool).await.unwrap(), "hi");
    assert_eq!(far.heard().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_body_larger_than_what_is_joined_goes_out_whole() {
    let far = Far::default();
    let pool = far.pool(vec![line(&[&[HI]], Then::Stays)]);
    let text = "x".repeat(200_000);
    let exchange = Exchange::start(&pool, Reuse::May, asked_with(&text, HeaderList::new()));
    assert_eq!(Sending::Own(Box::new(exchange)).answer().await.unwrap().status, 200);
    assert!(far.heard()[0].contains(&text));
}

#[tokio::test(start_paused = true)]
async fn g03_letting_go_closes_the_connection() {
    let far = Far::default();
    let pool =
        far.pool(vec![line(&[&[CHUNKS, "2\r\nhi\r\n"]], Then::Stays), line(&[&[]], Then::Stays)]);
    let mut answer = begin(&pool).await.unwrap();
    let first = poll_fn(|cx| answer.body.poll_piece(cx)).await.unwrap().unwrap();
    assert_eq!(first, "hi");
    drop(answer);
    far.closes(1).await;
    let waiting = timeout(Duration::from_secs(5), begin(&pool)).await;
    assert!(waiting.is_err(), "no answer comes");
    far.closes(2).await;
}

#[tokio::test(start_paused = true)]
async fn connections_that_rest_for_long_are_closed_and_nothing_looks_on_then() {
    let far = Far::default();
    let pool = far.pool(vec![line(&[&[HI]], Then::Stays)]);
    assert_eq!(ask(&pool).await.unwrap(), "hi");
    sleep(Duration::from_secs(24)).await;
    assert_eq!(*far.closed.lock().unwrap(), 0);
    sleep(Duration::from_secs(27)).await;
    far.closes(1).await;
}
