//! Records for tests, chosen or by chance from one number.

use std::path::Path;
use std::sync::Arc;

use ekiden_engine::{Class, Clock, LiftedBy, Mode, Quarantine, Speed, Tally, WaitFor};
use ekiden_store::{
    AttemptRow, AttemptState, Basis, Bounds, CallRow, Catalog, Cost, Currency, Ending, Entry,
    Evidence, MemoryStore, Place, Record, SqliteStore, Store, Tokens, Told, Waited, What,
};
use tempfile::TempDir;

/// A store, and the folder that goes with it.
pub(crate) struct Opened {
    pub(crate) store: Box<dyn Store>,
    _folder: Option<TempDir>,
}

impl Opened {
    pub(crate) fn memory(bounds: Bounds) -> Self {
        Self { store: Box::new(MemoryStore::new(bounds)), _folder: None }
    }

    pub(crate) fn sqlite(bounds: Bounds) -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { store: Box::new(open(folder.path(), bounds)), _folder: Some(folder) }
    }

    /// Writes, and waits until it can be read.
    pub(crate) fn put(&self, records: Vec<Record>) {
        self.store.write(records);
        self.store.flush().unwrap();
    }
}

pub(crate) fn open(folder: &Path, bounds: Bounds) -> SqliteStore {
    SqliteStore::open(folder, bounds).unwrap()
}

pub(crate) fn place(session: &str, route: &str) -> Place {
    Place { session: session.into(), queue: "default".into(), route: route.into() }
}

pub(crate) const fn out(day: u32) -> Quarantine {
    Quarantine {
        class: Class::ServerError,
        day,
        since_ms: 1,
        until_ms: None,
        parole_ms: Some(60_001),
        paroles: 0,
    }
}

pub(crate) fn quarantined(place: &Place, day: u32) -> Record {
    Record::Quarantined { place: place.clone(), quarantine: out(day) }
}

pub(crate) fn entry(number: u64, what: What) -> Record {
    Record::Journal(Entry { number, at_ms: 1_000 + number, call: None, what })
}

pub(crate) fn said(place: &Place, class: Class, message: &str) -> What {
    What::Quarantined {
        place: place.clone(),
        class,
        until_ms: None,
        parole_ms: None,
        evidence: Evidence {
            status: Some(500),
            code: Some("server_error".into()),
            param: None,
            message: Some(message.into()),
        },
    }
}

pub(crate) fn attempt(call: &str, number: u32, state: AttemptState) -> AttemptRow {
    AttemptRow {
        call: call.into(),
        attempt: number,
        place: place("s", "a/m"),
        began_ms: 1,
        took_ms: 2,
        state,
        class: None,
        status: Some(200),
        input: Tokens::Estimated(10),
        output: Tokens::Reported(3),
        cached: None,
        cache_written: None,
        cost: None,
        token: None,
        wasted: false,
    }
}

pub(crate) fn call(name: &str, attempts: u32) -> CallRow {
    CallRow {
        call: name.into(),
        session: "s".into(),
        queue: "default".into(),
        began_ms: 1,
        took_ms: 2,
        attempts,
        route: Some("a/m".into()),
        ending: Ending::Whole,
    }
}

/// SplitMix64: one number gives the same records each time.
pub(crate) struct Chance(pub(crate) u64);

