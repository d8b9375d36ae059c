//! Checks the engine against a second opinion; nothing here is shipped, and nothing here decides
//! for the product.
//!
//! - [`mod@reference`] states the rules once more, slowly and plainly.
//! - [`World`] lives through a generated history: it drives an engine as a shell would, feeds the
//!   reference the same operations, and compares the two after each step.
//! - [`find`] looks for a breach, seed after seed, and shortens the history that shows it.
//! - [`Stage`] is the small driver that rule tests are written with.
//! - [`run_history`] replays a recorded history.
//!
//! The generator is an own SplitMix64 and not a property-test library: an operation carries plain
//! numbers that are read against the world as it then is, so that any subset of a history is a
//! history. That makes shortening a matter of leaving operations out, and one number reproduces
//! everything.

mod check;
mod find;
mod op;
pub mod reference;
mod rng;
mod scene;
pub mod stage;
mod world;

pub use find::{Found, find, shorten};
pub use op::Op;
pub use rng::Rng;
pub use scene::Scene;
pub use stage::Stage;
pub use world::{Breach, World};

use ekiden_engine::history::History;
use ekiden_engine::trace::BadWord;

/// What an engine says to a recorded history: line for line what any build of it has to say.
///
/// # Errors
/// With the number of the line, from 1, that is no operation.
pub fn run_history(lines: &str) -> Result<String, (usize, BadWord)> {
    History::new().run(lines)
}
