use std::sync::Arc;

use eframe::egui::{self, Event, Key, Modifiers, MouseWheelUnit, PointerButton, Pos2};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;

use super::*;
use crate::app::state::kept_run::KeptRun;
use crate::app::state::stepping::Stepping;
use crate::app::testing::{
    Bench, drive, drive_model, label_containing, model, model_with, record_on_gpu, tab_stops,
};
use crate::cancel::CancelToken;
use crate::engine::by_name;
use crate::propagation::{MessageId, Stage, Watch};
use crate::session::{EngineChoice, Propagation};

fn asia<'a>() -> Harness<'a, Bench> {
    let mut pane = TimelinePane::default();
    let mut harness = drive("asia", move |ui, model, commands| pane.show(ui, model, commands));
    harness.run();
    harness
}

fn chart(harness: &Harness<'_, Bench>) -> egui::Rect {
    label_containing(harness, "Message timeline").rect()
}

fn selected(harness: &Harness<'_, Bench>) -> Option<MessageId> {
    match harness.state().model.selected() {
        Some(Item::Message(message)) => Some(*message),
        _ => None,
    }
}

/// The longest message and its middle on the screen, without zoom.
fn longest(harness: &Harness<'_, Bench>) -> (MessageId, Pos2) {
    let bench = harness.state();
    let trace = bench.model.document.as_ref().unwrap().trace().unwrap();
    let timing = trace.messages.iter().max_by_key(|timing| timing.duration).unwrap();
    let chart = chart(harness);
    let view = View::all(trace.elapsed.as_nanos() as f64);
    let middle = (timing.start + timing.duration / 2).as_nanos() as f64;
    let (left, right) = (chart.left() + GUTTER, chart.right() - geometry::SCROLL_BAR);
    let x = left + view.share(middle) as f32 * (right - left);
    // The middle of the first row is 52 points below the upper edge of the chart.
    (timing.message, Pos2::new(x, chart.top() + 52.0))
}

#[test]
fn a_click_on_a_bar_selects_its_message_and_arrow_keys_move_the_selection() {
    let mut harness = asia();
    let (message, at) = longest(&harness);
    harness.hover_at(at);
    harness.run();
    assert_eq!(harness.state().model.hovered(), Some(&Item::Message(message)));
    click(&mut harness, at);
    assert_eq!(selected(&harness), Some(message));
    let step = if message.index() == 0 { Key::ArrowRight } else { Key::ArrowLeft };
    harness.key_press(step);
    harness.run();
    let next = selected(&harness).unwrap();
    assert_eq!(next.index().abs_diff(message.index()), 1);
}

#[test]
fn the_wheel_zooms_and_f_shows_everything_again() {
    let pane = std::cell::RefCell::new(TimelinePane::default());
    let mut harness = drive("asia", |ui, model, commands| {
        pane.borrow_mut().show(ui, model, commands);
    });
    harness.run();
    let middle = chart(&harness).center();
    harness.hover_at(middle);
    harness.event(Event::MouseWheel {
        unit: MouseWheelUnit::Line,
        delta: egui::vec2(0.0, 4.0),
        phase: egui::TouchPhase::Move,
        modifiers: Modifiers::NONE,
    });
    harness.run();
    let total = harness.state().model.document.as_ref().unwrap().trace().unwrap().elapsed;
    let view = pane.borrow().view.expect("zoomed");
    assert!(view.span() < View::all(total.as_nanos() as f64).span());
    harness.key_press(Key::F);
    harness.run();
    assert_eq!(pane.borrow().view, None);
}

