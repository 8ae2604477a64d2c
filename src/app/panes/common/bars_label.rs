//! A label that says what the bars of states show if this is not obvious: beliefs in the middle of
//! a propagation, the final posteriors in slow motion, or live posteriors while the times on screen
//! come from a recording.

use eframe::egui::{Response, RichText, Ui};

use crate::app::state::model::Model;
use crate::app::theme::Palette;
use crate::numbers::thousands;

/// Says what the bars show if this is not obvious: beliefs so far while the user steps through the
/// messages, final posteriors in slow motion, and live posteriors while a recording is shown.
/// Returns the label, if there is one.
pub(in crate::app::panes) fn bars_label(ui: &mut Ui, model: &Model) -> Option<Response> {
    so_far_label(ui, model).or_else(|| final_label(ui, model)).or_else(|| {
        let document = model.document.as_ref().filter(|document| document.shown.is_some())?;
        let text = format!("Posteriors of {}", document.posterior_source());
        let label = ui.label(RichText::new(text).weak());
        Some(label.on_hover_text("The recording that is shown has times, but no posteriors."))
    })
}

/// Before the end of slow motion, says that the posteriors on screen are those after all messages.
fn final_label(ui: &mut Ui, model: &Model) -> Option<Response> {
    let document = model.document.as_ref().filter(|document| document.result.is_some())?;
    let now = model.stepping.and_then(|stepping| stepping.slow_motion_time())?;
    if now >= document.traced_nanoseconds() {
        return None;
    }
    let of = match document.shown {
        Some(_) => format!(" of {}", document.posterior_source()),
        None => String::new(),
    };
    let text = RichText::new(format!("Final posteriors{of}, after all messages"));
    let label = ui.label(text.strong().color(Palette::of(ui).active));
    Some(label.on_hover_text(
        "Slow motion shows when messages were computed. Go through them message by message to see \
         what the cliques believe in between.",
    ))
}

/// If the beliefs on screen are beliefs so far, says how many messages have been passed.
fn so_far_label(ui: &mut Ui, model: &Model) -> Option<Response> {
    let beliefs = model.beliefs_so_far()?;
    let (passed, count) = (beliefs.passed(), beliefs.compiled().plan().messages().len());
    let text = format!(
        "So far, after {} of {} messages",
        thousands(passed as u64),
        thousands(count as u64)
    );
    let label = ui.label(RichText::new(text).strong().color(Palette::of(ui).active));
    Some(label.on_hover_text(
        "What the smallest clique that contains a variable believes so far: the product of the \
         clique's tables and findings and of all messages that it has received, normalised. \
         Outlined bars are not final: other cliques may know more.",
    ))
}
