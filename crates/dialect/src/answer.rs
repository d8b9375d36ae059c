//! What an answer has shown and how it ended, whatever its dialect and whether streamed or whole.
//!
//! It refuses to keep what was said: only that something was said, and the numbers.

use crate::json::{JsonError, Kind, Scanner, Text};

/// Tokens of one kind in one answer at most: what the settings take for a window. The largest known
/// one is 10,000,000 (Llama 4 Scout, by its model card). A report of more is broken.
const TOKENS_MAX: u64 = 100_000_000;

/// What one answer can cost at most, in billionths of a US dollar: 5,000 dollars. A report of more is
/// broken.
const COST_NANO_USD_MAX: u64 = 5_000_000_000_000;

/// What is known of an answer so far.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Answer {
    /// The id that the upstream gave it.
    pub id: Option<String>,
    /// The model that the upstream says has answered.
    pub model: Option<String>,
    /// Visible output was seen: text, a refusal in words, or a tool call (spec section 1).
    pub output: bool,
    /// Reasoning was seen.
    pub reasoning: bool,
    /// The reason it gave for ending. With several choices the gravest of theirs.
    pub finish: Option<Finish>,
    /// As things stand, a tool call in it is not whole: its arguments stop in the middle, or it was
    /// begun and never ended (R13). True of every call while it is being written.
    pub torn: bool,
    /// Tokens, as far as the upstream told them.
    pub usage: Usage,
    /// Bytes of what the model wrote, and of nothing around it: text, refusals, reasoning in words,
    /// names and arguments of tool calls. A string counts as UTF-8 without JSON's escapes (a `\u`
    /// escape as three bytes), arguments that are given as an object as they are written.
    pub written: u64,
    /// Signatures of Anthropic's thinking blocks and the data of redacted ones: what only their
    /// issuer takes back (G6), and what [`crate::splice::ThinkingBlocks::KeepIf`] is asked about.
    pub signatures: Vec<String>,
}

/// The reason an answer gives for ending, from ordinary to grave.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Finish {
    /// It is complete.
    Stop,
    /// A reason that is not in our tables; taken for complete.
    Other,
    /// It wants tools to be run.
    ToolCalls,
    /// Cut by the output limit, or by the end of the window (R14).
    Truncated,
    /// Ended by a safety filter, or a refusal that the vendor marks as one.
    Filtered,
}

/// What the end of an answer's bytes means.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum End {
    /// A whole answer with visible output.
    Whole,
    /// Cut by its token limit: not a failure (R14).
    Truncated,
    /// It says that it is over, and not by its token limit, while a tool call in it is not whole: to
    /// pass that end on would have the client run what was never said (R13).
    Torn,
    /// A filter ended it. Whether anything was shown before is in [`Answer::output`].
    Filtered,
    /// Ended in order, and showed nothing (R13).
    Empty,
    /// Broke off: neither the dialect's terminal event nor a finish reason came (R13).
    Cut,
}

/// Tokens of one answer. Missing is not zero. What cannot be (less than nothing, parts of a token, more
/// than 100,000,000, more than 5,000 dollars) was not told.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Usage {
    /// All input, cached parts included (Anthropic counts those apart; they are added here).
    pub input: Option<u64>,
    /// All output, reasoning included.
    pub output: Option<u64>,
    /// Input that was read from a cache.
    pub cached: Option<u64>,
    /// Input that was written to a cache.
    pub cache_written: Option<u64>,
    /// Output that was reasoning.
    pub reasoning: Option<u64>,
    /// What upstream says that it asks for all of it, in billionths of a US dollar.
    pub cost_nano_usd: Option<u64>,
    /// Anthropic's `input_tokens`, which leave cached ones out.
    fresh: Option<u64>,
}

/// Why bytes are no answer of their dialect.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Malformed {
    /// Not UTF-8.
    #[error("not UTF-8")]
    NotUtf8,
    /// Not JSON, an HTML page for example.
    #[error("not JSON: {0}")]
    NotJson(#[from] JsonError),
    /// JSON, but not an object.
    #[error("not a JSON object")]
    NotAnObject,
}

