//! The Bayesian network as a picture: causes above their effects, and from nearby what is believed
//! of each variable.

mod style;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::Arc;

use eframe::egui::{self, Pos2, RichText, Ui, Vec2};

use crate::app::layout::{given, layered};
use crate::app::state::command::{Command, Commands};
use crate::app::state::highlight::Item;
use crate::app::state::model::{Document, Model};
use crate::app::widgets::graph_view::node::NodeText;
use crate::app::widgets::graph_view::{EdgePlace, GraphCanvas, NodePlace, Target};
use crate::app::widgets::naming;
use crate::app::widgets::targets;
use crate::network::{Network, VariableId};
use crate::numbers::{counted, percent, thousands};
use crate::propagation::CompiledNetwork;

use style::{Charts, Looks, NetworkKey};

/// Bars that have a row of their own; with more states they share the room of so many.
const ROWS: usize = 5;

/// An edge of the picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Edge {
    /// From a parent to a child.
    Arc(VariableId, VariableId),
    /// Between two parents of one child.
    Moral(VariableId, VariableId),
    /// Added to make the moral graph chordal.
    Fill(VariableId, VariableId),
}

impl Edge {
    fn ends(self) -> (VariableId, VariableId) {
        match self {
            Self::Arc(a, b) | Self::Moral(a, b) | Self::Fill(a, b) => (a, b),
        }
    }
}

/// The pane of the network.
pub struct NetworkPane {
    canvas: GraphCanvas<NetworkKey>,
    edges: Vec<Edge>,
    shown: Option<Shown>,
    charts: Charts,
    fit_serial: u64,
    seen: Option<Item>,
    /// Whether the layers are wanted where the file gives places.
    layered: bool,
}

/// What was laid out last.
#[derive(PartialEq)]
struct Shown {
    serial: u64,
    /// The tree whose fill edges are shown, by its address.
    triangulated: Option<usize>,
    /// Whether the variables stand where the file puts them.
    given: bool,
}

impl Default for NetworkPane {
    fn default() -> Self {
        Self {
            canvas: GraphCanvas::new("network"),
            edges: Vec::new(),
            shown: None,
            charts: Charts::default(),
            fit_serial: 0,
            seen: None,
            layered: false,
        }
    }
}

impl NetworkPane {
    /// Draws the pane.
    pub fn show(&mut self, ui: &mut Ui, model: &Model, commands: &mut Commands) {
        let Some(document) = &model.document else {
            ui.weak("No network is open.");
            return;
        };
        self.toolbar(ui, document, model.fill_edges, commands);
        self.follow(ui, model, document);
        let pointing = self.canvas.interact(ui);
        let item = |target| match target {
            Target::Node(index) => Some(Item::Variable(VariableId::new(index))),
            Target::Edge(_) => None,
        };
        let hovered = pointing.hovered.and_then(item);
        if let Some(item) = &hovered {
            commands.push(Command::Hover(item.clone()));
        }
        if let Some(target) = pointing.clicked {
            let item = target.and_then(item);
            self.seen.clone_from(&item);
            commands.push(Command::Select(item));
        }
        self.charts.follow(ui, document);
        let key = NetworkKey::new(model, document);
        let looks = Looks::new(ui, model, document, &self.charts);
        let edges = &self.edges;
        let response = self.canvas.draw(
            ui,
            key,
            |index| looks.variable(VariableId::new(index)),
            |index| looks.edge(edges[index]),
        );
        if let Some(Item::Variable(variable)) = hovered {
            response.on_hover_ui_at_pointer(|ui| card(ui, document, variable));
        }
    }

