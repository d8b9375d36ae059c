//! A tolerant reader of JSON and of things that look like it.
//!
//! It refuses to judge: whatever it is given, it returns what could be read. Bodies arrive cut, followed by
//! prose, or printed by Python (`{'error': None}`), so a strict reader would see nothing in them. It is written by
//! hand because it must read those, and because a general reader would be most of the size of this crate in wasm.
//! Depth, nodes and time are bounded: below [`DEPTH_MAX`] levels values are skipped without recursion, after
//! [`NODES_MAX`] values reading stops, and every byte is looked at once.

use alloc::string::String;
use alloc::vec::Vec;

/// Levels that are read; deeper values become [`Json::Null`].
const DEPTH_MAX: u32 = 40;
/// Values read from one text.
const NODES_MAX: u32 = 200_000;

/// One value. Objects keep their order and their repeated keys.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Json {
    Null,
    Bool(bool),
    /// A number as it was written.
    Num(String),
    Str(String),
    Arr(Vec<Self>),
    Obj(Vec<(String, Self)>),
}

/// A value, the bytes it took, and whether it was whole.
pub(crate) struct Parsed {
    pub(crate) value: Json,
    pub(crate) len: usize,
    pub(crate) whole: bool,
}

impl Json {
    /// Reads the object or array that `text` begins with (after white space).
    pub(crate) fn parse(text: &str) -> Option<Parsed> {
        let mut reader = Reader { bytes: text.as_bytes(), at: 0, nodes: 0, whole: true };
        reader.space();
        match reader.peek() {
            Some(b'{' | b'[') => {
                let value = reader.value(0);
                Some(Parsed { value, len: reader.at, whole: reader.whole })
            }
            _ => None,
        }
    }

