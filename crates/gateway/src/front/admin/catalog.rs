//! The catalog by API: what models there are and what they take (R35 to R38).
//!
//! It refuses to ask upstream unless a rescan is asked for.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use ekiden_config::{Config, MODELS_DATE, MODELS_SOURCE, Provider};

use crate::catalog::{Catalogs, Facts, ScanTrouble, Source, models_of};
use crate::front::Front;

use super::refusal::Refusal;

/// Providers with their models.
#[derive(Serialize, JsonSchema)]
pub(in crate::front) struct Catalog {
    /// When any of them was asked last; none: never.
    scanned_ms: Option<u64>,
    /// Whether they are being asked at this moment.
    scanning: bool,
    providers: Vec<ProviderShown>,
    /// Where the table of known models comes from, and when it was read.
    known: KnownFrom,
}

/// Where a table comes from.
#[derive(Serialize, JsonSchema)]
struct KnownFrom {
    source: &'static str,
    date: &'static str,
}

/// A provider with its models.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "CatalogProvider")]
struct ProviderShown {
    id: String,
    name: String,
    dialect: &'static str,
    /// Whether its models are left out where candidates are chosen: it is shown without them.
    hidden: bool,
    /// When it was asked last; none: never, or it was somewhere else then.
    scanned_ms: Option<u64>,
    /// Why it could not be asked, in the last scan: `no_key`, `unreachable`, `no_list`, or `http_` and
    /// the status.
    trouble: Option<String>,
    models: Vec<ModelShown>,
}

/// A model of a provider.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "CatalogModel")]
struct ModelShown {
    model: String,
    /// What people see.
    name: String,
    /// Whether the provider's own list has it; none: it was not asked.
    offered: Option<bool>,
    /// In tokens.
    context_window: Option<u32>,
    /// Where a client should compact: 0.8 of the window.
    compaction_point: Option<u32>,
    /// `provider` or `known`.
    window_source: Option<&'static str>,
    /// Output tokens at most.
    max_tokens: Option<u32>,
    /// The effort levels that it declares; none: nobody says.
    efforts: Option<Vec<String>>,
    /// `provider` or `known`.
    efforts_source: Option<&'static str>,
    /// What a million tokens cost, as `[prices]` writes it.
    price: Option<String>,
}

/// Whom to ask.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::front) struct Rescan {
    /// Their ids; empty or left out: all.
    #[serde(default)]
    #[schemars(length(max = 1_000))]
    providers: Vec<String>,
}

impl Front {
    pub(super) fn catalog(&self) -> Catalog {
        let plan = self.core.plan();
        let config = plan.config();
        let catalogs = &self.core.catalogs;
        let shown = |provider: &Provider| ProviderShown::of(config, catalogs, provider);
        Catalog {
            scanned_ms: catalogs.scanned_ms(),
            scanning: catalogs.is_scanning(),
            providers: config.providers.iter().map(shown).collect(),
            known: KnownFrom { source: MODELS_SOURCE, date: MODELS_DATE },
        }
    }

    pub(super) async fn rescan(&self, wish: Rescan) -> Result<Catalog, Box<Refusal>> {
        let plan = self.core.plan();
        let unknown = wish.providers.iter().find(|id| plan.config().provider(id).is_none());
        if let Some(id) = unknown {
            return Err(Refusal::no_provider(plan.config(), id));
        }
        // It goes on when whoever asked has left: the next look finds it done.
        let core = Arc::clone(&self.core);
        let scan = async move { core.rescan(&wish.providers).await };
        let _ = self.core.tasks().spawn(scan).await;
        Ok(self.catalog())
    }
}

impl ProviderShown {
    fn of(config: &Config, catalogs: &Catalogs, provider: &Provider) -> Self {
        let offer = catalogs.offer(provider);
        let offer = offer.as_deref();
        let hidden = config.hidden_providers.contains(&provider.id);
        let names = if hidden { Vec::new() } else { models_of(config, provider, offer) };
        let models = names.into_iter().map(|model| {
            let facts = Facts::of(provider, offer, &model);
            let (window, efforts) = (facts.window(), facts.effort_levels());
            let name = facts.offered.and_then(|offered| offered.name.clone());
            ModelShown {
                name: name.unwrap_or_else(|| model.clone()),
                offered: offer.map(|_| facts.offered.is_some()),
                context_window: window.map(|(window, _)| window),
                compaction_point: window.map(|(window, _)| compaction_point(window)),
                window_source: window.map(|(_, source)| source.name()),
                max_tokens: facts.output_max(),
                efforts_source: efforts.as_ref().map(|(_, source)| source.name()),
                efforts: efforts.map(|(efforts, _)| efforts),
                price: config.price(&provider.id, &model).map(|price| price.to_string()),
                model,
            }
        });
        Self {
            id: provider.id.clone(),
            name: provider.name.clone(),
            dialect: provider.dialect.name(),
            hidden,
            scanned_ms: offer.map(|offer| offer.scanned_ms),
            trouble: catalogs.trouble(&provider.id).map(|trouble| trouble.code()),
            models: models.collect(),
        }
    }
}

/// R36: where a client should compact, 0.8 of a window.
pub(super) fn compaction_point(window: u32) -> u32 {
    (u64::from(window) * 4 / 5) as u32
}

impl Source {
    const fn name(self) -> &'static str {
        match self {
            Self::Provider => "provider",
            Self::Known => "known",
        }
    }
}

impl ScanTrouble {
    fn code(&self) -> String {
        match self {
            Self::NoKey => "no_key".to_owned(),
            Self::Unreachable => "unreachable".to_owned(),
            Self::NoList => "no_list".to_owned(),
            Self::Status(status) => format!("http_{status}"),
        }
    }
}