/// A scanner at the object that a piece of an answer has to be.
pub(crate) fn object(text: &str) -> Result<Scanner<'_>, Malformed> {
    let mut scanner = Scanner::new(text);
    if scanner.kind()? == Kind::Object {
        return Ok(scanner);
    }
    // What is no JSON at all says so, and where.
    scanner.skip()?;
    scanner.finish()?;
    Err(Malformed::NotAnObject)
}

/// How the dialect counts input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Counting {
    /// `input` holds everything.
    Inclusive,
    /// Cached input is counted apart.
    Exclusive,
}

impl Answer {
    /// What an answer that ended in order means.
    #[must_use]
    pub const fn end(&self) -> End {
        match self.finish {
            Some(Finish::Truncated) => End::Truncated,
            Some(Finish::Filtered) => End::Filtered,
            Some(Finish::Stop | Finish::Other | Finish::ToolCalls) | None if self.torn => End::Torn,
            Some(Finish::Stop | Finish::Other | Finish::ToolCalls) | None if self.output => {
                End::Whole
            }
            Some(Finish::Stop | Finish::Other | Finish::ToolCalls) | None => End::Empty,
        }
    }

    pub(crate) fn note_finish(&mut self, finish: Finish) {
        self.finish = self.finish.max(Some(finish));
    }

    pub(crate) fn note_id(&mut self, id: Option<Text<'_>>) {
        note(&mut self.id, id);
    }

    pub(crate) fn note_model(&mut self, model: Option<Text<'_>>) {
        note(&mut self.model, model);
    }
}

fn note(place: &mut Option<String>, text: Option<Text<'_>>) {
    if place.is_none() {
        *place = text.filter(|text| !text.is_empty()).map(|text| text.decode().into_owned());
    }
}

impl Usage {
    /// Reads a `usage` object of any dialect; later numbers of a stream are totals, not additions.
    pub(crate) fn merge(
        &mut self,
        value: &mut Scanner<'_>,
        counting: Counting,
    ) -> Result<(), JsonError> {
        let mut seen = *self;
        value.object_or_skip(|inner, key| {
            match &*key.decode() {
                "prompt_tokens" => raise(&mut seen.input, inner)?,
                "input_tokens" => match counting {
                    Counting::Inclusive => raise(&mut seen.input, inner)?,
                    Counting::Exclusive => raise(&mut seen.fresh, inner)?,
                },
                "completion_tokens" | "output_tokens" => raise(&mut seen.output, inner)?,
                "cached_tokens" | "prompt_cache_hit_tokens" | "cache_read_input_tokens" => {
                    raise(&mut seen.cached, inner)?;
                }
                "cache_creation_input_tokens" => raise(&mut seen.cache_written, inner)?,
                // OpenRouter, "Usage accounting": US dollars; 2026-11-29. Others write an object here.
                "cost" => {
                    let span = inner.skip()?;
                    seen.cost_nano_usd = seen.cost_nano_usd.max(nano(inner.slice(&span)));
                }
                "prompt_tokens_details" | "input_tokens_details" => {
                    inner.object_or_skip(|detail, key| match &*key.decode() {
                        "cached_tokens" => raise(&mut seen.cached, detail),
                        _ => detail.pass(),
                    })?;
                }
                "completion_tokens_details" | "output_tokens_details" => {
                    inner.object_or_skip(|detail, key| match &*key.decode() {
                        "reasoning_tokens" => raise(&mut seen.reasoning, detail),
                        _ => detail.pass(),
                    })?;
                }
                _ => inner.pass()?,
            }
            Ok(())
        })?;
        if let Some(fresh) = seen.fresh {
            let apart = seen.cached.unwrap_or(0).saturating_add(seen.cache_written.unwrap_or(0));
            seen.input = Some(fresh.saturating_add(apart));
        }
        *self = seen;
        Ok(())
    }
}

fn raise(place: &mut Option<u64>, value: &mut Scanner<'_>) -> Result<(), JsonError> {
    let told = value.integer_or_skip()?.filter(|tokens| *tokens <= TOKENS_MAX);
    *place = (*place).max(told);
    Ok(())
}

