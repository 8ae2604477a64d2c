//! The strip of a lesson below the menu, and the frame around the target of its current step.
//!
//! The strip has a place of its own, so it covers nothing, and is only as high as its content
//! needs, so that the panes get the rest. The button for the next step is at the same place in
//! every step.

use eframe::egui::{
    Align, Button, Context, Grid, Id, LayerId, Layout, Order, Panel, Rect, RichText, ScrollArea,
    Sense, Stroke, StrokeKind, Ui, Vec2, vec2,
};

use crate::app::state::command::{Commands, LessonCommand};
use crate::app::state::lessons::{Comparison, Course, Question};
use crate::app::state::model::Model;
use crate::app::theme::Palette;
use crate::app::widgets::scroll_to_focus::scroll_to_focus;
use crate::app::widgets::{equation, targets};

/// Maximum height of the strip as a share of the window's height. Higher content scrolls.
const MAX_HEIGHT_SHARE: f32 = 0.3;
/// Minimum height of the strip in points: room for the buttons.
const MIN_HEIGHT: f32 = 84.0;
/// Width of a window in points in which the text has its usual size. In a wider window, as on a
/// projector, the text grows with the width.
const USUAL_WIDTH: f32 = 1280.0;
/// Maximum factor by which the text grows.
const MAX_TEXT_SCALE: f32 = 1.4;
/// Width of the buttons in points, at the usual size of the text.
const BUTTONS_WIDTH: f32 = 196.0;
/// Maximum width of the text in points, at its usual size. In wider lines the eye loses its place.
const MAX_TEXT_WIDTH: f32 = 760.0;
/// The compared numbers take the width that they need, but at least and at most these shares of the
/// width to the left of the buttons.
const COMPARISON_SHARES: [f32; 2] = [0.36, 0.64];
/// Distance of the frame's outer edge from its target in points: at most half of the space between
/// widgets, so that the frame does not lie over a neighbour of the target.
pub(super) const FRAME_DISTANCE: f32 = 2.0;

/// Draws the strip of `course`, and a frame around the target of the current step.
pub fn show(ui: &mut Ui, course: &Course, model: &Model, commands: &mut Commands) {
    // What the content needed in the last frame.
    let key = Id::new("height of the lesson strip");
    let width_key = Id::new("width of compared numbers");
    let last = ui.data(|data| data.get_temp(key)).unwrap_or(MIN_HEIGHT);
    let last_width = ui.data(|data| data.get_temp(width_key)).unwrap_or(0.0_f32);
    let mut needed_width = 0.0_f32;
    let panel = Panel::top("lesson").exact_size(last);
    let mut room = 0.0;
    let mut needed = 0.0_f32;
    let shown = panel.show(ui, |ui| {
        let height = ui.available_height();
        room = height;
        let scale = text_scale(ui);
        for font in ui.style_mut().text_styles.values_mut() {
            font.size *= scale;
        }
        let leftward = Layout::right_to_left(Align::Min);
        ui.allocate_ui_with_layout(vec2(ui.available_width(), height), leftward, |ui| {
            needed = column(ui, "buttons", vec2(scale * BUTTONS_WIDTH, height), |ui| {
                buttons(ui, course, model, commands)
            });
            ui.separator();
            if let Some(comparison) = course.comparison(model) {
                let [least, most] = COMPARISON_SHARES.map(|share| share * ui.available_width());
                let size = vec2(last_width.clamp(least, most), height);
                needed = needed.max(column(ui, "numbers", size, |ui| {
                    needed_width = compare(ui, &comparison);
                }));
                ui.separator();
            }
            let size = vec2(ui.available_width(), height);
            let text = column(ui, "text", size, |ui| text(ui, course, model, commands));
            needed = needed.max(text);
        });
    });
    let margins = shown.response.rect.height() - room;
    let max = MAX_HEIGHT_SHARE * ui.ctx().content_rect().height();
    let height = (needed + margins).ceil().min(max).max(MIN_HEIGHT);
    let needed_width = needed_width.ceil();
    if height != last || needed_width != last_width {
        ui.data_mut(|data| {
            data.insert_temp(key, height);
            data.insert_temp(width_key, needed_width);
        });
        ui.ctx().request_discard("the size of the strip's content changed");
    }
    if let Some(target) = &course.step().target
        && let Some(target) = targets::find(ui.ctx(), target)
    {
        draw_frame(ui.ctx(), target);
    }
}

/// The factor by which the text of the strip is larger than that of the panes.
fn text_scale(ui: &Ui) -> f32 {
    (ui.ctx().content_rect().width() / USUAL_WIDTH).clamp(1.0, MAX_TEXT_SCALE)
}

/// Draws `content` from top to bottom in a column of this size, and scrolls it if it is higher.
/// Returns the height of the content. `name` tells the columns apart.
fn column(ui: &mut Ui, name: &str, size: Vec2, content: impl FnOnce(&mut Ui)) -> f32 {
    let down = Layout::top_down(Align::Min);
    let shown = ui.allocate_ui_with_layout(size, down, |ui| {
        ui.set_width(size.x);
        let area = ScrollArea::vertical().id_salt(name).auto_shrink(false);
        area.show(ui, |ui| {
            content(ui);
            scroll_to_focus(ui);
        })
    });
    shown.inner.content_size.y
}