#[test]
fn shift_drag_selects_a_range_that_escape_clears() {
    let pane = std::cell::RefCell::new(TimelinePane::default());
    let mut harness = drive("asia", |ui, model, commands| {
        pane.borrow_mut().show(ui, model, commands);
    });
    harness.run();
    let chart = chart(&harness);
    let (from, to) = (chart.center() - egui::vec2(200.0, 0.0), chart.center());
    press(&mut harness, from, true, Modifiers::SHIFT);
    harness.run();
    harness.event_modifiers(Event::PointerMoved(to), Modifiers::SHIFT);
    harness.run();
    let (left, right) = pane.borrow().range.expect("a range");
    assert!(left < right);
    assert!(pane.borrow().panel.is_none(), "nothing moves under the pointer while it drags");
    press(&mut harness, to, false, Modifiers::SHIFT);
    harness.run();
    assert_eq!(pane.borrow().range, Some((left, right)));
    assert!(pane.borrow().panel.is_some());
    harness.key_down(Key::Escape);
    harness.run();
    assert_eq!(pane.borrow().range, None);
}

#[test]
fn a_running_propagation_is_summarised_so_far_and_redrawn() {
    let mut model = model("asia");
    let compiled = Arc::clone(model.compiled().unwrap());
    let watch = Arc::new(Watch::timed(compiled.plan(), CancelToken::new()));
    watch.stage(Stage::Initialise, || {});
    watch.message(MessageId::new(0), 0, || {});
    model.document.as_mut().unwrap().running = Some(Arc::clone(&watch));
    let mut pane = TimelinePane::default();
    let mut harness = drive_model(model, move |ui, model, commands| pane.show(ui, model, commands));
    harness.run_steps(3);
    label_containing(&harness, "so far");
    label_containing(&harness, "Message timeline: 1 message,");
    let delays = harness.output().viewport_output.values().map(|viewport| viewport.repaint_delay);
    assert!(delays.min().unwrap() <= LIVE_INTERVAL, "the next frame is requested");
}

#[test]
fn the_pane_explains_that_the_engine_passes_no_messages() {
    let mut pane = TimelinePane::default();
    let model = model_with("asia", "reference", &[]);
    let mut harness = drive_model(model, move |ui, model, commands| pane.show(ui, model, commands));
    harness.run();
    harness.get_by_label_contains("This engine passes no messages");
}

#[test]
fn without_a_network_the_pane_says_what_to_do() {
    let mut pane = TimelinePane::default();
    let mut harness = drive("", move |ui, model, commands| pane.show(ui, model, commands));
    harness.run();
    harness.get_by_label_contains("Open a network");
}

fn press(harness: &mut Harness<'_, Bench>, pos: Pos2, pressed: bool, modifiers: Modifiers) {
    harness.event_modifiers(Event::PointerMoved(pos), modifiers);
    let button = PointerButton::Primary;
    harness.event_modifiers(Event::PointerButton { pos, button, pressed, modifiers }, modifiers);
}

fn click(harness: &mut Harness<'_, Bench>, pos: Pos2) {
    press(harness, pos, true, Modifiers::NONE);
    press(harness, pos, false, Modifiers::NONE);
    harness.run();
}

#[test]
fn a_recording_can_be_chosen_and_is_marked() {
    let mut model = model("asia");
    record_on_gpu(&mut model);
    let messages = model.compiled().unwrap().plan().messages().len();
    let mut pane = TimelinePane::default();
    let mut harness = drive_model(model, move |ui, model, commands| pane.show(ui, model, commands));
    harness.run();
    assert_eq!(harness.query_all_by_label_contains("waits ").count(), 0);
    harness.get_by_value("sequential f64, this machine").click();
    harness.run();
    harness.get_by_label("gpu f32, recorded").click();
    harness.run();
    harness.get_by_label("recorded on NVIDIA Abacus on 2026-01-02, without evidence");
    let waits = numbers::nanoseconds(2e3 * messages as f64);
    for (name, value) in [("waits", waits), ("launch and copy", numbers::nanoseconds(18e3))] {
        harness.get_by_label(&format!("{name} {value}"));
    }
    harness.get_by_label_contains("Pin SM 0, idle ");
    harness.get_by_label("blocks").click();
    harness.run();
    harness.get_by_label_contains("Pin block 3, idle ");
    harness.get_by_value("gpu f32").click();
    harness.run();
    harness.get_by_label("sequential f64, this machine").click();
    harness.run();
    assert_eq!(harness.query_all_by_label_contains("waits ").count(), 0);
}

