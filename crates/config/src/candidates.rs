//! A queue's candidates. Refuses a route twice, a queue inside a queue, and providers that are
//! not there.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::assemble::clock_fields;
use crate::check;
use crate::clocks::{ClockSettings, Locality};
use crate::keys::{self, Kind};
use crate::mask;
use crate::mistake::{CandidateMistake, Contained, Found, Misfit, ProviderAdvice};
use crate::problem::nearest;
use crate::read::{Fields, Reader};
use crate::settings::{Candidate, Provider};

/// The queue that is read, and what stands around it.
pub(crate) struct Place<'a> {
    pub(crate) queue: &'a str,
    pub(crate) providers: &'a [Provider],
    /// The ids of all written providers, wrong ones too.
    pub(crate) known: &'a [String],
    /// The ids of all queues.
    pub(crate) queues: &'a [String],
    /// The clocks of the queue.
    pub(crate) clocks: ClockSettings,
}

/// Reads `candidates`.
pub(crate) fn read(
    reader: &mut Reader<'_>,
    entry: Option<&Spanned<DeValue<'_>>>,
    place: &Place<'_>,
) -> Vec<Candidate> {
    let Some(entry) = entry else {
        return Vec::new();
    };
    let path = format!("queues.{}", place.queue);
    reader.note(&path, "candidates", entry.span());
    let mut list = Vec::new();
    match entry.get_ref() {
        DeValue::Array(array) => {
            for (at, entry) in array.iter().enumerate() {
                let candidate = match entry.get_ref() {
                    DeValue::String(route) => {
                        plain(reader, entry.span(), route, place).map(|one| (one, entry.span()))
                    }
                    DeValue::Table(table) => {
                        let path = format!("{path}.candidates.{at}");
                        with_options(reader, entry.span(), table, &path, place)
                    }
                    DeValue::Integer(_)
                    | DeValue::Float(_)
                    | DeValue::Boolean(_)
                    | DeValue::Datetime(_)
                    | DeValue::Array(_) => {
                        wrong_type(reader, entry);
                        None
                    }
                };
                if let Some((candidate, span)) = candidate {
                    push(reader, &mut list, candidate, span);
                }
            }
        }
        DeValue::String(lines) => {
            for (line, span) in lines_of(reader.text, entry.span(), lines) {
                if let Some(candidate) = plain(reader, span.clone(), line, place) {
                    push(reader, &mut list, candidate, span);
                }
            }
        }
        DeValue::Integer(_)
        | DeValue::Float(_)
        | DeValue::Boolean(_)
        | DeValue::Datetime(_)
        | DeValue::Table(_) => wrong_type(reader, entry),
    }
    list
}

/// Reads `fallbacks` of `[direct]` (C2).
pub(crate) fn fallbacks(
    reader: &mut Reader<'_>,
    fields: &Fields,
    providers: &[Provider],
    clocks: ClockSettings,
) -> Vec<Candidate> {
    let known: Vec<String> = providers.iter().map(|provider| provider.id.clone()).collect();
    let place = Place { queue: "", providers, known: &known, queues: &[], clocks };
    let span = fields.span("fallbacks").unwrap_or_default();
    let mut list = Vec::new();
    for route in fields.texts("fallbacks") {
        let Some((provider, model)) = known_route(reader, span.clone(), &route, &place) else {
            continue;
        };
        let fallback = candidate(provider, model, &Fields::none(""), &place);
        if list.iter().any(|other: &Candidate| other.route() == fallback.route()) {
            let route = mask::shown(&fallback.route()).to_owned();
            reader.error(span.clone(), CandidateMistake::TwiceInFallbacks { route });
            continue;
        }
        list.push(fallback);
    }
    list
}

/// Provider and model of `provider/model`, `provider|model` or `provider model`; the model may
/// hold further slashes.
pub(crate) fn split_route(text: &str) -> Option<(&str, &str)> {
    let text = text.trim();
    let at = text.find(|c: char| c == '/' || c == '|' || c.is_whitespace())?;
    let provider = &text[..at];
    let model = text[at..].trim_start();
    let model = model.strip_prefix(['/', '|']).unwrap_or(model).trim();
    let whole = !provider.is_empty() && !model.is_empty() && !model.contains(char::is_whitespace);
    whole.then_some((provider, model))
}

fn wrong_type(reader: &mut Reader<'_>, entry: &Spanned<DeValue<'_>>) {
    let (name, kind, found) = ("candidates", Kind::Candidates, Found::of(entry.get_ref()));
    reader.error(entry.span(), Misfit::WrongType { name, kind, found });
}

