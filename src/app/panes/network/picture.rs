//! The boxes and lines of the network.

use std::collections::BTreeSet;

use eframe::egui::{Pos2, Rect, Vec2};

use crate::app::layout::arch::{arch, clear_arch};
use crate::app::layout::{directed, from_file};
use crate::app::widgets::graph_view::chart::{CHART_BOTTOM, CHART_MARGIN, CHART_TOP, NUMBER_WIDTH};
use crate::app::widgets::graph_view::node::NodeText;
use crate::app::widgets::graph_view::{PlacedEdge, PlacedNode};
use crate::app::widgets::naming;
use crate::network::{Network, VariableId};
use crate::propagation::CompiledNetwork;

// Lengths are in picture coordinates: points at zoom 1.

/// Maximum number of bars for which a box grows in height. With more bars, each bar is less tall.
const MAX_BAR_ROWS: usize = 8;
/// Height of the row of a bar.
const BAR_HEIGHT: f32 = 12.0;
/// The same in a network of at most [`MAX_TALL_BARS`] variables. All of such a network fits into a
/// pane at a zoom of about 0.45, at which the rows can still be clicked. With higher bars, moral
/// and fill edges find no way around the boxes of Child.
const TALL_BAR_HEIGHT: f32 = 18.0;
/// Maximum number of variables of a network with tall bars. A larger network fits only at a zoom at
/// which no bar can be clicked.
const MAX_TALL_BARS: usize = 20;
/// Minimum width of a bar at probability one. With a smaller width, 5% and 6% look the same.
const MIN_BAR_WIDTH: f32 = 50.0;
/// Maximum width of a box whose title needs more room than its chart. A longer title is shortened.
const MAX_TITLED_WIDTH: f32 = 160.0;
/// Average width of a letter in a title, estimated. If it is too small, titles are shortened
/// without need; if it is too large, boxes are wider than needed.
const TITLE_LETTER_WIDTH: f32 = 6.4;
/// Room to the left and right of a title, together.
const TITLE_MARGIN: f32 = 22.0;
/// Average width of a letter in the name of a state, estimated. If it is too small, names are
/// shortened without need; if it is too large, bars are shorter than needed.
const LABEL_LETTER_WIDTH: f32 = 5.3;
/// Room for the mark of a finding before the name of a state.
const MARK_WIDTH: f32 = 12.0;
/// Maximum width of the names of states with the room for the mark. Longer names are shortened.
const MAX_LABEL_WIDTH: f32 = 62.0;
/// Height of the arch of a moral or fill edge, as a share of the length of the edge. With less, the
/// boxes between two boxes of the same layer hide the edge that connects the two.
const RISE: f32 = 0.12;

/// If the gap between two boxes side by side is at most this wide, in picture coordinates, a moral
/// or fill edge between them runs above or below the boxes instead of through the gap.
const MIN_GAP: f32 = 30.0;

/// For a moral or fill edge that runs above or below the two boxes that it connects: the distance,
/// in picture coordinates, of its middle from the taller box, if the centres of the boxes are at
/// the same height and the edge would otherwise be closer.
const CLEARANCE: f32 = 12.0;

/// Heights of the arch of a moral or fill edge, as shares of the length of the edge, that are tried
/// if the edge would pass behind a box, in this order.
const OTHER_RISES: [f32; 7] = [-RISE, 0.02, -0.02, 0.22, -0.22, 0.35, -0.35];

/// Maximum product of the number of variables and the number of moral and fill edges for which
/// these edges are led around boxes. In a larger network, this takes longer than the layout, and
/// the boxes are small.
const MAX_CHECKS: usize = 1_000_000;

/// What a line of the picture stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edge {
    /// An arc from a parent to a child.
    Arc(VariableId, VariableId),
    /// An edge between two parents of the same child, or between two variables of one factor of a
    /// Markov network.
    Moral(VariableId, VariableId),
    /// An edge that was added to make the moral graph chordal.
    Fill(VariableId, VariableId),
}

impl Edge {
    /// Both variables; for an arc, parent and child.
    pub fn ends(self) -> (VariableId, VariableId) {
        match self {
            Self::Arc(a, b) | Self::Moral(a, b) | Self::Fill(a, b) => (a, b),
        }
    }
}

/// The text in the box of a variable: its name, and its title if the file gives one that differs
/// from the name.
fn title(network: &Network, id: VariableId) -> String {
    let name = network[id].name();
    match naming::title(network, id) {
        Some(title) => format!("{name} · {title}"),
        None => name.to_owned(),
    }
}

/// The position of each variable, if the file gives one. A position with a coordinate of a million
/// or more, or of minus a million or less, counts as missing.
pub fn file_positions(network: &Network) -> Vec<Option<[f64; 2]>> {
    let plausible = |position: &[f64; 2]| position.iter().all(|coordinate| coordinate.abs() < 1e6);
    network.ids().map(|id| network.annotations().of(id).position.filter(plausible)).collect()
}

/// The network as nodes and lines.
pub struct Picture {
    /// The box of each variable, by index.
    pub nodes: Vec<PlacedNode>,
    /// The lines.
    pub lines: Vec<PlacedEdge>,
    /// What each line stands for.
    pub edges: Vec<Edge>,
}

