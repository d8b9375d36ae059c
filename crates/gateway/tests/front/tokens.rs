//! Tokens: who may call and look from other machines.

use std::sync::Arc;

use http::{Method, Request};
use http_body_util::Full;
use secrecy::ExposeSecret;
use serde_json::{Value, json};

use ekiden_gateway::clock::{Calendar, Clock};
use ekiden_gateway::tokens::{ClientTokens, NewToken, Scope};
use ekiden_gateway::{CoreOptions, Gateway, StartError};
use ekiden_sim::Upstream;

use crate::support::{Answer, CHAT, MESSAGES, SETTINGS, World, config, hello, options, request};

fn wish(scope: Scope) -> NewToken {
    NewToken {
        name: "a".to_owned(),
        scope,
        queues: Vec::new(),
        calls_max: None,
        budget_per_day: None,
    }
}

/// A gateway on that address, with a client's token and an administrator's.
struct Guarded {
    world: World,
    client: String,
    admin: String,
}

impl Guarded {
    fn on(listen: &str, script: &str) -> Self {
        Self::with(listen, script, "")
    }

    fn with(listen: &str, script: &str, more: &str) -> Self {
        let settings = format!("listen = \"{listen}\"\n{SETTINGS}{more}");
        let upstream = Upstream::new(script.parse().expect("a script"));
        let tokens = ClientTokens::default();
        let make = |scope| tokens.make(wish(scope), 1).expect("made").1.expose_secret().to_owned();
        let (client, admin) = (make(Scope::Client), make(Scope::Admin));
        let clock = Clock::starting_at(1_790_000_000_000, Calendar::new(Some("UTC"), 1));
        let (tokens, clock) = (Some(Arc::new(tokens)), Some(clock));
        let options = CoreOptions { tokens, clock, ..options(&upstream) };
        let gateway = Gateway::in_process(config(&settings), options);
        Self { world: World { gateway, upstream, folder: None }, client, admin }
    }

    async fn ask(&self, method: Method, path: &str, token: Option<&str>, body: &str) -> Answer {
        let bearer = token.map(|token| format!("Bearer {token}"));
        let mut headers = vec![("host", "192.0.2.7:8787")];
        headers.extend(bearer.as_deref().map(|bearer| ("authorization", bearer)));
        self.world.send(request(method, path, &headers, body.to_owned())).await
    }

    async fn make(&self, wish: &Value) -> (String, String) {
        let body = wish.to_string();
        let made = self.ask(Method::POST, "/api/v1/tokens", Some(&self.admin), &body).await;
        assert_eq!(made.status, 201, "{made:?}");
        let json = made.json();
        let text = |value: &Value| value.as_str().expect("text").to_owned();
        (text(&json["token"]), text(&json["made"]["id"]))
    }
}

const EVERYWHERE: &str = "0.0.0.0:8787";

#[tokio::test(start_paused = true)]
async fn g09_beyond_loopback_nothing_but_health_is_answered_without_a_token() {
    let guarded = Guarded::on(EVERYWHERE, "ok:Yes.");
    let body = hello("default").to_string();
    for (method, path) in [
        (Method::POST, CHAT),
        (Method::POST, MESSAGES),
        (Method::POST, "/v1/messages/count_tokens"),
        (Method::GET, "/v1/models"),
        (Method::GET, "/v1/models/default"),
        (Method::GET, "/"),
        (Method::GET, "/api/v1/state"),
        (Method::GET, "/api/v1/openapi.json"),
        (Method::GET, "/nowhere"),
        (Method::DELETE, CHAT),
    ] {
        for token in [None, Some("sk-something"), Some("ekt_0123")] {
            let headers: Vec<(&str, String)> =
                token.map(|token| ("x-api-key", token.to_owned())).into_iter().collect();
            let mut ask = Request::builder().method(method.clone()).uri(path);
            ask = ask.header("host", "localhost:8787");
            for (name, value) in headers {
                ask = ask.header(name, value);
            }
            let ask = ask.body(Full::new(body.clone().into())).expect("a request");
            let answer = guarded.world.send(ask).await;
            assert_eq!(answer.status, 401, "{method} {path} {token:?}");
            assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
            let anthropic = path.contains("messages");
            assert!(!anthropic || answer.is_anthropic_error(), "{answer:?}");
        }
    }
    for path in ["/healthz", "/readyz"] {
        let answer = guarded.world.get(path).await;
        assert_eq!(answer.status, 200, "{path}");
        assert!(!answer.text().contains("chat/m"), "{}", answer.text());
    }
    assert_eq!(guarded.world.upstream.log().requests.len(), 0);
}