#[test]
fn every_stretch_of_time_has_a_name_and_every_thread_an_idle_share() {
    let mut harness = asia();
    harness.get_by_label("Sums").click();
    harness.run();
    for name in ["initialise", "collect", "work at the root", "distribute", "read posteriors"] {
        assert!(harness.query_all_by_label(name).count() > 0, "{name}");
    }
    let trace = harness.state().model.document.as_ref().unwrap().trace().unwrap().clone();
    harness.get_by_label_contains("Pin thread 0, idle ");
    // The sums of all kinds add up to the whole propagation of the only thread.
    let compiled = Arc::clone(harness.state().model.compiled().unwrap());
    let kind = RunKind::default();
    let layout = TimelineLayout::new(&trace, &compiled, kind, Grouping::ByWorker);
    let total = trace.elapsed.as_nanos() as f64;
    let sums = sums::sums(&layout.rows, &compiled, sums::GroupBy::Kind, (0.0, total));
    let sum: f64 = sums.iter().map(|sum| sum.total).sum();
    assert!((sum - total).abs() < 1.0, "{sum} of {total}: {sums:?}");
}

#[test]
fn the_panel_groups_by_thread_sender_and_receiver() {
    let mut harness = asia();
    harness.get_by_label("Sums").click();
    harness.run();
    harness.get_by_label("Thread").click();
    harness.run();
    harness.get_by_label("thread 0");
    harness.get_by_label("Sender").click();
    harness.run();
    let root = harness.state().tree().root();
    // The name may be cut at the end.
    label_containing(&harness, &format!("{} {{", naming::clique_id(root))).click();
    harness.run();
    assert_eq!(harness.state().model.selected(), Some(&Item::Clique(root)));
}

#[test]
fn a_bar_of_the_histogram_selects_its_messages() {
    let mut harness = asia();
    harness.get_by_label("Sums").click();
    harness.run();
    harness.get_by_label("Durations").click();
    harness.run();
    let all = harness.state().model.compiled().unwrap().plan().messages().len();
    label_containing(&harness, " that took ").click();
    harness.run();
    let Some(Item::Messages(messages)) = harness.state().model.selected() else {
        panic!("{:?}", harness.state().model.selected());
    };
    assert!(!messages.is_empty() && messages.len() <= all);
}

/// The pane and a harness that draws it with Asia, the pointer over the middle of the chart.
macro_rules! asia_with_pane {
    ($pane:ident, $harness:ident) => {
        let $pane = std::cell::RefCell::new(TimelinePane::default());
        let mut $harness = drive("asia", |ui, model, commands| {
            $pane.borrow_mut().show(ui, model, commands);
        });
        $harness.run();
        let middle = chart(&$harness).center();
        $harness.hover_at(middle);
        $harness.run();
    };
}

#[test]
fn keys_zoom_pan_and_fit_the_selection() {
    asia_with_pane!(pane, harness);
    harness.key_press(Key::W);
    harness.run();
    let zoomed = pane.borrow().view.expect("zoomed in");
    harness.key_press(Key::D);
    harness.run();
    let later = pane.borrow().view.expect("panned");
    assert!(later.start > zoomed.start && (later.span() - zoomed.span()).abs() < 1e-6);
    harness.key_press(Key::A);
    harness.run();
    assert!((pane.borrow().view.unwrap().start - zoomed.start).abs() < 1e-6);
    harness.key_press(Key::S);
    harness.run();
    assert_eq!(pane.borrow().view, None);
    let (message, at) = longest(&harness);
    click(&mut harness, at);
    harness.key_press(Key::F);
    harness.run();
    let fitted = pane.borrow().view.expect("fitted");
    let trace = harness.state().model.document.as_ref().unwrap().trace().unwrap();
    let timing = trace.messages.iter().find(|timing| timing.message == message).unwrap();
    let start = timing.start.as_nanos() as f64;
    let end = start + timing.duration.as_nanos() as f64;
    assert!(fitted.start <= start && end <= fitted.end, "{fitted:?}");
    harness.key_press(Key::F);
    harness.run();
    assert_eq!(pane.borrow().view, None, "F again shows everything");
}

