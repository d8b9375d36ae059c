//! Delays, to the millisecond of a paused clock.

use std::time::Duration;

use crate::client::{Way, played};

fn ms(times: &[u64]) -> Vec<Duration> {
    times.iter().copied().map(Duration::from_millis).collect()
}

#[tokio::test(start_paused = true)]
async fn a_stream_comes_at_its_pace() {
    let reply = played("ok:a b c | head:100 | first:1s | drip:50", Way::ChatStream).await;
    // Head, role chunk, three words, finish, usage, end.
    assert_eq!(reply.times, ms(&[100, 100, 1_100, 1_150, 1_200, 1_200, 1_200, 1_200]));
    let reply = played("ok:a b c | head:100 | first:1s | drip:50", Way::MessagesStream).await;
    // Head, message_start, ping, block start, three words, block stop, message_delta, message_stop.
    let words = [1_100, 1_150, 1_200, 1_200, 1_200, 1_200];
    assert_eq!(reply.times, ms(&[&[100, 100, 100, 100][..], &words].concat()));
}

#[tokio::test(start_paused = true)]
async fn a_whole_answer_takes_as_long_as_its_stream() {
    for way in Way::WHOLE {
        let reply = played("ok:a b c | head:100 | beats:1s/2s | first:1s | drip:50", way).await;
        assert_eq!(reply.times, ms(&[3_200]));
        assert_eq!(reply.said(way).text, "a b c");
    }
}

#[tokio::test(start_paused = true)]
async fn keep_alives_come_alone_until_their_time_is_over() {
    for way in Way::STREAMS {
        let reply = played("ok:a | beats:500/1800", way).await;
        let said = reply.said(way);
        let beat = if way.is_chat() { "comment" } else { "ping" };
        assert_eq!(said.names[..3], [beat, beat, beat]);
        assert_ne!(said.names[3], beat);
        assert_eq!(reply.times[..5], ms(&[0, 500, 1_000, 1_500, 1_800]));
        assert_eq!((said.text.as_str(), said.ended), ("a", true));
    }
}

#[tokio::test(start_paused = true)]
async fn a_malformed_chunk_does_not_change_the_pace() {
    let reply = played("ok:a b c | first:1s | drip:50 | malformed:2", Way::ChatStream).await;
    assert_eq!(reply.times[..6], ms(&[0, 0, 1_000, 1_050, 1_050, 1_100]));
}
