use eframe::egui::{Event, Modifiers, PointerButton, Pos2};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;

use super::*;
use crate::app::state::model::MeasuredOverhead;
use crate::app::testing::{Bench, drive_model, label_containing, model, record_on_gpu};
use crate::experiment::Scale;

fn pane(model: Model) -> Harness<'static, Bench> {
    let mut pane = OverheadPane::default();
    let mut harness = drive_model(model, move |ui, model, commands| pane.show(ui, model, commands));
    harness.run();
    harness
}

fn asia_with_recording() -> Model {
    let mut model = model("asia");
    record_on_gpu(&mut model);
    model
}

#[test]
fn recorded_and_live_networks_are_separate_series() {
    let mut model = asia_with_recording();
    model.overheads.push(MeasuredOverhead {
        network: "cancer".to_owned(),
        engine: "gpu f32".to_owned(),
        triangulation: Triangulation::Auto,
        overhead_us: 10.0,
        whole_us: 50.0,
    });
    let panel = networks::panel(&model, "gpu f32", Triangulation::Auto, false);
    let bars: Vec<_> =
        panel.series.iter().map(|s| (s.origin, s.points[0].x, s.points[0].y)).collect();
    use crate::experiment::Origin::{Live, Recorded};
    assert_eq!(
        bars,
        [(Recorded, 0.0, 18.0), (Recorded, 0.0, 22.0), (Live, 1.0, 10.0), (Live, 1.0, 40.0)]
    );
    let share = networks::panel(&model, "gpu f32", Triangulation::Auto, true);
    assert_eq!(share.series[0].points[0].y, 45.0);
    let mut harness = pane(model);
    harness.get_by_label("kernel overhead (recorded)");
    harness.get_by_label("kernel overhead (live)");
    label_containing(&harness, "recorded on NVIDIA Abacus on 2026-01-02");
    harness.get_by_value("trees by auto");
    label_containing(&harness, "; asia 40; cancer 50");
    harness.get_by_label("Overhead as share of time").click();
    harness.run();
    label_containing(&harness, "; asia 45%; cancer 20%");
}

#[test]
fn the_bar_of_pigs_shows_the_share_of_figure_7_unless_another_tree_is_chosen() {
    use crate::experiment::{PAPER_TRIANGULATION, Progress, Setup, Subject, by_name};
    let mut model = model("asia");
    model.recordings = crate::experiment::Recording::shipped();
    let pane = OverheadPane::default();
    let engine = pane.shown(&model, &networks::engines(&model)).unwrap();
    let methods = networks::triangulations(&model, &engine);
    assert_eq!(methods, [PAPER_TRIANGULATION, Triangulation::Auto]);
    let share = |method| {
        let panel = networks::panel(&model, &engine, method, true);
        let Scale::Categories(names) = &panel.x.scale else { panic!("{panel:?}") };
        let pigs = names.iter().position(|name| name == "pigs").unwrap();
        panel.series[0].points[pigs].y
    };
    let setup = Setup {
        prefer_recorded: true,
        ..Setup::new(Subject::sample("pigs").into_iter().collect())
    };
    let figure = by_name("fig7")
        .unwrap()
        .run(&setup, &Progress::new(crate::cancel::CancelToken::new()))
        .unwrap();
    let in_figure = figure.figures[0].panels[1].series[0].points[0].y;
    assert_eq!(share(methods[0]), in_figure);
    assert!(share(methods[1]) < 0.7 * in_figure, "the other tree has another share");
}

#[test]
fn a_click_on_a_point_selects_its_message() {
    let mut harness = pane(asia_with_recording());
    let plot = label_containing(&harness, "Time of a message, µs against").rect();
    let mut found = None;
    'search: for y in (plot.top() as i32..plot.bottom() as i32).step_by(5) {
        for x in (plot.left() as i32..plot.right() as i32).step_by(5) {
            let at = Pos2::new(x as f32, y as f32);
            harness.hover_at(at);
            harness.run_steps(2);
            if let Some(Item::Message(message)) = harness.state().model.hovered() {
                found = Some((at, *message));
                break 'search;
            }
        }
    }
    let (pos, message) = found.expect("a point in the plot");
    for pressed in [true, false] {
        let (button, modifiers) = (PointerButton::Primary, Modifiers::NONE);
        harness.event(Event::PointerButton { pos, button, pressed, modifiers });
        harness.step();
    }
    harness.run_steps(3);
    assert_eq!(harness.state().model.selected(), Some(&Item::Message(message)));
}

