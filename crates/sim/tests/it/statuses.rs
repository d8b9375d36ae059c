//! HTTP errors.

use ekiden_sim::{Script, Status, Trouble, Upstream};

use crate::client::{Rig, Way, played};

const CODES: [u16; 19] =
    [400, 401, 402, 403, 404, 408, 409, 413, 422, 425, 429, 451, 499, 500, 502, 503, 504, 524, 529];

#[tokio::test(start_paused = true)]
async fn every_status_has_the_dialects_body() {
    for way in Way::ALL {
        for code in CODES {
            let reply = played(&code.to_string(), way).await;
            assert_eq!((reply.code, reply.whole), (Some(code), true));
            let body = reply.json();
            assert!(body["error"]["message"].is_string(), "{way:?} {code}");
            assert!(body["error"]["type"].is_string());
            assert_eq!(body["type"] == "error", !way.is_chat());
            assert_eq!(reply.header("retry-after"), None);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_wait_is_named_as_written() {
    for way in Way::ALL {
        assert_eq!(played("429:2", way).await.header("retry-after"), Some("2"));
        let date = "Wed, 21 Oct 2026 07:28:00 GMT";
        let reply = played(&format!("503:{date}"), way).await;
        assert_eq!((reply.code, reply.header("retry-after")), (Some(503), Some(date)));
    }
}

#[tokio::test(start_paused = true)]
async fn the_named_refusals_have_their_words() {
    for way in Way::ALL {
        let overflow = played("overflow", way).await;
        assert_eq!(overflow.code, Some(400));
        let words = if way.is_chat() { "context_length_exceeded" } else { "prompt is too long: " };
        assert!(overflow.text().contains(words));
        let filter = played("filter", way).await;
        assert_eq!(filter.code, Some(400));
        assert!(filter.text().contains("filter"));
        let quota = played("quota", way).await;
        assert_eq!(quota.code, Some(429));
        let words = if way.is_chat() { "insufficient_quota" } else { "billing_error" };
        assert!(quota.text().contains(words));
    }
}

#[tokio::test(start_paused = true)]
async fn body_and_headers_can_be_replaced() {
    for way in Way::ALL {
        let act = "500 | body:<h1>Oh no</h1> | header:Content-Type=text/html | header:x-a=b=c";
        let reply = played(act, way).await;
        assert_eq!(reply.text(), "<h1>Oh no</h1>");
        assert_eq!(reply.header("content-type"), None);
        assert_eq!(reply.header("Content-Type"), Some("text/html"));
        assert_eq!(reply.header("x-a"), Some("b=c"));
        let other = played("400 | trouble:auth", way).await;
        assert_eq!((other.code, other.json()), (Some(400), played("401", way).await.json()));
    }
}

#[tokio::test(start_paused = true)]
async fn every_trouble_has_a_body_of_its_own() {
    let all = [
        Trouble::RateLimited,
        Trouble::Overloaded,
        Trouble::ServerError,
        Trouble::Timeout,
        Trouble::Quota,
        Trouble::Auth,
        Trouble::Forbidden,
        Trouble::NotFound,
        Trouble::Invalid,
        Trouble::Prefill,
        Trouble::ContextOverflow,
        Trouble::TooLarge,
        Trouble::ContentFilter,
    ];
    for way in Way::WHOLE {
        let mut messages: Vec<String> = Vec::new();
        for trouble in all {
            let mut rig = Rig::of(Upstream::new(Script::always(Status::of(trouble))));
            let reply = rig.ask(way).await;
            assert_eq!(reply.code, Some(trouble.code()));
            messages.push(reply.json()["error"]["message"].to_string());
        }
        messages.sort();
        messages.dedup();
        assert_eq!(messages.len(), all.len());
    }
}

#[tokio::test(start_paused = true)]
async fn a_status_without_a_body_has_none() {
    let mut rig = Rig::new("304; ok:next");
    let mut client = rig.open();
    client.send(&Way::ChatWhole.request()).await;
    let reply = client.reply().await;
    assert_eq!((reply.code, reply.header("content-length")), (Some(304), None));
    client.send(&Way::ChatWhole.request()).await;
    assert_eq!(client.reply().await.said(Way::ChatWhole).text, "next");
}
