//! What a model wrote, counted without anything around it (R34), and pieces that differ from the one
//! before in their text alone, which are read in a way of their own.

#![expect(clippy::panic, reason = "a test stops at the first surprise")]

use bytes::Bytes;
use ekiden_dialect::Dialect::{self, AnthropicMessages, OpenAiChat, OpenAiResponses};
use ekiden_dialect::sse::Event;
use ekiden_dialect::stream::Reader;
use ekiden_dialect::whole::{self, Whole};
use proptest::prelude::*;

fn data(json: &str) -> Event {
    Event::parse(Bytes::from(format!("data: {json}\n\n")))
}

fn streamed(dialect: Dialect, events: &[&str]) -> u64 {
    let mut reader = Reader::new(dialect);
    events.iter().for_each(|json| drop(reader.read(&data(json))));
    reader.answer().written
}

fn whole(dialect: Dialect, body: &str) -> u64 {
    match whole::read(dialect, body.as_bytes()) {
        Whole::Answer(answer) => answer.written,
        Whole::Error(text) => panic!("{text}"),
        Whole::Malformed(why) => panic!("{body}: {why}"),
    }
}

/// A choice of Chat, streamed (`delta`) or whole (`message`).
fn choice(member: &str, inner: &str) -> String {
    format!(
        r#"{{"id":"c1","object":"chat.completion","created":1,"model":"m","choices":[{{"index":0,"{member}":{inner},"logprobs":null,"finish_reason":null}}]}}"#
    )
}

