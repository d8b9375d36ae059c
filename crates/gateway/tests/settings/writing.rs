//! Settings and keys that are written through the gateway (G7).

use bytes::Bytes;
use ekiden_config::edit::{Change, EditError};
use ekiden_config::{Config, FixedEnv, Value};
use ekiden_gateway::settings::KeyError;
use ekiden_gateway::{CoreOptions, Gateway};
use http::Request;
use http_body_util::Full;
use secrecy::{ExposeSecret, SecretString};

use crate::desk::{Desk, MINE, routes};

fn retries(count: u64) -> Change {
    Change::Set { path: "queues.default.retries".into(), value: Value::Integer(count) }
}

#[tokio::test]
async fn g07_a_write_is_on_the_disk_and_holds_when_it_returns() {
    let desk = Desk::new("ok", "ok");
    let gateway = desk.gateway();
    let core = gateway.core();
    let order = Change::OrderCandidates {
        queue: "default".into(),
        routes: vec!["b/y".into(), "a/x".into()],
    };
    let seen = core.settings().hash;
    let hash = core.change_settings(&seen, &[order]).unwrap();
    assert_eq!(desk.text(), MINE.replace(r#""a/x", "b/y""#, r#""b/y", "a/x""#));
    assert_eq!(routes(core), ["b/y", "a/x"]);
    assert_eq!(core.settings().hash, hash);
    // What was seen before is no ground to write on.
    let refused = core.change_settings(&seen, &[retries(1)]).unwrap_err();
    assert!(matches!(&refused, EditError::Conflict { now } if *now == hash), "{refused}");
    core.change_settings(&hash, &[retries(1)]).unwrap();
}

#[tokio::test]
async fn g07_an_editors_change_is_not_written_over_and_is_taken() {
    let desk = Desk::new("ok", "ok");
    let gateway = desk.gateway();
    let core = gateway.core();
    let seen = core.settings().hash;
    desk.write(&MINE.replace(r#""a/x", "#, ""));
    let refused = core.change_settings(&seen, &[retries(1)]).unwrap_err();
    let EditError::Conflict { now } = refused else { panic!("{refused}") };
    // The page that reads again after the conflict sees what the editor did.
    assert_eq!(routes(core), ["b/y"]);
    assert_eq!(core.settings().hash, now);
    core.change_settings(&now, &[retries(1)]).unwrap();
    assert!(desk.text().contains(r#"candidates = ["b/y"] # both"#), "{}", desk.text());
}

#[tokio::test]
async fn g07_a_read_only_file_is_told_before_and_at_the_write() {
    let desk = Desk::new("ok", "ok");
    let mut permissions = std::fs::metadata(&desk.file).unwrap().permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(&desk.file, permissions).unwrap();
    let gateway = desk.gateway();
    let status = gateway.core().settings();
    assert!(status.read_only.is_some());
    let refused = gateway.core().change_settings(&status.hash, &[retries(1)]).unwrap_err();
    assert!(matches!(refused, EditError::ReadOnly { .. }), "{refused}");
    // Settings without a file cannot be written at all.
    let given = Gateway::in_process(desk.config(), CoreOptions::default());
    let status = given.core().settings();
    assert_eq!(status.file, None);
    let refused = given.core().change_settings(&status.hash, &[retries(1)]).unwrap_err();
    assert!(matches!(refused, EditError::ReadOnly { .. }), "{refused}");
}

#[tokio::test]
async fn g07_a_stored_key_is_used_at_once_and_never_shown() {
    let desk = Desk::new("ok", "ok");
    let gateway = desk.gateway();
    let core = gateway.core();
    let key = |provider: &str| {
        let plan = core.plan();
        let key = plan.config().provider(provider).unwrap().key.clone();
        key.map(|key| key.expose_secret().to_owned())
    };
    assert_eq!(key("a"), None);
    core.store_key("a", &SecretString::from("sk-marker-1")).unwrap();
    assert_eq!(key("a").as_deref(), Some("sk-marker-1"));
    core.store_key("a", &SecretString::from("sk-marker-2")).unwrap();
    assert_eq!(key("a").as_deref(), Some("sk-marker-2"));
    assert!(!desk.text().contains("sk-marker"));
    assert!(!format!("{:?} {:?}", core, core.plan()).contains("sk-marker"));
    assert!(core.forget_key("a").unwrap());
    assert_eq!(key("a"), None);
    let refused = core.store_key("a", &SecretString::from("sk marker")).unwrap_err();
    assert!(!refused.to_string().contains("sk marker"));
    let given = Gateway::in_process(desk.config(), CoreOptions::default());
    let refused = given.core().store_key("a", &SecretString::from("sk-1")).unwrap_err();
    assert!(matches!(refused, KeyError::NoFolder));
}

#[tokio::test]
async fn g07_g08_without_a_file_a_stored_key_makes_its_well_known_provider_a_finding() {
    let desk = Desk::new("ok", "ok");
    std::fs::remove_file(&desk.file).unwrap();
    let none = Config::from_env(&FixedEnv::new()).unwrap().config;
    let gateway = Gateway::in_process(none, desk.options());
    assert!(gateway.core().plan().config().providers.is_empty());
    let put = |provider: &str| {
        Request::put(format!("/api/v1/providers/{provider}/key"))
            .header("host", "localhost")
            .header("content-type", "application/json")
            .body(Full::new(Bytes::from(r#"{"key":"sk-marker-1"}"#)))
            .unwrap()
    };
    assert_eq!(gateway.handle(put("deepsek")).await.status(), 404);
    assert_eq!(gateway.handle(put("deepseek")).await.status(), 200);
    assert_eq!(gateway.core().plan().config().providers[0].id, "deepseek");
    assert_eq!(routes(gateway.core()), ["deepseek/deepseek-v4-pro"]);
}
