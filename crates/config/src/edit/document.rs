//! Changes on the file's tree. Refuses to know files, and to judge values: what comes of it goes
//! through the parser.

use toml_edit::{DocumentMut, InlineTable, Item, Table, TableLike};

use super::{Change, EditError, Spot, candidates, found, plain_path, spot};
use crate::assemble::DEFAULT_QUEUE;
use crate::mask;
use crate::mistake::{Absent, EditMistake, Known};
use crate::problem::nearest;
use crate::settings::Config;
use crate::value::Value;

/// Makes one change.
pub(super) fn make(
    document: &mut DocumentMut,
    change: &Change,
    running: Option<&Config>,
) -> Result<(), EditError> {
    let silent = !document.contains_key("providers") && !document.contains_key("queues");
    if silent && is_about_queues(change) {
        found::write_down(document, running)?;
    }
    match change {
        Change::Set { path, value } => set(document, path, value),
        Change::Unset { path } => unset(document, path),
        Change::AddQueue { id, name, routes } => add_queue(document, id, name.as_deref(), routes),
        Change::DeleteQueue { id } => delete_queue(document, id),
        Change::OrderQueues { ids } => order_queues(document, ids),
        Change::AddCandidate { queue, route, at } => {
            candidates::add(queue_table(document, queue)?, route, *at)
        }
        Change::RemoveCandidate { queue, route } => {
            candidates::remove(queue_table(document, queue)?, route)
        }
        Change::OrderCandidates { queue, routes } => {
            candidates::order(queue_table(document, queue)?, routes)
        }
        Change::SetCandidate { queue, route, key, value } => {
            let table = queue_table(document, queue)?;
            let at = candidates::place_of(table, route)?;
            candidates::set(table, at, key, value.as_ref())
        }
    }
}

/// A value as the file writes it.
pub(super) fn item_of(value: &Value) -> Result<toml_edit::Value, EditError> {
    value.to_string().parse().map_err(|_| EditMistake::Unwritable.into())
}

/// A value of the file, if a key may have such a one.
pub(super) fn value_of(value: &toml_edit::Value) -> Option<Value> {
    let text = |value: &toml_edit::Value| value.as_str().map(str::to_owned);
    match value {
        toml_edit::Value::String(text) => Some(Value::Text(text.value().clone())),
        toml_edit::Value::Integer(number) => {
            u64::try_from(*number.value()).ok().map(Value::Integer)
        }
        toml_edit::Value::Boolean(on) => Some(Value::Bool(*on.value())),
        toml_edit::Value::Array(array) => {
            array.iter().map(text).collect::<Option<_>>().map(Value::Texts)
        }
        toml_edit::Value::InlineTable(table) => {
            let pairs = table.iter().map(|(name, value)| Some((name.to_owned(), text(value)?)));
            pairs.collect::<Option<_>>().map(Value::Pairs)
        }
        toml_edit::Value::Float(_) | toml_edit::Value::Datetime(_) => None,
    }
}

/// Puts a value where it belongs; comments beside the old one stay.
pub(super) fn put(table: &mut dyn TableLike, key: &str, mut value: toml_edit::Value) {
    match table.get_mut(key) {
        Some(Item::Value(old)) => {
            *value.decor_mut() = old.decor().clone();
            *old = value;
        }
        Some(_) | None => {
            table.insert(key, Item::Value(value));
        }
    }
}

/// An explicit section below the top, made where there is none.
pub(super) fn section<'d>(
    document: &'d mut DocumentMut,
    path: &[&str],
) -> Result<&'d mut dyn TableLike, EditError> {
    let is_first = document.is_empty();
    let mut at: &mut dyn TableLike = document.as_table_mut();
    for (depth, name) in path.iter().enumerate() {
        if !at.contains_key(name) {
            let mut table = Table::new();
            table.set_implicit(depth + 1 < path.len());
            if is_first {
                table.decor_mut().set_prefix("");
            }
            at.insert(name, Item::Table(table));
        }
        let shown = path[..=depth].join(".");
        at = at.get_mut(name).and_then(Item::as_table_like_mut).ok_or_else(|| {
            EditError::from(EditMistake::NoSection { path: mask::shown(&shown).to_owned() })
        })?;
    }
    Ok(at)
}

/// The names below a section, in the order of the file.
pub(super) fn names(document: &DocumentMut, section: &str) -> Vec<String> {
    let table = document.get(section).and_then(Item::as_table_like);
    let mut found: Vec<(isize, String)> = table
        .into_iter()
        .flat_map(|table| table.iter())
        .map(|(name, item)| {
            let at = item.as_table().and_then(Table::position).unwrap_or(isize::MIN);
            (at, name.to_owned())
        })
        .collect();
    found.sort_by_key(|(at, _)| *at);
    found.into_iter().map(|(_, name)| name).collect()
}

