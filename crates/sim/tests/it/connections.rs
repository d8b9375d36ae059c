//! Connections, what the log tells of them, and real sockets.

use std::io::ErrorKind;
use std::time::Duration;

use ekiden_sim::{Endpoint, How, Upstream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use crate::client::{Client, Rig, Way, now, until};

#[tokio::test(start_paused = true)]
async fn a_connection_stays_for_the_next_request() {
    let mut rig = Rig::new("ok:one; 500; zero; eof:1; error; ok:six");
    let mut client = rig.open();
    for way in [Way::ALL, Way::ALL].concat().into_iter().take(6) {
        client.send(&way.request()).await;
        assert!(client.reply().await.whole);
    }
    let log = rig.upstream.log();
    assert_eq!((log.connections_total, log.connections_open, log.in_flight_max), (1, 1, 1));
    assert!(log.requests.iter().all(|seen| seen.connection == 0));
    assert!(log.requests.iter().all(|seen| seen.end.unwrap().how == How::Whole));
    drop(client);
    rig.until(|log| log.connections_open == 0).await;
}

#[tokio::test(start_paused = true)]
async fn a_connection_is_closed_when_either_side_says_so() {
    for way in Way::ALL {
        let mut rig = Rig::new("close; ok");
        let mut client = rig.open();
        client.send(&way.request()).await;
        let reply = client.reply().await;
        assert!(reply.whole && reply.header("connection") == Some("close"));
        assert!(!client.fill().await);
        let mut client = rig.open();
        let request = String::from_utf8(way.request()).unwrap();
        client.send(request.replace("X-Trace: One", "Connection: close").as_bytes()).await;
        assert!(client.reply().await.whole);
        assert!(!client.fill().await);
    }
}

#[tokio::test(start_paused = true)]
async fn a_reused_connection_dies_before_any_byte() {
    for way in Way::ALL {
        let mut rig = Rig::new("die-on-reuse | ok:one; ok:two");
        let mut client = rig.open();
        client.send(&way.request()).await;
        let reply = client.reply().await;
        assert_eq!((reply.said(way).text.as_str(), reply.header("connection")), ("one", None));
        assert_eq!(rig.upstream.log().connections_open, 1);
        client.send(b"P").await;
        assert_eq!(client.reply().await.code, None);
        let log = rig.until(|log| log.connections_open == 0).await;
        assert_eq!((log.died_on_reuse, log.requests.len()), (1, 1));
        assert_eq!(rig.ask(way).await.said(way).text, "two");
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_is_logged_as_it_was_sent() {
    for way in Way::ALL {
        let mut rig = Rig::new("ok:one two");
        rig.ask(way).await;
        let log = rig.until(|log| log.in_flight == 0).await;
        let seen = &log.requests[0];
        assert_eq!(seen.endpoint, if way.is_chat() { Endpoint::Chat } else { Endpoint::Messages });
        assert_eq!(seen.method, "POST");
        assert!(seen.path.starts_with("/v1/"));
        assert_eq!(seen.path.ends_with("?beta=true"), !way.is_chat());
        assert_eq!(seen.header("x-trace"), Some("One"));
        assert_eq!(seen.body, way.body().to_string());
        assert_eq!(seen.json(), way.body());
        assert_eq!((seen.model.as_deref(), seen.streaming), (Some("sim-a"), way.streams()));
        assert_eq!(seen.act, Some("ok:one two".parse().unwrap()));
        assert_eq!(seen.events > 0, way.streams());
        assert_eq!(seen.client_left_at(), None);
    }
}

#[tokio::test(start_paused = true)]
async fn written_bytes_are_all_that_came() {
    let mut rig = Rig::new("ok:one two | close");
    let mut client = rig.open();
    client.send(&Way::MessagesStream.request()).await;
    let mut all = Vec::new();
    client.io.read_to_end(&mut all).await.unwrap();
    assert_eq!(rig.upstream.log().requests[0].written, all.len() as u64);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_leaves_is_seen_at_once() {
    let acts = ["hang", "silent", "first:1m", "head:1m", "drip:1m", "beats:50s/2m", "silence:1"];
    for act in acts {
        for way in Way::ALL {
            let mut rig = Rig::new(act);
            let mut client = rig.open();
            client.send(&way.request()).await;
            rig.until(|log| log.requests.iter().any(|seen| seen.act.is_some())).await;
            tokio::time::advance(Duration::from_secs(20)).await;
            let left = now();
            drop(client);
            let log = rig.until(|log| log.requests[0].end.is_some()).await;
            assert_eq!(log.requests[0].client_left_at(), Some(left), "{act} {way:?}");
            rig.until(|log| log.connections_open == 0).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_leaves_in_the_middle_of_its_request_is_seen() {
    let mut rig = Rig::new("ok");
    let mut client = rig.open();
    let request = Way::ChatStream.request();
    client.send(&request[..request.len() - 1]).await;
    rig.until(|log| log.in_flight == 1).await;
    drop(client);
    let log = rig.until(|log| log.in_flight == 0).await;
    assert_eq!(log.requests[0].end.unwrap().how, How::ClientGone);
    assert_eq!(log.requests[0].act, None);
}

#[tokio::test(start_paused = true)]
async fn requests_at_once_are_counted() {
    let mut rig = Rig::new("first:5s");
    let mut clients = vec![rig.open(), rig.open(), rig.open()];
    for client in &mut clients {
        client.send(&Way::ChatStream.request()).await;
    }
    rig.until(|log| log.in_flight == 3).await;
    for client in &mut clients {
        assert!(client.reply().await.whole);
    }
    let log = rig.upstream.log();
    assert_eq!((log.in_flight, log.in_flight_max, log.connections_total), (0, 3, 3));
}

#[tokio::test(start_paused = true)]
async fn the_log_can_forget() {
    let mut rig = Rig::new("ok; hang; ok");
    rig.ask(Way::ChatWhole).await;
    let mut hanging = rig.open();
    hanging.send(&Way::ChatWhole.request()).await;
    rig.until(|log| log.in_flight == 1).await;
    rig.upstream.forget();
    let log = rig.upstream.log();
    assert_eq!((log.requests.len(), log.forgotten), (0, 2));
    assert_eq!((log.in_flight, log.in_flight_max), (1, 1));
    drop(hanging);
    rig.until(|log| log.in_flight == 0).await;
    rig.upstream.keep(2);
    for _ in 0..3 {
        rig.ask(Way::ChatWhole).await;
    }
    let log = rig.until(|log| log.in_flight == 0).await;
    let numbers: Vec<usize> = log.requests.iter().map(|seen| seen.number).collect();
    assert_eq!((numbers, log.forgotten), (vec![3, 4], 3));
    assert!(log.requests.iter().all(|seen| seen.end.unwrap().how == How::Whole));
}

#[tokio::test(start_paused = true)]
async fn a_stopped_upstream_says_so_in_the_log() {
    let mut rig = Rig::new("hang");
    let mut client = rig.open();
    client.send(&Way::ChatWhole.request()).await;
    rig.until(|log| log.in_flight == 1).await;
    rig.stop();
    let log = rig.until(|log| log.connections_open == 0).await;
    assert_eq!(log.requests[0].end.unwrap().how, How::Stopped);
}

#[tokio::test(start_paused = true)]
async fn a_reset_comes_before_the_body_or_after_it() {
    for way in Way::ALL {
        let mut rig = Rig::new("reset-head; reset");
        let request = way.request();
        let head_bytes = request.windows(4).position(|part| part == b"\r\n\r\n").unwrap() + 4;
        assert_eq!(rig.send(&request[..head_bytes]).await.code, None);
        assert_eq!(rig.send(&request).await.code, None);
        let log = rig.until(|log| log.in_flight == 0).await;
        assert!(log.requests.iter().all(|seen| seen.end.unwrap().how == How::Broken));
        assert!(log.requests.iter().all(|seen| seen.written == 0));
        assert!(log.requests[0].body.is_empty());
        assert_eq!(log.requests[1].body, way.body().to_string());
    }
}

#[tokio::test(start_paused = true)]
async fn an_early_reset_is_not_anothers_while_models_have_scripts() {
    let mut rig = Rig::new("reset-head");
    rig.upstream.script_for("sim-b", "ok:fine".parse().unwrap());
    for way in Way::ALL {
        let mut body = way.body();
        body["model"] = "sim-b".into();
        assert_eq!(rig.send(&way.request_of(&body)).await.said(way).text, "fine");
        assert_eq!(rig.ask(way).await.code, None);
    }
}

#[tokio::test(start_paused = true)]
async fn bodies_come_in_chunks_or_when_invited() {
    let body = Way::ChatWhole.body().to_string();
    let (first, rest) = body.split_at(9);
    let mut rig = Rig::new("ok:fine");
    let mut client = rig.open();
    let head = "POST /v1/chat/completions HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
    let chunks = format!("9;x=y\r\n{first}\r\n{:X}\r\n{rest}\r\n0\r\nx-end: 1\r\n\r\n", rest.len());
    client.send(format!("{head}{chunks}").as_bytes()).await;
    assert_eq!(client.reply().await.said(Way::ChatWhole).text, "fine");
    let length = body.len();
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: {length}\r\n\r\n"
    );
    client.send(head.as_bytes()).await;
    assert_eq!(client.reply().await.code, Some(100));
    client.send(body.as_bytes()).await;
    assert_eq!(client.reply().await.said(Way::ChatWhole).text, "fine");
    let log = rig.upstream.log();
    assert_eq!(log.requests[0].body, log.requests[1].body);
}

#[tokio::test(start_paused = true)]
async fn requests_sent_ahead_are_answered_in_turn() {
    let mut rig = Rig::new("ok:one | drip:1s; ok:two");
    let mut client = rig.open();
    client.send(&[Way::ChatStream.request(), Way::ChatWhole.request()].concat()).await;
    assert_eq!(client.reply().await.said(Way::ChatStream).text, "one");
    assert_eq!(client.reply().await.said(Way::ChatWhole).text, "two");
}

#[tokio::test(start_paused = true)]
async fn what_is_no_http_is_dropped() {
    let mut rig = Rig::new("ok");
    assert_eq!(rig.send(b"\x16\x03\x01 hello\r\n\r\n").await.code, None);
    let bad_length = b"POST /v1/messages HTTP/1.1\r\nContent-Length: many\r\n\r\n";
    assert_eq!(rig.send(bad_length).await.code, None);
    let bad_chunk = b"POST /v1/messages HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n";
    assert_eq!(rig.send(bad_chunk).await.code, None);
    let log = rig.until(|log| log.connections_open == 0).await;
    assert_eq!(log.requests.len(), 1);
    assert_eq!(log.requests[0].end.unwrap().how, How::Unreadable);
}

#[tokio::test(start_paused = true)]
async fn a_head_request_gets_a_head() {
    let mut rig = Rig::new("ok");
    let mut client = rig.open();
    client.send(b"HEAD /api/hello HTTP/1.1\r\n\r\n").await;
    let mut all = vec![0; 4096];
    let count = client.io.read(&mut all).await.unwrap();
    let text = String::from_utf8_lossy(&all[..count]).into_owned();
    assert!(text.starts_with("HTTP/1.1 404 ") && text.ends_with("\r\n\r\n"), "{text}");
}

#[tokio::test]
async fn it_all_works_on_real_sockets() {
    let script = "think:Hm. | ok:One two; cut:2; reset; reset-head; die-on-reuse; hang";
    let upstream = Upstream::new(script.parse().unwrap());
    let (listener, address) = Upstream::bind().await.unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let mut serving = JoinSet::new();
    serving.spawn(upstream.clone().run(listener, async { stopped.await.unwrap_or_default() }));
    let way = Way::ChatStream;

    let mut client = Client::new(TcpStream::connect(address).await.unwrap());
    client.send(&way.request()).await;
    assert_eq!(client.reply().await.said(way).text, "One two");
    client.send(&way.request()).await;
    let cut = client.reply().await;
    assert!(!cut.whole && cut.said(way).text.split(' ').count() == 3);

    for _ in 0..2 {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(&way.request()).await.unwrap();
        let error = stream.read_u8().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    }

    let mut client = Client::new(TcpStream::connect(address).await.unwrap());
    client.send(&way.request()).await;
    assert!(client.reply().await.whole);
    client.send(&way.request()).await;
    assert_eq!(client.reply().await.code, None);

    let mut client = Client::new(TcpStream::connect(address).await.unwrap());
    client.send(&way.request()).await;
    until(&upstream, |log| log.in_flight == 1).await;
    drop(client);
    let log = until(&upstream, |log| log.in_flight == 0).await;
    assert!(log.requests.last().unwrap().client_left_at().is_some());
    assert_eq!((log.requests.len(), log.died_on_reuse), (6, 1));

    let mut waiting = Client::new(TcpStream::connect(address).await.unwrap());
    waiting.send(&way.request()).await;
    until(&upstream, |log| log.in_flight == 1).await;
    stop.send(()).unwrap();
    serving.join_next().await.unwrap().unwrap();
    assert_eq!(waiting.reply().await.code, None);
    until(&upstream, |log| log.connections_open == 0).await;
}
