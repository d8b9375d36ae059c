//! Requests that two servers could read as two different ones, and what a client puts into names (G9, G14).

use crate::hostile::{BODY, Then, call, exchange, gateway, good, plain, upstream};

/// Heads that are no request, whatever follows.
fn broken() -> Vec<Vec<u8>> {
    let length = BODY.len();
    let chunked = format!("{length:x}\r\n{BODY}\r\n0\r\n\r\n");
    vec![
        call(&format!("content-length: {length}\r\ncontent-length: 4\r\n"), BODY),
        call(&format!("content-length: {length}, 4\r\n"), BODY),
        call(&format!("content-length: +{length}\r\n"), BODY),
        call(&format!("content-length: -{length}\r\n"), BODY),
        call(&format!("content-length: 0x{length:x}\r\n"), BODY),
        call(&format!("content-length : {length}\r\n"), BODY),
        call(&format!("content-length: {length}\r\nx-folded: a\r\n b\r\n"), BODY),
        call(&format!("content-length: {length}\r\n x: a\r\n"), BODY),
        call(&format!("content-length: {length}\r\nx-zero: a\0b\r\n"), BODY),
        call(&format!("content-length: {length}\r\nx-return: a\rb\r\n"), BODY),
        call(&format!("content-length: {length}\r\nhost: evil.example\r\n"), BODY),
        call("transfer-encoding: xchunked\r\n", &chunked),
        call("transfer-encoding: chunked, identity\r\n", &chunked),
        call("transfer-encoding: identity\r\n", &chunked),
        call("transfer-encoding : chunked\r\n", &chunked),
        call("transfer-encoding: chunked\r\n", &format!("+{chunked}")),
        call("transfer-encoding: chunked\r\n", &format!("0x{chunked}")),
        call("transfer-encoding: chunked\r\n", "ffffffffffffffffff\r\n"),
        format!("POST /v1/chat/completions HTTP/1.0\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n{chunked}")
            .into_bytes(),
        format!("POST /v1/chat/completions HTTP/3.7\r\nhost: localhost\r\ncontent-length: {length}\r\n\r\n{BODY}")
            .into_bytes(),
        format!("POST  /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: {length}\r\n\r\n{BODY}")
            .into_bytes(),
    ]
}

#[tokio::test]
async fn g09_a_request_that_could_be_read_in_two_ways_is_refused() {
    let (address, seen) = upstream(vec![Then::Says(good("fine"))]).await;
    let running = gateway(&[&address]).await;
    for request in broken() {
        let answer = exchange(&running, &request).await;
        let shown = String::from_utf8_lossy(&request);
        let refused = answer.is_empty() || answer.starts_with("HTTP/1.1 4");
        assert!(refused, "{shown}\n-> {answer}");
        assert!(answer.matches("HTTP/1.1 ").count() <= 1, "read on after {shown}\n-> {answer}");
        assert!(seen.lock().expect("nobody panics").is_empty(), "went upstream: {shown}");
    }
    assert!(exchange(&running, &plain(BODY)).await.contains("fine"), "it goes on serving");
    running.shutdown().await;
}

#[tokio::test]
async fn g14_what_goes_upstream_is_framed_anew_and_holds_one_request() {
    let inner = "GET /v1/models HTTP/1.1\r\nhost: upstream\r\n\r\n";
    let body = format!(
        r#"{{"model":"default","messages":[{{"role":"user","content":{}}}]}}"#,
        serde_json::to_string(inner).expect("a string")
    );
    let chunked = format!("{:x};x=\"y\"\r\n{body}\r\n0\r\nx-trailer: smuggled\r\n\r\n", body.len());
    let (address, seen) = upstream(vec![Then::Says(good("fine"))]).await;
    let running = gateway(&[&address]).await;
    // A length behind the chunks' announcement is not read: the chunks alone say where it ends.
    let lines = "connection: x-secret\r\nx-secret: 1\r\ntransfer-encoding: chunked\r\n\
        content-length: 7\r\ntrailer: x-trailer\r\nte: trailers\r\nupgrade: h2c\r\nexpect: 100-continue\r\n";
    let answer = exchange(&running, &call(lines, &chunked)).await;
    assert!(answer.contains("fine"), "{answer}");
    let seen = seen.lock().expect("nobody panics").clone();
    assert_eq!(seen.len(), 1, "{seen:?}");
    let (head, _) = seen[0].split_once("\r\n\r\n").expect("a head");
    let head = head.to_ascii_lowercase();
    assert!(head.contains("\r\ncontent-length: "), "{head}");
    for gone in ["transfer-encoding", "trailer", "x-secret", "upgrade", "expect", "\r\nte:"] {
        assert!(!head.contains(gone), "{gone} went upstream: {head}");
    }
    running.shutdown().await;
}

#[tokio::test]
async fn g14_names_that_hold_line_ends_make_no_header() {
    let (address, seen) = upstream(vec![Then::Says(good("fine"))]).await;
    let running = gateway(&[&address]).await;
    let evil = r"default\r\nx-injected: 1\r\n\r\nHTTP/1.1 200 OK";
    for body in [
        BODY.replace("default", evil),
        BODY.replace("default", &format!("p0/{evil}")),
        BODY.replace('{', &format!("{{\"user\":\"{evil}\",")).replacen(
            "\"user\"",
            "\"safety_identifier\"",
            1,
        ),
        BODY.replace("\"model\"", &format!("\"prompt_cache_key\":\"{evil}\",\"model\"")),
    ] {
        let answer = exchange(&running, &plain(&body)).await;
        let (head, _) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        assert!(head.starts_with("HTTP/1.1 "), "{answer}");
        assert!(!head.to_ascii_lowercase().contains("\nx-injected"), "{answer}");
    }
    for request in seen.lock().expect("nobody panics").iter() {
        let (head, _) = request.split_once("\r\n\r\n").expect("a head");
        assert!(!head.to_ascii_lowercase().contains("x-injected"), "{request}");
    }
    running.shutdown().await;
}
