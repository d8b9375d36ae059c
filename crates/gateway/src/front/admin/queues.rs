//! Queues by API: made, renamed, ordered, deleted, exported, imported (R1, R40, R41).
//!
//! It refuses to change a queue that it was not asked for.

use std::collections::{BTreeMap, BTreeSet};

use http::{HeaderMap, StatusCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use ekiden_config::edit::{Change, key_at};
use ekiden_config::{Config, NAME_MAX_CHARS, Origin, Queue, Value};

use crate::front::Front;
use crate::front::reply::json as answer;

use super::Answered;
use super::query::Query;
use super::refusal::{Named, Refusal, Unfit};
use super::settings::{ChangedTo, given, seen, shown, tagged};

/// What an export says of itself.
const FORMAT: &str = "ekiden-queues";
const VERSION: u32 = 1;

/// A queue's id at most, where it is made from a name.
const ID_CHARS_MAX: usize = 60;

/// A new queue.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::front) struct NewQueue {
    /// What people see.
    name: String,
    /// What clients ask for; made from the name if left out.
    id: Option<String>,
    /// `provider/model`, in order; may be empty.
    #[serde(default)]
    routes: Vec<String>,
}

/// A queue that was made.
#[derive(Serialize, JsonSchema)]
pub(in crate::front) struct QueueMade {
    id: String,
    name: String,
    /// How many it has.
    candidates: usize,
    /// The hash of the file's text.
    hash: String,
}

/// What of a queue changes.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::front) struct QueueChange {
    /// A new name; the id stays.
    name: Option<String>,
    /// All of its routes, in their new order.
    order: Option<Vec<String>>,
}

/// The order of the queues.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::front) struct QueueOrder {
    /// All ids; the first is the first queue.
    order: Vec<String>,
}

/// A queue that is gone.
#[derive(Serialize, JsonSchema)]
pub(in crate::front) struct QueueDeleted {
    deleted: String,
    /// How many candidates went with it.
    candidates: usize,
    /// The hash of the file's text.
    hash: String,
}

/// Queues to carry elsewhere: no ids, no other settings, no secrets.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::front) struct QueueFile {
    /// What this is.
    #[schemars(extend("const" = FORMAT))]
    format: String,
    /// Of this form.
    #[schemars(extend("const" = VERSION))]
    version: u32,
    #[schemars(length(max = 1_000))]
    queues: Vec<QueueCarried>,
}

/// A queue with all that it is.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct QueueCarried {
    name: String,
    /// Keys of its policy and its clocks, as settings have them.
    #[serde(default)]
    settings: BTreeMap<String, Json>,
    #[serde(default)]
    candidates: Vec<CandidateCarried>,
}

/// A candidate with its options.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CandidateCarried {
    /// `provider/model`.
    route: String,
    /// As settings have them.
    #[serde(default)]
    options: BTreeMap<String, Json>,
}

/// What was imported.
#[derive(Serialize, JsonSchema)]
pub(in crate::front) struct QueuesImported {
    imported: Vec<QueueImported>,
    /// The hash of the file's text.
    hash: String,
}

/// One of them, under the names that it got here.
#[derive(Serialize, JsonSchema)]
struct QueueImported {
    id: String,
    name: String,
    candidates: usize,
    /// Routes whose provider is not configured here: they are kept, shown as missing and passed over.
    missing: Vec<String>,
}

impl Front {
    pub(super) async fn create_queue(&self, headers: &HeaderMap, wish: NewQueue) -> Answered {
        let NewQueue { name, id, routes } = wish;
        let id = match id {
            Some(id) => id,
            None => unused(&name, &self.taken_ids().await),
        };
        let candidates = routes.len();
        let add = Change::AddQueue { id: id.clone(), name: Some(name.clone()), routes };
        let hash = self.edit(seen(headers), vec![add]).await?;
        let made = QueueMade { id, name, candidates, hash: hash.to_string() };
        Ok(tagged(answer(StatusCode::CREATED, &made), &hash))
    }

