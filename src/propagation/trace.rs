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
    /// The thread, or the GPU's block, that computed it or its first part, counted from zero.
    pub lane: u32,
    /// How long the lane waited before `start` for what the message is made of. Zero where lanes
    /// take up only what can be computed at once.
    #[serde(default)]
    pub wait: Duration,
    /// When it began.
    pub start: Duration,
    /// How long it took.
    pub duration: Duration,
    /// How many others it was timed together with. Zero where the clock was read for it alone; else
    /// start and duration are its share, by forecast, of the time that all of them took.
    #[serde(default)]
    pub shared_with: u32,
}

/// What an engine did not have to do in a propagation, of what its plan and its junction tree say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Savings {
    /// Messages of the plan that were known without computing them: everything below sums out, or
    /// another tree was propagated through that needs fewer.
    pub messages_skipped: usize,
    /// Entries that the evidence took out of the tables.
    pub entries_sliced: u64,
    /// Entries that were left out because they are zero whatever the evidence.
    pub entries_zero: u64,
    /// Entries of the tables that were propagated through.
    pub entries_left: u64,
    /// Those among them that had to be made for this evidence.
    #[serde(default)]
    pub entries_made: u64,
}

/// The timings of one propagation, finished or still running.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct MessageTrace {
    /// Stages that have ended, in order.
    pub stages: Vec<StageTiming>,
    /// Messages that have been computed, in the order of the plan.
    pub messages: Vec<MessageTiming>,
    /// What was saved; nothing where the engine saves nothing, or is not there yet.
    #[serde(default)]
    pub savings: Savings,
    /// From the start to now, or to the end once there is one.
    pub elapsed: Duration,
}