impl Chance {
    pub(crate) const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) const fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    pub(crate) fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }

    pub(crate) fn session(&mut self) -> Arc<str> {
        self.pick(&["", "claude-code:0190", "a'b\"c", "会话", "s"]).into()
    }

    pub(crate) fn queue(&mut self) -> Arc<str> {
        self.pick(&["default", "fast"]).into()
    }

    pub(crate) fn route(&mut self) -> Arc<str> {
        self.pick(&["a/m", "b/m", "openrouter/x/y", "深度/求索"]).into()
    }

    pub(crate) fn place(&mut self) -> Place {
        Place { session: self.session(), queue: self.queue(), route: self.route() }
    }

    fn time(&mut self) -> u64 {
        self.pick(&[0, 1, 1_790_000_000_000, i64::MAX as u64])
    }

    fn maybe<T>(&mut self, value: impl FnOnce(&mut Self) -> T) -> Option<T> {
        (self.below(2) == 0).then(|| value(self))
    }

    fn class(&mut self) -> Class {
        self.pick(&Class::ALL)
    }

    fn evidence(&mut self) -> Evidence {
        Evidence {
            status: self.maybe(|chance| chance.pick(&[0, 429, 500, u16::MAX])),
            code: self.maybe(|_| "overloaded_error".into()),
            param: self.maybe(|_| "messages[0].content".into()),
            message: self.maybe(|chance| {
                let length = chance.below(900) as usize;
                "schlüssel sk-ant-0123456789abcdef 过载 ".chars().cycle().take(length + 1).collect()
            }),
        }
    }

    /// Any entry.
    pub(crate) fn what(&mut self) -> What {
        let (place, route) = (self.place(), self.route());
        let (session, queue) = (self.session(), self.queue());
        let by = self.pick(&[LiftedBy::Success, LiftedBy::Release, LiftedBy::Reset]);
        match self.below(22) {
            0 => What::Quarantined {
                place,
                class: self.class(),
                until_ms: self.maybe(Self::time),
                parole_ms: self.maybe(Self::time),
                evidence: self.evidence(),
            },
            1 => What::Lifted { place, by },
            2 => What::OnTrial {
                place,
                mode: self.pick(&[Mode::Normal, Mode::Probe, Mode::Parole, Mode::LastResort]),
            },
            3 => What::Cooled {
                route,
                ms: self.time(),
                class: self.class(),
                evidence: self.evidence(),
            },
            4 => What::Warmed { route, by },
            5 => What::FailedOver { from: route, to: place.route, class: self.maybe(Self::class) },
            6 => What::Rotated { session, queue, truncations: self.pick(&[2, u32::MAX]) },
            7 => What::Stalled {
                route,
                clock: self.pick(&[
                    Clock::Connect,
                    Clock::Headers,
                    Clock::Idle,
                    Clock::Progress,
                    Clock::FirstOutput,
                    Clock::Share,
                ]),
            },
            8 => What::Waited { session, queue, why: self.waited() },
            9 => What::Continued { route, times: 1 },
            10 => What::Repaired { route, param: "top_k".into() },
            11 => What::ChunkSkipped { route },
            12 => What::Refused { session, queue, told: self.told() },
            13 => What::QueueGone { asked: "older ".repeat(50).into(), queue },
            14 => What::SettingsTaken,
            15 => What::SettingsRefused {
                place: "/etc/ekiden.toml:3:5".into(),
                code: "unknown_key".into(),
                chinese: "没有键 `sk-ant-0123456789abcdef`".repeat(20),
                message: "unknown key `sk-ant-0123456789abcdef`".repeat(20),
            },
            16 => What::Slept { ms: self.time() },
            17 => What::Paused { session: self.maybe(Self::session) },
            18 => What::Resumed { session: self.maybe(Self::session) },
            19 => What::Stopped { session, queue },
            20 => What::ServedInstead { head: place.route, route },
            _ => What::Turned { day: 7 },
        }
    }

    fn waited(&mut self) -> Waited {
        self.pick(&[
            Waited::LocalNetwork,
            Waited::Candidate(WaitFor::Cooldown),
            Waited::Candidate(WaitFor::Rest),
            Waited::Candidate(WaitFor::Parole),
            Waited::Candidate(WaitFor::StandIn),
            Waited::Candidate(WaitFor::Seat),
            Waited::Candidate(WaitFor::Probe),
        ])
    }

    fn told(&mut self) -> Told {
        let (seconds, class) = (self.below(60), self.class());
        self.pick(&[
            Told::AsItCame,
            Told::Overflow,
            Told::ComeBack(seconds),
            Told::DoNotRetry,
            Told::EmptyQueue,
            Told::LocalNetwork,
            Told::Deadline,
            Told::Broken(class),
            Told::Stopped,
        ])
    }

    fn tokens(&mut self) -> Tokens {
        let count = self.pick(&[0, 1, 250_000, u64::MAX]);
        self.pick(&[Tokens::Reported(count), Tokens::Estimated(count), Tokens::Unknown])
    }

    fn row(&mut self) -> AttemptRow {
        AttemptRow {
            call: self.pick(&["c1", "c2", "c3", "c4", "c5"]).into(),
            attempt: 1 + self.below(16) as u32,
            place: self.place(),
            began_ms: self.time(),
            took_ms: self.time(),
            state: self.pick(&[AttemptState::Sent, AttemptState::Unknown, AttemptState::Complete]),
            class: self.maybe(Self::class),
            status: self.maybe(|_| 200),
            input: self.tokens(),
            output: self.tokens(),
            cached: self.maybe(|chance| chance.pick(&[0, 7, u64::MAX])),
            cache_written: self.maybe(|chance| chance.pick(&[0, 9, u64::MAX])),
            cost: self.maybe(|chance| Cost {
                currency: chance.pick(&Currency::ALL),
                nano: chance.pick(&[0, 1, 435_000_000, u64::MAX]),
                basis: chance.pick(&[Basis::Reported, Basis::Estimated]),
            }),
            token: self.maybe(|chance| chance.pick(&["t1", "t2"]).into()),
            wasted: self.below(2) == 0,
        }
    }

    fn call(&mut self) -> CallRow {
        CallRow {
            call: self.pick(&["c1", "c2", "c3", "c4", "c5", "c6"]).into(),
            session: self.session(),
            queue: self.queue(),
            began_ms: self.time(),
            took_ms: self.time(),
            attempts: self.below(16) as u32,
            route: self.maybe(Self::route),
            ending: self.pick(&[
                Ending::Whole,
                Ending::Truncated,
                Ending::Refused,
                Ending::Broken,
                Ending::Left,
                Ending::Stopped,
            ]),
        }
    }

    /// Any record around that day; entries carry that number.
    pub(crate) fn record(&mut self, day: u32, number: u64) -> Record {
        let near = (day + self.below(3) as u32).saturating_sub(1);
        let place = self.place();
        match self.below(24) {
            0..3 => {
                let quarantine = Quarantine {
                    class: self.class(),
                    day: near,
                    since_ms: self.time(),
                    until_ms: self.maybe(Self::time),
                    parole_ms: self.maybe(Self::time),
                    paroles: self.below(4) as u32,
                };
                Record::Quarantined { place, quarantine }
            }
            3 => Record::Lifted { place, by: LiftedBy::Success },
            4..6 => Record::Verified { place, day: near },
            6 => Record::Unverified { place },
            7 => Record::QueueDeleted { queue: self.pick(&["old", "older"]).into() },
            8..12 => {
                let call = self.maybe(|_| "c1".into());
                Record::Journal(Entry { number, at_ms: self.time(), call, what: self.what() })
            }
            12..15 => Record::Attempt(self.row()),
            15 => Record::Call(self.call()),
            16..18 => {
                let (successes, failures) = (self.below(9) as u32, self.below(9) as u32);
                let tally = Tally { successes, failures };
                Record::Tallied { route: self.route(), day: near, tally }
            }
            18..20 => {
                let speed = Speed { tokens: self.below(99), speaking_ms: self.below(99) };
                Record::Sped { session: self.session(), route: self.route(), day: near, speed }
            }
            20 => Record::Catalog(Catalog {
                provider: self.pick(&["a", "b"]).into(),
                version: self.below(3) as u32,
                json: r#"{"models":["深"]}"#.into(),
            }),
            21 => Record::CatalogForgotten { provider: self.pick(&["a", "b"]).into() },
            22 => {
                let since_ms = self.time();
                Record::Paused { session: self.maybe(Self::session), since_ms }
            }
            _ => Record::Resumed { session: self.maybe(Self::session) },
        }
    }
}
