//! Content codings of request bodies (G14).
//!
//! It refuses to trust a size: what comes out is counted while it comes, so that a few kilobytes
//! cannot become gigabytes.

use std::io::{BufReader, Read};

use http::{HeaderMap, header};

/// A coding that is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Coding {
    Gzip,
    Deflate,
    Brotli,
    Zstd,
}

/// What a 415 says is read.
pub(crate) const KNOWN: &str = "gzip, deflate, br, zstd";

/// More layers than anybody has a use for.
const LAYERS_MAX: usize = 4;

/// Why a body cannot be decoded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum CodingError {
    /// It does not follow its coding.
    Broken,
    /// More came out than is allowed.
    TooLarge,
    /// No room for it.
    NoRoom,
}

/// The codings of a body, in the order in which they were applied; `Err` holds an unknown one.
pub(crate) fn of(headers: &HeaderMap) -> Result<Vec<Coding>, String> {
    let mut codings = Vec::new();
    for value in headers.get_all(header::CONTENT_ENCODING) {
        let value = value.to_str().map_err(|_| "?".to_owned())?;
        for name in value.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            match name.to_ascii_lowercase().as_str() {
                "identity" => {}
                "gzip" | "x-gzip" => codings.push(Coding::Gzip),
                "deflate" => codings.push(Coding::Deflate),
                "br" => codings.push(Coding::Brotli),
                "zstd" => codings.push(Coding::Zstd),
                _ => return Err(name.chars().take(40).collect()),
            }
        }
    }
    if codings.len() > LAYERS_MAX {
        return Err(format!("{} codings at once", codings.len()));
    }
    Ok(codings)
}

/// Undoes `codings`. `room` is asked for each new total size, in bytes, before it is held.
pub(crate) fn decode(
    codings: &[Coding],
    body: &[u8],
    most_bytes: u64,
    room: &mut dyn FnMut(u64) -> bool,
) -> Result<Vec<u8>, CodingError> {
    let mut reader: Box<dyn Read + '_> = Box::new(body);
    for coding in codings.iter().rev() {
        reader = layer(*coding, reader)?;
    }
    let mut out = Vec::new();
    let mut piece = vec![0; 64 << 10];
    loop {
        let read = reader.read(&mut piece).map_err(|_| CodingError::Broken)?;
        if read == 0 {
            return Ok(out);
        }
        let size = (out.len() + read) as u64;
        if size > most_bytes {
            return Err(CodingError::TooLarge);
        }
        if !room(size) {
            return Err(CodingError::NoRoom);
        }
        out.extend_from_slice(&piece[..read]);
    }
}

fn layer<'a>(coding: Coding, inner: Box<dyn Read + 'a>) -> Result<Box<dyn Read + 'a>, CodingError> {
    Ok(match coding {
        Coding::Gzip => Box::new(flate2::read::MultiGzDecoder::new(inner)),
        Coding::Deflate => deflate(inner)?,
        Coding::Brotli => Box::new(brotli_decompressor::Decompressor::new(inner, 16 << 10)),
        Coding::Zstd => {
            let mut decoder =
                zstd::stream::read::Decoder::new(inner).map_err(|_| CodingError::Broken)?;
            // 128 MB of window, what the command line tool takes at most without being asked.
            decoder.window_log_max(27).map_err(|_| CodingError::Broken)?;
            Box::new(decoder)
        }
    })
}

