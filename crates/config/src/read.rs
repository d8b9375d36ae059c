//! The file's tree, section by section, against the table of keys. Goes on after a problem, so
//! that one look at the file shows all of them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::check;
use crate::env::Env;
use crate::keys::{self, Key, Kind, SECTIONS, Section, keys_of};
use crate::mask;
use crate::mistake::{Elsewhere, Found, KeyAdvice, KeyMistake, Mistake};
use crate::problem::{Draft, SHOWN_MAX, Severity, nearest};
use crate::settings::Origin;
use crate::value::Value;

/// The checked values of one section.
pub(crate) struct Fields {
    path: String,
    values: BTreeMap<&'static str, (Value, Range<usize>)>,
}

/// What is known while a file is read.
pub(crate) struct Reader<'a> {
    pub(crate) text: &'a str,
    pub(crate) env: &'a dyn Env,
    /// Where each line of the text starts, in bytes.
    lines: Vec<usize>,
    /// Relative paths start here.
    pub(crate) folder: Option<&'a Path>,
    pub(crate) problems: Vec<Draft>,
    pub(crate) origins: BTreeMap<String, Origin>,
    /// The paths of all keys that stand in the file, fitting or not.
    pub(crate) written: BTreeSet<String>,
}

/// Keys of other programs and earlier versions, and what to write instead.
const ELSEWHERE: [(&str, Elsewhere); 5] = [
    ("chains", Elsewhere::Chains),
    ("match", Elsewhere::Match),
    ("models", Elsewhere::Models),
    ("on_failure", Elsewhere::OnFailure),
    ("api_base", Elsewhere::ApiBase),
];

/// Read and ignored (R8).
const IGNORED: &str = "retrySameModelOnce";

impl<'a> Reader<'a> {
    pub(crate) fn new(text: &'a str, folder: Option<&'a Path>, env: &'a dyn Env) -> Self {
        let starts = text.match_indices('\n').map(|(at, _)| at + 1);
        Self {
            text,
            lines: std::iter::once(0).chain(starts).collect(),
            env,
            folder,
            problems: Vec::new(),
            origins: BTreeMap::new(),
            written: BTreeSet::new(),
        }
    }
}

impl Reader<'_> {
    pub(crate) fn error(&mut self, span: Range<usize>, mistake: impl Into<Mistake>) {
        let mistake = mistake.into();
        self.problems.push(Draft { severity: Severity::Error, span: Some(span), mistake });
    }

    pub(crate) fn warn(&mut self, span: Option<Range<usize>>, mistake: impl Into<Mistake>) {
        let mistake = mistake.into();
        self.problems.push(Draft { severity: Severity::Warning, span, mistake });
    }

    /// Reads the keys of one section; `inner` are the names that the caller reads itself.
    pub(crate) fn section(
        &mut self,
        table: &DeTable<'_>,
        section: &'static Section,
        path: &str,
        inner: &[&str],
    ) -> Fields {
        let mut fields = Fields { path: path.to_owned(), values: BTreeMap::new() };
        for (name, entry) in in_order(table) {
            let written = name.get_ref().as_ref();
            self.written.insert(joined(path, written));
            let key = section.groups.iter().flat_map(|group| keys_of(*group));
            let key = key.into_iter().find(|key| key.name == written);
            match key {
                Some(key) if key.kind == Kind::Candidates => {}
                Some(key) => match check::value(key.name, key.kind, entry.get_ref()) {
                    Ok(value) => {
                        self.note(path, key.name, entry.span());
                        fields.values.insert(key.name, (value, entry.span()));
                    }
                    Err(misfit) => self.error(entry.span(), misfit),
                },
                None if inner.contains(&written) => {}
                None => self.unknown(name, section, inner),
            }
        }
        fields
    }

    /// Puts variables over the file's values.
    pub(crate) fn variables(&mut self, fields: &mut Fields) {
        let keys = keys_of(keys::Group::Top).filter_map(|key| Some((key, key.variable?)));
        for (key, variable) in keys {
            let Some(written) = self.env.var(variable) else {
                continue;
            };
            match check::text(key.name, key.kind, &written) {
                Ok(value) => {
                    let origin = Origin::Env { variable: variable.to_owned() };
                    self.origins.insert(key.name.to_owned(), origin);
                    fields.values.insert(key.name, (value, 0..0));
                }
                Err(misfit) => {
                    let (severity, span) = (Severity::Error, None);
                    let mistake = Mistake::of_variable(variable, misfit);
                    self.problems.push(Draft { severity, span, mistake });
                }
            }
        }
    }

    /// The table that stands at a name, if one does; anything else there is a problem.
    pub(crate) fn table<'t, 'i>(
        &mut self,
        entry: &'t Spanned<DeValue<'i>>,
        path: &str,
    ) -> Option<&'t DeTable<'i>> {
        let table = entry.get_ref().as_table();
        if table.is_none() {
            let found = Found::of(entry.get_ref());
            self.error(entry.span(), KeyMistake::NoSection { path: path.to_owned(), found });
        }
        table
    }

    pub(crate) fn note(&mut self, path: &str, name: &str, span: Range<usize>) {
        let line = self.lines.partition_point(|start| *start <= span.start);
        self.origins.insert(joined(path, name), Origin::File { line });
    }

    /// A path of the file: `~/` is the home folder, and relative ones start at the file's folder.
    pub(crate) fn path(&self, written: &str) -> PathBuf {
        let home = self.env.var("HOME").or_else(|| self.env.var("USERPROFILE"));
        if let Some(rest) = written.strip_prefix("~/")
            && let Some(home) = home
        {
            return Path::new(&home).join(rest);
        }
        self.folder.map_or_else(|| PathBuf::from(written), |folder| folder.join(written))
    }

    fn unknown(&mut self, name: &Spanned<std::borrow::Cow<'_, str>>, at: &Section, inner: &[&str]) {
        let written = name.get_ref().as_ref();
        if written == IGNORED {
            self.warn(Some(name.span()), KeyMistake::Ignored { key: IGNORED });
            return;
        }
        let here = at.groups.iter().flat_map(|group| keys_of(*group)).map(|key| key.name);
        let here: Vec<&str> = here.chain(inner.iter().copied()).collect();
        let elsewhere = places_of(written);
        let instead = ELSEWHERE.iter().find(|(name, _)| *name == written);
        let advice = if self.problems.len() >= SHOWN_MAX {
            // Nobody reads it, and looking for near names is slow.
            KeyAdvice::Nothing
        } else if !elsewhere.is_empty() {
            KeyAdvice::BelongsIn { key: written.to_owned(), places: elsewhere }
        } else if let Some((_, instead)) = instead {
            KeyAdvice::Instead(*instead)
        } else if let Some(near) = nearest(written, here.iter().copied()) {
            KeyAdvice::Near(near.to_owned())
        } else if let Some(near) = nearest(written, all_keys().map(|key| key.name)) {
            KeyAdvice::NearElsewhere { near, places: places_of(near) }
        } else {
            KeyAdvice::KnownHere(here.iter().map(|key| (*key).to_owned()).collect())
        };
        let key = mask::shown(written).to_owned();
        self.error(name.span(), KeyMistake::Unknown { key, section: at.path, advice });
    }
}

