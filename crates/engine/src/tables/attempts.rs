//! Which clock of an attempt runs out next: `attempt.rs`.

use std::string::{String, ToString as _};
use std::vec;

use crate::attempt::{Attempt, Beat, Clock};
use crate::choose::Mode;
use crate::ids::AttemptId;
use crate::policy::Clocks;
use crate::time::Now;

/// A clock and its second; nothing: none runs.
type Next = Option<(Clock, u64)>;

/// Clocks; what happened at which second; the next clock and its second.
const ROWS: [(&str, &str, Next); 19] = [
    ("remote", "", Some((Clock::Connect, 10))),
    ("remote", "sent 1", Some((Clock::Headers, 91))),
    ("remote", "sent 1, head 2", Some((Clock::Idle, 122))),
    ("remote", "sent 1, ping 80", Some((Clock::Idle, 200))),
    ("remote", "sent 1, head 2, thought 100", Some((Clock::Idle, 220))),
    ("remote, idle off", "sent 1, head 2", Some((Clock::Progress, 601))),
    ("remote, idle off", "sent 1, ping 50", Some((Clock::Progress, 601))),
    ("remote, idle off", "sent 1, thought 50", Some((Clock::Progress, 650))),
    ("remote, idle off", "sent 1, output 50", Some((Clock::Progress, 650))),
    ("remote, idle off", "sent 1", Some((Clock::Headers, 91))),
    ("first output in 20 s", "", Some((Clock::Connect, 10))),
    ("first output in 20 s", "sent 1, thought 19", Some((Clock::FirstOutput, 20))),
    ("first output in 20 s", "sent 1, output 19", Some((Clock::Idle, 139))),
    (
        "first output in 20 s",
        "sent 1, thought 5, blocked 6, ready 106",
        Some((Clock::FirstOutput, 120)),
    ),
    ("local", "sent 1", Some((Clock::Headers, 601))),
    ("local", "sent 1, head 300", Some((Clock::Idle, 420))),
    ("remote", "sent 1, output 2, blocked 3", None),
    ("remote", "sent 1, resend 5", Some((Clock::Connect, 15))),
    ("whole, share until 30 s", "sent 1, head 2", Some((Clock::Share, 30))),
];

fn clocks(name: &str) -> Clocks {
    match name {
        "remote, idle off" => Clocks { idle_ms: 0, ..Clocks::REMOTE },
        "first output in 20 s" => Clocks { first_output_ms: 20_000, ..Clocks::REMOTE },
        "local" => Clocks::LOCAL,
        _ => Clocks::REMOTE,
    }
}

fn at(second: u64) -> Now {
    Now { mono_ms: second * 1_000, wall_ms: second * 1_000 }
}

#[test]
fn r11_the_next_clock() {
    for (name, happened, expected) in ROWS {
        let mut attempt = Attempt::new(AttemptId(1), 0, Mode::Normal, at(0), clocks(name));
        if name.starts_with("whole") {
            attempt = attempt.whole(Some(30_000));
        }
        for event in happened.split(", ").filter(|event| !event.is_empty()) {
            let (what, second) = event.split_once(' ').unwrap();
            let now = at(second.parse().unwrap());
            match what {
                "sent" => attempt.sent(now),
                "head" => attempt.headed(now),
                "ping" => attempt.chunk(now, Beat::Wire, 1),
                "thought" => attempt.chunk(now, Beat::Reasoning, 1),
                "output" => attempt.chunk(now, Beat::Output, 1),
                "blocked" => attempt.blocked(now),
                "ready" => attempt.unblocked(now),
                "resend" => attempt.resend(now),
                other => panic!("{other}"),
            }
        }
        let next = attempt.next_clock().map(|(at, clock)| (clock, at / 1_000));
        assert_eq!(next, expected, "{name}: {happened}");
    }
}

pub(super) fn page() -> String {
    let rows = ROWS.iter().map(|(name, happened, expected)| {
        let next = match expected {
            None => "none runs".into(),
            Some((clock, second)) => std::format!("{clock:?} at {second}"),
        };
        vec![name.to_string(), happened.to_string(), next]
    });
    super::table(
        "The clocks of an attempt",
        "Which clock runs out next, and when, in seconds from the attempt's beginning (R11).",
        &["clocks", "what happened, at which second", "next"],
        rows,
    )
}
