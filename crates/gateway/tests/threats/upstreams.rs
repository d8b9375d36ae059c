//! Answers that could be read in two ways, that never end, or that lead elsewhere (G9, G14, R11, R48).

use crate::hostile::{BODY, STREAMED, Then, exchange, framed, gateway, good, plain, upstream};

/// Whether the second candidate answered a whole call, and nothing of the first went out.
async fn passed_over(first: Then) -> Result<(), String> {
    let (bad, asked) = upstream(vec![first]).await;
    let (other, _) = upstream(vec![Then::Says(good("from the second"))]).await;
    let running = gateway(&[&bad, &other]).await;
    let answer = exchange(&running, &plain(BODY)).await;
    running.shutdown().await;
    let asked = asked.lock().expect("nobody panics").len();
    if asked == 1 && answer.contains("from the second") && !answer.contains("forged") {
        Ok(())
    } else {
        Err(format!("asked {asked} times: {answer}"))
    }
}

#[tokio::test]
async fn g14_an_answer_that_could_be_read_in_two_ways_is_a_failure() {
    let body = String::from_utf8(good("forged")).expect("text");
    let body = body.split_once("\r\n\r\n").expect("a body").1.to_owned();
    let length = body.len();
    for lines in [
        format!("content-length: {length}\r\ncontent-length: 3"),
        format!("content-length: {length}, 3"),
        format!("content-length: +{length}"),
        format!("content-length: {length}\r\nx: a\0b"),
        format!("content-length: {length}\r\nx y: 1"),
        "transfer-encoding: chunked\r\ntransfer-encoding: gzip".to_owned(),
    ] {
        let told = passed_over(Then::Says(framed(&lines, &body))).await;
        assert_eq!(told, Ok(()), "{lines}");
    }
    for chunks in
        [format!("+{length:x}\r\n{body}\r\n0\r\n\r\n"), "ffffffffffffffffff\r\n".to_owned()]
    {
        let told = passed_over(Then::Says(framed("transfer-encoding: chunked", &chunks))).await;
        assert_eq!(told, Ok(()), "{chunks}");
    }
}

#[tokio::test]
async fn r48_an_answer_that_nobody_asked_for_is_never_taken_for_the_next_call_s() {
    let mut two = good("the first");
    two.extend(good("forged"));
    let (address, seen) = upstream(vec![Then::Says(two), Then::Says(good("the second"))]).await;
    let running = gateway(&[&address]).await;
    let first = exchange(&running, &plain(BODY)).await;
    assert!(first.contains("the first") && !first.contains("forged"), "{first}");
    let second = exchange(&running, &plain(BODY)).await;
    assert!(second.contains("the second") && !second.contains("forged"), "{second}");
    assert_eq!(seen.lock().expect("nobody panics").len(), 2);
    running.shutdown().await;
}

#[tokio::test]
async fn g09_a_redirect_is_never_followed() {
    let (trap, asked) = upstream(vec![Then::Says(good("forged"))]).await;
    for status in ["301 Moved", "302 Found", "303 See Other", "307 Temporary", "308 Permanent"] {
        for target in [
            format!("http://{trap}/v1/chat/completions"),
            "http://169.254.169.254/latest/meta-data".to_owned(),
        ] {
            let answer =
                format!("HTTP/1.1 {status}\r\nlocation: {target}\r\ncontent-length: 0\r\n\r\n");
            let told = passed_over(Then::Says(answer.into_bytes())).await;
            assert_eq!(told, Ok(()), "{status} {target}");
        }
    }
    assert!(asked.lock().expect("nobody panics").is_empty(), "somebody followed");
}

#[tokio::test]
async fn g14_an_endless_head_is_cut_off_and_passed_over() {
    let start = b"HTTP/1.1 200 OK\r\n".to_vec();
    let line = format!("x-more: {}\r\n", "a".repeat(4_000)).into_bytes();
    assert_eq!(passed_over(Then::SaysForEver(start.clone(), line)).await, Ok(()), "many lines");
    let letters = vec![b'a'; 65_536];
    assert_eq!(passed_over(Then::SaysForEver(start, letters.clone())).await, Ok(()), "one line");
    assert_eq!(passed_over(Then::SaysForEver(Vec::new(), letters)).await, Ok(()), "no answer");
}

#[tokio::test]
async fn r11_informational_answers_without_end_are_passed_over() {
    let early = b"HTTP/1.1 103 Early Hints\r\nlink: <a>\r\n\r\n".to_vec();
    let told = passed_over(Then::SaysForEver(Vec::new(), early)).await;
    assert_eq!(told, Ok(()));
}

#[tokio::test]
async fn g14_an_endless_event_is_cut_off_and_passed_over() {
    let head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: ".to_vec();
    let (bad, _) = upstream(vec![Then::SaysForEver(head, vec![b'a'; 65_536])]).await;
    let stream = "data: {\"id\":\"a\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"from the second\"},\
        \"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close";
    let good = format!("{head}\r\ncontent-length: {}\r\n\r\n{stream}", stream.len());
    let (other, _) = upstream(vec![Then::Says(good.into_bytes())]).await;
    let running = gateway(&[&bad, &other]).await;
    let answer = exchange(&running, &plain(STREAMED)).await;
    assert!(answer.contains("from the second") && answer.contains("[DONE]"), "{answer:.2000}");
    running.shutdown().await;
}
