//! Asking providers for their lists (R37). It refuses to do so unless somebody rescans.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, Uri};

use ekiden_config::{Locality, Provider};
use ekiden_dialect::splice;
use ekiden_store::{CATALOG_BYTES_MAX, Catalog, Record};

use super::{Catalogs, Offer, Offered, ScanTrouble, VERSION, list};
use crate::core::Core;
use crate::plan::{Plan, ProviderRuntime};
use crate::upstream::Ask;

/// How long one provider may take.
const ASK_WAIT: Duration = Duration::from_secs(15);

impl Core {
    /// Forgets what providers said and asks them again, four at a time; calls run on what comes of it
    /// from then on. Who asks while others are being asked waits for them first.
    pub(crate) async fn rescan(self: &Arc<Self>, of: &[String]) {
        self.catalogs.scanning.fetch_add(1, Ordering::Relaxed);
        // Given back when the question is dropped, too.
        let _scanning = Scanning(&self.catalogs);
        let _turn = self.catalogs.turn.lock().await;
        let plan = self.plan();
        let asked: Vec<&Provider> = plan
            .config()
            .providers
            .iter()
            .filter(|provider| of.is_empty() || of.contains(&provider.id))
            .collect();
        self.forget(&asked);
        let next = AtomicUsize::new(0);
        tokio::join!(
            self.ask_some(&plan, &asked, &next),
            self.ask_some(&plan, &asked, &next),
            self.ask_some(&plan, &asked, &next),
            self.ask_some(&plan, &asked, &next),
        );
        // Windows and levels of effort stand in the plan.
        self.replan();
    }

    fn forget(&self, providers: &[&Provider]) {
        for provider in providers {
            self.catalogs.offers().remove(&provider.id);
            self.catalogs.troubles().remove(&provider.id);
            let provider = provider.id.as_str().into();
            self.write(vec![Record::CatalogForgotten { provider }]);
        }
    }

    async fn ask_some(&self, plan: &Plan, providers: &[&Provider], next: &AtomicUsize) {
        while let Some(provider) = providers.get(next.fetch_add(1, Ordering::Relaxed)) {
            let Some(runtime) = plan.provider(&provider.id) else { continue };
            let asked = tokio::time::timeout(ASK_WAIT, ask(provider, runtime)).await;
            match asked.unwrap_or(Err(ScanTrouble::Unreachable)) {
                Ok(models) => self.learnt(provider, models),
                Err(trouble) => {
                    self.catalogs.troubles().insert(provider.id.clone(), trouble);
                }
            }
        }
    }

    fn learnt(&self, provider: &Provider, models: Vec<Offered>) {
        let offer = Offer {
            base_url: provider.base_url.as_str().to_owned(),
            scanned_ms: self.clock.now().wall_ms,
            models,
        };
        if let Ok(json) = serde_json::to_string(&offer)
            && json.len() <= CATALOG_BYTES_MAX
        {
            let (id, json) = (provider.id.as_str().into(), json.into());
            self.write(vec![Record::Catalog(Catalog { provider: id, version: VERSION, json })]);
        }
        self.catalogs.offers().insert(provider.id.clone(), Arc::new(offer));
    }
}

struct Scanning<'c>(&'c Catalogs);

impl Drop for Scanning<'_> {
    fn drop(&mut self) {
        self.0.scanning.fetch_sub(1, Ordering::Relaxed);
    }
}

async fn ask(provider: &Provider, runtime: &ProviderRuntime) -> Result<Vec<Offered>, ScanTrouble> {
    if provider.lacks_key() {
        return Err(ScanTrouble::NoKey);
    }
    // LM Studio says windows on a path of its own; other servers on this machine have none there.
    if provider.base_url.locality() == Locality::Local
        && let Some(own) = provider.base_url.as_str().strip_suffix("/v1")
        && let Ok(models) = ask_at(&format!("{own}/api/v0/models"), runtime).await
        && !models.is_empty()
    {
        return Ok(models);
    }
    let tail = match provider.dialect {
        // Pages there have twenty models unless more are asked for.
        ekiden_config::Dialect::AnthropicMessages => "models?limit=1000",
        ekiden_config::Dialect::OpenAiChat | ekiden_config::Dialect::OpenAiResponses => "models",
    };
    ask_at(&provider.endpoint(tail), runtime).await
}

async fn ask_at(url: &str, runtime: &ProviderRuntime) -> Result<Vec<Offered>, ScanTrouble> {
    let uri = url.parse::<Uri>().map_err(|_| ScanTrouble::Unreachable)?;
    let headers = runtime.headers.request(&HeaderMap::new(), "application/json");
    let ask = Ask { method: Method::GET, uri, headers, body: splice::Body::whole(Bytes::new()) };
    let answer = runtime.lane.send(ask).answer().await;
    let answer = answer.map_err(|_| ScanTrouble::Unreachable)?;
    if !answer.status.is_success() {
        return Err(ScanTrouble::Status(answer.status.as_u16()));
    }
    let body = answer.body.whole(CATALOG_BYTES_MAX).await.map_err(|_| ScanTrouble::Unreachable)?;
    list::read(&body.ok_or(ScanTrouble::NoList)?).ok_or(ScanTrouble::NoList)
}
