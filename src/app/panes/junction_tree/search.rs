//! Finding cliques by the names of their variables or by their own.

use eframe::egui::{self, Key, Ui};
use fixedbitset::FixedBitSet;

use crate::graph::CliqueId;
use crate::propagation::CompiledNetwork;

/// What is searched for, and what was found.
#[derive(Default)]
pub struct Search {
    text: String,
    /// `None` while nothing is searched for.
    found: Option<FixedBitSet>,
    /// The clique that Enter went to last.
    last: Option<usize>,
}

impl Search {
    /// The cliques that are searched for; `None` while nothing is.
    pub fn matches(&self) -> Option<&FixedBitSet> {
        self.found.as_ref()
    }

    /// Draws the field. Enter gives the next clique.
    pub fn show(&mut self, ui: &mut Ui, compiled: &CompiledNetwork) -> Option<CliqueId> {
        let edit = egui::TextEdit::singleline(&mut self.text)
            .hint_text("Find variable or clique")
            .desired_width(150.0);
        let response = ui.add(edit);
        response.widget_info(|| {
            egui::WidgetInfo::labeled(egui::WidgetType::TextEdit, true, "Find in the junction tree")
        });
        if response.changed() {
            self.look_up(compiled);
        }
        let found = self.found.as_ref()?;
        let count = found.count_ones(..);
        ui.weak(if count == 0 { "none".to_owned() } else { format!("{count} found") });
        let entered = response.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter));
        if !entered {
            return None;
        }
        // The next Enter goes on.
        response.request_focus();
        let next = found.ones().find(|&clique| self.last.is_none_or(|last| clique > last));
        self.last = next.or_else(|| found.ones().next());
        self.last.map(CliqueId::new)
    }

    fn look_up(&mut self, compiled: &CompiledNetwork) {
        self.last = None;
        let wanted = self.text.trim().to_lowercase();
        self.found = (!wanted.is_empty()).then(|| find(compiled, &wanted));
    }
}

/// The cliques called `wanted` (`c12`), or else those with a variable whose name contains it.
fn find(compiled: &CompiledNetwork, wanted: &str) -> FixedBitSet {
    let cliques = compiled.tree().cliques();
    let mut found = FixedBitSet::with_capacity(cliques.len());
    let number = wanted.strip_prefix('c').unwrap_or(wanted).parse::<usize>().ok();
    let network = compiled.network();
    let named: Vec<bool> = network
        .variables()
        .iter()
        .map(|variable| variable.name().to_lowercase().contains(wanted))
        .collect();
    for (index, clique) in cliques.iter().enumerate() {
        found.set(index, clique.variables.iter().any(|variable| named[variable.index()]));
    }
    if let Some(number) = number.filter(|&number| number < cliques.len()) {
        found.insert(number);
    }
    found
}
