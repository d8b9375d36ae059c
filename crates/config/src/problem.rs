//! What is wrong with a configuration, told so that it can be mended: where, what, and what to
//! write instead. Never holds a credential: lines are masked before they are kept.

use std::fmt;
use std::ops::Range;
use std::path::Path;

use crate::hindrance::Hindrance;
use crate::mask::{self, Kept};
use crate::mistake::{FileMistake, Mistake};
use crate::say;
use crate::say::Language;

/// How bad a problem is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Severity {
    /// The configuration is refused.
    Error,
    /// It holds, but probably not as meant.
    Warning,
}

/// Where in the file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The line's text, credentials masked.
    pub excerpt: String,
    caret: Range<usize>,
}

/// One thing that is wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// How bad it is.
    pub severity: Severity,
    /// Where; `None` when it is not in the file, and for all beyond the first hundred.
    pub place: Option<Place>,
    /// What is wrong, and what to do.
    pub mistake: Mistake,
}

/// Everything that is wrong, in the order of the file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problems {
    /// The file's name, as it is shown.
    pub file: String,
    /// Never empty when it is an error.
    pub list: Vec<Problem>,
}

/// Nobody mends more at once.
pub(crate) const SHOWN_MAX: usize = 100;

/// A problem as it was found.
pub(crate) struct Draft {
    pub(crate) severity: Severity,
    /// In bytes of the text.
    pub(crate) span: Option<Range<usize>>,
    pub(crate) mistake: Mistake,
}

impl Problems {
    /// Puts problems into the order of the file and looks their places up.
    pub(crate) fn of(file: &str, text: &str, mut drafts: Vec<Draft>) -> Self {
        drafts.sort_by_key(|draft| draft.span.as_ref().map(|span| span.start));
        let mut errors = 0;
        let list = drafts.into_iter().enumerate().map(|(at, draft)| {
            let is_error = draft.severity == Severity::Error;
            // Looking a place up reads all lines before it.
            let shown = at < SHOWN_MAX || (is_error && errors < SHOWN_MAX);
            errors += usize::from(is_error);
            let place = draft.span.filter(|_| shown).map(|span| Place::of(text, span));
            Problem { severity: draft.severity, place, mistake: draft.mistake }
        });
        Self { file: file.to_owned(), list: list.collect() }
    }

    /// That a file cannot be read.
    #[must_use]
    pub fn unreadable(file: &Path, why: Hindrance) -> Self {
        Self::one(file, FileMistake::Unreadable(why))
    }

    /// That a file is gone.
    #[must_use]
    pub fn gone(file: &Path) -> Self {
        Self::one(file, FileMistake::Gone)
    }

    /// One error without a place in the text.
    fn one(file: &Path, mistake: impl Into<Mistake>) -> Self {
        let (severity, mistake) = (Severity::Error, mistake.into());
        let list = vec![Problem { severity, place: None, mistake }];
        Self { file: file.display().to_string(), list }
    }

    /// Whether any of them refuses the configuration.
    #[must_use]
    pub fn is_fatal(&self) -> bool {
        self.first_error().is_some()
    }

    /// The first that refuses it.
    #[must_use]
    pub fn first_error(&self) -> Option<&Problem> {
        self.list.iter().find(|problem| problem.severity == Severity::Error)
    }

    /// All of them as people read them, over several lines.
    #[must_use]
    pub fn say(&self, language: Language) -> String {
        self.say_of(&self.list.iter().collect::<Vec<_>>(), language)
    }

    /// The same of those alone that refuse the configuration: what else is odd about a file has
    /// nothing to do with a refusal.
    #[must_use]
    pub fn say_errors(&self, language: Language) -> String {
        let errors = self.list.iter().filter(|problem| problem.severity == Severity::Error);
        self.say_of(&errors.collect::<Vec<_>>(), language)
    }

    fn say_of(&self, list: &[&Problem], language: Language) -> String {
        let told = list.iter().take(SHOWN_MAX).map(|problem| self.told(problem, language));
        let mut out = told.collect::<Vec<_>>().join("\n");
        if let Some(more @ 1..) = list.len().checked_sub(SHOWN_MAX) {
            out.push_str(&say!(language, "\nand {more} more\n", "\n还有 {more} 处\n", more));
        }
        out
    }

    fn told(&self, problem: &Problem, language: Language) -> String {
        let mut out = labelled(problem.severity, &problem.mistake.message(language), language);
        if let Some(place) = &problem.place {
            let number = place.line.to_string();
            let gutter = " ".repeat(number.len());
            let (pad, marks) = place.marks();
            out.push_str(&format!(
                "{gutter}--> {}:{}:{}\n{gutter} |\n{number} | {}\n{gutter} | {pad}{marks}\n",
                self.file, place.line, place.column, place.excerpt
            ));
        }
        if let Some(hint) = problem.mistake.hint(language) {
            out.push_str(&hinted(&hint, language));
        }
        out
    }
}

/// The line that says what is wrong.
pub(crate) fn labelled(severity: Severity, message: &str, language: Language) -> String {
    match severity {
        Severity::Error => say!(language, "error: {message}\n", "错误: {message}\n", message),
        Severity::Warning => say!(language, "warning: {message}\n", "警告: {message}\n", message),
    }
}

