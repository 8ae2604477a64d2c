//! The window of a lesson, and the frame around its target.

use eframe::egui::{
    self, Button, Id, LayerId, Order, Pos2, Rect, RichText, Stroke, StrokeKind, Vec2,
};

use crate::app::state::command::{Commands, LessonCommand};
use crate::app::state::lessons::Course;
use crate::app::state::model::Model;
use crate::app::theme::Palette;
use crate::app::widgets::targets;

/// Width of the text, in points.
const WIDTH: f32 = 330.0;
/// Minimum height of the text in points, so that the buttons do not move from step to step.
const TEXT_HEIGHT: f32 = 110.0;
/// Approximate height of the window, in points. Used to place it before its size is known.
const HEIGHT: f32 = 220.0;
/// Targets that the window should not cover, because the user needs them.
const NEEDED: [&str; 7] = [
    "Variables",
    "legend",
    "stepping",
    "step through",
    "steps of a message",
    "tables of a message",
    "state",
];
/// Weight of the covered area of the step's target, relative to the other targets. With a smaller
/// weight, the window may hide what the text is about.
const TARGET_WEIGHT: i64 = 4;
/// Frames until the window and the targets have their final sizes. With too few, the window may
/// stay where it covers a target.
const SETTLING_FRAMES: u8 = 8;

/// Draws the lesson over the panes.
pub fn show(ctx: &egui::Context, course: &Course, model: &Model, commands: &mut Commands) {
    let target = targets::find(ctx, &course.step().target);
    let others: Vec<Rect> =
        NEEDED.into_iter().filter_map(|name| targets::find(ctx, name)).collect();
    let position_id = Id::new("lesson position");
    let previous = ctx.data(|data| data.get_temp(position_id));
    let position = best_position(ctx.content_rect(), target, &others, previous);
    let id = Id::new(("lesson", &course.lesson().id, course.step_index()));
    // The sizes of the window and of the target are known only after some frames.
    let frames: u8 = ctx.data_mut(|data| {
        let (step, frames) = data.get_temp_mut_or(Id::new("lesson placed"), (id, 0_u8));
        (*step, *frames) = (id, if *step == id { frames.saturating_add(1) } else { 1 });
        *frames
    });
    let window = egui::Window::new(&course.lesson().title)
        // Each step has its own window, which the user may drag.
        .id(id)
        .collapsible(false)
        .resizable(false);
    let window = if frames < SETTLING_FRAMES {
        ctx.request_repaint();
        // Constraining a window of unknown size to the screen would move it.
        window.current_pos(position).constrain(false)
    } else {
        window
    };
    let shown = window.show(ctx, |ui| {
        ui.set_width(WIDTH);
        let text = ui.label(course.text(model));
        ui.add_space((TEXT_HEIGHT - text.rect.height()).max(4.0));
        let has_task = course.step().action.is_some();
        let done = course.is_done(model);
        ui.horizontal(|ui| {
            let (number, all) = (course.step_index() + 1, course.lesson().steps.len());
            ui.weak(format!("Step {number} of {all}"));
            if has_task && done {
                ui.label(RichText::new("Done").color(Palette::of(ui).posterior).strong());
            } else if has_task {
                let button = ui.button("Do it for me");
                if button.clicked() {
                    commands.push(LessonCommand::DoIt);
                }
            }
        });
        ui.horizontal(|ui| {
            if ui.add_enabled(course.step_index() > 0, Button::new("Back")).clicked() {
                commands.push(LessonCommand::Back);
            }
            let last = course.step_index() + 1 == course.lesson().steps.len();
            let next = if last { "Finish" } else { "Next" };
            let hint = if last { "End the lesson and return to your network" } else { "" };
            let button = Button::new(next).selected(done);
            let button = ui.add(button);
            let button = if last { button.on_hover_text(hint) } else { button };
            if button.clicked() {
                commands.push(LessonCommand::Next);
            }
            ui.add_space(16.0);
            let leave = ui.button("Leave").on_hover_text(
                "Return to your network. You can continue the lesson at this step later.",
            );
            if leave.clicked() {
                commands.push(LessonCommand::Leave);
            }
            let stay = ui.button("Keep this open");
            if stay.on_hover_text("End the lesson and keep its network open").clicked() {
                commands.push(LessonCommand::Stay);
            }
        });
    });
    // Remember the position, to which the user may have dragged the window.
    if let Some(shown) = shown
        && frames >= SETTLING_FRAMES
    {
        ctx.data_mut(|data| data.insert_temp(position_id, shown.response.rect.min));
    }
    if let Some(target) = target {
        let dark = ctx.global_style().visuals.dark_mode;
        let colour = Palette::of_theme(dark).active;
        // Above the panes, below all windows.
        let layer = LayerId::new(Order::Background, Id::new("lesson callout"));
        let painter = ctx.layer_painter(layer);
        let rect = target.expand(3.0).intersect(ctx.content_rect().shrink(2.0));
        painter.rect_stroke(
            rect,
            5,
            Stroke::new(7.0, colour.gamma_multiply(0.22)),
            StrokeKind::Middle,
        );
        painter.rect_stroke(rect, 5, Stroke::new(2.0, colour), StrokeKind::Middle);
    }
}

