//! Short messages that appear in a corner of the window and disappear after a while.

use std::collections::VecDeque;
use std::time::Duration;

use eframe::egui::{
    Align, Align2, Area, Color32, Context, Frame, Layout, Order, RichText, TextStyle, Ui, Vec2,
    WidgetInfo, WidgetType, accesskit::Live, vec2,
};

use crate::app::theme::Palette;
use crate::safe_text::shortened;

/// Maximum width of the text of a notice in points, if the window has room for it.
const MAX_WIDTH: f32 = 420.0;

/// Distance in points to the right and to the lower edge of the window. Headings, tabs and tools
/// are at the top of panes, so notices are at the bottom, above the status line.
const MARGIN: Vec2 = vec2(12.0, 36.0);

/// Maximum number of characters of a notice. It may contain a name from a file, which may have any
/// length; all other notices are shorter.
const MAX_CHARACTERS: usize = 1000;

/// Seconds for which every notice is shown, in addition to the time to read it.
const MIN_TIME: f64 = 3.5;

/// Seconds to read a character: people read about 15 characters per second.
const TIME_PER_CHARACTER: f64 = 1.0 / 15.0;

/// Minimum number of seconds for which notices stay after the pointer has left them.
const TIME_AFTER_HOVER: f64 = 1.5;

/// Maximum number of notices on screen. When there are more, the oldest disappear.
const MAX_SHOWN: usize = 6;

/// Maximum number of notices that are kept for [`Notices::all`].
const MAX_KEPT: usize = 100;

/// What a notice is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    /// Something was done, or can be done.
    Info,
    /// Files were written.
    Success,
    /// Something was done, but not as the user may expect.
    Warning,
    /// Something failed.
    Error,
}

impl Level {
    /// The mark before the text.
    fn mark(self) -> &'static str {
        match self {
            Self::Info => "ℹ",
            Self::Success => "✔",
            Self::Warning => "⚠",
            Self::Error => "✖",
        }
    }

    /// The colour of the mark.
    fn colour(self, ui: &Ui) -> Color32 {
        let palette = Palette::of(ui);
        match self {
            Self::Info | Self::Success => ui.visuals().strong_text_color(),
            Self::Warning => palette.warning,
            Self::Error => palette.error,
        }
    }
}

/// A notice.
struct Notice {
    level: Level,
    text: String,
    /// When the notice disappears, in seconds on the clock of the window; `None` until it is first
    /// drawn.
    end: Option<f64>,
    is_shown: bool,
}

/// The notices of this run: those on screen, and some earlier ones.
#[derive(Default)]
pub(crate) struct Notices {
    /// Oldest first.
    notices: VecDeque<Notice>,
}

impl Notices {
    /// Says that something was done, or can be done.
    pub(crate) fn info(&mut self, message: &str) {
        self.add(Level::Info, message);
    }

    /// Says that files were written.
    pub(crate) fn success(&mut self, message: &str) {
        self.add(Level::Success, message);
    }

    /// Says that something was done, but not as the user may expect.
    pub(crate) fn warning(&mut self, message: &str) {
        self.add(Level::Warning, message);
    }

    /// Says that something failed.
    pub(crate) fn error(&mut self, message: &str) {
        self.add(Level::Error, message);
    }

    fn add(&mut self, level: Level, message: &str) {
        let text = shortened(message, MAX_CHARACTERS).into_owned();
        self.notices.push_back(Notice { level, text, end: None, is_shown: true });
        if self.notices.len() > MAX_KEPT {
            self.notices.pop_front();
        }
        let shown = self.notices.iter_mut().filter(|notice| notice.is_shown);
        shown.rev().skip(MAX_SHOWN).for_each(|notice| notice.is_shown = false);
    }

    /// The texts of the last notices of this run, oldest first, whether or not they are still on
    /// screen.
    pub(crate) fn all(&self) -> impl Iterator<Item = &str> {
        self.notices.iter().map(|notice| notice.text.as_str())
    }

    /// Draws the notices.
    pub(crate) fn show(&mut self, ctx: &Context) {
        if self.notices.iter().all(|notice| !notice.is_shown) {
            return;
        }
        let now = ctx.input(|input| input.time);
        let is_new = self.notices.iter().any(|notice| notice.is_shown && notice.end.is_none());
        let area = Area::new("notices".into())
            .order(Order::Foreground)
            .anchor(Align2::RIGHT_BOTTOM, -MARGIN)
            .show(ctx, |ui| {
                ui.spacing_mut().item_spacing.y = 8.0;
                ui.with_layout(Layout::top_down(Align::Max), |ui| {
                    for notice in self.notices.iter_mut().filter(|notice| notice.is_shown) {
                        let length = notice.text.chars().count() as f64;
                        notice.end.get_or_insert(now + MIN_TIME + TIME_PER_CHARACTER * length);
                        notice.is_shown = !notice.draw(ui);
                    }
                });
            });
        if is_new {
            // The place of the notices depends on their size in the last frame.
            ctx.request_repaint();
        }
        let is_read = area.response.contains_pointer();
        for notice in self.notices.iter_mut().filter(|notice| notice.is_shown) {
            let Some(end) = &mut notice.end else { continue };
            if is_read {
                *end = end.max(now + TIME_AFTER_HOVER);
            }
            if *end <= now {
                notice.is_shown = false;
                ctx.request_repaint();
            } else {
                ctx.request_repaint_after(Duration::from_secs_f64(*end - now));
            }
        }
    }
}

