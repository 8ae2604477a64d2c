//! The progress of a propagation, as the graphs show it.

use crate::app::state::document::{Document, RunningSnapshot};
use crate::propagation::{CompiledNetwork, MessageId, MessageTrace, Phase};

/// How far a propagation has got, whether it is running or the user is stepping through it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Progress {
    /// The messages that are being computed. Of a running propagation, only the message that began
    /// last.
    pub active: Vec<MessageId>,
    /// For each separator, the phase of the last message that was sent through it; `None` if there
    /// was none. Indexed by separator.
    pub sent: Vec<Option<Phase>>,
}

impl Progress {
    /// The progress of the running propagation of `document`, as of the start of this frame. `None`
    /// if none is running.
    #[must_use]
    pub fn of_running(document: &Document, compiled: &CompiledNetwork) -> Option<Self> {
        document.running.as_ref().filter(|watch| !watch.is_finished())?;
        let RunningSnapshot { trace, active } = document.snapshot.as_ref()?;
        let sent = trace.messages.iter().map(|timing| timing.message);
        Some(Self { active: active.clone(), ..Self::after(compiled, sent) })
    }

    /// The progress after the messages `sent`, in this order, while no message is being computed.
    #[must_use]
    pub fn after(compiled: &CompiledNetwork, sent: impl Iterator<Item = MessageId>) -> Self {
        let mut phases = vec![None; compiled.tree().separators().len()];
        for message in sent {
            if let Some(message) = compiled.plan().messages().get(message.index()) {
                phases[message.separator.index()] = Some(message.phase);
            }
        }
        Self { active: Vec::new(), sent: phases }
    }

    /// The progress of a propagation with this `trace`, `now` nanoseconds after its start. Without
    /// a trace, no message was sent.
    #[must_use]
    pub fn at_time(compiled: &CompiledNetwork, trace: Option<&MessageTrace>, now: f64) -> Self {
        let timings = trace.map_or(&[][..], |trace| &trace.messages);
        let spans = timings.iter().map(|timing| {
            let (start, end) = (timing.start, timing.start + timing.duration);
            (timing.message, start.as_nanos() as f64, end.as_nanos() as f64)
        });
        let sent = spans.clone().filter(|&(.., end)| end <= now).map(|(message, ..)| message);
        let mut progress = Self::after(compiled, sent);
        let active = spans.filter(|&(_, start, end)| start <= now && now < end);
        progress.active = active.map(|(message, ..)| message).collect();
        progress
    }
}