    pub(super) async fn change_queue(
        &self,
        headers: &HeaderMap,
        id: String,
        wish: QueueChange,
    ) -> Answered {
        self.queue_there(&id)?;
        let mut changes = Vec::new();
        if let Some(name) = wish.name {
            changes
                .push(Change::Set { path: format!("queues.{id}.name"), value: Value::Text(name) });
        }
        if let Some(routes) = wish.order {
            changes.push(Change::OrderCandidates { queue: id, routes });
        }
        self.made(headers, changes).await
    }

    pub(super) async fn order_queues(&self, headers: &HeaderMap, wish: QueueOrder) -> Answered {
        self.made(headers, vec![Change::OrderQueues { ids: wish.order }]).await
    }

    /// R41: who deletes says how many candidates go with it.
    pub(super) async fn delete_queue(
        &self,
        headers: &HeaderMap,
        id: String,
        query: &Query,
    ) -> Answered {
        let candidates = self.queue_there(&id)?;
        if query.number("candidates") != Some(candidates as u64) {
            return Err(Box::new(Refusal::NotConfirmed(candidates)));
        }
        let hash = self.edit(seen(headers), vec![Change::DeleteQueue { id: id.clone() }]).await?;
        let gone = QueueDeleted { deleted: id, candidates, hash: hash.to_string() };
        Ok(tagged(answer(StatusCode::OK, &gone), &hash))
    }

    pub(super) fn export_queues(&self) -> QueueFile {
        let plan = self.core.plan();
        let config = plan.config();
        let queues = config.queues.iter().map(|queue| carried(config, queue)).collect();
        QueueFile { format: FORMAT.to_owned(), version: VERSION, queues }
    }

    pub(super) async fn import_queues(&self, headers: &HeaderMap, file: QueueFile) -> Answered {
        if file.format != FORMAT || file.version != VERSION {
            return Err(Box::new(Refusal::Unfit(Unfit::ImportFormat {
                format: FORMAT,
                version: VERSION,
            })));
        }
        let plan = self.core.plan();
        let mut ids = self.taken_ids().await;
        let mut names: BTreeSet<String> =
            plan.config().queues.iter().map(|queue| queue.name.clone()).collect();
        let (mut changes, mut imported) = (Vec::new(), Vec::new());
        for (at, queue) in file.queues.into_iter().enumerate() {
            let place = format!("queues[{at}]");
            named_well(&queue, &place)?;
            let missing = missing(plan.config(), &queue, &place)?;
            let name = numbered(&queue.name, &names);
            let id = unused(&name, &ids);
            names.insert(name.clone());
            ids.insert(id.clone());
            let candidates = queue.candidates.len();
            changes.extend(taken_over(&id, &name, queue, &place)?);
            imported.push(QueueImported { id, name, candidates, missing });
        }
        let hash = self.edit(seen(headers), changes).await?;
        let told = QueuesImported { imported, hash: hash.to_string() };
        Ok(tagged(answer(StatusCode::CREATED, &told), &hash))
    }

    async fn made(&self, headers: &HeaderMap, changes: Vec<Change>) -> Answered {
        let hash = self.edit(seen(headers), changes).await?;
        let told = ChangedTo { hash: hash.to_string() };
        Ok(tagged(answer(StatusCode::OK, &told), &hash))
    }

    /// How many candidates the queue has.
    fn queue_there(&self, id: &str) -> Result<usize, Box<Refusal>> {
        let plan = self.core.plan();
        let queue = plan.config().queue(id).ok_or_else(|| Refusal::no_such(Named::Queue, id))?;
        Ok(queue.candidates.len())
    }

    /// Ids that a new queue must not get: clients may still ask for a deleted one.
    async fn taken_ids(&self) -> BTreeSet<String> {
        let mut ids = self.stored(|store| store.deleted_queues()).await;
        ids.extend(self.core.plan().config().queues.iter().map(|queue| queue.id.clone()));
        ids
    }
}

