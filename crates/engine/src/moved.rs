//! Who comes later than its place in the queue says, and why. A choice names those that it passed over;
//! of those that it had moved behind the one it chose it says nothing. It refuses to choose: it reads
//! what the choice saw.

use alloc::vec::Vec;

use crate::call::Decision;
use crate::choose::Passed;
use crate::class::Class;
use crate::policy::{Presence, Queue};
use crate::trace::{Record, Trace};
use crate::view::{ParoleView, View};

/// A candidate that was not asked before the chosen one, though the queue, or the ring from the
/// rotation's start, has it before that one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Moved {
    /// Its place in the queue, from 0.
    pub candidate: u32,
    /// Why.
    pub why: Behind,
}

/// Why a candidate was not asked before the chosen one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Behind {
    /// It cannot serve the asker.
    Missing,
    /// Out for the day here: it would not have run at its own place either.
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

impl Trace {
    /// For each record those that the choice had moved back, in the queue's order; each is told once
    /// for each reason.
    #[must_use]
    pub fn moved(&self) -> Vec<Vec<Moved>> {
        let mut begun = None;
        let mut told: Vec<Moved> = Vec::new();
        let queue = &self.spec.queue;
        let moved_at = |record: &Record| {
            let Record::Admitted { view, passed, decision, .. } = record else {
                return Vec::new();
            };
            let mut moved = match chosen(*decision) {
                // A retry chooses nobody.
                Some(chosen) if begun != Some(chosen) => moved(queue, view, passed, chosen),
                Some(_) | None => Vec::new(),
            };
            if let Decision::Go(start) = decision {
                begun = Some(start.candidate);
            }
            moved.retain(|one| !told.contains(one));
            told.extend(&moved);
            moved
        };
        self.records.iter().map(moved_at).collect()
    }
}

/// Whom a decision is for, of several.
const fn chosen(decision: Decision) -> Option<u32> {
    match decision {
        Decision::Go(start) => Some(start.candidate),
        Decision::Lease { candidate } => Some(candidate),
        Decision::Pause { .. }
        | Decision::Wait { .. }
        | Decision::Judge { .. }
        | Decision::Exhausted(_) => None,
    }
}

pub(crate) fn moved(queue: &Queue, view: &View, passed: &[Passed], chosen: u32) -> Vec<Moved> {
    let count = queue.candidates.len() as u32;
    // Without the relay nobody is moved: the first that can serve is asked (R0).
    let start = if queue.policy.relay.is_on() && count > 0 { view.start % count } else { 0 };
    let ring = |index: u32| (index + count - start) % count.max(1);
    let own_place = |index: u32| {
        if view.current == Some(chosen) {
            Behind::NotCurrent
        } else if ring(index) < ring(chosen) {
            Behind::Unverified
        } else {
            Behind::Rotated
        }
    };
    let earlier = |index: &u32| *index < chosen || ring(*index) < ring(chosen);
    let unnamed = |index: &u32| !passed.iter().any(|passed| passed.candidate == *index);
    (0..count)
        .filter(|index| *index != chosen && earlier(index) && unnamed(index))
        .filter_map(|index| {
            let why = match queue.candidates.get(index as usize)?.presence {
                Presence::Missing => Behind::Missing,
                Presence::Present => out(view, index).unwrap_or_else(|| own_place(index)),
            };
            Some(Moved { candidate: index, why })
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
