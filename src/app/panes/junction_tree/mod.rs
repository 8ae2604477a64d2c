//! The junction tree as a picture: what Table 1 of a paper says in numbers, seen at a glance.
//!
//! A box is a clique, its colour the logarithm of its table's size; a line is a separator, its
//! width the logarithm of its table's size. What is selected or pointed at anywhere in the window
//! lights up here, and while a propagation runs its messages can be watched.

mod card;
mod legend;
mod search;
mod style;

use std::sync::Arc;
use std::time::Duration;

use eframe::egui::{self, Align2, Ui, Vec2};

use crate::app::layout::tidy::{self, TreeShape};
use crate::app::state::command::{Command, Commands};
use crate::app::state::highlight::Item;
use crate::app::state::model::Model;
use crate::app::state::stepping::Walk;
use crate::app::theme::log_share;
use crate::app::widgets::graph_view::node::NodeText;
use crate::app::widgets::graph_view::{EdgePlace, GraphCanvas, NodePlace, Target};
use crate::app::widgets::targets;
use crate::graph::{CliqueId, SeparatorId};
use crate::numbers::{self, short, thousands};
use crate::propagation::CompiledNetwork;

use search::Search;
use style::{Looks, TreeKey};

/// Trees of at most this many cliques have boxes as wide as their text.
const ROOMY: usize = 60;

/// How often a running propagation is drawn.
const RUNNING_FRAME: Duration = Duration::from_millis(33);

/// How far the pane's shape may change before fitting lays the tree out anew.
const ASPECT_TOLERANCE: f32 = 1.25;

/// The pane of the junction tree.
pub struct JunctionTreePane {
    canvas: GraphCanvas<TreeKey>,
    shown: Option<Arc<CompiledNetwork>>,
    /// Width by height of the pane for which the tree was laid out.
    aspect: f32,
    fit_serial: u64,
    search: Search,
    /// The selection that was seen last, and brought into sight if need be.
    seen: Option<Item>,
    /// The corner in which the legend stands.
    legend: Align2,
}

impl Default for JunctionTreePane {
    fn default() -> Self {
        Self {
            canvas: GraphCanvas::new("junction tree"),
            shown: None,
            aspect: 1.0,
            fit_serial: 0,
            search: Search::default(),
            seen: None,
            legend: Align2::LEFT_BOTTOM,
        }
    }
}

impl JunctionTreePane {
    /// Draws the pane.
    pub fn show(&mut self, ui: &mut Ui, model: &Model, commands: &mut Commands) {
        let Some(compiled) = model.compiled().map(Arc::clone) else {
            let said = match model.document {
                Some(_) => "There is no junction tree yet.",
                None => "Open a network: File > Open, File > Samples, or drop a file here.",
            };
            ui.weak(said);
            return;
        };
        self.toolbar(ui, &compiled, commands);
        self.follow(ui, model, &compiled);
        let pointing = self.canvas.interact(ui);
        if let Some(target) = pointing.hovered {
            commands.push(Command::Hover(item_of(target)));
        }
        if let Some(target) = pointing.clicked {
            let item = target.map(item_of);
            self.seen.clone_from(&item);
            commands.push(Command::Select(item));
        }
        let key = TreeKey::new(model, &compiled, self.search.matches());
        if key.is_running() {
            ui.ctx().request_repaint_after(RUNNING_FRAME);
        }
        let looks = Looks::new(ui, model, &compiled, &key);
        let response = self.canvas.draw(
            ui,
            key.clone(),
            |index| looks.clique(CliqueId::new(index)),
            |index| looks.separator(SeparatorId::new(index)),
        );
        self.place_legend(ui, pointing.rect);
        legend::show(ui, pointing.rect, self.legend, compiled.statistics().max_clique_entries);
        if let Some(target) = pointing.hovered {
            response
                .on_hover_ui_at_pointer(|ui| card::show(ui, model, &compiled, &item_of(target)));
        }
    }

    /// Puts the legend into the corner in which it hides least of the fitted tree; it stays there while the
    /// camera moves.
    fn place_legend(&mut self, ui: &Ui, pane: egui::Rect) {
        const CORNERS: [Align2; 4] =
            [Align2::LEFT_BOTTOM, Align2::RIGHT_BOTTOM, Align2::LEFT_TOP, Align2::RIGHT_TOP];
        if self.canvas.is_fitted() {
            let hidden = |corner: &Align2| {
                legend::area(pane, *corner).map_or(0, |area| self.canvas.count_in(area))
            };
            self.legend = CORNERS.into_iter().min_by_key(hidden).unwrap_or(Align2::LEFT_BOTTOM);
            // A tree that fills all corners makes room, and keeps it until it is laid out anew.
            if let Some(area) = legend::area(pane, self.legend).filter(|_| hidden(&self.legend) > 0)
            {
                self.canvas.leave_free_below(area.height());
                ui.ctx().request_repaint();
            }
        }
    }

