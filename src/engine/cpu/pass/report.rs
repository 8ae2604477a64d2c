//! Telling the watch which message is passed.

use crate::cancel::Cancelled;
use crate::engine::cpu::tree::nodes::{Node, Tree};
use crate::propagation::{MessageId, Phase, TimingHint, Watch, WorkerClock};

/// Nanoseconds of messages, as they are forecast, from which on the clock is read for them: what reading
/// it takes is then lost beside what noting the messages takes.
const LEAST: u32 = 2_500;

/// The clock is read for each message of a tree whose messages take more nanoseconds than this on
/// average.
const LONG: u64 = 400;

/// What reading a clique's table takes beside its entries, in nanoseconds.
const CLIQUE: u64 = 100;

/// Nanoseconds of ten entries of a table.
const TEN_ENTRIES: u64 = 4;

/// The messages of a plan, as they pass through a tree.
#[derive(Debug, Default)]
pub struct Messages {
    /// For each clique but the root those to its parent and from there, and what each is forecast to
    /// take in nanoseconds.
    of_cliques: Vec<Option<(MessageId, MessageId, u32)>>,
    /// Messages are timed together until they are forecast to take this. Zero times each.
    least: u32,
}

impl Messages {
    /// The messages through `tree`: for each clique but the root those to its parent and from there.
    pub fn new<T>(tree: &Tree<T>, ids: &[Option<(MessageId, MessageId)>]) -> Self {
        let of = |(id, node): (&Option<(MessageId, MessageId)>, &Node<T>)| {
            let forecast = CLIQUE + node.work as u64 * TEN_ENTRIES / 10;
            let forecast = u32::try_from(forecast).unwrap_or(u32::MAX);
            id.map(|(collect, distribute)| (collect, distribute, forecast))
        };
        let of_cliques: Vec<_> = ids.iter().zip(&tree.nodes).map(of).collect();
        let forecasts = || of_cliques.iter().flatten().map(|&(.., forecast)| u64::from(forecast));
        let is_long = forecasts().sum::<u64>() > LONG * forecasts().count() as u64;
        Self { of_cliques, least: if is_long { 0 } else { LEAST } }
    }
}

/// Reports messages, each as that between a clique and its parent.
#[derive(Clone, Copy)]
pub struct Report<'a> {
    pub watch: &'a Watch,
    /// `None` where the tree is not the one that the plan speaks of.
    pub messages: Option<&'a Messages>,
}

/// A thread, and until when it was busy with what it did last.
pub struct Lane<'a> {
    report: Report<'a>,
    number: u32,
    from: WorkerClock,
}

impl<'a> Report<'a> {
    /// This thread, from now on.
    pub fn lane(self) -> Lane<'a> {
        self.lane_from(self.watch.worker_clock())
    }

    /// This thread, busy until the moment `from`.
    pub fn lane_from(self, from: WorkerClock) -> Lane<'a> {
        let number = rayon::current_thread_index().unwrap_or(0) as u32;
        Lane { report: self, number, from }
    }
}

impl Lane<'_> {
    /// Does `work`, the message between `clique` and its parent, on a thread that does nothing else
    /// between one message and the next.
    pub fn message<R>(
        &mut self,
        clique: usize,
        phase: Phase,
        work: impl FnOnce() -> R,
    ) -> Result<R, Cancelled> {
        let Report { watch, messages } = self.report;
        watch.check()?;
        let of_clique = messages.and_then(|all| Some((all.of_cliques.get(clique)?.as_ref()?, all)));
        let Some((&(collect, distribute, forecast), all)) = of_clique else { return Ok(work()) };
        let id = match phase {
            Phase::Collect => collect,
            Phase::Distribute => distribute,
        };
        let pace = TimingHint { forecast, min_interval: all.least };
        Ok(watch.message_with_clock(id, self.number, &mut self.from, pace, work))
    }

    /// Until when the thread was busy.
    pub fn end(mut self) -> WorkerClock {
        self.from.take()
    }
}

impl Drop for Lane<'_> {
    /// Whatever the thread does next is no message.
    fn drop(&mut self) {
        self.report.watch.flush(&mut self.from);
    }
}