/// The line that says what to do.
pub(crate) fn hinted(hint: &str, language: Language) -> String {
    say!(language, "hint: {hint}\n", "提示: {hint}\n", hint)
}

impl fmt::Display for Problems {
    /// In English.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.say(Language::English))
    }
}

impl std::error::Error for Problems {}

impl Place {
    /// The place of a span of bytes.
    fn of(text: &str, span: Range<usize>) -> Self {
        let start = floor(text, span.start);
        let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
        let line_end = text[start..].find('\n').map_or(text.len(), |at| start + at);
        let line = text[..start].matches('\n').count() + 1;
        let column = text[line_start..start].chars().count();
        let raw = text[line_start..line_end].trim_end_matches('\r');
        // Far more than is shown, so that no credential is cut and then not known as one.
        let raw = raw.char_indices().nth(READ_CHARS_MAX).map_or(raw, |(at, _)| &raw[..at]);
        let end = floor(text, span.end.max(start)).min(line_start + raw.len()).max(start);
        let end_column = column + text[start..end].chars().count();
        let kept = kept_in(text, line_start);
        let (excerpt, from) = mask::line(raw, column, kept);
        let (_, to) = mask::line(raw, end_column, kept);
        let excerpt = clip(&excerpt);
        let caret = from..to.max(from + 1);
        Self { line, column: column + 1, excerpt, caret }
    }

    /// What stands before the marks, and the marks, as wide as the text above them.
    fn marks(&self) -> (String, String) {
        let width = |c: char| if is_wide(c) { 2 } else { 1 };
        let before: String = self
            .excerpt
            .chars()
            .take(self.caret.start)
            .map(|c| if c == '\t' { "\t".to_owned() } else { " ".repeat(width(c)) })
            .collect();
        let under: usize =
            self.excerpt.chars().skip(self.caret.start).take(self.caret.len()).map(width).sum();
        (before, "^".repeat(under.max(1)))
    }
}

const EXCERPT_CHARS_MAX: usize = 200;
const READ_CHARS_MAX: usize = 4_000;

fn clip(line: &str) -> String {
    match line.char_indices().nth(EXCERPT_CHARS_MAX) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.to_owned(),
    }
}

/// What is kept back of a line, by what stands before it.
fn kept_in(text: &str, line_start: usize) -> Kept {
    let before = &text[..line_start];
    let line = text[line_start..].lines().next().unwrap_or_default();
    let in_headers = before
        .lines()
        .rev()
        .find(|line| line.trim_start().starts_with('[') && line.contains(']'))
        .is_some_and(|section| section.contains("headers"));
    // A text of several lines is open where its quotes came an odd number of times.
    let open =
        ["\"\"\"", "\'\'\'"].into_iter().find(|quotes| before.matches(quotes).count() % 2 == 1);
    let begun = match open {
        Some(quotes) => before.rfind(quotes).map(|at| {
            let start = before[..at].rfind('\n').map_or(0, |at| at + 1);
            &before[start..at]
        }),
        None => unclosed(before),
    };
    match begun {
        Some(begun) if in_headers || mask::begins_secret(begun) => Kept::Whole,
        Some(_) | None if in_headers && !line.trim_start().starts_with('[') => Kept::All,
        Some(_) | None => Kept::BySecretKey,
    }
}

/// The last line that begins a value which is kept back, if its brackets are still open at the end.
fn unclosed(before: &str) -> Option<&str> {
    let line = before.lines().rev().find(|line| mask::begins_secret(line))?;
    let from = line.as_ptr().addr() - before.as_ptr().addr();
    let mut open = 0u32;
    let mut quote = None;
    let mut escaped = false;
    for c in before[from..].chars() {
        match (quote, c) {
            _ if escaped => escaped = false,
            (Some('"'), '\\') => escaped = true,
            (Some(end), _) if end == c || c == '\n' => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '[' | '{') => open += 1,
            (None, ']' | '}') => open = open.saturating_sub(1),
            (None, _) => {}
        }
    }
    (open > 0).then_some(line)
}

fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// Characters that terminals draw two columns wide: the East Asian blocks.
fn is_wide(c: char) -> bool {
    matches!(u32::from(c), 0x1100..=0x115F | 0x2E80..=0xA4CF | 0xAC00..=0xD7A3 | 0xF900..=0xFAFF
        | 0xFE30..=0xFE6F | 0xFF00..=0xFF60 | 0xFFE0..=0xFFE6 | 0x1F300..=0x1F64F
        | 0x1F900..=0x1F9FF | 0x20000..=0x3FFFD)
}

/// The nearest of `names` to what was written, if one is near enough to be meant.
pub(crate) fn nearest<'a>(written: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let written = written.to_lowercase();
    names
        .map(|name| (strsim::jaro_winkler(&written, &name.to_lowercase()), name))
        .filter(|(score, name)| {
            let distance = strsim::damerau_levenshtein(&written, &name.to_lowercase());
            *score >= 0.85 || distance <= 1 || distance * 3 <= name.chars().count()
        })
        // Of equals the first, which is the first in the file.
        .fold(None, |best: Option<(f64, &str)>, (score, name)| match best {
            Some((top, _)) if top >= score => best,
            Some(_) | None => Some((score, name)),
        })
        .map(|(_, name)| name)
}