    /// The first member of that name.
    pub(crate) fn member(&self, key: &str) -> Option<&Self> {
        self.members().iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// The members, none if this is not an object.
    pub(crate) fn members(&self) -> &[(String, Self)] {
        match self {
            Self::Obj(members) => members,
            Self::Null | Self::Bool(_) | Self::Num(_) | Self::Str(_) | Self::Arr(_) => &[],
        }
    }

    /// The items, none if this is not an array.
    pub(crate) fn items(&self) -> &[Self] {
        match self {
            Self::Arr(items) => items,
            Self::Null | Self::Bool(_) | Self::Num(_) | Self::Str(_) | Self::Obj(_) => &[],
        }
    }

    /// The text of a string.
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Self::Str(text) => Some(text),
            Self::Null | Self::Bool(_) | Self::Num(_) | Self::Arr(_) | Self::Obj(_) => None,
        }
    }

    /// A string or a number, as written.
    pub(crate) fn scalar(&self) -> Option<&str> {
        match self {
            Self::Str(text) | Self::Num(text) => Some(text),
            Self::Null | Self::Bool(_) | Self::Arr(_) | Self::Obj(_) => None,
        }
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    nodes: u32,
    whole: bool,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn value(&mut self, depth: u32) -> Json {
        self.nodes += 1;
        if self.nodes > NODES_MAX {
            self.at = self.bytes.len();
            self.whole = false;
            return Json::Null;
        }
        self.space();
        match self.peek() {
            Some(b'{' | b'[') if depth >= DEPTH_MAX => {
                self.skip_nested();
                Json::Null
            }
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(quote @ (b'"' | b'\'')) => Json::Str(self.string(quote)),
            Some(_) => self.bare(),
            None => {
                self.whole = false;
                Json::Null
            }
        }
    }

    fn object(&mut self, depth: u32) -> Json {
        self.at += 1;
        let mut members = Vec::new();
        loop {
            self.space();
            match self.peek() {
                Some(b'}') => {
                    self.at += 1;
                    break;
                }
                Some(b',') => self.at += 1,
                Some(quote @ (b'"' | b'\'')) => {
                    let key = self.string(quote);
                    self.space();
                    if self.peek() == Some(b':') {
                        self.at += 1;
                        members.push((key, self.value(depth + 1)));
                    } else {
                        self.whole = false;
                        if self.peek().is_some_and(|byte| !matches!(byte, b',' | b'}')) {
                            self.at += 1;
                        }
                    }
                }
                Some(_) => {
                    self.whole = false;
                    self.at += 1;
                }
                None => {
                    self.whole = false;
                    break;
                }
            }
        }
        Json::Obj(members)
    }

    fn array(&mut self, depth: u32) -> Json {
        self.at += 1;
        let mut items = Vec::new();
        loop {
            self.space();
            match self.peek() {
                Some(b']') => {
                    self.at += 1;
                    break;
                }
                Some(b',') => self.at += 1,
                Some(b'}' | b':') => {
                    self.whole = false;
                    self.at += 1;
                }
                Some(_) => items.push(self.value(depth + 1)),
                None => {
                    self.whole = false;
                    break;
                }
            }
        }
        Json::Arr(items)
    }

    /// A number, a word, or rubbish up to the next separator. Always moves on.
    fn bare(&mut self) -> Json {
        let start = self.at;
        while let Some(byte) = self.peek() {
            if matches!(byte, b',' | b'}' | b']' | b'"' | b'\'' | b' ' | b'\n' | b'\r' | b'\t') {
                break;
            }
            self.at += 1;
        }
        if self.at == start {
            self.at += 1;
        }
        match self.bytes.get(start..self.at).unwrap_or_default() {
            b"true" | b"True" => Json::Bool(true),
            b"false" | b"False" => Json::Bool(false),
            b"null" | b"None" => Json::Null,
            word if word.iter().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(byte)) => {
                Json::Num(String::from_utf8_lossy(word).into_owned())
            }
            _ => {
                self.whole = false;
                Json::Null
            }
        }
    }

    fn string(&mut self, quote: u8) -> String {
        self.at += 1;
        let mut text: Vec<u8> = Vec::new();
        loop {
            let run = self.at;
            while self.peek().is_some_and(|byte| byte != quote && byte != b'\\') {
                self.at += 1;
            }
            text.extend_from_slice(self.bytes.get(run..self.at).unwrap_or_default());
            match self.peek() {
                Some(b'\\') => self.escape(&mut text),
                Some(_) => {
                    self.at += 1;
                    break;
                }
                None => {
                    self.whole = false;
                    break;
                }
            }
        }
        match String::from_utf8(text) {
            Ok(text) => text,
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        }
    }

    fn escape(&mut self, text: &mut Vec<u8>) {
        let kind = self.bytes.get(self.at + 1).copied();
        self.at = (self.at + 2).min(self.bytes.len());
        match kind {
            Some(b'n') => text.push(b'\n'),
            Some(b't') => text.push(b'\t'),
            Some(b'r') => text.push(b'\r'),
            Some(b'b' | b'f') => text.push(b' '),
            Some(b'u') => {
                let high = self.hex4();
                let code = if (0xD800..0xDC00).contains(&high)
                    && self.bytes.get(self.at..self.at + 2) == Some(b"\\u")
                {
                    self.at += 2;
                    0x10000 + ((high - 0xD800) << 10) + (self.hex4().wrapping_sub(0xDC00) & 0x3FF)
                } else {
                    high
                };
                let letter = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
                text.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
            }
            Some(other) => text.push(other),
            None => self.whole = false,
        }
    }

    fn hex4(&mut self) -> u32 {
        let mut code = 0;
        for _ in 0..4 {
            let Some(digit) = self.peek().and_then(|byte| char::from(byte).to_digit(16)) else {
                break;
            };
            code = code * 16 + digit;
            self.at += 1;
        }
        code
    }

    /// Steps over a nested value without recursion.
    fn skip_nested(&mut self) {
        let mut open = 0u32;
        while let Some(byte) = self.peek() {
            match byte {
                b'{' | b'[' => open += 1,
                b'}' | b']' => {
                    open = open.saturating_sub(1);
                    if open == 0 {
                        self.at += 1;
                        return;
                    }
                }
                b'"' => {
                    self.at += 1;
                    while let Some(byte) = self.peek().filter(|byte| *byte != b'"') {
                        self.at += if byte == b'\\' { 2 } else { 1 };
                    }
                }
                _ => {}
            }
            self.at += 1;
        }
        self.at = self.at.min(self.bytes.len());
        self.whole = false;
    }
}
