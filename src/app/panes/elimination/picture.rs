//! The boxes and lines of the graph that is eliminated.

use std::collections::HashMap;

use eframe::egui::{Color32, Pos2, Rect, Stroke, Ui, Vec2, vec2};

use crate::app::layout::{arch, directed};
use crate::app::state::elimination::HandElimination;
use crate::app::theme::Palette;
use crate::app::widgets::graph_view::edge::{EdgeStyle, Line};
use crate::app::widgets::graph_view::node::{NodeStyle, NodeText};
use crate::app::widgets::graph_view::{PlacedEdge, PlacedNode};
use crate::network::{Network, VariableId};

/// Height of a box in picture coordinates: room for the name and the place in the order.
const BOX_HEIGHT: f32 = 38.0;
/// Minimum width of a box in picture coordinates. A narrower one shows no place in the order.
const MIN_BOX_WIDTH: f32 = 80.0;
/// Average width of a letter of a name in picture coordinates, estimated. If it is too small, names
/// are shortened without need; if it is too large, boxes are wider than needed.
const LETTER_WIDTH: f32 = 6.6;
/// Width of a box without its name, in picture coordinates.
const BOX_MARGIN: f32 = 26.0;
/// Height of the arch of an edge of the moral graph, as a share of the length of the edge. With
/// less, boxes between the ends of an edge hide it.
const MORAL_RISE: f32 = 0.08;
/// Heights of the arch of a fill edge, as shares of the length of the edge. The first with which
/// the edge meets no other box is used, or else the first of all. Lower arches are hard to tell
/// from the edges of the moral graph; much higher ones leave the picture.
const FILL_RISES: [f32; 6] = [0.22, 0.12, -0.22, -0.12, 0.35, -0.35];
/// Minimum distance between a fill edge and a box at which it does not end, in picture coordinates.
const CLEARANCE: f32 = 3.0;
/// Share of the background in the colour of an eliminated variable and its edges.
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
    /// An edge of the moral graph.
    Moral(VariableId, VariableId),
    /// A fill edge that an elimination added.
    Fill(VariableId, VariableId),
    /// A fill edge that eliminating the variable pointed at would add.
    Preview(VariableId, VariableId),
}

impl Edge {
    /// Both variables.
    fn ends(self) -> (VariableId, VariableId) {
        match self {
            Self::Moral(a, b) | Self::Fill(a, b) | Self::Preview(a, b) => (a, b),
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
    let mut edges: Vec<Edge> = elimination.graph.edges().map(|(a, b)| Edge::Moral(a, b)).collect();
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
            text: NodeText { brief: vec![name.clone()], may_cut: true, title: name, subtitle },
        }
    };
    let boxes: Vec<Rect> =
        network.ids().map(|id| Rect::from_center_size(centres[id.index()], size(id))).collect();
    let line = |edge: Edge| {
        let (a, b) = edge.ends();
        let [from, to] = [a, b].map(VariableId::index);
        let path = match edge {
            Edge::Moral(..) => arch(centres[from], centres[to], MORAL_RISE),
            Edge::Fill(..) | Edge::Preview(..) => fill_path(&boxes, from, to),
        };
        PlacedEdge { from, to, path, text: String::new() }
    };
    let lines = edges(network, elimination, pointed).into_iter().map(line).collect();
    (network.ids().map(node).collect(), lines)
}

/// A fill edge between two of `boxes`, around the other boxes if possible: an edge that passes
/// behind a box looks like two edges that end there.
fn fill_path(boxes: &[Rect], from: usize, to: usize) -> Vec<Pos2> {
    let path = |rise: f32| arch(boxes[from].center(), boxes[to].center(), rise);
    let is_clear = |rise: &f32| {
        let path = path(*rise);
        let bounds = Rect::from_points(&path).expand(CLEARANCE);
        let near = |(index, other): &(usize, &Rect)| {
            ![from, to].contains(index) && bounds.intersects(**other)
        };
        boxes
            .iter()
            .enumerate()
            .filter(near)
            .map(|(_, other)| other.expand(CLEARANCE))
            .all(|other| path.windows(2).all(|ends| !meets(other, ends[0], ends[1])))
    };
    path(FILL_RISES.into_iter().find(is_clear).unwrap_or(FILL_RISES[0]))
}

