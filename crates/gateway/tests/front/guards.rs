//! Who may speak to the gateway.

use http::Method;

use crate::support::{Answer, CHAT, MESSAGES, SETTINGS, World, hello, request};

const APP: &str = "https://app.example";

fn world() -> World {
    World::with(&format!("allowed_origins = [\"{APP}\"]\n{SETTINGS}"), "ok:Yes.")
}

async fn ask(world: &World, method: Method, path: &str, headers: &[(&str, &str)]) -> Answer {
    let body = if method == Method::POST { hello("default").to_string() } else { String::new() };
    world.send(request(method, path, headers, body)).await
}

#[tokio::test(start_paused = true)]
async fn g09_a_rebound_name_reads_nothing_and_writes_nothing() {
    let world = world();
    let evil = [("host", "evil.example:8787")];
    for (method, path) in [
        (Method::POST, CHAT),
        (Method::GET, "/v1/models"),
        (Method::GET, "/api/v1/state"),
        (Method::POST, "/api/v1/release"),
        (Method::GET, "/healthz"),
        (Method::GET, "/nowhere"),
    ] {
        let answer = ask(&world, method, path, &evil).await;
        assert_eq!(answer.status, 403, "{path}");
        assert!(answer.message().contains("evil.example"), "{}", answer.message());
    }
    assert_eq!(world.upstream.log().requests.len(), 0);
}

#[tokio::test(start_paused = true)]
async fn g09_another_sites_page_is_refused_in_the_dialect() {
    let world = world();
    let page = [("origin", "https://evil.example")];
    assert_eq!(ask(&world, Method::POST, CHAT, &page).await.status, 403);
    let answer = ask(&world, Method::POST, MESSAGES, &page).await;
    assert!(answer.status == 403 && answer.is_anthropic_error(), "{answer:?}");
    assert!(answer.message().contains("allowed_origins"), "{}", answer.message());
    assert_eq!(answer.header("access-control-allow-origin"), None);
    let look = [("sec-fetch-site", "cross-site")];
    assert_eq!(ask(&world, Method::GET, "/api/v1/state", &look).await.status, 403);
    assert_eq!(world.upstream.log().requests.len(), 0);
}

#[tokio::test(start_paused = true)]
async fn g14_an_allowed_app_may_ask_beforehand_call_and_read() {
    let world = world();
    let app = ("origin", APP);
    let before = [app, ("access-control-request-method", "POST")];
    let preflight = ask(&world, Method::OPTIONS, CHAT, &before).await;
    assert_eq!(preflight.status, 204);
    for (name, value) in [
        ("access-control-allow-origin", APP),
        ("access-control-allow-headers", "*, authorization"),
        ("vary", "origin"),
    ] {
        assert_eq!(preflight.header(name), Some(value), "{name}");
    }
    let call = ask(&world, Method::POST, CHAT, &[app, ("sec-fetch-site", "cross-site")]).await;
    assert_eq!(call.status, 200);
    assert_eq!(call.header("access-control-allow-origin"), Some(APP));
    assert!(call.header("access-control-expose-headers").expect("it").contains("x-ekiden-call"));
    let other = [("origin", "https://evil.example"), ("access-control-request-method", "POST")];
    assert_eq!(ask(&world, Method::OPTIONS, CHAT, &other).await.status, 403);
}

#[tokio::test(start_paused = true)]
async fn r06_a_call_that_comes_back_to_us_is_refused() {
    let world = world();
    let own = world.gateway.core().instance().to_owned();
    let answer = ask(&world, Method::POST, CHAT, &[("x-ekiden-hop", &own)]).await;
    assert_eq!((answer.status, answer.header("x-should-retry")), (508, Some("false")));
    assert!(answer.message().contains("queue"), "{}", answer.message());
    let others = ask(&world, Method::POST, CHAT, &[("x-ekiden-hop", "somebody")]).await;
    assert_eq!(others.status, 200, "a gateway before us is no loop");
}

#[tokio::test(start_paused = true)]
async fn r06_every_gateway_on_the_way_stays_named() {
    let world = world();
    let answer = ask(&world, Method::POST, CHAT, &[("x-ekiden-hop", "somebody")]).await;
    assert_eq!(answer.status, 200);
    let log = world.upstream.log();
    let seen = log.calls().next().expect("one call");
    let hops: Vec<_> =
        seen.headers.iter().filter(|(name, _)| name == "x-ekiden-hop").map(|(_, v)| v).collect();
    let hops = format!("{hops:?}");
    assert!(hops.contains("somebody") && hops.contains(world.gateway.core().instance()), "{hops}");
}
