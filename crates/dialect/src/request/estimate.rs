//! How many tokens go in, roughly; it refuses to tokenise.
//!
//! The estimate serves two decisions that must not rest on luck: passing over a window that is
//! surely too small (R15), and answering `count_tokens` where nobody can count. English prose and
//! code run at about four bytes a token; Chinese at two to four bytes a token and therefore comes
//! out a little low, which is the safe side for R15.

use crate::json::{JsonError, Kind, Member, Scanner};

use super::key;

/// Bytes of text that are taken for one token.
pub const TEXT_BYTES_PER_TOKEN: u64 = 4;

/// Tokens that an image, a file or a sound is taken for, whatever its size in bytes: vendors bill
/// by pixels and pages, which are not known here (a full-size image is about 1,600 at Anthropic).
pub const MEDIA_TOKENS: u64 = 1_500;

#[derive(Default)]
struct Tally {
    text_bytes: u64,
    media: usize,
}

/// Estimated tokens, and the number of media.
pub(super) fn read(text: &str, members: &[Member]) -> Result<(u64, usize), JsonError> {
    let mut tally = Tally::default();
    for member in members {
        let name = key(text, member).decode();
        if matches!(
            &*name,
            "messages" | "input" | "system" | "instructions" | "tools" | "functions"
        ) {
            tally.add(&mut Scanner::within(text, &member.value), "", &name)?;
        }
    }
    let tokens = tally.text_bytes.div_ceil(TEXT_BYTES_PER_TOKEN);
    Ok((tokens + MEDIA_TOKENS * tally.media as u64, tally.media))
}

impl Tally {
    /// Adds the value that comes next, which stands under `name` in an object under `parent`.
    fn add(&mut self, value: &mut Scanner<'_>, parent: &str, name: &str) -> Result<(), JsonError> {
        match value.kind()? {
            Kind::Object => value.object(|inner, key| {
                let key = key.decode();
                if matches!(&*key, "signature" | "encrypted_content" | "cache_control") {
                    // Opaque to everybody but its issuer, and not billed by length.
                    return inner.pass();
                }
                self.text_bytes += key.len() as u64;
                self.add(inner, name, &key)
            }),
            Kind::Array => value.array(|inner| self.add(inner, parent, name)),
            Kind::Text => {
                let text = value.text()?;
                let medium = match name {
                    "data" => matches!(parent, "source" | "input_audio"),
                    "file_data" => true,
                    "url" => {
                        matches!(parent, "source" | "image_url") || text.raw.starts_with("data:")
                    }
                    // Responses give the address itself under this name.
                    "image_url" => true,
                    _ => false,
                };
                if medium {
                    self.media += 1;
                } else {
                    self.text_bytes += text.decoded_len() as u64;
                }
                Ok(())
            }
            Kind::Number | Kind::True | Kind::False | Kind::Null => {
                self.text_bytes += value.skip()?.len() as u64;
                Ok(())
            }
        }
    }
}
