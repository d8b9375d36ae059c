//! Finding the wait that a message names in words.
//!
//! It refuses to guess: "a moment", "a few minutes", 稍后 name no wait. A number counts only close behind (in
//! Chinese, before) words that speak of trying again, of a reset or of a recovery.

use alloc::string::String;
use alloc::vec::Vec;

use crate::instant::{Instant, clock_span, epoch, instant, seconds, span};
use crate::words::Pairs;

/// A wait found in text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Named {
    /// A span in milliseconds.
    Ms(u64),
    Until(Instant),
}

/// Words behind which a wait stands, and whether a number without a unit is seconds there.
const TRIGGERS: [(&str, Bare); 45] = [
    ("retry-after", Bare::Seconds),
    ("retry_after", Bare::Seconds),
    ("retryafter", Bare::Seconds),
    ("retry after", Bare::Seconds),
    ("retry_after_seconds", Bare::Seconds),
    ("try again in", Bare::No),
    ("try again after", Bare::No),
    ("try again at", Bare::No),
    ("try again on", Bare::No),
    ("try again", Bare::No),
    ("retry in", Bare::No),
    ("retry at", Bare::No),
    ("retry your request", Bare::No),
    ("retrying in", Bare::No),
    ("retry", Bare::No),
    ("wait", Bare::No),
    ("available in", Bare::No),
    ("allowed in", Bare::No),
    ("available again", Bare::No),
    ("available at", Bare::No),
    ("available after", Bare::No),
    ("resets", Bare::No),
    ("reset", Bare::No),
    ("replenish", Bare::No),
    ("renews", Bare::No),
    ("renew", Bare::No),
    ("refresh", Bare::No),
    ("resume", Bare::No),
    ("regain access", Bare::No),
    ("unlock", Bare::No),
    ("will be restored", Bare::No),
    ("restored", Bare::No),
    ("lifted", Bare::No),
    ("cooldown", Bare::No),
    ("cooling down", Bare::No),
    ("cool down", Bare::No),
    ("come back", Bare::No),
    ("back in", Bare::No),
    ("blocked until", Bare::No),
    ("blocked for", Bare::No),
    ("limited until", Bare::No),
    ("until", Bare::No),
    ("inténtalo de nuevo", Bare::No),
    ("limit reached|", Bare::No),
    ("reached|", Bare::No),
];

/// The same in Chinese.
const TRIGGERS_ZH: [&str; 16] = [
    "将在",
    "将于",
    "请在",
    "请于",
    "等待",
    "重置时间",
    "恢复时间",
    "刷新时间",
    "解除时间",
    "预计",
    "重置",
    "恢复",
    "重试",
    "再试",
    "刷新",
    "解封",
];

/// What may stand behind a span in Chinese to make it a wait.
const BEHIND_ZH: [&str; 5] = ["后", "之后", "以后", "内不", "再试"];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Bare {
    Seconds,
    No,
}

/// How far behind a trigger a wait may stand, in bytes.
const REACH: usize = 64;

/// Text in which a wait may be named.
pub(crate) struct Prose {
    tidy: String,
    /// `tidy` in lower case, byte for byte.
    lower: String,
    /// `None` where nothing could be read: without a digit there is neither span nor date.
    pairs: Option<Pairs>,
}

impl Prose {
    /// `tidy` must be [`crate::words::tidy`].
    pub(crate) fn new(tidy: String) -> Self {
        let lower = tidy.to_ascii_lowercase();
        let telling = lower.bytes().any(|byte| byte.is_ascii_digit())
            || lower.contains("noon")
            || lower.contains("midnight");
        let pairs = telling.then(|| Pairs::of(&lower));
        Self { tidy, lower, pairs }
    }

    /// The wait that the text names: the longest of several spans, else the latest instant in the text's order.
    pub(crate) fn named(&self) -> Option<Named> {
        let mut found: Vec<Named> = Vec::new();
        let chinese = TRIGGERS_ZH.into_iter().map(|trigger| (trigger, Bare::No));
        for (trigger, bare) in TRIGGERS.into_iter().chain(chinese) {
            for at in self.places(trigger) {
                found.extend(behind(&self.tidy, &self.lower, at, bare));
            }
        }
        if self.pairs.is_some() {
            found.extend(before_zh(&self.lower));
        }
        let longest = found.iter().filter_map(|named| match named {
            Named::Ms(ms) => Some(*ms),
            Named::Until(_) => None,
        });
        match longest.max() {
            Some(ms) => Some(Named::Ms(ms)),
            None => {
                // A dated instant says more than a time of day that was read out of the middle of it.
                let dated = found.iter().position(|named| match named {
                    Named::Until(Instant::At(_)) => true,
                    Named::Until(Instant::Civil(civil)) => civil.date.is_some(),
                    Named::Ms(_) => false,
                });
                let index = dated.unwrap_or(0);
                (index < found.len()).then(|| found.swap_remove(index))
            }
        }
    }

