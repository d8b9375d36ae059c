//! Pause, resume and stop (P5). They refuse to touch what runs well: a pause ends the waits of policy
//! `persist` alone, and a stop one call.

use std::sync::Arc;

use http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use ekiden_engine::Whose;
use ekiden_store::Trouble;

use crate::front::Front;
use crate::front::reply::json;

use super::Answered;
use super::refusal::{NotKept, Refusal};

/// Whom it concerns.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Pause")]
pub(in crate::front) struct Wish {
    /// A session's key, or its own name while one session alone bears it; left out: everybody.
    session: Option<String>,
}

/// Whether calls persist from now on.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Paused")]
pub(in crate::front) struct Told {
    paused: bool,
    /// Whose; none: everybody's.
    session: Option<Arc<str>>,
}

/// A call that ends now.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "CallStopped")]
pub(in crate::front) struct Stopped {
    /// Its id.
    stopped: String,
}

/// What is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ask {
    Pause,
    Resume,
}

impl Front {
    pub(super) async fn pause(&self, ask: Ask, wish: Wish) -> Answered {
        let session = wish.session.map(|named| self.session_named(&named)).transpose()?;
        let whose = session.map_or(Whose::All, Whose::Session);
        match ask {
            Ask::Pause => self.core.pause(whose),
            Ask::Resume => self.core.resume(whose),
        }
        // Who is told that it is paused finds it paused after a restart, too.
        let store = Arc::clone(self.core.store());
        let kept = self.core.tasks().blocking(move || store.flush()).await;
        if let Err(trouble) = kept.unwrap_or(Err(Trouble::Ended)) {
            return Err(Box::new(Refusal::NotKept(NotKept::Beyond(trouble))));
        }
        let session = session.map(|session| self.core.names().session_name(session));
        Ok(json(StatusCode::OK, &Told { paused: ask == Ask::Pause, session }))
    }

    pub(super) fn stop_call(&self, call: String) -> Answered {
        if self.core.stop(&call) {
            return Ok(json(StatusCode::OK, &Stopped { stopped: call }));
        }
        Err(Refusal::no_open_call(&call))
    }
}
