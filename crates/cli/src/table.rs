//! Columns that line up, whatever script stands in them. It refuses to cut anything.

use unicode_width::UnicodeWidthStr;

use crate::terminal::{Ink, Terminal};

/// Rows of cells.
#[derive(Debug, Default)]
pub(crate) struct Table {
    rows: Vec<Vec<Cell>>,
}

/// One cell.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    text: String,
    ink: Option<Ink>,
    side: Side,
}

/// Where a cell's text stands in its column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Side {
    Left,
    Right,
}

impl Cell {
    /// Words.
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), ink: None, side: Side::Left }
    }

    /// A number.
    pub(crate) fn number(text: impl Into<String>) -> Self {
        Self { side: Side::Right, ..Self::new(text) }
    }

    /// The same in a colour.
    pub(crate) fn ink(self, ink: Ink) -> Self {
        Self { ink: Some(ink), ..self }
    }
}

impl Table {
    /// A table with headings.
    pub(crate) fn headed(headings: impl IntoIterator<Item = Cell>) -> Self {
        Self { rows: vec![headings.into_iter().map(|cell| cell.ink(Ink::Dim)).collect()] }
    }

    /// One row more.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// All rows as lines, each behind an indent.
    pub(crate) fn lines(&self, terminal: &Terminal, indent: &str) -> String {
        let mut widths: Vec<usize> = Vec::new();
        for row in &self.rows {
            widths.resize(widths.len().max(row.len()), 0);
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.text.width());
            }
        }
        let mut out = String::new();
        for row in &self.rows {
            let mut line = String::new();
            for (at, (cell, width)) in row.iter().zip(&widths).enumerate() {
                let gap = if at == 0 { indent } else { "  " };
                let space = " ".repeat(width - cell.text.width());
                let text = match cell.ink {
                    Some(ink) if !cell.text.is_empty() => terminal.ink(ink, &cell.text),
                    Some(_) | None => cell.text.clone(),
                };
                line.push_str(gap);
                match cell.side {
                    Side::Left => line.push_str(&(text + &space)),
                    Side::Right => line.push_str(&(space + &text)),
                }
            }
            out.push_str(line.trim_end());
            out.push('\n');
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::Language;

    #[test]
    fn columns_line_up_where_a_letter_is_two_wide() {
        let mut table = Table::headed([Cell::new("名"), Cell::number("n")]);
        table.row([Cell::new("default"), Cell::number("12"), Cell::new("")]);
        let told = table.lines(&Terminal::plain(Language::Chinese), " ");
        assert_eq!(told, " 名        n\n default  12\n");
    }
}
