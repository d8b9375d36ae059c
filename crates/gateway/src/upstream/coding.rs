//! Undoes the coding of an answer's body while it comes.
//!
//! It refuses to grow: what one chunk expands to is bounded.

use std::io::{self, Write};

use bytes::Bytes;
use http::{HeaderMap, header};

/// What one chunk of the wire may expand to, in bytes.
const EXPANDED_MAX: usize = 32 * 1024 * 1024;

/// A body that cannot be decoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub(crate) enum DecodeFault {
    /// A coding that nobody asked for and that is not known.
    #[error("an unknown content coding")]
    Unknown,
    /// It does not follow its coding.
    #[error("the content coding is broken")]
    Broken,
    /// One chunk expands beyond all measure.
    #[error("a chunk expands to more than 32 MiB")]
    TooLarge,
}

/// Decodes a body chunk by chunk.
pub(crate) enum Decoder {
    Identity,
    Gzip(Box<flate2::write::MultiGzDecoder<Sink>>),
    Zlib(Box<flate2::write::ZlibDecoder<Sink>>),
    Brotli(Box<brotli_decompressor::DecompressorWriter<Sink>>),
    Zstd(Box<zstd::stream::write::Decoder<'static, Sink>>),
}

impl std::fmt::Debug for Decoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Decoder")
    }
}

/// Collects what comes out, up to the bound.
#[derive(Debug, Default)]
pub(crate) struct Sink(Vec<u8>);

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > EXPANDED_MAX {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Decoder {
    /// For an answer with these headers; we asked for none, but are sent one all the same.
    pub(crate) fn of(headers: &HeaderMap) -> Result<Self, DecodeFault> {
        let mut values = headers.get_all(header::CONTENT_ENCODING).iter();
        let Some(value) = values.next() else { return Ok(Self::Identity) };
        let name = value.to_str().map_err(|_| DecodeFault::Unknown)?.trim().to_ascii_lowercase();
        if values.next().is_some() {
            return Err(DecodeFault::Unknown);
        }
        Ok(match name.as_str() {
            "" | "identity" => Self::Identity,
            "gzip" | "x-gzip" => {
                Self::Gzip(Box::new(flate2::write::MultiGzDecoder::new(Sink::default())))
            }
            "deflate" => Self::Zlib(Box::new(flate2::write::ZlibDecoder::new(Sink::default()))),
            "br" => Self::Brotli(Box::new(brotli_decompressor::DecompressorWriter::new(
                Sink::default(),
                16 * 1024,
            ))),
            "zstd" => {
                let decoder = zstd::stream::write::Decoder::new(Sink::default());
                Self::Zstd(Box::new(decoder.map_err(|_| DecodeFault::Broken)?))
            }
            _ => return Err(DecodeFault::Unknown),
        })
    }

    /// What a chunk decodes to; may be empty.
    pub(crate) fn chunk(&mut self, chunk: Bytes) -> Result<Bytes, DecodeFault> {
        let done = match self {
            Self::Identity => return Ok(chunk),
            // Flushed after each chunk: an event must not wait in the decoder for the next one.
            Self::Gzip(decoder) => decoder.write_all(&chunk).and_then(|()| decoder.flush()),
            Self::Zlib(decoder) => decoder.write_all(&chunk).and_then(|()| decoder.flush()),
            Self::Brotli(decoder) => decoder.write_all(&chunk).and_then(|()| decoder.flush()),
            Self::Zstd(decoder) => decoder.write_all(&chunk).and_then(|()| decoder.flush()),
        };
        match done {
            Ok(()) => {
                Ok(self.sink().map_or_else(Bytes::new, |sink| std::mem::take(&mut sink.0).into()))
            }
            Err(error) if error.kind() == io::ErrorKind::FileTooLarge => Err(DecodeFault::TooLarge),
            Err(_) => Err(DecodeFault::Broken),
        }
    }

    fn sink(&mut self) -> Option<&mut Sink> {
        match self {
            Self::Identity => None,
            Self::Gzip(decoder) => Some(decoder.get_mut()),
            Self::Zlib(decoder) => Some(decoder.get_mut()),
            Self::Brotli(decoder) => Some(decoder.get_mut()),
            Self::Zstd(decoder) => Some(decoder.get_mut()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "data: {\"a\":1}\n\n";

    fn coded(coding: &str, text: &[u8]) -> Vec<u8> {
        let fast = flate2::Compression::fast();
        match coding {
            "gzip" => {
                let mut out = flate2::write::GzEncoder::new(Vec::new(), fast);
                out.write_all(text).expect("memory");
                out.finish().expect("memory")
            }
            "deflate" => {
                let mut out = flate2::write::ZlibEncoder::new(Vec::new(), fast);
                out.write_all(text).expect("memory");
                out.finish().expect("memory")
            }
            "zstd" => zstd::bulk::compress(text, 1).expect("memory"),
            _ => text.to_vec(),
        }
    }

    fn decoder(coding: &'static str) -> Result<Decoder, DecodeFault> {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_ENCODING, http::HeaderValue::from_static(coding));
        Decoder::of(&headers)
    }

    #[test]
    fn g14_a_coded_answer_is_decoded_whatever_its_split() {
        for coding in ["identity", "gzip", "deflate", "zstd"] {
            let bytes = coded(coding, TEXT.as_bytes());
            for size in [1, 3, bytes.len()] {
                let mut decoder = decoder(coding).expect(coding);
                let mut out = Vec::new();
                for piece in bytes.chunks(size) {
                    let piece = Bytes::copy_from_slice(piece);
                    out.extend_from_slice(&decoder.chunk(piece).expect(coding));
                }
                assert_eq!(out, TEXT.as_bytes(), "{coding} {size}");
            }
        }
    }

    #[test]
    fn g14_what_is_flushed_by_the_upstream_comes_out_at_once() {
        let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        out.write_all(TEXT.as_bytes()).expect("memory");
        out.flush().expect("memory");
        let first = out.get_ref().clone();
        let mut decoder = decoder("gzip").expect("known");
        assert_eq!(decoder.chunk(first.into()).expect("good"), TEXT.as_bytes());
    }

    #[test]
    fn g14_garbage_bombs_and_unknown_codings_are_told() {
        assert!(matches!(decoder("snappy"), Err(DecodeFault::Unknown)));
        for coding in ["gzip", "deflate", "zstd"] {
            let mut broken = decoder(coding).expect(coding);
            let garbage = Bytes::from_static(b"no such format, whatever it is");
            assert_eq!(broken.chunk(garbage), Err(DecodeFault::Broken), "{coding}");
            let bomb = coded(coding, &vec![0; EXPANDED_MAX + 1]);
            let mut bombed = decoder(coding).expect(coding);
            assert_eq!(bombed.chunk(bomb.into()), Err(DecodeFault::TooLarge), "{coding}");
        }
    }
}