#[test]
fn full_stop_and_comma_go_to_the_neighbouring_message_of_the_row() {
    asia_with_pane!(pane, harness);
    harness.key_press(Key::Period);
    harness.run();
    let first = selected(&harness).expect("the first message");
    harness.key_press(Key::Period);
    harness.run();
    let second = selected(&harness).expect("the next one");
    assert_ne!(first, second);
    harness.key_press(Key::Comma);
    harness.run();
    assert_eq!(selected(&harness), Some(first));
    assert!(pane.borrow().selected.is_some());
}

#[test]
fn a_click_on_a_name_pins_the_row() {
    asia_with_pane!(pane, harness);
    label_containing(&harness, "Pin thread 0").click();
    harness.run();
    assert!(pane.borrow().pinned.contains("thread 0"));
    label_containing(&harness, "Pin thread 0").click();
    harness.run();
    assert!(pane.borrow().pinned.is_empty());
}

#[test]
fn the_critical_path_can_be_highlighted_and_ends_at_a_message_away_from_the_root() {
    asia_with_pane!(pane, harness);
    label_containing(&harness, "Critical path").click();
    harness.run();
    assert!(pane.borrow().highlights_path);
    let pane = pane.borrow();
    let path = &pane.cached.as_ref().unwrap().layout.critical_path;
    let plan = harness.state().model.compiled().unwrap().plan();
    let last = *path.messages.last().unwrap();
    assert_eq!(plan[last].phase, crate::propagation::Phase::Distribute);
    for pair in path.messages.windows(2) {
        assert_eq!(plan[pair[0]].to, plan[pair[1]].from, "each message needs the one before");
    }
}

#[test]
fn a_kept_run_is_compared_with_another_message_by_message() {
    let mut model = model("asia");
    record_on_gpu(&mut model);
    let messages = model.compiled().unwrap().plan().messages().len();
    let pane = std::cell::RefCell::new(TimelinePane::default());
    let mut harness = drive_model(model, |ui, model, commands| {
        pane.borrow_mut().show(ui, model, commands);
    });
    harness.run();
    assert!(harness.query_by_label("Compare").is_none(), "no run is kept");
    harness.get_by_label("Keep this run").click();
    harness.run();
    harness.get_by_value("sequential f64, this machine").click();
    harness.run();
    harness.get_by_label("gpu f32, recorded").click();
    harness.run();
    harness.get_by_label("Compare").click();
    harness.run();
    label_containing(&harness, "Run to compare, kept: sequential f64");
    label_containing(&harness, "Run to compare, now: gpu f32");
    label_containing(&harness, &format!("{messages} messages in both"));
    let (slower, faster) = ("⏶ ", "⏷ ");
    label_containing(&harness, slower);
    label_containing(&harness, faster);
    let palette = crate::app::theme::Palette::of_theme(harness.ctx.theme() == egui::Theme::Dark);
    let is_change = |colour: egui::Color32| [palette.slower(), palette.faster()].contains(&colour);
    let changed = harness.output().shapes.iter().any(|clipped| match &clipped.shape {
        egui::Shape::Mesh(mesh) => mesh.vertices.iter().any(|vertex| is_change(vertex.color)),
        _ => false,
    });
    assert!(changed, "slower and faster messages have colours of their own");
    let launches = pane.borrow().comparison.as_ref().unwrap().layouts.each_ref().map(|layout| {
        layout.stages.iter().filter(|slice| slice.kind_name() == "launch and copy").count()
    });
    assert!(launches[0] == 0 && launches[1] > 0, "only a GPU launches: {launches:?}");
    let stops = tab_stops(&mut harness);
    assert!(stops.iter().flatten().any(|stop| stop == "Compare"), "{stops:?}");
    let is_chart = |stop: &String| stop.starts_with("Run to compare");
    assert!(!stops.iter().flatten().any(is_chart), "no key does anything there: {stops:?}");
    harness.set_size(egui::vec2(600.0, 400.0));
    harness.run();
    let table = harness.get_by_label("Message").rect().left();
    let drawn = harness.output().shapes.iter().filter_map(|clipped| match &clipped.shape {
        egui::Shape::Text(text) if text.galley.text().starts_with("now: gpu") => {
            Some(text.visual_bounding_rect().right())
        }
        _ => None,
    });
    let ends: Vec<f32> = drawn.collect();
    assert!(ends.len() == 1 && ends[0] < table, "the title ends before the table: {ends:?}");
    harness.get_by_label("Compare").click();
    harness.run();
    label_containing(&harness, "Message timeline");
}