/// Draws the title, the text of the current step and its question.
fn text(ui: &mut Ui, course: &Course, model: &Model, commands: &mut Commands) {
    ui.set_max_width(ui.available_width().min(text_scale(ui) * MAX_TEXT_WIDTH));
    let (number, count) = (course.step_index() + 1, course.lesson().steps.len());
    ui.horizontal(|ui| {
        ui.strong(&course.lesson().title);
        ui.weak(format!("Step {number} of {count}"));
    });
    equation::show_text(ui, &course.filled_in(&course.step().text, model));
    if let Some(question) = &course.step().question {
        ask(ui, question, course, model, commands);
    }
    if let Some(problem) = course.problem(model) {
        ui.label(RichText::new(problem).color(Palette::of(ui).error));
    }
}

/// Draws the question of the current step. Once it is answered and the task is done, marks the
/// right option and the one that the user chose, and says why the answer is right.
fn ask(ui: &mut Ui, question: &Question, course: &Course, model: &Model, commands: &mut Commands) {
    ui.strong(course.filled_in(&question.ask, model));
    let is_open = course.open_question().is_some();
    let is_revealed = !is_open && course.is_done(model);
    ui.horizontal_wrapped(|ui| {
        for (index, option) in question.options.iter().enumerate() {
            let is_chosen = course.prediction() == Some(index);
            let mark = match (is_revealed, question.right() == Some(index), is_chosen) {
                (true, true, _) => "✔ ",
                (true, false, true) => "✖ ",
                _ => "",
            };
            let text = format!("{mark}{option}");
            // Once answered, options cannot be clicked, but must stay as easy to read as before.
            let sense = if is_open { Sense::click() } else { Sense::hover() };
            let button = ui.add(Button::new(text).selected(is_chosen).sense(sense));
            if button.clicked() {
                commands.push(LessonCommand::Predict(index));
            }
        }
        if is_open && ui.button("Show the answer").clicked() {
            commands.push(LessonCommand::ShowAnswer);
        }
    });
    if is_revealed {
        let verdict = match course.prediction() {
            Some(chosen) if question.right() == Some(chosen) => "Right: ",
            Some(_) => "Not quite: ",
            None => "",
        };
        let because = course.filled_in(&question.because, model);
        let answer = question.answer.trim_end_matches('.');
        ui.label(format!("{verdict}{answer}. {because}"));
    }
}

/// Draws the numbers of several steps side by side. Returns the width that they need.
fn compare(ui: &mut Ui, comparison: &Comparison) -> f32 {
    let shown = ScrollArea::horizontal().id_salt("compared numbers").show(ui, |ui| {
        Grid::new("compared numbers").striped(true).spacing(vec2(14.0, 3.0)).show(ui, |ui| {
            ui.weak("compare");
            for column in &comparison.columns {
                ui.strong(&column.heading);
            }
            ui.end_row();
            for (row, label) in comparison.rows.iter().enumerate() {
                ui.label(label);
                for column in &comparison.columns {
                    match &column.values[row] {
                        Some(value) => ui.monospace(value),
                        None => ui.weak("–").on_hover_text("Go back to that step to see it here"),
                    };
                }
                ui.end_row();
            }
        });
    });
    shown.content_size.x
}

/// Draws the buttons that change the step or end the lesson. The button for the next step is
/// highlighted once the question is answered and the task is done.
fn buttons(ui: &mut Ui, course: &Course, model: &Model, commands: &mut Commands) {
    let is_done = course.is_done(model);
    let is_open = course.open_question().is_some();
    let scale = text_scale(ui);
    let size = scale * vec2(BUTTONS_WIDTH, 1.4 * ui.spacing().interact_size.y);
    let title = if course.is_at_end() { "Finish" } else { "Next" };
    let next = Button::new(RichText::new(title).strong()).selected(is_done && !is_open);
    let next = ui.add_enabled(!is_open, next.min_size(size));
    let hint = match course.is_at_end() {
        true => "End the lesson and return to your network (Page Down)",
        false => "Next step (Page Down). Does the task of this step if it is not done.",
    };
    let next = next.on_hover_text(hint).on_disabled_hover_text("Answer the question first");
    if next.clicked() {
        commands.push(LessonCommand::Next);
    }
    ui.horizontal(|ui| {
        let back = ui.add_enabled(course.step_index() > 0, Button::new("Back"));
        if back.on_hover_text("Previous step (Page Up)").clicked() {
            commands.push(LessonCommand::Back);
        }
        let has_task = course.step().action.is_some() && !is_open;
        if !has_task {
            ui.weak("Page Up, Page Down");
        } else if is_done {
            ui.strong("Done");
        } else if ui.button("Do it for me").clicked() {
            commands.push(LessonCommand::DoIt);
        }
    });
    ui.horizontal(|ui| {
        let leave = ui.button("Leave lesson");
        let hint = "Return to your network. You can continue the lesson at this step later.";
        if leave.on_hover_text(hint).clicked() {
            commands.push(LessonCommand::Leave);
        }
        let stay = ui.button("Keep this open");
        if stay.on_hover_text("End the lesson and keep its network open").clicked() {
            commands.push(LessonCommand::Stay);
        }
    });
}

/// Draws a frame around `target`, above the panes and below all windows.
fn draw_frame(ctx: &Context, target: Rect) {
    let colour = Palette::of_theme(ctx.global_style().visuals.dark_mode).active;
    let painter = ctx.layer_painter(LayerId::new(Order::Background, Id::new("lesson frame")));
    let rect = target.expand(FRAME_DISTANCE).intersect(ctx.content_rect());
    painter.rect_stroke(rect, 4, Stroke::new(2.0, colour), StrokeKind::Inside);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_frame_does_not_reach_the_neighbours_of_its_target() {
        let ctx = Context::default();
        crate::app::theme::set_style(&ctx);
        let spacing = ctx.global_style().spacing.item_spacing;
        assert!(2.0 * FRAME_DISTANCE <= spacing.min_elem());
    }
}
