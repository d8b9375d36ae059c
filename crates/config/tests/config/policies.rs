//! The presets of spec section 4, and what may be set on top of them.

use ekiden_config::{AllCooling, PolicySettings, Preset, Switching};

use crate::common::{BASE, error, good, has, warnings};

fn preset(name: &str) -> PolicySettings {
    good(&format!("{BASE}policy = \"{name}\"\n")).config.queues[0].policy.clone()
}

#[test]
fn the_other_presets_switch_off_what_only_the_relay_has() {
    for name in ["health", "chain", "persist"] {
        let policy = preset(name);
        assert_eq!(policy.policy.name(), name);
        assert!(policy.enabled && !policy.quarantine, "{name}");
        assert_eq!((policy.retries, policy.rotate_after, policy.parole_after_ms), (0, 0, 0));
        assert_eq!(policy.continue_on_failover.name(), "never");
    }
    let relay = preset("relay");
    assert!(relay.quarantine && !relay.sticky && !relay.persist);
    assert_eq!((relay.failure_threshold, relay.switch_on.join(" ")), (0, "all".to_owned()));
}

#[test]
fn h01_h02_h03_h05_the_defaults_of_health() {
    let health = preset("health");
    assert_eq!(health.failure_threshold, 1);
    assert_eq!((health.breaker_cooldown_ms, health.breaker_cooldown_max_ms), (60_000, 600_000));
    assert_eq!(health.breaker_at_once, ["auth", "not_found"]);
    assert!(health.sticky);
    assert_eq!(health.switching, Switching::NextCall);
    assert_eq!(health.all_cooling, AllCooling::Soonest);
}

#[test]
fn c03_c04_the_defaults_of_chain() {
    let chain = preset("chain");
    let flat = (chain.breaker_cooldown_ms, chain.breaker_cooldown_max_ms);
    assert_eq!((chain.failure_threshold, flat), (1, (30_000, 30_000)));
    let mut classes = chain.switch_on;
    classes.sort();
    let expected = [
        "empty_response",
        "not_found",
        "overloaded",
        "rate_limited",
        "server_error",
        "stall",
        "timeout",
        "transport_remote",
    ];
    assert_eq!(classes, expected);
    assert_eq!((chain.switching, chain.all_cooling), (Switching::InCall, AllCooling::Head));
}

#[test]
fn p01_p02_the_defaults_of_persist() {
    let persist = preset("persist");
    assert!(persist.persist && !persist.sticky);
    assert_eq!((persist.max_rounds, persist.failure_threshold), (0, 0));
    assert_eq!((persist.backoff_ms, persist.backoff_max_ms), (1_000, 30_000));
    assert_eq!(persist.backoff_jitter, 20);
}

#[test]
fn any_field_can_be_set_on_top_of_a_preset() {
    let text =
        format!("{BASE}policy = \"chain\"\nfailure_threshold = 3\nswitch_on = [\"stall\"]\n");
    let policy = &good(&text).config.queues[0].policy;
    let expected = PolicySettings {
        failure_threshold: 3,
        switch_on: vec!["stall".to_owned()],
        ..PolicySettings::preset(Preset::Chain)
    };
    assert_eq!(*policy, expected);
    has(&error(&format!("{BASE}switch_on = [\"stal\"]\n")), &["did you mean \"stall\"?"]);
    has(&error(&format!("{BASE}failure_threshold = 101\n")), &["from 0 to 100"]);
}

#[test]
fn c01_c02_direct_calls_have_one_list_of_fallbacks_without_duplicates() {
    let direct = |lines: &str| format!("{BASE}[direct]\n{lines}\n");
    let chain = "policy = \"chain\"\nfallbacks = [\"deepseek/a\", \"moonshot|b\"]";
    let config = &good(&direct(chain)).config;
    let routes: Vec<_> = config.direct.fallbacks.iter().map(|one| one.route()).collect();
    assert_eq!(routes, ["deepseek/a", "moonshot/b"]);
    assert_eq!(config.direct.policy.policy, Preset::Chain);
    let twice = "fallbacks = [\"deepseek/a\", \"deepseek|a\"]";
    has(&error(&direct(twice)), &["`deepseek/a` stands twice in `fallbacks`"]);
    let idle = warnings(&direct("fallbacks = [\"deepseek/a\"]"));
    has(&idle[0], &["never asked", "policy = \"chain\""]);
}
