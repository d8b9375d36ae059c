//! Acts and scripts as text.

use std::time::Duration;

use ekiden_sim::{
    Act, After, Answer, Beats, Coding, DEFAULT_TEXT, Fault, Finish, Pace, ParseError, Place,
    ResetPoint, Script, Status, Then, Trouble, Usage, WORDS,
};
use tokio::time::timeout;

use crate::client::{Way, played};

fn act(text: &str) -> Act {
    text.parse().unwrap()
}

fn faulty(fault: Fault) -> Act {
    Act::from(Answer::default().fault(fault))
}

type Row = (&'static str, Act);

fn contents() -> Vec<Row> {
    vec![
        ("ok", Act::text(DEFAULT_TEXT)),
        ("ok: a: b ", Act::text("a: b")),
        ("think:Hm. | ok:Yes.", Act::from(Answer::text("Yes.").thinking("Hm."))),
        ("think:Hm.", Act::from(Answer::default().thinking("Hm."))),
        ("tool:read {\"a\":\"b c\"}", Act::from(Answer::tool("read", "{\"a\":\"b c\"}"))),
        ("tool:a | tool:b", Act::from(Answer::tool("a", "{}").and_tool("b", "{}"))),
        ("tool:a | ok", Act::from(Answer::default().and_tool("a", "{}"))),
        ("empty", Act::text("")),
        ("huge:3", Act::text("xxx")),
        ("length", Act::from(Answer::default().finish(Finish::Truncated))),
        ("filtered", Act::from(Answer::default().finish(Finish::Filtered))),
        ("usage:1/2", Act::from(Answer::default().usage(Usage::Reported { input: 1, output: 2 }))),
        ("no-usage", Act::from(Answer::default().usage(Usage::Missing))),
        ("cost:2100", Act::from(Answer { cost_micro: Some(2_100), ..Answer::default() })),
        ("no-prefill", Act::from(Answer::default().refusing_prefill())),
    ]
}

fn faults() -> Vec<Row> {
    let ms = Duration::from_millis;
    vec![
        ("cut:3", faulty(Fault::Cut { after: 3 })),
        ("torn:3", faulty(Fault::Torn { after: 3 })),
        ("reset-after:3", faulty(Fault::Reset { after: 3 })),
        ("bad-framing:3", faulty(Fault::BadFraming { after: 3 })),
        ("eof:0", faulty(Fault::CleanEof { after: 0 })),
        ("no-end", faulty(Fault::NoTerminator)),
        ("silence:3", faulty(Fault::Silence { after: 3, pause: None })),
        ("silence:3/1s", faulty(Fault::Silence { after: 3, pause: Some(ms(1_000)) })),
        ("malformed:3", faulty(Fault::Malformed { at: 3 })),
        ("mangled:3", faulty(Fault::Mangled { at: 3 })),
        (
            "tool:a {\"b\":1} | mangled-tool",
            Act::from(Answer::tool("a", "{\"b\":1}").fault(Fault::MangledTool)),
        ),
        ("error", faulty(Fault::ErrorEvent { place: Place::First, trouble: Trouble::Overloaded })),
        (
            "error:server",
            faulty(Fault::ErrorEvent { place: Place::First, trouble: Trouble::ServerError }),
        ),
        (
            "error-after:2/quota",
            faulty(Fault::ErrorEvent { place: Place::AfterChunks(2), trouble: Trouble::Quota }),
        ),
        (
            "error-after:0",
            faulty(Fault::ErrorEvent {
                place: Place::AfterChunks(0),
                trouble: Trouble::Overloaded,
            }),
        ),
        ("endless", faulty(Fault::Endless)),
        ("wrong-length:-16", faulty(Fault::WrongLength { by: -16 })),
    ]
}

fn deliveries() -> Vec<Row> {
    let ms = Duration::from_millis;
    let paced = |pace| Act::from(Answer::default().pace(pace));
    vec![
        ("head:2s", paced(Pace { head: ms(2_000), ..Pace::default() })),
        ("first:2m", paced(Pace { first: ms(120_000), ..Pace::default() })),
        ("drip:5ms", paced(Pace { gap: ms(5), ..Pace::default() })),
        ("bite:7", paced(Pace { bite: 7, ..Pace::default() })),
        ("drip:5", Act::from(Answer::default().drip(ms(5)))),
        (
            "beats:500/30s",
            paced(Pace {
                beats: Some(Beats { every: ms(500), during: ms(30_000) }),
                ..Pace::default()
            }),
        ),
        ("gzip", Act::from(Answer::default().coding(Coding::Gzip))),
        ("close", Act::from(Answer::default().after(After::Close))),
        ("die-on-reuse", Act::from(Answer::default().after(After::DieOnReuse))),
    ]
}

fn the_rest() -> Vec<Row> {
    vec![
        ("429", Act::status(429)),
        ("429:2", Act::from(Status::new(429).retry_after("2"))),
        ("overflow", Act::from(Status::of(Trouble::ContextOverflow))),
        ("filter", Act::from(Status::of(Trouble::ContentFilter))),
        ("quota", Act::from(Status::of(Trouble::Quota))),
        ("500 | header:a=b | body:c", Act::from(Status::new(500).header("a", "b").body("c"))),
        ("reset", Act::Reset(ResetPoint::Request)),
        ("reset-head", Act::Reset(ResetPoint::Head)),
        ("hang", Act::Hang),
        ("silent", Act::HeadersThenSilence),
        ("html", Act::Html),
        ("zero", Act::ZeroBytes),
        ("400 | trouble:auth", Act::from(auth())),
    ]
}

fn auth() -> Status {
    Status { trouble: Some(Trouble::Auth), ..Status::new(400) }
}

#[test]
fn every_word_means_its_act() {
    let table = [contents(), deliveries(), faults(), the_rest()].concat();
    for (text, meant) in &table {
        assert_eq!(&act(text), meant, "{text}");
    }
    for (word, example, _) in WORDS {
        let shows = |text: &str| text.split('|').any(|part| part.trim().starts_with(word));
        assert!(table.iter().any(|(text, _)| shows(text)), "{word} is not in the table");
        assert!(shows(example), "{example} does not show {word}");
    }
}

/// Each example is played as it stands; those that never end are told by the clock.
#[tokio::test(start_paused = true)]
async fn every_example_can_be_played_every_way() {
    for (word, example, _) in WORDS {
        for way in Way::ALL {
            let reply = timeout(Duration::from_secs(120), played(example, way)).await;
            let endless = ["hang", "silent", "endless"].contains(word);
            assert_eq!(reply.is_err(), endless, "{example} {way:?}");
            let mute = ["reset", "reset-head"].contains(word);
            if let Ok(reply) = reply {
                assert_eq!(reply.code.is_none(), mute, "{example} {way:?}");
            }
        }
    }
}

#[test]
fn a_script_is_a_list_of_acts() {
    let script: Script = "3*500; 429:2 ;ok:a * b".parse().unwrap();
    let mut steps = vec![Act::status(500); 3];
    steps.push(act("429:2"));
    steps.push(Act::text("a * b"));
    assert_eq!(script, Script::new(steps.clone()));
    assert_eq!(script.steps(), steps);
    let script: Script = " cycle: hang; ok".parse().unwrap();
    assert_eq!(script, Script::new([Act::Hang, act("ok")]).then(Then::Cycle));
}

#[test]
fn what_is_no_act_is_refused_with_a_reason() {
    let refused = |text: &str| text.parse::<Script>().unwrap_err();
    assert_eq!(refused(""), ParseError::Empty);
    assert_eq!(refused("ok;"), ParseError::Empty);
    assert_eq!(refused("okay"), ParseError::UnknownWord { word: "okay".to_owned() });
    assert_eq!(refused("ok | okay"), ParseError::UnknownWord { word: "okay".to_owned() });
    assert!(refused("okay").to_string().contains("die-on-reuse"));
    let bad = [
        "cut",
        "cut:x",
        "cut:-1",
        "drip:fast",
        "beats:500",
        "beats:0/1s",
        "usage:1",
        "cost:0.1",
        "silence:1/x",
        "error:odd",
        "error-after",
        "error-after:x/quota",
        "hang:1",
        "empty:1",
        "overflow:1",
        "429:",
        "500 | header:a",
        "500 | trouble:odd",
        "drip:99999999999999999999m",
        "tool",
        "think",
        "huge:many",
        "no-end:1",
        "gzip:1",
    ];
    for text in bad {
        let error = refused(text);
        assert!(matches!(error, ParseError::BadValue { .. }), "{text}: {error:?}");
        assert!(error.to_string().contains("write it like"));
    }
    for text in ["cut:1 | eof:1", "hang | ok", "429 | drip:5", "ok | 500", "ok | header:a=b"] {
        let error = refused(text);
        assert!(matches!(error, ParseError::Clash { .. }), "{text}: {error:?}");
    }
}
