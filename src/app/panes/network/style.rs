//! Colours, lines and charts of the network's variables and edges.

use std::sync::Arc;

use eframe::egui::{Color32, Stroke, Ui};
use fixedbitset::FixedBitSet;

use crate::app::panes::network::Edge;
use crate::app::state::highlight::{Highlight, Item};
use crate::app::state::model::{Document, Model};
use crate::app::theme::Palette;
use crate::app::widgets::graph_view::edge::{EdgeLook, Line};
use crate::app::widgets::graph_view::node::{Bar, Chart, NodeLook};
use crate::network::{Evidence, VariableId};

/// Everything that the picture depends on.
#[derive(PartialEq)]
pub struct NetworkKey {
    selection: Highlight,
    hover: Highlight,
    charts: ChartKey,
}

/// Everything that the charts depend on.
#[derive(Clone, PartialEq)]
struct ChartKey {
    serial: u64,
    /// The newest posteriors, by their address; they are kept by the document.
    result: Option<usize>,
    stale: bool,
    evidence: Evidence,
    dark: Option<bool>,
}

impl ChartKey {
    fn new(document: &Document, dark: Option<bool>) -> Self {
        Self {
            serial: document.serial,
            result: document.result.as_ref().map(|result| Arc::as_ptr(result) as usize),
            stale: document.is_stale(),
            evidence: document.evidence.clone(),
            dark,
        }
    }
}

impl NetworkKey {
    pub fn new(model: &Model, document: &Document) -> Self {
        Self {
            selection: model.selection.clone(),
            hover: model.hover.clone(),
            charts: ChartKey::new(document, None),
        }
    }
}

/// The chart of every variable, made once for all frames in which the posteriors are the same.
#[derive(Default)]
pub struct Charts {
    key: Option<ChartKey>,
    charts: Vec<Arc<Chart>>,
}

impl Charts {
    /// Makes the charts anew if the posteriors are new.
    pub fn follow(&mut self, ui: &Ui, document: &Document) {
        let key = ChartKey::new(document, Some(ui.visuals().dark_mode));
        if self.key.as_ref() == Some(&key) {
            return;
        }
        let palette = Palette::of(ui);
        let ground = ui.visuals().extreme_bg_color;
        let network = document.network();
        let chart = |id: VariableId| {
            let posterior = document.result.as_ref().map(|result| result.posteriors.of(id));
            let colour = match document.evidence.get(id) {
                Some(_) => palette.evidence,
                None if key.stale => palette.posterior.lerp_to_gamma(ground, 0.55),
                None => palette.posterior,
            };
            let bars = network[id].states().iter().enumerate().map(|(state, label)| Bar {
                label: Arc::from(label.as_str()),
                share: posterior.map_or(0.0, |posterior| posterior[state] as f32),
            });
            Arc::new(Chart { bars: bars.collect(), colour, ground })
        };
        self.charts = network.ids().map(chart).collect();
        self.key = Some(key);
    }
}

/// What variables and edges look like in one frame.
pub struct Looks<'a> {
    model: &'a Model,
    document: &'a Document,
    charts: &'a Charts,
    palette: Palette,
    ground: Color32,
    fill: Color32,
    far: Color32,
    ink: Color32,
    /// Parents and children of the variable that the pointer is over, or else the selected one.
    relatives: FixedBitSet,
    /// That variable.
    centre: Option<VariableId>,
    /// Whether what is not lit is to step back.
    dims: bool,
    /// There are so many arcs that they fade where the picture is small.
    is_crowded: bool,
}

/// Arcs from which on a small picture of them is a web.
const CROWDED: usize = 200;

