//! The picture of a call: a lane for each candidate, and the answer's words below. It refuses to
//! know where they come from.

use std::io;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::terminal::{Ink, Say, Terminal};
use crate::why::{Consequence, ink_of};
use crate::words::Span;

use super::watch::{Bar, Doing, Lane, Lanes, Note};

/// A call shorter than this does not fill the lanes, so that bars grow instead of shrinking.
const SPAN_MIN_MS: u64 = 4_000;

/// Below this many columns a picture tells nothing.
const BARS_MIN: usize = 10;

/// A picture that is drawn over itself.
pub(super) struct Picture<'t> {
    terminal: &'t Terminal,
    lines: usize,
}

impl<'t> Picture<'t> {
    pub(super) const fn new(terminal: &'t Terminal) -> Self {
        Self { terminal, lines: 0 }
    }

    /// Draws it as it is now.
    ///
    /// # Errors
    /// When the terminal is gone.
    pub(super) fn draw(&mut self, lanes: &Lanes, answer: &str) -> io::Result<()> {
        let lines = frame(self.terminal, lanes, answer, self.terminal.columns());
        let mut out = String::new();
        if self.lines > 0 {
            out.push_str(&format!("\x1b[{}A", self.lines));
        }
        for line in &lines {
            // Erased to its end, so that nothing of a longer line stays.
            out.push_str(&format!("\r{line}\x1b[K\n"));
        }
        out.push_str("\x1b[J");
        self.lines = lines.len();
        self.terminal.draw(&out)
    }
}

/// The lines of a picture of so many columns.
fn frame(terminal: &Terminal, lanes: &Lanes, answer: &str, columns: usize) -> Vec<String> {
    // The last column stays free: some terminals wrap when it is written.
    let columns = columns.saturating_sub(1);
    let label = lanes.lanes.iter().map(|lane| lane.route.width()).max().unwrap_or(0);
    let left = columns.saturating_sub(label + 9);
    let bars = (left * 3 / 8).max(BARS_MIN.min(left));
    let note = left.saturating_sub(bars);
    let span = lanes.elapsed_ms.max(SPAN_MIN_MS);
    let mut lines: Vec<String> = Vec::new();
    for (at, lane) in lanes.lanes.iter().enumerate() {
        let row = row(terminal, lane, span, bars);
        let (ink, words) = words(terminal, &lane.note);
        let words = terminal.ink(ink, &cut(&words, note));
        lines.push(format!(" {:>2}  {:label$}  {row}  {words}", at + 1, lane.route));
    }
    for line in wrapped(answer, columns.saturating_sub(6)) {
        lines.push(format!("     {line}"));
    }
    lines
}

fn row(terminal: &Terminal, lane: &Lane, span_ms: u64, width: usize) -> String {
    let column = |ms: u64| (ms.min(span_ms) * width as u64 / span_ms) as usize;
    let mut cells: Vec<Option<Doing>> = vec![None; width];
    // A wait gives way to what happened at its edges.
    let (waits, attempts): (Vec<&Bar>, Vec<&Bar>) =
        lane.bars.iter().partition(|bar| bar.what == Doing::Waited);
    for Bar { from_ms, to_ms, what } in waits.into_iter().chain(attempts) {
        let from = column(*from_ms).min(width.saturating_sub(1));
        // What happened at all is seen.
        let to = column(*to_ms).clamp(from + 1, width.max(from + 1));
        for cell in cells.iter_mut().take(to).skip(from) {
            *cell = Some(*what);
        }
    }
    let mut out = String::new();
    for run in cells.chunk_by(|one, other| one == other) {
        let text = |glyph: &str| glyph.repeat(run.len());
        match run.first().copied().flatten() {
            None => out.push_str(&text(" ")),
            Some(Doing::Waited) => out.push_str(&terminal.ink(Ink::Slow, &text("·"))),
            Some(Doing::Runs) => out.push_str(&terminal.ink(Ink::Strong, &text("━"))),
            Some(Doing::Answered) => out.push_str(&terminal.ink(Ink::Good, &text("━"))),
            Some(Doing::Failed(class)) => out.push_str(&terminal.ink(ink_of(class), &text("━"))),
        }
    }
    out
}

fn words(terminal: &Terminal, note: &Note) -> (Ink, String) {
    let ink = match note {
        Note::Nothing | Note::Passed(_) => Ink::Dim,
        Note::Runs => Ink::Strong,
        Note::Judged { class, .. } | Note::Failed(class) => ink_of(*class),
        Note::Answered { .. } => Ink::Good,
    };
    (ink, terminal.say(note))
}

