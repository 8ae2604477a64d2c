//! Styles of variables and edges: colours, lines and bar charts.

use std::sync::Arc;

use eframe::egui::{Color32, Stroke, Ui};
use fixedbitset::FixedBitSet;

use crate::app::panes::common::{Identity, StateRow};
use crate::app::panes::network::picture::{Edge, label_width};
use crate::app::state::document::Document;
use crate::app::state::highlight::{Highlight, Item};
use crate::app::state::model::{BeliefStatus, Model};
use crate::app::theme::Palette;
use crate::app::widgets::graph_view::chart::Chart;
use crate::app::widgets::graph_view::edge::{EdgeStyle, Line, PathEnd};
use crate::app::widgets::graph_view::node::NodeStyle;
use crate::app::widgets::state_bar::BarColours;
use crate::engine::Beliefs;
use crate::network::{Evidence, VariableId};
use crate::session::Propagation;

/// Everything that the styles depend on, except the theme.
#[derive(PartialEq)]
pub struct NetworkKey {
    selection: Highlight,
    hover: Highlight,
    charts: ChartKey,
    /// Variables found by the search, if there is one.
    matches: Option<FixedBitSet>,
}

/// Everything that the charts depend on.
#[derive(Clone, PartialEq)]
struct ChartKey {
    /// Serial number of the document.
    serial: u64,
    /// The newest propagation.
    result: Option<Identity<Propagation>>,
    /// The propagation without evidence.
    prior: Option<Identity<Propagation>>,
    /// The beliefs so far.
    so_far: Option<Identity<Beliefs>>,
    status: BeliefStatus,
    evidence: Evidence,
    /// Whether the theme is dark; `None` in [`NetworkKey`], since the canvas compares the theme
    /// itself.
    dark: Option<bool>,
}

impl ChartKey {
    /// The key of the current frame.
    fn new(model: &Model, document: &Document, dark: Option<bool>) -> Self {
        Self {
            serial: document.serial,
            result: document.result.as_ref().map(Identity::of),
            prior: document.prior.as_ref().map(Identity::of),
            so_far: model.beliefs_so_far().map(Identity::of),
            status: model.belief_status(),
            evidence: document.evidence.clone(),
            dark,
        }
    }
}

impl NetworkKey {
    /// The key of the current frame. `matches` are the variables found by the search.
    pub fn new(model: &Model, document: &Document, matches: Option<&FixedBitSet>) -> Self {
        Self {
            matches: matches.cloned(),
            selection: model.selection.clone(),
            hover: model.hover.clone(),
            charts: ChartKey::new(model, document, None),
        }
    }
}

/// The bar chart of every variable, cached until something that it depends on changes.
#[derive(Default)]
pub struct Charts {
    key: Option<ChartKey>,
    charts: Vec<Arc<Chart>>,
    /// The same charts in weaker colours.
    faded: Vec<Arc<Chart>>,
}

impl Charts {
    /// Computes the charts again if something that they depend on has changed.
    pub fn update(&mut self, ui: &Ui, model: &Model, document: &Document) {
        let key = ChartKey::new(model, document, Some(ui.visuals().dark_mode));
        if self.key.as_ref() == Some(&key) {
            return;
        }
        let colours = BarColours { ink: ui.visuals().strong_text_color(), ..BarColours::of(ui) };
        let network = document.network();
        let chart = |variable: VariableId| {
            let states = 0..network[variable].cardinality();
            let row = |state: usize| StateRow { model, document, variable, state }.bar();
            let bars = states.map(row).collect();
            Arc::new(Chart { bars, colours, label_width: label_width(network, variable) })
        };
        self.charts = network.ids().map(chart).collect();
        let fade = |chart: &Arc<Chart>| {
            let colours = chart.colours.towards(ui.visuals().panel_fill, CHART_FADING);
            Arc::new(Chart { colours, ..(**chart).clone() })
        };
        self.faded = self.charts.iter().map(fade).collect();
        self.key = Some(key);
    }
}

/// Computes the styles of variables and edges in one frame.
pub struct NetworkStyle<'a> {
    model: &'a Model,
    document: &'a Document,
    charts: &'a Charts,
    palette: Palette,
    background: Color32,
    fill: Color32,
    small_fill: Color32,
    ink: Color32,
    /// The variable under the pointer, or else the selected one.
    focused: Option<VariableId>,
    /// Parents and children of `focused`.
    relatives: FixedBitSet,
    /// Variables found by the search, if there is one. Other variables are dimmed.
    matches: Option<&'a FixedBitSet>,
    /// Whether a clique, separator or message is selected. If so, variables that are neither
    /// highlighted nor in `relatives` are dimmed.
    dims: bool,
    /// Whether there are so many arcs that they fade when zoomed out.
    is_crowded: bool,
}

/// How far the names and charts of dimmed variables fade, from 0 to 1. With more, they are hard to
/// read; with less, the other variables do not stand out.
const CHART_FADING: f32 = 0.45;

/// Maximum number of arcs of a network whose arcs do not fade when zoomed out. With more arcs, the
/// lines would hide the boxes.
const MAX_UNFADED_ARCS: usize = 200;

