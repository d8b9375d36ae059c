//! A journal entry as a row of plain columns, so that people can read the file and filters need to
//! know no entry's shape. It refuses to guess: a row that is no entry reads as none.

use std::sync::Arc;

use ekiden_engine::Class;

use crate::entry::{Told, Waited, What};
use crate::masked::Evidence;
use crate::record::Place;
use crate::words::Word;

/// What happened, column by column.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Line {
    pub(crate) session: Option<Arc<str>>,
    pub(crate) queue: Option<Arc<str>>,
    pub(crate) route: Option<Arc<str>>,
    /// The other route of a failover, the id that was asked for, a request's member, or a place in
    /// the settings.
    pub(crate) other: Option<Arc<str>>,
    pub(crate) class: Option<Class>,
    /// By what, which clock, what for, what was told.
    pub(crate) word: Option<Arc<str>>,
    /// Milliseconds, seconds, times, a day: the kind says which.
    pub(crate) amount: Option<u64>,
    pub(crate) until_ms: Option<u64>,
    pub(crate) parole_ms: Option<u64>,
    pub(crate) evidence: Evidence,
}

impl Line {
    /// The columns of what happened.
    pub(crate) fn of(what: &What) -> Self {
        match what {
            What::Quarantined { place, class, until_ms, parole_ms, evidence } => Self {
                class: Some(*class),
                until_ms: *until_ms,
                parole_ms: *parole_ms,
                evidence: evidence.clone(),
                ..Self::at(place)
            },
            What::Lifted { place, by } => Self { word: word(*by), ..Self::at(place) },
            What::OnTrial { place, mode } => Self { word: word(*mode), ..Self::at(place) },
            What::Cooled { route, ms, class, evidence } => Self {
                amount: Some(*ms),
                class: Some(*class),
                evidence: evidence.clone(),
                ..Self::on(route)
            },
            What::Warmed { route, by } => Self { word: word(*by), ..Self::on(route) },
            What::FailedOver { from, to, class } => {
                Self { other: Some(Arc::clone(to)), class: *class, ..Self::on(from) }
            }
            What::ServedInstead { head, route } => {
                Self { other: Some(Arc::clone(head)), ..Self::on(route) }
            }
            What::Stalled { route, clock } => Self { word: word(*clock), ..Self::on(route) },
            What::Continued { route, times } => Self { amount: number(*times), ..Self::on(route) },
            What::Repaired { route, param } => {
                Self { other: Some(param.as_str().into()), ..Self::on(route) }
            }
            What::ChunkSkipped { route } => Self::on(route),
            What::Rotated { session, queue, truncations } => {
                Self { amount: number(*truncations), ..Self::of_call(session, queue) }
            }
            What::Waited { session, queue, why } => {
                let why = match why {
                    Waited::Candidate(wait) => word(*wait),
                    Waited::LocalNetwork => Some("local_network".into()),
                };
                Self { word: why, ..Self::of_call(session, queue) }
            }
            What::Refused { session, queue, told } => {
                let (word, amount, class) = told_columns(*told);
                Self { word: Some(word.into()), amount, class, ..Self::of_call(session, queue) }
            }
            What::QueueGone { asked, queue } => Self {
                other: Some(Arc::clone(asked)),
                queue: Some(Arc::clone(queue)),
                ..Self::default()
            },
            What::SettingsTaken => Self::default(),
            // The columns of an error, as it is one.
            What::SettingsRefused { place, code, message, chinese } => Self {
                other: Some(Arc::clone(place)),
                evidence: Evidence {
                    code: (!code.is_empty()).then(|| code.to_string()),
                    param: (!chinese.is_empty()).then(|| chinese.clone()),
                    message: Some(message.clone()),
                    ..Evidence::default()
                },
                ..Self::default()
            },
            What::Paused { session } | What::Resumed { session } => {
                Self { session: session.clone(), ..Self::default() }
            }
            What::Stopped { session, queue } => Self::of_call(session, queue),
            What::Slept { ms } => Self { amount: Some(*ms), ..Self::default() },
            What::Turned { day } => Self { amount: number(*day), ..Self::default() },
        }
    }

