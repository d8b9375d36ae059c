//! Thousands of generated histories, each compared with the reference after every step. The
//! budget is fixed; `cargo run -p ekiden-model --release -- --seed N --steps M` goes further.

use std::io::Write as _;
use std::ops::Range;

use ekiden_engine::{Delivery, History, Policy, Purpose};
use ekiden_model::stage::{candidate, queue};
use ekiden_model::{Breach, Found, Op, Rng, Scene, World, find};

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

#[test]
fn r33_a_call_is_compared_beyond_the_end_of_its_trace() -> Result<(), Breach> {
    let narrow = ekiden_engine::Candidate { max_sessions: Some(1), ..candidate(0) };
    let queues = vec![queue(1, Policy::RELAY, vec![narrow])];
    let mut world = World::new(Scene { queues, prompt_leases: false });
    world.step(&Op::Arrive {
        session: 2,
        queue: 0,
        purpose: Purpose::Main,
        delivery: Delivery::Stream,
        history: History::Fresh,
        tokens: 0,
        deadline_ms: None,
        seed: 1,
        tried: 0,
    })?;
    // Its seat is asked for and not granted; two records each.
    for _ in 0..2_100 {
        world.step(&Op::Woken(0))?;
    }
    world.finish(&mut Rng::new(1))?;
    world.replay()
}
