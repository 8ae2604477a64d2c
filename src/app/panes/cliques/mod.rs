//! The cliques as a table, which can also be used with the keyboard and a screen reader.

use std::cmp::Ordering;
use std::sync::Arc;

use eframe::egui::{Id, ScrollArea, TextEdit, Ui};
use egui_extras::{Column, TableBody, TableBuilder};

use crate::app::panes::common::empty_state;
use crate::app::state::command::{Commands, ViewCommand};
use crate::app::state::highlight::Item;
use crate::app::state::model::Model;
use crate::app::widgets::naming;
use crate::app::widgets::table::{self, Cursor, Header, Row, Sort, cell, number};
use crate::graph::CliqueId;
use crate::numbers;
use crate::propagation::CompiledNetwork;

/// Minimum width of the pane, in points, at which the columns `n` and `Depth` are shown.
const MIN_WIDE: f32 = 310.0;
/// Gap between columns in points. A wider gap leaves less room for names.
const COLUMN_GAP: f32 = 4.0;
/// Additional gap before the names, in points. Without it, the names seem to belong to the shares.
const NAME_GAP: f32 = 4.0;
/// Index of the column of names in [`HEADERS`].
const NAME_COLUMN: usize = 3;

/// Maximum length of the list of names in a row, in characters. A longer list ends with the number
/// of the names that are left out.
const MAX_LIST_LENGTH: usize = 60;

/// The table and its view state.
#[derive(Debug, Default)]
pub struct CliquesPane {
    sort: Sort<SortBy>,
    filter: String,
    cursor: Cursor<CliqueId>,
    cached: Option<CachedRows>,
}

/// A column that cliques can be sorted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum SortBy {
    Id,
    Names,
    VariableCount,
    #[default]
    Entries,
    Share,
    Depth,
}

/// The headers of the columns that are always shown. The names are last, so that a narrow pane cuts
/// off the names rather than the sizes.
const HEADERS: [Header<SortBy>; 4] = [
    Header::text(SortBy::Id, "#", "Number of the clique"),
    Header::number(SortBy::Entries, "Entries", "Entries of the table"),
    Header::number(SortBy::Share, "Share", "Share of the entries of all cliques"),
    Header::text(SortBy::Names, "Variables", "Names of the variables"),
];

/// The headers of the columns that only a wide pane shows.
const WIDE_HEADERS: [Header<SortBy>; 2] = [
    Header::number(SortBy::VariableCount, "n", "Number of variables"),
    Header::number(SortBy::Depth, "Depth", "Edges to the root").smallest_first(),
];

impl Default for Sort<SortBy> {
    fn default() -> Self {
        Self::descending(SortBy::Entries)
    }
}

/// The rows of the table, and everything that they depend on.
#[derive(Debug)]
struct CachedRows {
    compiled: Arc<CompiledNetwork>,
    sort: Sort<SortBy>,
    filter: String,
    rows: Vec<CliqueId>,
}

impl CliquesPane {
    /// Draws the pane.
    pub fn show(&mut self, ui: &mut Ui, model: &Model, commands: &mut Commands) {
        let Some(compiled) = model.compiled() else {
            empty_state(ui, "Open a network to list the cliques of its junction tree.");
            return;
        };
        let rows = self.rows(compiled);
        ui.horizontal(|ui| {
            let label = ui.label("Filter cliques");
            let count = if rows.len() == compiled.tree().cliques().len() {
                numbers::thousands(rows.len() as u64)
            } else {
                format!("{} of {}", rows.len(), compiled.tree().cliques().len())
            };
            // 90 points are left for the number of cliques.
            let room = (ui.available_width() - 90.0).max(60.0);
            let edit = TextEdit::singleline(&mut self.filter)
                .hint_text("variable or number")
                .desired_width(room);
            ui.add(edit).labelled_by(label.id);
            ui.weak(count);
        });
        ui.separator();
        let selected = match model.selected() {
            Some(Item::Clique(clique)) => Some(*clique),
            _ => None,
        };
        let row_of = |clique| rows.iter().position(|row| *row == clique);
        let scroll = self.cursor.reveal(selected, row_of);
        ScrollArea::horizontal().auto_shrink(false).show(ui, |ui| {
            ui.spacing_mut().item_spacing.x = COLUMN_GAP;
            let wide = ui.available_width() >= MIN_WIDE;
            let mut table = TableBuilder::new(ui)
                .id_salt("cliques")
                .auto_shrink(false)
                .column(Column::exact(40.0).clip(false))
                .column(Column::exact(64.0))
                .column(Column::exact(42.0))
                .column(Column::exact(NAME_GAP))
                .column(Column::remainder().at_least(40.0).clip(true))
                .columns(Column::exact(18.0), usize::from(wide))
                .columns(Column::exact(36.0), usize::from(wide))
                .column(Column::exact(table::MARGIN));
            if let Some(row) = scroll {
                table = table.scroll_to_row(row, None);
            }
            let table = table.header(table::ROW_HEIGHT, |mut row| {
                let wide_headers = WIDE_HEADERS.into_iter().filter(|_| wide);
                for (index, header) in HEADERS.into_iter().chain(wide_headers).enumerate() {
                    if index == NAME_COLUMN {
                        cell(&mut row, "");
                    }
                    self.sort.header(&mut row, header);
                }
            });
            table.body(|body| self.body(body, &rows, wide, model, compiled, commands));
        });
    }