impl<'a> Looks<'a> {
    pub fn new(ui: &Ui, model: &'a Model, document: &'a Document, charts: &'a Charts) -> Self {
        let network = document.network();
        let variable = |item: Option<&Item>| match item {
            Some(&Item::Variable(variable)) => Some(variable),
            _ => None,
        };
        let centre = variable(model.hovered()).or_else(|| variable(model.selected()));
        let mut relatives = FixedBitSet::with_capacity(network.variables().len());
        if let Some(centre) = centre {
            relatives.extend(network.parents(centre).iter().map(|parent| parent.index()));
            relatives.extend(network.children(centre).iter().map(|child| child.index()));
        }
        let visuals = ui.visuals();
        Self {
            palette: Palette::of(ui),
            ground: visuals.panel_fill,
            fill: visuals.widgets.inactive.bg_fill.lerp_to_gamma(visuals.panel_fill, 0.45),
            far: Palette::of(ui).posterior.lerp_to_gamma(visuals.panel_fill, 0.25),
            ink: visuals.strong_text_color(),
            is_crowded: network.arc_count() > CROWDED,
            dims: matches!(
                model.selected(),
                Some(Item::Clique(_) | Item::Separator(_) | Item::Message(_))
            ),
            model,
            document,
            charts,
            relatives,
            centre,
        }
    }

    /// The ground of a box and of one that is too small for text, in the colour of the file where it
    /// gives one. Text must stay legible on it, so it is only a tint.
    fn grounds(&self, id: VariableId) -> (Color32, Color32) {
        match self.document.network().annotations().of(id).colour {
            Some([red, green, blue]) => {
                let colour = Color32::from_rgb(red, green, blue);
                (self.fill.lerp_to_gamma(colour, 0.25), self.far.lerp_to_gamma(colour, 0.5))
            }
            None => (self.fill, self.far),
        }
    }

    pub fn variable(&self, id: VariableId) -> NodeLook {
        let (selection, hover) = (&self.model.selection, &self.model.hover);
        let known = self.document.evidence.get(id).is_some();
        let lit = selection.variable(id) || hover.variable(id);
        let faded = self.dims && !lit && !self.relatives.contains(id.index());
        let fade = |colour: Color32| {
            if faded { colour.lerp_to_gamma(self.ground, 0.65) } else { colour }
        };
        let outline = if selection.variable(id) {
            Stroke::new(2.5, self.palette.selected)
        } else if hover.variable(id) {
            Stroke::new(2.0, self.palette.hovered)
        } else if known {
            Stroke::new(2.0, self.palette.evidence)
        } else if self.relatives.contains(id.index()) {
            Stroke::new(1.5, self.palette.hovered)
        } else {
            Stroke::new(1.0, fade(self.palette.line))
        };
        let (fill, far) = self.grounds(id);
        NodeLook {
            fill: fade(fill),
            far: Some(fade(if known { self.palette.evidence } else { far })),
            ink: fade(self.ink),
            outline,
            ring: None,
            dot: known.then_some(self.palette.evidence),
            chart: self.charts.charts.get(id.index()).filter(|_| !faded).cloned(),
        }
    }

    pub fn edge(&self, edge: Edge) -> EdgeLook {
        let (from, to) = edge.ends();
        let touches = self.centre.is_some_and(|centre| centre == from || centre == to);
        // The edges inside a selected clique are what makes it one.
        let inside =
            self.dims && self.model.selection.variable(from) && self.model.selection.variable(to);
        let quiet = match self.is_crowded {
            true => self.palette.line.lerp_to_gamma(self.ground, 0.35),
            false => self.palette.line.lerp_to_gamma(self.ink, 0.2),
        };
        let (colour, line, arrow) = match edge {
            Edge::Arc(..) => (quiet, Line::Solid, Some(true)),
            Edge::Moral(..) => (self.palette.collect, Line::Dashed, None),
            Edge::Fill(..) => (self.palette.distribute, Line::Dotted, None),
        };
        let mut look = EdgeLook {
            width: 1.2,
            colour,
            arrow,
            line,
            label: None,
            faint: self.is_crowded,
            on_top: false,
        };
        if self.dims && !inside {
            look.colour = look.colour.lerp_to_gamma(self.ground, 0.5);
        }
        if touches || inside {
            look.width = 2.2;
            look.faint = false;
            look.on_top = true;
            if matches!(edge, Edge::Arc(..)) {
                look.colour = if inside { self.palette.selected } else { self.palette.hovered };
            }
        }
        look
    }
}
