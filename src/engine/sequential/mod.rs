//! Engine `sequential`: the baseline, junction tree propagation on one thread as Zheng, Mengshoel
//! and Chong describe it (section 3) after Huang and Darwiche.
//!
//! This is HUGIN propagation: every clique and every separator has one table. A message sums the
//! sender's table onto the separator (equation 2), and multiplies the receiver's table by the ratio
//! of the separator's new table to its old table (equation 3). The separator entry of each clique
//! entry is read from an index mapping that is computed when the network is loaded. Messages are
//! passed one after another in the depth-first order of the [plan](crate::propagation::Plan).
//!
//! # Range of numbers
//! Every table has an exponent e: the table represents its entries times 2^e. Separators are scaled
//! to a largest entry in [1, 2). A clique's table is rescaled when its largest entry has moved far
//! from 2^`PEAK`, a constant of [`tables`]. Thus the largest entry of a table neither overflows nor
//! underflows, however many findings are entered, even in single precision. Scaling by a power of
//! two is exact for all entries that do not underflow.
//!
//! # Limits
//! A table has a single exponent, so entries far below its largest may underflow. Every table comes
//! with [bounds](super::bounds::Bounds), which say when this may happen and how much is lost. Small
//! entries of messages in the collect stage are then raised as [`bounds`](super::bounds) describes.
//! If more of the belief may have been lost or added than the tolerance allows, the case is
//! computed again with numbers of a wider range. This happens only with extreme numbers: for
//! example, some factors or findings favour one state by a ratio of about 1e67 in single precision,
//! or 1e300 in double precision, and others favour another state as strongly.

mod beliefs;
mod message;
mod stepper;
mod tables;

use std::f64::consts::LN_2;
use std::sync::Arc;

pub use beliefs::Beliefs;
pub use stepper::{MessageDetail, Stepper};

use self::tables::{Tables, initial_tables};
use super::bounds::{Loss, belief_in_raised, no_message, raise, scaled_bounds};
use super::{
    Engine, EngineInfo, LoadError, LoadOptions, Propagator, RunError, SEQUENTIAL, recomputing,
};
use crate::allocate;
use crate::graph::{CliqueId, JunctionTree};
use crate::network::{Evidence, Finding, VariableId};
use crate::potential::{Axis, IndexMapping, Precision, Real, Scope};
use crate::propagation::{
    CompiledNetwork, Forecast, Home, Message, MessageId, Phase, Posteriors, Stage, Watch,
};

/// Engine `sequential`.
pub(super) struct Sequential;

impl Engine for Sequential {
    fn info(&self) -> &'static EngineInfo {
        &SEQUENTIAL
    }

    fn forecast(&self, compiled: &CompiledNetwork, precision: Precision) -> Forecast {
        // Index mappings hold 32-bit indices of separator entries.
        let largest = compiled.statistics().max_separator_entries;
        let unsupported = super::too_many_entries("separator", largest, u32::MAX);
        super::forecast(self, compiled, precision, unsupported, || {
            let structure = compiled.structure_bytes(BYTES_PER_CLIQUE);
            bytes(compiled.tree(), precision).saturating_add(structure)
        })
    }

    fn load(
        &self,
        compiled: &Arc<CompiledNetwork>,
        options: &LoadOptions,
    ) -> Result<Box<dyn Propagator>, LoadError> {
        super::admit(self, compiled, options)?;
        let load = || -> Box<dyn Propagator> {
            match options.precision {
                Precision::F32 => Box::new(Loaded::<f32>::new(Arc::clone(compiled))),
                Precision::F64 => Box::new(Loaded::<f64>::new(Arc::clone(compiled))),
            }
        };
        let propagator = allocate::or_error(load)
            .map_err(|error| LoadError::OutOfMemory { engine: self.name(), error })?;
        Ok(recomputing(propagator, compiled, options))
    }
}

