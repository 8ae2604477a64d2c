//! The steps of one message: where they are, and what moves them.

use eframe::egui::{DragValue, Key, Modifiers, Slider, Ui};

use crate::app::state::stepping::button;
use crate::app::widgets::targets;
use crate::engine::algorithm::{self, Order, Progress, Step};
use crate::engine::{Passing, WARP};
use crate::numbers::{self, thousands};

/// Where the steps are.
pub struct Player {
    order: Order,
    progress: Option<Progress>,
    playing: bool,
    /// Steps a second.
    pace: f64,
    /// When the next step is due, in the time of the frames.
    due: f64,
    /// The tables are to show where the steps are.
    follow: bool,
}

impl Default for Player {
    fn default() -> Self {
        Self {
            order: Order::Entries,
            progress: None,
            playing: false,
            pace: 4.0,
            due: 0.0,
            follow: false,
        }
    }
}

impl Player {
    /// Another message: with all of its steps done, or from the first step on while it plays.
    pub fn begin(&mut self, passing: &Passing) {
        let mut progress = Progress::new(passing, self.order);
        if !self.playing {
            progress.seek(passing, usize::MAX);
        }
        self.progress = Some(progress);
        self.follow = false;
    }

    /// How far the steps are.
    ///
    /// # Panics
    /// Before the first message.
    pub fn progress(&self) -> &Progress {
        self.progress.as_ref().expect("a message is shown")
    }

    /// The step that was done last; `None` before the first and once all are done.
    pub fn present(&self, passing: &Passing) -> Option<Step> {
        let done = self.progress().done();
        let within = done > 0 && (done < algorithm::steps(passing) || self.follow);
        within.then(|| algorithm::step(passing, self.order, done - 1))
    }

    /// The rows of sender, separator and receiver that must be in sight.
    pub fn follow(&mut self, passing: &Passing) -> [Option<usize>; 3] {
        if !self.follow {
            return [None; 3];
        }
        match self.present(passing) {
            Some(Step::Add { j, entry, .. }) => {
                [Some(entry), Some(j), Some(passing.to.element(j, 0))]
            }
            Some(Step::Divide { j }) => [None, Some(j), None],
            Some(Step::Multiply { j, entry, .. }) => [None, Some(j), Some(entry)],
            None => [None; 3],
        }
    }

    /// The warp that the present step is part of, which of its elements each thread takes, and
    /// whether from the receiver's mapping tables.
    pub fn warp(&self, passing: &Passing) -> (usize, usize, bool) {
        match self.present(passing) {
            Some(Step::Add { j, n, .. }) => (j / WARP, n, false),
            Some(Step::Multiply { j, n, .. }) => (j / WARP, n, true),
            Some(Step::Divide { j }) => (j / WARP, 0, true),
            None => (0, 0, false),
        }
    }

    fn seek(&mut self, passing: &Passing, done: usize) {
        if let Some(progress) = &mut self.progress {
            progress.seek(passing, done);
        }
        self.follow = true;
    }

    /// To the step that takes entry `entry` of `table`: 0 sender, 1 separator, 2 receiver.
    pub fn jump_to_entry(&mut self, passing: &Passing, table: usize, entry: usize) {
        self.playing = false;
        let of_thread = algorithm::steps_of_thread(passing);
        let (sender, separator) = (passing.sender_values.len(), passing.before.len());
        let step = match (self.order, table) {
            (Order::Entries, 0) => entry,
            (Order::Entries, 1) => sender + entry,
            (Order::Entries, _) => sender + separator + entry,
            (Order::Threads, 0) => {
                let (j, n) = passing.from.place(entry);
                j * of_thread + n
            }
            (Order::Threads, 1) => entry * of_thread + passing.from.count(),
            (Order::Threads, _) => {
                let (j, n) = passing.to.place(entry);
                j * of_thread + passing.from.count() + 1 + n
            }
        };
        self.seek(passing, step + 1);
    }

    fn set_order(&mut self, passing: &Passing, order: Order) {
        if order != self.order {
            let done = self.progress().done();
            let ended = done == algorithm::steps(passing);
            self.order = order;
            self.progress = Some(Progress::new(passing, order));
            self.seek(passing, if ended { usize::MAX } else { 0 });
            self.follow = false;
        }
    }

    fn step(&mut self, passing: &Passing, forward: bool, by_thread: bool) {
        self.playing = false;
        let (done, all) = (self.progress().done(), algorithm::steps(passing));
        // Who goes on at the end wants to see it once more.
        let done = if forward && done == all { 0 } else { done };
        let by = match (by_thread, self.order) {
            (false, _) => 1,
            (true, Order::Threads) => algorithm::steps_of_thread(passing),
            (true, Order::Entries) => passing.before.len(),
        };
        let whole = done / by * by;
        let to = match (forward, done == whole) {
            (true, _) => whole + by,
            (false, true) => whole.saturating_sub(by),
            (false, false) => whole,
        };
        self.seek(passing, to);
    }

