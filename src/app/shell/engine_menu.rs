//! The choice of the engine with its number type and, for engine `gpu-paper`, of block size and
//! layout.

use std::time::Duration;

use eframe::egui::{Button, ComboBox, RichText, Ui};

use crate::app::state::command::{Commands, EngineCommand, ViewCommand};
use crate::app::state::model::Model;
use crate::app::state::pane::Pane;
use crate::app::state::recordings::RecordedRunRef;
use crate::app::widgets::targets;
use crate::engine::{self, MappingLayout, PaperOptions};
use crate::session::EngineChoice;

/// The block sizes to choose from, in threads: those of experiment `fig5`
/// ([`BLOCK_SIZES`](crate::experiment::BLOCK_SIZES)), and four more in between.
const BLOCK_SIZES: [u32; 14] = [16, 32, 48, 64, 96, 128, 192, 256, 384, 512, 640, 768, 896, 1024];

/// Interval at which the list of engines asks whether a GPU was found, until this is known.
const CHECK_AGAIN: Duration = Duration::from_millis(50);

/// Draws the choices, from right to left.
pub(crate) fn show(ui: &mut Ui, model: &Model, commands: &mut Commands) {
    let chosen = model.compute.engine;
    if chosen.takes_paper_options() {
        let PaperOptions { block_size, layout } = chosen.paper;
        ComboBox::from_id_salt("paper options")
            .selected_text(format!("{layout}, {block_size}"))
            .height(f32::INFINITY)
            .show_ui(ui, |ui| paper_options(ui, model, commands))
            .response
            .on_hover_text("Layout of the mapping tables, and threads per block");
    }
    let shown = model.document.as_ref().and_then(|document| document.shown);
    let text = match shown {
        Some(recorded) => format!("{}, recorded", recorded.engine()),
        None => format!("{} {}", chosen.engine.name(), chosen.precision),
    };
    let engine = ComboBox::from_id_salt("engine")
        .selected_text(text)
        .height(f32::INFINITY)
        .show_ui(ui, |ui| engines(ui, model, commands))
        .response;
    targets::mark(&engine, "engine");
    engine.on_hover_ui(|ui| match (shown, &model.document) {
        (Some(recorded), Some(document)) => {
            ui.label(format!("Times of messages: {}", recorded.credit()));
            ui.label(format!("Posteriors: {}, on this machine", document.posterior_source()));
        }
        _ => _ = ui.label("Engine and precision"),
    });
}

/// Draws the list of engines, each with all its precisions. While a recording is shown, its row is
/// marked, if it is listed. While none is shown, the row of the chosen engine is marked, even if a
/// fallback replaces this engine. Below an engine that cannot run on this machine are the reason
/// and the recorded runs of that engine.
fn engines(ui: &mut Ui, model: &Model, commands: &mut Commands) {
    let shows_recording = model.document.as_ref().is_some_and(|document| document.shown.is_some());
    for engine in engine::all() {
        let available = engine.known_availability().unwrap_or_else(|| {
            ui.ctx().request_repaint_after(CHECK_AGAIN);
            Err("looking for a GPU".to_owned())
        });
        for &precision in engine.precisions() {
            let choice = EngineChoice { engine: *engine, precision, ..model.compute.engine };
            let text = format!("{} {precision}", engine.name());
            let is_marked = model.compute.engine == choice && !shows_recording;
            let button = Button::selectable(is_marked, text);
            let response =
                ui.add_enabled(available.is_ok(), button).on_hover_text(engine.summary());
            let response = match &available {
                Ok(()) => response,
                Err(reason) => {
                    response.on_disabled_hover_text(format!("{}; {reason}", engine.summary()))
                }
            };
            if response.clicked() {
                commands.push(EngineCommand::SetEngine(choice));
                commands.push(ViewCommand::ShowRecording(None));
            }
        }
        if let Err(reason) = &available {
            ui.label(RichText::new(format!("   {reason}")).weak().small());
            recordings(ui, model, engine.name(), commands);
        }
    }
}

/// Draws the recorded runs of `engine` on the current junction tree. If there are none, names the
/// triangulation of a recorded run on another tree, if there is such a run.
fn recordings(ui: &mut Ui, model: &Model, engine: &str, commands: &mut Commands) {
    let Some(document) = &model.document else { return };
    let runs = document.recorded.iter().filter(|recorded| recorded.run.engine == engine);
    let mut has_runs = false;
    for recorded in runs {
        has_runs = true;
        let text = format!("{}, {}", recorded.engine(), recorded.credit());
        if ui.selectable_label(document.shown == Some(*recorded), text).clicked() {
            commands.push(ViewCommand::ShowRecording(Some(*recorded)));
            commands.push(ViewCommand::Show(Pane::Timeline));
        }
    }
    let title = document.title();
    let on_other_tree = RecordedRunRef::all(model.recordings, &title)
        .find(|recorded| recorded.run.engine == engine && recorded.trace().is_some());
    if let Some(recorded) = on_other_tree.filter(|_| !has_runs) {
        let method = &recorded.network.triangulation;
        let text = format!("   {} with triangulation {method}", recorded.credit());
        ui.label(RichText::new(text).weak().small());
    }
}

