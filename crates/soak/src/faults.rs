//! What an upstream does with an attempt: every fault that is known from the field, drawn by the
//! seed, the call and the attempt.

use std::time::Duration;

use ekiden_sim::{
    Act, After, Answer, Beats, Coding, Fault, Finish, Pace, Place, ResetPoint, Status, Trouble,
};

use crate::dice::Dice;
use crate::plan::{Plan, TOOL, words};

/// How often an upstream fails, in a hundred.
pub(crate) fn act(dice: &mut Dice, plan: &Plan, failing: u64) -> Act {
    if !dice.in_hundred(failing) {
        return sound(dice, plan);
    }
    match dice.below(10) {
        0..=2 => status(dice),
        3 => mute(dice),
        _ => faulty(dice, plan),
    }
}

/// Whether an act that was played to its end is an answer that a client must get.
pub(crate) fn is_sound(act: &Act) -> bool {
    match act {
        Act::Answer(answer) => {
            let says = !answer.text.is_empty() || !answer.tools.is_empty();
            says && answer.fault.is_none_or(|fault| fault == Fault::NoTerminator)
        }
        Act::Status(_)
        | Act::Reset(_)
        | Act::Hang
        | Act::HeadersThenSilence
        | Act::Html
        | Act::ZeroBytes => false,
    }
}

fn sound(dice: &mut Dice, plan: &Plan) -> Act {
    let mut answer = content(dice, plan);
    pace(dice, &mut answer);
    answer.coding = if dice.in_hundred(8) { Coding::Gzip } else { Coding::Identity };
    answer.after = match dice.below(12) {
        0 => After::Close,
        1 => After::DieOnReuse,
        _ => After::KeepAlive,
    };
    if dice.in_hundred(5) {
        answer.finish = Finish::Truncated;
    }
    Act::from(answer)
}

fn content(dice: &mut Dice, plan: &Plan) -> Answer {
    let text = match dice.below(60) {
        0 => "x".repeat(dice.between(100_000, 1_500_000) as usize),
        1..=3 => words(dice, 1_500),
        _ => words(dice, 60),
    };
    let mut answer = Answer::text(text);
    if dice.in_hundred(25) {
        answer.thinking = words(dice, 40);
    }
    if plan.tools && dice.in_hundred(50) {
        if dice.in_hundred(50) {
            answer.text.clear();
        }
        for _ in 0..dice.between(1, 3) {
            let path = words(dice, 12).replace(['"', '\\', '\t', '\n'], "-");
            answer = answer.and_tool(TOOL, format!("{{\"path\":\"{path}\"}}"));
        }
    }
    answer
}

fn pace(dice: &mut Dice, answer: &mut Answer) {
    let ms = Duration::from_millis;
    let chunks = answer.chunks().max(1) as u64;
    let mut pace = Pace::default();
    match dice.below(8) {
        0 => pace.head = ms(dice.between(1, 900)),
        1 => pace.first = ms(dice.between(1, 900)),
        2 => pace.beats = Some(Beats { every: ms(100), during: ms(dice.between(100, 1_200)) }),
        // A slow drip, but never for minutes.
        3 | 4 => pace.gap = ms(dice.between(1, 60).min(4_000 / chunks)),
        5 if chunks < 100 => pace.bite = dice.between(1, 40) as usize,
        _ => {}
    }
    answer.pace = pace;
}

fn status(dice: &mut Dice) -> Act {
    let plain = [500, 502, 503, 504, 529, 408, 429, 500, 503];
    Act::from(match dice.below(16) {
        0..=7 => Status::new(*dice.pick(&plain)),
        8 => Status::new(429).retry_after("1"),
        9 => Status::new(429).retry_after("20"),
        10 => Status::new(503).retry_after("1"),
        11 => Status::of(*dice.pick(&[Trouble::Auth, Trouble::Quota, Trouble::NotFound])),
        12 => Status::of(Trouble::Forbidden),
        13 => Status::of(*dice.pick(&[Trouble::ContextOverflow, Trouble::ContentFilter])),
        14 => Status::of(Trouble::Invalid),
        _ => Status::new(502).body("<html><body>Bad gateway</body></html>"),
    })
}

/// No word, or none that is an answer.
fn mute(dice: &mut Dice) -> Act {
    match dice.below(6) {
        0 => Act::Hang,
        1 => Act::HeadersThenSilence,
        2 => Act::Html,
        3 => Act::ZeroBytes,
        4 => Act::Reset(ResetPoint::Request),
        _ => Act::text(""),
    }
}

fn faulty(dice: &mut Dice, plan: &Plan) -> Act {
    let mut answer = content(dice, plan);
    pace(dice, &mut answer);
    let chunks = answer.chunks();
    // Half of them before anything is shown, half somewhere in the middle.
    let at = if dice.in_hundred(40) { 0 } else { dice.below(chunks as u64 + 1) as usize };
    let trouble = *dice.pick(&[
        Trouble::Overloaded,
        Trouble::RateLimited,
        Trouble::ServerError,
        Trouble::Quota,
        Trouble::ContextOverflow,
    ]);
    let fault = match dice.below(17) {
        0 | 1 => Fault::Cut { after: at },
        2 | 3 => Fault::Torn { after: at },
        4 | 5 => Fault::Reset { after: at },
        6 => Fault::BadFraming { after: at },
        7 => Fault::CleanEof { after: at },
        8 => Fault::NoTerminator,
        9 => Fault::Silence { after: at, pause: None },
        10 => {
            let pause = Some(Duration::from_millis(dice.between(100, 5_000)));
            Fault::Silence { after: at, pause }
        }
        11 => Fault::Malformed { at },
        12 => Fault::Mangled { at },
        13 if !answer.tools.is_empty() => Fault::MangledTool,
        13 | 14 => {
            let place = if dice.in_hundred(40) { Place::First } else { Place::AfterChunks(at) };
            Fault::ErrorEvent { place, trouble }
        }
        15 => return endless(dice, answer),
        _ => Fault::WrongLength { by: dice.between(1, 400) as i32 - 200 },
    };
    answer.fault = Some(fault);
    Act::from(answer)
}

/// Reasoning, or text, without end.
fn endless(dice: &mut Dice, mut answer: Answer) -> Act {
    if dice.in_hundred(60) {
        answer.thinking = words(dice, 10);
        answer.text.clear();
        answer.tools.clear();
    } else {
        answer.text = words(dice, 10);
        answer.tools.clear();
    }
    answer.pace.gap = Duration::from_millis(dice.between(5, 40));
    answer.fault = Some(Fault::Endless);
    Act::from(answer)
}
