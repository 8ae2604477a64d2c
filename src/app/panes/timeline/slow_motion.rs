//! Slow motion: traces one above the other, with a line at the current time. Two recorded runs have
//! a time scale each, because their durations differ so much; other traces have a common one.

use eframe::egui::{
    FontId, Rangef, Rect, Response, RichText, Sense, Ui, Vec2, WidgetInfo, WidgetType, pos2, vec2,
};

use super::axis::View;
use super::geometry::Geometry;
use super::layout::{self, TimelineLayout};
use super::rows::Grouping;
use super::{TimelinePane, TimelineScene, card, draw, slice_at};
use crate::app::panes::common::FinishedRun;
use crate::app::state::command::{Commands, StepCommand, ViewCommand};
use crate::app::state::document::{Document, PlayedTrace};
use crate::app::state::highlight::Item;
use crate::app::state::model::Model;
use crate::app::state::run_kind::RunKind;
use crate::app::state::stepping::Stepping;
use crate::app::theme::Palette;
use crate::app::widgets::short_text::one_line;
use crate::numbers;
use crate::propagation::CompiledNetwork;

/// Height in points of the title of a trace.
const TITLE_HEIGHT: f32 = 16.0;

/// A trace that slow motion plays, laid out, and what it was laid out from.
#[derive(Debug)]
pub(super) struct PlayedLayout {
    run: FinishedRun,
    kind: RunKind,
    grouping: Grouping,
    pub(super) layout: TimelineLayout,
}

impl PlayedLayout {
    /// Lays out `played`, a trace of `run`.
    fn new(run: FinishedRun, played: &PlayedTrace<'_>, compiled: &CompiledNetwork) -> Self {
        let kind = played.kind;
        let grouping = layout::compact_grouping(kind);
        let layout = TimelineLayout::new(played.trace, compiled, kind, grouping);
        Self { run, kind, grouping, layout }
    }
}

impl TimelinePane {
    /// Draws the [traces to compare](Document::traces_to_compare) of `document`, with everything
    /// after the current time of `stepping` dimmed.
    ///
    /// A click or a drag moves to another time. The wheel zooms, and a double click shows
    /// everything again. While playing, the current time stays in view.
    pub(super) fn slow_motion(
        &mut self,
        ui: &mut Ui,
        model: &Model,
        document: &Document,
        compiled: &CompiledNetwork,
        stepping: Stepping,
        commands: &mut Commands,
    ) {
        let traces = document.traces_to_compare();
        self.lay_out_played(document, &traces, compiled);
        let has_own_scales = document.second_shown.is_some();
        if has_own_scales {
            own_scales(ui, &traces);
        }
        let size = Vec2::new(ui.available_width(), ui.available_height().max(64.0));
        // Keys do nothing here, so the Tab key skips the chart.
        let (rect, response) = ui.allocate_exact_size(size, Sense::CLICK | Sense::DRAG);
        response.widget_info(|| {
            let titles: Vec<&str> = traces.iter().map(|played| played.title.as_str()).collect();
            let label = format!("Slow motion of {}", titles.join(" and "));
            WidgetInfo::labeled(WidgetType::Other, true, label)
        });
        let total = document.traced_nanoseconds();
        let across = Geometry::fitted(rect, &[], View::all(total)).chart.x_range();
        let view = self.update_slow_motion_view(ui, &response, across, stepping, total);
        if let Some(pos) = response.interact_pointer_pos() {
            let share = f64::from((pos.x - across.min) / across.span());
            commands.push(StepCommand::Seek(view.at(share)));
        }
        let height = rect.height() / traces.len().max(1) as f32;
        for (index, (played, of)) in traces.iter().zip(&self.played).enumerate() {
            let stretch = document.stretch(played.trace);
            let mut text = format!("{}: {}", played.title, numbers::duration(played.trace.elapsed));
            if has_own_scales {
                let slower = numbers::short(stepping.slowdown() * stretch);
                text = format!("{text}, played {slower} times slower");
            }
            let at = pos2(rect.left(), rect.top() + index as f32 * height);
            let ink = match played.recorded {
                Some(_) => Palette::of(ui).warning,
                None => ui.visuals().strong_text_color(),
            };
            let font = FontId::proportional(12.0);
            let galley = one_line(ui.painter(), &text, font, ink, rect.width());
            ui.painter().galley(at, galley, ink);
            let chart = Rect::from_min_size(at, vec2(rect.width(), height - 4.0));
            let chart = chart.with_min_y(at.y + TITLE_HEIGHT);
            let scene = TimelineScene {
                model,
                compiled,
                trace: played.trace,
                layout: &of.layout,
                kind: of.kind,
                grouping: of.grouping,
                total: played.trace.elapsed.as_nanos() as f64,
                untraced: None,
                times: None,
                live: false,
                highlights_path: false,
                changes: None,
                is_current: true,
                counterparts: None,
                now: Some(stepping.player.position() / stretch),
            };
            let geometry = Geometry::fitted(chart, &of.layout.rows, view.scaled(1.0 / stretch));
            let pointed = response.hover_pos().and_then(|pos| slice_at(&scene, &geometry, pos));
            draw::draw(ui, &geometry, &scene, pointed, None);
            draw::row_names(ui, &geometry, &scene);
            let Some(slice) = pointed.filter(|_| !response.dragged()) else { continue };
            if let Some(message) = slice.related_message() {
                commands.push(ViewCommand::Hover(Item::Message(message)));
            }
            response.clone().on_hover_ui_at_pointer(|ui| card::show(ui, &scene, slice));
        }
    }

    /// Lays out `traces` unless they are laid out already.
    fn lay_out_played(
        &mut self,
        document: &Document,
        traces: &[PlayedTrace<'_>],
        compiled: &CompiledNetwork,
    ) {
        let mut before = std::mem::take(&mut self.played);
        for played in traces {
            let Some(run) = FinishedRun::of_played(document, played) else { continue };
            let is_same = |old: &PlayedLayout| old.run == run && old.kind == played.kind;
            self.played.push(match before.iter().position(is_same) {
                Some(index) => before.swap_remove(index),
                None => PlayedLayout::new(run, played, compiled),
            });
        }
    }

    /// The view after the zooming of this frame; while playing, moved so that it contains the
    /// current time. The time axis covers the horizontal range `across` of the screen.
    fn update_slow_motion_view(
        &mut self,
        ui: &Ui,
        response: &Response,
        across: Rangef,
        stepping: Stepping,
        total: f64,
    ) -> View {
        let all = View::all(total);
        // The view may be of an earlier run that took longer.
        let view = self.slow_motion_view.and_then(|view| view.within(total)).unwrap_or(all);
        let mut view = view.wheeled(ui, response, across, total);
        if response.double_clicked() {
            view = all;
        } else if stepping.player.is_playing() {
            let now = stepping.player.position();
            view = view.revealing(now, now, total);
        }
        self.slow_motion_view = view.unless_all(total);
        view
    }
}

/// Says that each of `traces` has a time scale of its own, and how many times as long the first is
/// as the second.
fn own_scales(ui: &mut Ui, traces: &[PlayedTrace<'_>]) {
    let seconds = |index: usize| traces.get(index).map(|played| played.trace.elapsed.as_secs_f64());
    let Some((longer, shorter)) = seconds(0).zip(seconds(1)) else { return };
    let ratio = numbers::short(longer / shorter.max(1e-9));
    let text = format!(
        "Recorded runs, each on a time scale of its own (the upper one is {ratio} times as long)"
    );
    ui.label(RichText::new(text).strong().color(Palette::of(ui).warning));
}