/// The position on `screen` at which the window covers the least of `target` and `others`. Among
/// equally good positions, the `previous` one wins, then the rightmost, then the lowest.
fn best_position(
    screen: Rect,
    target: Option<Rect>,
    others: &[Rect],
    previous: Option<Pos2>,
) -> Pos2 {
    /// Number of positions tried along each axis.
    const PER_AXIS: usize = 6;
    let size = Vec2::new(WIDTH + 16.0, HEIGHT);
    let inside = screen.shrink2(Vec2::new(24.0, 60.0));
    let range = (inside.size() - size).max(Vec2::ZERO);
    let share = |step: usize| 1.0 - step as f32 / (PER_AXIS - 1) as f32;
    let steps = (0..PER_AXIS * PER_AXIS).map(|step| (step / PER_AXIS, step % PER_AXIS));
    let at = |(x, y)| inside.min + range * Vec2::new(share(x), share(y));
    let covered_area = |position: &Pos2| {
        let window = Rect::from_min_size(*position, size);
        let covered = |rect: &Rect| {
            let both = window.intersect(*rect);
            if both.is_positive() { both.area() as i64 } else { 0 }
        };
        TARGET_WEIGHT * target.as_ref().map_or(0, covered) + others.iter().map(covered).sum::<i64>()
    };
    let is_on_screen = |position: &Pos2| inside.contains_rect(Rect::from_min_size(*position, size));
    let previous = previous.filter(is_on_screen);
    previous.into_iter().chain(steps.map(at)).min_by_key(covered_area).unwrap_or(inside.min)
}

#[cfg(test)]
mod tests {
    use eframe::egui::pos2;

    use super::*;

    #[test]
    fn the_window_leaves_targets_visible() {
        let screen = Rect::from_min_size(pos2(0.0, 0.0), Vec2::new(1280.0, 800.0));
        let size = Vec2::new(WIDTH + 16.0, HEIGHT);
        for target in [
            Rect::from_min_size(pos2(0.0, 40.0), Vec2::new(310.0, 740.0)),
            Rect::from_min_size(pos2(320.0, 40.0), Vec2::new(670.0, 500.0)),
            Rect::from_min_size(pos2(320.0, 540.0), Vec2::new(670.0, 240.0)),
            Rect::from_min_size(pos2(990.0, 40.0), Vec2::new(290.0, 740.0)),
        ] {
            let window = Rect::from_min_size(best_position(screen, Some(target), &[], None), size);
            assert!(screen.contains_rect(window));
            let both = window.intersect(target);
            let covered = if both.is_positive() { both.area() } else { 0.0 };
            assert!(covered < 0.2 * target.area(), "{target:?} under {window:?}");
        }
        // Needed targets stay visible if possible.
        let legend = Rect::from_min_size(pos2(1100.0, 700.0), Vec2::new(180.0, 45.0));
        let window = Rect::from_min_size(best_position(screen, None, &[legend], None), size);
        assert!(screen.contains_rect(window) && !window.intersects(legend), "{window:?}");
        let corner = best_position(screen, None, &[], None);
        assert!(Rect::from_min_size(corner, size).intersects(legend));
        // The window does not move, unless it would cover more.
        let previous = pos2(40.0, 70.0);
        assert_eq!(best_position(screen, None, &[legend], Some(previous)), previous);
        let target = Rect::from_min_size(pos2(0.0, 40.0), Vec2::new(310.0, 740.0));
        assert_ne!(best_position(screen, Some(target), &[], Some(previous)), previous);
    }
}
