//! `ekiden check`, and what `ekiden serve` says of a configuration that cannot be used (G7, G8).

use insta::assert_snapshot;

use crate::program::Ekiden;

fn checked(text: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("ekiden.toml"), text).unwrap();
    Ekiden::new(&["check", "ekiden.toml"]).within(folder.path()).result()
}

const GOOD: &str = r#"
[providers.deepseek]
base_url = "https://api.deepseek.com/v1"
dialect = "openai-chat"
api_key_env = "DEEPSEEK_API_KEY"

[providers.local]
base_url = "http://127.0.0.1:11434/v1"
dialect = "openai-chat"

[queues.default]
name = "默认模板"
candidates = ["deepseek/deepseek-v4-pro", "local/qwen3"]

[queues.small]
candidates = ["local/qwen3"]
"#;

#[test]
fn g07_a_good_file_shows_what_it_makes() {
    assert_snapshot!(checked(GOOD));
}

#[test]
fn g07_the_file_to_check_may_be_named_before_the_command() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("ekiden.toml"), GOOD).unwrap();
    let before = Ekiden::new(&["--config", "ekiden.toml", "check"]).within(folder.path());
    assert_eq!(before.result(), checked(GOOD));
}

#[test]
fn g07_the_same_in_chinese() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("ekiden.toml"), GOOD).unwrap();
    let check = Ekiden::new(&["check", "ekiden.toml"]).env("LC_ALL", "zh_CN.UTF-8");
    assert_snapshot!(check.env("DEEPSEEK_API_KEY", "sk-1").within(folder.path()).result());
}

#[test]
fn g07_what_is_wrong_is_told_in_chinese_too() {
    let folder = tempfile::tempdir().unwrap();
    let text = GOOD
        .replace("name = \"默认模板\"", "retries = 11\nidle_timeout = 90\nretrys = 1")
        .replace("\"local/qwen3\"]\n\n", "\"locl/qwen3\"]\n\n");
    std::fs::write(folder.path().join("ekiden.toml"), text).unwrap();
    let chinese = |args: &[&str]| {
        let asked = Ekiden::new(args)
            .env("LC_ALL", "")
            .env("LANG", "zh_CN.UTF-8")
            .env("EKIDEN_RESET_HOUR", "x");
        asked.within(folder.path()).result()
    };
    assert_snapshot!("refused-zh", chinese(&["check", "ekiden.toml"]));
    assert_eq!(chinese(&["serve", "--config", "ekiden.toml"]), chinese(&["check", "ekiden.toml"]));
    assert_snapshot!("refused-zh-json", chinese(&["check", "--json", "ekiden.toml"]));
    assert_snapshot!("missing-zh-json", chinese(&["check", "--json", "gone.toml"]));
    assert_snapshot!("listen-zh", chinese(&["serve", "--config", "gone.toml"]));
}

#[test]
fn g07_a_change_that_does_not_fit_is_told_in_chinese() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("ekiden.toml"), GOOD).unwrap();
    let set = |key: &str, value: &str| {
        let asked = Ekiden::new(&["config", "set", key, value])
            .env("LC_ALL", "")
            .env("LANG", "zh_CN.UTF-8");
        let asked = asked.env("EKIDEN_CONFIG", "ekiden.toml").env("EKIDEN_STATE_DIR", "state");
        asked.within(folder.path()).result()
    };
    assert_snapshot!("set-bounds-zh", set("reset_hour", "25"));
    assert_snapshot!("set-unknown-zh", set("queues.default.retrys", "1"));
    assert_snapshot!("set-refused-zh", set("queues.default.name", "small"));
}

#[test]
fn g07_broken_toml_is_shown_where_it_breaks() {
    assert_snapshot!(checked("[queues.default\ncandidates = []\n"));
}

#[test]
fn g07_an_unknown_key_is_refused_and_the_nearest_named() {
    assert_snapshot!(checked(&GOOD.replace("candidates = [\"local/qwen3\"]", "candidate = []")));
}

#[test]
fn g07_a_wrong_type_and_a_wrong_bound_are_told_at_once() {
    let text = GOOD.replace("name = \"默认模板\"", "retries = 11\nidle_timeout = 90");
    assert_snapshot!(checked(&text));
}

