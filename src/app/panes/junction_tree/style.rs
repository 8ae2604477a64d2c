//! Colours and lines of cliques and separators.

use std::sync::Arc;

use eframe::egui::{Color32, Stroke, Ui};
use fixedbitset::FixedBitSet;

use crate::app::state::highlight::{Highlight, Item};
use crate::app::state::model::Model;
use crate::app::state::stepping::Progress;
use crate::app::theme::{Palette, ink_on, log_share, size_colour};
use crate::app::widgets::graph_view::edge::{EdgeLook, Line};
use crate::app::widgets::graph_view::node::NodeLook;
use crate::graph::{CliqueId, SeparatorId};
use crate::propagation::{CompiledNetwork, Message, Phase};

/// Everything that the picture depends on.
#[derive(Clone, PartialEq)]
pub struct TreeKey {
    selection: Highlight,
    hover: Highlight,
    /// Cliques that hold a variable with evidence.
    informed: FixedBitSet,
    /// Cliques that are searched for.
    matches: Option<FixedBitSet>,
    running: Option<Progress>,
    /// Somebody walks through the messages: what is to come steps back.
    stepping: bool,
}

impl TreeKey {
    pub fn new(model: &Model, compiled: &CompiledNetwork, matches: Option<&FixedBitSet>) -> Self {
        let tree = compiled.tree();
        let document = model.document.as_ref();
        let mut informed = FixedBitSet::with_capacity(tree.cliques().len());
        if let Some(evidence) = document.map(|document| &document.evidence)
            && !evidence.is_empty()
        {
            for (index, clique) in tree.cliques().iter().enumerate() {
                let known = clique.variables.iter().any(|&v| evidence.get(v).is_some());
                informed.set(index, known);
            }
        }
        Self {
            selection: model.selection.clone(),
            hover: model.hover.clone(),
            informed,
            matches: matches.cloned(),
            running: Progress::of(model, compiled),
            stepping: model.stepping.is_some(),
        }
    }

    /// Whether a propagation is at work.
    pub fn is_running(&self) -> bool {
        self.running.is_some() && !self.stepping
    }
}

/// What cliques and separators look like in one frame.
pub struct Looks<'a> {
    key: &'a TreeKey,
    compiled: &'a Arc<CompiledNetwork>,
    palette: Palette,
    ground: Color32,
    box_ground: Color32,
    box_ink: Color32,
    largest_separator: u64,
    /// Whether what is not lit is to step back.
    dims: bool,
}

impl<'a> Looks<'a> {
    pub fn new(
        ui: &Ui,
        model: &Model,
        compiled: &'a Arc<CompiledNetwork>,
        key: &'a TreeKey,
    ) -> Self {
        let sets = matches!(
            model.selected(),
            Some(Item::Variable(_) | Item::Cliques(_) | Item::Separators(_))
        );
        Self {
            palette: Palette::of(ui),
            ground: ui.visuals().panel_fill,
            box_ground: ui.visuals().extreme_bg_color,
            box_ink: ui.visuals().text_color(),
            largest_separator: compiled.statistics().max_separator_entries,
            dims: key.matches.is_some() || sets,
            key,
            compiled,
        }
    }

    /// Whether the clique is among those that the user is after.
    fn is_wanted(&self, clique: CliqueId) -> bool {
        match &self.key.matches {
            Some(matches) => matches.contains(clique.index()),
            None => self.key.selection.clique(clique),
        }
    }

    pub fn clique(&self, id: CliqueId) -> NodeLook {
        let tree = self.compiled.tree();
        let fill = size_colour(tree[id].entries, self.compiled.statistics().max_clique_entries);
        let ink = ink_on(fill);
        let faded = self.dims && !self.is_wanted(id) && !self.key.hover.clique(id);
        let fade = |colour: Color32| {
            if faded { colour.lerp_to_gamma(self.ground, 0.72) } else { colour }
        };
        let is_item = |highlight: &Highlight| highlight.item() == Some(&Item::Clique(id));
        let outline = if is_item(&self.key.selection) {
            Stroke::new(3.0, self.palette.selected)
        } else if is_item(&self.key.hover) || self.key.hover.clique(id) {
            Stroke::new(2.0, self.palette.hovered)
        } else if self.is_wanted(id) {
            Stroke::new(2.0, self.palette.selected)
        } else {
            Stroke::new(1.0, fade(self.palette.line))
        };
        NodeLook {
            fill: fade(fill),
            far: None,
            ink: fade(ink),
            outline,
            ring: (tree.root() == id).then(|| fade(self.palette.line)),
            dot: self.key.informed.contains(id.index()).then_some(self.palette.evidence),
            chart: None,
        }
    }

    pub fn separator(&self, id: SeparatorId) -> EdgeLook {
        let separator = &self.compiled.tree()[id];
        let (selection, hover) = (&self.key.selection, &self.key.hover);
        let natural = 1.2 + 4.3 * log_share(separator.entries, self.largest_separator);
        let lit = selection.separator(id) && self.key.matches.is_none();
        let mut look = EdgeLook {
            width: natural,
            colour: self.palette.line,
            arrow: None,
            // An empty separator joins what the network leaves apart.
            line: if separator.variables.is_empty() { Line::Dashed } else { Line::Solid },
            label: Some((self.box_ground, self.box_ink)),
            faint: false,
            on_top: false,
        };
        if self.dims && !lit {
            look.colour = look.colour.lerp_to_gamma(self.ground, 0.6);
            look.label = None;
        }
        if lit {
            (look.colour, look.width, look.on_top) = (self.palette.selected, natural + 1.0, true);
        }
        if hover.separator(id) {
            (look.colour, look.width, look.on_top) = (self.palette.hovered, natural + 1.5, true);
        }
        self.show_running(id, &mut look);
        self.show_message(id, &mut look);
        look
    }

    /// Messages that were sent, and the one that is being computed.
    fn show_running(&self, id: SeparatorId, look: &mut EdgeLook) {
        let Some(running) = &self.key.running else { return };
        match running.sent.get(id.index()).copied().flatten() {
            Some(Phase::Collect) => look.colour = self.palette.collect,
            Some(Phase::Distribute) => look.colour = self.palette.distribute,
            None if self.key.stepping => {
                look.colour = look.colour.lerp_to_gamma(self.ground, 0.5);
            }
            None => {}
        }
        if let Some(message) = self.active(id) {
            look.colour = self.palette.active;
            look.width = look.width.max(2.0) + 3.0;
            look.arrow = Some(message.phase == Phase::Distribute);
            look.on_top = true;
        }
    }

    /// The message that is being computed over the separator.
    fn active(&self, id: SeparatorId) -> Option<Message> {
        let active = self.key.running.iter().flat_map(|running| &running.active);
        let mut messages =
            active.filter_map(|active| self.compiled.plan().messages().get(active.index()));
        messages.find(|message| message.separator == id).copied()
    }

    /// The message that is selected or pointed at, in its direction.
    fn show_message(&self, id: SeparatorId, look: &mut EdgeLook) {
        for highlight in [&self.key.selection, &self.key.hover] {
            let Some(&Item::Message(message)) = highlight.item() else { continue };
            let Some(message) = self.compiled.plan().messages().get(message.index()) else {
                continue;
            };
            if message.separator == id && self.active(id).is_none() {
                look.colour = match message.phase {
                    Phase::Collect => self.palette.collect,
                    Phase::Distribute => self.palette.distribute,
                };
                look.width = look.width.max(3.0) + 1.0;
                look.arrow = Some(message.phase == Phase::Distribute);
                look.on_top = true;
            }
        }
    }
}
