//! `ekiden catalog` and `ekiden rescan`: what models there are and what they take (R35 to R38). The
//! first refuses to ask anybody but the gateway.

use std::time::Duration;

use http::Method;
use serde::Deserialize;
use serde_json::json;

use crate::args::{CatalogArgs, Form};
use crate::failure::{Ended, Failure};
use crate::provider::{ListThem, Unknown as NoProvider};
use crate::running::{self, Api};
use crate::table::{Cell, Table};
use crate::terminal::{Ink, Say, Terminal};

/// Four providers are asked at a time, 15 s each.
const LIMIT: Duration = Duration::from_secs(600);

#[derive(Debug, Deserialize)]
struct Catalog {
    providers: Vec<Provider>,
}

#[derive(Debug, Deserialize)]
struct Provider {
    id: String,
    hidden: bool,
    #[serde(default)]
    scanned_ms: Option<u64>,
    #[serde(default)]
    trouble: Option<String>,
    models: Vec<Model>,
}

#[derive(Debug, Deserialize)]
struct Model {
    model: String,
    #[serde(default)]
    context_window: Option<u64>,
    #[serde(default)]
    efforts: Option<Vec<String>>,
    #[serde(default)]
    price: Option<String>,
}

/// Shows the catalog as it was kept.
///
/// # Errors
/// When there is no gateway, or no such provider.
pub(crate) fn run(terminal: &Terminal, args: &CatalogArgs) -> Result<Ended, Failure> {
    let api = Api::at(args.asking.url.as_deref());
    let text = running::block_on(api.get(terminal, "/api/v1/catalog"))?;
    show(terminal, &api, args, &text)
}

/// Has providers asked for their models, and shows what came of it; badly where one did not answer.
///
/// # Errors
/// When there is no gateway, or no such provider.
pub(crate) fn rescan(terminal: &Terminal, args: &CatalogArgs) -> Result<Ended, Failure> {
    let api = Api::at(args.asking.url.as_deref());
    let body = json!({ "providers": args.some_providers });
    let asking = api.send(terminal, Method::POST, "/api/v1/catalog/rescan", Some(&body), LIMIT);
    let text = running::block_on(terminal.while_waiting(&Asking, asking))?;
    show(terminal, &api, args, &text)
}

fn show(terminal: &Terminal, api: &Api, args: &CatalogArgs, text: &str) -> Result<Ended, Failure> {
    let catalog: Catalog = api.parsed(terminal, text)?;
    let wanted = &args.some_providers;
    let known = |id: &String| catalog.providers.iter().any(|provider| provider.id == *id);
    if let Some(unknown) = wanted.iter().find(|id| !known(id)) {
        return Err(Failure::trouble(terminal, &NoProvider(unknown), Some(&ListThem)));
    }
    let asked = |provider: &&Provider| wanted.is_empty() || wanted.contains(&provider.id);
    let shown: Vec<&Provider> = catalog.providers.iter().filter(asked).collect();
    if args.asking.form() == Form::Json {
        terminal.line(text.trim_end())?;
    } else {
        for provider in &shown {
            let heading = terminal.say(&Heading(provider));
            terminal.line(&terminal.ink(Ink::Strong, &heading))?;
            terminal.raw(&models(terminal, provider))?;
        }
    }
    let troubled = shown.iter().any(|provider| provider.trouble.is_some());
    Ok(if troubled { Ended::Badly } else { Ended::Well })
}

fn models(terminal: &Terminal, provider: &Provider) -> String {
    let mut table = Table::default();
    for model in &provider.models {
        let window = model.context_window.map_or(String::new(), |window| window.to_string());
        let efforts = model.efforts.as_ref().map_or(String::new(), |levels| levels.join(" "));
        table.row([
            Cell::new(&model.model),
            Cell::number(window),
            Cell::new(efforts).ink(Ink::Dim),
            Cell::new(model.price.as_deref().unwrap_or_default()).ink(Ink::Dim),
        ]);
    }
    table.lines(terminal, "  ")
}

struct Asking;

impl Say for Asking {
    fn english(&self) -> String {
        "asking the providers for their models".to_owned()
    }

    fn chinese(&self) -> String {
        "正在向各提供方询问其模型".to_owned()
    }
}

struct Heading<'a>(&'a Provider);

impl Say for Heading<'_> {
    fn english(&self) -> String {
        let Provider { id, hidden, scanned_ms, trouble, models } = self.0;
        let about = match (hidden, trouble, scanned_ms) {
            (true, _, _) => "hidden".to_owned(),
            (false, Some(trouble), _) => format!("could not be asked: {trouble}"),
            (false, None, None) => "not asked yet: `ekiden rescan`".to_owned(),
            (false, None, Some(_)) => format!("{} models", models.len()),
        };
        format!("{id}: {about}")
    }

    fn chinese(&self) -> String {
        let Provider { id, hidden, scanned_ms, trouble, models } = self.0;
        let about = match (hidden, trouble, scanned_ms) {
            (true, _, _) => "已隐藏".to_owned(),
            (false, Some(trouble), _) => format!("无法询问：{trouble}"),
            (false, None, None) => "尚未询问：`ekiden rescan`".to_owned(),
            (false, None, Some(_)) => format!("{} 个模型", models.len()),
        };
        format!("{id}：{about}")
    }
}
