//! A queue's candidates in the file: a list, sections `[[queues.ID.candidates]]`, or a text with a
//! candidate a line. Refuses to lose a comment: one beside or above a candidate goes where it goes.
//!
//! A text becomes a list when it is changed: options have no place in it.

use toml_edit::{Array, ArrayOfTables, InlineTable, Item, Table, TableLike};

use super::EditError;
use super::document::{item_of, known_of, put, same_members};
use crate::candidates::split_route;
use crate::mask;
use crate::mistake::{Absent, EditMistake};
use crate::value::Value;

const KEY: &str = "candidates";
const INDENT: &str = "  ";

/// One candidate with what stands around it.
struct Row {
    /// Above it and before it, from the start of a line.
    lead: String,
    body: Body,
    /// Behind it, to the end of the line.
    tail: String,
}

enum Body {
    Value(toml_edit::Value),
    Table(Table),
}

/// All of them, and how they are written.
struct List {
    rows: Vec<Row>,
    form: Form,
}

#[derive(Clone, PartialEq, Eq)]
enum Form {
    /// On one line, with what stands before the first and behind the last.
    Line {
        open: String,
        close: String,
    },
    /// A line each; what stands behind the bracket, and before the closing one.
    Lines {
        open: String,
        close: String,
    },
    Tables,
}

pub(super) fn add(
    queue: &mut dyn TableLike,
    route: &str,
    at: Option<usize>,
) -> Result<(), EditError> {
    let mut list = List::read(queue)?;
    if list.place(route).is_some() {
        return Err(EditMistake::RouteThere { route: mask::shown(route).to_owned() }.into());
    }
    let at = at.unwrap_or(list.rows.len()).min(list.rows.len());
    let row = list.new_row(route)?;
    list.rows.insert(at, row);
    list.write(queue);
    Ok(())
}

pub(super) fn remove(queue: &mut dyn TableLike, route: &str) -> Result<(), EditError> {
    let mut list = List::read(queue)?;
    let Some(at) = list.place(route) else {
        return Err(no_such(route, &list));
    };
    list.rows.remove(at);
    list.write(queue);
    Ok(())
}

pub(super) fn order(queue: &mut dyn TableLike, routes: &[String]) -> Result<(), EditError> {
    let mut list = List::read(queue)?;
    let asked: Vec<String> = routes.iter().map(|route| plain(route)).collect();
    let known = list.routes();
    same_members(&known, &asked, || EditMistake::CandidateOrder { known: known.clone() })?;
    list.rows.sort_by_key(|row| asked.iter().position(|route| *route == row.route()));
    list.write(queue);
    Ok(())
}

pub(super) fn place_of(queue: &mut dyn TableLike, route: &str) -> Result<usize, EditError> {
    let list = List::read(queue)?;
    list.place(route).ok_or_else(|| no_such(route, &list))
}

fn no_such(route: &str, list: &List) -> EditError {
    let known = known_of(route, &list.routes());
    Absent::Candidate { route: mask::shown(route).to_owned(), known }.into()
}

/// Sets an option, or takes it out.
pub(super) fn set(
    queue: &mut dyn TableLike,
    at: usize,
    key: &str,
    value: Option<&Value>,
) -> Result<(), EditError> {
    let mut list = List::read(queue)?;
    let count = list.rows.len();
    let Some(row) = list.rows.get_mut(at) else {
        return Err(Absent::Place { place: at, count }.into());
    };
    let value = value.map(item_of).transpose()?;
    match (&mut row.body, value) {
        (Body::Table(table), value) => option(table, key, value)?,
        (Body::Value(toml_edit::Value::InlineTable(table)), value) => {
            option(table, key, value)?;
            table.fmt();
            // One without options is written like the others.
            if let Some(route) = table.get("route").filter(|_| table.len() == 1).cloned() {
                row.body = Body::Value(route);
            }
        }
        (Body::Value(plain), Some(value)) => {
            let mut table = InlineTable::new();
            if key != "route" {
                let mut route = plain.clone();
                route.decor_mut().clear();
                table.insert("route", route);
            }
            table.insert(key, value);
            *plain = toml_edit::Value::InlineTable(table);
        }
        (Body::Value(_), None) => return Err(not_set(key)),
    }
    list.write(queue);
    Ok(())
}

