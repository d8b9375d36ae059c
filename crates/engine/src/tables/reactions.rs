//! Failure class and named wait to reaction: `judge.rs`.

use std::string::{String, ToString as _};
use std::vec::Vec;
use std::{format, vec};

use crate::class::{Class, Failure, Reach, Wait};
use crate::judge::{Reaction, Retry, Verdict, react};
use crate::policy::{OnOverflow, Policy, Switch};
use crate::time::Now;

const NOW: Now = Now { mono_ms: 5_000, wall_ms: 1_000_000 };

/// Class; nothing named; two seconds named; a minute named.
const ROWS: [(&str, [&str; 3]); 18] = [
    (
        "rate_limited",
        [
            "at once; cooled 60 s; failover",
            "after 2 s; cooled 2 s; failover",
            "no; cooled 60 s; failover",
        ],
    ),
    ("overloaded", PAUSED),
    ("server_error", PAUSED),
    ("timeout", AT_ONCE),
    ("transport_remote", AT_ONCE),
    ("empty_response", AT_ONCE),
    ("stall", ["no; quarantined; failover"; 3]),
    (
        "quota_exhausted",
        [
            "at once; quarantined; failover",
            "at once; quarantined 2 s; failover",
            "at once; quarantined 60 s; failover",
        ],
    ),
    ("auth", ["at once; quarantined; failover"; 3]),
    ("not_found", ["at once; quarantined; failover"; 3]),
    ("invalid_request", ["no; spared; failover-refused"; 3]),
    ("invalid_request, universal", ["no; spared; tell"; 3]),
    ("content_filter", ["no; spared; tell"; 3]),
    ("content_filter, failover_on_filter", ["no; spared; failover-refused"; 3]),
    ("context_overflow", ["no; spared; tell-overflow"; 3]),
    ("context_overflow, overflow = larger", ["no; spared; failover-larger"; 3]),
    ("local_network", ["no; spared; wait-for-network"; 3]),
    ("aborted or truncated, said by an upstream", AT_ONCE),
];

const PAUSED: [&str; 3] = [
    "after a pause; quarantined; failover",
    "after 2 s; cooled 2 s; failover",
    "no; cooled 60 s; failover",
];
const AT_ONCE: [&str; 3] = [
    "at once; quarantined; failover",
    "after 2 s; cooled 2 s; failover",
    "no; cooled 60 s; failover",
];

/// With `cooldown = 0`, where it differs.
const UNCOOLED: [(&str, [&str; 3]); 2] = [
    (
        "rate_limited",
        [
            "at once; quarantined; failover",
            "after 2 s; quarantined; failover",
            "no; quarantined; failover",
        ],
    ),
    (
        "overloaded",
        [
            "after a pause; quarantined; failover",
            "after 2 s; quarantined; failover",
            "no; quarantined; failover",
        ],
    ),
];

/// Without quarantine: policies `health`, `chain`, `persist`, nothing named; `health`, 60 s named.
const PRESETS: [(&str, [&str; 4]); 14] = [
    ("rate_limited", [STRUCK, STRUCK, STRUCK, "no; struck, cools 60 s; failover"]),
    ("overloaded", [STRUCK_P, STRUCK_P, STRUCK_P, "no; struck, cools 60 s; failover"]),
    ("server_error", [STRUCK_P, STRUCK_P, STRUCK_P, "no; struck, cools 60 s; failover"]),
    ("timeout", [STRUCK, STRUCK, STRUCK, "no; struck, cools 60 s; failover"]),
    ("transport_remote", [STRUCK, STRUCK, STRUCK, "no; struck, cools 60 s; failover"]),
    ("empty_response", [STRUCK, STRUCK, STRUCK, "no; struck, cools 60 s; failover"]),
    ("stall", ["no; struck; failover"; 4]),
    ("quota_exhausted", [STRUCK, TELL, STRUCK, "at once; struck, cools 60 s; failover"]),
    ("auth", [STRUCK, TELL, STRUCK, "at once; struck, cools 60 s; failover"]),
    ("not_found", [STRUCK, STRUCK, STRUCK, "at once; struck, cools 60 s; failover"]),
    ("invalid_request", [TELL, TELL, "no; spared; failover-refused", TELL]),
    ("content_filter", [TELL, TELL, TELL, TELL]),
    ("context_overflow", ["no; spared; tell-overflow"; 4]),
    ("local_network", ["no; spared; wait-for-network"; 4]),
];

const STRUCK: &str = "at once; struck; failover";
const STRUCK_P: &str = "after a pause; struck; failover";
const TELL: &str = "no; spared; tell";

