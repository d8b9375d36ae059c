//! Keep-alives, and what an exhausted or broken call tells (G2, R5, R15, R45).

use std::time::Duration;

use ekiden_engine::Class;
use ekiden_store::{Told, What};

use super::stage::{Dialect, Setting, Stage, Way};

fn with(queue: &'static str) -> Setting {
    Setting { queue, ..Setting::default() }
}

#[tokio::test(start_paused = true)]
async fn g02_k4_a_waiting_stream_hears_keep_alives_and_failover_stays_open() {
    for way in Way::STREAMS {
        let top = "keepalive_after = \"45s\"\nkeepalive_every = \"12s\"";
        let stage = Stage::set(way, "hang", "ok:second", &Setting { top, ..Setting::default() });
        let got = stage.ask().await;
        got.is_whole("second");
        // From 45 s on each 12 s until the 90th: 45, 57, 69, 81.
        let heard = match way.dialect {
            Dialect::Chat => got.raw.matches(": keep-alive\n\n").count(),
            Dialect::Anthropic => {
                let (before, _) = got.raw.split_once("message_start").unwrap();
                before.matches("event: ping").count()
            }
        };
        assert_eq!(heard, 4, "{}", got.raw);
        assert_eq!(got.header("content-type"), "text/event-stream; charset=utf-8");
        assert_eq!(stage.hits(), (1, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn g02_before_keep_alives_a_final_failure_is_a_real_status_and_after_them_an_event() {
    for way in Way::STREAMS {
        let stage = Stage::set(way, "503", "503", &with("parole_after = \"0\""));
        let got = stage.ask().await;
        assert!(got.status >= 400, "{got:?}");
        let stage = Stage::set(way, "hang", "hang", &with("parole_after = \"0\""));
        let got = stage.ask().await;
        assert_eq!(got.status, 200);
        assert!(!got.ended_well() && !got.cut, "{got:?}");
        assert!(got.error()["message"].is_string(), "{}", got.raw);
    }
}

#[tokio::test(start_paused = true)]
async fn r10_known_agents_are_cut_off_and_libraries_get_an_error_event() {
    for way in Way::STREAMS {
        for (agent, cut) in [("opencode/1.18.33", true), ("OpenAI/Python 3.57.0", false)] {
            let stage = Stage::of(way, "cut:4", "ok:never");
            let got = stage.ask_as("s", &stage.body(), &[("user-agent", agent)]).await;
            assert_eq!(got.cut, cut, "{agent} {got:?}");
            assert_eq!(got.error().is_object(), !cut, "{agent} {}", got.raw);
            assert!(!got.ended_well());
            if !cut {
                // pi shows its library's name, reads the text, and asks again for these words.
                let message = got.error()["message"].as_str().unwrap().to_owned();
                assert!(message.contains("ended without"), "{message}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn r05_r45_when_something_comes_back_the_answer_is_429_with_the_soonest_moment() {
    for way in Way::ALL {
        let setting = with("wait_max = \"0\"\nretry_when_all_quarantined = false");
        let stage = Stage::set(way, "429:40", "429:50", &setting);
        let got = stage.ask().await;
        assert_eq!(got.status, 429, "{got:?}");
        let seconds: u64 = got.header("retry-after").parse().unwrap();
        assert!((39..=40).contains(&seconds), "{seconds}");
        let error = got.error();
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("a/m1") && message.contains("b/m2"), "{message}");
        assert!(message.contains("rate_limited"), "{message}");
    }
}

#[tokio::test(start_paused = true)]
async fn r45_when_nothing_comes_back_clients_are_told_not_to_retry() {
    for way in Way::ALL {
        let setting = with("parole_after = \"0\"\nretry_when_all_quarantined = false");
        let stage = Stage::set(way, "401", "403", &setting);
        let got = stage.ask().await;
        assert_eq!(got.header("x-should-retry"), "false", "{got:?}");
        assert_eq!(got.header("retry-after"), "");
        match way.dialect {
            Dialect::Chat => {
                assert_eq!((got.status, &got.error()["code"]), (429, &"insufficient_quota".into()));
            }
            Dialect::Anthropic => assert_eq!(got.status, 529),
        }
        let message = got.error()["message"].as_str().unwrap().to_owned();
        assert!(message.contains("a/m1: auth") && message.contains("b/m2: auth"), "{message}");
    }
}

#[tokio::test(start_paused = true)]
async fn r45_a_candidates_own_401_402_403_404_never_reaches_the_client() {
    for way in Way::ALL {
        for code in ["401", "402", "403", "404"] {
            let stage = Stage::of(way, code, code);
            let got = stage.ask().await;
            assert!(!(401..=404).contains(&got.status), "{code} {got:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn r45_what_every_candidate_refuses_goes_out_as_the_first_one_said_it() {
    for way in Way::ALL {
        let body = r#"{"error":{"message":"field x is odd","type":"invalid_request_error","param":null,"code":null}}"#;
        let first = format!("400 | body:{body}");
        let stage = Stage::of(way, &first, "400");
        let got = stage.ask().await;
        assert_eq!((got.status, got.raw.as_str()), (400, body));
        assert_eq!(stage.hits(), (1, 1));
        let judged =
            stage.journal().into_iter().any(|e| matches!(e.what, What::Quarantined { .. }));
        assert!(!judged);
    }
}

#[tokio::test(start_paused = true)]
async fn r15_an_overflow_in_a_stream_that_has_begun_is_the_canonical_event() {
    for way in Way::STREAMS {
        let stage = Stage::of(way, "head:60s | error:overflow", "ok:never");
        let got = stage.ask().await;
        assert_eq!(got.status, 200);
        let message = got.error()["message"].as_str().unwrap_or_default().to_owned();
        let wanted = match way.dialect {
            Dialect::Chat => "maximum context length",
            Dialect::Anthropic => "prompt is too long",
        };
        assert!(message.contains(wanted), "{}", got.raw);
        assert_eq!(stage.hits(), (1, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn r01_an_empty_queue_says_where_to_add_candidates() {
    for way in Way::ALL {
        let setting = Setting { candidates: "", ..Setting::default() };
        let stage = Stage::set(way, "ok", "ok", &setting);
        let got = stage.ask().await;
        assert!(got.status >= 400);
        let message = got.error()["message"].as_str().unwrap().to_owned();
        assert!(message.contains("queues.default"), "{message}");
    }
}

#[tokio::test(start_paused = true)]
async fn r08_a_deadline_blames_nobody_and_is_504() {
    for way in Way::ALL {
        let setting = with("deadline = \"20s\"");
        let stage = Stage::set(way, "hang", "hang", &setting);
        let got = stage.ask().await;
        assert_eq!(got.status, 504, "{got:?}");
        assert!(got.took <= Duration::from_secs(21), "{:?}", got.took);
        let message = got.error()["message"].as_str().unwrap().to_owned();
        assert_eq!(message.trim_end(), message, "nothing is left open at its end");
        let journal = stage.journal();
        let what = |wanted: fn(&What) -> bool| journal.iter().any(|entry| wanted(&entry.what));
        assert!(what(|it| matches!(it, What::Refused { told: Told::Deadline, .. })));
        assert!(!what(|it| matches!(it, What::Stalled { .. })), "the candidate had time left");
    }
}

#[tokio::test(start_paused = true)]
async fn r17_a_quarantine_keeps_the_masked_error_and_of_refused_prompts_nothing() {
    for way in Way::ALL {
        let script = "401 | body:{\"error\":{\"message\":\"bad key key-of-a-000000 of client-key-123456\",\"type\":\"authentication_error\"}}";
        let stage = Stage::of(way, script, "ok:second");
        stage.ask().await.is_whole("second");
        let kept = stage.journal().into_iter().find_map(|entry| match entry.what {
            What::Quarantined { class: Class::Auth, evidence, .. } => Some(evidence),
            _ => None,
        });
        let kept = kept.expect("quarantined");
        let message = kept.message.expect("kept");
        assert!(message.starts_with("bad key"), "{message}");
        assert!(!message.contains("key-of-a") && !message.contains("client-key"), "{message}");
        assert_eq!(kept.status, Some(401));
    }
}

#[tokio::test(start_paused = true)]
async fn r33_a_past_call_keeps_a_trace_that_replays() {
    for way in Way::ALL {
        let stage = Stage::of(way, "503", "ok:second");
        let got = stage.ask().await;
        let id = got.header("x-ekiden-call").to_owned();
        stage.gateway.core().tasks().idle().await;
        let past = stage.gateway.core().calls().find(&id).expect("kept");
        assert_eq!(past.route.as_deref(), Some("b/m2"));
        past.trace.replay().expect("the same decisions");
        let text = past.trace.to_text();
        let again = ekiden_engine::Trace::from_text(&text).expect("read back");
        assert_eq!(again, past.trace);
    }
}

#[tokio::test(start_paused = true)]
async fn r33_a_past_call_explains_itself_in_order() {
    use ekiden_gateway::explain::{What as Step, explain};
    for way in Way::ALL {
        let stage = Stage::of(way, "503", "ok:second");
        stage.ask().await.is_whole("second");
        let got = stage.ask().await;
        stage.gateway.core().tasks().idle().await;
        let calls = stage.gateway.core().calls();
        let second = calls.find(got.header("x-ekiden-call")).expect("kept");
        let first = calls.past(2).pop().expect("kept");
        let told: Vec<String> = explain(&first)
            .into_iter()
            .map(|step| match step.what {
                Step::Began { route, attempt, .. } => format!("{attempt} {route}"),
                Step::Failed { class, .. } => class.to_owned(),
                Step::Paused { why, .. } => why.to_owned(),
                Step::PassedOver { route, reason, .. } => format!("{route} {reason}"),
                Step::Ended { finish, .. } => finish.unwrap_or("?").to_owned(),
                other => format!("{other:?}"),
            })
            .collect();
        let pause = ["overloaded", "retry_pause"];
        let wanted = ["1 a/m1", pause[0], pause[1], "2 a/m1", pause[0], pause[1], "3 a/m1"];
        assert_eq!(told[..7], wanted, "{told:?}");
        assert_eq!(told[7..], ["overloaded", "a/m1 tried", "4 b/m2", "stop"], "{told:?}");
        let steps = explain(&second);
        assert!(
            matches!(
                &steps[0].what,
                Step::PassedOver { reason: "quarantined", class: Some("overloaded"), .. }
            ),
            "{steps:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn r45_a_refusal_that_no_model_could_lift_is_told_at_once_and_unchanged() {
    for way in Way::ALL {
        let body = r#"{"error":{"message":"We could not parse the JSON body of your request.","type":"invalid_request_error","param":null,"code":null}}"#;
        let stage = Stage::of(way, &format!("400 | body:{body}"), "ok:never");
        let got = stage.ask().await;
        assert_eq!((got.status, got.raw.as_str()), (400, body));
        assert_eq!(stage.hits(), (1, 0));
    }
}
