//! Settings and state of a gateway that runs, and of one that starts again (G7, G12, G13, R17).

#![expect(clippy::unwrap_used, reason = "all of this is tests")]

mod desk;
mod reload;
mod restart;
mod sizes;
mod writing;
