//! What models there are, and what they take (R35 to R37): what providers said when they were asked,
//! and what is known without asking.
//!
//! It refuses to ask because somebody looks: it answers from what was kept, until a rescan forgets that
//! and asks again.

mod ask;
mod list;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use ekiden_config::{Config, KnownModel, Provider, known_model, known_models};
use ekiden_store::{Catalog, Record, Store};

/// The version of what is kept; anything else is thrown away.
const VERSION: u32 = 1;

/// What all providers said.
#[derive(Debug, Default)]
pub(crate) struct Catalogs {
    offers: Mutex<BTreeMap<String, Arc<Offer>>>,
    /// Why a provider could not be asked, in the last scan. It is in memory alone.
    troubles: Mutex<BTreeMap<String, ScanTrouble>>,
    scanning: AtomicUsize,
    /// Whoever holds it scans.
    turn: tokio::sync::Mutex<()>,
}

/// What a provider said when it was asked.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Offer {
    /// Where it was then: at another address it is another one.
    base_url: String,
    /// When, in Unix milliseconds.
    pub(crate) scanned_ms: u64,
    pub(crate) models: Vec<Offered>,
}

/// A model of a provider's own list, with as much as it says.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Offered {
    pub(crate) model: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) context_window: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) output_max: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) effort_levels: Option<Vec<String>>,
}

/// Why a provider could not be asked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum ScanTrouble {
    /// Its key is missing.
    NoKey,
    /// It could not be reached, or did not answer in time.
    Unreachable,
    /// It answered with that status.
    Status(u16),
    /// It answered something that is no list of models.
    NoList,
}

/// What is known of a model.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts<'f> {
    pub(crate) offered: Option<&'f Offered>,
    pub(crate) known: Option<&'static KnownModel>,
}

/// Who says so.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Source {
    /// The provider's own list.
    Provider,
    /// The table of known models.
    Known,
}

impl Catalogs {
    /// What a store has kept; what cannot be read is thrown away, and asked for by the next rescan.
    pub(crate) fn recall(store: &dyn Store) -> Self {
        let mut offers = BTreeMap::new();
        for Catalog { provider, version, json } in store.catalogs() {
            let read = serde_json::from_str::<Offer>(&json).ok().filter(|_| version == VERSION);
            match read {
                Some(offer) => drop(offers.insert(provider.to_string(), Arc::new(offer))),
                None => store.write(vec![Record::CatalogForgotten { provider }]),
            }
        }
        Self { offers: Mutex::new(offers), ..Self::default() }
    }

    /// What a provider said, if it was asked at the address where it is now.
    pub(crate) fn offer(&self, provider: &Provider) -> Option<Arc<Offer>> {
        let found = self.offers().get(&provider.id).map(Arc::clone)?;
        (found.base_url == provider.base_url.as_str()).then_some(found)
    }

    /// Why it could not be asked, in the last scan.
    pub(crate) fn trouble(&self, provider: &str) -> Option<ScanTrouble> {
        self.troubles().get(provider).cloned()
    }

    /// Whether providers are being asked at this moment.
    pub(crate) fn is_scanning(&self) -> bool {
        self.scanning.load(Ordering::Relaxed) > 0
    }

    /// When any provider was asked last, in Unix milliseconds.
    pub(crate) fn scanned_ms(&self) -> Option<u64> {
        self.offers().values().map(|offer| offer.scanned_ms).max()
    }

    fn offers(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Offer>>> {
        self.offers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn troubles(&self) -> MutexGuard<'_, BTreeMap<String, ScanTrouble>> {
        self.troubles.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Offer {
    pub(crate) fn model(&self, model: &str) -> Option<&Offered> {
        self.models.iter().find(|offered| offered.model == model)
    }
}

impl<'f> Facts<'f> {
    /// What is known of a provider's model.
    pub(crate) fn of(provider: &Provider, offer: Option<&'f Offer>, model: &str) -> Self {
        let offered = offer.and_then(|offer| offer.model(model));
        Self { offered, known: known_model(provider, model) }
    }

    /// The context window in tokens (R36).
    pub(crate) fn window(&self) -> Option<(u32, Source)> {
        let offered = self.offered.and_then(|offered| offered.context_window);
        let known = || Some((self.known?.context_window, Source::Known));
        offered.map(|window| (window, Source::Provider)).or_else(known)
    }

    /// Output tokens at most.
    pub(crate) fn output_max(&self) -> Option<u32> {
        let offered = self.offered.and_then(|offered| offered.output_max);
        offered.or_else(|| Some(self.known?.output_max))
    }

    /// The effort levels that it declares (R35).
    pub(crate) fn effort_levels(&self) -> Option<(Vec<String>, Source)> {
        let offered = self.offered.and_then(|offered| offered.effort_levels.clone());
        let known = || {
            let levels = &self.known?.effort_levels;
            let levels: Vec<_> = levels.iter().map(|level| (*level).to_owned()).collect();
            (!levels.is_empty()).then_some((levels, Source::Known))
        };
        offered.map(|levels| (levels, Source::Provider)).or_else(known)
    }
}

/// The names of a provider's models, each once: those of its own list, or where it has not been asked
/// those of the table; and what the settings name.
pub(crate) fn models_of(
    config: &Config,
    provider: &Provider,
    offer: Option<&Offer>,
) -> Vec<String> {
    let mut names: Vec<String> = provider.models.clone();
    match offer {
        Some(offer) => names.extend(offer.models.iter().map(|offered| offered.model.clone())),
        None => names.extend(known_models(provider).iter().map(|known| known.model.to_owned())),
    }
    let candidates = config.queues.iter().flat_map(|queue| &queue.candidates);
    let own = candidates.filter(|candidate| candidate.provider == provider.id);
    names.extend(own.map(|candidate| candidate.model.clone()));
    let mut seen = std::collections::HashSet::new();
    names.retain(|name| seen.insert(name.clone()));
    names
}
