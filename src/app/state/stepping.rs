//! Walking through a propagation: message by message, or in slow motion as it was measured.

use eframe::egui::{self, Button, Key, Modifiers, Slider, Ui};

use crate::app::state::command::Commands;
use crate::app::state::highlight::Item;
use crate::app::state::model::{Document, Model, Pane};
use crate::app::widgets::naming;
use crate::app::workbench::Workbench;
use crate::app::{shell::pane_layout, widgets::targets};
use crate::numbers;
use crate::propagation::{CompiledNetwork, MessageId, MessageTrace, Phase};

/// Messages a second at first.
const PACE: f32 = 1.0;
/// How long slow motion takes at first, in seconds.
const SLOW_MOTION_SECONDS: f64 = 12.0;
/// What slow motion is drawn at.
const FRAME: std::time::Duration = std::time::Duration::from_millis(16);

/// How far the walk is, and whether it goes on by itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stepping {
    /// What it walks along.
    pub clock: Clock,
    /// It goes on by itself.
    pub playing: bool,
}

/// What the walk goes along.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Clock {
    /// The plan: one message after another.
    Plan {
        /// Messages passed. The message of this number is the present one; at the number of all
        /// messages there is none.
        position: usize,
        /// How fast it plays, in messages a second.
        pace: f32,
    },
    /// The trace: every message when it was measured.
    Trace {
        /// Nanoseconds since the start of the propagation.
        now: f64,
        /// How many times slower it plays than it was.
        slower: f64,
    },
}

/// What a walk asks for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StepCommand {
    /// Begin, along the plan.
    Begin,
    /// Begin, or go on, along the trace.
    SlowMotion,
    /// To the message before.
    Back,
    /// To the message after.
    Forward,
    /// Before the first message.
    First,
    /// After the last message.
    Last,
    /// To where this many messages are passed.
    To(usize),
    /// To this time of the trace, in nanoseconds.
    ToTime(f64),
    /// Go on by itself, or stop that.
    Play(bool),
    /// Messages a second.
    Pace(f32),
    /// Slow motion this many times slower than it was.
    Slower(f64),
    /// Leave.
    End,
}

/// How far a propagation is in the pictures: as it runs, or as it is walked through.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Progress {
    /// The messages that are being computed.
    pub active: Vec<MessageId>,
    /// The phase of the latest message over each separator.
    pub sent: Vec<Option<Phase>>,
}

impl Progress {
    fn new(compiled: &CompiledNetwork, done: impl Iterator<Item = MessageId>) -> Self {
        let mut sent = vec![None; compiled.tree().separators().len()];
        for message in done {
            if let Some(message) = compiled.plan().messages().get(message.index()) {
                sent[message.separator.index()] = Some(message.phase);
            }
        }
        Self { active: Vec::new(), sent }
    }

    /// What to show of `model`; `None` if nothing runs and nobody walks.
    #[must_use]
    pub fn of(model: &Model, compiled: &CompiledNetwork) -> Option<Self> {
        let document = model.document.as_ref()?;
        if let Some(stepping) = &model.stepping {
            return Some(stepping.progress(compiled, document.finished_trace()));
        }
        let watch = document.running.as_ref().filter(|watch| !watch.is_finished())?;
        let trace = watch.trace();
        let mut progress = Self::new(compiled, trace.messages.iter().map(|timing| timing.message));
        progress.active = watch.active().into_iter().collect();
        Some(progress)
    }
}

impl Stepping {
    /// At the beginning of the plan.
    #[must_use]
    pub fn along_plan() -> Self {
        Self { clock: Clock::Plan { position: 0, pace: PACE }, playing: false }
    }

    /// The message that the walk is at, of `compiled`; in slow motion there may be several, or none.
    #[must_use]
    pub fn present(&self, compiled: &CompiledNetwork) -> Option<MessageId> {
        match self.clock {
            Clock::Plan { position, .. } => {
                (position < compiled.plan().messages().len()).then(|| MessageId::new(position))
            }
            Clock::Trace { .. } => None,
        }
    }

    fn progress(&self, compiled: &CompiledNetwork, trace: Option<&MessageTrace>) -> Progress {
        match self.clock {
            Clock::Plan { position, .. } => {
                let mut progress = Progress::new(compiled, (0..position).map(MessageId::new));
                progress.active = self.present(compiled).into_iter().collect();
                progress
            }
            Clock::Trace { now, .. } => {
                let timings = trace.map_or(&[][..], |trace| &trace.messages);
                let end = |t: &crate::propagation::MessageTiming| {
                    (t.start + t.duration).as_nanos() as f64
                };
                let done = timings.iter().filter(|t| end(t) <= now).map(|t| t.message);
                let mut progress = Progress::new(compiled, done);
                let begun = |t: &&crate::propagation::MessageTiming| {
                    t.start.as_nanos() as f64 <= now && now < end(t)
                };
                progress.active = timings.iter().filter(begun).map(|t| t.message).collect();
                progress
            }
        }
    }

