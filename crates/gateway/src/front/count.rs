//! `POST /v1/messages/count_tokens`: asked many times at once, and never in anybody's way (R47).
//!
//! It refuses to fail, to take a seat and to blame: where the candidate cannot count in time, the
//! size is estimated, and nobody hears of it.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, Method, Response};
use serde::Deserialize;

use ekiden_dialect::splice::{Edits, ThinkingBlocks, splice};
use ekiden_dialect::{Dialect, request, write};
use ekiden_engine::SessionId;

use crate::body::Body;
use crate::front::client::Said;
use crate::front::reply::{Asker, response};
use crate::front::{Front, may_call};
use crate::plan::{CandidateRuntime, Plan, QueueRuntime};
use crate::tokens::Token;
use crate::upstream::Ask;

/// A client asks while a person waits; an estimate now is worth more than a count later.
const COUNT_WAIT: Duration = Duration::from_secs(3);

/// The answer is one number.
const ANSWER_MAX_BYTES: usize = 64 << 10;

#[derive(Deserialize)]
struct Count {
    input_tokens: u64,
}

impl Front {
    pub(super) async fn count_tokens<B>(
        &self,
        plan: &Arc<Plan>,
        token: Option<&Arc<Token>>,
        parts: Parts,
        body: B,
    ) -> Response<Body>
    where
        B: http_body::Body<Data = Bytes> + Send,
    {
        let dialect = Dialect::AnthropicMessages;
        let asker = Asker::of(dialect, &parts.headers);
        let config = plan.config();
        let (request, _held) = match self.read(dialect, config, &parts.headers, body).await {
            Ok(read) => read,
            Err(error) => return error.into_response(asker),
        };
        let facts = request.facts();
        let queue = match self.look_up(plan, asker, &facts.model).await {
            Ok(queue) => queue,
            Err(unknown) => return *unknown,
        };
        if let Err(refusal) = may_call(token, &queue.id, asker) {
            return *refusal;
        }
        let fields = &config.session_fields;
        let identity =
            self.sessions.identify(&Said::of(&parts.headers), &request, &queue.id, fields);
        let key = &identity.session.key;
        let session = self.core.names().known_session(key).unwrap_or(SessionId::BACKGROUND);
        let counted = match self.current(&queue, session) {
            Some(candidate) => {
                let asked = self.ask_count(candidate, session, &request, &parts.headers);
                tokio::time::timeout(COUNT_WAIT, asked).await.ok().flatten()
            }
            None => None,
        };
        response(write::count_tokens(counted.unwrap_or(facts.input_tokens)))
    }

    /// The candidate that runs for the session, else the first that is neither out nor cooling: if
    /// it speaks the dialect, its count is the true one.
    fn current<'q>(
        &self,
        queue: &'q QueueRuntime,
        session: SessionId,
    ) -> Option<&'q CandidateRuntime> {
        let dialect = Dialect::AnthropicMessages;
        let row = queue.engine(dialect);
        let (running, out) = self.core.look(|engine, now| {
            let status = engine.session(session);
            let quarantined = status.iter().flat_map(|status| &status.quarantined);
            let here = quarantined.filter(|(queue, _, _)| *queue == row.id);
            let mut out: Vec<_> = here.map(|(_, route, _)| *route).collect();
            let cooling = engine.routes(now).filter(|route| route.cooling_ms.is_some());
            out.extend(cooling.map(|route| route.route));
            (status.and_then(|status| status.running_now), out)
        });
        let able = |place: &usize| !out.contains(&row.candidates[*place].route);
        let place = row
            .candidates
            .iter()
            .position(|candidate| Some(candidate.route) == running)
            .filter(able)
            .or_else(|| (0..row.candidates.len()).find(able))?;
        queue.candidates.get(place).filter(|candidate| candidate.lack(dialect).is_none())
    }

    async fn ask_count(
        &self,
        candidate: &CandidateRuntime,
        session: SessionId,
        request: &request::Request,
        headers: &HeaderMap,
    ) -> Option<u64> {
        let provider = &candidate.provider;
        let own = self.core.issuers.own(session, &provider.settings.vendor);
        let is_own = |signature: &str| own.is_own(signature);
        let body = splice(
            request,
            &Edits {
                model: Some(&candidate.model),
                thinking_blocks: ThinkingBlocks::KeepIf(&is_own),
                system_turns_as_user: !provider.is_native(),
                ..Edits::default()
            },
        );
        let uri = provider.count_endpoint.clone()?;
        let headers = provider.headers.request(headers, "application/json");
        let ask = Ask { method: Method::POST, uri, headers, body };
        let answer = provider.lane.send(ask).answer().await.ok()?;
        if !answer.status.is_success() {
            return None;
        }
        let body = answer.body.whole(ANSWER_MAX_BYTES).await.ok()??;
        let count: Count = serde_json::from_slice(&body).ok()?;
        Some(count.input_tokens)
    }
}