/// Bytes that the engine keeps for each clique, in addition to tables and index mappings. Measured
/// on a chain of 100,000 binary variables; it only matters for networks of about that size or
/// larger. If the number is too small, the engine may take more memory than the limit.
const BYTES_PER_CLIQUE: u64 = 700;

/// Size of all tables in bytes: the initial and the working table of each clique, the table and two
/// index mappings of each separator, and two buffers for a message.
fn bytes(tree: &JunctionTree, precision: Precision) -> u64 {
    let sum = |sizes: &mut dyn Iterator<Item = u64>| sizes.fold(0, u64::saturating_add);
    let cliques = sum(&mut tree.cliques().iter().map(|clique| clique.entries));
    let separators = sum(&mut tree.separators().iter().map(|separator| separator.entries));
    let largest = tree.separators().iter().map(|separator| separator.entries).max().unwrap_or(0);
    let mapped = sum(&mut tree
        .separators()
        .iter()
        .map(|edge| tree[edge.parent].entries.saturating_add(tree[edge.child].entries)));
    [
        cliques.saturating_mul(2 * precision.bytes()),
        separators.saturating_mul(8),
        mapped.saturating_mul(4),
        largest.saturating_mul(8 + precision.bytes()),
    ]
    .into_iter()
    .fold(0, u64::saturating_add)
}

/// A compiled network with its tables in one precision.
struct Loaded<T> {
    compiled: Arc<CompiledNetwork>,
    /// The product of the factors assigned to each clique.
    initial: Tables<T>,
    /// The cliques' tables during a propagation.
    cliques: Tables<T>,
    /// The separators' tables. They are always in double precision, because they are small and
    /// their entries are sums of many clique entries.
    separators: Tables<f64>,
    /// By separator.
    mappings: Vec<Mappings>,
    /// For each variable the clique in which its findings are entered, and the variable's axis in
    /// the clique's table.
    entry_points: Vec<(CliqueId, Axis)>,
    /// For each variable the table from which its posterior is read, and the variable's axis in
    /// this table.
    homes: Vec<(Home, Axis)>,
    /// A buffer for a message. It holds the separator's new table, and then the ratio of the new
    /// to the old table.
    ratios: Vec<f64>,
    /// A buffer for the ratio in the type of the clique tables.
    update: Vec<T>,
    /// By separator: the level to which small entries were raised in the collect stage, as the
    /// exponent of a power of two; `None` if none were raised.
    raised: Vec<Option<i32>>,
    /// The probability mass that may have been lost or added.
    loss: Loss,
}

/// The index mappings from both cliques of an edge to its separator.
struct Mappings {
    parent: IndexMapping,
    child: IndexMapping,
}

impl<T: Real> Loaded<T> {
    /// Computes the clique tables and the index mappings of `compiled`.
    fn new(compiled: Arc<CompiledNetwork>) -> Self {
        let (network, tree) = (compiled.network(), compiled.tree());
        let scope = |variables: &[VariableId]| Scope::of(network, variables.iter().copied());
        let scopes: Vec<Scope> = tree.cliques().iter().map(|c| scope(&c.variables)).collect();
        let mapping = |clique: CliqueId, separator: &Scope| {
            IndexMapping::new(&scopes[clique.index()], separator)
        };
        let mappings = tree.separators().iter().map(|edge| {
            let separator = scope(&edge.variables);
            Mappings {
                parent: mapping(edge.parent, &separator),
                child: mapping(edge.child, &separator),
            }
        });
        let mappings = mappings.collect();
        let largest = tree.separators().iter().map(|s| s.entries as usize).max().unwrap_or(0);
        let axis = |scope: &Scope, variable| {
            scope.axis(variable).expect("the table contains its variable")
        };
        let smallest_clique = tree.smallest_cliques(network.variables().len());
        let entry_points = network.ids().map(|variable| {
            let clique = smallest_clique[variable.index()];
            (clique, axis(&scopes[clique.index()], variable))
        });
        let homes = network.ids().map(|variable| {
            let home = compiled.variable_home(variable);
            let axis = match home {
                Home::Clique(clique) => axis(&scopes[clique.index()], variable),
                Home::Separator(edge) => axis(&scope(&tree[edge].variables), variable),
            };
            (home, axis)
        });
        let clique_sizes = || tree.cliques().iter().map(|clique| clique.entries);
        let separator_sizes = tree.separators().iter().map(|separator| separator.entries);
        Self {
            initial: initial_tables(&compiled, &scopes),
            cliques: Tables::new(clique_sizes(), T::ZERO, 0),
            separators: Tables::new(separator_sizes, 1.0, 0),
            mappings,
            entry_points: entry_points.collect(),
            homes: homes.collect(),
            ratios: allocate::zeros(largest),
            update: allocate::zeros(largest),
            raised: vec![None; tree.separators().len()],
            loss: Loss::default(),
            compiled: Arc::clone(&compiled),
        }
    }