#[test]
fn a_run_can_be_hidden() {
    let mut harness = pane(asia_with_recording());
    label_containing(&harness, "sequential f64 (live)");
    harness.get_by_label("Runs ⏷").click();
    harness.run();
    harness.get_by_label("sequential f64").click();
    harness.run();
    assert!(harness.query_by_label("sequential f64 (live)").is_none());
    let check_box = eframe::egui::accesskit::Role::CheckBox;
    harness.get_by_role_and_label(check_box, "gpu f32 (recorded)").click();
    harness.run();
    label_containing(&harness, "There is no propagation with messages to show");
}

#[test]
fn without_a_gpu_or_a_recording_the_pane_says_what_to_do() {
    let harness = pane(model("asia"));
    label_containing(&harness, "Nothing has been propagated on a GPU yet");
    label_containing(&harness, "Plot");
    let harness = pane(model(""));
    label_containing(&harness, "Open a network");
}

#[test]
fn the_last_engine_measured_here_is_shown_until_another_is_chosen() {
    let mut model = asia_with_recording();
    let shown_engine =
        |pane: &OverheadPane, model: &Model| pane.shown(model, &networks::engines(model));
    let mut pane = OverheadPane::default();
    assert_eq!(shown_engine(&pane, &model).as_deref(), Some("gpu f32"), "the only one recorded");
    model.overheads.push(MeasuredOverhead {
        network: "asia".to_owned(),
        engine: "gpu-paper f32, naive, 48 threads per block".to_owned(),
        triangulation: Triangulation::Auto,
        overhead_us: 10.0,
        whole_us: 50.0,
    });
    let here = "gpu-paper f32, naive, 48 threads per block";
    assert_eq!(shown_engine(&pane, &model).as_deref(), Some(here));
    pane.engine = Some("gpu f32".to_owned());
    assert_eq!(shown_engine(&pane, &model).as_deref(), Some("gpu f32"));
}

#[test]
fn a_launch_time_measured_on_this_machine_replaces_the_recorded_one() {
    use crate::experiment::Origin::{Live, Recorded};
    let model = asia_with_recording();
    let document = model.document.as_ref().unwrap();
    let (runs, compiled) = (messages::runs(document), model.compiled().unwrap());
    let launch_mark = |launch| {
        let marks = MessagePlot::new(compiled, &runs, launch).panel.marks;
        let launch_mark =
            marks.into_iter().find(|mark| mark.label.starts_with("one launch")).unwrap();
        (launch_mark.label, launch_mark.origin)
    };
    assert_eq!(launch_mark(None), ("one launch: 2.00 µs".to_owned(), Recorded));
    let here = Some(std::time::Duration::from_nanos(3_500));
    assert_eq!(launch_mark(here), ("one launch: 3.50 µs".to_owned(), Live));
}

#[test]
fn the_bars_stay_within_a_narrow_pane() {
    const WIDTH: f32 = 370.0;
    let mut pane = OverheadPane::default();
    let mut model = model("asia");
    model.recordings = crate::experiment::Recording::shipped();
    let mut harness = drive_model(model, move |ui, model, commands| {
        ui.set_max_width(WIDTH);
        pane.show(ui, model, commands);
        assert!(ui.min_rect().width() <= WIDTH + 1.0, "{}", ui.min_rect().width());
    });
    harness.run();
    label_containing(&harness, "Time of a propagation");
}

#[test]
fn the_list_of_recorded_runs_is_shown_whole() {
    let mut model = model("pigs");
    model.recordings = crate::experiment::Recording::shipped();
    let engines = networks::engines(&model);
    assert!(engines.len() > 10);
    let mut harness = pane(model);
    crate::app::theme::set_style(&harness.ctx);
    harness.run();
    let shown = harness.get_all_by_role(eframe::egui::accesskit::Role::ComboBox).next().unwrap();
    shown.click();
    harness.run_steps(4);
    let row = |engine: &String| harness.get_all_by_label(engine).last().unwrap().rect();
    let needed = row(engines.last().unwrap()).bottom() - row(&engines[0]).top();
    let room = harness.ctx.global_style().spacing.combo_height;
    assert!(needed + 8.0 <= room, "{needed} of {room}");
}
