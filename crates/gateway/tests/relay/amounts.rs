//! What a call used, as the ledger has it (R34): told by the upstream, else estimated from what the
//! model wrote and from nothing around it.

use ekiden_engine::Class;
use ekiden_store::{AttemptRow, AttemptState, Tokens};

use super::stage::{Dialect, Setting, Stage, Trouble, Way};

/// A quarter of the bytes of what a model wrote.
fn estimated(written: &str) -> Tokens {
    Tokens::Estimated(written.len().div_ceil(4) as u64)
}

/// The one attempt that was made.
#[track_caller]
fn only(stage: &Stage) -> AttemptRow {
    let rows = stage.ledger();
    assert_eq!(rows.len(), 1, "{:?}: {rows:?}", stage.way);
    rows.into_iter().next().unwrap()
}

#[tokio::test(start_paused = true)]
async fn r34_what_nobody_counted_is_estimated_from_the_words_alone() {
    for way in Way::ALL {
        for (script, written) in [
            ("ok:The \"sash\" is handed on: 接力.", "The \"sash\" is handed on: 接力."),
            ("ok:a", "a"),
            ("think:Let me see who runs. | ok:Yes.", "Let me see who runs.Yes."),
            ("tool:read {\"path\":\"the/way/to/a.txt\"}", "read{\"path\":\"the/way/to/a.txt\"}"),
            (
                "think:Who? | ok:I look. | tool:read {\"path\":\"a\\\\b\"}",
                "Who?I look.read{\"path\":\"a\\\\b\"}",
            ),
        ] {
            let stage = Stage::of(way, &format!("{script} | no-usage"), "ok:never");
            let got = stage.ask().await;
            assert!(got.ended_well(), "{got:?}");
            let row = only(&stage);
            assert_eq!(row.output, estimated(written), "{way:?} {script}");
            assert!(matches!(row.input, Tokens::Estimated(1..)), "{row:?}");
            assert_eq!(row.state, AttemptState::Complete);
        }
        let stage = Stage::of(way, "ok:a b c d e f g h | usage:12/34", "ok:never");
        stage.ask().await.is_whole("a b c d e f g h");
        let row = only(&stage);
        assert_eq!((row.input, row.output), (Tokens::Reported(12), Tokens::Reported(34)));
    }
}

