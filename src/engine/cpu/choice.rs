//! Which tree to propagate through: the whole one, or one of what the evidence leaves.
//!
//! The whole tree is there, without its zeros, and rows that an observation forbids are skipped. A
//! tree of what is left can be far smaller, but has to be made for each set of observed variables,
//! and its tables for each set of states. Both are forecast in nanoseconds; the constants are
//! rough, they need only tell a factor of two.

use crate::cancel::CancelToken;
use crate::engine::cpu::kernel::ROW_HEAD;
use crate::engine::cpu::reduce::{self, Reduced};
use crate::engine::cpu::state::Model;
use crate::engine::cpu::tree::{Structure, Tree};
use crate::network::{Evidence, Finding, Network};
use crate::potential::Real;

/// For an entry of a table, up and down.
const ENTRY: f64 = 0.8;
/// For a row of a table, up and down.
const ROW: f64 = 12.0;
/// For a row that an observation forbids, up and down.
const SKIPPED_ROW: f64 = 5.0;
/// For an entry of the table of a separator, up and down.
const SEPARATOR: f64 = 5.0;
/// For a clique, up and down.
const CLIQUE: f64 = 200.0;
/// For making an entry of a table.
const MAKE_ENTRY: f64 = 4.0;
/// For a variable of which a new tree is made.
const MAKE_VARIABLE: f64 = 3000.0;

/// How much of what making costs is counted against a propagation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Share {
    /// Of making a tree for the variables that are observed.
    pub tree: f64,
    /// Of making its tables for their states.
    pub tables: f64,
}

/// What is left of a network when some variables are observed, kept for the next time.
#[derive(Debug)]
pub(super) struct Choice<T> {
    /// What is known of each variable: the states that are observed.
    observed: Vec<Option<usize>>,
    /// The same of the evidence before.
    before: Vec<Option<usize>>,
    /// The tree of the others, once it was looked for; `Some(None)` if none is worth making.
    reduced: Option<Option<Reduced>>,
    /// Its tables for the states in `observed`.
    model: Option<Model<T>>,
    /// ln of the product of the tables all of whose variables are observed; `None` if it is zero.
    constant: Option<f64>,
}

impl<T: Real> Choice<T> {
    /// Nothing is observed.
    pub fn new(network: &Network) -> Self {
        Self {
            observed: vec![None; network.variables().len()],
            before: vec![None; network.variables().len()],
            reduced: None,
            model: None,
            constant: None,
        }
    }

    /// Makes ready for `evidence`, for which the whole tree would take `whole` nanoseconds, with
    /// `share` of what making costs. A tree that would take more than `bytes` is not made.
    pub fn prepare(
        &mut self,
        network: &Network,
        evidence: &Evidence,
        whole: impl FnOnce() -> f64,
        share: Share,
        bytes: usize,
        cancel: &CancelToken,
    ) {
        std::mem::swap(&mut self.observed, &mut self.before);
        self.observed.fill(None);
        for (variable, finding) in evidence.iter() {
            if let Finding::Observed(state) = finding {
                self.observed[variable.index()] = Some(*state);
            }
        }
        let mut pairs = self.before.iter().zip(&self.observed);
        let same_variables = pairs.all(|(old, new)| old.is_some() == new.is_some());
        let same_states = self.before == self.observed;
        if !(same_variables && self.reduced.is_some()) {
            (self.reduced, self.model) = (None, None);
            self.reduced = Some(self.worth_making(network, whole(), share, bytes, cancel));
            if cancel.is_cancelled() {
                // What was not looked for to the end says nothing about the next time.
                self.reduced = None;
                return;
            }
        }
        if let Some(Some(reduced)) = &self.reduced
            && !(same_states && self.model.is_some())
        {
            // The old tables go first, so that the two never have to fit into memory together.
            self.model = None;
            self.constant = reduced.constant(network, &self.observed);
            self.model = Some(Model::new(reduced.structure.build(network, &self.observed)));
        }
    }

    /// Forgets the tree that was made for the evidence before.
    pub fn forget(&mut self) {
        (self.reduced, self.model) = (None, None);
    }

    /// The tree that was made ready, and the constant that its P(e) is to be multiplied by as its
    /// logarithm, `None` for zero. `None` if the whole tree serves best.
    pub fn model(&mut self) -> Option<(&mut Model<T>, Option<f64>)> {
        self.model.as_mut().map(|model| (model, self.constant))
    }

    /// A tree that costs less than the whole one.
    ///
    /// What was observed before makes no difference, so that equal evidence gives equal bits.
    fn worth_making(
        &self,
        network: &Network,
        whole: f64,
        share: Share,
        bytes: usize,
        cancel: &CancelToken,
    ) -> Option<Reduced> {
        let left = self.observed.iter().filter(|state| state.is_none()).count();
        let making = share.tree * MAKE_VARIABLE * left as f64;
        if left == self.observed.len() || whole < making {
            return None;
        }
        let limit = (whole - making) / (ENTRY + share.tables * MAKE_ENTRY);
        let is_observed: Vec<bool> = self.observed.iter().map(Option::is_some).collect();
        let reduced = reduce::reduce(network, &is_observed, limit as u64, cancel)?;
        (reduced.structure.bytes(T::PRECISION.bytes() as usize) <= bytes).then_some(reduced)
    }
}

/// Forecasts a propagation of `evidence` through the whole tree, in nanoseconds.
///
/// An observed variable among the slow ones of a clique leaves one of its states' rows.
pub(super) fn whole<T: Real>(structure: &Structure, tree: &Tree<T>, evidence: &Evidence) -> f64 {
    let of = |(layout, node): (&crate::engine::cpu::layout::Layout, &super::tree::Node<T>)| {
        let slow = layout.outer.variables().iter().zip(layout.outer.cardinalities());
        let observed = slow.filter(|(v, _)| evidence.observed(**v).is_some());
        let left: f64 = observed.map(|(_, &states)| 1.0 / states as f64).product();
        let rows = (node.words.len() / node.stride.max(ROW_HEAD)) as f64;
        let entries = node.values.len() as f64;
        let fixed = CLIQUE + rows * SKIPPED_ROW + node.above.len() as f64 * SEPARATOR;
        fixed + left * (entries * ENTRY + rows * ROW)
    };
    structure.layouts().iter().zip(&tree.nodes).map(of).sum()
}
