//! Files as they lie on disks.

use std::fs;
use std::path::Path;

use crate::common::{BASE, env, has};
use ekiden_config::{Config, Credential, LoadError, Origin};

fn write(folder: &Path, name: &str, bytes: impl AsRef<[u8]>) -> std::path::PathBuf {
    let path = folder.join(name);
    fs::write(&path, bytes).unwrap();
    path
}

fn refusal(bytes: &[u8]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), "c.toml", bytes);
    Config::load(&path, &env(&[])).unwrap_err().to_string()
}

#[test]
fn a_byte_order_mark_and_windows_line_ends_are_no_trouble() {
    let folder = tempfile::tempdir().unwrap();
    let text = format!("\u{feff}{}", BASE.replace('\n', "\r\n"));
    let path = write(folder.path(), "c.toml", text);
    let loaded = Config::load(&path, &env(&[])).unwrap();
    assert_eq!(loaded.config.queues[0].candidates.len(), 2);
    assert_eq!(loaded.path.as_deref(), Some(path.as_path()));
    let wrong = refusal(b"\xef\xbb\xbfreset_hour = 3\r\nreset_hours = 3\r\n");
    has(&wrong, &["c.toml:2:1", "2 | reset_hours = 3\n", "did you mean `reset_hour`?"]);
}

#[test]
fn what_is_not_utf8_is_refused_with_its_place() {
    has(
        &refusal(b"log = \"info\"\n# gr\xfc\xdfe\n"),
        &["not UTF-8", "c.toml:2:5", "save it as UTF-8"],
    );
    has(&refusal(b"\xff\xfel\0o\0g\0"), &["UTF-16"]);
    has(&refusal(b"\xff"), &["not UTF-8", "c.toml:1:1"]);
}

#[test]
fn a_file_that_cannot_be_read_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let error = Config::load(folder.path(), &env(&[])).unwrap_err();
    assert!(matches!(error, LoadError::Unreadable { .. }), "{error}");
    let large = vec![b'#'; (4 << 20) + 1];
    has(&refusal(&large), &["larger than 4 MiB"]);
}

#[test]
fn the_named_file_comes_before_the_variables_and_that_before_the_users_own() {
    let folder = tempfile::tempdir().unwrap();
    let at = |hour: u8| format!("reset_hour = {hour}\n{BASE}");
    let named = write(folder.path(), "named.toml", at(2));
    let by_variable = write(folder.path(), "variable.toml", at(3));
    fs::create_dir(folder.path().join("ekiden")).unwrap();
    write(folder.path(), "ekiden/config.toml", at(4));
    let base = folder.path().to_str().unwrap();
    let home = [("XDG_CONFIG_HOME", base), ("APPDATA", base)];
    let mut with_variable = home.to_vec();
    with_variable.push(("EKIDEN_CONFIG", by_variable.to_str().unwrap()));
    let hour = |named: Option<&Path>, pairs: &[(&str, &str)]| {
        Config::find(named, &env(pairs)).unwrap().config.reset_hour
    };
    assert_eq!(hour(Some(&named), &with_variable), 2);
    assert_eq!(hour(None, &with_variable), 3);
    assert_eq!(hour(None, &home), 4);
    assert_eq!(hour(None, &[]), 1, "the environment alone");
    let gone = folder.path().join("gone.toml");
    let error = Config::find(Some(&gone), &env(&home)).unwrap_err();
    assert!(matches!(error, LoadError::Missing { named_by: "--config", .. }));
    let gone = env(&[("EKIDEN_CONFIG", gone.to_str().unwrap())]);
    has(&Config::find(None, &gone).unwrap_err().to_string(), &["EKIDEN_CONFIG", "gone.toml"]);
}

#[test]
fn g7_a_key_file_is_found_beside_the_configuration() {
    let folder = tempfile::tempdir().unwrap();
    let key = write(folder.path(), "key", "hunter2\n");
    let text = BASE.replace("[providers.moonshot]", "[providers.moonshot]\napi_key_file = \"key\"");
    let path = write(folder.path(), "c.toml", &text);
    let load = || Config::load(&path, &env(&[])).unwrap();
    let loaded = load();
    let moonshot = loaded.config.provider("moonshot").unwrap();
    assert_eq!(moonshot.secrets().collect::<Vec<_>>(), ["hunter2"]);
    assert_eq!(moonshot.credential, Credential::File(key.clone()));
    for (content, part) in [("", "it is empty"), ("two words", "more than one word")] {
        fs::write(&key, content).unwrap();
        let loaded = load();
        has(&loaded.warnings.to_string(), &["no key in", part]);
        assert!(loaded.config.provider("moonshot").unwrap().lacks_key());
    }
    fs::remove_file(&key).unwrap();
    has(&load().warnings.to_string(), &["no key in"]);
}

#[cfg(unix)]
#[test]
fn g7_a_key_file_that_others_can_read_is_warned_about() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let key = write(folder.path(), "key", "hunter2\n");
    let text = BASE.replace("[providers.moonshot]", "[providers.moonshot]\napi_key_file = \"key\"");
    let path = write(folder.path(), "c.toml", &text);
    let warnings = |mode| {
        fs::set_permissions(&key, fs::Permissions::from_mode(mode)).unwrap();
        Config::load(&path, &env(&[])).unwrap().warnings.to_string()
    };
    has(&warnings(0o644), &["others than its owner can read", "chmod 600"]);
    assert_eq!(warnings(0o600), "");
}

#[test]
fn paths_start_at_the_home_folder_or_the_files_own() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), "c.toml", format!("state_dir = \"~/s\"\n{BASE}"));
    let home = env(&[("HOME", "/home/a")]);
    let config = Config::load(&path, &home).unwrap().config;
    assert_eq!(config.state_dir.as_deref(), Some(Path::new("/home/a/s")));
    fs::write(&path, format!("state_dir = \"s\"\n{BASE}")).unwrap();
    let config = Config::load(&path, &home).unwrap().config;
    assert_eq!(config.state_dir, Some(folder.path().join("s")));
}

#[test]
fn g7_every_value_is_listed_with_its_origin() {
    let text = format!("reset_hour = 3\n[defaults]\nretries = 4\n{BASE}cooldown = \"5s\"\n");
    let config = Config::parse(&text, "f", &env(&[("EKIDEN_LOG", "warn")])).unwrap().config;
    let listed = config.settings();
    for (path, value, origin) in [
        ("reset_hour", "3", Origin::File { line: 1 }),
        ("log", "\"warn\"", Origin::Env { variable: "EKIDEN_LOG".to_owned() }),
        ("queues.default.retries", "4", Origin::File { line: 3 }),
        ("queues.default.cooldown", "\"5s\"", Origin::File { line: 13 }),
        ("queues.default.wait_max", "\"30s\"", Origin::Default),
        ("queues.default.candidates.0.idle_timeout", "\"2m\"", Origin::Default),
    ] {
        let setting = listed.iter().find(|setting| setting.path == path).unwrap();
        assert_eq!(setting.value.as_ref().unwrap().to_string(), value, "{path}");
        assert_eq!(setting.origin, origin, "{path}");
    }
}