/// A JSON number in billionths, rounded; `None`: it is none, below nothing, or too large.
fn nano(number: &str) -> Option<u64> {
    let (digits, exponent) = match number.split_once(['e', 'E']) {
        Some((digits, exponent)) => (digits, exponent.parse::<i32>().ok()?),
        None => (number, 0),
    };
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let length = |digits: &str| i32::try_from(digits.len()).ok();
    // So many of the digits are whole billionths.
    let places = length(whole)?.saturating_add(exponent).saturating_add(9);
    let mut nano: u64 = 0;
    for (at, digit) in (0_i32..).zip(whole.bytes().chain(part.bytes())) {
        let digit = u64::from(char::from(digit).to_digit(10)?);
        if at < places {
            nano = nano.checked_mul(10)?.checked_add(digit)?;
        } else if at == places {
            nano = nano.checked_add(u64::from(digit >= 5))?;
        }
    }
    let written = length(whole)?.saturating_add(length(part)?);
    for _ in written..places {
        if nano == 0 {
            break;
        }
        nano = nano.checked_mul(10)?;
    }
    (!whole.is_empty() && nano <= COST_NANO_USD_MAX).then_some(nano)
}

/// What one part of an answer shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Shown {
    pub(crate) output: bool,
    pub(crate) reasoning: bool,
}

impl Shown {
    pub(crate) const fn merge(&mut self, other: Self) {
        self.output |= other.output;
        self.reasoning |= other.reasoning;
    }
}

/// What the model wrote in one part of an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Written {
    bytes: u64,
    /// The longest of those texts that may be one, under several names.
    alike: u64,
    /// In how many places it stands.
    pub(crate) places: u32,
}

impl Written {
    /// One more text of that many bytes; whether there is something in it.
    pub(crate) const fn add(&mut self, bytes: u64) -> bool {
        self.bytes += bytes;
        self.places += (bytes > 0) as u32;
        bytes > 0
    }

    /// The same, where vendors write one text under several names: the longest counts.
    pub(crate) const fn add_once(&mut self, bytes: u64) -> bool {
        if bytes > self.alike {
            self.alike = bytes;
        }
        self.places += (bytes > 0) as u32;
        bytes > 0
    }

    pub(crate) const fn bytes(self) -> u64 {
        self.bytes + self.alike
    }
}

/// Whether JSON that comes in pieces has been closed; it does not judge it otherwise.
///
/// Some upstreams end a tool call at the output limit and say that it is complete: its arguments
/// then stop in the middle.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Balance {
    depth: i32,
    in_text: bool,
    escaped: bool,
    begun: bool,
}

impl Balance {
    pub(crate) fn feed(&mut self, piece: &str) {
        self.begun |= !piece.is_empty();
        for byte in piece.bytes() {
            if self.escaped {
                self.escaped = false;
            } else if self.in_text {
                match byte {
                    b'\\' => self.escaped = true,
                    b'"' => self.in_text = false,
                    _ => {}
                }
            } else {
                match byte {
                    b'"' => self.in_text = true,
                    b'{' | b'[' => self.depth = self.depth.saturating_add(1),
                    b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                    _ => {}
                }
            }
        }
    }

    /// Its end, or its beginning, is missing. What was never begun is not: a call without
    /// arguments.
    pub(crate) const fn is_open(self) -> bool {
        self.in_text || self.depth != 0
    }

    pub(crate) const fn is_begun(self) -> bool {
        self.begun
    }
}

/// Passes one value and says how many bytes of text it is: none where it is no string.
pub(crate) fn text_len(value: &mut Scanner<'_>) -> Result<u64, JsonError> {
    Ok(value.text_or_skip()?.map_or(0, |text| text.decoded_len() as u64))
}

/// Passes the arguments of a call that are no string and says how many bytes of them were written: a
/// stream has an empty object in place of what comes in pieces.
pub(crate) fn object_len(value: &mut Scanner<'_>) -> Result<u64, JsonError> {
    let is_some = matches!(value.kind()?, Kind::Object | Kind::Array);
    let span = value.skip()?;
    let len = span.len() as u64;
    Ok(if is_some && len > 2 { len } else { 0 })
}

/// Passes the value of an `error` member and says whether it tells of an error.
pub(crate) fn tells_error(value: &mut Scanner<'_>) -> Result<bool, JsonError> {
    let span = value.skip()?;
    Ok(!matches!(value.slice(&span), "null" | "false" | "\"\"" | "{}" | "[]" | "0"))
}
