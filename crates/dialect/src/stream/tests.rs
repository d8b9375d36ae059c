use proptest::prelude::*;

use super::*;
use crate::Dialect::{AnthropicMessages, OpenAiChat, OpenAiResponses};
use crate::testing;

fn event(raw: &str) -> Event {
    Event::parse(Bytes::copy_from_slice(raw.as_bytes()))
}

fn data(json: &str) -> Event {
    event(&format!("data: {json}\n\n"))
}

/// What each event means, in short.
fn beats(reader: &mut Reader, datas: &[&str]) -> String {
    let short = |beat| match beat {
        Beat::Wire => 'w',
        Beat::Reasoning => 'r',
        Beat::Output => 'O',
        Beat::Terminal => 'T',
        Beat::Error(_) => 'E',
        Beat::Malformed(_) => 'M',
    };
    datas.iter().map(|json| short(reader.read(&data(json)))).collect()
}

fn choice(delta: &str, finish: &str) -> String {
    format!(
        r#"{{"id":"c1","model":"m","choices":[{{"index":0,"delta":{delta},"finish_reason":{finish}}}]}}"#
    )
}

/// (dialect, events, what each means, what the end means)
type Row = (Dialect, &'static [&'static str], &'static str, End);

const ROLE: &str =
    r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}"#;
const HI: &str = r#"{"choices":[{"index":0,"delta":{"content":"hi"},"finish_reason":null}]}"#;
const STOP: &str = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;
const DONE: &str = "[DONE]";
const START: &str = r#"{"type":"message_start","message":{"id":"msg_1","model":"m","content":[],"stop_reason":null,"usage":{"input_tokens":3,"cache_read_input_tokens":5,"output_tokens":1}}}"#;
const BLOCK: &str =
    r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#;
const TEXT: &str =
    r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hi"}}"#;
const BLOCK_STOP: &str = r#"{"type":"content_block_stop","index":0}"#;
const END_TURN: &str =
    r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":9}}"#;
const MESSAGE_STOP: &str = r#"{"type":"message_stop"}"#;
const CREATED: &str = r#"{"type":"response.created","response":{"id":"resp_1","model":"m","status":"in_progress","error":null,"output":[]}}"#;
const SAID: &str = r#"{"type":"response.output_text.delta","delta":"hi"}"#;
const COMPLETED: &str = r#"{"type":"response.completed","response":{"status":"completed","error":null,"output":[{"type":"message","content":[{"type":"output_text","text":"hi"}]}],"usage":{"input_tokens":4,"output_tokens":2,"input_tokens_details":{"cached_tokens":1}}}}"#;

