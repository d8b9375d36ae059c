//! The models that clients can pick (R1).
//!
//! It refuses to ask upstream: the list is what is configured, so that it is there at once.

use std::collections::BTreeSet;
use std::sync::Arc;

use http::{HeaderMap, Response};

use ekiden_config::PICKER_PREFIX;
use ekiden_dialect::Dialect;
use ekiden_dialect::write::{self, ModelEntry};

use crate::body::Body;
use crate::front::denial::UnknownModel;
use crate::front::reply::{Asker, response};
use crate::front::route::guess;
use crate::plan::Plan;
use crate::tokens::Token;

/// One line of the list.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Line {
    id: String,
    name: String,
    window: Option<u64>,
    /// The queue that a call to it runs on, or the model itself.
    queue: String,
}

/// Queues first, in the user's order, so that the first model of the list is the first queue; then
/// the names under which Claude's picker shows them, the user's aliases, and single models.
fn lines(plan: &Plan, token: Option<&Arc<Token>>) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    let mut listed = BTreeSet::new();
    let mut add = |id: String, name: &str, window: Option<u32>, queue: &str| {
        if listed.insert(id.clone()) {
            let (name, queue) = (name.to_owned(), queue.to_owned());
            lines.push(Line { id, name, window: window.map(u64::from), queue });
        }
    };
    let config = plan.config();
    for queue in plan.queues() {
        add(queue.id.to_string(), &queue.name, queue.context_window, &queue.id);
    }
    for queue in plan.queues() {
        // The picker drops whatever does not say that it is Claude's.
        let id = queue.id.to_ascii_lowercase();
        if !id.contains("claude") && !id.contains("anthropic") {
            let id = format!("{PICKER_PREFIX}{}", queue.id);
            add(id, &queue.name, queue.context_window, &queue.id);
        }
    }
    for alias in config.aliases.iter().filter(|alias| !alias.pattern.contains(['*', '?'])) {
        if let Some(queue) = plan.queue(&alias.queue) {
            add(alias.pattern.clone(), &queue.name, queue.context_window, &queue.id);
        }
    }
    for queue in plan.queues() {
        // The rows are the same for every dialect, but for who is missing.
        let rows = &queue.engine(Dialect::OpenAiChat).candidates;
        for (candidate, row) in queue.candidates.iter().zip(rows) {
            add(candidate.route.to_string(), &candidate.route, row.window, &candidate.route);
        }
    }
    for provider in &config.providers {
        for model in &provider.models {
            let route = format!("{}/{model}", provider.id);
            add(route.clone(), &route, None, &route);
        }
    }
    // What a token may not call, its client should not offer.
    lines.retain(|line| token.is_none_or(|token| token.may_call(&line.queue)));
    lines
}

fn entry(line: &Line, created_s: u64) -> ModelEntry<'_> {
    ModelEntry { id: &line.id, name: &line.name, created_s, window: line.window }
}

/// `GET /v1/models`. `created_s` is when the gateway started, in Unix seconds.
pub(crate) fn list(plan: &Plan, token: Option<&Arc<Token>>, created_s: u64) -> Response<Body> {
    let lines = lines(plan, token);
    let entries: Vec<_> = lines.iter().map(|line| entry(line, created_s)).collect();
    response(write::model_list(&entries))
}

/// `GET /v1/models/{id}`. A name that only a pattern covers is a model too.
pub(crate) fn one(
    plan: &Plan,
    deleted: &BTreeSet<String>,
    token: Option<&Arc<Token>>,
    id: &str,
    created_s: u64,
    headers: &HeaderMap,
) -> Response<Body> {
    use ekiden_config::Lookup;
    let config = plan.config();
    let lines = lines(plan, token);
    if let Some(line) = lines.iter().find(|line| line.id == id) {
        return response(write::model(&entry(line, created_s)));
    }
    let (name, window) = match config.lookup(id, deleted) {
        Lookup::Queue { queue, .. } if token.is_none_or(|token| token.may_call(&queue.id)) => {
            let window = plan.queue(&queue.id).and_then(|queue| queue.context_window);
            (queue.name.as_str(), window)
        }
        Lookup::Direct { .. } if token.is_none_or(|token| token.may_call(id)) => (id, None),
        Lookup::Queue { .. } | Lookup::Direct { .. } => {
            return unknown(Asker::of(guess("", headers), headers), id, &[]);
        }
        Lookup::Unknown { nearest } => {
            return unknown(Asker::of(guess("", headers), headers), id, &nearest);
        }
    };
    response(write::model(&ModelEntry { id, name, created_s, window: window.map(u64::from) }))
}

/// 404 with the nearest names.
pub(crate) fn unknown(asker: Asker, asked: &str, nearest: &[String]) -> Response<Body> {
    let asked: String = asked.chars().filter(|c| !c.is_control()).take(120).collect();
    let message = UnknownModel { asked: &asked, nearest }.say(asker.language);
    response(write::unknown_model(asker.dialect, &message))
}

#[cfg(test)]
mod tests {
    use ekiden_config::{Config, FixedEnv};

    use super::*;

    fn plan() -> Arc<Plan> {
        let text = r#"
            [providers.a]
            base_url = "http://127.0.0.1:9/v1"
            dialect = "openai-chat"
            models = ["m1", "m3"]
            [queues.default]
            name = "默认模板"
            candidates = ["a/m1", { route = "a/m2", context_window = 1000 }]
            [queues.claude-work]
            candidates = ["a/m2"]
            [aliases]
            "fast" = "default"
            "gpt-*" = "default"
        "#;
        let config = Config::parse(text, "config.toml", &FixedEnv::default()).expect("good").config;
        crate::Core::new(config, crate::CoreOptions::default()).plan()
    }

    async fn json(response: Response<Body>) -> serde_json::Value {
        let body = response.into_body().collect().await.expect("whole");
        serde_json::from_slice(&body).expect("JSON")
    }

    #[tokio::test]
    async fn r01_each_queue_stands_once_under_its_id_with_its_name() {
        let list = json(list(&plan(), None, 7)).await;
        let ids: Vec<_> = list["data"]
            .as_array()
            .expect("data")
            .iter()
            .map(|model| model["id"].as_str().expect("id"))
            .collect();
        let want =
            ["default", "claude-work", "claude-queue-default", "fast", "a/m1", "a/m2", "a/m3"];
        assert_eq!(ids, want);
        assert_eq!(list["data"][0]["display_name"], "默认模板");
        assert_eq!(list["data"][0]["created"], 7);
        assert_eq!(list["data"][0]["context_length"], 1000);
        assert_eq!(list["first_id"], "default");
        assert_eq!(list["object"], "list");
        assert_eq!(list["has_more"], false);
    }

    #[tokio::test]
    async fn r01_a_model_is_found_by_every_name_that_a_call_could_use() {
        let (plan, headers) = (plan(), HeaderMap::new());
        let deleted = BTreeSet::from(["old".to_owned()]);
        for id in ["default", "claude-queue-default", "gpt-5", "old", "a/anything"] {
            let model = json(one(&plan, &deleted, None, id, 7, &headers)).await;
            assert_eq!((&model["id"], &model["type"]), (&id.into(), &"model".into()), "{model}");
        }
        let gone = one(&plan, &deleted, None, "defualt", 7, &headers);
        assert_eq!(gone.status(), 404);
        assert!(json(gone).await["error"]["message"].as_str().expect("text").contains("`default`"));
    }
}
