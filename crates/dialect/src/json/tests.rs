use proptest::prelude::*;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::*;
use crate::testing;

fn accepts(text: &str) -> Result<(), JsonError> {
    let mut scanner = Scanner::new(text);
    scanner.skip()?;
    scanner.finish()
}

proptest! {
    #[test]
    fn any_text_is_judged_as_serde_json_judges_it(text in "[\\[\\]{}\",:a0-9.eE+\\-\\\\u \n\u{1}truefalsn]{0,24}") {
        prop_assert_eq!(accepts(&text).is_ok(), serde_json::from_str::<IgnoredAny>(&text).is_ok());
    }

    #[test]
    fn generated_json_is_accepted_whole_and_refused_cut(text in testing::json()) {
        prop_assert_eq!(accepts(&text), Ok(()));
        let cut = &text[..text.floor_char_boundary(text.len() / 2)];
        prop_assert_eq!(accepts(cut).is_ok(), serde_json::from_str::<IgnoredAny>(cut).is_ok());
    }

    #[test]
    fn what_can_stand_in_a_string_is_what_makes_one(inside in "[a-c\"\\\\/nux0\u{1}\u{7f}é汉]{0,24}") {
        let text = format!("\"{inside}\"");
        prop_assert_eq!(string_inside(inside.as_bytes()).is_some(), serde_json::from_str::<IgnoredAny>(&text).is_ok());
    }

    #[test]
    fn members_stand_where_serde_json_finds_them(text in testing::json()) {
        let mut scanner = Scanner::new(&text);
        if scanner.kind() == Ok(Kind::Array) {
            let ours: Vec<_> = scanner.elements().unwrap().into_iter().map(|span| text[span].to_owned()).collect();
            let theirs: Vec<Box<RawValue>> = serde_json::from_str(&text).unwrap();
            let theirs: Vec<_> = theirs.iter().map(|raw| raw.get().to_owned()).collect();
            prop_assert_eq!(ours, theirs);
        } else if scanner.kind() == Ok(Kind::Object) {
            for member in scanner.members().unwrap() {
                prop_assert!(accepts(&text[member.key]).is_ok());
                prop_assert!(accepts(&text[member.value]).is_ok());
            }
        }
    }

    #[test]
    fn strings_mean_what_serde_json_says(text in testing::string()) {
        let ours = Scanner::new(&text).text().unwrap();
        if let Ok(theirs) = serde_json::from_str::<String>(&text) {
            prop_assert_eq!(ours.decode(), theirs);
        }
        prop_assert!(ours.decoded_len() >= ours.decode().len() / 2);
    }
}

#[test]
fn a_lone_surrogate_is_replaced_and_not_refused() {
    assert_eq!(Scanner::new(r#""a\ud800b\udc00""#).text().unwrap().decode(), "a\u{fffd}b\u{fffd}");
    assert_eq!(Scanner::new(r#""\ud83d\ude00""#).text().unwrap().decode(), "😀");
}

#[test]
fn nesting_has_a_limit_and_its_place_is_told() {
    let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    assert_eq!(accepts(&deep(DEPTH_MAX)), Ok(()));
    assert_eq!(accepts(&deep(DEPTH_MAX + 1)), Err(JsonError::Deep { at: DEPTH_MAX }));
}

#[test]
fn a_broken_place_is_told() {
    for (text, at) in [("", 0), ("{\"a\":}", 5), ("[1,]", 3), ("{\"a\" 1}", 5), ("1 2", 2)] {
        assert_eq!(accepts(text), Err(JsonError::Syntax { at }), "{text}");
    }
}

#[test]
fn a_control_character_is_told_where_it_stands() {
    for at in 0..200 {
        for before in ["", "\\n", "\\u00e9"] {
            let text = format!("[\"{before}{}\u{1}more", "x".repeat(at));
            let at = 2 + before.len() + at;
            assert_eq!(accepts(&text), Err(JsonError::Syntax { at }), "{text}");
            assert_eq!(accepts(&format!("{text}\"]")), Err(JsonError::Syntax { at }), "{text}");
        }
    }
}

#[test]
fn commas_fit_whatever_is_cut() {
    let text = r#"{"a":1, "b":2 ,"c":3}"#;
    let members = Scanner::new(text).members().unwrap();
    let extents: Vec<_> = members.iter().map(|m| m.key.start..m.value.end).collect();
    for mask in 0..8_u32 {
        let mut left = text.to_owned();
        for cut in cuts(&extents, |at| mask & (1 << at) != 0).into_iter().rev() {
            left.replace_range(cut, "");
        }
        let value: serde_json::Map<String, serde_json::Value> =
            serde_json::from_str(&left).unwrap_or_else(|error| panic!("{left}: {error}"));
        assert_eq!(value.len() as u32, 3 - mask.count_ones(), "{left}");
    }
}

#[test]
fn control_characters_in_strings_are_refused() {
    for byte in 0..0x21_u8 {
        let text = format!("\"a{}b\"", char::from(byte));
        assert_eq!(accepts(&text).is_ok(), byte >= 0x20, "{byte}");
    }
}

#[test]
fn plain_bytes_are_counted_as_one_by_one() {
    let special = |byte: u8| matches!(byte, b'"' | b'\\' | 0..0x20);
    for byte in 0..=255_u8 {
        for at in 0..20 {
            for around in [b'a', 0x80, 0xff, b'!', b'#', b' ', b']'] {
                let mut bytes = [around; 20];
                bytes[at] = byte;
                let expected = bytes.iter().position(|one| special(*one)).unwrap_or(20);
                assert_eq!(plain_len(&bytes), expected, "{byte} at {at} in {around}");
            }
        }
    }
}