fn words(reaction: Reaction) -> String {
    let retry: String = match reaction.retry {
        Retry::No => "no".into(),
        Retry::AtOnce => "at once".into(),
        Retry::Paused => "after a pause".into(),
        Retry::Named(ms) => format!("after {} s", ms / 1_000),
    };
    let verdict = match reaction.verdict {
        Verdict::Spared => "spared".into(),
        Verdict::Cooled { ms } => format!("cooled {} s", ms / 1_000),
        Verdict::Struck { named_ms: None } => "struck".into(),
        Verdict::Struck { named_ms: Some(ms) } => format!("struck, cools {} s", ms / 1_000),
        Verdict::Quarantined { until_ms: None } => "quarantined".into(),
        Verdict::Quarantined { until_ms: Some(at) } => {
            format!("quarantined {} s", (at - NOW.wall_ms) / 1_000)
        }
        Verdict::Whole | Verdict::Truncated => "no verdict on a failure".into(),
    };
    format!("{retry}; {verdict}; {}", reaction.then.name())
}

fn check(rows: &[(&str, [&str; 3])], policy: &Policy) {
    for (row, expected) in rows {
        let mut policy = policy.clone();
        if row.contains("failover_on_filter") {
            policy.failover_on_filter = Switch::On;
        }
        if row.contains("larger") {
            policy.overflow = OnOverflow::Larger;
        }
        let name = row.split([',', ' ']).next().unwrap_or_default();
        let class = Class::from_name(name).unwrap();
        let reach = if row.contains("universal") { Reach::Universal } else { Reach::ModelSpecific };
        let waits = [Wait::Unnamed, Wait::Ms(2_000), Wait::At(NOW.wall_ms + 60_000)];
        for (wait, expected) in waits.into_iter().zip(expected) {
            let failure = Failure { wait, reach, ..Failure::upstream(class) };
            assert_eq!(words(react(&policy, &failure, NOW)), *expected, "{row} {wait:?}");
        }
    }
}

#[test]
fn r08_r21_r23_every_class_has_its_reaction() {
    check(&ROWS, &Policy::RELAY);
    check(&UNCOOLED, &Policy { cooldown_ms: 0, ..Policy::RELAY });
    let named = |class: &Class| ROWS.iter().any(|(row, _)| row.contains(class.name()));
    assert!(Class::ALL.iter().all(named), "a class without a row");
}

#[test]
fn h01_h05_c03_p01_without_quarantine() {
    let named = Wait::At(NOW.wall_ms + 60_000);
    for (row, expected) in PRESETS {
        let class = Class::from_name(row).unwrap();
        let columns = [
            (Policy::HEALTH, Wait::Unnamed),
            (Policy::CHAIN, Wait::Unnamed),
            (Policy::PERSIST, Wait::Unnamed),
            (Policy::HEALTH, named),
        ];
        for ((policy, wait), expected) in columns.into_iter().zip(expected) {
            let failure = Failure { wait, ..Failure::upstream(class) };
            assert_eq!(words(react(&policy, &failure, NOW)), expected, "{row} {policy:?}");
        }
    }
}

#[test]
fn p02_without_a_breaker_a_named_wait_cools_as_ever() {
    let failure = Failure { wait: Wait::Ms(90_000), ..Failure::upstream(Class::Overloaded) };
    let verdict = react(&Policy::PERSIST, &failure, NOW).verdict;
    assert_eq!(verdict, Verdict::Cooled { ms: 90_000 });
}

#[test]
fn r21_a_named_wait_is_cut_and_a_wait_of_nothing_names_no_time() {
    let cooled = |wait| {
        let failure = Failure { wait, ..Failure::upstream(Class::RateLimited) };
        react(&Policy::RELAY, &failure, NOW).verdict
    };
    assert_eq!(cooled(Wait::Ms(u64::MAX)), Verdict::Cooled { ms: 3_600_000 });
    assert_eq!(cooled(Wait::Ms(0)), Verdict::Cooled { ms: 60_000 });
    assert_eq!(cooled(Wait::At(3)), Verdict::Cooled { ms: 60_000 }, "an instant that has passed");
}

pub(super) fn page() -> String {
    let rows = |rows: &[(&str, [&str; 3])]| -> Vec<Vec<String>> {
        let cells = |(row, cells): &(&str, [&str; 3])| {
            let mut line = vec![row.to_string()];
            line.extend(cells.iter().map(|cell| (*cell).into()));
            line
        };
        rows.iter().map(cells).collect()
    };
    let head = ["class", "nothing named", "2 s named", "60 s named"];
    let mut page = super::table(
        "Failure class to reaction",
        "Retry; what is recorded when no retry is left; where the call goes then (R7, R8, R15, \
         R21, R23). Defaults: `cooldown` 60 s, `inline_wait` 3 s.",
        &head,
        rows(&ROWS),
    );
    let lead = "Where nothing cools, quarantine takes its place (R21).";
    page.push_str(&super::table("The same with `cooldown = 0`", lead, &head, rows(&UNCOOLED)));
    let presets = PRESETS.iter().map(|(row, cells)| {
        let mut line = vec![row.to_string()];
        line.extend(cells.iter().map(|cell| (*cell).into()));
        line
    });
    page.push_str(&super::table(
        "The same without quarantine",
        "Policies `health`, `chain` and `persist` (spec section 4), `retries` set on top. `struck`: \
         it counts, and may open the breaker; a failure that opens none goes up.",
        &["class", "health", "chain", "persist", "health, 60 s named"],
        presets,
    ));
    page
}