#[tokio::test(start_paused = true)]
async fn g09_a_client_calls_and_only_an_administrator_looks() {
    let guarded = Guarded::on(EVERYWHERE, "ok:Yes.");
    let body = hello("default").to_string();
    let call = guarded.ask(Method::POST, CHAT, Some(&guarded.client), &body).await;
    assert_eq!(call.status, 200, "{call:?}");
    for path in ["/api/v1/state", "/api/v1/tokens", "/api/v1/events"] {
        let answer = guarded.ask(Method::GET, path, Some(&guarded.client), "").await;
        assert_eq!(answer.status, 403, "{path}");
    }
    let release = "{\"all\":true}";
    let path = "/api/v1/release";
    let answer = guarded.ask(Method::POST, path, Some(&guarded.client), release).await;
    assert_eq!(answer.status, 403);
    assert_eq!(guarded.ask(Method::POST, path, Some(&guarded.admin), release).await.status, 200);
    let state = guarded.ask(Method::GET, "/api/v1/state", Some(&guarded.admin), "").await;
    assert_eq!(state.status, 200);
    assert!(!state.text().contains(&guarded.client), "{}", state.text());
    let sent = guarded.world.upstream.log();
    let headers =
        format!("{:?}", sent.calls().map(|call| call.headers.clone()).collect::<Vec<_>>());
    assert!(!headers.contains(&guarded.client), "a token never leaves: {headers}");
}

#[tokio::test(start_paused = true)]
async fn g09_a_revoked_token_is_told_so_in_the_dialect_on_loopback_too() {
    for listen in [EVERYWHERE, "127.0.0.1:8787"] {
        let guarded = Guarded::on(listen, "ok:Yes.");
        let host = if listen == EVERYWHERE { "192.0.2.7:8787" } else { "localhost:8787" };
        let send = |path: &'static str, name: &'static str, token: String| {
            let headers = [("host", host), (name, token.as_str())];
            guarded.world.send(request(Method::POST, path, &headers, hello("default").to_string()))
        };
        let admin = [("host", host), ("x-api-key", guarded.admin.as_str())];
        let wish = json!({ "name": "b", "scope": "client" }).to_string();
        let made = guarded.world.send(request(Method::POST, "/api/v1/tokens", &admin, wish)).await;
        let made = made.json();
        let token = made["token"].as_str().expect("a token").to_owned();
        let id = made["made"]["id"].as_str().expect("an id");
        assert_eq!(send(CHAT, "x-api-key", token.clone()).await.status, 200);
        let path = format!("/api/v1/tokens/{id}");
        let gone = guarded.world.send(request(Method::DELETE, &path, &admin, "")).await;
        assert_eq!(gone.json(), json!({ "revoked": id }));
        let again = guarded.world.send(request(Method::DELETE, &path, &admin, "")).await;
        assert_eq!(again.status, 404);
        let chat = send(CHAT, "x-api-key", token.clone()).await;
        assert_eq!(
            (chat.status, chat.json()["error"]["code"].clone()),
            (401, json!("invalid_api_key"))
        );
        let messages = send(MESSAGES, "x-api-key", token.clone()).await;
        assert!(messages.status == 401 && messages.is_anthropic_error(), "{messages:?}");
        assert!(messages.message().contains("revoked"), "{}", messages.message());
        let list = guarded.world.send(request(Method::GET, "/api/v1/tokens", &admin, "")).await;
        assert!(!list.text().contains(&token) && !list.text().contains(id), "{}", list.text());
    }
}