/// Other candidates, all of them without options.
pub(super) fn replace(queue: &mut dyn TableLike, routes: &[String]) {
    let mut array: Array = routes.iter().map(String::as_str).collect();
    if routes.len() > 2 {
        for value in array.iter_mut() {
            value.decor_mut().set_prefix(format!("\n{INDENT}"));
        }
        array.set_trailing("\n");
        array.set_trailing_comma(true);
    }
    put(queue, KEY, array.into());
}

fn option(
    table: &mut dyn TableLike,
    key: &str,
    value: Option<toml_edit::Value>,
) -> Result<(), EditError> {
    match value {
        Some(value) => put(table, key, value),
        None => drop(table.remove(key).ok_or_else(|| not_set(key))?),
    }
    Ok(())
}

fn not_set(key: &str) -> EditError {
    Absent::Option { key: mask::shown(key).to_owned() }.into()
}

/// A route as it is compared.
fn plain(route: &str) -> String {
    match split_route(route) {
        Some((provider, model)) => format!("{provider}/{model}"),
        None => route.trim().to_owned(),
    }
}

impl Row {
    fn route(&self) -> String {
        let written = match &self.body {
            Body::Value(toml_edit::Value::InlineTable(table)) => {
                table.get("route").and_then(toml_edit::Value::as_str)
            }
            Body::Value(value) => value.as_str(),
            Body::Table(table) => table.get("route").and_then(Item::as_str),
        };
        plain(written.unwrap_or_default())
    }
}

impl List {
    fn read(queue: &dyn TableLike) -> Result<Self, EditError> {
        let empty = || Form::Line { open: String::new(), close: String::new() };
        match queue.get(KEY) {
            None | Some(Item::None) => Ok(Self { rows: Vec::new(), form: empty() }),
            Some(Item::ArrayOfTables(tables)) => Ok(Self {
                rows: tables.iter().map(|table| bare(Body::Table(table.clone()))).collect(),
                form: Form::Tables,
            }),
            Some(Item::Value(toml_edit::Value::Array(array))) => Ok(Self::of_array(array)),
            Some(Item::Value(toml_edit::Value::String(text))) => Ok(Self::of_text(text.value())),
            Some(Item::Value(_) | Item::Table(_)) => Err(EditMistake::NoList.into()),
        }
    }

    fn of_array(array: &Array) -> Self {
        let raw = |text: Option<&toml_edit::RawString>| {
            text.and_then(|text| text.as_str()).unwrap_or_default().to_owned()
        };
        let trailing = raw(Some(array.trailing()));
        let mut rows: Vec<Row> = Vec::new();
        let mut open = String::new();
        let mut in_lines = trailing.contains('\n');
        let mut suffix = String::new();
        for value in array.iter() {
            let before = format!("{suffix}{}", raw(value.decor().prefix()));
            suffix = raw(value.decor().suffix());
            let (tail, lead) = match before.split_once('\n') {
                Some((tail, lead)) => {
                    in_lines = true;
                    (tail.trim_end().to_owned(), lead.to_owned())
                }
                None => (before, String::new()),
            };
            match rows.last_mut() {
                Some(last) => last.tail = tail,
                None => open = tail,
            }
            let mut value = value.clone();
            value.decor_mut().clear();
            rows.push(Row { lead, body: Body::Value(value), tail: String::new() });
        }
        let rest = format!("{suffix}{trailing}");
        let (tail, close) = match rest.split_once('\n') {
            Some((tail, close)) => (tail.trim_end().to_owned(), close.to_owned()),
            None => (String::new(), rest),
        };
        match rows.last_mut() {
            Some(last) => last.tail = tail,
            None => open = tail,
        }
        if in_lines {
            return Self { rows, form: Form::Lines { open, close } };
        }
        rows.iter_mut().for_each(|row| row.tail.clear());
        Self { rows, form: Form::Line { open, close } }
    }