/// The picture of the network in layers or as a tree, for a pane `aspect` times as wide as it is
/// high. If `aspect` is `None`, variables are at the positions that the file gives. Fill edges, and
/// moral edges of a Bayesian network, are drawn only if `compiled` is given.
pub fn picture(
    network: &Network,
    compiled: Option<&CompiledNetwork>,
    aspect: Option<f32>,
) -> Picture {
    let sizes: Vec<Vec2> = network.ids().map(|id| box_size(network, id)).collect();
    let mut edges =
        if network.is_bayesian() { arcs_of(network) } else { edges_of_factors(network) };
    let pairs: Vec<(usize, usize)> =
        edges.iter().map(|edge| edge.ends()).map(|(a, b)| (a.index(), b.index())).collect();
    let (centres, mut paths) = match aspect {
        Some(aspect) => {
            let drawing = directed::draw(&sizes, &pairs, aspect);
            (drawing.centres, drawing.arc_lines)
        }
        None => {
            let drawing = from_file::draw(&sizes, &file_positions(network), &pairs);
            (drawing.centres, drawing.links)
        }
    };
    if let Some(compiled) = compiled {
        let boxes: Vec<Rect> =
            centres.iter().zip(&sizes).map(|(&c, &size)| Rect::from_center_size(c, size)).collect();
        let added = edges_of_triangulation(network, compiled);
        let is_small = boxes.len() * added.len() <= MAX_CHECKS;
        for edge in added {
            let (a, b) = edge.ends();
            let ends = [a.index(), b.index()];
            let [from, to] = ends.map(|end| boxes[end]);
            let rise = rise_between([from, to]);
            paths.push(match is_small {
                true => clear_arch(&boxes, ends, &[&[rise], &OTHER_RISES[..]].concat()),
                false => arch(from.center(), to.center(), rise),
            });
            edges.push(edge);
        }
    }
    let placed_edge = |(edge, path): (&Edge, Vec<Pos2>)| {
        let (from, to) = edge.ends();
        PlacedEdge { from: from.index(), to: to.index(), path, text: String::new() }
    };
    let lines = edges.iter().zip(paths).map(placed_edge).collect();
    let placed_node = |((id, size), centre): ((VariableId, Vec2), Pos2)| {
        let name = network[id].name().to_owned();
        let text = NodeText {
            brief: vec![name],
            may_cut: true,
            title: title(network, id),
            ..NodeText::default()
        };
        PlacedNode { centre, size, text }
    };
    let nodes = network.ids().zip(sizes).zip(centres).map(placed_node).collect();
    Picture { nodes, lines, edges }
}

/// The rise of a moral or fill edge between two boxes. Between boxes side by side that are close to
/// each other, the edge leaves the boxes at the top or at the bottom, because only a few of its
/// dashes or dots would fit into the gap.
fn rise_between([one, other]: [Rect; 2]) -> f32 {
    let gap = (one.center() - other.center()).abs() - (one.size() + other.size()) / 2.0;
    let length = one.center().distance(other.center());
    let is_beside = gap.x > gap.y;
    if gap.max_elem() > MIN_GAP || !is_beside || length == 0.0 {
        return RISE;
    }
    let height = one.height().max(other.height()) / 2.0 + CLEARANCE;
    (height / length).max(RISE)
}

/// The width of the names of the states in the chart of a variable, with room for the mark of a
/// finding.
pub fn label_width(network: &Network, id: VariableId) -> f32 {
    let letters = network[id].states().iter().map(|state| state.chars().count()).max();
    (MARK_WIDTH + LABEL_LETTER_WIDTH * letters.unwrap_or(0) as f32).min(MAX_LABEL_WIDTH)
}

/// The size of the box of a variable, with room for its title and for a bar chart of its states.
fn box_size(network: &Network, id: VariableId) -> Vec2 {
    let letters = title(network, id).chars().count() as f32;
    let rows = network[id].cardinality().min(MAX_BAR_ROWS) as f32;
    let chart = label_width(network, id) + MIN_BAR_WIDTH + NUMBER_WIDTH + 2.0 * CHART_MARGIN;
    let width = (letters * TITLE_LETTER_WIDTH + TITLE_MARGIN).min(MAX_TITLED_WIDTH).max(chart);
    let is_small = network.variables().len() <= MAX_TALL_BARS;
    let height = if is_small { TALL_BAR_HEIGHT } else { BAR_HEIGHT };
    Vec2::new(width, CHART_TOP + height * rows + CHART_BOTTOM)
}

/// The arcs of a Bayesian network.
fn arcs_of(network: &Network) -> Vec<Edge> {
    let mut arcs = Vec::new();
    for cpt in network.cpts() {
        arcs.extend(cpt.parents().iter().map(|&parent| Edge::Arc(parent, cpt.child())));
    }
    arcs
}

/// The edges between variables that share a factor of a Markov network, without duplicates.
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

/// The edges of the triangulated graph that the picture of the network lacks: fill edges and, in a
/// Bayesian network, moral edges.
fn edges_of_triangulation(network: &Network, compiled: &CompiledNetwork) -> Vec<Edge> {
    let is_arc = |a: VariableId, b: VariableId| {
        network.parents(a).contains(&b) || network.parents(b).contains(&a)
    };
    let mut edges = Vec::new();
    let is_moral = |&(a, b): &(VariableId, VariableId)| network.is_bayesian() && !is_arc(a, b);
    let moral = compiled.moral_graph().edges().filter(is_moral);
    edges.extend(moral.map(|(a, b)| Edge::Moral(a, b)));
    edges.extend(compiled.fill_edges().iter().map(|&(a, b)| Edge::Fill(a, b)));
    edges
}
