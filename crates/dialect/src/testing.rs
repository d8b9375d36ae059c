//! Generated JSON for tests: odd blanks, escapes, long numbers, duplicate keys.

use proptest::prelude::*;

/// Blanks as they may stand between tokens.
pub(crate) fn blanks() -> impl Strategy<Value = String> {
    prop_oneof![3 => Just(String::new()), 1 => "[ \n\r\t]{1,3}"]
}

/// A JSON string, quotes included.
pub(crate) fn string() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[a-z ]{0,6}",
        1 => Just("\\n".to_owned()),
        1 => Just("\\\"".to_owned()),
        1 => Just("\\\\".to_owned()),
        1 => Just("\\u00e9".to_owned()),
        1 => Just("\\ud83d\\ude00".to_owned()),
        1 => Just("\\ud800".to_owned()),
        1 => Just("\\/".to_owned()),
        1 => Just("汉字🦀".to_owned()),
        1 => Just("{[,:]}".to_owned()),
    ];
    prop::collection::vec(piece, 0..4).prop_map(|pieces| format!("\"{}\"", pieces.concat()))
}

fn scalar() -> impl Strategy<Value = String> {
    prop_oneof![
        string(),
        Just("1e400".to_owned()),
        Just("-0.10E+5".to_owned()),
        Just("123456789012345678901234567890".to_owned()),
        Just("true".to_owned()),
        Just("false".to_owned()),
        Just("null".to_owned()),
        any::<i64>().prop_map(|number| number.to_string()),
    ]
}

/// A member `"key" : value`; few keys, so that they repeat.
fn member(value: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    let key = prop_oneof![3 => "[a-c]".prop_map(|key| format!("\"{key}\"")), 1 => string()];
    (key, blanks(), blanks(), value, blanks())
        .prop_map(|(key, a, b, value, c)| format!("{key}{a}:{b}{value}{c}"))
}

/// Any JSON value as text.
pub(crate) fn json() -> impl Strategy<Value = String> {
    scalar().prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            (blanks(), prop::collection::vec(member(inner.clone()), 0..5))
                .prop_map(|(blank, members)| format!("{{{blank}{}}}", members.join(","))),
            (blanks(), prop::collection::vec((inner, blanks()), 0..5)).prop_map(
                |(blank, values)| {
                    let values: Vec<_> =
                        values.into_iter().map(|(value, after)| value + &after).collect();
                    format!("[{blank}{}]", values.join(","))
                }
            ),
        ]
    })
}