/// `deflate` means the zlib format (RFC 9110, 8.4.1.2), but some send it bare.
fn deflate<'a>(inner: Box<dyn Read + 'a>) -> Result<Box<dyn Read + 'a>, CodingError> {
    let mut inner = BufReader::new(inner);
    let head = std::io::BufRead::fill_buf(&mut inner).map_err(|_| CodingError::Broken)?;
    let wrapped = head.len() < 2
        || (head[0] & 0x0f == 8 && (u16::from(head[0]) << 8 | u16::from(head[1])) % 31 == 0);
    Ok(if wrapped {
        Box::new(flate2::bufread::ZlibDecoder::new(inner))
    } else {
        Box::new(flate2::bufread::DeflateDecoder::new(inner))
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    const TEXT: &[u8] = br#"{"model":"default","messages":[{"role":"user","content":"hi"}]}"#;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        out.write_all(bytes).expect("memory");
        out.finish().expect("memory")
    }

    fn zlib(bytes: &[u8]) -> Vec<u8> {
        let mut out = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        out.write_all(bytes).expect("memory");
        out.finish().expect("memory")
    }

    fn bare(bytes: &[u8]) -> Vec<u8> {
        let mut out = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
        out.write_all(bytes).expect("memory");
        out.finish().expect("memory")
    }

    /// One uncompressed meta-block (RFC 7932, 9.2) and the empty last one.
    fn brotli(bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        // WBITS 16 (one 0 bit), ISLAST 0, MNIBBLES 4 (00), MLEN-1 (16 bits), ISUNCOMPRESSED 1.
        let bits = (bytes.len() as u32 - 1) << 4 | 1 << 20;
        out.extend_from_slice(&bits.to_le_bytes()[..3]);
        out.extend_from_slice(bytes);
        out.push(0b11);
        out
    }

    fn all(codings: &[Coding], body: &[u8]) -> Result<Vec<u8>, CodingError> {
        decode(codings, body, 1 << 20, &mut |_| true)
    }

    #[test]
    fn g14_every_coding_is_undone() {
        let zstd = zstd::bulk::compress(TEXT, 1).expect("memory");
        for (coding, body) in [
            (Coding::Gzip, gzip(TEXT)),
            (Coding::Deflate, zlib(TEXT)),
            (Coding::Deflate, bare(TEXT)),
            (Coding::Brotli, brotli(TEXT)),
            (Coding::Zstd, zstd),
        ] {
            assert_eq!(all(&[coding], &body).as_deref(), Ok(TEXT), "{coding:?}");
        }
    }

    #[test]
    fn g14_stacked_codings_are_undone_from_the_last() {
        let body = gzip(&zstd::bulk::compress(TEXT, 1).expect("memory"));
        assert_eq!(all(&[Coding::Zstd, Coding::Gzip], &body).as_deref(), Ok(TEXT));
        assert_eq!(all(&[Coding::Gzip, Coding::Zstd], &body), Err(CodingError::Broken));
    }

    #[test]
    fn g14_a_bomb_stops_at_the_cap() {
        let zeros = vec![0; 8 << 20];
        for (coding, body) in [
            (Coding::Gzip, gzip(&zeros)),
            (Coding::Deflate, zlib(&zeros)),
            (Coding::Zstd, zstd::bulk::compress(&zeros, 1).expect("memory")),
        ] {
            let mut largest = 0;
            let result = decode(&[coding], &body, 1 << 20, &mut |size| {
                largest = size;
                true
            });
            assert_eq!(result, Err(CodingError::TooLarge), "{coding:?}");
            assert!(largest <= 1 << 20, "{coding:?} held {largest}");
        }
    }

    #[test]
    fn g14_no_room_ends_it() {
        assert_eq!(
            decode(&[Coding::Gzip], &gzip(TEXT), 1 << 20, &mut |_| false),
            Err(CodingError::NoRoom)
        );
    }

    #[test]
    fn g14_garbage_is_named_as_such() {
        for coding in [Coding::Gzip, Coding::Brotli, Coding::Zstd] {
            assert_eq!(all(&[coding], b"\xff\xfe garbage"), Err(CodingError::Broken), "{coding:?}");
        }
    }

    #[test]
    fn g14_codings_are_read_from_the_headers() {
        let mut headers = HeaderMap::new();
        assert_eq!(of(&headers), Ok(vec![]));
        headers.insert("content-encoding", "GZIP, br".parse().expect("value"));
        headers.append("content-encoding", "identity".parse().expect("value"));
        assert_eq!(of(&headers), Ok(vec![Coding::Gzip, Coding::Brotli]));
        headers.append("content-encoding", "snappy".parse().expect("value"));
        assert_eq!(of(&headers), Err("snappy".to_owned()));
    }
}
