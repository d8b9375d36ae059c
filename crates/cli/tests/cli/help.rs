//! Help teaches, in both languages; what cannot be understood is told with a way on.

use insta::assert_snapshot;

use crate::program::Ekiden;

const COMMANDS: [&str; 46] = [
    "serve",
    "demo",
    "check",
    "status",
    "sessions",
    "why",
    "test",
    "dry-run",
    "pause",
    "resume",
    "stop",
    "release",
    "journal",
    "ledger",
    "queue",
    "queue list",
    "queue new",
    "queue rename",
    "queue delete",
    "queue add",
    "queue remove",
    "queue move",
    "queue order",
    "queue export",
    "queue import",
    "provider",
    "provider list",
    "provider hide",
    "provider restore",
    "catalog",
    "rescan",
    "key",
    "key set",
    "key forget",
    "token",
    "token list",
    "token new",
    "token revoke",
    "config",
    "config get",
    "config set",
    "config unset",
    "config path",
    "replay",
    "classify",
    "completions",
];

#[test]
fn every_command_explains_itself() {
    for command in COMMANDS {
        let words = |help| command.split(' ').chain([help]).collect::<Vec<_>>();
        let (code, english, err) = Ekiden::new(&words("--help")).run();
        assert_eq!((code, err.as_str()), (0, ""));
        let (_, chinese, _) = Ekiden::new(&words("-h")).env("LC_ALL", "zh_CN.UTF-8").run();
        assert!(english.ends_with('\n') && chinese.ends_with('\n'), "{command}");
        assert_snapshot!(
            format!("help-{}", command.replace(' ', "-")),
            format!("{english}\n{chinese}")
        );
    }
    assert_snapshot!("help", Ekiden::new(&["--help"]).result());
    assert_snapshot!("help-zh", Ekiden::new(&["--help"]).env("LC_ALL", "zh_CN").result());
}

#[test]
fn a_mistake_on_the_command_line_is_named_with_a_way_on() {
    let mistakes: [&[&str]; 14] = [
        &["serv"],
        &["--lisen", "127.0.0.1:1"],
        &["--listen", "nowhere"],
        &["--listen"],
        &["why"],
        &["why", "last", "more"],
        &["--listen", "127.0.0.1:1", "check"],
        &["check", "not-there.toml"],
        &["check", "--config", "not-there.toml"],
        &["ledger", "--by", "week"],
        &["journal", "--what", "quarantine"],
        &["release"],
        &["release", "--all", "--session", "a"],
        &["token"],
    ];
    let told: Vec<String> = mistakes
        .iter()
        .map(|words| format!("$ ekiden {}\n{}", words.join(" "), Ekiden::new(words).result()))
        .collect();
    assert_snapshot!(told.join("\n"));
}

#[test]
fn help_before_a_command_is_its_help() {
    let said = |words: &[&str]| Ekiden::new(words).result();
    assert_eq!(said(&["help"]), said(&["--help"]));
    assert_eq!(said(&["help", "why"]), said(&["why", "--help"]));
    assert_eq!(said(&["help", "queue", "add"]), said(&["queue", "add", "--help"]));
    let (code, _, err) = Ekiden::new(&["help", "nothing"]).run();
    assert!(code == 2 && err.contains("there is no command `nothing`"), "{err}");
}

#[test]
fn every_shell_gets_its_completions() {
    for (shell, sign) in
        [("bash", "complete"), ("zsh", "#compdef ekiden"), ("fish", "complete -c ekiden")]
    {
        let (code, script, err) = Ekiden::new(&["completions", shell]).run();
        assert_eq!((code, err.as_str()), (0, ""));
        assert!(script.contains(sign) && script.contains("sessions"), "{shell}");
    }
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
    let chinese = Ekiden::new(&asked).env("LC_ALL", "zh_CN.UTF-8").result();
    assert!(chinese.contains("127.0.0.1:9 无人监听"), "{chinese}");
    let others: [&[&str]; 18] = [
        &["status"],
        &["sessions"],
        &["test", "default"],
        &["release", "--all"],
        &["journal", "--follow"],
        &["ledger"],
        &["token", "list"],
        &["queue", "list"],
        &["queue", "add", "default", "a/b"],
        &["provider", "list"],
        &["provider", "hide", "a"],
        &["catalog"],
        &["rescan"],
        &["dry-run", "default"],
        &["pause"],
        &["stop", "last"],
        &["config", "get"],
        &["config", "set", "defaults.retries", "1"],
    ];
    for words in others {
        let words: Vec<&str> = words.iter().copied().chain(asked[2..].iter().copied()).collect();
        let (code, out, err) = Ekiden::new(&words).run();
        assert_eq!((code, out.as_str()), (1, ""), "{words:?}");
        assert!(err.contains("there is no gateway at http://127.0.0.1:9"), "{err}");
        assert!(err.contains("hint: start one with `ekiden`"), "{err}");
    }
    let strange = ["replay", "last", "--url", "https://example.com"];
    assert_snapshot!(Ekiden::new(&strange).result());
}
