//! The boxes and lines of the graph that is eliminated.

use std::collections::HashMap;

use eframe::egui::{Color32, Pos2, Rect, Stroke, Ui, Vec2, vec2};

use crate::app::layout::arch::clear_arch;
use crate::app::layout::directed;
use crate::app::state::elimination::HandElimination;
use crate::app::theme::Palette;
use crate::app::widgets::graph_view::edge::{EdgeStyle, Line};
use crate::app::widgets::graph_view::node::{NodeStyle, NodeText};
use crate::app::widgets::graph_view::{PlacedEdge, PlacedNode};
use crate::network::{Network, VariableId};

/// Height of a box in picture coordinates: room for the name and the place in the order.
const BOX_HEIGHT: f32 = 38.0;
/// Minimum width of a box in picture coordinates. A narrower box would have no room for the place
/// in the order.
const MIN_BOX_WIDTH: f32 = 80.0;
/// Average width of a letter of a name in picture coordinates, estimated. If it is too small, names
/// are shortened without need; if it is too large, boxes are wider than needed.
const LETTER_WIDTH: f32 = 6.6;
/// Width of a box without its name, in picture coordinates.
const BOX_MARGIN: f32 = 26.0;
/// Heights of the arch of an edge of the moral graph, as shares of the length of the edge, in the
/// order in which [`clear_arch`] tries them.
const MORAL_RISES: [f32; 12] =
    [0.08, -0.08, 0.02, -0.02, 0.14, -0.14, 0.2, -0.2, 0.28, -0.28, 0.4, -0.4];
/// The same for a fill edge. Lower arches are hard to tell from the edges of the moral graph.
const FILL_RISES: [f32; 6] = [0.22, 0.12, -0.22, -0.12, 0.35, -0.35];
/// Width of a fill edge that would be added, in points at zoom 1. It is wider than other lines, so
/// that the two kinds of dotted lines differ by more than their colour. With more, the dots touch.
const PREVIEW_WIDTH: f32 = 2.2;
/// Share of the background in the colour of an eliminated variable and its edges, as long as other
/// variables remain.
const FADE: f32 = 0.6;

/// Everything that the picture depends on, except the theme.
#[derive(Clone, PartialEq)]
pub(super) struct PictureKey {
    serial: u64,
    order: Vec<VariableId>,
    pointed: Option<VariableId>,
}

impl PictureKey {
    /// The key of the current frame. `pointed` is the variable under the pointer or, in the list,
    /// with the keyboard focus.
    pub fn new(elimination: &HandElimination, pointed: Option<VariableId>) -> Self {
        let order = elimination.done.steps().iter().map(|step| step.variable).collect();
        Self { serial: elimination.serial, order, pointed }
    }

    /// Serial number of the document.
    pub fn serial(&self) -> u64 {
        self.serial
    }
}

/// A line of the picture.
#[derive(Clone, Copy)]
pub(super) enum Edge {
    /// An edge of the moral graph between a parent and its child.
    Arc(VariableId, VariableId),
    /// Any other edge of the moral graph.
    Moral(VariableId, VariableId),
    /// A fill edge that an elimination added.
    Fill(VariableId, VariableId),
    /// A fill edge that eliminating the variable pointed at would add.
    Preview(VariableId, VariableId),
}

impl Edge {
    /// Both variables.
    pub fn ends(self) -> (VariableId, VariableId) {
        match self {
            Self::Arc(a, b) | Self::Moral(a, b) | Self::Fill(a, b) | Self::Preview(a, b) => (a, b),
        }
    }
}

