//! Which candidate runs next: `choose.rs`.

use std::format;
use std::string::{String, ToString as _};
use std::vec;
use std::vec::Vec;

use crate::choose::{Asking, Choice, Past, choose, order};
use crate::class::Class;
use crate::codec::Words as _;
use crate::ids::{QueueId, RouteId};
use crate::moved::{Behind, Moved, moved};
use crate::policy::{AllCooling, Candidate, Clocks, Policy, Presence, Queue, Switch};
use crate::view::{CandidateView, ParoleView, QuarantineView, SeatView, Sight, View};

/// Candidates from the first on; what is chosen. Patience is 30 s.
const ROWS: [(&str, &str); 38] = [
    ("", "nothing"),
    ("ok", "run 0 normal"),
    ("ok, ok", "run 0 normal"),
    ("out, ok", "run 1 normal"),
    ("out, ok, ok verified", "run 2 normal"),
    ("ok, out, ok, ok verified", "run 0 normal"),
    ("tried, out, ok, ok verified", "run 3 normal"),
    ("cools-20, ok", "run 1 normal"),
    ("stand-in, ok", "run 1 normal"),
    ("probed, ok", "run 1 normal"),
    ("full, ok", "run 1 normal"),
    ("rests-5, ok", "run 1 normal"),
    ("missing, ok", "run 1 normal"),
    ("small, ok", "run 1 normal"),
    ("tried, ok", "run 1 normal"),
    ("free, ok", "ask 0 normal"),
    ("asked, ok", "ask 0 normal"),
    ("held, ok", "run 0 normal"),
    ("untested, ok", "run 0 probe"),
    ("parole-0, ok", "run 0 parole"),
    ("parole-20, ok", "run 1 normal"),
    ("trial, ok", "run 1 normal"),
    ("cooled, tried", "run 0 normal"),
    ("cooled cools-20, tried", "wait 20 cooldown"),
    ("cooled cools-40, tried", "nothing, back in 40"),
    ("cools-20, cools-10", "wait 10 cooldown"),
    ("cools-20, full", "wait 20 cooldown"),
    ("full", "wait 30 seat"),
    ("cools-40, rests-60", "wait 40 cooldown"),
    ("rests-60", "wait 60 rest"),
    ("parole-20, out", "wait 20 parole"),
    ("parole-0 probed", "wait 30 probe"),
    ("out, out", "run 0 last-resort"),
    ("out tried, out", "run 1 last-resort"),
    ("out full, out", "run 1 last-resort"),
    ("out cools-20", "wait 20 cooldown"),
    ("small, cools-20", "wait 20 cooldown"),
    ("small, tried", "run 0 normal"),
];

fn read(words: &str) -> (Candidate, CandidateView, Past) {
    let mut candidate = Candidate {
        route: RouteId(0),
        presence: Presence::Present,
        max_sessions: None,
        max_in_flight: None,
        window: None,
        clocks: Clocks::REMOTE,
    };
    let (mut state, mut past) = (CandidateView::FRESH, Past::Untried);
    for word in words.split(' ') {
        let (name, seconds) = word.rsplit_once('-').unwrap_or((word, "0"));
        let ms = seconds.parse::<u64>().unwrap_or(0) * 1_000;
        let out = |parole| Some(QuarantineView { class: Class::Timeout, parole, ends_ms: None });
        match name {
            "ok" => {}
            "out" => state.quarantine = out(ParoleView::Never),
            "parole" => state.quarantine = out(ParoleView::In(ms)),
            "trial" => state.quarantine = out(ParoleView::Running),
            "cools" => state.cooling_ms = Some(ms),
            "rests" => state.seat = SeatView::Resting { ms },
            "stand" => state.stand_in = true,
            "probed" => (state.probing, state.untested) = (true, true),
            "untested" => state.untested = true,
            "verified" => state.verified = true,
            "full" => state.seat = SeatView::Full { soonest_ms: None },
            "free" => state.seat = SeatView::Free,
            "asked" => state.seat = SeatView::Asked,
            "held" => state.seat = SeatView::Held,
            "missing" => candidate.presence = Presence::Missing,
            "small" => candidate.window = Some(8_000),
            "tried" => past = Past::Tried,
            "cooled" => past = Past::Cooled,
            other => panic!("{other}"),
        }
    }
    (candidate, state, past)
}

fn words(choice: Choice) -> String {
    let name = |debug: String| match debug.as_str() {
        "LastResort" => "last-resort".to_string(),
        "StandIn" => "stand-in".to_string(),
        other => other.to_ascii_lowercase(),
    };
    match choice {
        Choice::Run { candidate, mode } => format!("run {candidate} {}", name(format!("{mode:?}"))),
        Choice::Ask { candidate, mode } => format!("ask {candidate} {}", name(format!("{mode:?}"))),
        Choice::Wait { ms, why } => format!("wait {} {}", ms / 1_000, name(format!("{why:?}"))),
        Choice::Nothing { soonest_ms: None } => "nothing".into(),
        Choice::Nothing { soonest_ms: Some(ms) } => format!("nothing, back in {}", ms / 1_000),
    }
}