    /// Draws the rows of the table.
    fn body(
        &mut self,
        mut body: TableBody<'_>,
        rows: &[CliqueId],
        wide: bool,
        model: &Model,
        compiled: &CompiledNetwork,
        commands: &mut Commands,
    ) {
        let tree = compiled.tree();
        let total = compiled.statistics().total_clique_entries as f64;
        let span = body.max_rect().x_range();
        let table = body.ui_mut().id();
        body.rows(table::ROW_HEIGHT, rows.len(), |mut row| {
            let index = row.index();
            let clique = rows[index];
            let contents = &tree[clique];
            let appearance = Row {
                id: Id::new((table, "clique", clique)),
                span,
                selected: model.selection.clique(clique),
                hovered: model.hover.clique(clique),
                label: naming::spoken_clique(compiled, clique),
            };
            let response = appearance.first_cell(&mut row, |ui| {
                ui.label(naming::clique_id(clique));
            });
            number(&mut row, entries_text(contents.entries));
            number(&mut row, numbers::share(contents.entries as f64, total));
            cell(&mut row, "");
            cell(
                &mut row,
                naming::variable_list(compiled.network(), &contents.variables, MAX_LIST_LENGTH),
            );
            if wide {
                number(&mut row, contents.variables.len().to_string());
                number(&mut row, tree.depth_of(clique).to_string());
            }
            cell(&mut row, "");
            if response.hovered() {
                commands.push(ViewCommand::Hover(Item::Clique(clique)));
            }
            let at = |index: usize| rows.get(index).copied();
            if let Some(chosen) = self.cursor.follow(&response, clique, index, rows.len(), at) {
                commands.push(ViewCommand::Select(Some(Item::Clique(chosen))));
            }
        });
    }

    /// The sorted cliques that pass the filter, computed only when something changed.
    fn rows(&mut self, compiled: &Arc<CompiledNetwork>) -> Vec<CliqueId> {
        let is_current = |cached: &&CachedRows| {
            Arc::ptr_eq(&cached.compiled, compiled)
                && cached.sort == self.sort
                && cached.filter == self.filter
        };
        if let Some(cached) = self.cached.as_ref().filter(is_current) {
            return cached.rows.clone();
        }
        let rows = filtered_rows(compiled, self.sort, &self.filter);
        self.cached = Some(CachedRows {
            compiled: Arc::clone(compiled),
            sort: self.sort,
            filter: self.filter.clone(),
            rows: rows.clone(),
        });
        rows
    }
}

/// The number of entries of a table as text. If the number is saturated, the text is the shorter
/// `>10^19`, which fits into the column.
fn entries_text(entries: u64) -> String {
    if entries == u64::MAX { numbers::short_size(entries) } else { numbers::thousands(entries) }
}

/// The cliques that pass `filter`, sorted. A clique passes if `filter` is empty, is its number
/// (`12` or `c12`), or is part of the name of one of its variables. Case does not matter.
fn filtered_rows(compiled: &CompiledNetwork, sort: Sort<SortBy>, filter: &str) -> Vec<CliqueId> {
    let (tree, network) = (compiled.tree(), compiled.network());
    let text = filter.trim().to_lowercase();
    let passes = |clique: &CliqueId| {
        let number = naming::clique_id(*clique).to_lowercase();
        let mut names = tree[*clique].variables.iter().map(|v| network[*v].name().to_lowercase());
        text.is_empty()
            || number == text
            || number[1..] == text
            || names.any(|name| name.contains(&text))
    };
    let names = |clique: CliqueId| tree[clique].variables.iter().map(|v| network[*v].name());
    let compare = |a: &CliqueId, b: &CliqueId| -> Ordering {
        let (one, other) = (&tree[*a], &tree[*b]);
        let order = match sort.column {
            SortBy::Id => a.cmp(b),
            SortBy::Names => names(*a).cmp(names(*b)),
            SortBy::VariableCount => one.variables.len().cmp(&other.variables.len()),
            SortBy::Entries | SortBy::Share => one.entries.cmp(&other.entries),
            SortBy::Depth => tree.depth_of(*a).cmp(&tree.depth_of(*b)),
        };
        sort.apply(order).then(a.cmp(b))
    };
    let mut rows: Vec<CliqueId> = tree.clique_ids().filter(passes).collect();
    rows.sort_by(compare);
    rows
}

#[cfg(test)]
mod tests;
