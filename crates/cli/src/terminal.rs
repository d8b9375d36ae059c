//! The one place that writes to the terminal. It refuses colours where nobody sees them, lets no
//! text steer the terminal that is not its own, and takes a reader that has left for what it is: no
//! error.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use ekiden_config::{Env, ProcessEnv};

use crate::language::{self, Language};

/// Between two signs of life.
const PROGRESS_EVERY: Duration = Duration::from_secs(1);

/// Where the words go, and how.
#[derive(Clone, Debug)]
pub(crate) struct Terminal {
    /// The language that is spoken.
    pub(crate) language: Language,
    out: Look,
    err: Look,
}

/// How a stream is written to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Look {
    /// With colours.
    Coloured,
    /// Without: a file, a pipe, or somebody who wants none.
    Plain,
}

/// A colour by what it says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ink {
    /// Whole, ready.
    Good,
    /// Failed for good.
    Bad,
    /// Gave way: cooling, silent, waiting.
    Slow,
    /// Broke off.
    Broken,
    /// Less important.
    Dim,
    /// A heading.
    Strong,
}

impl Ink {
    const fn code(self) -> &'static str {
        match self {
            Self::Good => "32",
            Self::Bad => "31",
            Self::Slow => "33",
            Self::Broken => "35",
            Self::Dim => "2",
            Self::Strong => "1",
        }
    }
}

/// Everything that is said, in the language that is spoken.
pub(crate) trait Say {
    /// In English.
    fn english(&self) -> String;
    /// In Chinese.
    fn chinese(&self) -> String;
}

impl Terminal {
    /// The terminal of this process.
    pub(crate) fn open(env: &ProcessEnv) -> Self {
        let wanted = env.var("NO_COLOR").is_none() && env.var("TERM").as_deref() != Some("dumb");
        let able = wanted && anstyle_query::windows::enable_ansi_colors().unwrap_or(true);
        let look = |is_terminal| if able && is_terminal { Look::Coloured } else { Look::Plain };
        Self {
            language: language::of(env),
            out: look(io::stdout().is_terminal()),
            err: look(io::stderr().is_terminal()),
        }
    }

    /// A terminal without colours.
    #[cfg(test)]
    pub(crate) const fn plain(language: Language) -> Self {
        Self { language, out: Look::Plain, err: Look::Plain }
    }

    /// A message in the language that is spoken.
    pub(crate) fn say(&self, message: &impl Say) -> String {
        match self.language {
            Language::English => message.english(),
            Language::Chinese => message.chinese(),
        }
    }

    /// Writes a message and ends the line.
    pub(crate) fn tell(&self, message: &impl Say) -> io::Result<()> {
        self.line(&self.say(message))
    }

    /// Writes a line.
    pub(crate) fn line(&self, text: &str) -> io::Result<()> {
        self.raw(text)?;
        self.raw("\n")
    }

    /// Writes text that may hold lines and our own colours.
    pub(crate) fn raw(&self, text: &str) -> io::Result<()> {
        self.draw(&calm(text, self.out))
    }