    /// Does `walk`, in a plan of `messages` messages with a trace of `total` nanoseconds.
    fn step(&mut self, walk: StepCommand, messages: usize, total: f64) {
        match (walk, &mut self.clock) {
            (StepCommand::Begin, _) => *self = Self::along_plan(),
            (StepCommand::SlowMotion, _) => {
                let slower = (SLOW_MOTION_SECONDS * 1e9 / total.max(1.0)).max(1.0);
                let slower = 10_f64.powf(slower.log10().round());
                self.clock = Clock::Trace { now: 0.0, slower };
                self.playing = true;
            }
            (StepCommand::Play(play), clock) => {
                // Who plays at the end wants to see it once more.
                match clock {
                    Clock::Plan { position, .. } if play && *position >= messages => *position = 0,
                    Clock::Trace { now, .. } if play && *now >= total => *now = 0.0,
                    _ => {}
                }
                self.playing = play;
            }
            (StepCommand::To(to), Clock::Plan { position, .. }) => *position = to.min(messages),
            (StepCommand::ToTime(to), Clock::Trace { now, .. }) => *now = to.clamp(0.0, total),
            (StepCommand::Pace(to), Clock::Plan { pace, .. }) => *pace = to.clamp(0.1, 100.0),
            (StepCommand::Slower(to), Clock::Trace { slower, .. }) => *slower = to.clamp(1.0, 1e9),
            (step, Clock::Plan { position, .. }) => {
                self.playing = false;
                *position = match step {
                    StepCommand::Back => position.saturating_sub(1),
                    StepCommand::Forward => (*position + 1).min(messages),
                    StepCommand::First => 0,
                    StepCommand::Last => messages,
                    _ => *position,
                };
            }
            (step, Clock::Trace { now, .. }) => {
                self.playing = false;
                *now = match step {
                    StepCommand::Back => (*now - total / 100.0).max(0.0),
                    StepCommand::Forward => (*now + total / 100.0).min(total),
                    StepCommand::First => 0.0,
                    StepCommand::Last => total,
                    _ => *now,
                };
            }
        }
    }
}

impl Workbench {
    /// Does what was asked of the walk.
    pub(crate) fn walk(&mut self, ctx: &egui::Context, walk: StepCommand) {
        let Some(compiled) = self.model.compiled().cloned() else { return };
        let total = self.model.document.as_ref().map_or(0.0, Document::traced_nanoseconds);
        let messages = compiled.plan().messages().len();
        if walk == StepCommand::End {
            self.model.stepping = None;
            return;
        }
        if walk == StepCommand::SlowMotion && total == 0.0 {
            self.complain(
                "There are no times of this tree's messages to play. Press F5 to propagate, or \
                 choose engine sequential.",
            );
            return;
        }
        let begins = self.model.stepping.is_none();
        if begins {
            if messages == 0 {
                self.complain("The junction tree is a single clique: there are no messages.");
                return;
            }
            // The arrow keys belong to the walk from now on.
            ctx.memory_mut(|memory| {
                if let Some(focused) = memory.focused() {
                    memory.surrender_focus(focused);
                }
            });
            pane_layout::show_pane(&mut self.layout, Pane::JunctionTree);
        }
        if matches!(walk, StepCommand::Begin) {
            pane_layout::show_pane(&mut self.layout, Pane::Inside);
            pane_layout::make_room(&mut self.layout, Pane::Inside);
        } else if matches!(walk, StepCommand::SlowMotion) {
            pane_layout::show_pane(&mut self.layout, Pane::Timeline);
        }
        let stepping = self.model.stepping.get_or_insert_with(Stepping::along_plan);
        stepping.step(walk, messages, total);
        self.select_present(&compiled);
        ctx.request_repaint();
    }

    /// What the walk is at is what the other panes show.
    fn select_present(&mut self, compiled: &CompiledNetwork) {
        let present = self.model.stepping.as_ref().and_then(|walk| walk.present(compiled));
        if let Some(present) = present
            && self.model.selected() != Some(&Item::Message(present))
        {
            self.select(Some(Item::Message(present)));
        }
    }