impl Fields {
    /// No value at all.
    pub(crate) fn none(path: &str) -> Self {
        Self { path: path.to_owned(), values: BTreeMap::new() }
    }

    /// Where the value of a key stands, if it was set in the file.
    pub(crate) fn span(&self, name: &str) -> Option<Range<usize>> {
        self.values.get(name).map(|(_, span)| span.clone()).filter(|span| !span.is_empty())
    }

    pub(crate) fn value(&self, name: &str) -> Option<&Value> {
        self.values.get(name).map(|(value, _)| value)
    }

    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        match self.value(name) {
            Some(Value::Text(text)) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn texts(&self, name: &str) -> Vec<String> {
        match self.value(name) {
            Some(Value::Texts(texts)) => texts.clone(),
            _ => Vec::new(),
        }
    }

    pub(crate) fn is_on(&self, name: &str, unset: Unset) -> bool {
        match self.value(name) {
            Some(Value::Bool(on)) => *on,
            _ => unset == Unset::On,
        }
    }

    /// A number in the key's own unit.
    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        match self.value(name) {
            Some(Value::Integer(number) | Value::Ms(number) | Value::Bytes(number)) => {
                Some(*number)
            }
            _ => None,
        }
    }

    /// A number that its bounds keep within 32 bits.
    pub(crate) fn count(&self, name: &str) -> Option<u32> {
        self.number(name).and_then(|number| u32::try_from(number).ok())
    }

    pub(crate) fn path(&self) -> &str {
        &self.path
    }
}

/// What a switch is when nobody set it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unset {
    On,
    Off,
}

/// The entries of a table in the order of the file.
pub(crate) fn in_order<'t, 'i>(
    table: &'t DeTable<'i>,
) -> Vec<(&'t Spanned<std::borrow::Cow<'i, str>>, &'t Spanned<DeValue<'i>>)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(name, _)| name.span().start);
    entries
}

pub(crate) fn joined(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

fn all_keys() -> impl Iterator<Item = &'static Key> {
    SECTIONS.iter().flat_map(|section| section.groups).flat_map(|group| keys_of(*group))
}

/// The sections that take a key.
fn places_of(name: &str) -> Vec<&'static str> {
    let takes = |section: &&Section| {
        section.groups.iter().flat_map(|group| keys_of(*group)).any(|key| key.name == name)
    };
    SECTIONS.iter().filter(takes).map(|section| section.path).collect()
}
