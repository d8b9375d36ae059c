//! Sections whose keys are names of the user's own: `[aliases]` and `[prices]`. Refuses names that lead
//! nowhere.

use toml::de::DeTable;

use crate::assemble::inner_table;
use crate::candidates;
use crate::check;
use crate::lookup;
use crate::mask;
use crate::mistake::{Found, NamedMistake};
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
        let alias = mask::shown(written).to_owned();
        let Some(queue) = entry.get_ref().as_str() else {
            let found = Found::of(entry.get_ref());
            reader.error(entry.span(), NamedMistake::AliasType { alias, found });
            continue;
        };
        if let Err(hidden) = check::unhidden("aliases", written) {
            reader.error(pattern.span(), hidden);
            continue;
        }
        if written.is_empty() || !check::is_entry(written) {
            reader.error(pattern.span(), NamedMistake::AliasLine { alias: alias.clone() });
            continue;
        }
        reader.note("aliases", written, entry.span());
        let ids = || queues.iter().map(|queue| queue.id.as_str());
        if !ids().any(|id| id == queue) {
            let near = nearest(queue, ids()).map(str::to_owned);
            let queues = ids().map(str::to_owned).collect();
            let (alias, queue) = (alias.clone(), mask::shown(queue).to_owned());
            reader.error(entry.span(), NamedMistake::AliasLost { alias, queue, near, queues });
        }
        if ids().any(|id| id == written) {
            reader.error(pattern.span(), NamedMistake::AliasIsQueue { alias });
        } else if let Some(id) = ids().find(|id| *id != queue && lookup::matches(written, id)) {
            let queue = id.to_owned();
            reader.warn(Some(pattern.span()), NamedMistake::AliasCovers { alias, queue });
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
        let shown = mask::shown(written).to_owned();
        if let Err(hidden) = check::unhidden("prices", written) {
            reader.error(route.span(), hidden);
            continue;
        }
        if candidates::split_route(written).is_none_or(|(provider, model)| {
            // The other ways to write a route would never be found again.
            format!("{provider}/{model}") != written || !check::is_entry(written)
        }) {
            reader.error(route.span(), NamedMistake::PriceRoute { written: shown });
            continue;
        }
        let text = entry.get_ref().as_str();
        match text.map(str::parse::<Price>) {
            Some(Ok(price)) => {
                reader.note("prices", written, entry.span());
                list.push(PriceOf { route: written.to_owned(), price });
            }
            Some(Err(MoneyError::Bounds)) => {
                reader.error(entry.span(), NamedMistake::PriceBounds { route: shown });
            }
            Some(Err(MoneyError::Form)) | None => {
                reader.error(entry.span(), NamedMistake::PriceForm { route: shown });
            }
        }
    }
    list
}
