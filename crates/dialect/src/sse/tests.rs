use proptest::prelude::*;

use super::*;

/// Raw bytes, name and data of each event, the tail included.
type Seen = Vec<(Vec<u8>, String, Option<Vec<u8>>)>;

fn seen(event: &Event) -> (Vec<u8>, String, Option<Vec<u8>>) {
    (event.raw().to_vec(), event.name().to_owned(), event.data().map(<[u8]>::to_vec))
}

fn read(chunks: &[&[u8]]) -> Seen {
    let mut reader = Reader::new();
    let mut events = Vec::new();
    for chunk in chunks {
        reader.push(Bytes::copy_from_slice(chunk));
        while let Some(event) = reader.next_event().unwrap() {
            events.push(seen(&event));
        }
    }
    events.extend(reader.finish().as_ref().map(seen));
    events
}

/// Cuts `bytes` at the given places, modulo its length.
fn split<'a>(bytes: &'a [u8], places: &[usize]) -> Vec<&'a [u8]> {
    let mut places: Vec<_> = places.iter().map(|place| place % (bytes.len() + 1)).collect();
    places.sort_unstable();
    let mut chunks = Vec::new();
    let mut from = 0;
    for place in places {
        chunks.push(&bytes[from..place]);
        from = place;
    }
    chunks.push(&bytes[from..]);
    chunks
}

fn datas(stream: &str) -> Vec<(String, Option<String>)> {
    let text = |data: Vec<u8>| String::from_utf8(data).unwrap();
    read(&[stream.as_bytes()]).into_iter().map(|(_, name, data)| (name, data.map(text))).collect()
}

fn stream_text() -> impl Strategy<Value = Vec<u8>> {
    let line = prop_oneof![
        Just("data: {\"x\":\"汉字\"}"),
        Just("data:two"),
        Just("data"),
        Just("event: ping"),
        Just(": comment"),
        Just("id: 7"),
        Just("retry: 50"),
        Just("\u{feff}odd"),
        Just(""),
        Just(""),
    ];
    let ending = prop_oneof![Just("\n"), Just("\r\n"), Just("\r")];
    (prop::bool::ANY, prop::collection::vec((line, ending), 0..24)).prop_map(|(mark, lines)| {
        let text: String = lines.into_iter().flat_map(|(line, ending)| [line, ending]).collect();
        format!("{}{text}", if mark { "\u{feff}" } else { "" }).into_bytes()
    })
}

proptest! {
    #[test]
    fn any_split_gives_the_same_events(stream in stream_text(), places in prop::collection::vec(any::<usize>(), 0..12)) {
        prop_assert_eq!(read(&split(&stream, &places)), read(&[&stream]));
    }

    #[test]
    fn byte_by_byte_gives_the_same_events(stream in stream_text()) {
        let chunks: Vec<&[u8]> = stream.chunks(1).collect();
        prop_assert_eq!(read(&chunks), read(&[&stream]));
    }

    #[test]
    fn nothing_is_lost_or_added(stream in stream_text()) {
        let all: Vec<u8> = read(&[&stream]).into_iter().flat_map(|(raw, _, _)| raw).collect();
        let bare = stream.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&stream);
        // Only a tail without its empty line is completed.
        prop_assert!(all.starts_with(bare));
        prop_assert!(all[bare.len()..].iter().all(|byte| *byte == b'\n'));
    }

    #[test]
    fn garbage_never_panics(stream in prop::collection::vec(any::<u8>(), 0..200), places in prop::collection::vec(any::<usize>(), 0..6)) {
        prop_assert_eq!(read(&split(&stream, &places)), read(&[&stream]));
    }
}

#[test]
fn fields_are_read_as_the_standard_says() {
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(
        datas("data: a\n\ndata:b\r\n\r\ndata:  c\r\r"),
        [(String::new(), some("a")), (String::new(), some("b")), (String::new(), some(" c"))]
    );
    assert_eq!(datas("event: x\ndata: 1\ndata: 2\ndata\n\n"), [("x".to_owned(), some("1\n2\n"))]);
    assert_eq!(datas(": keep-alive\n\n"), [(String::new(), None)]);
    assert_eq!(datas("\u{feff}data: a\n\n"), [(String::new(), some("a"))]);
    assert_eq!(datas("data: [DONE]"), [(String::new(), some("[DONE]"))]);
    let event = Event::parse(Bytes::from_static(b"id: 7\nretry: 50\nretry: x\ndata: a\n\n"));
    assert_eq!((event.id(), event.retry_ms()), (Some(&b"7"[..]), Some(50)));
}

#[test]
fn an_event_is_there_as_soon_as_its_last_byte_is() {
    for stream in ["data: a\n\n", "data: a\r\n\r\n", "data: a\r\r"] {
        let mut reader = Reader::new();
        let (head, last) = stream.as_bytes().split_at(stream.len() - 1);
        reader.push(Bytes::copy_from_slice(head));
        assert!(reader.next_event().unwrap().is_none(), "{stream:?}");
        reader.push(Bytes::copy_from_slice(last));
        assert!(reader.next_event().unwrap().is_some(), "{stream:?}");
    }
}

#[test]
fn a_whole_event_in_one_chunk_is_not_copied() {
    let chunk = Bytes::from_static(b"data: a\n\ndata: b\n\n");
    let mut reader = Reader::new();
    reader.push(chunk.clone());
    for at in [0, 9] {
        let event = reader.next_event().unwrap().unwrap();
        assert_eq!(event.raw().as_ptr(), chunk[at..].as_ptr());
    }
}

#[test]
fn an_event_over_the_limit_is_refused_for_good() {
    for chunks in [vec!["data: 123456789\n\n"], vec!["data: 1", "23456789"]] {
        let mut reader = Reader::with_limit(12);
        chunks.into_iter().for_each(|chunk| reader.push(Bytes::from(chunk)));
        assert_eq!(reader.next_event().unwrap_err(), EventTooLarge { limit: 12 });
        reader.push(Bytes::from_static(b"data: 1\n\n"));
        assert!(reader.next_event().is_err());
        assert!(reader.finish().is_none());
        assert_eq!(reader.held_bytes(), 0, "nothing of it is kept");
    }
    let mut reader = Reader::with_limit(12);
    reader.push(Bytes::from_static(b"data: 1\n\ndata: 2\n\ndata: 3\n\n"));
    assert!((0..3).all(|_| reader.next_event().is_ok_and(|event| event.is_some())));
}

#[test]
fn a_large_event_in_small_chunks_takes_linear_time() {
    // Quadratic rescanning of 4 MB in 4,096 pieces would take minutes here, not a moment.
    let mut reader = Reader::new();
    reader.push(Bytes::from_static(b"data: "));
    let piece = Bytes::from(vec![b'x'; 1024]);
    for _ in 0..4096 {
        reader.push(piece.clone());
        assert!(reader.next_event().unwrap().is_none());
    }
    reader.push(Bytes::from_static(b"\n\n"));
    assert_eq!(reader.next_event().unwrap().unwrap().data().unwrap().len(), 4096 * 1024);
}