    /// Goes on by itself, if it is to.
    pub(crate) fn play(&mut self, ctx: &egui::Context) {
        let Some(compiled) = self.model.compiled().cloned() else {
            self.model.stepping = None;
            return;
        };
        let total = self.model.document.as_ref().map_or(0.0, Document::traced_nanoseconds);
        let messages = compiled.plan().messages().len();
        let Some(stepping) = &mut self.model.stepping else { return };
        if !stepping.playing {
            self.step_due = None;
            return;
        }
        let (time, dt) = ctx.input(|input| (input.time, f64::from(input.stable_dt)));
        match &mut stepping.clock {
            Clock::Plan { position, pace } => {
                let interval = 1.0 / f64::from(*pace);
                let due = *self.step_due.get_or_insert(time + interval);
                if time >= due {
                    // More than one where frames are further apart than messages.
                    let steps = ((time - due) / interval) as usize + 1;
                    *position = (*position + steps).min(messages);
                    self.step_due = Some(due + steps as f64 * interval);
                }
                stepping.playing = *position < messages;
                let wait = self.step_due.map_or(0.0, |due| (due - time).max(0.0));
                ctx.request_repaint_after(std::time::Duration::from_secs_f64(wait));
                self.select_present(&compiled);
            }
            Clock::Trace { now, slower } => {
                *now = (*now + dt * 1e9 / *slower).min(total);
                stepping.playing = *now < total;
                ctx.request_repaint_after(FRAME);
            }
        }
    }

    /// The keys of the walk, while there is one.
    pub(crate) fn walking_keys(&mut self, ctx: &egui::Context) {
        let Some(stepping) = &self.model.stepping else { return };
        if self.is_typing(ctx) {
            return;
        }
        let keys = [
            (Key::ArrowLeft, StepCommand::Back),
            (Key::ArrowRight, StepCommand::Forward),
            (Key::Home, StepCommand::First),
            (Key::End, StepCommand::Last),
            (Key::Space, StepCommand::Play(!stepping.playing)),
            (Key::Escape, StepCommand::End),
        ];
        for (key, walk) in keys {
            if ctx.input_mut(|input| input.consume_key(Modifiers::NONE, key)) {
                self.commands.push(walk);
            }
        }
    }
}

/// Draws the bar with everything that a walk can be told.
pub fn show(ui: &mut Ui, model: &Model, commands: &mut Commands) {
    let Some((stepping, compiled)) = model.stepping.as_ref().zip(model.compiled()) else { return };
    let mut walk = |walk| commands.push(walk);
    let response = ui.horizontal_wrapped(|ui| {
        let along_plan = matches!(stepping.clock, Clock::Plan { .. });
        let traced = model.document.as_ref().is_some_and(|d| d.traced_nanoseconds() > 0.0);
        if ui.selectable_label(along_plan, "Message by message").clicked() && !along_plan {
            walk(StepCommand::Begin);
        }
        let slow = ui.add_enabled(traced, Button::selectable(!along_plan, "Slow motion"));
        targets::mark(&slow, "slow motion");
        if slow.on_hover_text("The newest propagation as it was measured").clicked() && along_plan {
            walk(StepCommand::SlowMotion);
        }
        ui.separator();
        for (sign, name, key, step) in [
            ("⏮", "First message", "Home", StepCommand::First),
            ("⏴", "Message before", "Left arrow", StepCommand::Back),
        ] {
            if button(ui, sign, name, key) {
                walk(step);
            }
        }
        let play = if stepping.playing { ("⏸", "Pause") } else { ("⏵", "Play") };
        if button(ui, play.0, play.1, "Space") {
            walk(StepCommand::Play(!stepping.playing));
        }
        for (sign, name, key, step) in [
            ("⏵|", "Next message", "Right arrow", StepCommand::Forward),
            ("⏭", "Last message", "End", StepCommand::Last),
        ] {
            if button(ui, sign, name, key) {
                walk(step);
            }
        }
        match stepping.clock {
            Clock::Plan { position, pace } => {
                plan_controls(ui, compiled, (position, pace), &mut walk);
            }
            Clock::Trace { now, slower } => {
                let total = model.document.as_ref().map_or(0.0, Document::traced_nanoseconds);
                trace_controls(ui, (now, slower, total), &mut walk);
            }
        }
        ui.separator();
        if ui.button("Leave").on_hover_text("Stop stepping (Esc)").clicked() {
            walk(StepCommand::End);
        }
    });
    targets::mark(&response.response, "stepping");
}

