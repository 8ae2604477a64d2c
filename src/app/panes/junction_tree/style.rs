//! Styles of cliques and separators: colours and lines.

use std::sync::Arc;

use eframe::egui::{Color32, Stroke, Ui};
use fixedbitset::FixedBitSet;

use crate::app::layout::tree::MAX_WITH_LABELS;
use crate::app::panes::junction_tree::measure::Colouring;
use crate::app::state::highlight::{Highlight, Item};
use crate::app::state::model::Model;
use crate::app::state::progress::Progress;
use crate::app::theme::{Palette, faint_ink_on, ink_on};
use crate::app::widgets::colour_scale::ColourScale;
use crate::app::widgets::graph_view::edge::{EdgeStyle, Line, PathEnd};
use crate::app::widgets::graph_view::node::NodeStyle;
use crate::graph::{CliqueId, SeparatorId};
use crate::propagation::{CompiledNetwork, Message, Phase};

/// Share of the background in the colour of a dimmed clique.
const DIMMED_CLIQUE: f32 = 0.72;

/// Share of the background in the colour of a dimmed separator.
const DIMMED_SEPARATOR: f32 = 0.6;

/// Width of the line of the smallest separator, in points.
const MIN_LINE_WIDTH: f32 = 1.2;

/// Width of the line of the largest separator, in points.
const MAX_LINE_WIDTH: f32 = 5.5;

/// Width of the lines if all separators have the same number of entries, as a share of the way from
/// [`MIN_LINE_WIDTH`] to [`MAX_LINE_WIDTH`].
const SHARE_IF_ALL_EQUAL: f32 = 0.2;

/// Everything that the styles depend on, except the tree and the theme.
#[derive(Clone, PartialEq)]
pub struct TreeKey {
    selection: Highlight,
    hover: Highlight,
    /// Cliques that contain a variable with evidence.
    with_evidence: FixedBitSet,
    /// Cliques found by the search, if there is one.
    matches: Option<FixedBitSet>,
    /// Progress of the propagation that runs or is stepped through.
    progress: Option<Progress>,
    /// Whether the user is stepping through the messages. If so, separators that no message has
    /// crossed yet are dimmed.
    stepping: bool,
    /// The value that the colour of each clique shows; `None` where it is unknown.
    values: Arc<Vec<Option<f64>>>,
    colours: ColourScale,
}

impl TreeKey {
    /// The key of the current frame. `matches` are the cliques found by the search.
    pub fn new(
        model: &Model,
        compiled: &CompiledNetwork,
        matches: Option<&FixedBitSet>,
        colouring: &Colouring,
    ) -> Self {
        let tree = compiled.tree();
        let document = model.document.as_ref();
        let mut with_evidence = FixedBitSet::with_capacity(tree.cliques().len());
        if let Some(evidence) = document.map(|document| &document.evidence)
            && !evidence.is_empty()
        {
            for (index, clique) in tree.cliques().iter().enumerate() {
                let has_evidence = clique.variables.iter().any(|&v| evidence.get(v).is_some());
                with_evidence.set(index, has_evidence);
            }
        }
        Self {
            selection: model.selection.clone(),
            hover: model.hover.clone(),
            with_evidence,
            matches: matches.cloned(),
            progress: model.progress(),
            stepping: model.stepping.is_some(),
            values: Arc::clone(colouring.values()),
            colours: *colouring.scale(),
        }
    }

    /// Whether a propagation is running, rather than stepped through.
    pub fn is_running(&self) -> bool {
        self.progress.is_some() && !self.stepping
    }
}

/// Minimum zoom at which the separators of a tree of `cliques` cliques are labelled. The layout of
/// a large tree leaves no room for labels, so they are shown only at a larger zoom.
pub(super) fn label_zoom(cliques: usize) -> f32 {
    if cliques <= MAX_WITH_LABELS { 0.25 } else { 0.45 }
}

/// The end of a separator's path at which the receiver of a message of `phase` is. The path begins
/// at the clique that is nearer to the root.
fn receiver_end(phase: Phase) -> PathEnd {
    match phase {
        Phase::Collect => PathEnd::Start,
        Phase::Distribute => PathEnd::End,
    }
}

/// Computes the styles of cliques and separators in one frame.
pub struct TreeStyle<'a> {
    key: &'a TreeKey,
    compiled: &'a Arc<CompiledNetwork>,
    palette: Palette,
    background: Color32,
    label_background: Color32,
    label_ink: Color32,
    /// Fill of a clique whose value is unknown.
    unknown: Color32,
    /// The scale from table sizes of separators to widths of lines. Its colours are not used.
    widths: ColourScale,
    /// Whether cliques and separators that are not highlighted are dimmed.
    dims: bool,
}

impl<'a> TreeStyle<'a> {
    /// The styles of the current frame.
    pub fn new(
        ui: &Ui,
        model: &Model,
        compiled: &'a Arc<CompiledNetwork>,
        key: &'a TreeKey,
    ) -> Self {
        let selects_several = matches!(
            model.selected(),
            Some(Item::Variable(_) | Item::Cliques(_) | Item::Separators(_) | Item::Messages(_))
        );
        let separators = compiled.tree().separators().iter();
        let entries = separators.map(|separator| separator.entries as f64);
        Self {
            palette: Palette::of(ui),
            background: ui.visuals().panel_fill,
            label_background: ui.visuals().extreme_bg_color,
            label_ink: ui.visuals().text_color(),
            unknown: ui.visuals().widgets.inactive.bg_fill,
            widths: ColourScale::logarithmic(entries, true),
            dims: key.matches.is_some() || selects_several,
            key,
            compiled,
        }
    }