#[test]
fn messages_of_a_kept_run_on_another_tree_are_linked_to_those_on_the_current_one() {
    let mut model = model("asia");
    let document = model.document.as_mut().unwrap();
    let kept = KeptRun::of(document).unwrap();
    // A copy of the same tree. The pane compares addresses, so it takes the copy for another tree.
    let compiled = Arc::new((*kept.compiled).clone());
    document.kept = Some(Arc::new(KeptRun { compiled, ..(*kept).clone() }));
    let mut pane = TimelinePane { compares: true, ..TimelinePane::default() };
    pane.document = document.serial;
    let mut harness = drive_model(model, move |ui, model, commands| pane.show(ui, model, commands));
    harness.run();
    let chart = label_containing(&harness, "Run to compare, kept").rect();
    let is_found = (chart.left() as i32..chart.right() as i32).step_by(3).any(|x| {
        // The middle of the row of the thread is 52 points below the upper edge of the chart.
        harness.hover_at(Pos2::new(x as f32, chart.top() + 52.0));
        harness.run_steps(2);
        matches!(harness.state().model.hovered(), Some(Item::Message(_)))
    });
    assert!(is_found, "a message under the pointer");
}

#[test]
fn a_comparison_is_laid_out_again_when_the_kind_of_its_run_changes() {
    let mut model = model("asia");
    let document = model.document.as_mut().unwrap();
    let result = document.result.take().unwrap();
    let engine = EngineChoice { engine: by_name("gpu-paper").unwrap(), ..result.engine };
    document.result = Some(Arc::new(Propagation { engine, ..(*result).clone() }));
    document.kept = KeptRun::of(document);
    let pane = std::cell::RefCell::new(TimelinePane::default());
    let mut harness = drive_model(model, |ui, model, commands| {
        pane.borrow_mut().show(ui, model, commands);
    });
    harness.run();
    harness.get_by_label("Compare").click();
    harness.run();
    let launches = || pane.borrow().comparison.as_ref().unwrap().kinds.map(|kind| kind.launch);
    assert_eq!(launches(), [None, None]);
    let launch_time = Some(std::time::Duration::from_micros(2));
    harness.state_mut().model.document.as_mut().unwrap().launch_time = launch_time;
    harness.run();
    assert_eq!(launches(), [None, Some(2e3)]);
}

#[test]
fn the_launches_of_messages_are_summed_apart_from_other_launches() {
    let model = model("asia");
    let compiled = model.compiled().unwrap();
    let trace = model.document.as_ref().unwrap().trace().unwrap();
    let layout = |launch| {
        let kind = RunKind { on_gpu: true, multiprocessors: None, launch };
        TimelineLayout::new(trace, compiled, kind, Grouping::ByWorker)
    };
    assert_eq!(layout(None).launched, 0.0);
    let launched = layout(Some(1.0));
    let sum: f64 = launched.rows[0].tracks[0].iter().map(Slice::length).sum();
    assert!(sum > 0.0 && launched.launched == sum, "{sum}");
    let names = launched.rows[0].tracks[0].iter().map(Slice::kind_name);
    assert!(names.into_iter().all(|name| name == "launches of messages"));
}