fn chosen(row: &str, policy: Policy, current: Option<u32>) -> String {
    words(choice(row, policy, 0, current).0)
}

/// What is chosen, and who stands further back than its place says.
fn choice(row: &str, policy: Policy, start: u32, current: Option<u32>) -> (Choice, Vec<Moved>) {
    let rows: Vec<_> = row.split(", ").filter(|words| !words.is_empty()).map(read).collect();
    let candidates = rows.iter().map(|(candidate, ..)| *candidate).collect();
    let queue = Queue { id: QueueId(1), digest: 0, policy, candidates };
    let states: Vec<CandidateView> = rows.iter().map(|(_, state, _)| *state).collect();
    let view = View { current, ..view(states, start) };
    let sight = Sight::recorded(&view);
    let past: Vec<Past> = rows.iter().map(|(.., past)| *past).collect();
    let asking = Asking {
        queue: &queue,
        view: &sight,
        past: &past,
        input_tokens: 10_000,
        window_above: None,
        patience_ms: 30_000,
        unspent: past.iter().all(|past| *past == Past::Untried),
        denied: &[],
    };
    let mut passed = Vec::new();
    let choice = choose(&asking, &mut passed);
    let moved = match choice {
        Choice::Run { candidate, .. } | Choice::Ask { candidate, .. } => {
            moved(&queue, &view, &passed, candidate)
        }
        Choice::Wait { .. } | Choice::Nothing { .. } => Vec::new(),
    };
    (choice, moved)
}

fn view(candidates: Vec<CandidateView>, start: u32) -> View {
    let out = candidates.iter().any(|state| state.quarantine.is_some());
    let reordered = if out { Switch::On } else { Switch::Off };
    let candidates = (0..).zip(candidates).collect();
    View { candidates, start, current: None, paused: Switch::Off, reordered }
}

#[test]
fn r02_r03_r04_r05_r15_r18_r22_the_choice() {
    for (row, expected) in ROWS {
        assert_eq!(chosen(row, Policy::RELAY, None), expected, "{row}");
    }
}

/// Where the ring begins and who is current; what is chosen; who stands further back, and why.
const MOVED: [(&str, u32, Option<u32>, &str, &str); 15] = [
    ("ok, ok", 0, None, "run 0 normal", ""),
    ("tried, ok", 0, None, "run 1 normal", ""),
    ("out, ok, ok", 0, None, "run 1 normal", ""),
    ("out, ok, ok verified", 0, None, "run 2 normal", "1 unverified"),
    ("out, out, ok verified", 0, None, "run 2 normal", "1 quarantined timeout"),
    ("out, trial, ok verified", 0, None, "run 2 normal", "1 parole-running"),
    ("out, parole-0, ok verified", 0, None, "run 2 normal", "1 unverified"),
    ("out, missing, ok verified", 0, None, "run 2 normal", "1 missing"),
    ("ok, ok, ok", 1, None, "run 1 normal", "0 rotated"),
    ("ok, full, ok", 1, None, "run 2 normal", "0 rotated"),
    ("out, ok, ok", 1, None, "run 1 normal", "0 quarantined timeout"),
    ("ok verified, out, ok", 1, None, "run 0 normal", "2 unverified"),
    ("ok, ok, ok", 0, Some(2), "run 2 normal", "0 not-current, 1 not-current"),
    ("ok, ok, tried", 0, Some(2), "run 0 normal", ""),
    ("cools-20, cools-10", 1, None, "wait 10 cooldown", ""),
];

fn moved_words(moved: &[Moved]) -> String {
    let one = |moved: &Moved| {
        let mut words = String::new();
        moved.write(&mut words);
        words.trim().to_string()
    };
    moved.iter().map(one).collect::<Vec<_>>().join(", ")
}

#[test]
fn r03_r14_r33_h03_who_stands_further_back() {
    for (row, start, current, expected, behind) in MOVED {
        let (choice, moved) = choice(row, Policy::RELAY, start, current);
        assert_eq!((words(choice), moved_words(&moved)), (expected.into(), behind.into()), "{row}");
    }
}