    fn of_text(text: &str) -> Self {
        let mut rows = Vec::new();
        let mut lead = INDENT.to_owned();
        for line in text.lines() {
            let (route, note) = match line.split_once('#') {
                Some((route, note)) => (route.trim(), Some(note.trim())),
                None => (line.trim(), None),
            };
            match (route, note) {
                ("", None) => {}
                ("", Some(note)) => lead.push_str(&format!("# {note}\n{INDENT}")),
                (route, note) => {
                    let lead = std::mem::replace(&mut lead, INDENT.to_owned());
                    let tail = note.map(|note| format!(" # {note}")).unwrap_or_default();
                    rows.push(Row { lead, body: Body::Value(route.into()), tail });
                }
            }
        }
        let close = lead.strip_suffix(INDENT).unwrap_or_default().to_owned();
        Self { rows, form: Form::Lines { open: String::new(), close } }
    }

    fn routes(&self) -> Vec<String> {
        self.rows.iter().map(Row::route).collect()
    }

    fn place(&self, route: &str) -> Option<usize> {
        let route = plain(route);
        self.rows.iter().position(|row| row.route() == route)
    }

    fn new_row(&self, route: &str) -> Result<Row, EditError> {
        let value = item_of(&Value::Text(route.to_owned()))?;
        if self.form == Form::Tables {
            let mut table = Table::new();
            table.insert("route", Item::Value(value));
            return Ok(bare(Body::Table(table)));
        }
        let lead = match (&self.form, self.rows.first()) {
            (Form::Lines { .. }, Some(first)) => {
                first.lead.rsplit('\n').next().unwrap_or(INDENT).to_owned()
            }
            (Form::Lines { .. }, None) => INDENT.to_owned(),
            (Form::Line { .. } | Form::Tables, _) => String::new(),
        };
        Ok(Row { lead, body: Body::Value(value), tail: String::new() })
    }

    fn write(self, queue: &mut dyn TableLike) {
        match self.form {
            Form::Tables => write_tables(queue, self.rows),
            Form::Line { open, close } => {
                let mut array = Array::new();
                for (at, row) in self.rows.into_iter().enumerate() {
                    let prefix = if at == 0 { open.as_str() } else { " " };
                    push(&mut array, row.body, prefix);
                }
                array.set_trailing(close);
                put(queue, KEY, array.into());
            }
            Form::Lines { open, close } => {
                let mut array = Array::new();
                let mut tail = open;
                let some = !self.rows.is_empty();
                for row in self.rows {
                    push(&mut array, row.body, &format!("{tail}\n{}", row.lead));
                    tail = row.tail;
                }
                array.set_trailing(format!("{tail}\n{close}"));
                array.set_trailing_comma(some);
                put(queue, KEY, array.into());
            }
        }
    }
}

fn bare(body: Body) -> Row {
    Row { lead: String::new(), body, tail: String::new() }
}

fn push(array: &mut Array, body: Body, prefix: &str) {
    if let Body::Value(mut value) = body {
        value.decor_mut().set_prefix(prefix);
        value.decor_mut().set_suffix("");
        array.push_formatted(value);
    }
}

fn write_tables(queue: &mut dyn TableLike, rows: Vec<Row>) {
    let mut tables: Vec<Table> = rows
        .into_iter()
        .filter_map(|row| match row.body {
            Body::Table(table) => Some(table),
            Body::Value(_) => None,
        })
        .collect();
    let mut places: Vec<isize> = tables.iter().filter_map(Table::position).collect();
    places.sort_unstable();
    let mut places = places.into_iter();
    // One without a place of its own stands right behind the one before it.
    let mut last = None;
    for table in &mut tables {
        if table.position().is_some() {
            last = places.next();
        }
        table.set_position(last);
    }
    if tables.is_empty() {
        queue.remove(KEY);
        return;
    }
    let mut list = ArrayOfTables::new();
    tables.into_iter().for_each(|table| list.push(table));
    queue.insert(KEY, Item::ArrayOfTables(list));
}
