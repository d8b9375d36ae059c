//! The order of acts. A script never looks at a request: it counts.

use crate::act::{Act, Answer};

/// A list of acts, one per request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    steps: Vec<Act>,
    then: Then,
}

/// What follows the last step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Then {
    /// The last step again, for ever.
    #[default]
    RepeatLast,
    /// All of it from the first step on.
    Cycle,
}

impl Script {
    /// These acts in turn, the last one for ever. Without any it answers [`Answer::default`].
    #[must_use]
    pub fn new(steps: impl IntoIterator<Item = impl Into<Act>>) -> Script {
        Script { steps: steps.into_iter().map(Into::into).collect(), then: Then::RepeatLast }
    }

    /// This act for ever.
    #[must_use]
    pub fn always(act: impl Into<Act>) -> Script {
        Script::new([act])
    }

    /// The same acts, with another end.
    #[must_use]
    pub fn then(mut self, then: Then) -> Script {
        self.then = then;
        self
    }

    /// The acts.
    #[must_use]
    pub fn steps(&self) -> &[Act] {
        &self.steps
    }

    /// The act for the request of this number, the first being 0.
    #[must_use]
    pub fn step(&self, number: usize) -> Act {
        let index = match self.then {
            Then::RepeatLast => number.min(self.steps.len().saturating_sub(1)),
            Then::Cycle => number.checked_rem(self.steps.len()).unwrap_or(0),
        };
        self.steps.get(index).cloned().unwrap_or_else(|| Act::from(Answer::default()))
    }
}

impl Default for Script {
    fn default() -> Script {
        Script::always(Answer::default())
    }
}

impl From<Act> for Script {
    fn from(act: Act) -> Script {
        Script::always(act)
    }
}

/// A script and how far it has come.
#[derive(Debug)]
pub(crate) struct Cursor {
    script: Script,
    next: usize,
}

impl Cursor {
    pub(crate) fn new(script: Script) -> Cursor {
        Cursor { script, next: 0 }
    }

    pub(crate) fn peek(&self) -> Act {
        self.script.step(self.next)
    }

    pub(crate) fn advance(&mut self) -> Act {
        let act = self.peek();
        self.next = self.next.wrapping_add(1);
        act
    }
}