fn plan_controls(
    ui: &mut Ui,
    compiled: &CompiledNetwork,
    (position, pace): (usize, f32),
    walk: &mut impl FnMut(StepCommand),
) {
    let messages = compiled.plan().messages().len();
    let mut to = position;
    let slider = Slider::new(&mut to, 0..=messages).show_value(false);
    if ui.add(slider).on_hover_text("Messages passed").changed() {
        walk(StepCommand::To(to));
    }
    let said = match compiled.plan().messages().get(position) {
        Some(message) => format!(
            "Message {position} ({} of {}): {}, {}",
            numbers::thousands(position as u64 + 1),
            numbers::thousands(messages as u64),
            message.phase.name(),
            naming::message_ends(compiled, MessageId::new(position))
        ),
        None => format!("all {} messages passed", numbers::thousands(messages as u64)),
    };
    ui.strong(said);
    ui.separator();
    let mut pace = pace;
    let slider =
        Slider::new(&mut pace, 0.2..=50.0).logarithmic(true).max_decimals(1).suffix(" a second");
    if ui.add(slider).on_hover_text("How fast it plays").changed() {
        walk(StepCommand::Pace(pace));
    }
}

fn trace_controls(
    ui: &mut Ui,
    (now, slower, total): (f64, f64, f64),
    walk: &mut impl FnMut(StepCommand),
) {
    let mut to = now;
    let slider = Slider::new(&mut to, 0.0..=total.max(1.0)).show_value(false);
    if ui.add(slider).on_hover_text("Time since the start of the propagation").changed() {
        walk(StepCommand::ToTime(to));
    }
    ui.strong(format!(
        "{} of {}",
        numbers::nanoseconds(now.round()),
        numbers::nanoseconds(total.round())
    ));
    ui.separator();
    let mut factor = slower;
    let slider = Slider::new(&mut factor, 1.0..=1e7)
        .logarithmic(true)
        .custom_formatter(|value, _| format!("{} times slower", numbers::short(value)));
    if ui.add(slider).on_hover_text("How much slower than it was").changed() {
        walk(StepCommand::Slower(factor));
    }
}

/// A button that shows a sign and is called by its name.
pub(crate) fn button(ui: &mut Ui, sign: &str, name: &str, key: &str) -> bool {
    let button = ui.add(Button::new(sign).min_size(egui::vec2(24.0, 0.0)));
    button.widget_info(|| egui::WidgetInfo::labeled(egui::WidgetType::Button, true, name));
    button.on_hover_text(format!("{name} ({key})")).clicked()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::testing::model;

    fn position(stepping: &Stepping) -> usize {
        match stepping.clock {
            Clock::Plan { position, .. } => position,
            Clock::Trace { .. } => panic!("along the plan"),
        }
    }

    #[test]
    fn steps_stay_within_the_plan() {
        let mut stepping = Stepping::along_plan();
        stepping.step(StepCommand::Back, 14, 0.0);
        assert_eq!(position(&stepping), 0);
        stepping.step(StepCommand::Forward, 14, 0.0);
        assert_eq!(position(&stepping), 1);
        stepping.step(StepCommand::Last, 14, 0.0);
        stepping.step(StepCommand::Forward, 14, 0.0);
        assert_eq!(position(&stepping), 14);
        stepping.step(StepCommand::Play(true), 14, 0.0);
        assert_eq!((position(&stepping), stepping.playing), (0, true), "once more");
        stepping.step(StepCommand::To(99), 14, 0.0);
        assert_eq!(position(&stepping), 14);
    }

    #[test]
    fn what_is_done_what_is_present_and_what_is_to_come() {
        let model = model("asia");
        let compiled = model.compiled().unwrap();
        let messages = compiled.plan().messages();
        for at in 0..=messages.len() {
            let mut stepping = Stepping::along_plan();
            stepping.step(StepCommand::To(at), messages.len(), 0.0);
            let progress = stepping.progress(compiled, None);
            assert_eq!(progress.active.len(), usize::from(at < messages.len()));
            let sent = progress.sent.iter().flatten().count();
            assert_eq!(sent, at.min(messages.len() / 2), "every separator once in collect");
        }
    }

    #[test]
    fn slow_motion_shows_each_message_while_it_was_computed() {
        let model = model("asia");
        let compiled = model.compiled().unwrap();
        let document = model.document.as_ref().unwrap();
        let trace = document.finished_trace().unwrap();
        let total = document.traced_nanoseconds();
        let mut stepping = Stepping::along_plan();
        stepping.step(StepCommand::SlowMotion, trace.messages.len(), total);
        assert!(stepping.playing);
        for timing in &trace.messages {
            let middle = (timing.start + timing.duration / 2).as_nanos() as f64;
            stepping.step(StepCommand::ToTime(middle), trace.messages.len(), total);
            let progress = stepping.progress(compiled, Some(trace));
            if timing.duration.as_nanos() > 1 {
                assert!(progress.active.contains(&timing.message));
            }
        }
        stepping.step(StepCommand::Last, trace.messages.len(), total);
        let progress = stepping.progress(compiled, Some(trace));
        assert!(progress.active.is_empty());
        assert!(progress.sent.iter().all(|phase| *phase == Some(Phase::Distribute)));
    }
}
