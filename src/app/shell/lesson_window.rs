//! What a lesson looks like: a window with the text, and a frame around what it points at.

use eframe::egui::{
    self, Button, Id, LayerId, Order, Pos2, Rect, RichText, Stroke, StrokeKind, Vec2,
};

use crate::app::state::command::{Commands, LessonCommand};
use crate::app::state::lessons::Course;
use crate::app::state::model::Model;
use crate::app::theme::Palette;
use crate::app::widgets::targets;

/// Width of the text.
const WIDTH: f32 = 330.0;
/// Height of the text at least, so that the buttons stay in their place from step to step.
const TEXT_HEIGHT: f32 = 110.0;
/// About how high the window is.
const HEIGHT: f32 = 220.0;
/// What should stay in sight beside what the lesson points at.
const IN_USE: [&str; 7] = [
    "Variables",
    "legend",
    "stepping",
    "step through",
    "steps of a message",
    "tables of a message",
    "state",
];
/// How much more it counts to hide what the lesson points at.
const POINTED: i64 = 4;
/// Frames in which the window finds its place.
const SETTLING: u8 = 8;

/// Draws the lesson over everything else.
pub fn show(ctx: &egui::Context, course: &Course, model: &Model, commands: &mut Commands) {
    let target = targets::find(ctx, &course.step().target);
    let others: Vec<Rect> =
        IN_USE.into_iter().filter_map(|name| targets::find(ctx, name)).collect();
    let was_at = Id::new("lesson was at");
    let before = ctx.data(|data| data.get_temp(was_at));
    let place = place(ctx.content_rect(), target, &others, before);
    let id = Id::new(("lesson", &course.lesson().id, course.number()));
    // The window knows its size, and the lesson what it points at, only after some frames.
    let frames: u8 = ctx.data_mut(|data| {
        let (step, frames) = data.get_temp_mut_or(Id::new("lesson placed"), (id, 0_u8));
        (*step, *frames) = (id, if *step == id { frames.saturating_add(1) } else { 1 });
        *frames
    });
    let window = egui::Window::new(&course.lesson().title)
        // Every step has a place of its own, from which the user may drag it.
        .id(id)
        .collapsible(false)
        .resizable(false);
    let window = if frames < SETTLING {
        ctx.request_repaint();
        // Its size is not known yet: held inside the screen by a guess, it would be moved.
        window.current_pos(place).constrain(false)
    } else {
        window
    };
    let shown = window.show(ctx, |ui| {
        ui.set_width(WIDTH);
        let text = ui.label(course.text(model));
        ui.add_space((TEXT_HEIGHT - text.rect.height()).max(4.0));
        let asks = course.step().action.is_some();
        let done = course.is_done(model);
        ui.horizontal(|ui| {
            let (number, all) = (course.number() + 1, course.lesson().steps.len());
            ui.weak(format!("Step {number} of {all}"));
            if asks && done {
                ui.label(RichText::new("Done").color(Palette::of(ui).posterior).strong());
            } else if asks {
                let button = ui.button("Do it for me");
                if button.clicked() {
                    commands.push(LessonCommand::DoIt);
                }
            }
        });
        ui.horizontal(|ui| {
            if ui.add_enabled(course.number() > 0, Button::new("Back")).clicked() {
                commands.push(LessonCommand::Back);
            }
            let last = course.number() + 1 == course.lesson().steps.len();
            let next = if last { "Finish" } else { "Next" };
            let hint = if last { "The lesson is over: back to what was open before" } else { "" };
            let button = Button::new(next).selected(done);
            let button = ui.add(button);
            let button = if last { button.on_hover_text(hint) } else { button };
            if button.clicked() {
                commands.push(LessonCommand::Next);
            }
            ui.add_space(16.0);
            let leave = ui.button("Leave").on_hover_text(
                "Back to what was open before; the lesson can be taken up again at this step",
            );
            if leave.clicked() {
                commands.push(LessonCommand::Leave);
            }
            let stay = ui.button("Keep this open");
            if stay.on_hover_text("End the lesson and go on with its network").clicked() {
                commands.push(LessonCommand::Stay);
            }
        });
    });
    // Where it is, which may be where the user dragged it.
    if let Some(shown) = shown
        && frames >= SETTLING
    {
        ctx.data_mut(|data| data.insert_temp(was_at, shown.response.rect.min));
    }
    if let Some(target) = target {
        let dark = ctx.global_style().visuals.dark_mode;
        let colour = Palette::of_theme(dark).active;
        // Above the panes, below every window.
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

/// The place on `screen` at which the window hides least of `target` and of `others`; of equal ones
/// that where it was `before`, or else that nearest to the lower right corner.
fn place(screen: Rect, target: Option<Rect>, others: &[Rect], before: Option<Pos2>) -> Pos2 {
    /// Places from the lower right corner to the upper left one.
    const ACROSS: usize = 6;
    let size = Vec2::new(WIDTH + 16.0, HEIGHT);
    let inside = screen.shrink2(Vec2::new(24.0, 60.0));
    let room = (inside.size() - size).max(Vec2::ZERO);
    let share = |step: usize| 1.0 - step as f32 / (ACROSS - 1) as f32;
    let steps = (0..ACROSS * ACROSS).map(|step| (step / ACROSS, step % ACROSS));
    let at = |(x, y)| inside.min + room * Vec2::new(share(x), share(y));
    let hidden = |place: &Pos2| {
        let window = Rect::from_min_size(*place, size);
        let covered = |rect: &Rect| {
            let both = window.intersect(*rect);
            if both.is_positive() { both.area() as i64 } else { 0 }
        };
        POINTED * target.as_ref().map_or(0, covered) + others.iter().map(covered).sum::<i64>()
    };
    let is_on_screen = |place: &Pos2| inside.contains_rect(Rect::from_min_size(*place, size));
    let before = before.filter(is_on_screen);
    before.into_iter().chain(steps.map(at)).min_by_key(hidden).unwrap_or(inside.min)
}

#[cfg(test)]
mod tests {
    use eframe::egui::pos2;

    use super::*;

    #[test]
    fn the_window_stands_beside_what_it_points_at() {
        let screen = Rect::from_min_size(pos2(0.0, 0.0), Vec2::new(1280.0, 800.0));
        let size = Vec2::new(WIDTH + 16.0, HEIGHT);
        for target in [
            Rect::from_min_size(pos2(0.0, 40.0), Vec2::new(310.0, 740.0)),
            Rect::from_min_size(pos2(320.0, 40.0), Vec2::new(670.0, 500.0)),
            Rect::from_min_size(pos2(320.0, 540.0), Vec2::new(670.0, 240.0)),
            Rect::from_min_size(pos2(990.0, 40.0), Vec2::new(290.0, 740.0)),
        ] {
            let window = Rect::from_min_size(place(screen, Some(target), &[], None), size);
            assert!(screen.contains_rect(window));
            let both = window.intersect(target);
            let covered = if both.is_positive() { both.area() } else { 0.0 };
            assert!(covered < 0.2 * target.area(), "{target:?} under {window:?}");
        }
        // What is used meanwhile stays free where there is another place for the window.
        let legend = Rect::from_min_size(pos2(1100.0, 700.0), Vec2::new(180.0, 45.0));
        let window = Rect::from_min_size(place(screen, None, &[legend], None), size);
        assert!(screen.contains_rect(window) && !window.intersects(legend), "{window:?}");
        let corner = place(screen, None, &[], None);
        assert!(Rect::from_min_size(corner, size).intersects(legend));
        // It stays where it was, unless it hides more there than elsewhere.
        let before = pos2(40.0, 70.0);
        assert_eq!(place(screen, None, &[legend], Some(before)), before);
        let target = Rect::from_min_size(pos2(0.0, 40.0), Vec2::new(310.0, 740.0));
        assert_ne!(place(screen, Some(target), &[], Some(before)), before);
    }
}
