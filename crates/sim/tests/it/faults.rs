//! Answers that go wrong: what comes is exactly what was meant to come.

use std::time::Duration;

use ekiden_sim::{Answer, DEFAULT_TEXT, Fault, How, Script, Upstream};
use tokio::time::timeout;

use crate::client::{Rig, Way, played};

const DAY: Duration = Duration::from_secs(86_400);

#[tokio::test(start_paused = true)]
async fn a_cut_stream_stops_after_so_many_chunks() {
    for way in Way::STREAMS {
        let reply = played("ok:one two three four | cut:2", way).await;
        let said = reply.said(way);
        assert_eq!(reply.code, Some(200));
        assert!(!reply.whole);
        assert_eq!((said.text.as_str(), said.finish, said.ended), ("one two ", None, false));
        let opening = played("ok:one two | cut:0", way).await.said(way);
        assert_eq!(
            opening.names,
            if way.is_chat() { vec!["data"] } else { vec!["message_start", "ping"] }
        );
        let all = played("ok:one two | cut:9", way).await.said(way);
        assert_eq!((all.text.as_str(), all.finish), ("one two", None));
    }
}

#[tokio::test(start_paused = true)]
async fn a_cut_whole_answer_is_shorter_than_declared() {
    for way in Way::WHOLE {
        let full = played("ok", way).await;
        let reply = played("cut:2", way).await;
        assert!(!reply.whole);
        assert_eq!(reply.header("content-length"), full.header("content-length"));
        assert_eq!(reply.body, full.body[..full.body.len() / 2]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_torn_stream_stops_inside_an_event() {
    for way in Way::STREAMS {
        let full = played("ok:one two three", way).await;
        let cut = played("ok:one two three | cut:1", way).await;
        let reply = played("ok:one two three | torn:1", way).await;
        assert!(!reply.whole && full.body.starts_with(&reply.body), "{way:?}");
        assert!(reply.body.len() > cut.body.len(), "{way:?}");
        assert!(!reply.body.ends_with(b"\n\n"), "{way:?}");
    }
    for way in Way::WHOLE {
        assert_eq!(played("torn:1", way).await.body, played("cut:1", way).await.body);
    }
}

#[tokio::test(start_paused = true)]
async fn a_reset_and_bad_framing_leave_what_came_before() {
    for act in ["reset-after:1", "bad-framing:1"] {
        for way in Way::STREAMS {
            let reply = played(&format!("ok:one two three | {act}"), way).await;
            assert!(!reply.whole, "{act} {way:?}");
            assert_eq!(reply.said(way).text, "one ", "{act} {way:?}");
        }
        for way in Way::WHOLE {
            let full = played("ok", way).await;
            let reply = played(act, way).await;
            assert!(!reply.whole, "{act} {way:?}");
            assert_eq!(reply.body, full.body[..full.body.len() / 2], "{act} {way:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn small_bites_make_the_same_answer() {
    for way in Way::ALL {
        let reply = played("ok:one two three | bite:3", way).await;
        assert_eq!(reply.body, played("ok:one two three", way).await.body, "{way:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_clean_end_too_early_is_clean_only_for_http() {
    for way in Way::ALL {
        let reply = played("ok:one two three | eof:1", way).await;
        let said = reply.said(way);
        assert!(reply.whole, "{way:?}");
        assert_eq!((said.ended, said.finish), (false, None));
        if way.streams() {
            assert_eq!((said.text.as_str(), said.broken), ("one ", 0));
        } else {
            assert_eq!(said.broken, 1);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn no_end_leaves_out_the_terminal_event_alone() {
    for way in Way::STREAMS {
        let reply = played("no-end", way).await;
        let said = reply.said(way);
        assert!(reply.whole);
        assert_eq!((said.text.as_str(), said.ended), (DEFAULT_TEXT, false));
        assert!(said.finish.is_some() && said.usage.is_some());
    }
    for way in Way::WHOLE {
        assert_eq!(played("no-end", way).await.body, played("ok", way).await.body);
    }
}

#[tokio::test(start_paused = true)]
async fn silence_lasts_as_long_as_it_is_told() {
    for way in Way::ALL {
        let mut rig = Rig::new("ok:one two three | silence:2/60s");
        let reply = rig.ask(way).await;
        assert!(!reply.whole && reply.code == Some(200), "{way:?}");
        assert!(!way.streams() || reply.said(way).text == "one two ");
        let log = rig.until(|log| log.requests[0].end.is_some()).await;
        let seen = &log.requests[0];
        assert_eq!(seen.end.unwrap().at - seen.at, Duration::from_secs(60));
        assert_eq!(seen.end.unwrap().how, How::Broken);
        assert!(timeout(DAY, played("silence:2", way)).await.is_err(), "{way:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_malformed_chunk_stands_between_whole_ones() {
    for way in Way::STREAMS {
        for at in [0, 1, 3, 9] {
            let reply = played(&format!("ok:one two three | malformed:{at}"), way).await;
            let said = reply.said(way);
            assert!(reply.whole && said.ended && said.finish.is_some(), "{way:?} {at}");
            assert_eq!((said.text.as_str(), said.broken), ("one two three", 1));
        }
    }
    for way in Way::WHOLE {
        let reply = played("malformed:1", way).await;
        assert_eq!((reply.whole, reply.said(way).broken), (true, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn a_mangled_chunk_takes_its_word_along() {
    for way in Way::STREAMS {
        for (at, left) in [(0, "two three"), (1, "one three"), (2, "one two "), (9, "one two ")] {
            let reply = played(&format!("ok:one two three | mangled:{at}"), way).await;
            let said = reply.said(way);
            assert!(reply.whole && said.ended, "{way:?} {at}");
            assert_eq!((said.text.as_str(), said.broken), (left, 1), "{way:?} {at}");
        }
    }
    for way in Way::WHOLE {
        let reply = played("mangled:1", way).await;
        assert_eq!((reply.whole, reply.said(way).broken), (true, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn a_mangled_tool_call_has_no_whole_arguments() {
    for way in Way::ALL {
        let reply =
            played("ok:Now. | tool:read {\"path\":\"notes/a.txt\"} | mangled-tool", way).await;
        let said = reply.said(way);
        assert!(reply.whole && said.ended, "{way:?}");
        assert_eq!(said.text, "Now.");
        assert_eq!(said.tools[0].0, "read");
        let read: Result<serde_json::Value, _> = serde_json::from_str(&said.tools[0].1);
        assert!(read.is_err(), "{way:?}: {:?}", said.tools);
        assert_eq!(said.broken, usize::from(way.streams()));
        // The chunks around the broken one come as they are.
        assert!(!way.streams() || said.tools[0].1 == r#"{"path":.txt"}"#);
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_event_stands_where_it_is_put() {
    for way in Way::STREAMS {
        let first = played("error:overloaded", way).await;
        let said = first.said(way);
        assert_eq!((first.code, first.whole), (Some(200), true));
        assert_eq!(said.names, [if way.is_chat() { "data" } else { "error" }]);
        assert!(said.error.unwrap().to_lowercase().contains("overloaded"));
        let started = played("error-after:0/quota", way).await.said(way);
        assert_eq!(started.names.len(), if way.is_chat() { 2 } else { 3 });
        assert!(started.error.is_some() && started.text.is_empty());
        let spoken = played("ok:one two three | error-after:2", way).await.said(way);
        assert_eq!((spoken.text.as_str(), spoken.ended), ("one two ", false));
        assert_eq!((spoken.finish, spoken.error.is_some()), (None, true));
    }
    for way in Way::WHOLE {
        for act in ["error", "error-after:2/server"] {
            let reply = played(act, way).await;
            assert_eq!((reply.code, reply.whole), (Some(200), true));
            assert!(reply.said(way).error.is_some(), "{way:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_endless_answer_ends_with_the_client_alone() {
    for way in Way::ALL {
        let mut rig = Rig::new("ok:on and on | endless");
        let mut client = rig.open();
        client.send(&way.request()).await;
        let mut read = 0;
        while read < 2_000 {
            assert!(client.fill().await, "{way:?}");
            read += 1;
        }
        drop(client);
        let log = rig.until(|log| log.requests[0].end.is_some()).await;
        assert_eq!(log.requests[0].end.unwrap().how, How::ClientGone);
        assert!(log.requests[0].written > 2_000);
        assert!(timeout(DAY, played("endless | drip:1m", way)).await.is_err());
    }
}

#[tokio::test(start_paused = true)]
async fn a_wrong_length_is_wrong_by_as_much() {
    for way in Way::ALL {
        let full = played("ok", way).await.body.len();
        let more = played("wrong-length:16", way).await;
        assert_eq!(more.header("content-length"), Some((full + 16).to_string().as_str()));
        assert_eq!((more.body.len(), more.whole), (full, false), "{way:?}");
        let less = played("wrong-length:-16", way).await;
        assert_eq!(less.header("content-length"), Some((full - 16).to_string().as_str()));
        assert_eq!((less.body.len(), less.whole), (full - 16, true), "{way:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_fault_and_a_coding_go_together() {
    for way in Way::STREAMS {
        let answer = Answer::default().fault(Fault::Cut { after: 3 });
        let plain = Rig::of(Upstream::new(Script::always(answer.clone()))).ask(way).await;
        let coded = answer.coding(ekiden_sim::Coding::Gzip);
        let coded = Rig::of(Upstream::new(Script::always(coded))).ask(way).await;
        let mut text = Vec::new();
        let mut decoder = flate2::read::GzDecoder::new(&coded.body[..]);
        // The trailer is there; only the answer is cut.
        std::io::copy(&mut decoder, &mut text).unwrap();
        assert_eq!(text, plain.body);
        assert!(!coded.whole);
    }
}

#[tokio::test(start_paused = true)]
async fn a_page_or_nothing_comes_with_200() {
    for way in Way::ALL {
        let page = played("html", way).await;
        assert_eq!((page.code, page.whole), (Some(200), true));
        assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
        assert!(page.text().starts_with("<!DOCTYPE html>"));
        let nothing = played("zero", way).await;
        assert_eq!((nothing.code, nothing.whole, nothing.body.len()), (Some(200), true, 0));
        assert_eq!(nothing.header("content-type"), played("ok", way).await.header("content-type"));
    }
}

#[tokio::test(start_paused = true)]
async fn hanging_and_silent_upstreams_never_end_by_themselves() {
    for way in Way::ALL {
        let mut rig = Rig::new("hang; silent");
        let mut client = rig.open();
        client.send(&way.request()).await;
        assert!(timeout(DAY, client.reply()).await.is_err());
        assert_eq!(rig.upstream.log().requests[0].written, 0);
        let mut client = rig.open();
        client.send(&way.request()).await;
        assert!(timeout(DAY, client.reply()).await.is_err());
        assert!(rig.upstream.log().requests[1].written > 0);
        assert_eq!(rig.upstream.log().requests[1].events, 0);
    }
}