#[test]
fn r34_words_are_counted_and_nothing_around_them_in_chat() {
    for (inner, written) in [
        (r#"{"role":"assistant","content":""}"#, 0),
        (r#"{"content":"four"}"#, 4),
        (r#"{"content":"\"\\\n\u6c49\/接"}"#, 1 + 1 + 1 + 3 + 1 + 3),
        (r#"{"refusal":"no"}"#, 2),
        (r#"{"reasoning_content":"think"}"#, 5),
        (r#"{"reasoning":"think","content":"say"}"#, 8),
        // One thought, under every name that somebody reads.
        (
            r#"{"reasoning_content":"think","reasoning":"think","reasoning_details":[{"type":"reasoning.text","text":"th","signature":"xxxxxxxxxx"},{"type":"reasoning.summary","summary":"ink"}]}"#,
            5,
        ),
        (r#"{"reasoning_details":[{"type":"reasoning.encrypted","data":"xxxxxxxxxx"}]}"#, 0),
        (
            r#"{"content":[{"type":"thinking","thinking":[{"type":"text","text":"think"}]},{"type":"text","text":"say"}]}"#,
            8,
        ),
        (
            r#"{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"read","arguments":"{\"a\":\"b\"}"}}]}"#,
            4 + 9,
        ),
        (r#"{"tool_calls":[{"function":{"name":"f","arguments":{"a": 1}}}]}"#, 1 + 8),
        (r#"{"tool_calls":[{"id":"x","custom":{"name":"sh","input":"ls -l"}}]}"#, 2 + 5),
        (r#"{"function_call":{"name":"f","arguments":"{}"}}"#, 1 + 2),
        (r#"{"audio":{"id":"a","data":"xxxxxxxx","transcript":"said"}}"#, 4),
        (r#"{"images":[{"image_url":{"url":"data:xxxx"}}]}"#, 0),
    ] {
        assert_eq!(whole(OpenAiChat, &choice("message", inner)), written, "{inner}");
        let chunk = choice("delta", inner);
        assert_eq!(streamed(OpenAiChat, &[&chunk]), written, "{inner}");
        assert_eq!(streamed(OpenAiChat, &[&chunk, &chunk, "[DONE]"]), 2 * written, "{inner}");
    }
    let two =
        r#"{"choices":[{"index":0,"delta":{"content":"a"}},{"index":1,"delta":{"content":"bc"}}]}"#;
    assert_eq!(streamed(OpenAiChat, &[two, two]), 6, "every choice");
    let whole_of_two =
        r#"{"choices":[{"message":{"content":"a"}},{"index":1,"message":{"content":"bc"}}]}"#;
    assert_eq!(whole(OpenAiChat, whole_of_two), 3, "every choice");
    // Perplexity says beside each piece all that came before it, and others at the end.
    let so_far = [
        r#"{"choices":[{"message":{"content":"a"},"delta":{"content":"a"}}]}"#,
        r#"{"choices":[{"message":{"content":"abc"},"delta":{"content":"bc"}}]}"#,
        r#"{"choices":[{"message":{"content":"abc"},"delta":{"content":""}}]}"#,
    ];
    assert_eq!(streamed(OpenAiChat, &so_far), 3);
    // What is no answer counts nothing.
    let failed =
        r#"{"choices":[{"index":0,"delta":{"content":"abc"}}],"error":{"message":"busy"}}"#;
    let torn = r#"{"choices":[{"index":0,"delta":{"content":"abc"}}"#;
    assert_eq!(streamed(OpenAiChat, &[failed, torn]), 0);
}

#[test]
fn r34_words_are_counted_and_nothing_around_them_at_anthropic() {
    for (block, delta, written) in [
        (r#"{"type":"text","text":"four"}"#, r#"{"type":"text_delta","text":"four"}"#, 4),
        (
            r#"{"type":"text","text":"\"\\\n\u6c49\/接"}"#,
            r#"{"type":"text_delta","text":"\"\\\n\u6c49\/接"}"#,
            10,
        ),
        (
            r#"{"type":"thinking","thinking":"think","signature":"xxxxxxxxxx"}"#,
            r#"{"type":"thinking_delta","thinking":"think"}"#,
            5,
        ),
        (
            r#"{"type":"redacted_thinking","data":"xxxxxxxxxx"}"#,
            r#"{"type":"signature_delta","signature":"xxxxxxxxxx"}"#,
            0,
        ),
        (
            r#"{"type":"tool_use","id":"toolu_1","name":"","input":{"a":"b"}}"#,
            r#"{"type":"input_json_delta","partial_json":"{\"a\":\"b\"}"}"#,
            9,
        ),
    ] {
        let body = format!(
            r#"{{"id":"m","type":"message","role":"assistant","model":"m","content":[{block},{block}],"stop_reason":"end_turn"}}"#
        );
        assert_eq!(whole(AnthropicMessages, &body), 2 * written, "{block}");
        let piece = format!(r#"{{"type":"content_block_delta","index":0,"delta":{delta}}}"#);
        let pieces = [piece.as_str(), &piece, r#"{"type":"message_stop"}"#];
        assert_eq!(streamed(AnthropicMessages, &pieces), 2 * written, "{delta}");
        let start =
            format!(r#"{{"type":"content_block_start","index":0,"content_block":{block}}}"#);
        assert_eq!(streamed(AnthropicMessages, &[&start]), written, "{block}");
    }
    for (block, written) in [
        (r#"{"type":"tool_use","id":"toolu_1","name":"read","input":{}}"#, 4),
        (r#"{"type":"server_tool_use","name":"web_search","input":"{\"q\":"}"#, 10 + 5),
        // Not written by the model.
        (r#"{"type":"web_search_tool_result","content":[{"type":"x","title":"long"}]}"#, 0),
    ] {
        let start =
            format!(r#"{{"type":"content_block_start","index":0,"content_block":{block}}}"#);
        assert_eq!(streamed(AnthropicMessages, &[&start]), written, "{block}");
    }
}

#[test]
fn r34_words_are_counted_once_in_responses() {
    let items = r#"[{"type":"reasoning","summary":[{"type":"summary_text","text":"think"}],"encrypted_content":"xxxxxxxx"},{"type":"message","content":[{"type":"output_text","text":"four"},{"type":"refusal","refusal":"no"}]},{"type":"function_call","call_id":"c","name":"read","arguments":"{\"a\":1}"},{"type":"custom_tool_call","name":"sh","input":"ls"}]"#;
    let written = 5 + 4 + 2 + (4 + 7) + (2 + 2);
    let body = format!(r#"{{"id":"r","status":"completed","error":null,"output":{items}}}"#);
    assert_eq!(whole(OpenAiResponses, &body), written);
    let last = format!(r#"{{"type":"response.completed","response":{body}}}"#);
    assert_eq!(streamed(OpenAiResponses, &[&last]), written, "without any piece before");
    let pieces = [
        r#"{"type":"response.created","response":{"status":"in_progress","output":[]}}"#,
        r#"{"type":"response.reasoning_summary_text.delta","delta":"think"}"#,
        r#"{"type":"response.output_text.delta","delta":"fo"}"#,
        r#"{"type":"response.output_text.delta","delta":"ur"}"#,
        r#"{"type":"response.output_text.done","text":"four"}"#,
        r#"{"type":"response.refusal.delta","delta":"no"}"#,
        r#"{"type":"response.output_audio.delta","delta":"xxxxxxxx"}"#,
        r#"{"type":"response.output_item.added","item":{"type":"function_call","name":"read","arguments":""}}"#,
        r#"{"type":"response.function_call_arguments.delta","delta":"{\"a\":1}"}"#,
        r#"{"type":"response.function_call_arguments.done","arguments":"{\"a\":1}"}"#,
    ];
    assert_eq!(streamed(OpenAiResponses, &pieces), written - 4, "as far as it came");
    let mut all = pieces.to_vec();
    let done = r#"{"type":"response.output_item.done","item":{"type":"function_call","name":"read","arguments":"{\"a\":1}"}}"#;
    all.push(done);
    assert_eq!(streamed(OpenAiResponses, &all), written - 4);
    all.push(&last);
    assert_eq!(streamed(OpenAiResponses, &all), written);
    assert_eq!(streamed(OpenAiResponses, &[done]), 11);
}

/// A comment says nothing, and what comes after it is read whole.
fn forget(reader: &mut Reader) {
    reader.read(&Event::parse(Bytes::from_static(b": \n\n")));
}

/// Two texts around which all is the same, and what may go wrong with the second event.
#[derive(Clone, Debug)]
struct Pieces {
    frame: (&'static str, &'static str),
    json: &'static str,
    texts: Vec<(String, Option<Wrong>)>,
}

/// At which place what byte stands instead, or in addition.
#[derive(Clone, Debug)]
struct Wrong {
    at: prop::sample::Index,
    byte: u8,
    adds: bool,
}

/// Events with a place for one text, or for the same text twice.
const JSON: [&str; 27] = [
    r#"{"choices":[{"index":0,"delta":{"content":TEXT},"finish_reason":null}]}"#,
    r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":TEXT}}],"usage":null}"#,
    r#"{"id":"c","choices":[{"delta":{"content":TEXT}}],"usage":{"completion_tokens":7,"cost":0.01}}"#,
    r#"{"choices":[{"delta":{"content":null,"reasoning_content":TEXT}}]}"#,
    r#"{"choices":[{"delta":{"content":"x","reasoning_content":TEXT}}]}"#,
    r#"{"choices":[{"delta":{"reasoning":"same","reasoning_content":TEXT}}]}"#,
    r#"{"choices":[{"delta":{"reasoning":TEXT,"reasoning_content":TEXT}}]}"#,
    r#"{"choices":[{"delta":{"reasoning":TEXT,"reasoning_details":[{"text":"some"}]}}]}"#,
    r#"{"choices":[{"delta":{"content":"a","content":TEXT}}]}"#,
    r#"{"choices":[{"delta":{"content":[{"type":"text","text":TEXT}]}}]}"#,
    r#"{"choices":[{"delta":{"content":TEXT,"refusal":"no"}}]}"#,
    r#"{"choices":[{"message":{"content":TEXT}}]}"#,
    r#"{"choices":[{"message":{"content":TEXT},"delta":{"content":TEXT}}]}"#,
    r#"{"choices":[{"message":{"content":"so far"},"delta":{"content":TEXT}}]}"#,
    r#"{"choices":[{"delta":{"content":TEXT},"text":"also"}]}"#,
    r#"{"choices":[{"index":0,"delta":{"content":TEXT}},{"index":1,"delta":{"content":"b"}}]}"#,
    r#"{"choices":[{"delta":{"content":TEXT,"tool_calls":[{"index":0,"function":{"name":"f"}}]}}]}"#,
    r#"{"choices":[{"delta":{"content":TEXT,"tool_calls":[{"index":0,"function":{"arguments":{"a":1}}}]}}]}"#,
    r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"f","arguments":TEXT}}]}}]}"#,
    r#"{"choices":[{"delta":{"content":"x"},"finish_reason":TEXT}]}"#,
    r#"{ "choices" : [ { "delta" : { "content" : TEXT } } ] }"#,
    r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":TEXT}}"#,
    r#"{"type":"content_block_delta","index":1,"delta":{"type":"thinking_delta","thinking":TEXT}}"#,
    r#"{"type":"content_block_delta","index":1,"delta":{"thinking":"a","text":TEXT}}"#,
    r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":TEXT}}"#,
    r#"{"type":"content_block_delta","delta":{"text":TEXT},"usage":{"output_tokens":3}}"#,
    r#"{"type":"response.output_text.delta","delta":TEXT}"#,
];

fn pieces() -> impl Strategy<Value = Pieces> {
    let frame = prop_oneof![
        4 => Just(("data: ", "\n\n")),
        1 => Just(("data:", "\r\n\r\n")),
        1 => Just(("event: content_block_delta\ndata: ", "\n\n")),
        1 => Just(("id: 7\ndata: ", "\nretry: 5\n\n")),
        1 => Just((": x\ndata:{}\ndata: ", "\n\n")),
        1 => Just(("event: error\ndata: ", "\n\n")),
    ];
    let part = prop_oneof![
        6 => "[a-z ]{1,12}",
        1 => prop::sample::select(vec![
            "\\n", "\\\"", "\\\\", "\\/", "\\u0041", "\\ud83d\\ude00", "\\ud800", "汉字", "🦀", "é",
            "\u{7f}", "{[", "\u{2028}", "\\u00", "\\x", "\"", "\t", "\\",
        ])
        .prop_map(str::to_owned),
    ];
    let text =
        prop::collection::vec(part, 0..5).prop_map(|parts| format!("\"{}\"", parts.concat()));
    let text = prop_oneof![12 => text, 1 => Just("null".to_owned()), 1 => Just("7".to_owned())];
    let wrong = (any::<prop::sample::Index>(), prop_oneof![any::<u8>(), Just(b'"')], any::<bool>())
        .prop_map(|(at, byte, adds)| Wrong { at, byte, adds });
    let texts = prop::collection::vec((text, prop::option::weighted(0.1, wrong)), 1..6);
    (frame, prop::sample::select(JSON.to_vec()), texts).prop_map(|(frame, json, texts)| Pieces {
        frame,
        json,
        texts,
    })
}

fn event(pieces: &Pieces, text: &str, wrong: Option<&Wrong>) -> Event {
    let (before, after) = pieces.frame;
    let mut raw = format!("{before}{}{after}", pieces.json.replace("TEXT", text)).into_bytes();
    if let Some(Wrong { at, byte, adds }) = wrong {
        let at = at.index(raw.len());
        if *adds {
            raw.insert(at, *byte);
        } else {
            raw[at] = *byte;
        }
    }
    Event::parse(Bytes::from(raw))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// R10, R13, R34: whatever comes, reading it the short way changes nothing.
    #[test]
    fn r34_pieces_that_are_alike_say_what_reading_each_whole_says(
        runs in prop::collection::vec(pieces(), 1..5),
    ) {
        for dialect in Dialect::ALL {
            let (mut short, mut long) = (Reader::new(dialect), Reader::new(dialect));
            for run in &runs {
                for (text, wrong) in &run.texts {
                    let event = event(run, text, wrong.as_ref());
                    forget(&mut long);
                    prop_assert_eq!(short.read(&event), long.read(&event), "{:?}", event);
                    prop_assert_eq!(short.answer(), long.answer(), "{:?}", event);
                    let says = |reader: &Reader| {
                        (reader.end(), reader.tool_open(), reader.ended_torn(), reader.is_complete(), reader.terminal_seen())
                    };
                    prop_assert_eq!(says(&short), says(&long), "{:?}", event);
                }
            }
        }
    }
}