impl Say for Note {
    fn english(&self) -> String {
        match self {
            Self::Nothing => String::new(),
            Self::Runs => "running".to_owned(),
            Self::Passed(reason) => reason.english(),
            Self::Judged { class, entry, attempts } => {
                let tries =
                    if *attempts > 1 { format!(", {attempts} attempts") } else { String::new() };
                let led_to = match Consequence::of(entry) {
                    Some(Consequence::Cooled(ms)) => format!("cools {}", Span(ms).english()),
                    Some(Consequence::Quarantined(_)) | None => "quarantined".to_owned(),
                };
                format!("{}{tries}: {led_to}", class.english())
            }
            Self::Failed(class) => class.english(),
            Self::Answered { waited_ms: 0, .. } => "answered".to_owned(),
            Self::Answered { waited_ms, attempts } => {
                let waited = Span(*waited_ms).english();
                format!("answered at attempt {attempts}, waited {waited}")
            }
        }
    }

    fn chinese(&self) -> String {
        match self {
            Self::Nothing => String::new(),
            Self::Runs => "运行中".to_owned(),
            Self::Passed(reason) => reason.chinese(),
            Self::Judged { class, entry, attempts } => {
                let tries =
                    if *attempts > 1 { format!("，尝试 {attempts} 次") } else { String::new() };
                let led_to = match Consequence::of(entry) {
                    Some(Consequence::Cooled(ms)) => format!("冷却 {}", Span(ms).chinese()),
                    Some(Consequence::Quarantined(_)) | None => "隔离".to_owned(),
                };
                format!("{}{tries}：{led_to}", class.chinese())
            }
            Self::Failed(class) => class.chinese(),
            Self::Answered { waited_ms: 0, .. } => "作答".to_owned(),
            Self::Answered { waited_ms, attempts } => {
                format!("第 {attempts} 次尝试作答，等了 {}", Span(*waited_ms).chinese())
            }
        }
    }
}

/// Text cut to so many columns.
fn cut(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut width = 1;
    for c in text.chars() {
        width += c.width().unwrap_or(0);
        if width > columns {
            break;
        }
        out.push(c);
    }
    out + "…"
}

/// Text in lines of at most so many columns, cut between words.
fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split_inclusive(' ') {
        if !line.is_empty() && line.width() + word.trim_end().width() > columns {
            lines.push(std::mem::take(&mut line));
        }
        line.push_str(word);
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::Language;
    use crate::running::EntryTold;
    use ekiden_engine::{Class, Reason};

    use crate::why::Passing;

    fn lane(route: &str, bars: &[(u64, u64, Doing)], note: Note) -> Lane {
        let bar = |(from_ms, to_ms, what): &(u64, u64, Doing)| Bar {
            from_ms: *from_ms,
            to_ms: *to_ms,
            what: *what,
        };
        Lane { route: route.to_owned(), bars: bars.iter().map(bar).collect(), note }
    }

    fn lanes() -> Lanes {
        let entry = EntryTold { what: "quarantined".to_owned(), ..EntryTold::default() };
        let stall = Note::Judged { class: Class::Stall, entry, attempts: 2 };
        let mut lanes = Lanes::new("demo", Vec::new(), 0);
        lanes.elapsed_ms = 8_000;
        lanes.lanes = vec![
            lane(
                "acme/grand",
                &[],
                Note::Passed(Passing::Over(Reason::Quarantined(Class::QuotaExhausted))),
            ),
            lane("borealis/swift", &[(0, 4_000, Doing::Failed(Class::Stall))], stall),
            lane(
                "delta/steady",
                &[
                    (4_000, 4_001, Doing::Failed(Class::RateLimited)),
                    (4_001, 6_000, Doing::Waited),
                    (6_000, 8_000, Doing::Answered),
                ],
                Note::Answered { attempts: 2, waited_ms: 1_999 },
            ),
        ];
        lanes
    }

    #[test]
    fn a_picture_fits_its_terminal_and_shows_who_ran_when() {
        let drawn = |language, columns| {
            let answer = "Home at last, said the runner, and sat down beside the road.";
            frame(&Terminal::plain(language), &lanes(), answer, columns)
        };
        assert_eq!(
            drawn(Language::English, 80),
            [
                "  1  acme/grand                             quarantined here (out of quota)",
                "  2  borealis/swift  ━━━━━━━━━━             silent for too long, 2 attempts: q…",
                "  3  delta/steady              ━····━━━━━━  answered at attempt 2, waited 1.9 s",
                "     Home at last, said the runner, and sat down beside the road.",
            ]
        );
        for language in [Language::English, Language::Chinese] {
            for columns in [20, 40, 80, 200] {
                let lines = drawn(language, columns);
                assert!(lines.iter().all(|line| line.width() < columns.max(40)), "{lines:#?}");
            }
        }
    }
}
