//! Sections whose keys are names of the user's own: `[aliases]` and `[prices]`. Refuses names that lead
//! nowhere.

use toml::de::DeTable;

use crate::assemble::inner_table;
use crate::candidates;
use crate::check;
use crate::lookup;
use crate::mask;
use crate::price::{MoneyError, Price};
use crate::problem::nearest;
use crate::read::{Reader, in_order};
use crate::settings::{Alias, PriceOf, Queue};

pub(crate) fn aliases(reader: &mut Reader<'_>, root: &DeTable<'_>, queues: &[Queue]) -> Vec<Alias> {
    let mut list = Vec::new();
    let Some(table) = inner_table(root, "aliases") else {
        return list;
    };
    for (pattern, entry) in in_order(table) {
        let written = pattern.get_ref().as_ref();
        let shown = mask::shown(written);
        let Some(queue) = entry.get_ref().as_str() else {
            reader.error(
                entry.span(),
                format!("alias `{shown}` has the wrong type: {}", entry.get_ref().type_str()),
                "write `\"claude-*\" = \"default\"`, with a queue's id on the right".to_owned(),
            );
            continue;
        };
        if written.is_empty() || !check::is_entry(written) {
            reader.error(
                pattern.span(),
                format!("`{shown}` is no alias"),
                format!("an alias is one line of 1 to {} characters", check::ENTRY_MAX_CHARS),
            );
            continue;
        }
        reader.note("aliases", written, entry.span());
        let ids = || queues.iter().map(|queue| queue.id.as_str());
        if !ids().any(|id| id == queue) {
            let near = nearest(queue, ids());
            reader.error(
                entry.span(),
                format!("alias `{shown}` leads to no queue: {}", mask::shown(queue)),
                near.map_or_else(
                    || format!("the queues are: {}", ids().collect::<Vec<_>>().join(", ")),
                    |near| format!("did you mean \"{near}\"?"),
                ),
            );
        }
        if ids().any(|id| id == written) {
            reader.error(
                pattern.span(),
                format!("alias `{shown}` is the id of a queue"),
                "a queue's id comes first (R1), so this alias would never be used: take it out"
                    .to_owned(),
            );
        } else if let Some(id) = ids().find(|id| *id != queue && lookup::matches(written, id)) {
            reader.warn(
                Some(pattern.span()),
                format!("alias `{shown}` also covers the queue `{id}`"),
                format!("a queue's id comes first (R1): `{id}` stays `{id}`"),
            );
        }
        list.push(Alias { pattern: written.to_owned(), queue: queue.to_owned() });
    }
    list
}

pub(crate) fn prices(reader: &mut Reader<'_>, root: &DeTable<'_>) -> Vec<PriceOf> {
    let mut list = Vec::new();
    let Some(table) = inner_table(root, "prices") else {
        return list;
    };
    for (route, entry) in in_order(table) {
        let written = route.get_ref().as_ref();
        let shown = mask::shown(written);
        if candidates::split_route(written).is_none_or(|(provider, model)| {
            // The other ways to write a route would never be found again.
            format!("{provider}/{model}") != written || !check::is_entry(written)
        }) {
            reader.error(
                route.span(),
                format!("`{shown}` is no route"),
                "a price is that of a route: write \"provider/model\" in quotes".to_owned(),
            );
            continue;
        }
        let text = entry.get_ref().as_str();
        match text.map(str::parse::<Price>) {
            Some(Ok(price)) => {
                reader.note("prices", written, entry.span());
                list.push(PriceOf { route: written.to_owned(), price });
            }
            Some(Err(MoneyError::Bounds)) => reader.error(
                entry.span(),
                format!("the price of `{shown}` is out of bounds"),
                "an amount is from 0 to 1000000, with at most nine digits behind the point"
                    .to_owned(),
            ),
            Some(Err(MoneyError::Form)) | None => reader.error(
                entry.span(),
                format!("the price of `{shown}` is not written as a price"),
                format!("write what a million tokens cost, such as \"{}\"", Price::EXAMPLE),
            ),
        }
    }
    list
}
