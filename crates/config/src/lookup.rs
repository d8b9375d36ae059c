//! What a model name means (R1). Asks nobody: neither upstream nor the store.

use std::collections::BTreeSet;

use crate::candidates::split_route;
use crate::settings::{Config, Provider, Queue, UnknownModel};

/// Before a queue's id it makes a name that clients accept which list only Claude's models.
pub const PICKER_PREFIX: &str = "claude-queue-";

/// What a model name means.
#[derive(Clone, Debug)]
pub enum Lookup<'a> {
    /// A queue.
    Queue {
        /// Which.
        queue: &'a Queue,
        /// By what.
        via: Via,
    },
    /// A model of one provider, outside any queue.
    Direct {
        /// The provider.
        provider: &'a Provider,
        /// The model as the provider calls it.
        model: &'a str,
    },
    /// Nothing: 404 in the asker's dialect.
    Unknown {
        /// Up to three names that may have been meant, the nearest first.
        nearest: Vec<String>,
    },
}

/// How a queue was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Via {
    /// Its id.
    Id,
    /// An alias.
    Alias,
    /// The id of a queue that was deleted; the journal says so.
    Deleted,
    /// Nothing: `unknown_model = "first"`.
    First,
}

impl Config {
    /// Looks a model name up: queue id, alias, `provider/model`, an id in `deleted` (R1).
    #[must_use]
    pub fn lookup<'a>(&'a self, name: &'a str, deleted: &BTreeSet<String>) -> Lookup<'a> {
        let name = name.trim();
        if let Some(queue) = self.queue(name) {
            return Lookup::Queue { queue, via: Via::Id };
        }
        if let Some(queue) = self.by_alias(name) {
            return Lookup::Queue { queue, via: Via::Alias };
        }
        if let Some((provider, model)) = name.split_once('/').filter(|(_, model)| !model.is_empty())
            && let Some(provider) = self.provider(provider)
        {
            return Lookup::Direct { provider, model };
        }
        let first = self.queues.first();
        if let Some(queue) = first.filter(|_| deleted.contains(name)) {
            return Lookup::Queue { queue, via: Via::Deleted };
        }
        match (self.unknown_model, first) {
            (UnknownModel::First, Some(queue)) => Lookup::Queue { queue, via: Via::First },
            (UnknownModel::First | UnknownModel::Error, _) => {
                Lookup::Unknown { nearest: self.nearest_models(name) }
            }
        }
    }

    fn by_alias(&self, name: &str) -> Option<&Queue> {
        let exact = self.aliases.iter().find(|alias| alias.pattern == name);
        let by_pattern = || {
            self.aliases
                .iter()
                .filter(|alias| matches(&alias.pattern, name))
                .min_by_key(|alias| (std::cmp::Reverse(literals(&alias.pattern)), &alias.pattern))
        };
        let picked = || name.strip_prefix(PICKER_PREFIX).and_then(|id| self.queue(id));
        match exact {
            Some(alias) => self.queue(&alias.queue),
            // What the model list itself offers is as good as a name.
            None => picked().or_else(|| by_pattern().and_then(|alias| self.queue(&alias.queue))),
        }
    }

    fn nearest_models(&self, name: &str) -> Vec<String> {
        let written = name.to_lowercase();
        let queues = self.queues.iter().map(|queue| queue.id.clone());
        let aliases = self.aliases.iter().map(|alias| alias.pattern.clone());
        let aliases = aliases.filter(|pattern| !pattern.contains(['*', '?']));
        let routes = self.queues.iter().flat_map(|queue| &queue.candidates);
        let routes = routes.map(crate::settings::Candidate::route);
        let listed = self.providers.iter().flat_map(|provider| {
            provider.models.iter().map(|model| format!("{}/{model}", provider.id))
        });
        let names: BTreeSet<String> = queues.chain(aliases).chain(routes).chain(listed).collect();
        let mut scored: Vec<(f64, String)> = names
            .into_iter()
            .map(|name| {
                let model = split_route(&name).map_or("", |(_, model)| model).to_lowercase();
                let whole = strsim::jaro_winkler(&written, &name.to_lowercase());
                (whole.max(strsim::jaro_winkler(&written, &model)), name)
            })
            .filter(|(score, _)| *score >= 0.7)
            .collect();
        scored.sort_by(|a, b| b.0.total_cmp(&a.0));
        scored.truncate(3);
        scored.into_iter().map(|(_, name)| name).collect()
    }
}

/// Whether a pattern with `*` (any text) and `?` (one character) covers a whole name. Linear in
/// the product of both lengths at worst.
#[must_use]
pub fn matches(pattern: &str, name: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let name: Vec<char> = name.chars().collect();
    let (mut p, mut n) = (0, 0);
    // The last star and where its text ends so far: the one place to go back to.
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        if p < pattern.len() && pattern[p] == '*' {
            star = Some((p, n));
            p += 1;
        } else if p < pattern.len() && (pattern[p] == '?' || pattern[p] == name[n]) {
            p += 1;
            n += 1;
        } else if let Some((at, end)) = star {
            star = Some((at, end + 1));
            p = at + 1;
            n = end + 1;
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

fn literals(pattern: &str) -> usize {
    pattern.chars().filter(|c| !matches!(c, '*' | '?')).count()
}