    fn toolbar(&mut self, ui: &mut Ui, compiled: &CompiledNetwork, commands: &mut Commands) {
        ui.horizontal(|ui| {
            if let Some(clique) = self.search.show(ui, compiled) {
                self.canvas.look_at(clique.index());
                commands.push(Command::Select(Some(Item::Clique(clique))));
            }
            if ui.button("Fit").on_hover_text("Show the whole tree (F)").clicked() {
                self.fit();
            }
            for (sign, name, factor) in [("−", "Zoom out", 0.8), ("+", "Zoom in", 1.25)] {
                let button = ui.add(egui::Button::new(sign).min_size(Vec2::new(20.0, 0.0)));
                button.widget_info(|| {
                    egui::WidgetInfo::labeled(egui::WidgetType::Button, true, name)
                });
                if button.on_hover_text(name).clicked() {
                    self.canvas.zoom_by(factor);
                }
            }
            let messages = !compiled.plan().messages().is_empty();
            let step = ui.add_enabled(messages, egui::Button::new("Step through"));
            targets::mark(&step, "step through");
            if step.on_hover_text("Watch the messages one by one, with their tables (F8)").clicked()
            {
                commands.push(Command::Walk(Walk::Begin));
            }
            let statistics = compiled.statistics();
            let summary = format!(
                "{} · {} entries",
                numbers::counted(statistics.cliques, "clique", "cliques"),
                short(statistics.total_clique_entries as f64)
            );
            let label = egui::Label::new(egui::RichText::new(summary).weak()).truncate();
            ui.add(label).on_hover_text(format!(
                "{} table entries in all cliques, {} in the largest; {} levels below the root",
                thousands(statistics.total_clique_entries),
                thousands(statistics.max_clique_entries),
                statistics.depth
            ));
        });
    }

    /// Lays the tree out when there is a new one, fits when that is asked for, and brings into sight
    /// what was selected elsewhere.
    fn follow(&mut self, ui: &Ui, model: &Model, compiled: &Arc<CompiledNetwork>) {
        let size = ui.available_size().max(Vec2::splat(1.0));
        let aspect = size.x / size.y;
        let is_new = !self.shown.as_ref().is_some_and(|shown| Arc::ptr_eq(shown, compiled));
        if is_new || self.fit_serial != model.fit_serial {
            self.fit_serial = model.fit_serial;
            self.fit();
        }
        if is_new {
            self.search = Search::default();
        }
        let changed = (aspect / self.aspect).max(self.aspect / aspect);
        if is_new || (self.canvas.is_fitted() && changed > ASPECT_TOLERANCE) {
            self.aspect = aspect;
            self.shown = Some(Arc::clone(compiled));
            let (nodes, edges) = drawing(compiled, aspect);
            self.canvas.set_graph(nodes, edges);
            self.canvas.leave_free_below(0.0);
        }
        let selected = model.selected();
        if self.seen.as_ref() != selected {
            self.seen = selected.cloned();
            if let Some(Item::Clique(clique)) = selected
                && !self.canvas.is_in_sight(clique.index())
            {
                self.canvas.look_at(clique.index());
            }
        }
    }

    fn fit(&mut self) {
        self.canvas.fit();
    }
}

fn item_of(target: Target) -> Item {
    match target {
        Target::Node(index) => Item::Clique(CliqueId::new(index)),
        Target::Edge(index) => Item::Separator(SeparatorId::new(index)),
    }
}

/// Boxes and lines of the tree, for a pane `aspect` times as wide as high.
fn drawing(compiled: &CompiledNetwork, aspect: f32) -> (Vec<NodePlace>, Vec<EdgePlace>) {
    let tree = compiled.tree();
    let texts: Vec<NodeText> = tree.clique_ids().map(|id| text_of(compiled, id)).collect();
    let largest = compiled.statistics().max_clique_entries;
    let roomy = tree.cliques().len() <= ROOMY;
    let sizes: Vec<Vec2> = tree
        .cliques()
        .iter()
        .zip(&texts)
        .map(|(clique, text)| {
            let share = log_share(clique.entries, largest);
            let words = if roomy { text.title.chars().count() as f32 * 3.1 - 40.0 } else { 0.0 };
            Vec2::new(76.0 + 24.0 * share + words.clamp(0.0, 56.0), 40.0 + 10.0 * share)
        })
        .collect();
    let mut drawing = tidy::draw(&TreeShape::of_junction_tree(tree), &sizes, aspect);
    let edges = tree.separators().iter().map(|separator| EdgePlace {
        from: separator.parent.index(),
        to: separator.child.index(),
        path: std::mem::take(&mut drawing.links[separator.child.index()]),
        text: short(separator.entries as f64),
    });
    let edges = edges.collect();
    let nodes = texts.into_iter().zip(&sizes).zip(&drawing.centres);
    let nodes = nodes.map(|((text, &size), &centre)| NodePlace { centre, size, text }).collect();
    (nodes, edges)
}

fn text_of(compiled: &CompiledNetwork, id: CliqueId) -> NodeText {
    let clique = &compiled.tree()[id];
    let names = clique.variables.iter().map(|&variable| compiled.network()[variable].name());
    let brief = short(clique.entries as f64);
    let count = numbers::counted(clique.variables.len(), "var", "vars");
    NodeText {
        title: names.collect::<Vec<_>>().join(", "),
        subtitle: format!("{count} · {brief}"),
        brief,
        is_number: true,
    }
}