    /// Writes what moves the cursor: nothing that others said may be in it uncalmed.
    pub(crate) fn draw(&self, text: &str) -> io::Result<()> {
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())?;
        out.flush()
    }

    /// Standard output, for what is written as a whole.
    pub(crate) fn stream(&self) -> impl Write {
        io::stdout().lock()
    }

    /// Text in a colour, where standard output has colours.
    pub(crate) fn ink(&self, ink: Ink, text: &str) -> String {
        painted(self.out, ink, text)
    }

    /// Whether a picture can be drawn on standard output.
    pub(crate) fn draws(&self) -> bool {
        io::stdout().is_terminal() && self.out == Look::Coloured
    }

    /// Columns of the terminal; 80 where nobody knows.
    pub(crate) fn columns(&self) -> usize {
        terminal_size::terminal_size().map_or(80, |(width, _)| usize::from(width.0))
    }

    /// Says what takes its time while it does, and takes that back; on a terminal alone. It goes to
    /// standard error, so that what is read from standard output stays whole.
    pub(crate) async fn while_waiting<T>(
        &self,
        what: &impl Say,
        work: impl Future<Output = T>,
    ) -> T {
        if self.err == Look::Plain {
            return work.await;
        }
        let text = self.say(what);
        let mut work = std::pin::pin!(work);
        let mut ticks = tokio::time::interval(PROGRESS_EVERY);
        let mut seconds = 0;
        loop {
            tokio::select! {
                done = &mut work => {
                    self.progress("");
                    return done;
                }
                _ = ticks.tick() => {
                    self.progress(&format!("{text} … {seconds} s"));
                    seconds += 1;
                }
            }
        }
    }

    /// Asks for an answer on the same line. It goes to standard error, which is read by whoever
    /// answers.
    pub(crate) fn ask(&self, question: &impl Say) -> io::Result<()> {
        let mut err = io::stderr().lock();
        err.write_all(calm(&self.say(question), self.err).as_bytes())?;
        err.flush()
    }

    /// Progress that cannot be shown is no reason to end the work.
    fn progress(&self, text: &str) {
        let mut err = io::stderr().lock();
        let text = painted(self.err, Ink::Dim, text);
        let _ = write!(err, "\r\x1b[K{text}").and_then(|()| err.flush());
    }

    /// Writes what is wrong, or probably is, to standard error. Lines that begin with `error:`,
    /// `warning:` or `hint:` get their colours.
    pub(crate) fn complain(&self, text: &str) -> io::Result<()> {
        let mut err = io::stderr().lock();
        for line in calm(text, self.err).lines() {
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            let ink = match word {
                "error:" | "错误:" => Some(Ink::Bad),
                "warning:" | "警告:" => Some(Ink::Slow),
                "hint:" | "提示:" => Some(Ink::Good),
                _ => None,
            };
            match ink {
                Some(ink) => writeln!(err, "{} {rest}", painted(self.err, ink, word))?,
                None => writeln!(err, "{line}")?,
            }
        }
        err.flush()
    }
}

/// Whether a letter steers a terminal, or the order in which others are shown.
pub(crate) fn steers(letter: char) -> bool {
    letter.is_control()
        || matches!(
            letter,
            '\u{61c}'
                | '\u{200e}'
                | '\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2066}'..='\u{2069}'
        )
}

/// Text with blanks in place of what steers, but for ends of lines and our own colours.
fn calm(text: &str, look: Look) -> String {
    let mut calmed = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let ours = if look == Look::Coloured { colour_len(rest) } else { None };
        let len = ours.unwrap_or(letter.len_utf8());
        let (taken, behind) = rest.split_at(len);
        match letter {
            '\n' => calmed.push('\n'),
            letter if ours.is_none() && steers(letter) => calmed.push(' '),
            _ => calmed.push_str(taken),
        }
        rest = behind;
    }
    calmed
}

/// The length of one of our own colours at the start of a text.
fn colour_len(text: &str) -> Option<usize> {
    let rest = text.strip_prefix("\x1b[")?;
    let code = rest.split_once('m')?.0;
    let ours = ["0", "1", "2", "31", "32", "33", "35"].contains(&code);
    ours.then_some(code.len() + 3)
}

fn painted(look: Look, ink: Ink, text: &str) -> String {
    match look {
        Look::Coloured => format!("\x1b[{}m{text}\x1b[0m", ink.code()),
        Look::Plain => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g09_only_our_own_colours_pass() {
        let red = painted(Look::Coloured, Ink::Bad, "no");
        assert_eq!(calm(&red, Look::Coloured), red);
        assert_eq!(calm(&red, Look::Plain), " [31mno [0m");
        let evil = "a\x1b[2J\x1b]0;t\x07\r\u{9b}1m\u{202e}b\n汉字é";
        assert_eq!(calm(evil, Look::Coloured), "a [2J ]0;t   1m b\n汉字é");
    }
}
