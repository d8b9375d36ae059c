//! Thousands of generated histories, each compared with the reference after every step. The
//! budget is fixed; `cargo run -p ekiden-model --release -- --seed N --steps M` goes further.

use std::io::Write as _;
use std::ops::Range;

use ekiden_model::{Found, find};

fn live_through(seeds: Range<u64>, steps: usize) -> Result<(), Box<Found>> {
    let mut traces = 0;
    for seed in seeds {
        let world = find(seed, steps);
        if let Err(found) = &world {
            // Debug output escapes line breaks; a person wants to read this.
            let _ = write!(std::io::stderr(), "{found}");
        }
        traces += world?.traces();
    }
    assert!(traces > 500, "only {traces} calls came to an end");
    Ok(())
}

#[test]
fn short_histories_hold() -> Result<(), Box<Found>> {
    live_through(0..1_500, 40)
}

#[test]
fn middling_histories_hold() -> Result<(), Box<Found>> {
    live_through(10_000..10_130, 250)
}

#[test]
fn long_histories_hold() -> Result<(), Box<Found>> {
    live_through(20_000..20_008, 1_500)
}
