//! The window of a lesson, and the border around the target of its current step.

use eframe::egui::{
    self, Button, Context, Id, LayerId, Order, Pos2, Rect, RichText, Stroke, StrokeKind, Ui, Vec2,
};

use crate::app::state::command::{Commands, LessonCommand};
use crate::app::state::lessons::Course;
use crate::app::state::model::Model;
use crate::app::theme::Palette;
use crate::app::widgets::targets;

/// Width of the text, in points.
const TEXT_WIDTH: f32 = 330.0;
/// Minimum height of the text in points. With a smaller height, the buttons move from step to step.
const MIN_TEXT_HEIGHT: f32 = 110.0;
/// Approximate size of the window in points, used to choose its position.
const WINDOW_SIZE: Vec2 = Vec2::new(TEXT_WIDTH + 16.0, 220.0);
/// Distance in points that the window keeps from the left and right edges of the screen (x) and
/// from the upper and lower edges (y).
const SCREEN_MARGIN: Vec2 = Vec2::new(24.0, 60.0);
/// Targets that the window should cover in no step, because the user looks at them or clicks them.
const KEPT_VISIBLE: [&str; 7] = [
    "Variables",
    "legend",
    "stepping",
    "step through",
    "steps of a message",
    "tables of a message",
    "state",
];
/// Weight of the covered area of the step's target, relative to the covered area of other targets.
/// With a smaller weight, the window may hide what the text is about.
const TARGET_WEIGHT: i64 = 4;
/// Number of frames after which the window and the targets of a step have their final sizes. With
/// too few, the window may stay where it covers a target.
const SETTLING_FRAMES: u8 = 8;

/// Draws the window of `course` over the panes, and a border around the target of the current step.
pub fn show(ctx: &Context, course: &Course, model: &Model, commands: &mut Commands) {
    let target = targets::find(ctx, &course.step().target);
    show_window(ctx, course, target, |ui| content(ui, course, model, commands));
    if let Some(target) = target {
        draw_border(ctx, target);
    }
}

/// Draws the window with `content`. In the first frames of each step, the window is placed where it
/// hides little. After that the user may drag it.
fn show_window(
    ctx: &Context,
    course: &Course,
    target: Option<Rect>,
    content: impl FnOnce(&mut Ui),
) {
    let last_position = Id::new("lesson position");
    // Each step has its own id: otherwise egui would keep the position of the step before.
    let id = Id::new(("lesson", &course.lesson().id, course.step_index()));
    let is_settled = frames_of_step(ctx, id) >= SETTLING_FRAMES;
    let mut window =
        egui::Window::new(&course.lesson().title).id(id).collapsible(false).resizable(false);
    if !is_settled {
        ctx.request_repaint();
        let others: Vec<Rect> =
            KEPT_VISIBLE.into_iter().filter_map(|name| targets::find(ctx, name)).collect();
        let previous = ctx.data(|data| data.get_temp(last_position));
        let position = best_position(ctx.content_rect(), target, &others, previous);
        // egui does not know the size of the window yet, so it must not try to keep the window on
        // the screen.
        window = window.current_pos(position).constrain(false);
    }
    let shown = window.show(ctx, content);
    // Remember where the user dragged the window.
    if let Some(shown) = shown
        && is_settled
    {
        ctx.data_mut(|data| data.insert_temp(last_position, shown.response.rect.min));
    }
}

/// The number of frames for which the step whose window has this `id` has been shown, including
/// this frame. Call this once a frame.
fn frames_of_step(ctx: &Context, id: Id) -> u8 {
    ctx.data_mut(|data| {
        let (step, frames) = data.get_temp_mut_or(Id::new("lesson placed"), (id, 0_u8));
        *frames = if *step == id { frames.saturating_add(1) } else { 1 };
        *step = id;
        *frames
    })
}

/// Draws the text of the current step and the buttons.
fn content(ui: &mut Ui, course: &Course, model: &Model, commands: &mut Commands) {
    ui.set_width(TEXT_WIDTH);
    let text = ui.label(course.text(model));
    ui.add_space((MIN_TEXT_HEIGHT - text.rect.height()).max(4.0));
    let is_done = course.is_done(model);
    ui.horizontal(|ui| {
        let (number, count) = (course.step_index() + 1, course.lesson().steps.len());
        ui.weak(format!("Step {number} of {count}"));
        let has_task = course.step().action.is_some();
        if has_task && is_done {
            ui.label(RichText::new("Done").color(Palette::of(ui).posterior).strong());
        } else if has_task && ui.button("Do it for me").clicked() {
            commands.push(LessonCommand::DoIt);
        }
    });
    ui.horizontal(|ui| buttons(ui, course, is_done, commands));
}

