//! Letting go by hand (R19). It refuses to touch more than was named.

use std::sync::Arc;

use http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use ekiden_engine::{Place, Release, SessionId};

use crate::front::Front;
use crate::front::reply::json;

use super::Answered;
use super::forms::Form;
use super::refusal::{Named, Refusal};

/// What is to be let go: `session`; `session`, `queue` and `route`; `route`; or `all`.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Release")]
pub(in crate::front) struct Wish {
    /// A session's key, or its own name while one session alone bears it.
    session: Option<String>,
    /// A queue's id.
    queue: Option<String>,
    /// `provider/model`.
    route: Option<String>,
    /// Everything.
    #[serde(default)]
    all: bool,
}

/// What was let go, and for whom.
#[derive(Serialize, JsonSchema)]
pub(in crate::front) struct Released {
    /// `session`, `place`, `route` or `all`.
    released: &'static str,
    /// Whether other sessions feel it.
    for_everybody: bool,
}

/// A session that is over.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SessionEnded")]
pub(in crate::front) struct Ended {
    /// Its key.
    pub(super) ended: Arc<str>,
}

impl Front {
    pub(super) fn release(&self, wish: &Wish) -> Answered {
        let Wish { session, queue, route, all } = wish;
        let (release, released, for_everybody) =
            match (session.as_deref(), queue.as_deref(), route.as_deref(), all) {
                (None, None, None, true) => (Release::All, "all", true),
                (None, None, Some(route), false) => match self.known_route(route) {
                    true => (Release::Route(self.core.names().route(route)), "route", true),
                    false => return Err(Refusal::no_such(Named::Route, route)),
                },
                (Some(session), None, None, false) => {
                    (Release::Session(self.session_named(session)?), "session", false)
                }
                (Some(session), Some(queue), Some(route), false) => {
                    let session = self.session_named(session)?;
                    if !self.known_route(route) {
                        return Err(Refusal::no_such(Named::Route, route));
                    }
                    if !self.known_queue(queue) {
                        return Err(Refusal::no_such(Named::Queue, queue));
                    }
                    let names = self.core.names();
                    let (queue, route) = (names.queue(queue), names.route(route));
                    (Release::Place(Place { session, queue, route }), "place", false)
                }
                _ => return Err(Box::new(Refusal::Body { form: Form::Release, detail: None })),
            };
        self.core.release(release);
        Ok(json(StatusCode::OK, &Released { released, for_everybody }))
    }

    /// A name that is not configured must not become one by being asked for.
    fn known_route(&self, route: &str) -> bool {
        let plan = self.core.plan();
        let of_queues = plan.queues().iter().flat_map(|queue| &queue.candidates);
        let mut known = of_queues.map(|candidate| &*candidate.route);
        let provider = route.split_once('/').map(|(provider, _)| provider);
        known.any(|known| known == route)
            || provider.is_some_and(|provider| plan.config().provider(provider).is_some())
    }

    fn known_queue(&self, id: &str) -> bool {
        let direct = id.contains('/') && self.known_route(id);
        direct || self.core.plan().queue(id).is_some()
    }

    /// A session by its key, or by the name in it if only one session bears it; `background` is the
    /// shared bucket.
    pub(super) fn session_named(&self, name: &str) -> Result<SessionId, Box<Refusal>> {
        self.session_if_known(name)?.ok_or_else(|| Refusal::no_such(Named::Session, name))
    }

    /// The same; `None`: no session bears the name.
    pub(super) fn session_if_known(&self, name: &str) -> Result<Option<SessionId>, Box<Refusal>> {
        let names = self.core.names();
        if name.is_empty() || name == "background" {
            return Ok(Some(SessionId::BACKGROUND));
        }
        if let Some(id) = names.known_session(name) {
            return Ok(Some(id));
        }
        let bare = |key: &str| key.split_once('.').is_some_and(|(_, bare)| bare == name);
        let mut bearing = names.sessions().into_iter().filter(|(_, key)| bare(key));
        match (bearing.next(), bearing.next()) {
            (Some((id, _)), None) => Ok(Some(id)),
            (Some(_), Some(_)) => Err(Box::new(Refusal::AmbiguousSession)),
            (None, _) => Ok(None),
        }
    }
}
