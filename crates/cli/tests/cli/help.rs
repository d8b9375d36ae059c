//! Help teaches, in both languages; what cannot be understood is told with a way on.

use insta::assert_snapshot;

use crate::program::Ekiden;

#[test]
fn every_command_explains_itself() {
    for command in ["serve", "demo", "check", "why", "replay", "classify"] {
        let (code, english, err) = Ekiden::new(&[command, "--help"]).run();
        assert_eq!((code, err.as_str()), (0, ""));
        let (_, chinese, _) = Ekiden::new(&[command, "-h"]).env("LC_ALL", "zh_CN.UTF-8").run();
        assert_snapshot!(format!("help-{command}"), format!("{english}\n{chinese}"));
    }
    assert_snapshot!("help", Ekiden::new(&["--help"]).result());
    assert_snapshot!("help-zh", Ekiden::new(&["--help"]).env("LC_ALL", "zh_CN").result());
}

#[test]
fn a_mistake_on_the_command_line_is_named_with_a_way_on() {
    let mistakes: [&[&str]; 8] = [
        &["serv"],
        &["--lisen", "127.0.0.1:1"],
        &["--listen", "nowhere"],
        &["--listen"],
        &["why"],
        &["why", "last", "more"],
        &["--listen", "127.0.0.1:1", "check"],
        &["check", "not-there.toml"],
    ];
    let told: Vec<String> = mistakes
        .iter()
        .map(|words| format!("$ ekiden {}\n{}", words.join(" "), Ekiden::new(words).result()))
        .collect();
    assert_snapshot!(told.join("\n"));
}

#[test]
fn a_mistake_is_told_in_chinese_where_the_locale_is() {
    assert_snapshot!(Ekiden::new(&["replya"]).env("LC_ALL", "zh_CN.UTF-8").result());
}

#[test]
fn without_a_gateway_the_way_to_one_is_told() {
    // Port 9 of loopback is nobody's.
    let asked = ["why", "last", "--url", "http://127.0.0.1:9"];
    assert_snapshot!(Ekiden::new(&asked).result());
    let strange = ["replay", "last", "--url", "https://example.com"];
    assert_snapshot!(Ekiden::new(&strange).result());
}