    /// Whether the clique is found by the search or, without a search, highlighted by the
    /// selection.
    fn is_emphasised(&self, clique: CliqueId) -> bool {
        match &self.key.matches {
            Some(matches) => matches.contains(clique.index()),
            None => self.key.selection.clique(clique),
        }
    }

    /// The style of a clique.
    pub fn clique(&self, id: CliqueId) -> NodeStyle {
        let tree = self.compiled.tree();
        let value = self.key.values.get(id.index()).copied().flatten();
        let fill = value.map_or(self.unknown, |value| self.key.colours.colour(value));
        let faded = self.dims && !self.is_emphasised(id) && !self.key.hover.clique(id);
        let fade = |colour: Color32| {
            if faded { colour.lerp_to_gamma(self.background, DIMMED_CLIQUE) } else { colour }
        };
        let is_item = |highlight: &Highlight| highlight.item() == Some(&Item::Clique(id));
        let outline = if is_item(&self.key.selection) {
            Stroke::new(3.0, self.palette.selected)
        } else if is_item(&self.key.hover) || self.key.hover.clique(id) {
            Stroke::new(2.0, self.palette.hovered)
        } else if self.is_emphasised(id) {
            Stroke::new(2.0, self.palette.selected)
        } else {
            Stroke::new(1.0, fade(self.palette.line))
        };
        NodeStyle {
            fill: fade(fill),
            small_fill: None,
            ink: if faded { faint_ink_on(fade(fill)) } else { ink_on(fill) },
            outline,
            // In the light theme, the largest cliques are nearly as dark as the line.
            outline_gap: if is_item(&self.key.selection) { 2.0 } else { 0.0 },
            ring: (tree.root() == id).then(|| fade(self.palette.line)),
            dot: self.key.with_evidence.contains(id.index()).then_some(self.palette.evidence),
            chart: None,
        }
    }

    /// The style of a separator.
    pub fn separator(&self, id: SeparatorId) -> EdgeStyle {
        let separator = &self.compiled.tree()[id];
        let (selection, hover) = (&self.key.selection, &self.key.hover);
        let are_all_equal = self.widths.low() >= self.widths.high();
        let share = if are_all_equal {
            SHARE_IF_ALL_EQUAL
        } else {
            self.widths.share(separator.entries as f64)
        };
        let width = MIN_LINE_WIDTH + (MAX_LINE_WIDTH - MIN_LINE_WIDTH) * share;
        let selected = selection.separator(id) && self.key.matches.is_none();
        let mut style = EdgeStyle {
            width,
            colour: self.palette.line,
            arrow: None,
            // An empty separator connects parts of the network that share no variable.
            line: if separator.variables.is_empty() { Line::Dashed } else { Line::Solid },
            label: Some((self.label_background, self.label_ink)),
            label_zoom: label_zoom(self.compiled.tree().cliques().len()),
            faint: false,
            on_top: false,
        };
        if self.dims && !selected {
            style.colour = style.colour.lerp_to_gamma(self.background, DIMMED_SEPARATOR);
            style.label = None;
        }
        if selected {
            (style.colour, style.width, style.on_top) = (self.palette.selected, width + 1.0, true);
        }
        if hover.separator(id) {
            (style.colour, style.width, style.on_top) = (self.palette.hovered, width + 1.5, true);
        }
        self.apply_progress(id, &mut style);
        self.apply_message(id, &mut style);
        style
    }

    /// Colours the separator by the phase of the latest message over it, and highlights a message
    /// that is being computed.
    fn apply_progress(&self, id: SeparatorId, style: &mut EdgeStyle) {
        let Some(progress) = &self.key.progress else { return };
        match progress.sent.get(id.index()).copied().flatten() {
            Some(Phase::Collect) => style.colour = self.palette.collect,
            Some(Phase::Distribute) => style.colour = self.palette.distribute,
            None if self.key.stepping => {
                style.colour = style.colour.lerp_to_gamma(self.background, 0.5);
            }
            None => {}
        }
        if let Some(message) = self.active(id) {
            style.colour = self.palette.active;
            style.width = style.width.max(2.0) + 3.0;
            style.arrow = Some(receiver_end(message.phase));
            style.on_top = true;
        }
    }

    /// The message that is being computed over the separator.
    fn active(&self, id: SeparatorId) -> Option<Message> {
        let active = self.key.progress.iter().flat_map(|progress| &progress.active);
        let mut messages =
            active.filter_map(|active| self.compiled.plan().messages().get(active.index()));
        messages.find(|message| message.separator == id).copied()
    }

    /// Shows the direction of a selected or hovered message over the separator.
    fn apply_message(&self, id: SeparatorId, style: &mut EdgeStyle) {
        for highlight in [&self.key.selection, &self.key.hover] {
            let Some(&Item::Message(message)) = highlight.item() else { continue };
            let Some(message) = self.compiled.plan().messages().get(message.index()) else {
                continue;
            };
            if message.separator == id && self.active(id).is_none() {
                style.colour = match message.phase {
                    Phase::Collect => self.palette.collect,
                    Phase::Distribute => self.palette.distribute,
                };
                style.width = style.width.max(3.0) + 1.0;
                style.arrow = Some(receiver_end(message.phase));
                style.on_top = true;
            }
        }
    }
}
