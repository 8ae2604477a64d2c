//! Stepping through one message: the current step, and the controls that change it.

use eframe::egui::{DragValue, Key, Modifiers, Slider, Ui};

use crate::app::state::player::Player;
use crate::app::widgets::icon_button::icon_button;
use crate::app::widgets::targets;
use crate::engine::message_steps::{self, Order, Progress, Step};
use crate::engine::{MessageDetail, WARP};
use crate::numbers::{self, thousands};

/// Initial pace, in steps per second.
const INITIAL_PACE: f64 = 4.0;

/// The position among the steps of a message. The steps can be played.
pub struct StepPlayer {
    order: Order,
    /// The steps done so far and their sums; `None` until the first message is shown.
    progress: Option<Progress>,
    /// Advances while the steps are played. It is at the same step as `progress`.
    player: Player,
    /// Whether the tables scroll to the current step. If so, the last step stays current after all
    /// steps are done.
    follow: bool,
}

/// What a warp reads from the mapping tables in one step.
pub struct WarpRead {
    /// The number of the warp.
    pub warp: usize,
    /// The index of the element that each thread of the warp reads in its mapping table.
    pub element: usize,
    /// Whether the mapping tables belong to the receiver; otherwise they belong to the sender.
    pub of_receiver: bool,
}

/// A direction among the steps of a message.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Forward,
    Back,
}

/// What a key or a button moves the position by.
#[derive(Clone, Copy)]
enum Unit {
    Step,
    /// The steps of one thread; in the order of entries, which has no threads, as many steps as
    /// there are separator entries.
    Thread,
}

impl Default for StepPlayer {
    fn default() -> Self {
        let player = Player::new(INITIAL_PACE);
        Self { order: Order::Entries, progress: None, player, follow: false }
    }
}

impl StepPlayer {
    /// Shows another message: before its first step while playing, otherwise after its last step.
    pub fn begin(&mut self, detail: &MessageDetail) {
        self.progress = Some(Progress::new(detail, self.order));
        self.seek(detail, if self.player.is_playing() { 0 } else { usize::MAX });
        self.follow = false;
    }

    /// The state of the sums after the steps done so far.
    ///
    /// # Panics
    /// If [`begin`](Self::begin) has not been called.
    pub fn progress(&self) -> &Progress {
        self.progress.as_ref().expect("a message is shown")
    }

    /// The current step: the last one done. `None` before the first step and, unless the tables
    /// follow the steps, once all are done.
    ///
    /// # Panics
    /// If [`begin`](Self::begin) has not been called.
    pub fn current(&self, detail: &MessageDetail) -> Option<Step> {
        let done = self.progress().done();
        let within = done > 0 && (done < message_steps::steps(detail) || self.follow);
        within.then(|| message_steps::step(detail, self.order, done - 1))
    }

    /// The rows of sender, separator and receiver to scroll to.
    pub fn rows_to_follow(&self, detail: &MessageDetail) -> [Option<usize>; 3] {
        if !self.follow {
            return [None; 3];
        }
        match self.current(detail) {
            Some(Step::Add { j, entry, .. }) => {
                [Some(entry), Some(j), Some(detail.to.element(j, 0))]
            }
            Some(Step::Divide { j }) => [None, Some(j), None],
            Some(Step::Multiply { j, entry, .. }) => [None, Some(j), Some(entry)],
            None => [None; 3],
        }
    }

    /// What the warp of the current step reads. A division reads no mapping table; it counts as
    /// element 0 of the receiver's tables. Without a current step, the first warp, which reads
    /// element 0 of the sender's tables.
    pub fn warp(&self, detail: &MessageDetail) -> WarpRead {
        let (j, element, of_receiver) = match self.current(detail) {
            Some(Step::Add { j, n, .. }) => (j, n, false),
            Some(Step::Multiply { j, n, .. }) => (j, n, true),
            Some(Step::Divide { j }) => (j, 0, true),
            None => (0, 0, false),
        };
        WarpRead { warp: j / WARP, element, of_receiver }
    }

