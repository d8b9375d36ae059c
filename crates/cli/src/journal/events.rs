//! The gateway's events, as far as the journal needs them. It refuses to hold more than the event
//! that is coming.

use serde_json::Value;

/// What came.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Event {
    /// Something was missed.
    Reset,
    /// An entry.
    Journal(Value),
}

/// Events from bytes.
#[derive(Debug, Default)]
pub(super) struct Events {
    rest: Vec<u8>,
}

impl Events {
    /// The events that are whole by now.
    pub(super) fn read(&mut self, bytes: &[u8]) -> Vec<Event> {
        self.rest.extend_from_slice(bytes);
        let mut events = Vec::new();
        while let Some(end) = self.rest.windows(2).position(|pair| pair == b"\n\n") {
            let frame: Vec<u8> = self.rest.drain(..end + 2).collect();
            events.extend(event(&String::from_utf8_lossy(&frame)));
        }
        events
    }
}

/// The event of a frame, if the journal needs it.
fn event(frame: &str) -> Option<Event> {
    let data = frame.lines().find_map(|line| line.strip_prefix("data:"))?;
    let mut data: Value = serde_json::from_str(data.trim()).ok()?;
    let kind = data.as_object_mut()?.remove("event")?;
    match kind.as_str()? {
        "reset" => Some(Event::Reset),
        "journal" => Some(Event::Journal(data)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_whole_whatever_pieces_they_come_in() {
        let text = "retry: 1000\n\nid: a-1\nevent: reset\ndata: {\"event\":\"reset\"}\n\n: \n\n\
                    id: a-2\nevent: seat\ndata: {\"event\":\"seat\",\"held\":true}\n\n\
                    id: a-3\nevent: journal\ndata: {\"event\":\"journal\",\"number\":7}\n\n";
        let wanted = [Event::Reset, Event::Journal(serde_json::json!({ "number": 7 }))];
        for size in [1, 3, 1_000] {
            let mut events = Events::default();
            let came: Vec<Event> =
                text.as_bytes().chunks(size).flat_map(|bytes| events.read(bytes)).collect();
            assert_eq!(came, wanted, "{size}");
        }
    }
}