fn carried(config: &Config, queue: &Queue) -> QueueCarried {
    let prefix = format!("queues.{}.", queue.id);
    let all = config.settings();
    let of_queue = all.iter().filter_map(|setting| {
        let key = setting.path.strip_prefix(&prefix)?;
        let own = key != "name" && !key.starts_with("candidates.");
        // What `[defaults]` gives is no setting of this queue: where it is carried to, theirs hold.
        let set = own && *config.origin(&setting.path) != Origin::Default;
        Some((key.to_owned(), shown(setting.value.as_ref().filter(|_| set)?)))
    });
    let candidates = queue.candidates.iter().enumerate().map(|(at, candidate)| {
        let prefix = format!("{prefix}candidates.{at}.");
        let options = all.iter().filter_map(|setting| {
            let key = setting.path.strip_prefix(&prefix)?;
            let set = key != "route" && *config.origin(&setting.path) != Origin::Default;
            Some((key.to_owned(), shown(setting.value.as_ref().filter(|_| set)?)))
        });
        CandidateCarried { route: candidate.route(), options: options.collect() }
    });
    QueueCarried {
        name: queue.name.clone(),
        settings: of_queue.collect(),
        candidates: candidates.collect(),
    }
}

/// Whether names fit, before anything is made of them: what comes of them has no place in the file that
/// is imported.
fn named_well(queue: &QueueCarried, place: &str) -> Result<(), Box<Refusal>> {
    let fits = |at: &str, path: &str, text: &str| {
        let bad = |why| Box::new(Refusal::Unfit(Unfit::Name(format!("{place}{at}"), why)));
        given(path, &Json::String(text.to_owned())).map(drop).map_err(bad)
    };
    fits(".name", "queues.it.name", &queue.name)?;
    for (at, candidate) in queue.candidates.iter().enumerate() {
        let place = format!(".candidates[{at}].route");
        fits(&place, "queues.it.candidates.0.route", &candidate.route)?;
    }
    Ok(())
}

/// R40: the routes whose provider is not there.
fn missing(
    config: &Config,
    queue: &QueueCarried,
    place: &str,
) -> Result<Vec<String>, Box<Refusal>> {
    let mut missing = Vec::new();
    for (at, CandidateCarried { route, .. }) in queue.candidates.iter().enumerate() {
        let Some((provider, _)) = route.split_once('/') else {
            let place = format!("{place}.candidates[{at}].route");
            return Err(Box::new(Refusal::Unfit(Unfit::ImportRoute { place })));
        };
        if config.provider(provider).is_none() {
            missing.push(route.clone());
        }
    }
    Ok(missing)
}

/// The changes that make an imported queue.
fn taken_over(
    id: &str,
    name: &str,
    queue: QueueCarried,
    place: &str,
) -> Result<Vec<Change>, Box<Refusal>> {
    let bad = |at: &str, why: Box<Refusal>| Box::new(Refusal::At(format!("{place}{at}"), why));
    let routes = queue.candidates.iter().map(|candidate| candidate.route.clone()).collect();
    let mut changes =
        vec![Change::AddQueue { id: id.to_owned(), name: Some(name.to_owned()), routes }];
    for (key, value) in queue.settings {
        let path = format!("queues.{id}.{key}");
        let at = format!(".settings.{key}");
        let own = !matches!(key.as_str(), "name" | "candidates") && !key.contains('.');
        if !own || key_at(&path).is_none() {
            return Err(bad(&at, Box::new(Refusal::ImportKey)));
        }
        let value = given(&path, &value).map_err(|error| bad(&at, error))?;
        changes.push(Change::Set { path, value });
    }
    for (number, CandidateCarried { route, options }) in queue.candidates.into_iter().enumerate() {
        for (key, value) in options {
            let path = format!("queues.{id}.candidates.{number}.{key}");
            let at = format!(".candidates[{number}].options.{key}");
            if key == "route" || key.contains('.') || key_at(&path).is_none() {
                return Err(bad(&at, Box::new(Refusal::ImportKey)));
            }
            let value = Some(given(&path, &value).map_err(|error| bad(&at, error))?);
            let (queue, route) = (id.to_owned(), route.clone());
            changes.push(Change::SetCandidate { queue, route, key, value });
        }
    }
    Ok(changes)
}