    /// Sets all tables to their initial values and enters the findings.
    fn initialise(&mut self, evidence: &Evidence) -> Result<(), RunError> {
        self.cliques.copy_from(&self.initial);
        self.separators.values.fill(1.0);
        self.separators.exponents.fill(0);
        self.raised.fill(None);
        self.loss = Loss::default();
        for (variable, finding) in evidence.iter() {
            let (clique, axis) = self.entry_points[variable.index()];
            let scale = finding_scale(finding, axis.cardinality);
            let weights = (0..axis.cardinality).map(|state| finding.weight(state));
            let bounds = scaled_bounds(weights, scale).stored::<T>();
            self.cliques.multiply_bounds(clique.index(), bounds);
            let weight = |state| T::from_f64(finding.weight(state).scale(scale));
            let largest = message::weigh(self.cliques.table_mut(clique.index()), axis, weight);
            self.cliques.exponents[clique.index()] -= i64::from(scale);
            self.cliques.keep_in_range(clique.index(), largest)?;
        }
        Ok(())
    }

    /// Passes one message: equations 2 and 3.
    fn pass(&mut self, message: Message) -> Result<(), RunError> {
        let (from, to) = (message.from.index(), message.to.index());
        let edge = message.separator.index();
        let mappings = &self.mappings[edge];
        let (sender, receiver) = match message.phase {
            Phase::Collect => (&mappings.child, &mappings.parent),
            Phase::Distribute => (&mappings.parent, &mappings.child),
        };
        let entries = self.separators.ranges[edge].len();
        let (new, update) = (&mut self.ratios[..entries], &mut self.update[..entries]);

        message::marginalise(self.cliques.table(from), sender, new);
        let old = self.separators.table_mut(edge);
        let error = self.cliques.bounds[from].sum(sender.entries().len()).error;
        let (separator_exponent, mut bounds) =
            message::normalise(new).ok_or_else(|| no_message(error))?;
        bounds.error = error.map(|error| error - separator_exponent).max(bounds.error);
        match (message.phase, self.raised[edge]) {
            (Phase::Collect, _) => {
                self.raised[edge] = bounds.raised_level()?;
                if let Some(level) = self.raised[edge] {
                    raise(new, level, bounds);
                }
            }
            (Phase::Distribute, Some(level)) => {
                let (belief, before) = (new.iter().copied(), old.iter().copied());
                let (raised, total) = belief_in_raised(belief, before, level);
                self.loss.add(raised, total);
            }
            (Phase::Distribute, None) => {}
        }
        let (update_exponent, bounds) =
            message::divide(new, old, update).ok_or(RunError::OutOfRange)?;
        self.cliques.multiply_bounds(to, bounds);
        let largest = message::scatter(self.cliques.table_mut(to), receiver, update);

        let before = self.separators.exponents[edge];
        let after = self.cliques.exponents[from] + i64::from(separator_exponent);
        self.separators.exponents[edge] = after;
        self.cliques.exponents[to] += after - before + i64::from(update_exponent);
        let kept = self.cliques.keep_in_range(to, largest);
        if message.phase == Phase::Collect {
            return kept;
        }
        // The root's table is not zero, so a table that becomes zero here does not show that the
        // evidence is impossible: numbers have underflowed, or the belief rests on raised ones.
        kept.map_err(|_| RunError::OutOfRange)?;
        self.loss.add_loss(self.cliques.loss(to));
        Ok(())
    }