    /// Pauses at the step of entry `entry` of `table`: 0 sender, 1 separator, 2 receiver.
    pub fn jump_to_entry(&mut self, detail: &MessageDetail, table: usize, entry: usize) {
        let per_thread = message_steps::steps_of_thread(detail);
        let (sender, separator) = (detail.sender_values.len(), detail.before.len());
        let step = match (self.order, table) {
            (Order::Entries, 0) => entry,
            (Order::Entries, 1) => sender + entry,
            (Order::Entries, _) => sender + separator + entry,
            (Order::Threads, 0) => {
                let (j, n) = detail.from.place(entry);
                j * per_thread + n
            }
            (Order::Threads, 1) => entry * per_thread + detail.from.count(),
            (Order::Threads, _) => {
                let (j, n) = detail.to.place(entry);
                j * per_thread + detail.from.count() + 1 + n
            }
        };
        self.pause_at(detail, step + 1);
    }

    /// Moves to the position after `done` steps, or after the last one if there are fewer.
    fn seek(&mut self, detail: &MessageDetail, done: usize) {
        let end = message_steps::steps(detail);
        self.player.seek(done.min(end) as f64, end as f64);
        self.show_position(detail);
    }

    /// Pauses at the position after `done` steps, or after the last one if there are fewer.
    fn pause_at(&mut self, detail: &MessageDetail, done: usize) {
        self.player.set_playing(false, message_steps::steps(detail) as f64);
        self.seek(detail, done);
    }

    /// Updates the sums to the position of the player, and makes the tables follow this position.
    fn show_position(&mut self, detail: &MessageDetail) {
        if let Some(progress) = &mut self.progress {
            progress.seek(detail, self.player.step());
        }
        self.follow = true;
    }

    /// Changes the order. The position becomes the end if all steps were done, otherwise the
    /// beginning.
    fn set_order(&mut self, detail: &MessageDetail, order: Order) {
        if order != self.order {
            let at_end = self.progress().done() == message_steps::steps(detail);
            self.order = order;
            self.progress = Some(Progress::new(detail, order));
            self.seek(detail, if at_end { usize::MAX } else { 0 });
            self.follow = false;
        }
    }

    /// Pauses, and moves to the nearest position in `direction` at which a `unit` begins. A move
    /// forward from the end starts at the beginning.
    fn move_by(&mut self, detail: &MessageDetail, direction: Direction, unit: Unit) {
        let (done, end) = (self.progress().done(), message_steps::steps(detail));
        let done = if direction == Direction::Forward && done == end { 0 } else { done };
        let length = match (unit, self.order) {
            (Unit::Step, _) => 1,
            (Unit::Thread, Order::Threads) => message_steps::steps_of_thread(detail),
            (Unit::Thread, Order::Entries) => detail.before.len(),
        };
        let boundary = done / length * length;
        let target = match direction {
            Direction::Forward => boundary + length,
            Direction::Back if done == boundary => boundary.saturating_sub(length),
            Direction::Back => boundary,
        };
        self.pause_at(detail, target);
    }

    /// Plays or pauses. If all steps are done, playing starts again at the first.
    fn set_playing(&mut self, detail: &MessageDetail, playing: bool) {
        let before = self.player.step();
        self.player.set_playing(playing, message_steps::steps(detail) as f64);
        if self.player.step() != before {
            self.show_position(detail);
        }
    }

    /// Handles period and comma, the keys with which video players step by frames. With Shift, the
    /// keys step by threads. They are ignored while a text field has the focus.
    pub fn handle_keys(&mut self, ui: &Ui, detail: &MessageDetail) {
        if ui.ctx().text_edit_focused() {
            return;
        }
        for (key, direction) in [(Key::Period, Direction::Forward), (Key::Comma, Direction::Back)] {
            for (modifiers, unit) in
                [(Modifiers::SHIFT, Unit::Thread), (Modifiers::NONE, Unit::Step)]
            {
                let pressed = ui.input_mut(|input| {
                    input.modifiers.command_only() == modifiers.command_only()
                        && !input.modifiers.command
                        && input.modifiers.shift == modifiers.shift
                        && input.consume_key(modifiers, key)
                });
                if pressed {
                    self.move_by(detail, direction, unit);
                }
            }
        }
    }

