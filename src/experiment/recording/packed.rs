//! Message sizes and traces as columns of small numbers. If each message were a JSON object, the
//! repeated field names would be most of the file.

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The difference between each number and the one before it; the first is compared with 0.
fn differences(numbers: impl Iterator<Item = u64>) -> Vec<i64> {
    let mut before = 0;
    numbers.map(|n| (n as i64).wrapping_sub(std::mem::replace(&mut before, n as i64))).collect()
}

/// The inverse of [`differences`].
fn sums(differences: &[i64]) -> impl Iterator<Item = u64> {
    differences.iter().scan(0_i64, |sum, difference| {
        *sum = sum.wrapping_add(*difference);
        Some(*sum as u64)
    })
}

/// `column`, or an empty column if it holds only zeros.
fn empty_if_zero(column: Vec<u64>) -> Vec<u64> {
    if column.iter().all(|&n| n == 0) { Vec::new() } else { column }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Sizes of messages as three columns.
pub(super) mod sizes {
    use super::*;
    use crate::experiment::MessageSizes;

    pub fn serialize<S: Serializer>(sizes: &[MessageSizes], to: S) -> Result<S::Ok, S::Error> {
        let column = |of: fn(&MessageSizes) -> u64| sizes.iter().map(of).collect::<Vec<u64>>();
        [column(|m| m.from), column(|m| m.separator), column(|m| m.to)].serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<MessageSizes>, D::Error> {
        let [from, separator, to] = <[Vec<u64>; 3]>::deserialize(from)?;
        if from.len() != separator.len() || from.len() != to.len() {
            return Err(serde::de::Error::custom("columns of different lengths"));
        }
        let rows = from.into_iter().zip(separator).zip(to);
        Ok(rows.map(|((from, separator), to)| MessageSizes { from, separator, to }).collect())
    }
}

/// A trace as columns; all times are in nanoseconds.
pub(super) mod trace {
    use super::*;
    use crate::propagation::{
        Activity, ActivityTiming, MessageId, MessageTiming, MessageTrace, Savings, Stage,
        StageTiming,
    };

    /// A trace. `messages`, `starts`, `durations`, `workers`, `waits` and `shared` have one number
    /// per message that was computed; the last three are empty if they would hold only zeros.
    #[derive(Serialize, Deserialize)]
    struct Columns {
        /// Stage, start and end.
        stages: Vec<(Stage, u64, u64)>,
        /// Differences of consecutive message ids.
        messages: Vec<i64>,
        /// Differences of consecutive starts.
        starts: Vec<i64>,
        durations: Vec<u64>,
        /// The file calls this column `lanes`.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[serde(rename = "lanes")]
        workers: Vec<u64>,
        /// How long the worker waited for the inputs of the message.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        waits: Vec<u64>,
        /// [`MessageTiming::shared_with`].
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        shared: Vec<u64>,
        /// Activity, worker, start and duration.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        activities: Vec<(Activity, u32, u64, u64)>,
        /// By message id: table entries processed.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        processed: Vec<u64>,
        savings: Savings,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        recomputed: Option<u64>,
        elapsed: u64,
    }

    pub fn serialize<S: Serializer>(
        trace: &Option<MessageTrace>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        let columns = trace.as_ref().map(|trace| {
            let messages = &trace.messages;
            let stage = |s: &StageTiming| (s.stage, nanoseconds(s.start), nanoseconds(s.end));
            let activity = |a: &ActivityTiming| {
                (a.activity, a.worker, nanoseconds(a.start), nanoseconds(a.duration))
            };
            let waits = messages.iter().map(|m| nanoseconds(m.wait)).collect();
            Columns {
                stages: trace.stages.iter().map(stage).collect(),
                messages: differences(messages.iter().map(|m| m.message.index() as u64)),
                starts: differences(messages.iter().map(|m| nanoseconds(m.start))),
                durations: messages.iter().map(|m| nanoseconds(m.duration)).collect(),
                workers: empty_if_zero(messages.iter().map(|m| u64::from(m.worker)).collect()),
                waits: empty_if_zero(waits),
                shared: empty_if_zero(messages.iter().map(|m| u64::from(m.shared_with)).collect()),
                activities: trace.activities.iter().map(activity).collect(),
                processed: trace.processed.clone(),
                savings: trace.savings,
                recomputed: trace.recomputed.map(nanoseconds),
                elapsed: nanoseconds(trace.elapsed),
            }
        });
        columns.serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<MessageTrace>, D::Error> {
        let Some(columns) = Option::<Columns>::deserialize(from)? else { return Ok(None) };
        let Columns {
            stages,
            messages,
            starts,
            durations,
            workers,
            waits,
            shared,
            activities,
            processed,
            savings,
            recomputed,
            elapsed,
        } = columns;
        let count = messages.len();
        let fits = |column: &&Vec<u64>| column.is_empty() || column.len() == count;
        let all_fit = [&workers, &waits, &shared].iter().all(fits);
        if starts.len() != count || durations.len() != count || !all_fit {
            return Err(serde::de::Error::custom("columns of different lengths"));
        }
        let or_zero = |column: &[u64], index: usize| column.get(index).copied().unwrap_or(0);
        let rows = sums(&messages).zip(sums(&starts)).zip(&durations).enumerate();
        let timing = |(index, ((message, start), &duration)): (usize, ((u64, u64), &u64))| {
            let message = u32::try_from(message).map_err(serde::de::Error::custom)?;
            let worker =
                u32::try_from(or_zero(&workers, index)).map_err(serde::de::Error::custom)?;
            Ok(MessageTiming {
                message: MessageId::new(message as usize),
                worker,
                wait: Duration::from_nanos(or_zero(&waits, index)),
                start: Duration::from_nanos(start),
                duration: Duration::from_nanos(duration),
                shared_with: u32::try_from(or_zero(&shared, index))
                    .map_err(serde::de::Error::custom)?,
            })
        };
        let activity = |(activity, worker, start, duration)| ActivityTiming {
            activity,
            worker,
            start: Duration::from_nanos(start),
            duration: Duration::from_nanos(duration),
        };
        let stage = |(stage, start, end)| StageTiming {
            stage,
            start: Duration::from_nanos(start),
            end: Duration::from_nanos(end),
        };
        Ok(Some(MessageTrace {
            stages: stages.into_iter().map(stage).collect(),
            messages: rows.map(timing).collect::<Result<_, D::Error>>()?,
            activities: activities.into_iter().map(activity).collect(),
            processed,
            savings,
            recomputed: recomputed.map(Duration::from_nanos),
            elapsed: Duration::from_nanos(elapsed),
        }))
    }
}