#[test]
fn r06_a_queue_that_points_at_itself_is_refused() {
    let by_name = GOOD.replace("\"local/qwen3\"]\n\n", "\"default\"]\n\n");
    assert_snapshot!(checked(&by_name));
    let by_address = GOOD.replace("http://127.0.0.1:11434/v1", "http://localhost:8787/v1");
    assert_snapshot!(checked(&by_address));
}

#[test]
fn g07_serve_refuses_a_broken_file_with_every_problem() {
    let folder = tempfile::tempdir().unwrap();
    let text = "listne = \"127.0.0.1:8787\"\n[queues.default]\ncandidates = [\"nobody/model\"]\n";
    std::fs::write(folder.path().join("bad.toml"), text).unwrap();
    let serve = Ekiden::new(&["serve", "--config", "bad.toml"]).within(folder.path());
    assert_snapshot!(serve.result());
}

#[test]
fn g07_a_key_in_the_file_is_never_shown() {
    let text = "[providers.a]\nbase_url = \"https://a.example/v1\"\ndialect = \"openai-chat\"\n\
                api_key = \"sk-very-secret\" nonsense\n";
    let told = checked(text);
    assert!(!told.contains("very-secret"), "{told}");
    assert!(told.starts_with("exit code 2"), "{told}");
}

#[test]
fn g08_the_environment_alone_makes_a_queue() {
    let folder = tempfile::tempdir().unwrap();
    let check = || Ekiden::new(&["check"]).within(folder.path());
    assert_snapshot!(check().result());
    assert_snapshot!(check().env("DEEPSEEK_API_KEY", "sk-1").env("XAI_API_KEY", "xai-2").result());
}

#[test]
fn g01_candidates_whose_dialect_is_not_spoken_count_as_not_usable() {
    let told = checked(
        "[providers.r]\nbase_url = \"https://r.example/v1\"\ndialect = \"openai-responses\"\n\
         [queues.default]\ncandidates = [\"r/one\"]\n",
    );
    assert!(told.contains("no candidate of queue `default` can be used: `r/one`"), "{told}");
    assert!(told.contains("openai-responses, which this version does not speak: not usable"));
}

#[test]
fn g09_listening_for_other_machines_is_refused() {
    assert_snapshot!(Ekiden::new(&["--listen", "0.0.0.0:8787"]).result());
}

#[test]
fn g07_a_file_without_an_end_is_not_read_to_it() {
    if !std::path::Path::new("/dev/zero").exists() {
        return;
    }
    let (code, _, err) = Ekiden::new(&["check", "/dev/zero"]).run();
    assert_eq!(code, 2);
    assert!(err.contains("larger than 4 MiB"), "{err}");
}

#[cfg(unix)]
#[test]
fn g07_a_pipe_is_refused_and_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("ekiden.toml");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let within = |words: &[&str]| Ekiden::new(words).within(folder.path()).run();
    let (code, _, err) = within(&["check", "ekiden.toml"]);
    assert!(code == 2 && err.contains("it is a pipe and not a file"), "{code} {err}");
    let text = "[providers.a]\nbase_url = \"https://a.example/v1\"\ndialect = \"openai-chat\"\n\
                api_key_file = \"ekiden.toml\"\n[queues.default]\ncandidates = [\"a/m\"]\n";
    std::fs::write(folder.path().join("other.toml"), text).unwrap();
    let (_, out, err) = within(&["check", "other.toml"]);
    assert!(format!("{out}{err}").contains("it is a pipe"), "{out} {err}");
}

#[test]
fn g07_a_configuration_with_which_every_call_would_be_refused_is_no_success() {
    let folder = tempfile::tempdir().unwrap();
    let file = "[providers.a]\nbase_url = \"https://a.example/v1\"\ndialect = \"openai-chat\"\n\
                api_key_env = \"A_KEY_OF_MINE\"\n[queues.default]\ncandidates = [\"a/m\"]\n";
    std::fs::write(folder.path().join("ekiden.toml"), file).unwrap();
    let check = || Ekiden::new(&["check", "ekiden.toml"]).within(folder.path());
    let (code, out, _) = check().run();
    assert!(code == 1 && out.contains("no queue can be used"), "{code} {out}");
    let (code, out, _) = check().env("LC_ALL", "zh_CN.UTF-8").run();
    assert!(code == 1 && out.contains("没有可用的队列"), "{code} {out}");
    assert_eq!(check().env("A_KEY_OF_MINE", "sk-1").run().0, 0);
}