impl Notice {
    /// Draws the notice at the right edge of `ui`. Returns whether the user closed it.
    fn draw(&self, ui: &mut Ui) -> bool {
        // The layout around this row is aligned to the right, so egui places the parts of the row
        // from right to left.
        let parts = |ui: &mut Ui| {
            let close = ui.small_button("×").on_hover_text("Close this notice");
            close
                .widget_info(|| WidgetInfo::labeled(WidgetType::Button, true, "Close this notice"));
            let font = TextStyle::Body.resolve(ui.style());
            let width = MAX_WIDTH.min(ui.ctx().content_rect().width() - 100.0).max(100.0);
            let ink = ui.visuals().strong_text_color();
            let galley = ui.painter().layout(self.text.clone(), font, ink, width);
            let text = ui.label(galley);
            // Screen readers read the notice when it appears.
            ui.ctx().accesskit_node_builder(text.id, |node| {
                let is_urgent = self.level == Level::Error;
                node.set_live(if is_urgent { Live::Assertive } else { Live::Polite });
            });
            ui.label(RichText::new(self.level.mark()).color(self.level.colour(ui)));
            close.clicked()
        };
        Frame::popup(ui.style()).show(ui, |ui| ui.horizontal_top(parts).inner).inner
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use eframe::egui;
    use egui_kittest::Harness;
    use egui_kittest::kittest::{NodeT as _, Queryable as _};

    /// A harness with frames of a tenth of a second that draws the notices.
    fn harness<'a>(notices: Notices) -> Harness<'a, Notices> {
        Harness::builder()
            .with_size([600.0, 400.0])
            .with_step_dt(0.1)
            .build_ui_state(|ui, notices: &mut Notices| notices.show(ui.ctx()), notices)
    }

    #[test]
    fn notices_are_inside_the_window_and_announced_until_they_are_read_or_closed() {
        let mut notices = Notices::default();
        let long = "The file has a mistake. ".repeat(10);
        notices.error(&long);
        notices.info("Saved");
        let mut harness = harness(notices);
        harness.run();
        let window = egui::Rect::from_min_size(egui::Pos2::ZERO, vec2(600.0, 400.0));
        let error = harness.get_by_label_contains("The file has a mistake.");
        assert!(window.contains_rect(error.rect()), "{:?}", error.rect());
        assert_eq!(error.accesskit_node().live(), Live::Assertive);
        let saved = harness.get_by_label("Saved");
        assert!(window.contains_rect(saved.rect()) && saved.rect().top() > error.rect().bottom());
        let frame = harness.get_by_label("ℹ").rect().union(saved.rect());
        assert!(frame.width() < 100.0, "a short notice is narrow: {frame:?}");
        assert_eq!(saved.accesskit_node().live(), Live::Polite);
        harness.run_steps(60);
        assert!(harness.query_by_label("Saved").is_none(), "its time on screen is over");
        harness.get_by_label("Close this notice").click();
        harness.run_steps(3);
        assert!(harness.query_by_label_contains("mistake").is_none(), "it was closed");
        assert_eq!(harness.state().all().collect::<Vec<_>>(), [long.as_str(), "Saved"]);
    }

    #[test]
    fn a_notice_stays_while_the_pointer_is_over_it() {
        let mut notices = Notices::default();
        notices.info("Saved");
        let mut harness = harness(notices);
        harness.run();
        let place = harness.get_by_label("Saved").rect().center();
        harness.hover_at(place);
        harness.run_steps(100);
        harness.get_by_label("Saved");
        harness.hover_at(egui::pos2(5.0, 5.0));
        harness.run_steps(20);
        assert!(harness.query_by_label("Saved").is_none());
    }

    #[test]
    fn only_the_last_notices_are_kept_and_fewer_are_shown() {
        let mut notices = Notices::default();
        for number in 0..=MAX_KEPT {
            notices.info(&format!("Notice {number}"));
        }
        assert_eq!(notices.all().count(), MAX_KEPT);
        assert_eq!(notices.all().next(), Some("Notice 1"));
        let mut harness = harness(notices);
        harness.run();
        assert_eq!(harness.query_all_by_label_contains("Notice ").count(), MAX_SHOWN);
    }
}
