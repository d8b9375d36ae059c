//! Lies that a gateway could tell, and that must be found.

use ekiden_sim::{Answer, End, How, Status};
use serde_json::json;

use super::*;
use crate::clock;
use crate::wire::Head;

fn chat(text: &str) -> Vec<u8> {
    let body = json!({ "id": "1", "choices": [{ "index": 0, "delta": { "content": text }, "finish_reason": null }] });
    format!("data: {body}\n\n").into_bytes()
}

fn finish() -> Vec<u8> {
    let body =
        json!({ "id": "1", "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }] });
    format!("data: {body}\n\n").into_bytes()
}

const DONE: &[u8] = b"data: [DONE]\n\n";
const ERROR: &[u8] =
    b"data: {\"error\":{\"message\":\"It broke off.\",\"type\":\"server_error\"}}\n\n";

/// What an upstream said, played to its end.
fn attempt(act: impl Into<Act>, said: &[&[u8]]) -> Attempt {
    Attempt {
        provider: "a".to_owned(),
        model: "m".to_owned(),
        act: act.into(),
        said: said.concat(),
        begun: clock::now(),
        end: Some(End { at: clock::now(), how: How::Whole }),
    }
}

fn cut(said: &[&[u8]]) -> Attempt {
    let mut attempt = attempt(Answer::text("x").fault(Fault::Cut { after: 1 }), said);
    attempt.end = Some(End { at: clock::now(), how: How::Broken });
    attempt
}

fn head(status: u16, extra: &[(&str, &str)]) -> Head {
    let named = [
        ("x-ekiden-call", "c"),
        ("x-ekiden-queue", "q"),
        ("x-ekiden-candidate", "a/m"),
        ("x-ekiden-attempts", "1"),
    ];
    let named = named.iter().filter(|(name, _)| status == 200 || *name == "x-ekiden-call");
    let all = named.chain(extra);
    Head { status, headers: all.map(|(name, value)| ((*name).into(), (*value).into())).collect() }
}

fn heard(head: Head, body: &[&[u8]], end: HeardEnd) -> Heard {
    let now = clock::now();
    Heard { head: Some(head), body: body.concat(), end, asked: now, first: None, over: now }
}

fn plan(streamed: bool) -> Plan {
    Plan { streamed, ..Plan::plain(1, Tongue::Chat, "q", "s") }
}

/// How it went, and the rules that were violated.
fn judged(plan: &Plan, heard: &Heard, attempts: Vec<Attempt>) -> (Went, Vec<Rule>) {
    let played = Played { attempts, wrong: Vec::new() };
    let verdict = Case { plan, heard, played: &played, killed: false }.judge();
    (verdict.went, verdict.wrong.into_iter().map(|(rule, _)| rule).collect())
}

fn stream(body: &[&[u8]], end: HeardEnd, attempts: Vec<Attempt>) -> (Went, Vec<Rule>) {
    judged(&plan(true), &heard(head(200, &[]), body, end), attempts)
}

fn well() -> Attempt {
    attempt(Answer::text("one two"), &[&chat("one "), &chat("two"), &finish(), DONE])
}

#[test]
fn an_honest_gateway_violates_nothing() {
    let (one, two) = (chat("one "), chat("two"));
    let whole: [&[u8]; 4] = [&one, &two, &finish(), DONE];
    assert_eq!(stream(&whole, HeardEnd::Whole, vec![well()]), (Went::Whole, vec![]));
    let beaten: [&[u8]; 5] = [b": keep-alive\n\n", &one, &two, &finish(), DONE];
    assert_eq!(stream(&beaten, HeardEnd::Whole, vec![well()]), (Went::Whole, vec![]));
    let told: [&[u8]; 2] = [&one, ERROR];
    assert_eq!(stream(&told, HeardEnd::Whole, vec![cut(&[&one])]), (Went::Broken, vec![]));
    assert_eq!(stream(&[&one], HeardEnd::Cut, vec![cut(&[&one])]), (Went::Broken, vec![]));
    assert_eq!(stream(&[&one, &two[..9]], HeardEnd::Left, vec![well()]), (Went::Left, vec![]));
    let no_end = attempt(Answer::text("one ").fault(Fault::NoTerminator), &[&one, &finish()]);
    let added: [&[u8]; 3] = [&one, &finish(), DONE];
    assert_eq!(stream(&added, HeardEnd::Whole, vec![no_end]), (Went::Whole, vec![]));
}

#[test]
fn what_a_killed_process_asked_is_not_counted_against_the_next_one() {
    let (one, two) = (chat("one "), chat("two"));
    let heard = heard(head(200, &[]), &[&one, &two, &finish(), DONE], HeardEnd::Whole);
    let plan = plan(true);
    let played = Played { attempts: vec![cut(&[]), well()], wrong: Vec::new() };
    for (killed, expected) in [(true, vec![]), (false, vec![Rule::Named])] {
        let verdict = Case { plan: &plan, heard: &heard, played: &played, killed }.judge();
        let wrong: Vec<Rule> = verdict.wrong.into_iter().map(|(rule, _)| rule).collect();
        assert_eq!(wrong, expected, "killed: {killed}");
    }
}

#[test]
fn mixed_answers_are_found() {
    let (one, two, other) = (chat("one "), chat("two"), chat("other "));
    // A failed attempt's text before the next one's.
    let mixed: [&[u8]; 5] = [&other, &one, &two, &finish(), DONE];
    let attempts = vec![cut(&[&other]), well()];
    let (went, wrong) = stream(&mixed, HeardEnd::Whole, attempts);
    assert_eq!((went, wrong.contains(&Rule::Unmixed)), (Went::Wrong, true));
    // An event twice, one left out, and one that was changed.
    let finish = finish();
    let changed = chat("one! ");
    let lies: [&[&[u8]]; 3] = [&[&one, &one, &two], &[&two], &[&changed, &two]];
    for lie in lies {
        let body: Vec<&[u8]> = lie.iter().copied().chain([&finish[..], DONE]).collect();
        let (_, wrong) = stream(&body, HeardEnd::Whole, vec![well()]);
        assert_eq!(wrong, [Rule::Unmixed]);
    }
    let (_, wrong) = stream(&[&one, b"data: {\"x"], HeardEnd::Left, vec![well()]);
    assert_eq!(wrong, [Rule::Unmixed]);
}

#[test]
fn a_cut_answer_as_a_whole_one_is_found() {
    let one = chat("one ");
    let closed: [&[u8]; 2] = [&one, DONE];
    assert_eq!(stream(&closed, HeardEnd::Whole, vec![cut(&[&one])]).1, [Rule::Honest]);
    assert_eq!(stream(&[&one], HeardEnd::Whole, vec![cut(&[&one])]).1, [Rule::Honest]);
    let half = br#"{"choices":[{"message":{"content":"x"}"#;
    let body: [&[u8]; 1] = [half];
    let attempts = vec![cut(&body)];
    let heard = heard(head(200, &[]), &body, HeardEnd::Whole);
    assert_eq!(judged(&plan(false), &heard, attempts).1, [Rule::Honest]);
}

#[test]
fn half_a_tool_call_as_a_whole_one_is_found() {
    let piece = json!({ "choices": [{ "index": 0, "delta": { "tool_calls": [{
        "index": 0, "function": { "name": "read_file", "arguments": "{\"pa" },
    }] }, "finish_reason": null }] });
    let piece = format!("data: {piece}\n\n").into_bytes();
    let body: [&[u8]; 3] = [&piece, &finish(), DONE];
    let act = Answer::tool("read_file", "{\"path\":1}").fault(Fault::MangledTool);
    assert_eq!(stream(&body, HeardEnd::Whole, vec![attempt(act, &body)]).1, [Rule::Honest]);
}

#[test]
fn lost_and_dropped_answers_are_found() {
    let now = clock::now();
    let nothing = |end| Heard { head: None, body: vec![], end, asked: now, first: None, over: now };
    for end in [HeardEnd::Nothing("reset".to_owned()), HeardEnd::Silence] {
        let wrong = judged(&plan(true), &nothing(end), vec![well()]).1;
        assert_eq!(wrong, [Rule::Answered]);
    }
    let one = chat("one ");
    let told: [&[u8]; 2] = [&one, ERROR];
    assert_eq!(stream(&told, HeardEnd::Whole, vec![well()]).1, [Rule::Kept]);
    let body: [&[u8]; 1] = [br#"{"error":{"message":"No candidate can answer now."}}"#];
    let refused = heard(head(429, &[("retry-after", "7")]), &body, HeardEnd::Whole);
    assert_eq!(judged(&plan(true), &refused, vec![well()]).1, [Rule::Kept]);
    assert_eq!(judged(&plan(true), &refused, vec![cut(&[])]), (Went::Refused, vec![]));
}

#[test]
fn errors_of_no_use_are_found() {
    let body: [&[u8]; 1] = [br#"{"error":{"message":"Nothing today."}}"#];
    let unauthorized = heard(head(401, &[]), &body, HeardEnd::Whole);
    assert_eq!(judged(&plan(true), &unauthorized, vec![]).1, [Rule::Told]);
    let when = heard(head(429, &[("retry-after", "61")]), &body, HeardEnd::Whole);
    assert_eq!(judged(&plan(true), &when, vec![]).1, [Rule::Told]);
    let page: [&[u8]; 1] = [b"<html>"];
    let page = heard(head(502, &[]), &page, HeardEnd::Whole);
    assert_eq!(judged(&plan(true), &page, vec![]).1, [Rule::Told]);
    let refusal = br#"{"error":{"message":"no such tool"}}"#;
    let theirs = attempt(Status::new(400), &[refusal]);
    let body: [&[u8]; 1] = [refusal];
    let passed = heard(head(400, &[]), &body, HeardEnd::Whole);
    assert_eq!(judged(&plan(true), &passed, vec![theirs]).1, []);
    assert_eq!(judged(&plan(true), &passed, vec![well()]).1, [Rule::Told, Rule::Kept]);
}

#[test]
fn too_many_attempts_and_wrong_names_are_found() {
    let whole: [&[u8]; 4] = [&chat("one "), &chat("two"), &finish(), DONE];
    let mut attempts = vec![cut(&[]); 16];
    attempts.push(well());
    let wrong = stream(&whole, HeardEnd::Whole, attempts).1;
    assert_eq!(wrong, [Rule::Named, Rule::Bounded]);
    let mut other = well();
    other.provider = "b".to_owned();
    assert_eq!(stream(&whole, HeardEnd::Whole, vec![other]).1, [Rule::Named]);
    let silent = attempt(Act::Hang, &[]);
    let named = heard(Head { headers: vec![], ..head(200, &[]) }, &whole, HeardEnd::Whole);
    let wrong = judged(&plan(true), &named, vec![silent, well()]).1;
    assert_eq!(wrong, [Rule::Named, Rule::Bounded]);
    let overflow = attempt(Status::of(Trouble::ContextOverflow), &[]);
    let wrong = stream(&whole, HeardEnd::Whole, vec![overflow, well()]).1;
    assert_eq!(wrong, [Rule::Named, Rule::Bounded]);
}

#[test]
fn what_goes_on_after_its_call_is_found() {
    let one = chat("one ");
    let mut open = well();
    open.end = None;
    assert_eq!(stream(&[&one], HeardEnd::Left, vec![open]).1, [Rule::Ended]);
    let mut late = well();
    late.begun += Duration::from_secs(3);
    assert_eq!(stream(&[&one], HeardEnd::Left, vec![late]).1, [Rule::Ended]);
}

#[test]
fn a_key_in_an_answer_is_found() {
    let said = chat(PROVIDER_KEY);
    let whole: [&[u8]; 3] = [&said, &finish(), DONE];
    let leaky = attempt(Answer::text("x"), &whole);
    assert_eq!(stream(&whole, HeardEnd::Whole, vec![leaky]).1, [Rule::Passed]);
}

#[test]
fn a_kill_excuses_what_is_missing_and_nothing_else() {
    let one = chat("one ");
    let case = |body: &[&[u8]], end| {
        let heard = heard(head(200, &[]), body, end);
        let played = Played { attempts: vec![well()], wrong: Vec::new() };
        let verdict =
            Case { plan: &plan(true), heard: &heard, played: &played, killed: true }.judge();
        (verdict.went, verdict.wrong.len())
    };
    assert_eq!(case(&[&one], HeardEnd::Cut), (Went::Killed, 0));
    assert_eq!(case(&[&chat("other")], HeardEnd::Cut), (Went::Wrong, 1));
    assert_eq!(case(&[&one, DONE], HeardEnd::Whole), (Went::Wrong, 1));
}
