//! Connections: reused ones that die, refused ones, this machine's own trouble (R43, R48, section 3).

use std::io;

use ekiden_engine::Class;
use ekiden_store::{Told, What};

use super::stage::{Setting, Stage, Trouble, Way};

#[tokio::test(start_paused = true)]
async fn r48_a_reused_connection_that_dies_is_no_attempt() {
    for way in Way::ALL {
        let stage = Stage::of(way, "ok:one | die-on-reuse; ok:two", "ok:never");
        stage.ask().await.is_whole("one");
        let got = stage.ask().await;
        got.is_whole("two");
        assert_eq!(got.header("x-ekiden-attempts"), "1");
        assert_eq!(stage.a.log().died_on_reuse, 1, "{way:?}");
        let resent = &stage.gateway.core().counters().resent;
        assert_eq!(resent.load(std::sync::atomic::Ordering::Relaxed), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn connections_are_kept_and_used_again() {
    for way in Way::ALL {
        let stage = Stage::of(way, "ok:one; ok:two; ok:three", "ok:never");
        for text in ["one", "two", "three"] {
            stage.ask().await.is_whole(text);
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
        assert_eq!(stage.a.log().connections_total, 1, "{way:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_refuses_connections_is_left_for_the_next() {
    for way in Way::ALL {
        let stage = Stage::of(way, "ok:never", "ok:second");
        stage.trouble("a", Some(Trouble::Fails(io::ErrorKind::ConnectionRefused)));
        stage.ask().await.is_whole("second");
        assert_eq!(stage.ledger()[0].class, Some(Class::TransportRemote));
        // Nothing was sent, so nothing was billed.
        assert_eq!(stage.ledger()[0].input, ekiden_store::Tokens::Unknown);
    }
}

#[tokio::test(start_paused = true)]
async fn r43_a_name_that_fails_while_others_can_be_reached_is_that_providers_trouble() {
    for way in Way::ALL {
        let stage = Stage::of(way, "ok:never", "ok:second");
        stage.trouble("a", Some(Trouble::Fails(io::ErrorKind::NotFound)));
        stage.ask().await.is_whole("second");
        assert_eq!(stage.ledger()[0].class, Some(Class::TransportRemote));
    }
}

#[tokio::test(start_paused = true)]
async fn r43_this_machines_own_trouble_blames_nobody_is_waited_out_and_said() {
    for way in Way::ALL {
        let stage = Stage::of(way, "ok:first", "ok:second");
        for provider in ["a", "b", "c"] {
            stage.trouble(provider, Some(Trouble::Fails(io::ErrorKind::NetworkUnreachable)));
        }
        let got = stage.ask().await;
        assert_eq!(got.status, 503, "{got:?}");
        assert!((30..=33).contains(&got.took.as_secs()), "{:?}", got.took);
        let journal = stage.journal();
        assert!(!journal.iter().any(|entry| matches!(entry.what, What::Quarantined { .. })));
        let told = |entry: &ekiden_store::Entry| {
            matches!(entry.what, What::Refused { told: Told::LocalNetwork, .. })
        };
        assert!(journal.iter().any(told), "{journal:?}");
        for provider in ["a", "b", "c"] {
            stage.trouble(provider, None);
        }
        stage.ask().await.is_whole("first");
    }
}

#[tokio::test(start_paused = true)]
async fn r11_a_connection_that_never_stands_is_left_after_the_connect_clock() {
    for way in Way::ALL {
        let queue = "connect_timeout = \"3s\"\nretries = 0";
        let setting = Setting { queue, scheme_of_a: "https", ..Setting::default() };
        let stage = Stage::set(way, "ok:never", "ok:second", &setting);
        stage.trouble("a", Some(Trouble::Stuck));
        let got = stage.ask().await;
        got.is_whole("second");
        assert_eq!(got.took.as_secs(), 3);
        assert_eq!(stage.ledger()[0].class, Some(Class::Stall));
    }
}