impl<'a> NetworkStyle<'a> {
    /// The styles of the current frame. `matches` are the variables found by the search.
    pub fn new(
        ui: &Ui,
        model: &'a Model,
        document: &'a Document,
        charts: &'a Charts,
        matches: Option<&'a FixedBitSet>,
    ) -> Self {
        let network = document.network();
        let variable = |item: Option<&Item>| match item {
            Some(&Item::Variable(variable)) => Some(variable),
            _ => None,
        };
        let focused = variable(model.hovered()).or_else(|| variable(model.selected()));
        let mut relatives = FixedBitSet::with_capacity(network.variables().len());
        if let Some(focused) = focused {
            relatives.extend(network.parents(focused).iter().map(|parent| parent.index()));
            relatives.extend(network.children(focused).iter().map(|child| child.index()));
        }
        let visuals = ui.visuals();
        Self {
            palette: Palette::of(ui),
            background: visuals.panel_fill,
            fill: visuals.widgets.inactive.bg_fill.lerp_to_gamma(visuals.panel_fill, 0.45),
            small_fill: Palette::of(ui).posterior.lerp_to_gamma(visuals.panel_fill, 0.25),
            ink: visuals.strong_text_color(),
            is_crowded: network.arc_count() > MAX_UNFADED_ARCS,
            dims: matches!(
                model.selected(),
                Some(Item::Clique(_) | Item::Separator(_) | Item::Message(_))
            ),
            model,
            document,
            charts,
            matches,
            relatives,
            focused,
        }
    }

    /// The fill of a box, and its fill at a zoom at which boxes are too small for text. A colour
    /// that the file gives only tints both fills, so that text stays legible.
    fn fills(&self, id: VariableId) -> (Color32, Color32) {
        match self.document.network().annotations().of(id).colour {
            Some([red, green, blue]) => {
                let colour = Color32::from_rgb(red, green, blue);
                (self.fill.lerp_to_gamma(colour, 0.25), self.small_fill.lerp_to_gamma(colour, 0.5))
            }
            None => (self.fill, self.small_fill),
        }
    }

    /// The style of a variable.
    pub fn variable(&self, id: VariableId) -> NodeStyle {
        let (selection, hover) = (&self.model.selection, &self.model.hover);
        let has_evidence = self.document.evidence.get(id).is_some();
        let highlighted = selection.variable(id) || hover.variable(id);
        let faded = match self.matches {
            Some(matches) => !matches.contains(id.index()) && !highlighted,
            None => self.dims && !highlighted && !self.relatives.contains(id.index()),
        };
        let fade = |colour: Color32| {
            if faded { colour.lerp_to_gamma(self.background, 0.65) } else { colour }
        };
        let outline = if selection.variable(id) {
            Stroke::new(2.5, self.palette.selected)
        } else if hover.variable(id) {
            Stroke::new(2.0, self.palette.hovered)
        } else if has_evidence {
            Stroke::new(2.0, self.palette.evidence)
        } else if self.relatives.contains(id.index()) {
            Stroke::new(1.5, self.palette.hovered)
        } else {
            Stroke::new(1.0, fade(self.palette.line))
        };
        let (fill, small_fill) = self.fills(id);
        let charts = if faded { &self.charts.faded } else { &self.charts.charts };
        NodeStyle {
            fill: fade(fill),
            small_fill: Some(fade(if has_evidence { self.palette.evidence } else { small_fill })),
            ink: if faded {
                self.ink.lerp_to_gamma(self.background, CHART_FADING)
            } else {
                self.ink
            },
            outline,
            outline_gap: 0.0,
            ring: None,
            dot: has_evidence.then_some(self.palette.evidence),
            chart: charts.get(id.index()).cloned(),
        }
    }

    /// The colour and the pattern of `edge` where nothing highlights it, for the legend.
    pub fn sample(ui: &Ui, edge: Edge) -> (Color32, Line) {
        plain_line(&Palette::of(ui), edge)
    }

    /// The style of an edge.
    pub fn edge(&self, edge: Edge) -> EdgeStyle {
        let (from, to) = edge.ends();
        let touches = self.focused.is_some_and(|focused| focused == from || focused == to);
        // Whether both ends belong to the selected clique, separator or message.
        let inside =
            self.dims && self.model.selection.variable(from) && self.model.selection.variable(to);
        let is_arc = matches!(edge, Edge::Arc(..));
        let (plain_colour, line) = plain_line(&self.palette, edge);
        let colour = match is_arc {
            true if self.is_crowded => plain_colour.lerp_to_gamma(self.background, 0.35),
            true => plain_colour.lerp_to_gamma(self.ink, 0.2),
            false => plain_colour,
        };
        let mut style = EdgeStyle {
            width: if is_arc { 1.2 } else { 2.0 },
            colour,
            arrow: is_arc.then_some(PathEnd::End),
            line,
            label: None,
            label_zoom: 0.0,
            faint: self.is_crowded && is_arc,
            on_top: false,
        };
        if self.dims && !inside {
            style.colour = style.colour.lerp_to_gamma(self.background, 0.5);
        }
        if touches || inside {
            style.width = 2.4;
            style.faint = false;
            style.on_top = true;
            if is_arc {
                style.colour = if inside { self.palette.selected } else { self.palette.hovered };
            }
        }
        style
    }
}

/// The colour and the pattern of an edge that nothing highlights.
fn plain_line(palette: &Palette, edge: Edge) -> (Color32, Line) {
    match edge {
        Edge::Arc(..) => (palette.line, Line::Solid),
        Edge::Moral(..) => (palette.moral, Line::Dashed),
        Edge::Fill(..) => (palette.fill, Line::Dotted),
    }
}