#[test]
fn slow_motion_is_zoomed_by_the_wheel_and_keeps_its_time_in_view() {
    let pane = std::cell::RefCell::new(TimelinePane::default());
    let mut slow = model("asia");
    let total = slow.document.as_ref().unwrap().traced_nanoseconds();
    let stepping = |now, playing| {
        let mut stepping = Stepping::slow_motion(total);
        stepping.player.set_playing(playing, total);
        stepping.player.seek(now, total);
        Some(stepping)
    };
    slow.stepping = stepping(0.0, false);
    let mut harness = drive_model(slow, |ui, model, commands| {
        pane.borrow_mut().show(ui, model, commands);
    });
    harness.run_steps(3);
    let chart = label_containing(&harness, "Slow motion of").rect();
    let stops = tab_stops(&mut harness);
    let is_chart = |stop: &String| stop.starts_with("Slow motion of");
    assert!(!stops.iter().flatten().any(is_chart), "no key does anything there: {stops:?}");
    harness.hover_at(chart.center());
    harness.event(Event::MouseWheel {
        unit: MouseWheelUnit::Line,
        delta: egui::vec2(0.0, 4.0),
        phase: egui::TouchPhase::Move,
        modifiers: Modifiers::NONE,
    });
    harness.run_steps(30);
    let zoomed = pane.borrow().slow_motion_view.expect("zoomed");
    assert!(zoomed.span() < 0.9 * total && zoomed.start > 0.0, "{zoomed:?} of {total}");
    // The end comes into view while playing.
    harness.state_mut().model.stepping = stepping(total, true);
    harness.run_steps(2);
    let playing = pane.borrow().slow_motion_view.expect("still zoomed");
    assert!(playing.end >= total && (playing.span() - zoomed.span()).abs() < 1e-6, "{playing:?}");
}

#[test]
fn in_slow_motion_every_stretch_of_time_has_a_name() {
    let pane = std::cell::RefCell::new(TimelinePane::default());
    let mut slow = model("asia");
    record_on_gpu(&mut slow);
    let total = slow.document.as_ref().unwrap().traced_nanoseconds();
    slow.stepping = Some(Stepping::slow_motion(total));
    let mut harness = drive_model(slow, |ui, model, commands| {
        pane.borrow_mut().show(ui, model, commands);
    });
    harness.run_steps(3);
    let pane_now = pane.borrow();
    let document = harness.state().model.document.as_ref().unwrap();
    let traces = document.traces_to_compare();
    assert_eq!((traces.len(), pane_now.played.len()), (2, 2));
    let length = |slices: &[Slice]| slices.iter().map(Slice::length).sum::<f64>();
    let covered = |slices: &[Slice], whole: f64| (length(slices) - whole).abs() < 1.0;
    for (played, run) in traces.iter().zip(&pane_now.played) {
        let whole = played.trace.elapsed.as_nanos() as f64;
        assert!(covered(&run.layout.stages, whole), "{:?}", run.layout.stages);
    }
    // The rows of threads have no gaps either.
    let whole = traces[0].trace.elapsed.as_nanos() as f64;
    let [thread] = &pane_now.played[0].layout.rows[..] else { panic!("one thread") };
    assert!(covered(&thread.tracks.concat(), whole), "{thread:?}");
    let stages = &pane_now.played[0].layout.stages;
    let longest = *stages.iter().max_by(|a, b| a.length().total_cmp(&b.length())).unwrap();
    drop(pane_now);
    // The card of a slice in the row of stages has its name.
    let chart = label_containing(&harness, "Slow motion of").rect();
    let (left, right) = (chart.left() + GUTTER, chart.right() - geometry::SCROLL_BAR);
    let share = View::all(total).share(f64::midpoint(longest.start, longest.end));
    // The middle of this row is 45 points below the upper edge of the chart.
    harness.hover_at(Pos2::new(left + share as f32 * (right - left), chart.top() + 45.0));
    // Until the card appears.
    harness.run_steps(80);
    label_containing(&harness, longest.kind_name());
}
