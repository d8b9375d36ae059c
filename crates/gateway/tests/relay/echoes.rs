//! What of an upstream's answer is changed before a client sees it: a key that it repeats, and the
//! clothes of JSON. Loops through other gateways.

use super::stage::{Setting, Stage, Trouble, Way};

const KEY: &str = "key-of-a-000000";

#[tokio::test(start_paused = true)]
async fn g07_the_providers_key_never_reaches_a_client_in_an_error() {
    let off = Setting { queue: "enabled = false", ..Setting::USUAL };
    let none = Setting { queue: "policy = \"none\"", ..Setting::USUAL };
    for way in Way::ALL {
        for (status, setting) in [
            ("400", &Setting::USUAL),
            ("422", &Setting::USUAL),
            ("418", &Setting::USUAL),
            ("401", &off),
            ("401", &none),
        ] {
            let body = |key: &str| {
                format!(
                    "{{\"error\":{{\"message\":\"We could not parse the JSON body of your request: \
                     Bearer {key}, {key}.\",\"type\":\"invalid_request_error\"}}}}"
                )
            };
            let stage = Stage::set(way, &format!("{status} | body:{}", body(KEY)), status, setting);
            let got = stage.ask().await;
            assert_eq!(got.raw, body("***"), "{way:?} {status} {:?}", setting.queue);
            let unchanged = body("key-of-a-000001");
            let stage = Stage::set(way, &format!("{status} | body:{unchanged}"), status, setting);
            assert_eq!(stage.ask().await.raw, unchanged, "byte for byte");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn g07_the_providers_key_never_reaches_a_client_in_a_header_or_an_event() {
    let body = format!("{{\"error\":{{\"message\":\"could not parse the JSON body: {KEY}\"}}}}");
    for way in Way::ALL {
        let stage = Stage::of(way, "ok:unasked", "ok:never");
        let headers = format!("application/json\r\nx-request-id: of-{KEY}");
        stage.trouble("a", Some(Trouble::answer("400 Bad Request", &headers, &body)));
        let got = stage.ask().await;
        assert_eq!(got.header("x-request-id"), "of-***", "{got:?}");
        assert!(!got.raw.contains(KEY), "{got:?}");
    }
    for way in Way::STREAMS {
        // Keep-alives have begun the stream, so that the error is an event.
        let body = body.replace(KEY, "key-of-b-000000");
        let stage = Stage::of(way, "hang", &format!("400 | body:{body}"));
        let got = stage.ask().await;
        assert!(got.error().is_object() && !got.raw.contains("key-of-"), "{got:?}");
    }
}