    /// An instant that the text names, even where it names a span too.
    pub(crate) fn named_instant(&self) -> Option<Instant> {
        for (trigger, bare) in TRIGGERS {
            for at in self.places(trigger) {
                if let Some(Named::Until(found)) = behind(&self.tidy, &self.lower, at, bare) {
                    return Some(found);
                }
            }
        }
        None
    }

    /// Where a trigger ends, for its first few occurrences.
    fn places<'a>(&'a self, trigger: &'a str) -> impl Iterator<Item = usize> + 'a {
        let spelt = self.pairs.as_ref().is_some_and(|pairs| pairs.can_spell(trigger));
        let found = spelt.then(|| self.lower.match_indices(trigger));
        found.into_iter().flatten().map(|(at, found)| at + found.len()).take(8)
    }
}

fn behind(tidy: &str, lower: &str, start: usize, bare: Bare) -> Option<Named> {
    let mut at = start;
    let mut first = true;
    while at < lower.len() && at <= start + REACH {
        let rest = lower.get(at..)?;
        let letter = rest.chars().next()?;
        let begins_token = first
            || lower
                .as_bytes()
                .get(at.wrapping_sub(1))
                .is_none_or(|byte| !byte.is_ascii_alphanumeric() && *byte != b'.');
        if begins_token && (letter.is_alphanumeric()) {
            let original = tidy.get(at..)?;
            if letter.is_ascii_digit() {
                if let Some((ms, _)) =
                    clock_span(rest).filter(|_| lower.get(..start).is_some_and(wants_clock_span))
                {
                    return Some(Named::Ms(ms));
                }
                if let Some((ms, len)) = span(rest) {
                    // "retry 3 times in 10 s", "per 60 s" never come here; "resets 5 h limit" does.
                    if !rest.get(len..).is_some_and(|after| after.trim_start().starts_with("limit"))
                    {
                        return Some(Named::Ms(ms));
                    }
                }
            }
            if let Some((found, _)) = instant(rest, original) {
                return Some(Named::Until(found));
            }
            if letter.is_ascii_digit() && bare == Bare::Seconds && epoch(rest).is_none() {
                return seconds(rest).map(|(ms, _)| Named::Ms(ms));
            }
            if letter.is_ascii_digit() {
                return None;
            }
        }
        if ends_sentence(rest) {
            return None;
        }
        at += letter.len_utf8();
        first = false;
    }
    None
}

fn wants_clock_span(before: &str) -> bool {
    ["replenish", "retry after", "retry-after", "try again in", "retry in"]
        .iter()
        .any(|word| before.ends_with(word))
}

fn ends_sentence(rest: &str) -> bool {
    rest.starts_with(". ")
        || rest.starts_with("! ")
        || rest.starts_with("? ")
        || rest.starts_with('。')
        || rest.starts_with(';')
}

/// `30 秒后重试`, `3小时后恢复`
fn before_zh(lower: &str) -> Option<Named> {
    let mut best = None;
    for unit in ["秒", "分", "时", "天"] {
        for (at, _) in lower.match_indices(unit).take(8) {
            let Some(start) = number_before(lower, at) else { continue };
            let Some(rest) = lower.get(start..) else { continue };
            let Some((ms, len)) = span(rest) else { continue };
            let after = rest.get(len..).unwrap_or_default().trim_start();
            if BEHIND_ZH.iter().any(|word| after.starts_with(word)) {
                best = best.max(Some(ms));
            }
        }
    }
    best.map(Named::Ms)
}

/// The start of the run of digits, points and span letters that ends at `end`.
fn number_before(lower: &str, end: usize) -> Option<usize> {
    let before = lower.get(..end)?;
    let mut start = end;
    for (at, letter) in before.char_indices().rev().take(24) {
        if letter.is_ascii_digit()
            || letter == '.'
            || letter == ' '
            || "个小时分钟秒天".contains(letter)
        {
            start = at;
        } else {
            break;
        }
    }
    let run = before.get(start..)?;
    run.find(|letter: char| letter.is_ascii_digit()).map(|at| start + at)
}
