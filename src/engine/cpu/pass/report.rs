//! Reports the messages of a propagation, and their times, to the [`Watch`].

use crate::cancel::Cancelled;
use crate::engine::cpu::helpers::{Helpers, worker};
use crate::engine::cpu::pass::clique_state::CliqueState;
use crate::engine::cpu::tree::nodes::{Node, Tree};
use crate::lowering::{Origin, Shape};
use crate::propagation::{Activity, MessageId, Phase, TimingHint, Watch, WorkerClock};

/// Messages are timed together until their forecast times add up to this, in nanoseconds, so that
/// reading the clock takes little time compared with passing the messages. If it is wrong, only the
/// cost and the resolution of traces change.
const MIN_TIMED: u32 = 2_500;

/// If the forecast times of a tree's messages have a larger average than this, in nanoseconds, each
/// message is timed by itself. If it is wrong, only the cost and the resolution of traces change.
const MIN_AVERAGE_TIMED_ALONE: u64 = 400;

/// Forecast time of a message without its table entries, in nanoseconds. Like the next constant, a
/// rough figure for one core of a desktop machine. The forecasts only decide which messages are
/// timed together, and how these messages share the measured time.
const CLIQUE_NS: u64 = 100;

/// Forecast time of ten table entries, in nanoseconds.
const TEN_ENTRIES_NS: u64 = 4;

/// The messages of a plan, by the cliques that pass them.
#[derive(Debug, Default)]
pub struct Messages {
    /// By clique: the messages to and from its parent, and the forecast time of each in
    /// nanoseconds; `None` for the root.
    by_clique: Vec<Option<(MessageId, MessageId, u32)>>,
    /// Messages are timed together up to this forecast time, in nanoseconds; zero to time each.
    min_interval: u32,
    /// By message of the plan: the number of table entries that the message goes through if it is
    /// computed from a table. It goes through the table of the clique further from the root, except
    /// that a message to a clique without ports below goes through the table of the separator.
    processed: Vec<u64>,
}

impl Messages {
    /// The messages through `tree`. `shape`: its shape.
    pub fn new(tree: &Tree, shape: &Shape) -> Self {
        let with_forecast = |(origin, node): (&Option<Origin>, &Node)| {
            let forecast = CLIQUE_NS + node.work as u64 * TEN_ENTRIES_NS / 10;
            let forecast = u32::try_from(forecast).unwrap_or(u32::MAX);
            let messages = origin.and_then(|origin| origin.messages);
            messages.map(|(collect, distribute)| (collect, distribute, forecast))
        };
        let by_clique: Vec<_> = shape.origins.iter().zip(&tree.nodes).map(with_forecast).collect();
        let forecasts = || by_clique.iter().flatten().map(|&(.., forecast)| u64::from(forecast));
        let total: u64 = forecasts().sum();
        let times_each = total > MIN_AVERAGE_TIMED_ALONE * forecasts().count() as u64;
        let min_interval = if times_each { 0 } else { MIN_TIMED };
        let ids =
            || by_clique.iter().flatten().flat_map(|&(up, down, _)| [up.index(), down.index()]);
        let mut processed = vec![0; ids().max().map_or(0, |last| last + 1)];
        for (&(collect, distribute, _), node) in by_clique
            .iter()
            .zip(&tree.nodes)
            .filter_map(|(messages, node)| messages.as_ref().map(|messages| (messages, node)))
        {
            let down = if node.below.is_empty() { node.above.len() } else { node.entries };
            processed[collect.index()] = node.entries as u64;
            processed[distribute.index()] = down as u64;
        }
        Self { by_clique, min_interval, processed }
    }

    /// By message of the plan: the table entries that the message went through in the last
    /// propagation, which left `cliques` behind. Zero for a message that was not computed from a
    /// table.
    pub fn processed(&self, cliques: &[CliqueState]) -> Vec<u64> {
        let mut processed = self.processed.clone();
        for (messages, clique) in self.by_clique.iter().zip(cliques) {
            let Some((collect, distribute, _)) = messages else { continue };
            if !clique.is_needed || !clique.is_up_stale {
                processed[collect.index()] = 0;
            }
            if !clique.is_down_stale {
                processed[distribute.index()] = 0;
            }
        }
        processed
    }
}

/// Reports messages between cliques and their parents.
#[derive(Clone, Copy)]
pub struct Report<'a> {
    pub watch: &'a Watch,
    /// `None` to report no messages, because the tree is not the tree of the plan.
    pub messages: Option<&'a Messages>,
}

impl<'a> Report<'a> {
    /// The threads that help with the message between `clique` and its parent in `phase`, or with
    /// the root, if the pass `forks`.
    pub fn helpers(self, clique: usize, phase: Phase, forks: bool) -> Helpers<'a> {
        let activity = self.messages.filter(|_| forks).map(|messages| {
            let found = messages.by_clique.get(clique).copied().flatten();
            found.map_or(Activity::HelpRoot, |(collect, distribute, _)| {
                Activity::Help(if phase == Phase::Collect { collect } else { distribute })
            })
        });
        Helpers::new(forks, activity.map(|activity| (self.watch, activity)))
    }

    /// A timer for this thread, whose first message begins now.
    pub fn timer(self) -> MessageTimer<'a> {
        self.timer_from(self.watch.worker_clock())
    }

    /// A timer for this thread, whose first message begins at `from`.
    pub fn timer_from(self, from: WorkerClock) -> MessageTimer<'a> {
        MessageTimer { report: self, worker: worker(), from }
    }
}

/// Times consecutive messages on one thread: each begins when the one before ends.
pub struct MessageTimer<'a> {
    report: Report<'a>,
    /// The number of the thread.
    worker: u32,
    /// The last reading of the clock, and the messages that were passed since then.
    from: WorkerClock,
}

impl MessageTimer<'_> {
    /// Runs `work`, which passes the message between `clique` and its parent, and times this
    /// message. Anything that the thread did since the last message counts as part of this message.
    ///
    /// # Errors
    /// If the propagation was cancelled.
    pub fn message<R>(
        &mut self,
        clique: usize,
        phase: Phase,
        work: impl FnOnce() -> R,
    ) -> Result<R, Cancelled> {
        let Report { watch, messages } = self.report;
        watch.check()?;
        let found = messages.and_then(|all| Some((all.by_clique.get(clique)?.as_ref()?, all)));
        let Some((&(collect, distribute, forecast), all)) = found else { return Ok(work()) };
        let id = match phase {
            Phase::Collect => collect,
            Phase::Distribute => distribute,
        };
        let hint = TimingHint { forecast, min_interval: all.min_interval };
        Ok(watch.message_with_clock(id, self.worker, &mut self.from, hint, work))
    }

    /// The clock as the last message left it. If a group of messages has begun that are timed
    /// together, the clock still holds this group, so that it can go on.
    pub fn end(mut self) -> WorkerClock {
        self.from.take()
    }
}

impl Drop for MessageTimer<'_> {
    /// Ends the group of messages that are timed together.
    fn drop(&mut self) {
        self.report.watch.flush(&mut self.from);
    }
}