/// R40: equal names become `name (1)`.
fn numbered(name: &str, taken: &BTreeSet<String>) -> String {
    if !taken.contains(name) {
        return name.to_owned();
    }
    let mut numbers = 1..;
    let free = numbers.find_map(|number| {
        let number = format!(" ({number})");
        // A name that is as long as a name may be makes room for its number.
        let kept = NAME_MAX_CHARS.saturating_sub(number.chars().count());
        let next: String = name.chars().take(kept).chain(number.chars()).collect();
        (!taken.contains(&next)).then_some(next)
    });
    free.unwrap_or_else(|| name.to_owned())
}

/// An id made from a name that nothing bears. An id has ASCII letters alone: of a name in other letters
/// it keeps the words that it can hold whole, and where no letter is left that says anything it is a
/// `queue` with the numbers of the name.
fn unused(name: &str, taken: &BTreeSet<String>) -> String {
    let plain = name.to_lowercase();
    // A mark belongs to the letter before it.
    let in_word = |c: char| c.is_alphanumeric() || matches!(c, '\u{300}'..='\u{36f}');
    let words = plain.split(|c: char| !in_word(c) || is_unspaced(c));
    let words = words.filter(|word| !word.is_empty() && word.is_ascii());
    let mut words: Vec<&str> = words.collect();
    if !words.iter().any(|word| word.contains(|c: char| c.is_ascii_alphabetic())) {
        words.insert(0, "queue");
    }
    let base: String = words.join("-").chars().take(ID_CHARS_MAX).collect();
    let mut numbers = 2..;
    let free = numbers.find_map(|number| {
        let next = format!("{base}-{number}");
        (!taken.contains(&next)).then_some(next)
    });
    if taken.contains(&base) { free.unwrap_or(base) } else { base }
}

/// Letters of scripts that put no spaces between words: the East Asian ones.
const fn is_unspaced(letter: char) -> bool {
    matches!(letter, '\u{3000}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r40_equal_names_are_numbered_and_ids_are_made_of_names() {
        let taken = BTreeSet::from(["a".to_owned(), "a (1)".to_owned()]);
        assert_eq!(numbered("a", &taken), "a (2)");
        assert_eq!(numbered("b", &taken), "b");
        let long = "长".repeat(NAME_MAX_CHARS);
        let next = numbered(&long, &BTreeSet::from([long.clone()]));
        assert_eq!((next.chars().count(), next.ends_with("长 (1)")), (NAME_MAX_CHARS, true));
        let taken = BTreeSet::from(["my-queue".to_owned(), "queue".to_owned()]);
        assert_eq!(unused("My  Queue!", &taken), "my-queue-2");
        assert_eq!(unused("默认模板", &taken), "queue-2");
        assert_eq!(unused("Fast (1)", &taken), "fast-1");
    }

    #[test]
    fn r01_an_id_says_what_it_can_of_a_name_in_other_letters() {
        for (name, id) in [
            ("夜班 1", "queue-1"),
            ("1号线路", "queue-1"),
            ("第2、3班", "queue-2-3"),
            ("默认模板", "queue"),
            ("夜班Fast模板", "fast"),
            ("GPT-5 备用", "gpt-5"),
            ("Claude备用2", "claude-2"),
            ("Nachtschicht für Ärzte", "nachtschicht"),
            ("Été", "queue"),
            ("ночь 7", "queue-7"),
            ("夜のキュー3", "queue-3"),
            ("밤 2", "queue-2"),
            ("2026", "queue-2026"),
            ("e\u{301}te\u{301}", "queue"),
            ("!", "queue"),
        ] {
            assert_eq!(unused(name, &BTreeSet::new()), id, "{name}");
        }
        let long = format!("夜{}", "7".repeat(100));
        assert_eq!(unused(&long, &BTreeSet::new()).len(), ID_CHARS_MAX);
    }
}
