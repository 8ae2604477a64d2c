//! Applies the commands for stepping, and advances the position while stepping plays.

use std::time::Duration;

use eframe::egui;

use crate::app::state::core::Core;
use crate::app::state::document::Document;
use crate::app::state::highlight::Item;
use crate::app::state::pane::Pane;
use crate::app::state::stepping::{SKIP_SECONDS, StepCommand, Stepping, SteppingMode};
use crate::propagation::{CompiledNetwork, MessageId};

/// Time between repaints in slow motion: about 60 repaints per second. With a longer time, the
/// motion is jerky.
const REPAINT_INTERVAL: Duration = Duration::from_millis(16);

/// Applies `command` to the open document.
pub(crate) fn apply(core: &mut Core, ctx: &egui::Context, command: StepCommand) {
    let Some(compiled) = core.model.compiled().cloned() else { return };
    let messages = compiled.plan().messages().len();
    if !choose_runs(core, command) {
        core.notices.error("There are no recorded runs of both GPU engines on this junction tree.");
        return;
    }
    if command == StepCommand::End {
        core.model.stepping = None;
        return;
    }
    let total = core.model.document.as_ref().map_or(0.0, Document::traced_nanoseconds);
    if command == StepCommand::SlowMotion && total == 0.0 {
        core.notices.error(
            "Slow motion needs the times of the messages on this junction tree, and none were \
             measured. Press F5 to propagate, or choose engine sequential.",
        );
        return;
    }
    if core.model.stepping.is_none() {
        if messages == 0 {
            core.notices.error("The junction tree is a single clique: there are no messages.");
            return;
        }
        // From now on the arrow keys step through the messages, so no text field may receive them.
        ctx.memory_mut(|memory| {
            if let Some(focused) = memory.focused() {
                memory.surrender_focus(focused);
            }
        });
        core.show_pane(Pane::JunctionTree);
    }
    if command == StepCommand::Begin {
        core.show_pane(Pane::Inside);
        core.enlarge(Pane::Inside);
    } else if matches!(command, StepCommand::SlowMotion | StepCommand::RecordedRuns) {
        core.show_pane(Pane::Timeline);
    }
    let stepping = core.model.stepping.get_or_insert_with(Stepping::along_plan);
    stepping.apply(command, messages, total);
    if matches!(command, StepCommand::SlowMotion | StepCommand::RecordedRuns) {
        let busy = core.model.document.as_ref().map_or(total, Document::time_with_messages);
        stepping.player.set_rate(Stepping::slow_motion(busy).player.rate());
    }
    select_current_message(core, &compiled);
    ctx.request_repaint();
}

/// Chooses the runs that slow motion plays after `command`: for
/// [`RecordedRuns`](StepCommand::RecordedRuns) two recorded runs on a GPU. Returns `false` if
/// `command` needs these runs and they were not recorded.
fn choose_runs(core: &mut Core, command: StepCommand) -> bool {
    let Some(document) = core.document() else { return true };
    match command {
        StepCommand::RecordedRuns => {
            let Some([paper, fastest]) = document.recorded_gpu_runs() else { return false };
            if document.second_shown.is_none() {
                document.shown_before = document.shown;
            }
            (document.shown, document.second_shown) = (Some(paper), Some(fastest));
        }
        // These commands stop showing the two recorded runs. What was shown before is shown again.
        StepCommand::Begin | StepCommand::SlowMotion | StepCommand::End
            if document.second_shown.take().is_some() =>
        {
            document.shown = document.shown_before.take();
        }
        _ => {}
    }
    true
}

/// Selects the current message along the plan, or the last one if all are passed, so that all panes
/// show this message.
fn select_current_message(core: &mut Core, compiled: &CompiledNetwork) {
    let passed = core.model.stepping.as_ref().and_then(Stepping::messages_passed);
    let last = compiled.plan().messages().len().checked_sub(1);
    let message = passed.zip(last).map(|(passed, last)| MessageId::new(passed.min(last)));
    if let Some(message) = message
        && core.model.selected() != Some(&Item::Message(message))
    {
        core.select(Some(Item::Message(message)));
    }
}

/// Advances the position while stepping plays. Ends stepping if there is no tree. Once stepping has
/// ended, gives back the height that it needed. Call this once per frame.
pub(crate) fn advance(core: &mut Core, ctx: &egui::Context) {
    let compiled = core.model.compiled().cloned();
    core.model.stepping = core.model.stepping.filter(|_| compiled.is_some());
    let total = core.model.document.as_ref().map_or(0.0, Document::traced_nanoseconds);
    let (Some(compiled), Some(stepping)) = (compiled, &mut core.model.stepping) else {
        core.give_height_back(Pane::Inside);
        return;
    };
    if !stepping.player.is_playing() {
        return;
    }
    let end = stepping.end(compiled.plan().messages().len(), total);
    let gap = stepping.skipped(core.model.document.as_ref());
    let gap = gap.map(|gap| (gap, SKIP_SECONDS));
    stepping.player.advance_in_gap(ctx.input(|input| input.time), end, gap);
    match stepping.mode {
        SteppingMode::Plan => {
            let wait = stepping.player.time_to_next_step().unwrap_or_default();
            ctx.request_repaint_after(wait);
            select_current_message(core, &compiled);
        }
        SteppingMode::SlowMotion => ctx.request_repaint_after(REPAINT_INTERVAL),
    }
}
