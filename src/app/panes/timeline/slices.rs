//! The slices of a row of the timeline: messages, other work and waits, each with its times.

use crate::app::widgets::naming;
use crate::propagation::{CompiledNetwork, MessageId, Phase, Stage};

/// What a worker does other than computing its own messages; in the row of stages, a stage or the
/// time before, between or after the stages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Everything before the first stage.
    Before,
    /// A stage. In the row of a thread, only a stage without messages: initialisation, or reading
    /// the posteriors.
    Stage(Stage),
    /// A thread is requested and wakes up.
    StartThread,
    /// The product of all tables and messages at the root. It belongs to no message: in distribute,
    /// the work at any other clique counts as the message from its parent, but the root has none.
    Root,
    /// Time between the last message toward the root and the first one away from it, if the
    /// engine did not record what the thread did in this time.
    AtRoot,
    /// A part of the product at the root. Another thread began the product.
    HelpRoot,
    /// A part of this message. Another thread began the message.
    Help(MessageId),
    /// Launches of kernels, and copies to and from the GPU.
    Launch,
    /// The host launches the kernel of this message.
    LaunchOf(MessageId),
    /// Reads the times that the GPU recorded. Only a propagation with a trace does this.
    ReadTimes,
    /// Time between two stages on a CPU.
    Between,
    /// Everything after the last stage.
    After,
}

/// Why a worker computes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Its next message needs this message, which was still being computed.
    Message(MessageId),
    /// Another worker does this work, and nothing else can be done meanwhile.
    Work(Work),
    /// It computes no further message in this phase.
    NoMore(Phase),
    /// All inputs of its next message were available, but the worker had not picked it up.
    PickUp,
}

/// What happens during a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SliceKind {
    /// A message is computed.
    Message(MessageId, Phase),
    /// Other work is done.
    Work(Work),
    /// The worker waits.
    Wait(Cause),
}

/// A slice: a stretch of time of a row in which one thing happens. Times are in nanoseconds since
/// the start of the propagation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slice {
    /// What happens.
    pub kind: SliceKind,
    /// When it begins.
    pub start: f64,
    /// When it ends.
    pub end: f64,
    /// For a message: the number of other messages that were timed together with it. If it is not
    /// zero, `start` and `end` are estimates: the common time is divided among the messages in
    /// proportion to their estimated times.
    pub shared_with: u32,
}

impl Work {
    /// The work in a few words.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Before => "before the first stage",
            Self::Stage(stage) => stage.name(),
            Self::StartThread => "starting the thread",
            Self::Root => "product at the root",
            Self::AtRoot => "work at the root",
            Self::HelpRoot => "part of the product at the root",
            Self::Help(_) => "part of a message",
            Self::Launch => "launch and copy",
            Self::LaunchOf(_) => "launches of messages",
            Self::ReadTimes => "reading the times of the trace",
            Self::Between => "between the stages",
            Self::After => "after the last stage",
        }
    }
}

impl Slice {
    /// A slice in which `work` is done.
    #[must_use]
    pub fn work(work: Work, start: f64, end: f64) -> Self {
        Self { kind: SliceKind::Work(work), start, end, shared_with: 0 }
    }

    /// A slice in which the worker waits.
    #[must_use]
    pub fn wait(cause: Cause, start: f64, end: f64) -> Self {
        Self { kind: SliceKind::Wait(cause), start, end, shared_with: 0 }
    }

    /// Its length in nanoseconds.
    #[must_use]
    pub fn length(&self) -> f64 {
        self.end - self.start
    }

    /// The message that is computed, if there is one.
    #[must_use]
    pub fn message(&self) -> Option<MessageId> {
        match self.kind {
            SliceKind::Message(message, _) => Some(message),
            _ => None,
        }
    }

    /// The message that a click on the slice selects: the message itself, the one that is helped
    /// or launched, or the one that is waited for.
    #[must_use]
    pub fn related_message(&self) -> Option<MessageId> {
        match self.kind {
            SliceKind::Message(message, _)
            | SliceKind::Work(Work::Help(message) | Work::LaunchOf(message))
            | SliceKind::Wait(Cause::Message(message)) => Some(message),
            _ => None,
        }
    }

    /// Whether the worker waits.
    #[must_use]
    pub fn is_wait(&self) -> bool {
        matches!(self.kind, SliceKind::Wait(_))
    }

    /// The name that a table gives to all slices of this kind.
    #[must_use]
    pub fn kind_name(&self) -> &'static str {
        match self.kind {
            SliceKind::Message(_, phase) => phase.name(),
            SliceKind::Work(work) => work.name(),
            SliceKind::Wait(Cause::Message(_)) => "waiting for a message",
            SliceKind::Wait(Cause::Work(Work::AtRoot)) => "waiting for the root",
            SliceKind::Wait(Cause::Work(Work::Stage(_))) => "waiting for another stage",
            SliceKind::Wait(Cause::Work(_)) => "waiting outside the stages",
            SliceKind::Wait(Cause::NoMore(Phase::Collect)) => "nothing more to collect",
            SliceKind::Wait(Cause::NoMore(Phase::Distribute)) => "nothing more to distribute",
            SliceKind::Wait(Cause::PickUp) => "picking up the next message",
        }
    }

    /// The text on the slice.
    #[must_use]
    pub fn label(&self, compiled: &CompiledNetwork) -> String {
        match self.kind {
            SliceKind::Message(message, _) => naming::message_ends(compiled, message),
            SliceKind::Work(Work::Help(message)) => {
                format!("part of {}", naming::message_ends(compiled, message))
            }
            SliceKind::Work(Work::LaunchOf(message)) => {
                format!("launch {}", naming::message_ends(compiled, message))
            }
            SliceKind::Wait(Cause::Message(message)) => {
                format!("waits for {}", naming::message_ends(compiled, message))
            }
            SliceKind::Wait(Cause::Work(work)) => format!("waits: {}", work.name()),
            SliceKind::Work(_) | SliceKind::Wait(_) => self.kind_name().to_owned(),
        }
    }

    /// The text on the slice if the [label](Self::label) does not fit. For a part or the launch of
    /// a message, it begins with the sender of the message; for other slices, it is the label.
    #[must_use]
    pub fn short_label(&self, compiled: &CompiledNetwork) -> String {
        match self.kind {
            SliceKind::Work(Work::Help(message) | Work::LaunchOf(message)) => {
                naming::message_ends(compiled, message)
            }
            _ => self.label(compiled),
        }
    }
}

/// A track of messages with these starts and ends, alternately toward the root and away from it.
#[cfg(test)]
pub(super) fn track_of_messages(spans: &[(f64, f64)]) -> Vec<Slice> {
    let slice = |(index, &(start, end)): (usize, &(f64, f64))| Slice {
        kind: SliceKind::Message(
            MessageId::new(index),
            if index % 2 == 0 { Phase::Collect } else { Phase::Distribute },
        ),
        start,
        end,
        shared_with: 0,
    };
    spans.iter().enumerate().map(slice).collect()
}