    /// What happened, if the columns say it.
    pub(crate) fn what(self, kind: &str) -> Option<What> {
        let amount = self.amount;
        let small = move || amount.and_then(|amount| u32::try_from(amount).ok());
        Some(match kind {
            "quarantined" => What::Quarantined {
                class: self.class?,
                until_ms: self.until_ms,
                parole_ms: self.parole_ms,
                evidence: self.evidence.clone(),
                place: self.place()?,
            },
            "lifted" => What::Lifted { by: self.read()?, place: self.place()? },
            "on_trial" => What::OnTrial { mode: self.read()?, place: self.place()? },
            "cooled" => What::Cooled {
                route: self.route?,
                ms: amount?,
                class: self.class?,
                evidence: self.evidence,
            },
            "warmed" => What::Warmed { by: self.read()?, route: self.route? },
            "failed_over" => {
                What::FailedOver { from: self.route?, to: self.other?, class: self.class }
            }
            "served_instead" => What::ServedInstead { head: self.other?, route: self.route? },
            "stalled" => What::Stalled { clock: self.read()?, route: self.route? },
            "continued" => What::Continued { route: self.route?, times: small()? },
            "repaired" => What::Repaired { route: self.route?, param: self.other?.to_string() },
            "chunk_skipped" => What::ChunkSkipped { route: self.route? },
            "rotated" => {
                What::Rotated { session: self.session?, queue: self.queue?, truncations: small()? }
            }
            "waited" => {
                let why = match self.word.as_deref()? {
                    "local_network" => Waited::LocalNetwork,
                    wait => Waited::Candidate(Word::of(wait)?),
                };
                What::Waited { session: self.session?, queue: self.queue?, why }
            }
            "refused" => What::Refused {
                told: told(self.word.as_deref()?, amount, self.class)?,
                session: self.session?,
                queue: self.queue?,
            },
            "queue_gone" => What::QueueGone { asked: self.other?, queue: self.queue? },
            "settings_taken" => What::SettingsTaken,
            "settings_refused" => What::SettingsRefused {
                place: self.other?,
                code: self.evidence.code.unwrap_or_default().into(),
                message: self.evidence.message.unwrap_or_default(),
                chinese: self.evidence.param.unwrap_or_default(),
            },
            "paused" => What::Paused { session: self.session },
            "resumed" => What::Resumed { session: self.session },
            "stopped" => What::Stopped { session: self.session?, queue: self.queue? },
            "slept" => What::Slept { ms: amount? },
            "turned" => What::Turned { day: small()? },
            _ => return None,
        })
    }

    fn at(place: &Place) -> Self {
        let route = Some(Arc::clone(&place.route));
        Self { route, ..Self::of_call(&place.session, &place.queue) }
    }

    fn on(route: &Arc<str>) -> Self {
        Self { route: Some(Arc::clone(route)), ..Self::default() }
    }

    fn of_call(session: &Arc<str>, queue: &Arc<str>) -> Self {
        let (session, queue) = (Some(Arc::clone(session)), Some(Arc::clone(queue)));
        Self { session, queue, ..Self::default() }
    }

    fn place(self) -> Option<Place> {
        Some(Place { session: self.session?, queue: self.queue?, route: self.route? })
    }

    fn read<T: Word>(&self) -> Option<T> {
        T::of(self.word.as_deref()?)
    }
}

fn word(value: impl Word) -> Option<Arc<str>> {
    Some(value.word().into())
}

fn number(value: u32) -> Option<u64> {
    Some(u64::from(value))
}

const fn told_columns(told: Told) -> (&'static str, Option<u64>, Option<Class>) {
    match told {
        Told::AsItCame => ("as_it_came", None, None),
        Told::Overflow => ("overflow", None, None),
        Told::ComeBack(seconds) => ("come_back", Some(seconds), None),
        Told::DoNotRetry => ("do_not_retry", None, None),
        Told::EmptyQueue => ("empty_queue", None, None),
        Told::LocalNetwork => ("local_network", None, None),
        Told::Deadline => ("deadline", None, None),
        Told::Broken(class) => ("broken", None, Some(class)),
        Told::Stopped => ("stopped", None, None),
    }
}

fn told(word: &str, amount: Option<u64>, class: Option<Class>) -> Option<Told> {
    Some(match word {
        "as_it_came" => Told::AsItCame,
        "overflow" => Told::Overflow,
        "come_back" => Told::ComeBack(amount?),
        "do_not_retry" => Told::DoNotRetry,
        "empty_queue" => Told::EmptyQueue,
        "local_network" => Told::LocalNetwork,
        "deadline" => Told::Deadline,
        "broken" => Told::Broken(class?),
        "stopped" => Told::Stopped,
        _ => return None,
    })
}
