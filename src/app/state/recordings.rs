//! Runs recorded on other machines, with engines that this machine may not be able to run.

use crate::experiment::{RecordedNetwork, RecordedRun, Recording};
use crate::propagation::{CompiledNetwork, MessageTrace};

/// A reference to one run of a recording.
#[derive(Clone, Copy, Debug)]
pub struct RecordedRunRef {
    /// The recording.
    pub recording: &'static Recording,
    /// The network and junction tree of the run.
    pub network: &'static RecordedNetwork,
    /// The run.
    pub run: &'static RecordedRun,
}

/// Two references are equal if they refer to the same run.
impl PartialEq for RecordedRunRef {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.run, other.run)
    }
}

impl RecordedRunRef {
    /// All runs of the network called `name` in `recordings`, on any tree. Upper and lower case
    /// count as equal.
    pub fn all(recordings: &'static [Recording], name: &str) -> impl Iterator<Item = Self> {
        recordings.iter().flat_map(move |recording| {
            let has_name =
                move |network: &&RecordedNetwork| network.network.eq_ignore_ascii_case(name);
            recording.networks.iter().filter(has_name).flat_map(move |network| {
                network.runs.iter().map(move |run| Self { recording, network, run })
            })
        })
    }

    /// The runs of the network called `name` that have a trace and fit the junction tree of
    /// `compiled`.
    #[must_use]
    pub fn on_tree(
        recordings: &'static [Recording],
        name: &str,
        compiled: &CompiledNetwork,
    ) -> Vec<Self> {
        let is_suitable =
            |recorded: &Self| recorded.trace().is_some() && recorded.network.matches(compiled);
        Self::all(recordings, name).filter(is_suitable).collect()
    }

    /// The trace, if one was recorded.
    #[must_use]
    pub fn trace(&self) -> Option<&'static MessageTrace> {
        self.run.trace.as_ref()
    }

    /// Whether the run was on a GPU.
    #[must_use]
    pub fn on_gpu(&self) -> bool {
        self.run.info().is_some_and(|info| info.capabilities.on_gpu())
    }

    /// The engine with its options, such as `gpu-paper f32, naive, 48 threads per block`.
    #[must_use]
    pub fn engine(&self) -> String {
        let RecordedRun { engine, precision, paper, threads, .. } = self.run;
        let options = match paper {
            Some(paper) => format!(", {paper}"),
            None if *threads > 1 && !self.on_gpu() => format!(", {threads} threads"),
            None => String::new(),
        };
        format!("{engine} {precision}{options}")
    }

    /// Where the run comes from, such as `recorded on NVIDIA H200 on 2026-11-21`.
    #[must_use]
    pub fn credit(&self) -> String {
        let machine = &self.recording.provenance.machine;
        if self.on_gpu() {
            return self.recording.credit();
        }
        format!("recorded on {} on {}", machine.cpu, self.recording.provenance.day())
    }
}