/// Whether the straight line between two points meets `rect`.
fn meets(rect: Rect, from: Pos2, to: Pos2) -> bool {
    // The part of the line, from 0 to 1, that is between the sides of the rectangle.
    let (mut low, mut high) = (0.0_f32, 1.0_f32);
    for axis in [0, 1] {
        let (start, along) = (from[axis], to[axis] - from[axis]);
        let sides = [rect.min[axis], rect.max[axis]];
        if along == 0.0 {
            if start < sides[0] || start > sides[1] {
                return false;
            }
            continue;
        }
        let [one, other] = sides.map(|side| (side - start) / along);
        low = low.max(one.min(other));
        high = high.min(one.max(other));
    }
    low <= high
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

    /// The style of a variable: faded once it is eliminated.
    pub fn variable(&self, id: VariableId) -> NodeStyle {
        let is_eliminated = self.elimination.done.is_eliminated(id);
        let fade = |colour: Color32| {
            if is_eliminated { colour.lerp_to_gamma(self.background, FADE) } else { colour }
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

    /// The style of a line: faded once one of its ends is eliminated.
    pub fn edge(&self, edge: Edge) -> EdgeStyle {
        let (a, b) = edge.ends();
        let done = &self.elimination.done;
        let is_gone = done.is_eliminated(a) || done.is_eliminated(b);
        let (colour, line, width) = match edge {
            Edge::Moral(..) => (self.palette.line, Line::Solid, 1.6),
            Edge::Fill(..) => (self.palette.fill, Line::Dotted, 1.6),
            Edge::Preview(..) => (self.palette.fill, Line::Dashed, 1.6),
        };
        let colour = if is_gone { colour.lerp_to_gamma(self.background, FADE) } else { colour };
        EdgeStyle { width, colour, line, on_top: !is_gone, ..EdgeStyle::default() }
    }
}

#[cfg(test)]
mod tests {
    use eframe::egui::pos2;

    use super::*;

    #[test]
    fn a_fill_edge_passes_around_the_boxes_between_its_ends() {
        let at = |x: f32, y: f32| Rect::from_center_size(pos2(x, y), vec2(80.0, 38.0));
        let clear = |boxes: &[Rect]| {
            let path = fill_path(boxes, 0, 1);
            assert_eq!((path[0], path[8]), (boxes[0].center(), boxes[1].center()));
            path.windows(2)
                .all(|ends| boxes[2..].iter().all(|&other| !meets(other, ends[0], ends[1])))
        };
        let (from, to) = (at(0.0, 0.0), at(300.0, 0.0));
        assert!(clear(&[from, to]));
        // Arches of different heights meet boxes at different places.
        for y in [-70.0, -40.0, 0.0, 40.0, 70.0] {
            assert!(clear(&[from, to, at(150.0, y)]), "{y}");
        }
        let around: Vec<Rect> = (-10..=10).map(|row| at(150.0, 40.0 * row as f32)).collect();
        assert!(!clear(&[[from, to].as_slice(), &around].concat()), "there is no way around");
    }

    #[test]
    fn a_line_meets_a_rectangle_that_it_touches() {
        let rect = Rect::from_min_max(pos2(0.0, 0.0), pos2(10.0, 10.0));
        assert!(meets(rect, pos2(-5.0, 5.0), pos2(15.0, 5.0)));
        assert!(meets(rect, pos2(-5.0, 5.0), pos2(5.0, 15.0)), "the corner");
        assert!(!meets(rect, pos2(-6.0, 5.0), pos2(5.0, 16.0)), "past the corner");
        assert!(!meets(rect, pos2(-5.0, 5.0), pos2(-1.0, 5.0)), "ends before it");
        assert!(meets(rect, pos2(4.0, 4.0), pos2(4.0, 4.0)), "inside");
        assert!(!meets(rect, pos2(11.0, -5.0), pos2(11.0, 15.0)));
    }
}
