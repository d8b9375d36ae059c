//! Tokens by API (G9).
//!
//! It refuses to show a token twice.

use std::sync::Arc;

use http::StatusCode;
use schemars::JsonSchema;
use secrecy::ExposeSecret;
use serde::{Deserialize, Serialize};

use crate::front::Front;
use crate::front::guard::beyond_loopback;
use crate::front::reply::json;
use crate::tokens::{LastToken, NewToken, Scope, Token, TokensError};

use super::Answered;
use super::refusal::{Named, NotKept, Refusal, Unfit};

/// All tokens, oldest first.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Tokens")]
pub(in crate::front) struct List {
    tokens: Vec<TokenShown>,
    /// Whether the gateway is reached from other machines, so that a token is asked for.
    required: bool,
}

/// A token without itself.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Token")]
pub(in crate::front) struct TokenShown {
    /// Its public name.
    id: String,
    name: String,
    scope: Scope,
    /// The only queues that it may call; empty: everything.
    queues: Vec<String>,
    /// How many of its calls may be open at once; none: no limit of its own.
    calls_max: Option<u32>,
    open_calls: u64,
    /// What it may spend a day: `USD 5`, `2000000 tokens`; none: as much as it likes.
    budget_per_day: Option<String>,
    spent_today: SpentShown,
    made_ms: u64,
}

/// What a token has spent today.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Spent")]
struct SpentShown {
    /// Input and output tokens, reported and estimated.
    tokens: u64,
    /// Money in each currency that was paid in: `USD 1.25`.
    money: Vec<String>,
}

/// What a new token shall be.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "NewToken")]
pub(in crate::front) struct Wish {
    /// For people.
    #[schemars(length(min = 1, max = 100))]
    name: String,
    scope: Scope,
    /// The ids of the only queues that it may call; empty or left out: everything.
    #[serde(default)]
    #[schemars(length(max = 100))]
    queues: Vec<String>,
    /// How many of its calls may be open at once.
    #[schemars(range(min = 1, max = 1_000_000))]
    calls_max: Option<u32>,
    /// What it may spend a day: `USD 5`, `CNY 20`, `2000000 tokens`. What has no price, or is paid in
    /// another currency, counts in tokens alone.
    #[schemars(regex(pattern = "^((USD|CNY) [0-9]{1,9}(\\.[0-9]{1,9})?|[0-9]{1,12} tokens)$"))]
    budget_per_day: Option<String>,
}

/// A token, shown this once.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TokenMade")]
pub(in crate::front) struct Made {
    /// The token itself.
    token: String,
    made: TokenShown,
}

/// A token that holds no more.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TokenRevoked")]
pub(in crate::front) struct Revoked {
    /// Its id.
    revoked: String,
}

impl Front {
    pub(super) fn token_list(&self) -> List {
        List {
            tokens: self.core.tokens.list().iter().map(|token| self.token_shown(token)).collect(),
            required: beyond_loopback(self.listen),
        }
    }

    pub(super) async fn make_token(&self, wish: Wish) -> Answered {
        let Wish { name, scope, queues, calls_max, budget_per_day } = wish;
        let fits =
            calls_max.is_none_or(|most| (1..=1_000_000).contains(&most)) && queues.len() <= 100;
        if !fits {
            return Err(Box::new(Refusal::Unfit(Unfit::TokenBounds)));
        }
        if let Some(unknown) = queues.iter().find(|id| self.core.plan().queue(id).is_none()) {
            return Err(Refusal::no_such(Named::Queue, unknown));
        }
        let Ok(budget_per_day) = budget_per_day.map(|text| text.parse()).transpose() else {
            return Err(Box::new(Refusal::Unfit(Unfit::Budget)));
        };
        let wish = NewToken { name, scope, queues, calls_max, budget_per_day };
        let (core, made_ms) = (Arc::clone(&self.core), self.core.clock().now().wall_ms);
        let made = self.core.tasks().blocking(move || core.tokens.make(wish, made_ms)).await;
        let (token, text) =
            made.map_err(|_| Refusal::NotKept(NotKept::Stopping))?.map_err(Refusal::Tokens)?;
        let token_text = text.expose_secret().to_owned();
        let made = Made { token: token_text, made: self.token_shown(&token) };
        Ok(json(StatusCode::CREATED, &made))
    }

    fn token_shown(&self, token: &Token) -> TokenShown {
        let NewToken { name, scope, queues, calls_max, budget_per_day } = token.made_as.clone();
        let spent = self.core.spending.of(&token.id);
        TokenShown {
            id: token.id.clone(),
            name,
            scope,
            queues,
            calls_max,
            open_calls: token.open_calls(),
            budget_per_day: budget_per_day.map(|budget| budget.to_string()),
            spent_today: SpentShown { tokens: spent.tokens, money: spent.money() },
            made_ms: token.made_ms,
        }
    }

    pub(super) async fn revoke_token(&self, id: String) -> Answered {
        let last = if beyond_loopback(self.listen) { LastToken::Stays } else { LastToken::MayGo };
        let (core, asked) = (Arc::clone(&self.core), id.clone());
        let revoked = self.core.tasks().blocking(move || core.tokens.revoke(&asked, last)).await;
        match revoked.map_err(|_| Refusal::NotKept(NotKept::Stopping))? {
            Ok(()) => Ok(json(StatusCode::OK, &Revoked { revoked: id })),
            Err(TokensError::Unknown) => Err(Refusal::no_such(Named::Token, &id)),
            Err(error) => Err(Box::new(Refusal::Tokens(error))),
        }
    }
}