/// The lines of a text that name a candidate, each with its span in the file where it is found.
fn lines_of<'t>(text: &str, span: Range<usize>, lines: &'t str) -> Vec<(&'t str, Range<usize>)> {
    let mut from = span.start;
    let mut found = Vec::new();
    for line in lines.lines() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        // Escapes may hide a line; then the whole text is shown.
        match text.get(from..span.end).and_then(|rest| rest.find(line)) {
            Some(at) => {
                let start = from + at;
                from = start + line.len();
                found.push((line, start..from));
            }
            None => found.push((line, span.clone())),
        }
    }
    found
}

fn push(
    reader: &mut Reader<'_>,
    list: &mut Vec<Candidate>,
    candidate: Candidate,
    span: Range<usize>,
) {
    let twin = list.iter().position(|other: &Candidate| other.route() == candidate.route());
    match twin {
        Some(at) => {
            let route = mask::shown(&candidate.route()).to_owned();
            reader.error(span, CandidateMistake::Twice { route, place: at + 1 });
        }
        None => list.push(candidate),
    }
}

fn plain(
    reader: &mut Reader<'_>,
    span: Range<usize>,
    route: &str,
    place: &Place<'_>,
) -> Option<Candidate> {
    let (provider, model) = known_route(reader, span, route, place)?;
    Some(candidate(provider, model, &Fields::none(""), place))
}

fn with_options(
    reader: &mut Reader<'_>,
    span: Range<usize>,
    table: &DeTable<'_>,
    path: &str,
    place: &Place<'_>,
) -> Option<(Candidate, Range<usize>)> {
    let section = keys::section("queues.ID.candidates")?;
    let fields = reader.section(table, section, path, &[]);
    let Some(route_span) = fields.span("route") else {
        if !table.contains_key("route") {
            reader.error(span, CandidateMistake::NoRoute);
        }
        return None;
    };
    let route = fields.text("route").unwrap_or_default();
    let (provider, model) = known_route(reader, route_span.clone(), route, place)?;
    let candidate = candidate(provider, model, &fields, place);
    if let Some(effort) = &candidate.effort
        && !candidate.effort_levels.is_empty()
        && !candidate.effort_levels.contains(effort)
    {
        let effort = effort.clone();
        reader.warn(fields.span("effort"), CandidateMistake::UnknownEffort { effort });
    }
    Some((candidate, route_span))
}

fn candidate(provider: &str, model: &str, fields: &Fields, place: &Place<'_>) -> Candidate {
    let locality = place
        .providers
        .iter()
        .find(|known| known.id == provider)
        .map_or(Locality::Remote, |known| known.base_url.locality());
    Candidate {
        provider: provider.to_owned(),
        model: model.to_owned(),
        effort: fields.text("effort").map(str::to_owned),
        effort_levels: fields.texts("effort_levels"),
        context_window: fields.count("context_window"),
        max_tokens: fields.count("max_tokens"),
        max_sessions: fields.count("max_sessions"),
        max_in_flight: fields.count("max_in_flight"),
        clocks: clock_fields(fields).over(place.clocks).resolve(locality),
    }
}

/// Provider and model of a route whose provider is written in the file.
fn known_route<'r>(
    reader: &mut Reader<'_>,
    span: Range<usize>,
    route: &'r str,
    place: &Place<'_>,
) -> Option<(&'r str, &'r str)> {
    let written = mask::shown(route).to_owned();
    if let Err(hidden) = check::unhidden("candidates", route) {
        reader.error(span, hidden);
        return None;
    }
    if !check::is_entry(route) {
        reader.error(span, CandidateMistake::Line { written });
        return None;
    }
    let queue = |name: &str| place.queues.iter().any(|id| id == name);
    let Some((provider, model)) = split_route(route) else {
        if queue(route) {
            let itself = route == place.queue;
            let which = if itself { Contained::Itself } else { Contained::Another };
            reader.error(span, CandidateMistake::IsQueue { written, which });
        } else {
            let near = nearest(route, place.known.iter().map(String::as_str));
            let provider = near.unwrap_or("provider").to_owned();
            reader.error(span, CandidateMistake::Form { written, provider });
        }
        return None;
    };
    if place.known.iter().any(|known| known == provider) {
        return Some((provider, model));
    }
    if provider == "ekiden" || queue(provider) {
        reader.error(span, CandidateMistake::LeadsBack { route: written });
        return None;
    }
    let near = nearest(provider, place.known.iter().map(String::as_str));
    let shown = mask::shown(provider).to_owned();
    // R40: an import may bring it before its provider is there.
    let advice = match near {
        Some(near) => {
            let (near, model) = (near.to_owned(), mask::shown(model).to_owned());
            ProviderAdvice::Near { near, model }
        }
        None if place.known.is_empty() => ProviderAdvice::Write { provider: shown.clone() },
        None => ProviderAdvice::Known(place.known.to_vec()),
    };
    reader.warn(Some(span), CandidateMistake::UnknownProvider { provider: shown, advice });
    Some((provider, model))
}
