//! What a propagation did, and when.

use std::time::Duration;

use crate::propagation::MessageId;

/// A part of a propagation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// Tables are set to the prior and evidence is entered.
    Initialise,
    /// Messages toward the root.
    Collect,
    /// Messages away from the root.
    Distribute,
    /// Posteriors are read off the tables.
    Read,
}

impl Stage {
    /// All stages in the order in which they run.
    pub const ALL: [Self; 4] = [Self::Initialise, Self::Collect, Self::Distribute, Self::Read];

    /// The stage in a word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Initialise => "initialise",
            Self::Collect => "collect",
            Self::Distribute => "distribute",
            Self::Read => "read posteriors",
        }
    }
}

/// When one stage ran, counted from the start of the propagation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct StageTiming {
    /// The stage.
    pub stage: Stage,
    /// When it began.
    pub start: Duration,
    /// When it ended.
    pub end: Duration,
}

/// When one message was computed, counted from the start of the propagation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct MessageTiming {
    /// The message.
    pub message: MessageId,
    /// The thread (later: the GPU's block) that computed it, counted from zero.
    pub lane: u32,
    /// When it began.
    pub start: Duration,
    /// How long it took.
    pub duration: Duration,
}

/// The timings of one propagation, finished or still running.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct MessageTrace {
    /// Stages that have ended, in order.
    pub stages: Vec<StageTiming>,
    /// Messages that have been computed, in the order of the plan.
    pub messages: Vec<MessageTiming>,
    /// From the start to now, or to the end once there is one.
    pub elapsed: Duration,
}