    fn set_playing(&mut self, passing: &Passing, playing: bool, now: f64) {
        self.playing = playing;
        self.due = now + 1.0 / self.pace;
        if playing && self.progress().done() == algorithm::steps(passing) {
            self.seek(passing, 0);
        }
    }

    /// Point and comma, as a film goes from picture to picture.
    pub fn keys(&mut self, ui: &Ui, passing: &Passing) {
        if ui
            .memory(|memory| memory.focused())
            .is_some_and(|id| eframe::egui::TextEdit::load_state(ui.ctx(), id).is_some())
        {
            return;
        }
        for (key, forward) in [(Key::Period, true), (Key::Comma, false)] {
            for (modifiers, by_thread) in [(Modifiers::SHIFT, true), (Modifiers::NONE, false)] {
                let pressed = ui.input_mut(|input| {
                    input.modifiers.command_only() == modifiers.command_only()
                        && !input.modifiers.command
                        && input.modifiers.shift == modifiers.shift
                        && input.consume_key(modifiers, key)
                });
                if pressed {
                    self.step(passing, forward, by_thread);
                }
            }
        }
    }

    /// Goes on by itself, if it is to.
    pub fn play(&mut self, ui: &Ui, passing: &Passing) {
        if !self.playing {
            return;
        }
        let now = ui.input(|input| input.time);
        if now >= self.due {
            // More than one where frames are further apart than steps.
            let steps = ((now - self.due) * self.pace) as usize + 1;
            self.due += steps as f64 / self.pace;
            self.seek(passing, self.progress().done() + steps);
        }
        if self.progress().done() == algorithm::steps(passing) {
            self.playing = false;
        } else {
            let wait = (self.due - now).max(0.0);
            ui.ctx().request_repaint_after(std::time::Duration::from_secs_f64(wait));
        }
    }

    /// The line of buttons.
    pub fn controls(&mut self, ui: &mut Ui, passing: &Passing) {
        let response = ui.horizontal_wrapped(|ui| {
            let mut order = self.order;
            ui.selectable_value(&mut order, Order::Entries, "Entry by entry")
                .on_hover_text("As one processor does it");
            let threads = ui.selectable_value(&mut order, Order::Threads, "Thread by thread");
            targets::mark(&threads, "thread by thread");
            threads.on_hover_text("As the GPU does it: one thread a separator entry");
            self.set_order(passing, order);
            ui.separator();
            let all = algorithm::steps(passing);
            if button(ui, "⏮", "Before the first step", "") {
                self.playing = false;
                self.seek(passing, 0);
            }
            if button(ui, "⏴", "Step before", ",") {
                self.step(passing, false, false);
            }
            let sign = if self.playing { ("⏸", "Pause steps") } else { ("⏵", "Play steps") };
            if button(ui, sign.0, sign.1, "plays the steps of this message") {
                let now = ui.input(|input| input.time);
                self.set_playing(passing, !self.playing, now);
            }
            if button(ui, "⏵|", "Next step", ".") {
                self.step(passing, true, false);
            }
            if button(ui, "⏭", "After the last step", "") {
                self.playing = false;
                self.seek(passing, usize::MAX);
                self.follow = false;
            }
            if self.order == Order::Threads && button(ui, "⏩", "Next thread", "Shift+.") {
                self.step(passing, true, true);
            }
            let mut done = self.progress().done();
            let drag = DragValue::new(&mut done).range(0..=all).prefix("step ");
            let drag = drag
                .suffix(format!(" of {}", thousands(all as u64)))
                .custom_formatter(|done, _| thousands(done as u64))
                .custom_parser(|text| text.replace(',', "").trim().parse().ok());
            if ui.add(drag).changed() {
                self.playing = false;
                self.seek(passing, done);
            }
            let threads = passing.before.len();
            let mut j = self.present(passing).map_or(0, Step::j);
            let drag = DragValue::new(&mut j).range(0..=threads - 1).prefix("separator entry ");
            let drag =
                ui.add(drag).on_hover_text("Jump to where this entry begins to be summed up");
            if drag.changed() {
                self.playing = false;
                let first = algorithm::first_step(passing, self.order, j);
                self.seek(passing, first + 1);
            }
            ui.separator();
            // A slider with its number does not wrap: the number would widen the pane.
            ui.spacing_mut().slider_width = 70.0;
            let pace = numbers::short(self.pace);
            let slider = Slider::new(&mut self.pace, 0.5..=10_000.0).logarithmic(true);
            let pace = format!("How fast it plays: {pace} steps a second");
            ui.add(slider.show_value(false)).on_hover_text(pace);
        });
        targets::mark(&response.response, "steps of a message");
    }
}