fn is_about_queues(change: &Change) -> bool {
    match change {
        Change::Set { path, .. } | Change::Unset { path } => {
            let path = plain_path(path);
            path.starts_with("providers.") || path.starts_with("queues.")
        }
        Change::AddQueue { .. }
        | Change::DeleteQueue { .. }
        | Change::OrderQueues { .. }
        | Change::AddCandidate { .. }
        | Change::RemoveCandidate { .. }
        | Change::OrderCandidates { .. }
        | Change::SetCandidate { .. } => true,
    }
}

fn queue_table<'d>(
    document: &'d mut DocumentMut,
    queue: &str,
) -> Result<&'d mut dyn TableLike, EditError> {
    let known = names(document, "queues");
    // Where none is written, an empty one stands in.
    let stands_in = known.is_empty() && queue == DEFAULT_QUEUE;
    if !stands_in && !known.iter().any(|id| id == queue) {
        return Err(no_queue(queue, &known));
    }
    section(document, &["queues", queue])
}

fn no_queue(id: &str, known: &[String]) -> EditError {
    let known = known_of(id, known);
    Absent::Queue { id: mask::shown(id).to_owned(), known }.into()
}

/// What there is in the place of a name that nothing bears.
pub(super) fn known_of(name: &str, known: &[String]) -> Known {
    match nearest(name, known.iter().map(String::as_str)) {
        Some(near) => Known::Near(near.to_owned()),
        None if known.is_empty() => Known::Nothing,
        None => Known::All(known.to_vec()),
    }
}

fn set(document: &mut DocumentMut, path: &str, value: &Value) -> Result<(), EditError> {
    match spot(path)? {
        Spot::Option(queue, at, key) => {
            candidates::set(queue_table(document, &queue)?, at, &key, Some(value))
        }
        Spot::Key(tables, key) => {
            let table = match tables.as_slice() {
                [kind, id] if kind == "queues" => queue_table(document, id)?,
                [kind, id] => section(document, &[kind, id])?,
                [one] => section(document, &[one])?,
                _ => document.as_table_mut(),
            };
            match (key.as_str(), value) {
                ("candidates", Value::Texts(routes)) => {
                    candidates::replace(table, routes);
                }
                _ => put(table, &key, item_of(value)?),
            }
            Ok(())
        }
        Spot::Provider(_) => {
            Err(Absent::KeyOfProvider { path: mask::shown(path).to_owned() }.into())
        }
    }
}

fn unset(document: &mut DocumentMut, path: &str) -> Result<(), EditError> {
    let nothing = || EditError::from(Absent::Value { path: mask::shown(path).to_owned() });
    match spot(path)? {
        Spot::Option(queue, at, key) => {
            candidates::set(queue_table(document, &queue)?, at, &key, None)
        }
        Spot::Provider(id) => {
            let known = names(document, "providers");
            if !known.contains(&id) {
                let known = known_of(&id, &known);
                return Err(Absent::Provider { id: mask::shown(&id).to_owned(), known }.into());
            }
            remove_section(document, "providers", &id);
            Ok(())
        }
        Spot::Key(tables, key) => {
            let mut at: &mut dyn TableLike = document.as_table_mut();
            for name in &tables {
                at = at.get_mut(name).and_then(Item::as_table_like_mut).ok_or_else(nothing)?;
            }
            at.remove(&key).map(drop).ok_or_else(nothing)
        }
    }
}

fn add_queue(
    document: &mut DocumentMut,
    id: &str,
    name: Option<&str>,
    routes: &[String],
) -> Result<(), EditError> {
    if names(document, "queues").iter().any(|known| known == id) {
        return Err(EditMistake::QueueThere { id: mask::shown(id).to_owned() }.into());
    }
    let table = section(document, &["queues", id])?;
    if let Some(name) = name {
        put(table, "name", item_of(&Value::Text(name.to_owned()))?);
    }
    candidates::replace(table, routes);
    Ok(())
}

fn delete_queue(document: &mut DocumentMut, id: &str) -> Result<(), EditError> {
    let known = names(document, "queues");
    if !known.iter().any(|queue| queue == id) {
        return Err(no_queue(id, &known));
    }
    if known.len() == 1 {
        return Err(EditMistake::LastQueue.into());
    }
    remove_section(document, "queues", id);
    if let Some(aliases) = document.get_mut("aliases").and_then(Item::as_table_like_mut) {
        let lost: Vec<String> = aliases
            .iter()
            .filter(|(_, queue)| queue.as_str() == Some(id))
            .map(|(pattern, _)| pattern.to_owned())
            .collect();
        for pattern in lost {
            aliases.remove(&pattern);
        }
    }
    Ok(())
}