/// The lines of the picture: first the edges of the moral graph, then the fill edges in the order
/// in which they were added, and then those that eliminating `pointed` would add.
pub(super) fn edges(
    network: &Network,
    elimination: &HandElimination,
    pointed: Option<VariableId>,
) -> Vec<Edge> {
    debug_assert_eq!(network.variables().len(), elimination.graph.len());
    let is_arc = |a, b| network.parents(a).contains(&b) || network.parents(b).contains(&a);
    let of_graph = |(a, b)| if is_arc(a, b) { Edge::Arc(a, b) } else { Edge::Moral(a, b) };
    let mut edges: Vec<Edge> = elimination.graph.edges().map(of_graph).collect();
    let added = elimination.done.steps().iter().flat_map(|step| &step.fill_edges);
    edges.extend(added.map(|&(a, b)| Edge::Fill(a, b)));
    let preview = pointed.and_then(|variable| elimination.done.preview(variable));
    let preview = preview.into_iter().flat_map(|step| step.fill_edges);
    edges.extend(preview.map(|(a, b)| Edge::Preview(a, b)));
    edges
}

/// The boxes and lines. Boxes are at `places` or, without places, arranged for a pane `aspect`
/// times as wide as it is high.
pub(super) fn picture(
    network: &Network,
    elimination: &HandElimination,
    pointed: Option<VariableId>,
    places: Option<&HashMap<VariableId, Pos2>>,
    aspect: f32,
) -> (Vec<PlacedNode>, Vec<PlacedEdge>) {
    let size = |id: VariableId| {
        let letters = network[id].name().chars().count() as f32;
        vec2((BOX_MARGIN + LETTER_WIDTH * letters).max(MIN_BOX_WIDTH), BOX_HEIGHT)
    };
    let centres: Vec<Pos2> = match places {
        Some(places) => network.ids().map(|id| places[&id]).collect(),
        None => {
            placement(network, elimination, &network.ids().map(size).collect::<Vec<_>>(), aspect)
        }
    };
    let node = |id: VariableId| {
        let name = network[id].name().to_owned();
        let place = elimination.done.steps().iter().position(|step| step.variable == id);
        let subtitle = place.map(|place| format!("no. {}", place + 1)).unwrap_or_default();
        PlacedNode {
            centre: centres[id.index()],
            size: size(id),
            text: NodeText {
                brief: vec![name.clone()],
                may_cut: true,
                title: name,
                subtitle,
                ..NodeText::default()
            },
        }
    };
    let boxes: Vec<Rect> =
        network.ids().map(|id| Rect::from_center_size(centres[id.index()], size(id))).collect();
    let line = |edge: Edge| {
        let (a, b) = edge.ends();
        let [from, to] = [a, b].map(VariableId::index);
        let rises = match edge {
            Edge::Arc(..) | Edge::Moral(..) => &MORAL_RISES[..],
            Edge::Fill(..) | Edge::Preview(..) => &FILL_RISES,
        };
        PlacedEdge { from, to, path: clear_arch(&boxes, [from, to], rises), text: String::new() }
    };
    let lines = edges(network, elimination, pointed).into_iter().map(line).collect();
    (network.ids().map(node).collect(), lines)
}

/// The centres of the boxes, in layers or as a tree. In layers, causes are above their effects or
/// to the left of them. In a Markov network, the first of two neighbours in the file is taken as
/// the cause.
fn placement(
    network: &Network,
    elimination: &HandElimination,
    sizes: &[Vec2],
    aspect: f32,
) -> Vec<Pos2> {
    let arcs: Vec<(usize, usize)> = if network.is_bayesian() {
        let arcs_of = |cpt: &crate::network::Cpt| -> Vec<(usize, usize)> {
            cpt.parents().iter().map(|parent| (parent.index(), cpt.child().index())).collect()
        };
        network.cpts().iter().flat_map(arcs_of).collect()
    } else {
        elimination.graph.edges().map(|(a, b)| (a.index(), b.index())).collect()
    };
    directed::draw(sizes, &arcs, aspect).centres
}

/// The colours of boxes and lines.
pub(super) struct PictureStyle<'a> {
    elimination: &'a HandElimination,
    /// The variable under the pointer or, in the list, with the keyboard focus.
    pointed: Option<VariableId>,
    /// The variables that eliminating `pointed` would connect.
    neighbours: Vec<VariableId>,
    palette: Palette,
    background: Color32,
    fill: Color32,
    ink: Color32,
}