/// Every queue of four of these, from every start, with and without a current one.
#[test]
fn r33_whoever_stands_further_back_does_so_for_the_reason_that_is_told() {
    let states = ["ok", "ok verified", "out", "parole-0", "cools-20", "full", "tried"];
    let count = states.len().pow(4);
    for number in 0..count {
        let picked = |place: u32| states[number / states.len().pow(place) % states.len()];
        let row = [0, 1, 2, 3].map(picked);
        let (is, text) =
            (|index: u32, state: &str| row[index as usize].contains(state), row.join(", "));
        for (start, current) in (0..4).flat_map(|start| [(start, None), (start, Some(2))]) {
            let (choice, moved) = choice(&text, Policy::RELAY, start, current);
            let (Choice::Run { candidate: chosen, .. } | Choice::Ask { candidate: chosen, .. }) =
                choice
            else {
                continue;
            };
            let at = format!("{text} from {start}, {current:?}: {chosen}, {moved:?}");
            let states = row.map(|words| read(words).1).to_vec();
            let order = order(&Sight::recorded(&View { current, ..view(states, start) }), 4);
            let place = |index: u32| order.iter().position(|other| *other == index);
            for Moved { candidate, why } in moved {
                assert!(place(candidate) > place(chosen), "{at}");
                assert!(
                    match why {
                        Behind::Quarantined(_) => is(candidate, "out"),
                        Behind::Unverified => {
                            is(chosen, "verified")
                                && !is(candidate, "verified")
                                && (text.contains("out") || text.contains("parole"))
                        }
                        Behind::Rotated => start > 0 && candidate < chosen,
                        Behind::NotCurrent => current == Some(chosen),
                        Behind::Missing | Behind::ParoleRunning => false,
                    },
                    "{at}"
                );
            }
        }
    }
}

/// What all candidates cooling leads to; policy `health`, policy `chain`.
const COOLING: [(&str, &str, &str); 9] = [
    ("cools-20, cools-10", "run 1 last-resort", "run 0 last-resort"),
    ("cools-400, cools-500", "run 0 last-resort", "run 0 last-resort"),
    ("cools-20, ok", "run 1 normal", "run 1 normal"),
    ("cools-20, untested", "run 1 probe", "run 1 probe"),
    ("probed, cools-20", "run 1 last-resort", "run 0 last-resort"),
    ("probed", "run 0 last-resort", "run 0 last-resort"),
    ("tried cools-20, cools-10", "nothing, back in 10", "nothing, back in 10"),
    ("cools-20, full", "wait 20 cooldown", "wait 20 cooldown"),
    ("missing, cools-20", "run 1 last-resort", "run 1 last-resort"),
];

#[test]
fn h01_c04_c06_when_all_are_cooling() {
    for (row, health, chain) in COOLING {
        assert_eq!(chosen(row, Policy::HEALTH, None), health, "{row}");
        assert_eq!(chosen(row, Policy::CHAIN, None), chain, "{row}");
        let one = Policy { all_cooling: AllCooling::Wait, ..Policy::HEALTH };
        assert!(!chosen(row, one, None).contains("last-resort"), "{row}");
    }
}

#[test]
fn h03_the_current_one_comes_first_while_it_is_healthy() {
    let chosen = |row| chosen(row, Policy::HEALTH, Some(2));
    assert_eq!(chosen("ok, ok, ok, ok"), "run 2 normal");
    assert_eq!(chosen("ok, ok, cools-20, ok"), "run 0 normal");
    assert_eq!(chosen("cools-20, ok, cools-20, ok"), "run 1 normal");
}

#[test]
fn r14_the_order_is_a_ring() {
    let three = |start| order(&Sight::recorded(&view(vec![CandidateView::FRESH; 3], start)), 3);
    let orders = [0, 1, 2, 3, 7].map(three);
    assert_eq!(orders, [vec![0, 1, 2], vec![1, 2, 0], vec![2, 0, 1], vec![0, 1, 2], vec![1, 2, 0]]);
    assert!(order(&Sight::recorded(&view(vec![], 4)), 0).is_empty());
}

pub(super) fn page() -> String {
    let rows = ROWS.iter().map(|(row, expected)| vec![row.to_string(), expected.to_string()]);
    let mut page = super::table(
        "The choice",
        "Candidates from the first on, and what is chosen (R2 to R5, R15, R18, R22). Numbers are \
         seconds; patience is 30 s. `out`: quarantined; `parole`: may try in so long; `trial`: \
         another call is trying it; `probed`: another call goes alone after a cooldown; \
         `untested`: whoever goes now goes alone; `cooled`: this call cooled it; `small`: its \
         window is surely too small.",
        &["candidates", "chosen"],
        rows,
    );
    let rows = MOVED.iter().map(|(row, start, current, expected, behind)| {
        let current = current.map_or_else(|| "-".to_string(), |current| current.to_string());
        vec![row.to_string(), start.to_string(), current, expected.to_string(), behind.to_string()]
    });
    page.push_str(&super::table(
        "Who stands further back",
        "Of those that a choice had moved behind the one it chose, `why` tells the reason: the \
         unverified behind the verified (R3), those before the start of the ring (R14), all behind \
         the current one (H3); a quarantine of its own is told instead.",
        &["candidates", "start", "current", "chosen", "further back"],
        rows,
    ));
    let rows = COOLING
        .iter()
        .map(|(row, health, chain)| [*row, *health, *chain].map(String::from).to_vec());
    page.push_str(&super::table(
        "When all are cooling",
        "A call of policy `health` tries the candidate whose cooldown ends first, one of policy \
         `chain` the first; once a candidate was tried, its failure is final (H1, C4, C6).",
        &["candidates", "health", "chain"],
        rows,
    ));
    page
}
