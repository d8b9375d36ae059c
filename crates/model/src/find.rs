//! Looks for a breach, and makes the history that shows it short.

use crate::op::Op;
use crate::rng::Rng;
use crate::scene::Scene;
use crate::world::{Breach, World};

/// A breach and how to see it again.
#[derive(Clone, Debug)]
pub struct Found {
    /// The seed.
    pub seed: u64,
    /// How many operations the history had.
    pub steps: usize,
    /// What was wrong.
    pub breach: Breach,
    /// The operations that suffice.
    pub ops: Vec<Op>,
    /// The short history as lines.
    pub history: String,
}

impl std::fmt::Display for Found {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { seed, steps, breach, ops, history } = self;
        writeln!(out, "cargo run -p ekiden-model -- --seed {seed} --steps {steps}")?;
        writeln!(out, "{}\n", breach.0)?;
        for op in ops {
            writeln!(out, "# {op}")?;
        }
        write!(out, "\n{history}")
    }
}

/// Lives through the history of a seed; gives what happened, or the shortest way to a breach.
///
/// # Errors
/// With the breach.
pub fn find(seed: u64, steps: usize) -> Result<World, Box<Found>> {
    let ops = operations(seed, steps);
    live(seed, &ops).map_err(|_| Box::new(shorten(seed, steps, ops)))
}

/// Leaves out operations as long as a breach remains.
#[must_use]
pub fn shorten(seed: u64, steps: usize, mut ops: Vec<Op>) -> Found {
    let mut size = ops.len().div_ceil(2);
    while size > 0 {
        let mut from = 0;
        while from < ops.len() {
            let mut fewer = ops.clone();
            fewer.drain(from..(from + size).min(ops.len()));
            if live(seed, &fewer).is_err() {
                ops = fewer;
            } else {
                from += size;
            }
        }
        size /= 2;
    }
    let (breach, history) = match live(seed, &ops) {
        Ok(world) => (Breach("gone when looked at again".into()), world.history().into()),
        Err(told) => *told,
    };
    Found { seed, steps, breach, ops, history }
}

fn operations(seed: u64, steps: usize) -> Vec<Op> {
    let mut rng = Rng::new(seed ^ 0x6f70_7300);
    (0..steps).map(|_| Op::next(&mut rng)).collect()
}

fn live(seed: u64, ops: &[Op]) -> Result<World, Box<(Breach, String)>> {
    let mut rng = Rng::new(seed);
    let mut world = World::new(Scene::of(&mut rng));
    let lived = ops
        .iter()
        .try_for_each(|op| world.step(op))
        .and_then(|()| world.finish(&mut rng))
        .and_then(|()| world.replay());
    match lived {
        Ok(()) => Ok(world),
        Err(breach) => Err(Box::new((breach, world.history().into()))),
    }
}