    /// Passes `messages`, which are consecutive messages of the plan from number `first` on.
    fn pass_all(
        &mut self,
        messages: &[Message],
        first: usize,
        watch: &Watch,
    ) -> Result<(), RunError> {
        for (offset, &message) in messages.iter().enumerate() {
            watch.check()?;
            watch.message(MessageId::new(first + offset), 0, || self.pass(message))?;
        }
        Ok(())
    }

    /// ln P(e), before [`Posteriors::new`] adds `Network::ln_scale`. After the collect stage, P(e)
    /// is the sum of the root's table.
    fn ln_p_evidence(&mut self) -> Result<f64, RunError> {
        let root = self.compiled.tree().root().index();
        let total = message::total(self.cliques.table(root));
        // The total is first scaled into [1, 2), where the rounding error of the logarithm is
        // small.
        let error = self.cliques.bounds[root].error;
        let scale = total.scale_exponent().ok_or_else(|| no_message(error))?;
        self.loss.add_loss(self.cliques.loss(root));
        let exponent = self.cliques.exponents[root] - i64::from(scale);
        Ok(total.scale(scale).ln() + exponent as f64 * LN_2)
    }
}

impl<T: Real> Propagator for Loaded<T> {
    fn run(&mut self, evidence: &Evidence, watch: &Watch) -> Result<Posteriors, RunError> {
        let compiled = Arc::clone(&self.compiled);
        let (collect, distribute) = (compiled.plan().collect(), compiled.plan().distribute());
        watch.check()?;
        watch.note_processed(|| compiled.plan().entries_touched(compiled.tree()));
        watch.stage(Stage::Initialise, || self.initialise(evidence))?;
        watch.stage(Stage::Collect, || self.pass_all(collect, 0, watch))?;
        let ln_p_evidence = self.ln_p_evidence()?;
        watch.stage(Stage::Distribute, || self.pass_all(distribute, collect.len(), watch))?;
        watch.check()?;
        self.loss.check(T::PRECISION)?;
        Ok(watch.stage(Stage::Read, || {
            Posteriors::new(compiled.network(), ln_p_evidence, |variable, states| {
                let (home, axis) = self.homes[variable.index()];
                match home {
                    Home::Clique(clique) => {
                        message::marginal(self.cliques.table(clique.index()), axis, states);
                    }
                    Home::Separator(edge) => {
                        message::marginal(self.separators.table(edge.index()), axis, states);
                    }
                }
            })
        }))
    }

    fn peak_bytes(&self) -> u64 {
        let mappings = self.mappings.iter().map(|edge| edge.parent.bytes() + edge.child.bytes());
        let message = std::mem::size_of_val(&*self.ratios) + std::mem::size_of_val(&*self.update);
        self.compiled.structure_bytes(BYTES_PER_CLIQUE)
            + self.initial.bytes()
            + self.cliques.bytes()
            + self.separators.bytes()
            + mappings.sum::<u64>()
            + message as u64
    }
}

/// The exponent of the power of two that brings the largest weight of `finding` into [1, 2).
/// `states`: the number of states of the variable.
fn finding_scale(finding: &Finding, states: usize) -> i32 {
    let largest = (0..states).map(|state| finding.weight(state)).fold(0.0, f64::max);
    largest.scale_exponent().unwrap_or(0)
}