/// Draws the buttons that change or end the step. With `is_done`, the button for the next step is
/// highlighted.
fn buttons(ui: &mut Ui, course: &Course, is_done: bool, commands: &mut Commands) {
    if ui.add_enabled(course.step_index() > 0, Button::new("Back")).clicked() {
        commands.push(LessonCommand::Back);
    }
    let next = if course.is_at_end() {
        let finish = ui.add(Button::new("Finish").selected(is_done));
        finish.on_hover_text("End the lesson and return to your network")
    } else {
        ui.add(Button::new("Next").selected(is_done))
    };
    if next.clicked() {
        commands.push(LessonCommand::Next);
    }
    ui.add_space(16.0);
    let leave = ui.button("Leave");
    let hint = "Return to your network. You can continue the lesson at this step later.";
    if leave.on_hover_text(hint).clicked() {
        commands.push(LessonCommand::Leave);
    }
    let stay = ui.button("Keep this open");
    if stay.on_hover_text("End the lesson and keep its network open").clicked() {
        commands.push(LessonCommand::Stay);
    }
}

/// Draws a border around `target`, above the panes and below all windows.
fn draw_border(ctx: &Context, target: Rect) {
    let colour = Palette::of_theme(ctx.global_style().visuals.dark_mode).active;
    let painter = ctx.layer_painter(LayerId::new(Order::Background, Id::new("lesson callout")));
    let rect = target.expand(3.0).intersect(ctx.content_rect().shrink(2.0));
    let glow = Stroke::new(7.0, colour.gamma_multiply(0.22));
    for stroke in [glow, Stroke::new(2.0, colour)] {
        painter.rect_stroke(rect, 5, stroke, StrokeKind::Middle);
    }
}

/// The upper left corner of the window on `screen`. Of several positions tried, the one at which
/// the window covers the smallest area of `target` and `others`, with [`TARGET_WEIGHT`] for
/// `target`. Among equally good positions, the `previous` one wins if it keeps the
/// [`SCREEN_MARGIN`], then the rightmost, then the lowest.
fn best_position(
    screen: Rect,
    target: Option<Rect>,
    others: &[Rect],
    previous: Option<Pos2>,
) -> Pos2 {
    /// Number of positions tried along each axis.
    const PER_AXIS: usize = 6;
    let usable = screen.shrink2(SCREEN_MARGIN);
    let window_at = |position: Pos2| Rect::from_min_size(position, WINDOW_SIZE);
    let covered_area = |position: &Pos2| {
        let covered = |rect: &Rect| {
            let overlap = window_at(*position).intersect(*rect);
            if overlap.is_positive() { overlap.area() as i64 } else { 0 }
        };
        TARGET_WEIGHT * target.as_ref().map_or(0, covered) + others.iter().map(covered).sum::<i64>()
    };
    let range = (usable.size() - WINDOW_SIZE).max(Vec2::ZERO);
    let share = |index: usize| 1.0 - index as f32 / (PER_AXIS - 1) as f32;
    let grid = (0..PER_AXIS * PER_AXIS).map(|index| {
        let (x, y) = (index / PER_AXIS, index % PER_AXIS);
        usable.min + range * Vec2::new(share(x), share(y))
    });
    let previous = previous.filter(|position| usable.contains_rect(window_at(*position)));
    previous.into_iter().chain(grid).min_by_key(covered_area).unwrap_or(usable.min)
}

#[cfg(test)]
mod tests {
    use eframe::egui::pos2;

    use super::*;

    const SCREEN: Rect = Rect::from_min_max(pos2(0.0, 0.0), pos2(1280.0, 800.0));
    const LEFT_PANE: Rect = Rect::from_min_max(pos2(0.0, 40.0), pos2(310.0, 780.0));
    const LEGEND: Rect = Rect::from_min_max(pos2(1100.0, 700.0), pos2(1280.0, 745.0));

    /// The rectangle of the window on [`SCREEN`] at its best position.
    fn window(target: Option<Rect>, others: &[Rect]) -> Rect {
        let window = Rect::from_min_size(best_position(SCREEN, target, others, None), WINDOW_SIZE);
        assert!(SCREEN.contains_rect(window));
        window
    }

    #[test]
    fn the_window_covers_less_than_a_fifth_of_its_target() {
        for target in [
            LEFT_PANE,
            Rect::from_min_max(pos2(320.0, 40.0), pos2(990.0, 540.0)),
            Rect::from_min_max(pos2(320.0, 540.0), pos2(990.0, 780.0)),
            Rect::from_min_max(pos2(990.0, 40.0), pos2(1280.0, 780.0)),
        ] {
            let window = window(Some(target), &[]);
            let overlap = window.intersect(target);
            let covered = if overlap.is_positive() { overlap.area() } else { 0.0 };
            assert!(covered < 0.2 * target.area(), "{target:?} under {window:?}");
        }
    }

    #[test]
    fn the_window_avoids_other_targets() {
        assert!(window(None, &[]).intersects(LEGEND));
        assert!(!window(None, &[LEGEND]).intersects(LEGEND));
    }

    #[test]
    fn the_window_stays_in_place_unless_it_would_cover_more() {
        let previous = pos2(40.0, 70.0);
        assert_eq!(best_position(SCREEN, None, &[LEGEND], Some(previous)), previous);
        assert_ne!(best_position(SCREEN, Some(LEFT_PANE), &[], Some(previous)), previous);
    }
}
