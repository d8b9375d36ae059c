//! Why a candidate comes later than its place in the queue says, or was never reached. A choice names
//! those that it passed over; of those that it had moved behind the one it chose it says nothing. It
//! refuses to choose: it reads what the choice saw.

use ekiden_engine::{Class, ParoleView, Passed, Presence, Queue, View};

/// Why a candidate was not asked before the chosen one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Behind {
    /// It cannot serve the asker.
    Missing,
    /// Out for the day here; so it would not have run at its own place either.
    Quarantined(Class),
    /// Out for the day here, and another call was on parole there.
    ParoleRunning,
    /// It has not answered here today, and a candidate before it is out (R3).
    Unverified,
    /// The call started further down, after truncated answers in a row (R14).
    Rotated,
    /// The candidate that answered last stays the first one (H3).
    NotCurrent,
}

/// The candidates that were not passed over, and yet come after the chosen one though the queue, or
/// the ring from the rotation's start, has them before it; in the queue's order.
#[must_use]
pub fn behind(queue: &Queue, view: &View, passed: &[Passed], chosen: u32) -> Vec<(u32, Behind)> {
    let count = queue.candidates.len() as u32;
    // Without the relay nobody is moved: the first that can serve is asked (R0).
    let start = if queue.policy.relay.is_on() && count > 0 { view.start % count } else { 0 };
    let ring = |index: u32| (index + count - start) % count.max(1);
    let current = view.current == Some(chosen);
    let moved = (0..count).filter(|&index| {
        index != chosen
            && (index < chosen || ring(index) < ring(chosen))
            && !passed.iter().any(|passed| passed.candidate == index)
    });
    moved
        .filter_map(|index| {
            let candidate = queue.candidates.get(index as usize)?;
            let own_place = || {
                if current {
                    Behind::NotCurrent
                } else if ring(index) < ring(chosen) {
                    Behind::Unverified
                } else {
                    Behind::Rotated
                }
            };
            let why = match candidate.presence {
                Presence::Missing => Behind::Missing,
                Presence::Present => out(view, index).unwrap_or_else(own_place),
            };
            Some((index, why))
        })
        .collect()
}

/// A quarantine that stands in the way by itself.
fn out(view: &View, index: u32) -> Option<Behind> {
    let (_, state) = view.candidates.iter().find(|(place, _)| *place == index)?;
    let quarantine = state.quarantine?;
    match quarantine.parole {
        ParoleView::Running => Some(Behind::ParoleRunning),
        ParoleView::Never | ParoleView::In(1..) => Some(Behind::Quarantined(quarantine.class)),
        ParoleView::In(0) => None,
    }
}
