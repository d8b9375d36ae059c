//! What one call sees of the shared state at one admission. A view is all that a choice reads, so
//! a recorded view is all that a replay needs. Spans count from the admission, in milliseconds.
//! A candidate that no choice asks about is not looked at, and one that is only counted and
//! of which nothing is known is not written down: in a long queue that is most of them.

use alloc::vec::Vec;
use core::cell::RefCell;

use crate::class::Class;
use crate::policy::Switch;
use crate::sorted::Sorted;

/// The shared state as it concerns one call of one session in one queue.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct View {
    /// The candidates that were looked at, by their places in the queue, from 0; in that order. One
    /// that is not here was [`CandidateView::FRESH`], or nobody asked.
    pub candidates: Vec<(u32, CandidateView)>,
    /// Where the ring begins after repeated truncation (R14).
    pub start: u32,
    /// The candidate that answered last, where it stays the first one (H3).
    pub current: Option<u32>,
    /// Whether calls do not persist at this moment (P5).
    pub paused: Switch,
    /// Whether any candidate is out for the day in this session and queue, so that the others are
    /// put in another order (R3).
    pub reordered: Switch,
}

/// A view that is filled in as a choice asks.
pub(crate) struct Sight<'a> {
    pub(crate) start: u32,
    pub(crate) current: Option<u32>,
    pub(crate) paused: Switch,
    pub(crate) reordered: Switch,
    seen: RefCell<Sorted<u32, CandidateView>>,
    /// Looks at one candidate; absent in a replay.
    look: Option<&'a dyn Fn(u32) -> CandidateView>,
}

impl<'a> Sight<'a> {
    /// What is seen for the first time.
    pub(crate) fn fresh(view: &View, look: &'a dyn Fn(u32) -> CandidateView) -> Self {
        Self { look: Some(look), ..Self::recorded(view) }
    }

    /// What was seen once.
    pub(crate) fn recorded(view: &View) -> Self {
        let mut seen = Sorted::new();
        for (index, state) in &view.candidates {
            seen.insert(*index, *state);
        }
        Self {
            start: view.start,
            current: view.current,
            paused: view.paused,
            reordered: view.reordered,
            seen: RefCell::new(seen),
            look: None,
        }
    }

    /// One candidate. What a recorded view does not know was never asked about.
    pub(crate) fn at(&self, index: u32) -> CandidateView {
        let known = self.seen.borrow().get(&index).copied();
        known.unwrap_or_else(|| {
            let state = self.look.map_or(CandidateView::FRESH, |look| look(index));
            self.seen.borrow_mut().insert(index, state);
            state
        })
    }

    /// One candidate that is only counted. If it is fresh it is not written down: a replay takes
    /// what it does not know for fresh.
    pub(crate) fn counted(&self, index: u32) -> CandidateView {
        let known = self.seen.borrow().get(&index).copied();
        known.unwrap_or_else(|| {
            let state = self.look.map_or(CandidateView::FRESH, |look| look(index));
            if state != CandidateView::FRESH {
                self.seen.borrow_mut().insert(index, state);
            }
            state
        })
    }

    /// What was looked at.
    pub(crate) fn view(&self) -> View {
        let seen = self.seen.borrow();
        View {
            candidates: seen.iter().map(|(index, state)| (*index, *state)).collect(),
            start: self.start,
            current: self.current,
            paused: self.paused,
            reordered: self.reordered,
        }
    }
}

/// One candidate's state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CandidateView {
    /// Out for the day in this session and queue (R17).
    pub quarantine: Option<QuarantineView>,
    /// Produced output today here, and has not failed since.
    pub verified: bool,
    /// Passed over for everybody for this long (R21).
    pub cooling_ms: Option<u64>,
    /// The limit is over, but this session's own run that passed it over has not ended (R22).
    pub stand_in: bool,
    /// The cooldown is over and somebody else is trying it alone (R22).
    pub probing: bool,
    /// The cooldown is over and nobody has tried it since: whoever goes, goes alone.
    pub untested: bool,
    /// Whether there is room (R24 to R27).
    pub seat: SeatView,
    /// One attempt, without retry or delay (R8).
    pub single: bool,
}

/// A quarantine as a choice reads it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QuarantineView {
    /// Why.
    pub class: Class,
    /// When one live call may try again (R18).
    pub parole: ParoleView,
    /// Until its own reset, where that comes before the day's end.
    pub ends_ms: Option<u64>,
}

/// Where the parole of a quarantined candidate stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ParoleView {
    /// It has to sit it out.
    Never,
    /// Due in this many milliseconds; 0: now.
    In(u64),
    /// Another call is trying it.
    Running,
}

/// Whether a candidate has room for this call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SeatView {
    /// No cap.
    Open,
    /// The session holds a seat.
    Held,
    /// A seat can be asked for.
    Free,
    /// The session has asked; the answer is not there yet.
    Asked,
    /// All seats are taken.
    Full {
        /// When an idle one may be taken back (R26), where that is known.
        soonest_ms: Option<u64>,
    },
    /// A seat has just been given back (R27).
    Resting {
        /// For how long still.
        ms: u64,
    },
}
