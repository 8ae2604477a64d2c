//! Timings of a propagation.

use std::time::Duration;

use crate::propagation::{ActivityTiming, MessageId};

/// One of the consecutive parts of a propagation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// Tables are set to the products of their factors, unless they still hold these, and evidence
    /// is entered.
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

    /// The stage in one or two words.
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

/// When one stage ran. Times count from the start of the propagation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct StageTiming {
    /// The stage.
    pub stage: Stage,
    /// When the stage began.
    pub start: Duration,
    /// When the stage ended.
    pub end: Duration,
}

/// When one message was computed. Times count from the start of the propagation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct MessageTiming {
    /// The message.
    pub message: MessageId,
    /// The worker that computed the message or its first part: a thread of the CPU or a block of
    /// the GPU, numbered from zero. Zero if the whole GPU computes one message after another.
    #[serde(rename = "lane")]
    pub worker: u32,
    /// How long the worker waited before `start` for the inputs of the message. Zero for engines
    /// whose workers only take up messages that are ready.
    #[serde(default)]
    pub wait: Duration,
    /// When the message began.
    pub start: Duration,
    /// How long the message took.
    pub duration: Duration,
    /// Number of other messages that were timed together with this one. If zero, the message was
    /// timed alone. Otherwise, start and duration are those of the message's share of the common
    /// time, which is divided in proportion to the estimated times of the
    /// messages.
    #[serde(default)]
    pub shared_with: u32,
}

impl MessageTiming {
    /// When the message ended.
    #[must_use]
    pub fn end(&self) -> Duration {
        self.start + self.duration
    }
}

/// The part of the plan and of the junction tree's tables that an engine skipped in a propagation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Savings {
    /// By how much the number of messages computed falls short of the plan. A message is not
    /// computed if it is known to be one everywhere, if it is unchanged since an earlier run, or if
    /// a reduced tree has fewer messages.
    pub messages_skipped: usize,
    /// How many fewer entries a reduced tree has than the junction tree. Zero if the full tree was
    /// used.
    pub entries_sliced: u64,
    /// Table entries left out of the full tree because they are zero whatever the evidence. Zero if
    /// a reduced tree was used.
    pub entries_zero: u64,
    /// Entries of the tables that were used. For the form without tables, the entries that the
    /// tables would have. Zero if the engine does not report them.
    #[serde(rename = "entries_left")]
    pub entries_used: u64,
    /// How many entries of a reduced tree were computed for this evidence rather than reused, not
    /// counting tables that are kept as products of smaller tables. Zero if the full tree was used.
    #[serde(default, rename = "entries_made")]
    pub entries_rebuilt: u64,
}

/// The timings of one propagation, finished or still running.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct MessageTrace {
    /// The finished stages, in order.
    pub stages: Vec<StageTiming>,
    /// The finished messages, in the order of the plan; none if the engine used another tree than
    /// the plan's.
    pub messages: Vec<MessageTiming>,
    /// What workers did apart from messages of their own, waiting included, in order of workers and
    /// time. Empty if the engine does not report it. A worker that waits for a part of its message
    /// may do other work meanwhile, and the times of the two then overlap.
    #[serde(default)]
    pub activities: Vec<ActivityTiming>,
    /// By message of the plan: the table entries that the engine went through for it. Zeros that
    /// the engine skips do not count. Zero if it did not compute the message from a table.
    /// Empty if the engine does not report them.
    #[serde(default)]
    pub processed: Vec<u64>,
    /// The work that was skipped; all zero if the engine reports none or has not reported yet.
    #[serde(default)]
    pub savings: Savings,
    /// How long it took to compute the case again with numbers of a wider range; `None` if the
    /// numbers were in the range of the engine. Stages and messages are those of the first attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recomputed: Option<Duration>,
    /// The time from the start until now, or until the end of a finished propagation.
    pub elapsed: Duration,
}

impl MessageTrace {
    /// The table entries that the engine went through for `message`; `None` if the engine does not
    /// report them.
    #[must_use]
    pub fn entries_processed(&self, message: MessageId) -> Option<u64> {
        self.processed.get(message.index()).copied()
    }
}