impl<'a> PictureStyle<'a> {
    /// The styles of the current frame.
    pub fn new(ui: &Ui, elimination: &'a HandElimination, pointed: Option<VariableId>) -> Self {
        let visuals = ui.visuals();
        let remains = pointed.filter(|variable| !elimination.done.is_eliminated(*variable));
        Self {
            elimination,
            pointed,
            neighbours: remains.map(|v| elimination.done.neighbours(v)).unwrap_or_default(),
            palette: Palette::of(ui),
            background: visuals.panel_fill,
            fill: visuals.widgets.inactive.bg_fill,
            ink: visuals.strong_text_color(),
        }
    }

    /// Whether the variable is faded: whether it is eliminated while others remain. Once all are
    /// eliminated, the picture is the result, the triangulated graph.
    fn is_faded(&self, id: VariableId) -> bool {
        self.elimination.done.is_eliminated(id) && !self.elimination.done.is_complete()
    }

    /// The style of a variable.
    pub fn variable(&self, id: VariableId) -> NodeStyle {
        let is_faded = self.is_faded(id);
        let fade = |colour: Color32| {
            if is_faded { colour.lerp_to_gamma(self.background, FADE) } else { colour }
        };
        let outline = if self.pointed == Some(id) {
            Stroke::new(2.5, self.palette.hovered)
        } else if self.neighbours.contains(&id) {
            Stroke::new(2.0, self.palette.hovered)
        } else {
            Stroke::new(1.0, fade(self.palette.line))
        };
        let (fill, ink) = (fade(self.fill), fade(self.ink));
        // At a zoom at which boxes are too small for names, `fill` would be too close to the
        // background.
        let small_fill = Some(fade(self.palette.line));
        NodeStyle { fill, small_fill, ink, outline, ..NodeStyle::default() }
    }

    /// The style of a line: faded if one of its ends is.
    pub fn edge(&self, edge: Edge) -> EdgeStyle {
        let (a, b) = edge.ends();
        let is_faded = self.is_faded(a) || self.is_faded(b);
        let (colour, line, width) = plain_line(&self.palette, edge);
        let colour = if is_faded { colour.lerp_to_gamma(self.background, FADE) } else { colour };
        EdgeStyle { width, colour, line, on_top: !is_faded, ..EdgeStyle::default() }
    }
}

/// The colour, the pattern and the width of a line that is not faded. Colours and patterns are
/// those of the Network pane.
pub(super) fn plain_line(palette: &Palette, edge: Edge) -> (Color32, Line, f32) {
    match edge {
        Edge::Arc(..) => (palette.line, Line::Solid, 1.6),
        Edge::Moral(..) => (palette.moral, Line::Dashed, 1.6),
        Edge::Fill(..) => (palette.fill, Line::Dotted, 1.6),
        Edge::Preview(..) => (palette.hovered, Line::Dotted, PREVIEW_WIDTH),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::layout::arch::{arch, meets};
    use crate::app::testing::model;

    #[test]
    fn edges_of_child_pass_around_boxes() {
        let model = model("child");
        let elimination = HandElimination::begin(&model, &[]).expect("an open network");
        let network = model.document.as_ref().expect("an open network").network();
        let (nodes, lines) = picture(network, &elimination, None, None, 1.6);
        let is_hidden = |line: &PlacedEdge, path: &[Pos2]| {
            nodes.iter().enumerate().any(|(index, node)| {
                let other = Rect::from_center_size(node.centre, node.size);
                ![line.from, line.to].contains(&index)
                    && path.windows(2).any(|ends| meets(other, ends[0], ends[1]))
            })
        };
        let plain = |line: &PlacedEdge| {
            arch(nodes[line.from].centre, nodes[line.to].centre, MORAL_RISES[0])
        };
        let hidden = lines.iter().filter(|line| is_hidden(line, &line.path)).count();
        let hidden_if_plain = lines.iter().filter(|line| is_hidden(line, &plain(line))).count();
        assert!(hidden == 0 && hidden_if_plain > 0, "{hidden} of {hidden_if_plain}");
    }
}
