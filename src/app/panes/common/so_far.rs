//! Beliefs in the middle of a propagation.

use eframe::egui::{Response, RichText, Ui};

use crate::app::state::model::Model;
use crate::app::theme::Palette;
use crate::numbers::thousands;

/// While the user steps through the messages, says that the bars show beliefs so far. Returns the
/// label, or `None` if the bars show posteriors.
pub(in crate::app::panes) fn so_far_label(ui: &mut Ui, model: &Model) -> Option<Response> {
    let beliefs = model.beliefs_so_far()?;
    let (passed, count) = (beliefs.passed(), beliefs.compiled().plan().messages().len());
    let text = format!(
        "So far, after {} of {} messages",
        thousands(passed as u64),
        thousands(count as u64)
    );
    let label = ui.label(RichText::new(text).strong().color(Palette::of(ui).active));
    Some(label.on_hover_text(
        "Each variable as the smallest clique that contains it believes now: the product of the \
         clique's tables and findings and of all messages that it has received, normalised. \
         Outlined bars are not final: other cliques may know more.",
    ))
}