#[tokio::test(start_paused = true)]
async fn g09_a_token_in_the_query_is_refused_whatever_it_is_worth() {
    for listen in [EVERYWHERE, "127.0.0.1:8787"] {
        let guarded = Guarded::on(listen, "ok:Yes.");
        let body = hello("default").to_string();
        for query in ["key={}", "access_token={}", "x=1&token=Bearer%20{}", "{}"] {
            let path = format!("{CHAT}?{}", query.replace("{}", &guarded.client));
            for token in [None, Some(guarded.client.as_str())] {
                let bearer = token.map(|token| format!("Bearer {token}"));
                let mut headers = vec![("host", "localhost:8787")];
                headers.extend(bearer.as_deref().map(|bearer| ("authorization", bearer)));
                let answer =
                    guarded.world.send(request(Method::POST, &path, &headers, body.clone())).await;
                assert_eq!(answer.status, 401, "{path}");
                assert!(answer.message().contains("URL"), "{}", answer.message());
                assert!(!answer.text().contains(&guarded.client));
            }
        }
        assert_eq!(guarded.world.upstream.log().requests.len(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn g09_a_token_tied_to_queues_calls_and_sees_no_other() {
    let guarded = Guarded::on(EVERYWHERE, "ok:Yes.");
    let wish = json!({ "name": "b", "scope": "client", "queues": ["opus"] });
    let (token, _) = guarded.make(&wish).await;
    let ask = |model: &str, path: &'static str| {
        let body = hello(model).to_string();
        let token = token.clone();
        let guarded = &guarded;
        async move { guarded.ask(Method::POST, path, Some(&token), &body).await.status }
    };
    assert_eq!(ask("opus", MESSAGES).await, 200);
    for model in ["default", "gpt-5", "claude/c", "chat/m"] {
        assert_eq!(ask(model, CHAT).await, 403, "{model}");
        assert_eq!(ask(model, "/v1/messages/count_tokens").await, 403, "{model}");
    }
    let models = guarded.ask(Method::GET, "/v1/models", Some(&token), "").await.json();
    let ids: Vec<_> = models["data"].as_array().expect("data").iter().map(|it| &it["id"]).collect();
    assert_eq!(ids, ["opus", "claude-queue-opus"]);
    assert_eq!(guarded.ask(Method::GET, "/v1/models/opus", Some(&token), "").await.status, 200);
    assert_eq!(guarded.ask(Method::GET, "/v1/models/default", Some(&token), "").await.status, 404);
    let unknown = json!({ "name": "c", "scope": "client", "queues": ["nope"] }).to_string();
    let refused = guarded.ask(Method::POST, "/api/v1/tokens", Some(&guarded.admin), &unknown).await;
    assert_eq!(refused.status, 404);
}

#[tokio::test(start_paused = true)]
async fn g09_a_token_has_no_more_open_calls_than_it_may() {
    let guarded = Guarded::on(EVERYWHERE, "hang; ok:Yes.");
    let wish = json!({ "name": "b", "scope": "client", "calls_max": 1 });
    let (token, _) = guarded.make(&wish).await;
    let body = hello("default").to_string();
    let first = guarded.ask(Method::POST, CHAT, Some(&token), &body);
    let second = async {
        tokio::task::yield_now().await;
        guarded.ask(Method::POST, CHAT, Some(&token), &body).await
    };
    {
        tokio::pin!(first);
        let second = tokio::select! {
            biased;
            _ = &mut first => panic!("it hangs"),
            second = second => second,
        };
        assert_eq!((second.status, second.header("retry-after")), (429, Some("1")), "{second:?}");
        let other = guarded.ask(Method::POST, CHAT, Some(&guarded.client), &body).await;
        assert_eq!(other.status, 200, "another token's calls are its own");
    }
    guarded.world.gateway.core().tasks().idle().await;
    assert_eq!(guarded.ask(Method::POST, CHAT, Some(&token), &body).await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn g09_without_a_token_a_wrong_host_is_refused_and_with_one_a_foreign_origin_is() {
    let guarded = Guarded::on(EVERYWHERE, "ok:Yes.");
    let body = hello("default").to_string();
    let rebound = [("host", "evil.example:8787")];
    let answer = guarded.world.send(request(Method::POST, CHAT, &rebound, body.clone())).await;
    assert_eq!(answer.status, 403);
    let bearer = format!("Bearer {}", guarded.admin);
    let named = [("host", "gateway.lan:8787"), ("authorization", bearer.as_str())];
    let answer = guarded.world.send(request(Method::POST, CHAT, &named, body.clone())).await;
    assert_eq!(answer.status, 200, "a name of this network, and no browser knows the token");
    for foreign in [("origin", "https://evil.example"), ("sec-fetch-site", "cross-site")] {
        let page = [named[0], named[1], foreign];
        let path = "/api/v1/release";
        let answer = guarded.world.send(request(Method::POST, path, &page, "{\"all\":true}")).await;
        assert_eq!(answer.status, 403, "{foreign:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn g09_nobody_locks_everybody_out() {
    let guarded = Guarded::on(EVERYWHERE, "ok:Yes.");
    let admin = Some(guarded.admin.as_str());
    let list = guarded.ask(Method::GET, "/api/v1/tokens", admin, "").await.json();
    assert_eq!(list["required"], true);
    for token in list["tokens"].as_array().expect("tokens") {
        let path = format!("/api/v1/tokens/{}", token["id"].as_str().expect("an id"));
        let refused = guarded.ask(Method::DELETE, &path, admin, "").await;
        assert_eq!(refused.json()["error"]["code"], "last_token", "{refused:?}");
    }
    assert_eq!(guarded.ask(Method::GET, "/api/v1/state", admin, "").await.status, 200);
}

#[tokio::test]
async fn g09_beyond_loopback_it_starts_with_tokens_alone() {
    let settings = config(&format!("listen = \"0.0.0.0:0\"\n{SETTINGS}"));
    let refused = Gateway::start(Arc::clone(&settings), CoreOptions::default()).await;
    let Err(refused @ StartError::NoTokens { .. }) = refused else { panic!("it started") };
    assert!(refused.to_string().contains("hint: "), "{refused}");
    let tokens = ClientTokens::default();
    for scope in [Scope::Client, Scope::Admin] {
        drop(tokens.make(wish(scope), 1).expect("made"));
    }
    let options = CoreOptions { tokens: Some(Arc::new(tokens)), ..CoreOptions::default() };
    let running = Gateway::start(settings, options).await.expect("started");
    running.shutdown().await;
}

/// A gateway whose settings name prices, and what a call costs there: 1,000 tokens in, 100 out.
fn priced() -> Guarded {
    let prices =
        "[prices]\n\"chat/m\" = \"USD 2 in, 10 out\"\n\"claude/c\" = \"CNY 3 in, 6 out\"\n";
    Guarded::with(EVERYWHERE, "ok:Yes. | usage:1000/100; ok:Yes. | usage:1000/100", prices)
}

#[tokio::test(start_paused = true)]
async fn g09_a_token_that_has_spent_its_budget_is_refused_until_the_day_turns() {
    let guarded = priced();
    let body = hello("default").to_string();
    for (budget, calls) in [("2200 tokens", 2), ("USD 0.003", 1), ("USD 0", 0)] {
        let wish = json!({ "name": "b", "scope": "client", "budget_per_day": budget });
        let (token, id) = guarded.make(&wish).await;
        let call = || guarded.ask(Method::POST, CHAT, Some(&token), &body);
        for _ in 0..calls {
            assert_eq!(call().await.status, 200, "{budget}");
        }
        let asked = guarded.world.upstream.log().requests.len();
        let refused = call().await;
        assert_eq!((refused.status, refused.header("x-should-retry")), (429, Some("false")));
        let message = refused.message();
        assert!(message.contains(budget) && message.contains("The day ends in"), "{message}");
        assert_eq!(guarded.world.upstream.log().requests.len(), asked, "before the call");
        let list = guarded.ask(Method::GET, "/api/v1/tokens", Some(&guarded.admin), "").await;
        let list = list.json();
        let mine = list["tokens"].as_array().expect("tokens").iter().find(|it| it["id"] == id);
        let mine = mine.expect("the token");
        assert_eq!(mine["budget_per_day"], budget);
        assert_eq!(mine["spent_today"]["tokens"], 1_100 * calls, "{mine}");
        let money = match calls {
            0 => json!([]),
            1 => json!(["USD 0.003"]),
            _ => json!(["USD 0.006"]),
        };
        assert_eq!(mine["spent_today"]["money"], money);
        // Another one is not concerned.
        let other = guarded.ask(Method::POST, CHAT, Some(&guarded.client), &body).await;
        assert_eq!(other.status, 200);
    }
    // What is paid in another currency does not count against it.
    let wish = json!({ "name": "b", "scope": "client", "budget_per_day": "USD 0.001" });
    let (token, _) = guarded.make(&wish).await;
    let opus = hello("opus").to_string();
    for _ in 0..3 {
        assert_eq!(guarded.ask(Method::POST, MESSAGES, Some(&token), &opus).await.status, 200);
    }
    assert_eq!(guarded.ask(Method::POST, CHAT, Some(&token), &body).await.status, 200);
    assert_eq!(guarded.ask(Method::POST, CHAT, Some(&token), &body).await.status, 429);
    tokio::time::advance(std::time::Duration::from_secs(25 * 3_600)).await;
    assert_eq!(guarded.ask(Method::POST, CHAT, Some(&token), &body).await.status, 200, "a new day");
    for wrong in ["5", "USD", "EUR 5", "1.5 tokens", "USD 1000000001"] {
        let wish = json!({ "name": "b", "scope": "client", "budget_per_day": wrong }).to_string();
        let told = guarded.ask(Method::POST, "/api/v1/tokens", Some(&guarded.admin), &wish).await;
        assert_eq!(told.status, 400, "{wrong}");
        assert!(told.message().contains("USD 5"), "{}", told.message());
    }
}

/// G9: calls that come together do not all spend the same rest.
#[tokio::test(start_paused = true)]
async fn g09_what_open_calls_may_take_is_not_there_for_others() {
    let prices = "[prices]\n\"chat/m\" = \"USD 2 in, 10 out\"\n";
    // Of the dearest candidate: 500 output tokens are USD 0.005 there.
    for (budget, limit, fits) in [
        ("600 tokens", json!({ "max_tokens": 500 }), 2),
        ("400 tokens", json!({ "max_tokens": 500 }), 1),
        ("USD 0.0055", json!({ "max_tokens": 500 }), 2),
        ("USD 0.004", json!({ "max_tokens": 500 }), 1),
        // Each of two answers may take as much, and what is no whole number bounds nothing.
        ("1000 tokens", json!({ "max_tokens": 500, "n": 2 }), 1),
        ("600 tokens", json!({ "max_tokens": 100.5 }), 1),
        ("USD 0.0055", json!({ "max_tokens": 1e30 }), 1),
        // Whoever names no limit counts with the input alone.
        ("600 tokens", json!({}), 4),
    ] {
        let script = format!("{fits}*hang; ok:Yes. | usage:10/1");
        let guarded = Guarded::with(EVERYWHERE, &script, prices);
        let wish = json!({ "name": "b", "scope": "client", "budget_per_day": budget });
        let (token, _) = guarded.make(&wish).await;
        let mut body = hello("default");
        for (name, value) in limit.as_object().expect("members") {
            body[name] = value.clone();
        }
        let body = body.to_string();
        let ask = || guarded.ask(Method::POST, CHAT, Some(&token), &body);
        let mut open: Vec<_> = (0..4).map(|_| Box::pin(ask())).collect();
        let mut told = Vec::new();
        for call in &mut open {
            // As far as it comes without any time going by.
            tokio::select! {
                biased;
                answer = call => told.push(answer),
                () = async { for _ in 0..100 { tokio::task::yield_now().await } } => {}
            }
        }
        assert_eq!(told.len(), 4 - fits, "{budget}, {limit}");
        for refused in &told {
            assert_eq!((refused.status, refused.header("retry-after")), (429, Some("1")));
            assert!(refused.message().contains(budget), "{}", refused.message());
        }
        // What they did not take is there again when they have ended.
        drop(open);
        guarded.world.gateway.core().tasks().idle().await;
        assert_eq!(ask().await.status, 200, "{budget}, {limit}");
    }
}

#[tokio::test(start_paused = true)]
async fn r34_attempts_have_their_cost_and_sums_tell_it_by_day_queue_candidate_session_and_token() {
    let guarded = priced();
    let (token, id) = guarded.make(&json!({ "name": "b", "scope": "client" })).await;
    let body = hello("default").to_string();
    for _ in 0..2 {
        assert_eq!(guarded.ask(Method::POST, CHAT, Some(&token), &body).await.status, 200);
    }
    let opus = hello("opus").to_string();
    assert_eq!(guarded.ask(Method::POST, MESSAGES, Some(&token), &opus).await.status, 200);
    let admin = Some(guarded.admin.as_str());
    let rows = guarded.ask(Method::GET, "/api/v1/ledger/attempts", admin, "").await.json();
    let row = &rows["attempts"][0];
    assert_eq!(row["cost"], json!({ "currency": "CNY", "nano": 3_600_000, "source": "estimated" }));
    assert_eq!(row["token"], json!(id));
    for (by, key) in [("day", None), ("queue", Some("default")), ("route", Some("chat/m"))] {
        let path = format!("/api/v1/ledger?by={by}");
        let sums = guarded.ask(Method::GET, &path, admin, "").await.json();
        let lines = sums["sums"].as_array().expect("sums");
        let line = lines.iter().find(|line| key.is_none_or(|key| line["key"] == key));
        let all = &line.unwrap_or_else(|| panic!("{sums}"))["all"];
        let usd = json!({ "currency": "USD", "reported_nano": 0, "estimated_nano": 6_000_000 });
        assert_eq!(all["cost"][0], usd, "{by}: {sums}");
    }
    let by_token = guarded.ask(Method::GET, "/api/v1/ledger?by=token", admin, "").await.json();
    let line = &by_token["sums"][0];
    assert_eq!((&line["key"], &line["all"]["priced"]), (&json!(id), &json!(3)));
    assert_eq!(line["all"]["cost"][1]["currency"], "CNY", "each currency as it is: {line}");
    let call = row["call"].as_str().expect("a call");
    let by_call = guarded.ask(Method::GET, "/api/v1/ledger?by=call", admin, "").await.json();
    let lines = by_call["sums"].as_array().expect("sums");
    assert_eq!(lines.len(), 3);
    let own = lines.iter().find(|line| line["key"] == call).expect("the call");
    assert_eq!(own["all"]["cost"][0]["estimated_nano"], 3_600_000);
}

/// R34: what a provider says that it asks comes before any price, whole or streamed.
#[tokio::test(start_paused = true)]
async fn r34_a_reported_cost_beats_the_price_and_is_told_apart() {
    let prices = "[prices]\n\"chat/m\" = \"USD 2 in, 10 out\"\n";
    let script = "ok:Yes. | usage:1000/100 | cost:2100; ok:Yes. | usage:1000/100 | cost:40; \
                  ok:Yes. | usage:1000/100";
    let guarded = Guarded::with(EVERYWHERE, script, prices);
    let wish = json!({ "name": "b", "scope": "client", "budget_per_day": "USD 0.00215" });
    let (token, id) = guarded.make(&wish).await;
    let whole = hello("default");
    let mut streamed = whole.clone();
    streamed["stream"] = json!(true);
    let call = |body: Value| {
        let (guarded, token) = (&guarded, &token);
        async move { guarded.ask(Method::POST, CHAT, Some(token), &body.to_string()).await }
    };
    // The budget counts what was asked, not the 0.003 of the price.
    for body in [whole.clone(), streamed, whole.clone()] {
        assert_eq!(call(body).await.status, 200);
    }
    assert_eq!(call(whole).await.status, 429);
    let admin = Some(guarded.admin.as_str());
    let rows = guarded.ask(Method::GET, "/api/v1/ledger/attempts", admin, "").await.json();
    let rows: Vec<&Value> = rows["attempts"].as_array().expect("attempts").iter().collect();
    let costs: Vec<Value> = rows.iter().rev().map(|row| row["cost"].clone()).collect();
    let cost =
        |nano: u64, source: &str| json!({ "currency": "USD", "nano": nano, "source": source });
    assert_eq!(
        costs,
        [cost(2_100_000, "reported"), cost(40_000, "reported"), cost(3_000_000, "estimated")]
    );
    let sums = guarded.ask(Method::GET, "/api/v1/ledger?by=token", admin, "").await.json();
    let line = &sums["sums"][0];
    assert_eq!((&line["key"], &line["all"]["priced"]), (&json!(id), &json!(3)));
    let usd = json!({
        "currency": "USD", "reported_nano": 2_140_000, "estimated_nano": 3_000_000
    });
    assert_eq!(line["all"]["cost"], json!([usd]));
}

/// What a token has spent today and what the ledger has of it: tokens, and money by its currency.
async fn spent_and_kept(guarded: &Guarded, id: &str) -> [(u64, Vec<String>); 2] {
    let admin = Some(guarded.admin.as_str());
    let list = guarded.ask(Method::GET, "/api/v1/tokens", admin, "").await.json();
    let mine = list["tokens"].as_array().expect("tokens").iter().find(|it| it["id"] == id);
    let spent = &mine.expect("the token")["spent_today"];
    let money = spent["money"].as_array().expect("money").iter();
    let money = money.map(|some| some.as_str().expect("text").to_owned()).collect();
    let sums = guarded.ask(Method::GET, "/api/v1/ledger?by=token", admin, "").await.json();
    let line = sums["sums"].as_array().expect("sums").iter().find(|line| line["key"] == id);
    let all = &line.expect("its line")["all"];
    let count = |value: &Value| value.as_u64().expect("a number");
    let both = |sum: &Value| count(&sum["reported"]) + count(&sum["estimated"]);
    let cost = all["cost"].as_array().expect("cost").iter().map(|sum| {
        let nano = count(&sum["reported_nano"]) + count(&sum["estimated_nano"]);
        format!("{} {}", sum["currency"].as_str().expect("a code"), ekiden_config::amount(nano))
    });
    let kept = (both(&all["input"]) + both(&all["output"]), cost.collect());
    [(count(&spent["tokens"]), money), kept]
}

/// R34, G9: a report that cannot be takes nobody's budget, and budgets count what the ledger keeps.
#[tokio::test(start_paused = true)]
async fn r34_g09_budgets_and_the_ledger_count_the_same_whatever_is_reported() {
    let prices =
        "[prices]\n\"chat/m\" = \"USD 900 in, 900 out\"\n\"claude/c\" = \"CNY 900 in, 900 out\"\n";
    for (usage, tokens) in [
        // Four bytes are one token.
        ("no-usage", 0..100),
        ("usage:5000000000/99999999999999", 0..100),
        ("usage:18446744073709551615/18446744073709551615 | cost:18446744073709551615", 0..100),
        // As much as can be, at a price by which no call can cost as much.
        ("usage:100000000/100000000", 200_000_000..200_000_001),
    ] {
        for (path, model) in [(CHAT, "default"), (MESSAGES, "opus")] {
            for streamed in [true, false] {
                let guarded = Guarded::with(EVERYWHERE, &format!("ok:Yes. | {usage}"), prices);
                let (token, id) = guarded.make(&json!({ "name": "b", "scope": "client" })).await;
                let mut body = hello(model);
                body["stream"] = json!(streamed);
                let got = guarded.ask(Method::POST, path, Some(&token), &body.to_string()).await;
                assert_eq!(got.status, 200, "{got:?}");
                let [spent, kept] = spent_and_kept(&guarded, &id).await;
                assert_eq!(spent, kept, "{path} {usage} {streamed}");
                assert!(tokens.contains(&spent.0), "{path} {usage} {streamed}: {spent:?}");
            }
        }
    }
}

/// G9, R12: leaving early saves nothing of what was written by then.
#[tokio::test(start_paused = true)]
async fn g09_r12_what_was_written_for_a_client_that_left_is_spent() {
    let words = "word ".repeat(200);
    for (path, model) in [(CHAT, "default"), (MESSAGES, "opus")] {
        let script = format!("ok:{words} | silence:200");
        let guarded = Guarded::with(EVERYWHERE, &script, "");
        let wish = json!({ "name": "b", "scope": "client", "budget_per_day": "200 tokens" });
        let (token, id) = guarded.make(&wish).await;
        let mut body = hello(model);
        body["stream"] = json!(true);
        let bearer = format!("Bearer {token}");
        let headers = [("host", "192.0.2.7:8787"), ("authorization", bearer.as_str())];
        let asked = request(Method::POST, path, &headers, body.to_string());
        let mut answer = guarded.world.gateway.handle(asked).await.into_body();
        let mut raw = Vec::new();
        while raw.windows(4).filter(|some| some == b"word").count() < 200 {
            raw.extend_from_slice(&answer.piece().await.expect("a piece").expect("in order"));
        }
        drop(answer);
        guarded.world.gateway.core().tasks().idle().await;
        let [(spent, _), (kept, _)] = spent_and_kept(&guarded, &id).await;
        assert_eq!(spent, kept, "{path}");
        assert!((250..300).contains(&spent), "{path}: {spent}");
        let next = guarded.ask(Method::POST, path, Some(&token), &body.to_string()).await;
        assert_eq!(next.status, 429, "{next:?}");
    }
}

/// G9, R12: nothing was written yet, and what was asked is spent all the same.
#[tokio::test(start_paused = true)]
async fn g09_r12_of_a_client_that_left_before_a_word_the_input_is_spent_in_money_too() {
    let prices =
        "[prices]\n\"chat/m\" = \"USD 900 in, 1 out\"\n\"claude/c\" = \"USD 900 in, 1 out\"\n";
    for (path, model) in [(CHAT, "default"), (MESSAGES, "opus")] {
        for streamed in [true, false] {
            let guarded = Guarded::with(EVERYWHERE, "hang", prices);
            let wish = json!({ "name": "b", "scope": "client", "budget_per_day": "USD 0.0001" });
            let (token, id) = guarded.make(&wish).await;
            let mut body = hello(model);
            body["stream"] = json!(streamed);
            let body = body.to_string();
            let asked = guarded.ask(Method::POST, path, Some(&token), &body);
            let soon = std::time::Duration::from_secs(1);
            assert!(tokio::time::timeout(soon, asked).await.is_err(), "{path} {streamed}");
            guarded.world.gateway.core().tasks().idle().await;
            let [spent, kept] = spent_and_kept(&guarded, &id).await;
            assert_eq!(spent, kept, "{path} {streamed}");
            assert!(spent.0 > 0 && spent.1.len() == 1, "{path} {streamed}: {spent:?}");
            let next = guarded.ask(Method::POST, path, Some(&token), &body).await;
            assert_eq!(next.status, 429, "{next:?}");
        }
    }
}
