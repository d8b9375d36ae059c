//! Event streams: nothing is lost, added or cut differently, however the transport cuts the bytes.

use bytes::Bytes;
use ekiden_dialect::sse::{Event, Reader};

use crate::input::Input;

/// What an event says besides its bytes.
type Said = (Bytes, String, Option<Vec<u8>>, Option<u64>, Option<Vec<u8>>);

/// A stream read whole and read in pieces: four bytes choose the pieces, one a limit, the rest is the stream.
pub fn framing(data: &[u8]) {
    let mut input = Input::new(data);
    let (seed, limit) = (input.number(), usize::from(input.byte()));
    let stream = input.rest();
    let whole = read(Reader::new(), &[Bytes::copy_from_slice(stream)]);
    let pieces = pieces(stream, seed);
    let cut = read(Reader::new(), &pieces);
    assert_eq!(whole, cut, "the same bytes in other pieces are other events");
    let joined: Vec<u8> = whole.iter().flat_map(|said| said.0.iter().copied()).collect();
    let text = stream.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(stream);
    assert!(joined.starts_with(text), "bytes are lost");
    assert!(joined[text.len()..].iter().all(|byte| *byte == b'\n'), "bytes are added");
    assert!(joined.len() <= text.len() + 2, "more than a line's and an event's end is added");
    let mut small = Reader::with_limit(limit);
    for piece in pieces {
        small.push(piece);
        while let Ok(Some(event)) = small.next_event() {
            assert!(event.raw().len() <= limit, "an event is larger than allowed");
        }
        assert!(small.held_bytes() <= limit, "more is held than an event may have");
    }
}

fn read(mut reader: Reader, pieces: &[Bytes]) -> Vec<Said> {
    let mut events = Vec::new();
    for piece in pieces {
        reader.push(piece.clone());
        while let Ok(Some(event)) = reader.next_event() {
            events.push(said(&event));
        }
    }
    events.extend(reader.finish().as_ref().map(said));
    events
}

fn said(event: &Event) -> Said {
    (
        event.raw().clone(),
        event.name().to_owned(),
        event.id().map(<[u8]>::to_vec),
        event.retry_ms(),
        event.data().map(<[u8]>::to_vec),
    )
}

/// Pieces of one to sixteen bytes.
fn pieces(stream: &[u8], mut seed: u32) -> Vec<Bytes> {
    let mut pieces = Vec::new();
    let mut rest = stream;
    while !rest.is_empty() {
        seed = seed.rotate_left(7).wrapping_mul(0x9E37_79B1).wrapping_add(1);
        let (piece, after) = rest.split_at((seed as usize % 16 + 1).min(rest.len()));
        pieces.push(Bytes::copy_from_slice(piece));
        rest = after;
    }
    pieces
}