fn order_queues(document: &mut DocumentMut, ids: &[String]) -> Result<(), EditError> {
    let known = names(document, "queues");
    same_members(&known, ids, || EditMistake::QueueOrder { known: known.clone() })?;
    let rank = |name: &str| ids.iter().position(|id| id == name);
    match document.get_mut("queues") {
        Some(Item::Table(queues)) => {
            let mut places: Vec<isize> = Vec::new();
            for (_, item) in queues.iter() {
                positions(item, &mut places);
            }
            places.sort_unstable();
            queues.sort_values_by(|one, _, other, _| rank(one.get()).cmp(&rank(other.get())));
            let mut places = places.into_iter();
            for id in ids {
                if let Some(item) = queues.get_mut(id) {
                    reposition(item, &mut places);
                }
            }
        }
        Some(Item::Value(toml_edit::Value::InlineTable(queues))) => order_inline(queues, &rank),
        Some(_) | None => {}
    }
    Ok(())
}

fn order_inline(queues: &mut InlineTable, rank: &dyn Fn(&str) -> Option<usize>) {
    queues.sort_values_by(|one, _, other, _| rank(one.get()).cmp(&rank(other.get())));
}

/// That a new order has exactly the old members.
pub(super) fn same_members(
    known: &[String],
    asked: &[String],
    otherwise: impl FnOnce() -> EditMistake,
) -> Result<(), EditError> {
    let sorted = |list: &[String]| {
        let mut list = list.to_vec();
        list.sort();
        list
    };
    if sorted(known) == sorted(asked) {
        return Ok(());
    }
    Err(otherwise().into())
}

/// The places of a table and of all inside it.
pub(super) fn positions(item: &Item, places: &mut Vec<isize>) {
    if let Some(table) = item.as_table() {
        places.extend(table.position());
        for (_, inner) in table.iter() {
            positions(inner, places);
        }
    }
    for table in item.as_array_of_tables().into_iter().flat_map(|tables| tables.iter()) {
        places.extend(table.position());
    }
}

/// Gives a table and all inside it new places, in their order.
pub(super) fn reposition(item: &mut Item, places: &mut impl Iterator<Item = isize>) {
    if let Some(table) = item.as_table_mut() {
        if table.position().is_some() {
            table.set_position(places.next());
        }
        for (_, inner) in table.iter_mut() {
            reposition(inner, places);
        }
    }
    for table in item.as_array_of_tables_mut().into_iter().flat_map(|tables| tables.iter_mut()) {
        if table.position().is_some() {
            table.set_position(places.next());
        }
    }
}

/// Removes a section. Of the comments above it those that a blank line sets apart stay: the head of
/// a file stands above its first section.
fn remove_section(document: &mut DocumentMut, kind: &str, id: &str) {
    let Some(sections) = document.get_mut(kind).and_then(Item::as_table_like_mut) else {
        return;
    };
    let Some(Item::Table(gone)) = sections.remove(id) else {
        return;
    };
    let prefix = gone.decor().prefix().and_then(|prefix| prefix.as_str()).unwrap_or_default();
    let Some((apart, _)) = prefix.rsplit_once("\n\n") else {
        return;
    };
    if !apart.contains('#') {
        return;
    }
    let apart = format!("{apart}\n");
    let after = gone.position().unwrap_or(isize::MIN);
    match next_table(document.as_table_mut(), after) {
        Some(next) => {
            let own = next.decor().prefix().and_then(|prefix| prefix.as_str()).unwrap_or("\n");
            let whole = format!("{apart}{own}");
            next.decor_mut().set_prefix(whole);
        }
        None => {
            let own = document.trailing().as_str().unwrap_or_default().to_owned();
            document.set_trailing(format!("{apart}{own}"));
        }
    }
}

/// The table that stands next behind a place.
fn next_table(table: &mut Table, after: isize) -> Option<&mut Table> {
    fn soonest(table: &Table, after: isize) -> Option<isize> {
        let own = table.position().filter(|at| *at > after && !table.is_implicit());
        let inner = table.iter().filter_map(|(_, item)| match item {
            Item::Table(inner) => soonest(inner, after),
            Item::ArrayOfTables(list) => {
                list.iter().filter_map(|inner| soonest(inner, after)).min()
            }
            Item::None | Item::Value(_) => None,
        });
        own.into_iter().chain(inner).min()
    }
    fn at(table: &mut Table, place: isize) -> Option<&mut Table> {
        if table.position() == Some(place) && !table.is_implicit() {
            return Some(table);
        }
        table.iter_mut().find_map(|(_, item)| match item {
            Item::Table(inner) => at(inner, place),
            Item::ArrayOfTables(list) => list.iter_mut().find_map(|inner| at(inner, place)),
            Item::None | Item::Value(_) => None,
        })
    }
    let place = soonest(table, after)?;
    at(table, place)
}
