//! HTTP/1.1 as an upstream speaks it: an answer's end lies in one place, whatever comes behind it or is still to come.

use ekiden_gateway::http1::{Whole, read_whole};

/// Prefixes that are read besides the whole; more would cost more than they show.
const PREFIXES_MAX: usize = 64;

/// The bytes are all that a connection ever gave.
pub fn speaking(data: &[u8]) {
    let whole = read_whole(data);
    if let Ok(Some(answer)) = &whole {
        believable(data, answer);
    }
    let step = data.len().div_ceil(PREFIXES_MAX).max(1);
    for end in (0..data.len()).step_by(step) {
        match (read_whole(&data[..end]), &whole) {
            (Ok(None), _) => {}
            (Ok(Some(before)), Ok(Some(after))) if until_closed(&data[..end], &before) => {
                assert_eq!(before.status, after.status, "another status with more bytes");
                assert!(after.body.starts_with(&before.body), "another body with more bytes");
            }
            (Ok(Some(before)), after) => {
                assert_eq!(
                    after.as_ref(),
                    Ok(&Some(before)),
                    "what comes behind an answer changes it"
                );
            }
            (Err(_), after) => {
                assert!(after.is_err(), "what is malformed is mended by what comes behind");
            }
        }
    }
}

fn believable(data: &[u8], answer: &Whole) {
    assert!((200..=999).contains(&answer.status), "an informational answer is taken for one");
    assert!(answer.bytes <= data.len(), "more is taken than there is");
    assert!(answer.body.len() < answer.bytes, "the body is longer than its answer");
    let again = read_whole(&data[..answer.bytes]);
    assert_eq!(again.as_ref(), Ok(&Some(answer.clone())), "its own bytes do not suffice");
    assert!(data.starts_with(b"HTTP/1."), "what begins otherwise is an answer");
}

/// Whether the answer goes on as long as the connection does.
fn until_closed(data: &[u8], answer: &Whole) -> bool {
    answer.bytes == data.len()
}