/// Every piece is one of the kind before it, which is read in another way than the first.
#[tokio::test(start_paused = true)]
async fn r34_a_long_stream_is_estimated_to_the_byte() {
    let words: Vec<String> = (0..200).map(|at| format!("w\"{at}\"\\接")).collect();
    let text = words.join(" ");
    for way in Way::ALL {
        for script in [format!("ok:{text}"), format!("think:{text} | ok:{text}")] {
            let stage = Stage::of(way, &format!("{script} | no-usage"), "ok:never");
            stage.ask().await.is_whole(&text);
            let written = if script.starts_with("ok") { text.clone() } else { text.repeat(2) };
            assert_eq!(only(&stage).output, estimated(&written), "{way:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn r34_r12_a_call_whose_client_leaves_is_counted_as_far_as_it_was_written() {
    for way in Way::STREAMS {
        for (script, written) in [
            ("ok:one two three four five", "one two three "),
            ("think:one two three four | ok:five", "one two three "),
            ("tool:read {\"path\":\"the/way/to/there\"}", "read{\"path\":\"the/way/to/ther"),
        ] {
            let script = format!("{script} | silence:3");
            let stage = Stage::set(way, &script, "ok:never", &FIRST_TOKEN);
            let response = stage.begin("s", &stage.body(), &[]).await;
            let mut body = response.into_body();
            let mut raw = Vec::new();
            let last = written.get(written.len() - 5..).unwrap().trim().as_bytes().to_vec();
            while !raw.windows(last.len()).any(|some| some == last) {
                raw.extend_from_slice(&body.piece().await.expect("a piece").expect("in order"));
            }
            drop(body);
            stage.gateway.core().tasks().idle().await;
            let row = only(&stage);
            assert_eq!(row.state, AttemptState::Unknown, "{way:?}");
            assert_eq!(row.class, Some(Class::Aborted), "R12: {way:?}");
            assert_eq!(row.output, estimated(written), "{way:?} {script}");
            // Anthropic's input is told at the start, and so is one token of output, which is no total.
            let told = matches!(row.input, Tokens::Reported(1..));
            assert_eq!(told, way.dialect == Dialect::Anthropic, "{row:?}");
        }
    }
    // An answer that is not streamed comes all at once, or not at all.
    for way in [Way::ALL[1], Way::ALL[3]] {
        let stage = Stage::of(way, "hang", "ok:never");
        let body = stage.body();
        let asked = stage.begin("s", &body, &[]);
        let soon = std::time::Duration::from_secs(1);
        assert!(tokio::time::timeout(soon, asked).await.is_err(), "{way:?}");
        stage.gateway.core().tasks().idle().await;
        let row = only(&stage);
        assert!(matches!(row.input, Tokens::Estimated(1..)), "{row:?}");
        assert_eq!(row.output, Tokens::Unknown, "{way:?}");
    }
}

const FIRST_TOKEN: Setting = Setting { queue: "commit = \"first-token\"", ..Setting::USUAL };
const COMPLETE: Setting = Setting { queue: "commit = \"complete\"\nretries = 0", ..Setting::USUAL };

#[tokio::test(start_paused = true)]
async fn r34_an_answer_that_broke_off_is_counted_as_far_as_it_was_written() {
    for way in Way::STREAMS {
        for fault in ["cut:3", "eof:3", "torn:3", "error-after:3/overloaded", "silence:3"] {
            for (setting, rows) in [(&COMPLETE, 2), (&FIRST_TOKEN, 1)] {
                let script = format!("ok:one two three four five | {fault}");
                let stage = Stage::set(way, &script, "ok:second", setting);
                stage.ask().await;
                let ledger = stage.ledger();
                assert_eq!(ledger.len(), rows, "{way:?} {fault}");
                assert_eq!(ledger[0].output, estimated("one two three "), "{way:?} {fault}");
                assert_eq!(ledger[0].wasted, rows == 2, "{way:?} {fault}");
                assert_eq!(ledger[0].state, AttemptState::Unknown);
            }
        }
    }
}

/// R34: what cannot be is no report; the words are counted instead, by whoever counts.
#[tokio::test(start_paused = true)]
async fn r34_a_report_that_cannot_be_is_none() {
    for number in
        ["1e300", "-5", "100000001", "18446744073709551615", "99999999999999999999", "\"12\"", "0"]
    {
        let chat = format!(
            r#"{{"id":"c","choices":[{{"index":0,"message":{{"role":"assistant","content":"Good morning."}},"finish_reason":"stop"}}],"usage":{{"prompt_tokens":{number},"completion_tokens":{number}}}}}"#
        );
        let anthropic = format!(
            r#"{{"id":"m","type":"message","role":"assistant","content":[{{"type":"text","text":"Good morning."}}],"stop_reason":"end_turn","usage":{{"input_tokens":{number},"output_tokens":{number}}}}}"#
        );
        let chunks = chat.replace("\"message\"", "\"delta\"");
        let events = [
            r#"{"type":"message_start","message":{"id":"m","role":"assistant","content":[]}}"#.to_owned(),
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#.to_owned(),
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Good morning."}}"#.to_owned(),
            r#"{"type":"content_block_stop","index":0}"#.to_owned(),
            format!(
                r#"{{"type":"message_delta","delta":{{"stop_reason":"end_turn"}},"usage":{{"input_tokens":{number},"output_tokens":{number}}}}}"#
            ),
            r#"{"type":"message_stop"}"#.to_owned(),
        ];
        let framed: String = events.iter().map(|data| format!("data: {data}\n\n")).collect();
        for (way, body) in Way::ALL.into_iter().zip([
            format!("data: {chunks}\n\ndata: [DONE]\n\n"),
            chat,
            framed,
            anthropic,
        ]) {
            let kind = if way.streamed { "text/event-stream" } else { "application/json" };
            let stage = Stage::of(way, "ok:unasked", "ok:never");
            stage.trouble("a", Some(Trouble::json(&body, kind)));
            stage.ask().await.is_whole("Good morning.");
            let row = only(&stage);
            assert_eq!(row.output, estimated("Good morning."), "{way:?} {number}");
            let zero = number == "0" && row.input == Tokens::Reported(0);
            assert!(
                zero || matches!(row.input, Tokens::Estimated(1..)),
                "{way:?} {number} {row:?}"
            );
        }
    }
}
