//! Models that are known without asking: what the table beside this file says of them (R34, R36, R37).
//!
//! Refuses to guess: a model is known at its vendor's own address alone, since whoever resells it may
//! cut its window and asks a price of their own. The table has its source and its date.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::price::Price;
use crate::settings::Provider;

/// Where the table comes from.
pub const SOURCE: &str = "the npm package @mariozechner/pi-ai 0.73.1";

/// When it was read.
pub const DATE: &str = "2026-11-29";

const TABLE: &str = include_str!("models.tsv");

/// What the table says of a model.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KnownModel {
    /// The model as its vendor calls it.
    pub model: &'static str,
    /// The context window in tokens.
    pub context_window: u32,
    /// Output tokens at most.
    pub output_max: u32,
    /// The effort levels that it declares; empty: the table does not say.
    pub effort_levels: Vec<&'static str>,
    /// What it costs.
    pub price: Option<Price>,
}

/// By address and model.
static MODELS: LazyLock<HashMap<&'static str, Vec<KnownModel>>> = LazyLock::new(|| {
    let mut by_host: HashMap<_, Vec<_>> = HashMap::new();
    for line in TABLE.lines().filter(|line| !line.starts_with('#')) {
        if let Some((host, model)) = read(line) {
            by_host.entry(host).or_default().push(model);
        }
    }
    by_host
});

/// All that the table says of a provider's models, in its order.
#[must_use]
pub fn known_models(provider: &Provider) -> &'static [KnownModel] {
    MODELS.get(provider.base_url.host()).map_or(&[], Vec::as_slice)
}

/// What the table says of one.
#[must_use]
pub fn known_model(provider: &Provider, model: &str) -> Option<&'static KnownModel> {
    known_models(provider).iter().find(|known| known.model == model)
}

fn read(line: &'static str) -> Option<(&'static str, KnownModel)> {
    let mut columns = line.split('\t');
    let (host, model) = (columns.next()?, columns.next()?);
    let (window, output) = (columns.next()?.parse().ok()?, columns.next()?.parse().ok()?);
    let efforts = columns.next()?.split(',').filter(|level| !level.is_empty()).collect();
    let price = match columns.next()? {
        "" => None,
        text => Some(text.parse().ok()?),
    };
    let known = KnownModel {
        model,
        context_window: window,
        output_max: output,
        effort_levels: efforts,
        price,
    };
    Some((host, known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_is_read() {
        let lines = TABLE.lines().filter(|line| !line.starts_with('#'));
        for line in lines.clone() {
            assert!(read(line).is_some(), "{line}");
        }
        let read: usize = MODELS.values().map(Vec::len).sum();
        assert_eq!(read, lines.count());
        assert!(TABLE.contains(SOURCE.trim_start_matches("the npm package ")));
        assert!(TABLE.contains(DATE));
    }
}
