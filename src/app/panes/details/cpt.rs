//! A conditional probability table, row by row; only the rows in view are laid out.

use eframe::egui::{Align, CollapsingHeader, Layout, RichText, ScrollArea, Ui};
use egui_extras::{Column, TableBuilder};

use crate::app::widgets::table::{ROW_HEIGHT, cell, number};
use crate::network::{Network, VariableId};
use crate::numbers::{counted, thousands};

/// Maximum number of rows that are visible without scrolling.
const MAX_VISIBLE_ROWS: f32 = 12.0;

/// Maximum number of rows of a table that is open at first; a longer one is collapsed.
const MAX_OPEN_ROWS: usize = 64;

/// Average width of a letter in points, estimated. If it is too small, names are cut off; if it is
/// too large, columns are wider than needed.
const LETTER_WIDTH: f32 = 7.5;

/// Space at both sides of the text in a column, together, in points.
const COLUMN_MARGIN: f32 = 10.0;

/// Minimum and maximum width of a column, in points. The maximum has room for about 17 letters;
/// longer names are cut off.
const COLUMN_WIDTHS: [f32; 2] = [58.0, 140.0];

/// Draws the CPT of variable `id`.
pub(super) fn show(ui: &mut Ui, network: &Network, id: VariableId) {
    let (variable, cpt) = (&network[id], network.cpt(id));
    let rows = cpt.values().len() / variable.cardinality().max(1);
    ui.add_space(8.0);
    let title = format!(
        "CPT ({}, {})",
        counted(rows, "row", "rows"),
        counted(cpt.values().len(), "number", "numbers")
    );
    CollapsingHeader::new(RichText::new(title).strong())
        .id_salt(("cpt", id))
        .default_open(rows <= MAX_OPEN_ROWS)
        .show(ui, |ui| table(ui, network, id, rows));
}

/// Draws the `rows` rows of the CPT: the states of the parents, and then the probabilities.
fn table(ui: &mut Ui, network: &Network, id: VariableId, rows: usize) {
    let (variable, cpt) = (&network[id], network.cpt(id));
    let parents = cpt.parents();
    // The width in points of a column with these texts.
    let width = |texts: &mut dyn Iterator<Item = &str>| {
        let longest = texts.map(|text| text.chars().count()).max().unwrap_or(0);
        let [min, max] = COLUMN_WIDTHS;
        (longest as f32 * LETTER_WIDTH + COLUMN_MARGIN).clamp(min, max)
    };
    let height = (rows as f32).min(MAX_VISIBLE_ROWS) * (ROW_HEIGHT + ui.spacing().item_spacing.y);
    ScrollArea::horizontal().id_salt(("cpt", id)).show(ui, |ui| {
        let mut builder = TableBuilder::new(ui)
            .id_salt(("cpt table", id))
            .striped(true)
            .min_scrolled_height(height)
            .max_scroll_height(height);
        for &parent in parents {
            let parent = &network[parent];
            let mut texts = parent.states().iter().map(String::as_str).chain([parent.name()]);
            builder = builder.column(Column::exact(width(&mut texts)));
        }
        for state in variable.states() {
            builder = builder.column(Column::exact(width(&mut [state.as_str()].into_iter())));
        }
        let table = builder.header(ROW_HEIGHT, |mut header| {
            for &parent in parents {
                let name = network[parent].name();
                header.col(|ui| {
                    ui.weak(name).on_hover_text(format!("parent {name}"));
                });
            }
            for state in variable.states() {
                header.col(|ui| {
                    let text = RichText::new(state).strong();
                    let hint = format!("P({} = {state} | parents)", variable.name());
                    ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                        ui.label(text).on_hover_text(hint);
                    });
                });
            }
        });
        table.body(|body| {
            body.rows(ROW_HEIGHT, rows, |mut row| {
                let index = row.index();
                let configuration = configuration(network, id, index);
                for (&parent, state) in parents.iter().zip(configuration) {
                    cell(&mut row, network[parent].states()[state].as_str());
                }
                let count = variable.cardinality();
                for &p in &cpt.values()[index * count..(index + 1) * count] {
                    number(&mut row, probability(p));
                }
            });
        });
    });
    if rows > MAX_VISIBLE_ROWS as usize {
        ui.weak(format!("{} rows; scroll for more", thousands(rows as u64)));
    }
}

/// The states of the parents of variable `id` in row `row` of its CPT; the last parent varies
/// fastest.
fn configuration(network: &Network, id: VariableId, row: usize) -> Vec<usize> {
    let parents = network.cpt(id).parents();
    let mut states = vec![0; parents.len()];
    let mut rest = row;
    for (state, &parent) in states.iter_mut().zip(parents).rev() {
        let count = network[parent].cardinality();
        *state = rest % count;
        rest /= count;
    }
    states
}

/// `p` with up to six decimals and without trailing zeros; in scientific notation if it is positive
/// and below 0.0001.
fn probability(p: f64) -> String {
    if p != 0.0 && p < 1e-4 {
        return format!("{p:.2e}");
    }
    let text = format!("{p:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::{Cpt, Variable};

    #[test]
    fn the_first_parent_varies_slowest() {
        let ids: Vec<VariableId> = (0..3).map(VariableId::new).collect();
        let variables = vec![
            Variable::new("a", ["0", "1"]),
            Variable::new("b", ["0", "1", "2"]),
            Variable::new("c", ["no", "yes"]),
        ];
        let cpts = vec![
            Cpt::new(ids[0], vec![], vec![0.5; 2]),
            Cpt::new(ids[1], vec![], vec![0.5, 0.25, 0.25]),
            Cpt::new(ids[2], vec![ids[0], ids[1]], vec![0.5; 12]),
        ];
        let network = Network::new("abc", variables, cpts).unwrap();
        let rows: Vec<Vec<usize>> =
            (0..6).map(|row| configuration(&network, ids[2], row)).collect();
        assert_eq!(rows, [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]);
        assert!(configuration(&network, ids[0], 0).is_empty());
    }

    #[test]
    fn probabilities_have_up_to_six_decimals_or_are_scientific() {
        assert_eq!(probability(0.0), "0");
        assert_eq!(probability(1.0), "1");
        assert_eq!(probability(0.05), "0.05");
        assert_eq!(probability(1.0 / 3.0), "0.333333");
        assert_eq!(probability(0.000_01), "1.00e-5");
    }
}