    /// Advances while playing, and requests a repaint for the next step.
    pub fn advance(&mut self, ui: &Ui, detail: &MessageDetail) {
        if !self.player.is_playing() {
            return;
        }
        let before = self.player.step();
        let now = ui.input(|input| input.time);
        self.player.advance(now, message_steps::steps(detail) as f64);
        if self.player.step() != before {
            self.show_position(detail);
        }
        if let Some(wait) = self.player.time_to_next_step() {
            ui.ctx().request_repaint_after(wait);
        }
    }

    /// Draws the line of controls.
    pub fn controls(&mut self, ui: &mut Ui, detail: &MessageDetail) {
        let response = ui.horizontal_wrapped(|ui| {
            self.order_choice(ui, detail);
            ui.separator();
            self.buttons(ui, detail);
            self.position_fields(ui, detail);
            ui.separator();
            self.pace_slider(ui);
        });
        targets::mark(&response.response, "steps of a message");
    }

    /// Draws the choice of the order.
    fn order_choice(&mut self, ui: &mut Ui, detail: &MessageDetail) {
        let mut order = self.order;
        ui.selectable_value(&mut order, Order::Entries, "Entry by entry")
            .on_hover_text("The order of a single processor");
        let threads = ui.selectable_value(&mut order, Order::Threads, "Thread by thread");
        targets::mark(&threads, "thread by thread");
        threads.on_hover_text("The order on a GPU, with one thread per separator entry");
        self.set_order(detail, order);
    }

    /// Draws the buttons that move the position, and the button that plays or pauses.
    fn buttons(&mut self, ui: &mut Ui, detail: &MessageDetail) {
        if icon_button(ui, "⏮", "Before the first step", "") {
            self.pause_at(detail, 0);
        }
        if icon_button(ui, "⏴", "Previous step", ",") {
            self.move_by(detail, Direction::Back, Unit::Step);
        }
        let playing = self.player.is_playing();
        let (symbol, name) = if playing { ("⏸", "Pause steps") } else { ("⏵", "Play steps") };
        if icon_button(ui, symbol, name, "of this message") {
            self.set_playing(detail, !playing);
        }
        if icon_button(ui, "⏵|", "Next step", ".") {
            self.move_by(detail, Direction::Forward, Unit::Step);
        }
        if icon_button(ui, "⏭", "After the last step", "") {
            self.pause_at(detail, usize::MAX);
            self.follow = false;
        }
        if self.order == Order::Threads && icon_button(ui, "⏩", "Next thread", "Shift+.") {
            self.move_by(detail, Direction::Forward, Unit::Thread);
        }
    }

    /// Draws the fields for the number of steps done and for the current separator entry.
    fn position_fields(&mut self, ui: &mut Ui, detail: &MessageDetail) {
        let end = message_steps::steps(detail);
        let mut done = self.progress().done();
        let drag = DragValue::new(&mut done)
            .range(0..=end)
            .prefix("step ")
            .suffix(format!(" of {}", thousands(end as u64)))
            .custom_formatter(|done, _| thousands(done as u64))
            .custom_parser(|text| text.replace(',', "").trim().parse().ok());
        if ui.add(drag).changed() {
            self.pause_at(detail, done);
        }
        let entries = detail.before.len();
        let mut j = self.current(detail).map_or(0, Step::j);
        let drag = DragValue::new(&mut j).range(0..=entries - 1).prefix("separator entry ");
        let hint = "Jump to the first addition to this separator entry";
        if ui.add(drag).on_hover_text(hint).changed() {
            self.pause_at(detail, message_steps::first_step(detail, self.order, j) + 1);
        }
    }

    /// Draws the slider for the pace.
    fn pace_slider(&mut self, ui: &mut Ui) {
        // A slider that shows its number cannot wrap and would widen the pane.
        ui.spacing_mut().slider_width = 70.0;
        let mut pace = self.player.rate();
        let hint = format!("Pace: {} steps per second", numbers::short(pace));
        let slider = Slider::new(&mut pace, 0.5..=10_000.0).logarithmic(true).show_value(false);
        if ui.add(slider).on_hover_text(hint).changed() {
            self.player.set_rate(pace);
        }
    }
}
