//! The `chunked` transfer coding (RFC 9112, section 7.1), in any split of the wire.
//!
//! It refuses bare line feeds, sizes beyond 15 digits, and extensions or trailers without end; those
//! within bounds are read away.

use bytes::BufMut;

use super::Malformed;

/// Digits of a size at most: 15 of them fit into 60 bits.
const DIGITS_MAX: u8 = 15;
/// Bytes of extensions and trailers of one answer at most.
const ASIDE_MAX: u32 = 16 * 1024;

/// Where in a chunked body we are.
#[derive(Clone, Debug, Default)]
pub(super) struct Chunks {
    state: State,
    /// What is left of the chunk, or its size as far as it is read.
    left: u64,
    digits: u8,
    /// Bytes that carried nothing so far.
    aside: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum State {
    #[default]
    Size,
    /// Blanks or an extension behind a size.
    Aside,
    SizeLf,
    Data,
    DataCr,
    DataLf,
    /// At the start of a trailer's line, or of the empty one.
    Trailer,
    TrailerText,
    TrailerLf,
    EndLf,
    Over,
}

impl Chunks {
    /// Whether the last chunk and the empty line behind it have been read.
    #[must_use]
    pub(super) const fn is_over(&self) -> bool {
        matches!(self.state, State::Over)
    }

    /// Reads on: data goes to `out`. How many bytes of `input` were read: all, unless the body is
    /// over before.
    ///
    /// # Errors
    /// When they do not follow the coding; it cannot be read on then.
    pub(super) fn read(&mut self, input: &[u8], out: &mut impl BufMut) -> Result<usize, Malformed> {
        let mut at = 0;
        while let Some(&byte) = input.get(at) {
            match self.state {
                State::Over => return Ok(at),
                State::Data => {
                    let rest = &input[at..];
                    let size = usize::try_from(self.left).unwrap_or(usize::MAX).min(rest.len());
                    out.put_slice(&rest[..size]);
                    self.left -= size as u64;
                    at += size;
                    if self.left == 0 {
                        self.state = State::DataCr;
                    }
                    continue;
                }
                State::Size
                | State::Aside
                | State::SizeLf
                | State::DataCr
                | State::DataLf
                | State::Trailer
                | State::TrailerText
                | State::TrailerLf
                | State::EndLf => self.byte(byte)?,
            }
            at += 1;
        }
        Ok(at)
    }

    fn byte(&mut self, byte: u8) -> Result<(), Malformed> {
        self.state = match (self.state, byte) {
            (State::Size, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => self.digit(byte)?,
            (State::Size, b'\r') if self.digits > 0 => State::SizeLf,
            (State::Size, b' ' | b'\t' | b';') if self.digits > 0 => State::Aside,
            (State::Aside, b'\r') => State::SizeLf,
            (State::Aside, other) if other != b'\n' => self.aside(State::Aside)?,
            (State::SizeLf, b'\n') => {
                self.digits = 0;
                if self.left == 0 { State::Trailer } else { State::Data }
            }
            (State::DataCr, b'\r') => State::DataLf,
            (State::DataLf, b'\n') => State::Size,
            (State::Trailer, b'\r') => State::EndLf,
            (State::TrailerText, b'\r') => State::TrailerLf,
            (State::Trailer | State::TrailerText, other) if other != b'\n' => {
                self.aside(State::TrailerText)?
            }
            (State::TrailerLf, b'\n') => State::Trailer,
            (State::EndLf, b'\n') => State::Over,
            (_, _) => return Err(Malformed::Chunk),
        };
        Ok(())
    }

    fn digit(&mut self, byte: u8) -> Result<State, Malformed> {
        let value = (byte as char).to_digit(16).ok_or(Malformed::Chunk)?;
        self.left = if self.digits == 0 { 0 } else { self.left << 4 } | u64::from(value);
        self.digits += 1;
        if self.digits > DIGITS_MAX { Err(Malformed::Chunk) } else { Ok(State::Size) }
    }

    fn aside(&mut self, next: State) -> Result<State, Malformed> {
        self.aside += 1;
        if self.aside > ASIDE_MAX { Err(Malformed::Chunk) } else { Ok(next) }
    }
}
