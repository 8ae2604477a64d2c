//! Finding cliques by number or by the names of their variables.

use eframe::egui::{self, Key, Ui};
use fixedbitset::FixedBitSet;

use crate::graph::CliqueId;
use crate::propagation::CompiledNetwork;

/// The search text and its results.
#[derive(Default)]
pub struct Search {
    text: String,
    /// The cliques found; `None` while the text is empty.
    found: Option<FixedBitSet>,
    /// Index of the clique that Enter selected last.
    last: Option<usize>,
}

impl Search {
    /// The cliques found; `None` while the search text is empty.
    pub fn matches(&self) -> Option<&FixedBitSet> {
        self.found.as_ref()
    }

    /// Draws the search field. When the user presses Enter, returns the next of the cliques found,
    /// and after the last one the first.
    pub fn show(&mut self, ui: &mut Ui, compiled: &CompiledNetwork) -> Option<CliqueId> {
        let edit = egui::TextEdit::singleline(&mut self.text)
            .hint_text("Find variable or clique")
            .desired_width(150.0);
        let response = ui.add(edit);
        response.widget_info(|| {
            egui::WidgetInfo::labeled(egui::WidgetType::TextEdit, true, "Find in the junction tree")
        });
        if response.changed() {
            self.run(compiled);
        }
        let found = self.found.as_ref()?;
        let count = found.count_ones(..);
        ui.weak(if count == 0 { "none".to_owned() } else { format!("{count} found") });
        let entered = response.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter));
        if !entered {
            return None;
        }
        // Keep the focus, so that Enter can be pressed again.
        response.request_focus();
        let next = found.ones().find(|&clique| self.last.is_none_or(|last| clique > last));
        self.last = next.or_else(|| found.ones().next());
        self.last.map(CliqueId::new)
    }

    /// Searches for the current text.
    fn run(&mut self, compiled: &CompiledNetwork) {
        self.last = None;
        let text = self.text.trim().to_lowercase();
        self.found = (!text.is_empty()).then(|| find(compiled, &text));
    }
}

/// The cliques with a variable whose name contains `text`, and the clique with number `text` (`12`
/// or `c12`). `text` is in lower case.
fn find(compiled: &CompiledNetwork, text: &str) -> FixedBitSet {
    let cliques = compiled.tree().cliques();
    let mut found = FixedBitSet::with_capacity(cliques.len());
    let number = text.strip_prefix('c').unwrap_or(text).parse::<usize>().ok();
    let network = compiled.network();
    let matching: Vec<bool> = network
        .variables()
        .iter()
        .map(|variable| variable.name().to_lowercase().contains(text))
        .collect();
    for (index, clique) in cliques.iter().enumerate() {
        found.set(index, clique.variables.iter().any(|variable| matching[variable.index()]));
    }
    if let Some(number) = number.filter(|&number| number < cliques.len()) {
        found.insert(number);
    }
    found
}