    fn toolbar(
        &mut self,
        ui: &mut Ui,
        document: &Document,
        mut fill_edges: bool,
        commands: &mut Commands,
    ) {
        ui.horizontal(|ui| {
            if ui.button("Fit").on_hover_text("Show the whole network (F)").clicked() {
                self.canvas.fit();
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
            let edges = ui.checkbox(&mut fill_edges, "Moral and fill edges");
            targets::mark(&edges, "moral and fill edges");
            if edges.changed() {
                commands.push(Command::ShowFillEdges(fill_edges));
            }
            edges.on_hover_text(
                "Dashed: parents of one child, married. Dotted: added so that the graph is chordal, \
                 which is what its cliques are made of.",
            );
            let network = document.network();
            if given::is_enough(&places(network)) {
                let mut given = !self.layered;
                ui.checkbox(&mut given, "Layout of the file").on_hover_text(
                    "The variables stand where the file puts them; otherwise in layers, causes above \
                     their effects.",
                );
                self.layered = !given;
            }
            let variables = counted(network.variables().len(), "variable", "variables");
            let (joints, count) = network.joints();
            let count = thousands(count as u64);
            let summary = RichText::new(format!("{variables} · {count} {joints}")).weak();
            ui.add(egui::Label::new(summary).truncate());
        });
    }

    fn follow(&mut self, ui: &Ui, model: &Model, document: &Document) {
        let compiled = document.compiled.as_ref().filter(|_| model.fill_edges);
        let wanted = Shown {
            serial: document.serial,
            triangulated: compiled.map(|compiled| Arc::as_ptr(compiled) as usize),
            given: !self.layered && given::is_enough(&places(document.network())),
        };
        let is_new = self
            .shown
            .as_ref()
            .is_none_or(|shown| shown.serial != document.serial || shown.given != wanted.given);
        if is_new || self.fit_serial != model.fit_serial {
            self.fit_serial = model.fit_serial;
            self.canvas.fit();
        }
        if self.shown.as_ref() != Some(&wanted) {
            let size = ui.available_size().max(Vec2::splat(1.0));
            let aspect = (!wanted.given).then_some(size.x / size.y);
            self.shown = Some(wanted);
            let (nodes, places, edges) =
                drawing(document.network(), compiled.map(|compiled| &**compiled), aspect);
            self.edges = edges;
            self.canvas.set_graph(nodes, places);
        }
        let selected = model.selected();
        if self.seen.as_ref() != selected {
            self.seen = selected.cloned();
            if let Some(Item::Variable(variable)) = selected
                && !self.canvas.is_in_sight(variable.index())
            {
                self.canvas.look_at(variable.index());
            }
        }
    }
}

/// What is written in the box of a variable: its name, and its title where the file gives one.
fn title(network: &Network, id: VariableId) -> String {
    let name = network[id].name();
    match naming::title(network, id) {
        Some(title) => format!("{name} · {title}"),
        None => name.to_owned(),
    }
}

/// Where the file puts each variable, if that is on anything like a screen.
fn places(network: &Network) -> Vec<Option<[f64; 2]>> {
    let near = |place: &[f64; 2]| place.iter().all(|part| part.abs() < 1e6);
    network.ids().map(|id| network.annotations().of(id).position.filter(near)).collect()
}

/// Boxes and lines of the network, and what each line stands for: in layers, about `aspect` times as
/// wide as high, or else where the file puts them.
fn drawing(
    network: &Network,
    compiled: Option<&CompiledNetwork>,
    aspect: Option<f32>,
) -> (Vec<NodePlace>, Vec<EdgePlace>, Vec<Edge>) {
    let sizes: Vec<Vec2> = network
        .ids()
        .map(|id| {
            let letters = title(network, id).chars().count() as f32;
            let rows = network[id].cardinality().min(ROWS) as f32;
            Vec2::new((letters * 6.4 + 22.0).clamp(92.0, 150.0), 30.0 + 11.0 * rows)
        })
        .collect();
    let mut edges: Vec<Edge> = Vec::new();
    for cpt in network.cpts() {
        edges.extend(cpt.parents().iter().map(|&parent| Edge::Arc(parent, cpt.child())));
    }
    if !network.is_bayesian() {
        edges.extend(edges_of_factors(network));
    }
    let arcs: Vec<(usize, usize)> =
        edges.iter().map(|edge| edge.ends()).map(|(a, b)| (a.index(), b.index())).collect();
    let (centres, mut paths) = match aspect {
        Some(aspect) => {
            let drawing = layered::draw(&sizes, &arcs, aspect);
            (drawing.centres, drawing.links)
        }
        None => {
            let drawing = given::draw(&sizes, &places(network), &arcs);
            (drawing.centres, drawing.links)
        }
    };
    if let Some(compiled) = compiled {
        for edge in edges_of_triangulation(network, compiled) {
            let (a, b) = edge.ends();
            paths.push(bow(centres[a.index()], centres[b.index()]));
            edges.push(edge);
        }
    }
    let place = |(edge, path): (&Edge, Vec<Pos2>)| {
        let (from, to) = edge.ends();
        EdgePlace { from: from.index(), to: to.index(), path, text: String::new() }
    };
    let places = edges.iter().zip(paths).map(place).collect();
    let nodes = network.ids().zip(&sizes).zip(&centres);
    let nodes = nodes
        .map(|((id, &size), &centre)| {
            let name = network[id].name().to_owned();
            let text = NodeText { brief: name, title: title(network, id), ..NodeText::default() };
            NodePlace { centre, size, text }
        })
        .collect();
    (nodes, places, edges)
}

/// The edges between variables that share a factor of a Markov network, each once.
fn edges_of_factors(network: &Network) -> Vec<Edge> {
    let mut pairs = BTreeSet::new();
    for factor in network.factors() {
        let mut scope = factor.scope().to_vec();
        scope.sort_unstable();
        for (index, &a) in scope.iter().enumerate() {
            pairs.extend(scope[index + 1..].iter().map(|&b| (a, b)));
        }
    }
    pairs.into_iter().map(|(a, b)| Edge::Moral(a, b)).collect()
}

/// The edges of the triangulated graph that are in the picture of no network.
fn edges_of_triangulation(network: &Network, compiled: &CompiledNetwork) -> Vec<Edge> {
    let is_arc = |a: VariableId, b: VariableId| {
        network.parents(a).contains(&b) || network.parents(b).contains(&a)
    };
    let mut edges = Vec::new();
    for (a, row) in compiled.moral_graph().adjacency().iter().enumerate() {
        let a = VariableId::new(a);
        let neighbours = row.ones().map(VariableId::new);
        let marries = |&b: &VariableId| network.is_bayesian() && a < b && !is_arc(a, b);
        edges.extend(neighbours.filter(marries).map(|b| Edge::Moral(a, b)));
    }
    edges.extend(compiled.fill_edges().iter().map(|&(a, b)| Edge::Fill(a, b)));
    edges
}

/// A slight bow between two points, so that an edge between boxes of one layer can be seen.
fn bow(from: Pos2, to: Pos2) -> Vec<Pos2> {
    let across = (to - from).rot90() * 0.12;
    let point = |index: usize| {
        let t = index as f32 / 8.0;
        from + (to - from) * t + across * (4.0 * t * (1.0 - t))
    };
    (0..=8).map(point).collect()
}

/// What a pointer that rests on a variable is told.
fn card(ui: &mut Ui, document: &Document, id: VariableId) {
    ui.set_max_width(360.0);
    let network = document.network();
    let variable = &network[id];
    ui.strong(variable.name());
    let note = network.annotations().of(id);
    if let Some(title) = &note.title {
        ui.label(title);
    }
    if let Some(comment) = note.comment.as_deref().and_then(|comment| comment.lines().next()) {
        ui.add(egui::Label::new(RichText::new(comment).size(12.0).weak()).truncate());
    }
    let (parents, children) = (network.parents(id).len(), network.children(id).len());
    ui.label(format!(
        "{} · {} · {}",
        counted(variable.cardinality(), "state", "states"),
        counted(parents, "parent", "parents"),
        counted(children, "child", "children")
    ));
    if document.evidence.get(id).is_some() {
        let colour = crate::app::theme::Palette::of(ui).evidence;
        let said = match document.evidence.observed(id) {
            Some(state) => format!("observed: {}", variable.states()[state]),
            None => "likelihoods entered".to_owned(),
        };
        ui.label(RichText::new(said).color(colour));
    }
    let Some(result) = &document.result else { return };
    egui::Grid::new("posterior").num_columns(2).spacing([12.0, 1.0]).show(ui, |ui| {
        for (state, p) in variable.states().iter().zip(result.posteriors.of(id)).take(12) {
            ui.label(RichText::new(state).size(12.0));
            ui.label(RichText::new(percent(*p)).size(12.0));
            ui.end_row();
        }
    });
    if variable.cardinality() > 12 {
        let rest = format!("and {} more states", variable.cardinality() - 12);
        ui.label(RichText::new(rest).size(12.0).weak());
    }
}
