//! The texts that cross, read natively.

use ekiden_engine::history::{History, feed_line, queue_line};
use ekiden_engine::{
    AttemptId, AttemptInput, Beat, CallId, Class, Failure, Input, Now, Policy, Queue, QueueId,
    Repair, Wait,
};
use ekiden_wasm::{abi, answer};

fn first_line(text: &str) -> String {
    answer::classify(text).lines().next().unwrap_or_default().to_owned()
}

#[test]
fn a_verdict_s_first_line_is_what_a_history_is_fed_with() {
    let said = first_line("kind http\nstatus 429\nheader retry-after 7\n\n{}");
    let failure = said.strip_prefix("failure ").unwrap();
    let mut fed = Failure::upstream(Class::RateLimited);
    fed.wait = Wait::Ms(7_000);
    let input = AttemptInput::Failed { failure: fed, repair: Repair::Impossible };
    let now = Now { mono_ms: 1, wall_ms: 2 };
    let line = feed_line(CallId(9), now, Input::Attempt(AttemptId(1), input));
    let mut words: Vec<_> = failure.split(' ').collect();
    let from_line: Vec<_> = line.split(' ').skip_while(|word| *word != "failed").skip(1).collect();
    words.push("impossible");
    // The scope is the classifier's to say.
    words[2] = from_line[2];
    assert_eq!(words, from_line);
}

#[test]
fn every_member_of_evidence_is_read() {
    let host = "kind host\ncode X\nstatus 529\n\nbusy";
    assert!(first_line(host).starts_with("failure overloaded "));
    let aborted = "kind transport\nabort stopped\n\nterminated";
    assert!(first_line(aborted).starts_with("failure aborted "));
    let late = "kind transport\nabort deadline\n\nterminated";
    assert!(first_line(late).starts_with("failure timeout "));
    let here = "kind transport\ntransport refused\npeer loopback\n\n";
    assert!(first_line(here).starts_with("failure transport_remote "));
    let proxy = "kind transport\ntransport refused\npeer proxy\n\n";
    assert!(first_line(proxy).starts_with("failure local_network "));
    let event = "kind event\n\n{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}";
    assert!(first_line(event).starts_with("failure overloaded "));
}

#[test]
fn a_named_zone_is_handed_on_for_the_host_to_resolve() {
    let text = "kind host\ncode X\nstatus 429\nnow 1767225600000\n\n\
                You've hit your limit · resets Jan 18, 11:30am (Asia/Calcutta)";
    let said = answer::classify(text);
    let named = "civil ----01-18 11:30:00 Asia/Calcutta";
    assert!(said.lines().any(|line| line == format!("wait {named}")), "{said}");
}

#[test]
fn what_is_no_evidence_is_answered_with_its_line() {
    assert_eq!(first_line("kind http\nweather fine"), {
        "error 2 expected the name of a member, or an empty line"
    });
    assert_eq!(first_line("kind http\nstatus many"), "error 2 the member has no such value");
    assert_eq!(first_line("status 500\n\nkind http"), "error 2 expected a kind");
}

#[test]
fn a_bad_line_ends_the_run_and_keeps_what_came_before() {
    let queue = Queue { id: QueueId(1), digest: 0, policy: Policy::RELAY, candidates: Vec::new() };
    let text = format!(
        "{}\n# a remark\n\ncall 1 1 1 session main stream fresh 0 - 1 0\ndrive 1 0 0\nfly\nfly\n",
        queue_line(&queue)
    );
    let said = answer::lines(&mut History::new(), &text);
    assert!(said.contains("refuse empty-queue"), "{said}");
    assert!(said.ends_with("error 6 expected an operation, found `fly`\n"), "{said}");
    assert_eq!(said.matches("error").count(), 1);
}

