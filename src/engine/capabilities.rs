//! What each engine can do, as data.
//!
//! Every engine that the program knows is described here, whichever features are compiled in: a
//! recording made on another machine may name an engine that this build does not have. Code that
//! treats engines differently reads their [`Capabilities`] and never compares names.

use crate::potential::Precision;

/// An engine's name and what it can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineInfo {
    /// The name on the command line and in files.
    pub name: &'static str,
    /// What the engine is, in one line.
    pub summary: &'static str,
    /// What the engine can do.
    pub capabilities: Capabilities,
}

/// What an engine can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Where the engine computes.
    pub device: Device,
    /// How the engine computes.
    pub algorithm: Algorithm,
    /// Whether the engine passes messages, which a [`Watch`](crate::propagation::Watch) can time.
    pub traces_messages: bool,
    /// Whether the engine uses [`PaperOptions`](crate::engine::PaperOptions): the block size and
    /// the layout of the mapping tables.
    pub paper_options: bool,
    /// Whether the engine propagates many cases together, which is faster than propagating one
    /// after another.
    pub batch: bool,
    /// Whether the engine passes messages on several threads of the CPU, up to
    /// [`LoadOptions::threads`](crate::engine::LoadOptions::threads).
    pub parallel: bool,
    /// Whether only memory and time limit the sizes of cliques and separators. Otherwise, the
    /// engine does not support networks whose tables are too large for its indices of 32 bits.
    pub any_size: bool,
    /// Whether the engine can load a tree given the evidence: a network that was compiled without
    /// its [observed](crate::propagation::CompiledNetwork::observed) variables.
    pub observed: bool,
    /// The number types that the engine supports, the default first.
    pub precisions: &'static [Precision],
}

/// Where an engine computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Device {
    /// On the CPU.
    Cpu,
    /// On an NVIDIA GPU.
    Gpu,
}

/// How an engine computes posteriors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// HUGIN as Zheng, Mengshoel and Chong describe it: the messages of the plan are passed one
    /// after another, and each message processes all entries of the tables of both cliques.
    Hugin,
    /// Contractions planned from the junction tree. Work is skipped if zeros of the network or the
    /// evidence make it unnecessary.
    Contraction,
    /// Variable elimination, without a junction tree.
    Elimination,
}

impl Capabilities {
    /// Whether the engine computes on a GPU.
    #[must_use]
    pub fn on_gpu(&self) -> bool {
        self.device == Device::Gpu
    }
}

impl EngineInfo {
    /// Every engine that the program knows, whether or not this build has it. The default comes
    /// first.
    pub const ALL: [&'static Self; 5] = [&CPU, &SEQUENTIAL, &GPU, &GPU_PAPER, &REFERENCE];

    /// The engine called `name`, which may be one that this build does not have.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Self> {
        Self::ALL.into_iter().find(|info| info.name == name)
    }
}

const SINGLE: &[Precision] = &[Precision::F32];
const DOUBLE: &[Precision] = &[Precision::F64];
const DOUBLE_OR_SINGLE: &[Precision] = &[Precision::F64, Precision::F32];

/// The default engine, tuned for CPUs.
pub static CPU: EngineInfo = EngineInfo {
    name: "cpu",
    summary: "tuned for CPUs: skips zeros, leaves observed variables out of the tree, uses vector \
              instructions and all cores",
    capabilities: Capabilities {
        device: Device::Cpu,
        algorithm: Algorithm::Contraction,
        traces_messages: true,
        paper_options: false,
        batch: true,
        parallel: true,
        any_size: true,
        observed: true,
        precisions: DOUBLE_OR_SINGLE,
    },
};

/// The CPU baseline of Zheng, Mengshoel and Chong.
pub static SEQUENTIAL: EngineInfo = EngineInfo {
    name: "sequential",
    summary: "the paper's CPU baseline: HUGIN on one thread, one message after another",
    capabilities: Capabilities {
        device: Device::Cpu,
        algorithm: Algorithm::Hugin,
        traces_messages: true,
        paper_options: false,
        batch: false,
        parallel: false,
        any_size: false,
        observed: false,
        precisions: DOUBLE_OR_SINGLE,
    },
};

/// The engine tuned for GPUs.
pub static GPU: EngineInfo = EngineInfo {
    name: "gpu",
    summary: "tuned for NVIDIA GPUs: one launch for a whole propagation, or a few per message if \
              the tree is large",
    capabilities: Capabilities {
        device: Device::Gpu,
        algorithm: Algorithm::Contraction,
        traces_messages: true,
        paper_options: false,
        batch: true,
        parallel: false,
        any_size: true,
        observed: true,
        precisions: SINGLE,
    },
};

/// The GPU kernel of Zheng, Mengshoel and Chong.
pub static GPU_PAPER: EngineInfo = EngineInfo {
    name: "gpu-paper",
    summary: "the paper's GPU kernel: HUGIN, one launch per message, one thread per separator \
              entry",
    capabilities: Capabilities {
        device: Device::Gpu,
        algorithm: Algorithm::Hugin,
        traces_messages: true,
        paper_options: true,
        batch: false,
        parallel: false,
        any_size: false,
        observed: false,
        precisions: SINGLE,
    },
};

/// Bucket elimination, against which the other engines are checked.
pub static REFERENCE: EngineInfo = EngineInfo {
    name: "reference",
    summary: "bucket elimination with numbers of any magnitude, for checking the others",
    capabilities: Capabilities {
        device: Device::Cpu,
        algorithm: Algorithm::Elimination,
        traces_messages: false,
        paper_options: false,
        batch: false,
        parallel: false,
        any_size: true,
        observed: true,
        precisions: DOUBLE,
    },
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine;

    #[test]
    fn every_engine_of_this_build_is_described() {
        for engine in engine::all() {
            assert_eq!(EngineInfo::find(engine.name()), Some(engine.info()));
        }
        assert_eq!(engine::default_engine().info(), EngineInfo::ALL[0]);
        assert_eq!(EngineInfo::find("no such engine"), None);
    }

    #[test]
    fn names_are_unique() {
        for info in EngineInfo::ALL {
            let same = EngineInfo::ALL.iter().filter(|other| other.name == info.name);
            assert_eq!(same.count(), 1, "{}", info.name);
        }
    }
}
