//! How a run was computed.

use crate::app::state::document::Document;
use crate::app::state::recordings::RecordedRunRef;
use crate::engine::multiprocessors;

/// How the run was computed, as far as the timeline shows it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RunKind {
    /// Whether workers are blocks of a GPU rather than threads.
    pub on_gpu: bool,
    /// Number of multiprocessors of the GPU, if it is known.
    pub multiprocessors: Option<u32>,
    /// For an engine that launches a kernel for each message: the time in nanoseconds that the
    /// launch of an empty kernel takes. `None` for other engines, and if this time is not known.
    pub launch: Option<f64>,
}

impl RunKind {
    /// The kind of the run whose trace is drawn.
    #[must_use]
    pub fn of(document: &Document) -> Self {
        document.shown.map_or_else(|| Self::on_this_machine(document), Self::of_recorded)
    }

    /// The kind of a recorded run.
    #[must_use]
    pub fn of_recorded(recorded: RecordedRunRef) -> Self {
        let gpu = recorded.recording.provenance.machine.gpu.as_ref();
        let launches = recorded.run.paper.is_some();
        Self {
            on_gpu: recorded.on_gpu(),
            multiprocessors: gpu.map(|gpu| gpu.multiprocessors),
            launch: recorded.run.launch_us.filter(|_| launches).map(|us| us * 1e3),
        }
    }

    /// The kind of the newest run on this machine.
    #[must_use]
    pub fn on_this_machine(document: &Document) -> Self {
        let engine = document.traced_engine();
        let launches = engine.takes_paper_options();
        let launch = document.launch_time.filter(|_| launches);
        let on_gpu = engine.engine.info().capabilities.on_gpu();
        Self {
            on_gpu,
            multiprocessors: if on_gpu { multiprocessors() } else { None },
            launch: launch.map(|time| time.as_nanos() as f64),
        }
    }
}