/// Draws the options of engine `gpu-paper`.
fn paper_options(ui: &mut Ui, model: &Model, commands: &mut Commands) {
    let current = model.compute.engine.paper;
    let mut choose = |paper: PaperOptions| {
        commands.push(EngineCommand::SetEngine(EngineChoice { paper, ..model.compute.engine }));
    };
    ui.weak("Mapping tables");
    for layout in MappingLayout::ALL {
        let button = ui.selectable_label(current.layout == layout, layout.name());
        if button.on_hover_text(describe(layout)).clicked() {
            choose(PaperOptions { layout, ..current });
        }
    }
    ui.separator();
    ui.weak("Threads per block");
    for block_size in BLOCK_SIZES {
        if ui.selectable_label(current.block_size == block_size, block_size.to_string()).clicked() {
            choose(PaperOptions { block_size, ..current });
        }
    }
}

/// What `layout` means for the threads of a warp, which read at the same time.
fn describe(layout: MappingLayout) -> &'static str {
    match layout {
        MappingLayout::Naive => {
            "One mapping table after the other: threads that run together read words that are far \
             apart"
        }
        MappingLayout::Interleaved => {
            "The first elements of all mapping tables, then all second elements, and so on: \
             threads that run together read adjacent words"
        }
    }
}

#[cfg(all(test, feature = "cuda"))]
mod tests {
    use eframe::egui;
    use egui_kittest::kittest::{NodeT as _, Queryable as _};

    use super::*;
    use crate::app::state::command::Command;
    use crate::app::testing::{drive_model, model, record_on_gpu};
    use crate::engine::by_name;

    /// A model in which engine `gpu-paper` is chosen.
    fn model_with_paper() -> Model {
        let mut model = model("asia");
        model.compute.engine.engine = by_name("gpu-paper").expect("compiled in");
        model
    }

    #[test]
    fn only_the_paper_engine_has_layout_and_block_size() {
        let mut harness = drive_model(model_with_paper(), show);
        harness.run();
        for (open, choose) in [("interleaved, 128", "naive"), ("interleaved, 128", "1024")] {
            harness.get_by_value(open).click();
            harness.run();
            harness.get_by_label(choose).click();
            harness.run();
        }
        let chosen = harness.state().pushed.iter().map(|command| match command {
            Command::Engine(EngineCommand::SetEngine(choice)) => choice.paper,
            other => panic!("{other:?}"),
        });
        let default = PaperOptions::default();
        let naive = PaperOptions { layout: MappingLayout::Naive, ..default };
        let wide = PaperOptions { block_size: 1024, ..default };
        assert_eq!(chosen.collect::<Vec<_>>(), [naive, wide]);
        let mut harness = drive_model(model("asia"), show);
        harness.run();
        assert!(harness.query_by_value("interleaved, 128").is_none());
    }

    #[test]
    fn an_unavailable_engine_is_disabled_and_offers_its_recordings() {
        if by_name("gpu").expect("compiled in").availability().is_ok() {
            eprintln!("SKIPPED: this machine has a GPU, so engine gpu is available");
            return;
        }
        let mut model = model("asia");
        record_on_gpu(&mut model);
        let mut harness = drive_model(model, show);
        harness.run();
        harness.get_by_value("sequential f64").click();
        harness.run();
        assert!(harness.get_by_label("gpu f32").accesskit_node().is_disabled());
        let offer = "gpu f32, recorded on NVIDIA Abacus on 2026-01-02";
        harness.get_by_label(offer).click();
        harness.run();
        let document = harness.state().model.document.as_ref().unwrap();
        assert_eq!(document.shown.map(|shown| shown.engine()), Some("gpu f32".to_owned()));
        assert!(harness.state().pushed.contains(&Command::View(ViewCommand::Show(Pane::Timeline))));
    }

    #[test]
    fn one_row_is_marked_and_a_live_engine_replaces_the_recording() {
        if by_name("gpu").expect("compiled in").availability().is_ok() {
            eprintln!("SKIPPED: this machine has a GPU, so engine gpu is available");
            return;
        }
        let mut model = model("asia");
        record_on_gpu(&mut model);
        let document = model.document.as_mut().expect("an open network");
        document.shown = document.recorded.first().copied();
        let mut harness = drive_model(model, show);
        harness.run();
        harness.get_by_value("gpu f32, recorded").click();
        harness.run();
        let is_marked = |label: &str| {
            let node = harness.get_by_label(label).accesskit_node();
            node.toggled() == Some(egui::accesskit::Toggled::True)
        };
        assert!(is_marked("gpu f32, recorded on NVIDIA Abacus on 2026-01-02"));
        assert!(!is_marked("sequential f64"));
        harness.get_by_label("sequential f64").click();
        harness.run();
        let live = Command::View(ViewCommand::ShowRecording(None));
        assert!(harness.state().pushed.contains(&live));
    }

    #[test]
    fn choices_with_different_block_sizes_differ_only_for_the_paper_engine() {
        let paper = model_with_paper().compute.engine;
        let other = PaperOptions { block_size: 16, ..paper.paper };
        assert_ne!(EngineChoice { paper: other, ..paper }, paper);
        let sequential = model("asia").compute.engine;
        assert_eq!(EngineChoice { paper: other, ..sequential }, sequential);
    }
}
