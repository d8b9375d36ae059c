//! The engine: lived through beside the reference model, and driven by lines that anybody may have written.

use ekiden_engine::history::History;
use ekiden_model::{Op, Rng, Scene, World};

use crate::input::Input;

/// Lines that are carried out.
const LINES_MAX: usize = 400;
/// Calls that arrive: each is looked at whenever another moves.
const CALLS_MAX: usize = 12;

/// Four bytes choose the scene, and each four more an operation.
///
/// The engine and the reference model must agree after each, and its invariants hold.
pub fn deciding(data: &[u8]) {
    let mut input = Input::new(data);
    let mut rng = Rng::new(u64::from(input.number()));
    let mut world = World::new(Scene::of(&mut rng));
    let (mut lived, mut calls) = (Ok(()), 0);
    while lived.is_ok() && !input.is_empty() {
        let op = Op::next(&mut Rng::new(u64::from(input.number())));
        calls += usize::from(matches!(op, Op::Arrive { .. }));
        if calls <= CALLS_MAX || !matches!(op, Op::Arrive { .. }) {
            lived = world.step(&op);
        }
    }
    let lived = lived.and_then(|()| world.finish(&mut rng)).and_then(|()| world.replay());
    let breach = lived.err().map(|breach| breach.0);
    assert_eq!(breach, None, "after this history:\n{}", world.history());
}

/// The bytes are lines of a history; two engines must say the same to them.
pub fn replaying(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let lines = || text.lines().take(LINES_MAX);
    let (mut one, mut other) = (History::new(), History::new());
    let (mut first, mut second) = (String::new(), String::new());
    for line in lines() {
        let read = one.line(line, &mut first).is_ok();
        assert_eq!(read, other.line(line, &mut second).is_ok(), "read once and refused once");
    }
    assert_eq!(first, second, "the same lines, another answer");
}
