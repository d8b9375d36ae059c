//! Names of closed lists as they stand in files. They refuse to change: a file outlives the program
//! that wrote it.

use ekiden_engine::{Clock, LiftedBy, Mode, WaitFor};

use crate::record::{AttemptState, Ending};

/// A value of a closed list, and its name.
pub(crate) trait Word: Sized {
    fn word(self) -> &'static str;
    fn of(word: &str) -> Option<Self>;
}

macro_rules! words {
    ($($name:ident { $($variant:ident = $word:literal),* $(,)? })*) => { $(
        impl Word for $name {
            fn word(self) -> &'static str {
                match self { $( Self::$variant => $word, )* }
            }
            fn of(word: &str) -> Option<Self> {
                match word {
                    $( $word => Some(Self::$variant), )*
                    _ => None,
                }
            }
        }
    )* };
}

words! {
    LiftedBy { Success = "success", Release = "release", Reset = "reset" }
    Mode { Normal = "normal", Probe = "probe", Parole = "parole", LastResort = "last_resort" }
    Clock {
        Connect = "connect", Headers = "headers", Idle = "idle", Progress = "progress",
        FirstOutput = "first_output", Share = "share",
    }
    WaitFor {
        Cooldown = "cooldown", Rest = "rest", Parole = "parole", StandIn = "stand_in",
        Seat = "seat", Probe = "probe", Round = "round",
    }
    AttemptState { Sent = "sent", Unknown = "unknown", Complete = "complete" }
    Ending {
        Whole = "whole", Truncated = "truncated", Refused = "refused", Broken = "broken",
        Left = "left", Stopped = "stopped",
    }
}