#[rustfmt::skip]
const ROWS: [Row; 36] = [
    (OpenAiChat, &[ROLE, HI, STOP, DONE], "wOwT", End::Whole),
    // R13: a finish reason makes the end a normal one; nothing at all does not.
    (OpenAiChat, &[ROLE, HI, STOP], "wOw", End::Whole),
    (OpenAiChat, &[ROLE, HI], "wO", End::Cut),
    (OpenAiChat, &[], "", End::Cut),
    (OpenAiChat, &[ROLE, STOP, DONE], "wwT", End::Empty),
    (OpenAiChat, &[DONE], "T", End::Empty),
    (OpenAiChat, &[r#"{"choices":[{"delta":{"content":null}}]}"#], "w", End::Cut),
    (OpenAiChat, &[r#"{"choices":[]}"#, r#"{"choices":[],"usage":{"prompt_tokens":1}}"#], "ww", End::Cut),
    (OpenAiChat, &[r#"{"choices":[{"delta":{"reasoning_content":"a"}}]}"#, r#"{"choices":[{"delta":{"reasoning":"a","content":""}}]}"#, STOP], "rrw", End::Empty),
    (OpenAiChat, &[r#"{"choices":[{"delta":{"refusal":"no"}}]}"#, STOP], "Ow", End::Whole),
    (OpenAiChat, &[r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"f","arguments":""}}]}}]}"#], "O", End::Cut),
    (OpenAiChat, &[r#"{"choices":[{"delta":{"tool_calls":[]}}]}"#], "w", End::Cut),
    (OpenAiChat, &[r#"{"choices":[{"delta":{"content":[{"type":"thinking","thinking":[]}]}}]}"#, r#"{"choices":[{"delta":{"content":[{"type":"text","text":"x"}]}}]}"#], "rO", End::Cut),
    (OpenAiChat, &[HI, r#"{"choices":[{"delta":{},"finish_reason":"length"}]}"#], "Ow", End::Truncated),
    (OpenAiChat, &[r#"{"choices":[{"delta":{},"finish_reason":"length"}]}"#, DONE], "wT", End::Truncated),
    (OpenAiChat, &[r#"{"choices":[{"delta":{},"finish_reason":"content_filter"}]}"#, DONE], "wT", End::Filtered),
    (OpenAiChat, &[r#"{"choices":[{"delta":{"content":"a"},"finish_reason":""}]}"#], "O", End::Cut),
    // K1: errors inside a 200, in the shapes seen.
    (OpenAiChat, &[ROLE, r#"{"error":{"message":"overloaded","code":529}}"#], "wE", End::Cut),
    (OpenAiChat, &[r#"{"error":"busy"}"#], "E", End::Cut),
    (OpenAiChat, &[r#"{"code":"Throttling","message":"slow down"}"#], "E", End::Cut),
    (OpenAiChat, &[r#"{"choices":null,"base_resp":{"status_code":1008,"status_msg":"no money"}}"#], "E", End::Cut),
    (OpenAiChat, &[r#"{"choices":[{"delta":{},"error":{"code":502},"finish_reason":"error"}]}"#], "E", End::Cut),
    (OpenAiChat, &[r#"{"choices":[{"delta":{"content":"a"}}],"error":null,"base_resp":{"status_code":0}}"#], "O", End::Cut),
    (OpenAiChat, &[r#"{"choices":[{"delta":{"content":"a"}}],"message":"ok"}"#], "O", End::Cut),
    (OpenAiChat, &[r#"{"choices":[{"delta":{"content":"a"},"error":{"code":502}}]}"#], "E", End::Cut),
    (OpenAiChat, &[r#"{"choices":[{"#, "[1]", "hello"], "MMM", End::Cut),
    (AnthropicMessages, &[START, BLOCK, r#"{"type":"ping"}"#, TEXT, BLOCK_STOP, END_TURN, MESSAGE_STOP], "wwwOwwT", End::Whole),
    (AnthropicMessages, &[START, BLOCK, TEXT, END_TURN], "wwOw", End::Whole),
    (AnthropicMessages, &[START, BLOCK, TEXT, BLOCK_STOP], "wwOw", End::Cut),
    (AnthropicMessages, &[START, END_TURN, MESSAGE_STOP], "wwT", End::Empty),
    (AnthropicMessages, &[START, r#"{"type":"message_delta","delta":{"stop_reason":"refusal"}}"#, MESSAGE_STOP], "wwT", End::Filtered),
    (AnthropicMessages, &[START, r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#], "wE", End::Cut),
    (OpenAiResponses, &[CREATED, SAID, COMPLETED], "wOT", End::Whole),
    (OpenAiResponses, &[CREATED, SAID], "wO", End::Cut),
    (OpenAiResponses, &[CREATED, r#"{"type":"response.failed","response":{"error":{"code":"insufficient_quota"}}}"#], "wE", End::Cut),
    (OpenAiResponses, &[CREATED, r#"{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}}}"#], "wT", End::Truncated),
];

#[test]
fn r10_r13_k1_every_event_means_one_thing_and_so_does_the_end() {
    for (dialect, datas, want, end) in ROWS {
        let mut reader = Reader::new(dialect);
        assert_eq!(beats(&mut reader, datas), want, "{dialect:?} {datas:?}");
        assert_eq!(reader.end(), end, "{dialect:?} {datas:?}");
    }
}

#[test]
fn r10_only_what_the_client_shows_or_runs_is_visible_output_at_anthropic() {
    let block = |kind: &str| format!(r#"{{"type":"content_block_start","content_block":{kind}}}"#);
    let delta = |kind: &str| format!(r#"{{"type":"content_block_delta","delta":{kind}}}"#);
    for (json, want) in [
        (block(r#"{"type":"thinking","thinking":"","signature":""}"#), "w"),
        (block(r#"{"type":"redacted_thinking","data":"x"}"#), "r"),
        (block(r#"{"type":"text","text":"x"}"#), "O"),
        (block(r#"{"type":"tool_use","id":"t","name":"n","input":{}}"#), "O"),
        (block(r#"{"type":"web_search_tool_result","content":[]}"#), "O"),
        (delta(r#"{"type":"thinking_delta","thinking":"x"}"#), "r"),
        (delta(r#"{"type":"signature_delta","signature":"x"}"#), "r"),
        (delta(r#"{"type":"text_delta","text":""}"#), "w"),
        (delta(r#"{"type":"input_json_delta","partial_json":""}"#), "w"),
        (delta(r#"{"type":"input_json_delta","partial_json":"{"}"#), "O"),
        (delta(r#"{"type":"citations_delta","citation":{}}"#), "w"),
        (r#"{"type":"something_new","x":[1]}"#.to_owned(), "w"),
    ] {
        assert_eq!(beats(&mut Reader::new(AnthropicMessages), &[&json]), want, "{json}");
    }
}

#[test]
fn r10_only_what_the_client_shows_or_runs_is_visible_output_in_responses() {
    for (json, want) in [
        (r#"{"type":"keepalive"}"#, "w"),
        (r#"{"type":"response.in_progress","response":{}}"#, "w"),
        (r#"{"type":"response.output_item.added","item":{"type":"message","content":[]}}"#, "w"),
        (
            r#"{"type":"response.output_item.added","item":{"type":"function_call","name":"f"}}"#,
            "O",
        ),
        (r#"{"type":"response.reasoning_summary_text.delta","delta":"x"}"#, "r"),
        (r#"{"type":"response.reasoning_text.delta","delta":"x"}"#, "r"),
        (r#"{"type":"response.output_text.delta","delta":""}"#, "w"),
        (r#"{"type":"response.refusal.delta","delta":"no"}"#, "O"),
        (r#"{"type":"response.function_call_arguments.delta","delta":"{"}"#, "O"),
        (
            r#"{"type":"response.output_item.done","item":{"type":"message","content":[{"type":"output_text","text":"x"}]}}"#,
            "O",
        ),
        (r#"{"type":"response.output_item.done","item":{"type":"reasoning","summary":[]}}"#, "r"),
        (r#"{"type":"error","code":"server_error","message":"x"}"#, "E"),
    ] {
        assert_eq!(beats(&mut Reader::new(OpenAiResponses), &[json]), want, "{json}");
    }
}

#[test]
fn comments_empty_data_and_pings_are_wire() {
    for dialect in Dialect::ALL {
        for raw in
            [": keep-alive\n\n", "\n", "data:\n\n", "event: ping\ndata: {\"type\":\"ping\"}\n\n"]
        {
            assert_eq!(Reader::new(dialect).read(&event(raw)), Beat::Wire, "{dialect:?} {raw:?}");
        }
    }
}

#[test]
fn pieces_that_differ_in_their_text_alone_are_not_read_whole() {
    let anthropic = |text: &str| TEXT.replace("hi", text);
    let chat = |text: &str| choice(&format!(r#"{{"content":"{text}"}}"#), "null");
    for (dialect, piece) in
        [(OpenAiChat, &chat as &dyn Fn(&str) -> String), (AnthropicMessages, &anthropic)]
    {
        let mut reader = Reader::new(dialect);
        assert_eq!(reader.again.hear(&data(&piece("a"))), None, "the first one");
        for text in ["a", "of any length", r#"with \"escapes\" \u6c49 and 汉字"#] {
            assert_eq!(reader.read(&data(&piece(text))), Beat::Output);
            let next = |text: &str| reader.again.hear(&data(&piece(text)));
            assert_eq!(next("b"), Some((Shows::Output, 1)));
            assert_eq!(next(r"\n\u6c49"), Some((Shows::Output, 4)), "as it is meant");
            for other in ["", r#"a","b":"c"#, "\\", "a\tb"] {
                assert_eq!(next(other), None, "{other:?}");
            }
            let late = format!("event: error\ndata: {}\n\n", piece("b"));
            assert_eq!(reader.again.hear(&event(&late)), None);
        }
        assert_eq!(beats(&mut reader, &[&piece("")]), "w");
        assert_eq!(reader.again.hear(&data(&piece("b"))), None, "the last one told no text");
    }
}

#[test]
fn k1_an_error_event_hands_its_text_on_unchanged() {
    let text = r#"{"type":"error" , "error":{"type":"overloaded_error"}}"#;
    for dialect in Dialect::ALL {
        let beat = Reader::new(dialect).read(&data(text));
        assert_eq!(beat, Beat::Error(Bytes::copy_from_slice(text.as_bytes())), "{dialect:?}");
    }
    let named = event("event: error\ndata: {\"message\":\"x\"}\n\n");
    assert_eq!(
        Reader::new(AnthropicMessages).read(&named),
        Beat::Error(Bytes::from_static(b"{\"message\":\"x\"}"))
    );
}

#[test]
fn k1_a_finish_reason_that_tells_of_a_breakdown_is_an_error() {
    for reason in ["insufficient_system_resource", "network_error", "error", "abort"] {
        let json = choice("{}", &format!("\"{reason}\""));
        let Beat::Error(text) = Reader::new(OpenAiChat).read(&data(&json)) else {
            panic!("{reason}");
        };
        let value: serde_json::Value = serde_json::from_slice(&text).unwrap();
        assert_eq!(value["error"]["code"], reason);
    }
}

#[test]
fn r13_several_choices_are_whole_when_each_has_ended() {
    let part = |index: u32, rest: &str| format!(r#"{{"choices":[{{"index":{index},{rest}}}]}}"#);
    let mut reader = Reader::with_choices(OpenAiChat, 2);
    beats(
        &mut reader,
        &[&part(0, r#""delta":{"content":"a"}"#), &part(0, r#""delta":{},"finish_reason":"stop""#)],
    );
    assert_eq!(reader.end(), End::Cut, "the second choice has not begun");
    beats(&mut reader, &[&part(1, r#""delta":{"content":"b"}"#)]);
    assert_eq!(reader.end(), End::Cut, "the second choice has not ended");
    beats(&mut reader, &[&part(1, r#""delta":{},"finish_reason":"length""#)]);
    assert_eq!(reader.end(), End::Truncated, "one of them was cut");
}

#[test]
fn r13_a_finish_reason_in_a_torn_event_does_not_count() {
    let torn = |whole: &str| whole[..whole.len() - 1].to_owned();
    for (dialect, first, last) in [
        (OpenAiChat, HI, STOP),
        (AnthropicMessages, TEXT, END_TURN),
        (OpenAiResponses, SAID, COMPLETED),
    ] {
        let mut reader = Reader::new(dialect);
        assert_eq!(beats(&mut reader, &[first, &torn(last)]), "OM", "{dialect:?}");
        assert_eq!(reader.end(), End::Cut, "{dialect:?}");
        beats(&mut reader, &[last]);
        assert_eq!(reader.end(), End::Whole, "{dialect:?}");
    }
}

#[test]
fn many_choices_are_not_kept_apart_for_ever() {
    let mut reader = Reader::new(OpenAiChat);
    for index in 0..1_000 {
        let json = format!(r#"{{"choices":[{{"index":{index},"delta":{{"content":"a"}}}}]}}"#);
        assert_eq!(reader.read(&data(&json)), Beat::Output);
    }
    let State::Chat(chat) = &reader.state else { panic!("chat") };
    assert_eq!(chat.kept(), 128);
}

#[test]
fn r13_k2_a_tool_call_is_open_until_it_has_ended() {
    let call = r#"{"tool_calls":[{"index":0,"id":"t","function":{"name":"f","arguments":"{}"}}]}"#;
    let mut chat = Reader::new(OpenAiChat);
    assert!(!chat.tool_open());
    beats(&mut chat, &[&choice(call, "null")]);
    assert!(chat.tool_open());
    assert_eq!(chat.end(), End::Cut);
    beats(&mut chat, &[&choice("{}", "\"tool_calls\"")]);
    assert!(!chat.tool_open());
    assert_eq!((chat.end(), chat.answer().finish), (End::Whole, Some(Finish::ToolCalls)));

    let begin = r#"{"type":"content_block_start","content_block":{"type":"tool_use","name":"n"}}"#;
    let mut anthropic = Reader::new(AnthropicMessages);
    beats(&mut anthropic, &[START, begin]);
    assert!(anthropic.tool_open());
    beats(&mut anthropic, &[BLOCK_STOP]);
    assert!(!anthropic.tool_open());

    let item = |state: &str| {
        format!(r#"{{"type":"response.output_item.{state}","item":{{"type":"function_call"}}}}"#)
    };
    let mut responses = Reader::new(OpenAiResponses);
    beats(&mut responses, &[CREATED, &item("added")]);
    assert!(responses.tool_open());
    beats(&mut responses, &[&item("done")]);
    assert!(!responses.tool_open());
    assert_eq!(responses.end(), End::Cut, "a call that is done does not end the answer");
    beats(&mut responses, &[r#"{"type":"response.completed","response":{"status":"completed"}}"#]);
    assert_eq!((responses.end(), responses.answer().finish), (End::Whole, Some(Finish::ToolCalls)));
}

#[test]
fn k2_r13_a_tool_call_whose_arguments_stop_in_the_middle_is_torn_whatever_is_said() {
    let call = |index: u32, arguments: &str| {
        let arguments = serde_json::Value::from(arguments);
        let calls =
            format!(r#"[{{"index":{index},"function":{{"name":"f","arguments":{arguments}}}}}]"#);
        choice(&format!(r#"{{"tool_calls":{calls}}}"#), "null")
    };
    let finish = choice("{}", "\"tool_calls\"");
    for (pieces, end) in [
        (vec![(0, "{\"a\":"), (0, "\"}\\\"\"}")], End::Whole),
        (vec![(0, "{\"a\":"), (1, "{}"), (0, "1}")], End::Whole),
        (vec![(0, "{\"a\":\"}")], End::Torn),
        (vec![(0, "{}"), (1, "{\"a\":[")], End::Torn),
        (vec![(0, "\"a\":1}")], End::Torn),
        (vec![(0, "")], End::Whole),
    ] {
        let read = |last: &[&str]| {
            let mut reader = Reader::new(OpenAiChat);
            for (index, piece) in &pieces {
                beats(&mut reader, &[&call(*index, piece)]);
            }
            beats(&mut reader, last);
            reader
        };
        assert_eq!(read(&[&finish, DONE]).end(), end, "{pieces:?}");
        assert_eq!(read(&[&finish]).ended_torn(), end == End::Torn, "{pieces:?}");
        let silent = if pieces == [(0, "")] { End::Torn } else { end };
        assert_eq!(read(&[DONE]).end(), silent, "no reason for ending: {pieces:?}");
        let cut = read(&[&choice("{}", "\"length\""), DONE]);
        assert_eq!((cut.end(), cut.ended_torn()), (End::Truncated, false), "{pieces:?}");
    }

    let begin = r#"{"type":"content_block_start","content_block":{"type":"tool_use","name":"n"}}"#;
    let piece = r#"{"type":"content_block_delta","delta":{"type":"input_json_delta","partial_json":"{\"a\":\"b"}}"#;
    let rest = r#"{"type":"content_block_delta","delta":{"type":"input_json_delta","partial_json":"\"}"}}"#;
    let stop = r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"}}"#;
    let limit = r#"{"type":"message_delta","delta":{"stop_reason":"max_tokens"}}"#;
    for (datas, end) in [
        (vec![START, begin, piece, rest, BLOCK_STOP, stop, MESSAGE_STOP], End::Whole),
        (vec![START, begin, piece, BLOCK_STOP, stop, MESSAGE_STOP], End::Torn),
        (vec![START, begin, piece, BLOCK_STOP, begin, BLOCK_STOP, stop], End::Torn),
        (vec![START, begin, piece, rest, stop, MESSAGE_STOP], End::Torn),
        (vec![START, begin, piece, rest, MESSAGE_STOP], End::Torn),
        (vec![START, begin, piece, BLOCK_STOP, MESSAGE_STOP], End::Torn),
        (vec![START, begin, piece, BLOCK_STOP, limit, MESSAGE_STOP], End::Truncated),
        (vec![START, begin, piece, limit, MESSAGE_STOP], End::Truncated),
    ] {
        let mut reader = Reader::new(AnthropicMessages);
        beats(&mut reader, &datas);
        assert_eq!(reader.end(), end, "{datas:?}");
    }

    let item = r#"{"type":"response.output_item.done","item":{"type":"function_call","arguments":"{\"a"}}"#;
    let mut reader = Reader::new(OpenAiResponses);
    beats(
        &mut reader,
        &[item, r#"{"type":"response.completed","response":{"status":"completed"}}"#],
    );
    assert_eq!(reader.end(), End::Torn);
}

#[test]
fn k1_an_error_is_heard_without_json_and_without_framing() {
    for dialect in Dialect::ALL {
        let mut reader = Reader::new(dialect);
        let worded = event("event: error\ndata: upstream said 413\n\n");
        assert_eq!(reader.read(&worded), Beat::Error(Bytes::from_static(b"upstream said 413")));
        let mut reader = Reader::new(dialect);
        let bare = event("{\"error\":{\"message\":\"x\"}}\n\n");
        let text = Bytes::from_static(b"{\"error\":{\"message\":\"x\"}}");
        assert_eq!(reader.read(&bare), Beat::Error(text));
        assert_eq!(reader.end(), End::Cut);
    }
}

#[test]
fn g6_signatures_are_kept_as_the_splice_will_ask_for_them() {
    let delta = |text: &str| {
        format!(
            r#"{{"type":"content_block_delta","delta":{{"type":"signature_delta","signature":"{text}"}}}}"#
        )
    };
    let begin = r#"{"type":"content_block_start","content_block":{"type":"thinking","thinking":"","signature":""}}"#;
    let redacted = r#"{"type":"content_block_start","content_block":{"type":"redacted_thinking","data":"x9"}}"#;
    let mut reader = Reader::new(AnthropicMessages);
    let datas = [
        START,
        begin,
        &delta("ab\\/"),
        &delta("cd"),
        BLOCK_STOP,
        redacted,
        BLOCK_STOP,
        BLOCK,
        TEXT,
        BLOCK_STOP,
    ];
    beats(&mut reader, &datas);
    assert_eq!(reader.answer().signatures, ["ab/cd", "x9"]);
    let body = br#"{"type":"message","content":[{"type":"thinking","thinking":"t","signature":"s"},{"type":"text","text":"x"}]}"#;
    let crate::whole::Whole::Answer(whole) = crate::whole::read(AnthropicMessages, body) else {
        panic!("an answer")
    };
    assert_eq!(whole.signatures, ["s"]);
}

#[test]
fn k11_usage_is_what_the_upstream_told() {
    let mut chat = Reader::new(OpenAiChat);
    assert_eq!(chat.answer().usage.input, None, "missing is not zero");
    let usage = r#"{"id":"x","choices":[],"usage":{"prompt_tokens":10,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":2}}}"#;
    beats(&mut chat, &[&choice(r#"{"content":"a"}"#, "null"), usage]);
    let seen = chat.answer();
    assert_eq!((seen.id.as_deref(), seen.model.as_deref()), (Some("c1"), Some("m")));
    assert_eq!((seen.usage.input, seen.usage.output), (Some(10), Some(7)));
    assert_eq!((seen.usage.cached, seen.usage.reasoning), (Some(4), Some(2)));

    let mut anthropic = Reader::new(AnthropicMessages);
    beats(&mut anthropic, &[START, TEXT, END_TURN]);
    let seen = anthropic.answer();
    assert_eq!((seen.id.as_deref(), seen.model.as_deref()), (Some("msg_1"), Some("m")));
    // Anthropic counts cached input apart: 3 + 5.
    assert_eq!((seen.usage.input, seen.usage.cached), (Some(8), Some(5)));
    assert_eq!(seen.usage.output, Some(9), "totals, not sums");

    let mut responses = Reader::new(OpenAiResponses);
    beats(&mut responses, &[CREATED, COMPLETED]);
    let seen = responses.answer();
    assert_eq!((seen.id.as_deref(), seen.usage.input), (Some("resp_1"), Some(4)));
    assert_eq!((seen.usage.output, seen.usage.cached), (Some(2), Some(1)));

    let moonshot = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop","usage":{"prompt_tokens":3,"completion_tokens":4,"cached_tokens":1}}]}"#;
    let mut reader = Reader::new(OpenAiChat);
    beats(&mut reader, &[moonshot]);
    assert_eq!(reader.answer().usage.input, Some(3));
}

#[test]
fn r34_what_upstream_asks_is_read_exactly_and_nothing_else_is() {
    let cost = |written: &str| {
        let usage = format!(r#"{{"choices":[],"usage":{{"prompt_tokens":1,"cost":{written}}}}}"#);
        let mut reader = Reader::new(OpenAiChat);
        beats(&mut reader, &[&usage]);
        let usage = &reader.answer().usage;
        assert_eq!(usage.input, Some(1), "{written}");
        usage.cost_nano_usd
    };
    for (written, nano) in [
        ("0", 0),
        ("0.0021", 2_100_000),
        ("0.00013999999999999999", 140_000),
        ("1.5e-05", 15_000),
        ("2E-9", 2),
        ("4e-10", 0),
        ("5e-10", 1),
        ("12", 12_000_000_000),
        ("1.25e2", 125_000_000_000),
        ("0.0e3", 0),
    ] {
        assert_eq!(cost(written), Some(nano), "{written}");
    }
    for wrong in
        ["null", "-0.1", "\"0.1\"", "{\"total_cost\":1}", "[1]", "true", "1e300", "1e99999999999"]
    {
        assert_eq!(cost(wrong), None, "{wrong}");
    }
}

#[test]
fn usage_that_the_client_did_not_ask_for_is_taken_out() {
    let hidden = |raw: &str| match hide_usage(&event(raw)) {
        UsageView::AsItCame => raw.to_owned(),
        UsageView::Without(bytes) => String::from_utf8(bytes.to_vec()).unwrap(),
        UsageView::Nothing => String::new(),
    };
    for (raw, want) in [
        ("data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1}}\n\n", ""),
        (
            "data: {\"a\":1e400,\"choices\":[{}],\"usage\":null}\r\n\r\n",
            "data: {\"a\":1e400,\"choices\":[{}]}\r\n\r\n",
        ),
        (
            "id: 4\ndata: {\"usage\":null , \"choices\":[{}]}\n\n",
            "id: 4\ndata: {\"choices\":[{}]}\n\n",
        ),
        ("data: {\"usage\":null,\ndata: \"choices\":[{}]}\n\n", "data: {\"choices\":[{}]}\n\n"),
        (
            "event: m\ndata: {\"usage\":null,\r\ndata: \"choices\":[{}]}\r\nid: 7\n\n",
            "event: m\nid: 7\ndata: {\"choices\":[{}]}\n\n",
        ),
        // Prompt filters of Azure come without choices, and stay.
        (
            "data: {\"choices\":[],\"prompt_filter_results\":[],\"usage\":null}\n\n",
            "data: {\"choices\":[],\"prompt_filter_results\":[]}\n\n",
        ),
    ] {
        assert_eq!(hidden(raw), want);
    }
    for raw in [
        "data: [DONE]\n\n",
        ": usage\n\n",
        "data: {\"choices\":[{\"delta\":{\"content\":\"\\\"usage\\\":null\"}}]}\n\n",
        "data: {\"choices\":[{\"delta\":{}}],\"usage\":{\"prompt_tokens\":1}}\n\n",
        "data: {\"usage\":null\n\n",
    ] {
        assert_eq!(hidden(raw), raw);
    }
}

/// Events that are alike but for one text, in every dialect, and some that are like none.
fn alike() -> impl Strategy<Value = String> {
    let text = || prop_oneof![testing::string(), Just("\"\"".to_owned()), testing::json()];
    let delta = |json: &str| choice(json, "null");
    prop_oneof![
        4 => text().prop_map(move |text| delta(&format!(r#"{{"content":{text}}}"#))),
        1 => text().prop_map(move |text| delta(&format!(r#"{{"reasoning_content":{text}}}"#))),
        1 => text().prop_map(move |text| delta(&format!(r#"{{"content":"","reasoning":{text}}}"#))),
        1 => text().prop_map(move |text| delta(&format!(r#"{{"content":{text},"tool_calls":[{{"function":{{"name":"f","arguments":{text}}}}}]}}"#))),
        1 => text().prop_map(move |text| delta(&format!(r#"{{"tool_calls":[{{"function":{{"arguments":{text}}}}}]}}"#))),
        1 => text().prop_map(|text| choice(&format!(r#"{{"content":{text}}}"#), "\"stop\"")),
        1 => text().prop_map(|text| choice(r#"{"content":"x"}"#, &text)),
        1 => text().prop_map(|text| format!(r#"{{"id":{text},"choices":[{{"delta":{{"content":"x"}}}}]}}"#)),
        4 => text().prop_map(|text| format!(r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":{text}}}}}"#)),
        1 => text().prop_map(|text| format!(r#"{{"type":"content_block_delta","index":0,"delta":{{"thinking":{text}}}}}"#)),
        1 => text().prop_map(|text| format!(r#"{{"type":"content_block_delta","index":0,"delta":{{"signature":{text},"text":"x"}}}}"#)),
        1 => text().prop_map(|text| format!(r#"{{"type":"content_block_delta","index":0,"delta":{{"partial_json":{text}}}}}"#)),
        1 => text().prop_map(|text| format!(r#"{{"type":{text},"index":0,"delta":{{"text":"x"}}}}"#)),
        1 => Just(r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use"}}"#.to_owned()),
        1 => Just(BLOCK_STOP.to_owned()),
        1 => text().prop_map(|text| format!(r#"{{"type":"response.output_text.delta","delta":{text}}}"#)),
        1 => Just(DONE.to_owned()),
    ]
}

proptest! {
    #[test]
    fn r10_r13_an_event_that_is_the_last_one_over_again_means_what_reading_it_whole_says(
        events in prop::collection::vec((alike(), 1..3_usize), 0..12),
        cut in prop::option::of((0..12_usize, 0..120_usize)),
    ) {
        for dialect in Dialect::ALL {
            let (mut reader, mut plain) = (Reader::new(dialect), Reader::new(dialect));
            for (at, (text, times)) in events.iter().enumerate() {
                let mut text = text.as_str();
                if let Some((_, keep)) = cut.filter(|(place, _)| *place == at) {
                    text = &text[..text.floor_char_boundary(keep)];
                }
                for _ in 0..*times {
                    plain.again = Again::default();
                    prop_assert_eq!(reader.read(&data(text)), plain.read(&data(text)), "{}", text);
                    prop_assert_eq!(reader.answer(), plain.answer(), "{}", text);
                    let says = |reader: &Reader| (reader.end(), reader.tool_open(), reader.ended_torn(), reader.is_complete());
                    prop_assert_eq!(says(&reader), says(&plain), "{}", text);
                }
            }
        }
    }

    #[test]
    fn any_event_is_heard_without_a_panic(raw in prop::collection::vec(any::<u8>(), 0..80), json in testing::json()) {
        for dialect in Dialect::ALL {
            let mut reader = Reader::new(dialect);
            reader.read(&Event::parse(Bytes::from(raw.clone())));
            for text in [
                json.clone(),
                format!(r#"{{"choices":[{{"delta":{{"content":{json},"tool_calls":{json}}},"finish_reason":{json}}}],"usage":{json}}}"#),
                format!(r#"{{"type":"content_block_start","content_block":{json},"delta":{json},"message":{json}}}"#),
                format!(r#"{{"type":"response.completed","response":{{"output":[{json}],"incomplete_details":{json},"usage":{json}}},"item":{json}}}"#),
            ] {
                let multi = text.contains('\n') || text.contains('\r');
                let beat = reader.read(&data(&text));
                prop_assert!(multi || text.starts_with(['[', '"']) || !text.starts_with('{') || !matches!(beat, Beat::Malformed(_)), "{text}: {beat:?}");
            }
        }
    }
}