#[test]
fn r33_a_trace_that_decides_otherwise_is_told() {
    let queue = Queue { id: QueueId(1), digest: 0, policy: Policy::RELAY, candidates: Vec::new() };
    let mut history = History::new();
    let start = "call 1 1 1 session main stream fresh 0 - 1 0\ntrace 1\n";
    let head = answer::lines(&mut history, &format!("{}\n{start}", queue_line(&queue)));
    let decided = |word: &str| format!("{head}admitted 0 0 0 0 - off off 0 exhausted {word}\n");
    assert!(answer::replay(&decided("empty-queue")).starts_with("same\n"));
    assert_eq!(answer::replay(&decided("deadline")), "diverged 1\n");
    assert!(answer::replay("ekiden-trace 3\n").starts_with("error 1 "));
}

#[test]
fn handles_are_never_used_twice() {
    let (one, two) = (abi::history_new(), abi::history_new());
    abi::history_free(one);
    let three = abi::history_new();
    assert!(one < two && two < three);
    assert_eq!(abi::start(), abi::VERSION);
}

#[test]
fn a_beat_is_the_same_as_its_line_and_says_when_there_is_something_to_say() {
    let queue = "queue 1 0 on 2 250 16 30000 3000 60000 3600000 never 3 0 first-output 8388608 2 tell \
                 on off 60000 3600000 30000 5000 300000 60000 300000 on off all in-call 0 60000 \
                 600000 0 wait off 0 1000 30000 2000 1 7 present - - - 10000 90000 0 120000 600000 0";
    let start = "call 1 1 1 session main stream fresh 0 - 1 0\ndrive 1 10 10\n\
                 feed 1 11 11 attempt 1 sent\nfeed 1 12 12 attempt 1 head\n";
    let (mut lines, mut beats) = (History::new(), History::new());
    for history in [&mut lines, &mut beats] {
        assert!(answer::lines(history, &format!("{queue}\n{start}")).contains("start 1"));
    }
    let (call, attempt) = (CallId(1), AttemptId(1));
    let pieces = [(Beat::Wire, "wire"), (Beat::Reasoning, "reasoning"), (Beat::Output, "output")];
    for (at, (beat, word)) in (13..).zip(pieces) {
        let now = Now { mono_ms: at, wall_ms: at };
        let line = format!("feed 1 {at} {at} attempt 1 chunk 9 {word}\n");
        let said = answer::lines(&mut lines, &line);
        let speaks = beats.beat(now, call, attempt, 9, beat);
        assert_eq!(speaks, said.contains("effect commit"), "{word}");
        let driven = answer::lines(&mut beats, &format!("drive 1 {at} {at}\n"));
        assert_eq!(driven, said, "{word}");
    }
    let trace = |history: &mut History| answer::lines(history, "trace 1\n");
    assert_eq!(trace(&mut lines), trace(&mut beats));
    let later = Now { mono_ms: 99, wall_ms: 99 };
    assert!(!beats.beat(later, CallId(9), attempt, 9, Beat::Output), "no such call");
}

#[test]
fn r33_a_call_that_is_over_can_be_asked_why_and_traced() {
    let mut history = History::new();
    let queue = Queue { id: QueueId(1), digest: 7, policy: Policy::RELAY, candidates: Vec::new() };
    let _ = answer::lines(&mut history, &queue_line(&queue));
    let call = "1 1 4 session main stream fresh 0 - 1 0";
    let previewed = answer::lines(&mut history, &format!("preview 5 9 {call}"));
    assert_eq!(previewed, "why admitted 5 9 0 0 exhausted empty-queue\n");
    assert_eq!(answer::lines(&mut history, "why 1"), "", "nothing was taken");
    let _ = answer::lines(&mut history, &format!("call {call}\ndrive 1 5 9"));
    assert_eq!(answer::lines(&mut history, "why 1"), previewed);
    assert!(answer::lines(&mut history, "trace 1").starts_with("ekiden-trace "));
    // Others end as well: the oldest is let go.
    for other in 2..=33 {
        let call = call.replacen('1', &other.to_string(), 1);
        let _ = answer::lines(&mut history, &format!("call {call}\ndrive {other} 5 9"));
    }
    assert_eq!(answer::lines(&mut history, "why 1\ntrace 1"), "");
    assert_eq!(answer::lines(&mut history, "why 2"), previewed);
}
