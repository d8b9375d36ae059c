//! The ledger of seats: `seats.rs`.

use std::string::{String, ToString as _};
use std::vec;

use crate::ids::{LeaseId, QueueId, SessionId};
use crate::seats::{Holder, Row, Seats};
use crate::time::Now;
use crate::view::SeatView;

/// Cap; what happened; what session 9 sees; seats taken. Idle after 300 s, rest 5 s.
const ROWS: [(u32, &str, SeatView, u32); 22] = [
    (1, "", SeatView::Free, 0),
    (1, "ask 1", SeatView::Full { soonest_ms: None }, 1),
    (1, "ask 1, refuse 1", SeatView::Free, 0),
    (1, "ask 1, grant 1", SeatView::Full { soonest_ms: None }, 1),
    (1, "ask 1, grant 1, start 1", SeatView::Full { soonest_ms: None }, 1),
    (1, "ask 1, grant 1, start 1, end 1", SeatView::Full { soonest_ms: Some(300_000) }, 1),
    (1, "ask 1, grant 1, start 1, end 1, pass 299", SeatView::Full { soonest_ms: Some(1_000) }, 1),
    (1, "ask 1, grant 1, start 1, end 1, pass 300", SeatView::Free, 1),
    (1, "ask 1, grant 1, start 1, pass 300", SeatView::Full { soonest_ms: None }, 1),
    (1, "ask 1, grant 1, start 1, end 1, pass 300, ask 9", SeatView::Asked, 1),
    (1, "ask 9, grant 9", SeatView::Held, 1),
    (2, "ask 1, grant 1, start 1", SeatView::Free, 1),
    (1, "ask 1, grant 1, start 1, end 1, back 1", SeatView::Resting { ms: 5_000 }, 0),
    (1, "ask 1, grant 1, start 1, end 1, back 1, pass 5", SeatView::Free, 0),
    (1, "ask 1, grant 1, start 1, end 1, back 1, release", SeatView::Free, 0),
    (1, "ask 9, grant 9, start 9, end 9, back 9", SeatView::Free, 0),
    (2, "ask 1, grant 1, start 1, end 1, back 1", SeatView::Free, 0),
    (1, "ask 1, grant 1, start 1, back 1", SeatView::Full { soonest_ms: None }, 1),
    (1, "ask 1, grant 1, start 1, back 1, end 1", SeatView::Resting { ms: 5_000 }, 0),
    (1, "ask 1, unwant 1, grant 1", SeatView::Free, 0),
    (1, "ask 1, unwant 1, pass 300", SeatView::Free, 1),
    (1, "open", SeatView::Full { soonest_ms: None }, 1),
];

#[test]
fn r24_r25_r26_r27_r28_the_ledger() {
    for (cap, happened, view, taken) in ROWS {
        let row = Row { queue: QueueId(1), cap, idle_ms: 300_000, rest_ms: 5_000 };
        let (mut seats, mut now) = (Seats::default(), Now { mono_ms: 1_000, wall_ms: 1_000 });
        for event in happened.split(", ").filter(|event| !event.is_empty()) {
            let (what, number) = event.split_once(' ').unwrap_or((event, "0"));
            let number: u64 = number.parse().unwrap();
            let holder = Holder::Session(SessionId(number));
            match what {
                "ask" => drop(seats.ask(now, holder, LeaseId(number), row)),
                "grant" => drop(seats.answer(LeaseId(number), true)),
                "refuse" => drop(seats.answer(LeaseId(number), false)),
                "unwant" => drop(seats.unwant(holder)),
                "start" => assert_eq!(seats.start(Some(holder)), Some(holder)),
                "open" => assert_eq!(seats.start(None), None),
                "end" => drop(seats.end(now, Some(holder))),
                "back" => drop(seats.give_back(now, holder)),
                "release" => seats.end_rest(),
                "pass" => now = now.after(number * 1_000),
                other => panic!("{other}"),
            }
        }
        let seen = seats.view(now, Holder::Session(SessionId(9)), row, 0);
        assert_eq!((seen, seats.taken()), (view, taken), "cap {cap}: {happened}");
    }
}

#[test]
fn r05_who_came_earlier_goes_first() {
    let row = Row { queue: QueueId(1), cap: 2, idle_ms: 300_000, rest_ms: 5_000 };
    let (seats, now) = (Seats::default(), Now::default());
    let me = Holder::Session(SessionId(9));
    assert_eq!(seats.view(now, me, row, 1), SeatView::Free);
    assert_eq!(seats.view(now, me, row, 2), SeatView::Full { soonest_ms: None });
}

pub(super) fn page() -> String {
    let rows = ROWS.iter().map(|(cap, happened, view, taken)| {
        let view = std::format!("{view:?}");
        vec![cap.to_string(), happened.to_string(), view, taken.to_string()]
    });
    super::table(
        "The ledger of seats",
        "What session 9 sees after this (R24 to R28). Seats are idle after 300 s, a route rests \
         for 5 s; `back` gives a seat back, `open` is an attempt of a row without a cap.",
        &["cap", "what happened", "session 9 sees", "taken"],
        rows,
    )
}
