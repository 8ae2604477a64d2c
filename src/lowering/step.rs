//! A contraction with many small inputs or outputs, divided into a few cheaper ones.
//!
//! A clique can have hundreds of factors over two or three variables. Multiplying a table over a
//! million entries by each of them takes hundreds of millions of multiplications. It is cheaper to
//! multiply the small tables with one another first, as long as their product stays small. In the
//! same way, many small outputs are summed from one table over the union of their axes.

use super::{AxisSet, Contraction, LoopNest, Optimisation, Optimisations};

/// A group of several tables may have at most one entry for this many entries of the contraction,
/// so that making it costs little compared with reading it. Derived, not measured: the tables of
/// ten such groups have at most a sixth as many entries as the contraction. If it is wrong, only
/// speed and memory change (and last bits of results).
const MAX_GROUP_SHARE: usize = 64;

/// A group may have this many entries however small the contraction is: 4 KiB, an eighth of a
/// first-level cache. If it is wrong, only the speed of small cliques changes (and last bits of
/// results).
const MIN_GROUP_LIMIT: usize = 512;

/// No group of several tables has more entries than this, which is 2 MiB: it is read again and
/// again and should stay in a second-level cache. If it is wrong, only speed and memory change (and
/// last bits of results).
const MAX_GROUP: usize = 1 << 18;

/// Maximum number of tables of a group that are multiplied without rescaling. The largest entry of
/// each table is near one, so a product of this many is in the range of f64 if every entry is at
/// least 1e-18. If it is larger, products underflow sooner; if it is smaller, more passes are made.
const MAX_FACTORS: usize = 16;

/// Tables that are multiplied with one another, or outputs that are summed from one table.
#[derive(Clone, Debug)]
pub struct Group {
    /// The inputs or outputs of the step that belong to the group, by number.
    pub members: Vec<usize>,
    /// The axes of all members together.
    pub axes: AxisSet,
    /// Number of entries of the group's table.
    pub entries: usize,
    /// How the members are multiplied, or how they are summed from the group's table. Empty if
    /// the only member is the group's table itself. At most [`MAX_FACTORS`] members are multiplied
    /// at a time, so that the product can be rescaled in between: the next nest has the product so
    /// far as its first input, and then further members.
    pub nests: Vec<LoopNest>,
}

/// A contraction whose small inputs and outputs are grouped.
#[derive(Clone, Debug)]
pub struct Step {
    /// The groups of inputs, which are the inputs of [`nest`](Self::nest).
    pub inputs: Vec<Group>,
    /// The groups of outputs, which are the outputs of [`nest`](Self::nest).
    pub outputs: Vec<Group>,
    /// The contraction of the groups.
    pub nest: LoopNest,
    /// By output of the step: its number of entries.
    pub output_entries: Vec<usize>,
}

impl Step {
    /// Groups the inputs and outputs of `contraction` and lowers it.
    #[must_use]
    pub fn new(contraction: &Contraction<'_>, optimisations: Optimisations) -> Self {
        let &Contraction { states, axes, inputs, outputs } = contraction;
        let limit = (axes.entries(states) / MAX_GROUP_SHARE).clamp(MIN_GROUP_LIMIT, MAX_GROUP);
        let limit = if optimisations.has(Optimisation::GroupedFactors) { limit } else { 0 };
        let mut input_groups = group(inputs, states, limit);
        let mut output_groups = group(outputs, states, limit);
        let sets = |groups: &[Group]| -> Vec<AxisSet> { groups.iter().map(|g| g.axes).collect() };
        let (inputs_of_nest, outputs_of_nest) = (sets(&input_groups), sets(&output_groups));
        let (inputs_of_nest, outputs_of_nest) = (&*inputs_of_nest, &*outputs_of_nest);
        let grouped =
            Contraction { states, axes, inputs: inputs_of_nest, outputs: outputs_of_nest };
        let nest = LoopNest::new(&grouped, optimisations);
        for group in &mut input_groups {
            let members: Vec<AxisSet> = group.members.iter().map(|&n| inputs[n]).collect();
            group.nests = products(&members, group.axes, states, optimisations);
        }
        for group in &mut output_groups {
            let members: Vec<AxisSet> = group.members.iter().map(|&n| outputs[n]).collect();
            if members.len() > 1 {
                let (axes, inputs, outputs) = (group.axes, &[group.axes][..], &*members);
                let contraction = Contraction { states, axes, inputs, outputs };
                group.nests = vec![LoopNest::new(&contraction, optimisations)];
            }
        }
        let output_entries = outputs.iter().map(|set| set.entries(states)).collect();
        Self { inputs: input_groups, outputs: output_groups, nest, output_entries }
    }

    /// Number of multiplications and additions of entries.
    #[must_use]
    pub fn work(&self) -> f64 {
        let groups = self.inputs.iter().chain(&self.outputs);
        let nests = groups.flat_map(|group| &group.nests);
        nests.chain([&self.nest]).map(LoopNest::work).sum()
    }

    /// Maximum number of entries of the outputs and of the
    /// [scratch memory](Self::scratch_entries). Saturating.
    #[must_use]
    pub fn entries(&self) -> usize {
        self.output_entries.iter().copied().fold(self.scratch_entries(), usize::saturating_add)
    }

    /// Maximum number of entries of the groups' tables, and of what else one of the nests needs:
    /// copies of outputs, or the product of a group so far. The memory of inputs and outputs is not
    /// counted.
    #[must_use]
    pub fn scratch_entries(&self) -> usize {
        let groups =
            || self.inputs.iter().chain(&self.outputs).filter(|group| !group.nests.is_empty());
        let nests = groups().flat_map(|group| &group.nests).chain([&self.nest]);
        let copied = nests.map(LoopNest::copied_entries).max().unwrap_or(0);
        let products = self.inputs.iter().filter(|group| group.nests.len() > 1);
        let product = products.map(|group| group.entries).max().unwrap_or(0);
        groups().map(|group| group.entries).sum::<usize>() + copied.max(product)
    }
}

/// How tables over `sets` are multiplied into a table over `axes`; empty for a single table.
fn products(
    sets: &[AxisSet],
    axes: AxisSet,
    states: &[usize],
    optimisations: Optimisations,
) -> Vec<LoopNest> {
    let mut nests = Vec::new();
    let mut next = 0;
    while next < sets.len() && sets.len() > 1 {
        let mut inputs = if next == 0 { Vec::new() } else { vec![axes] };
        let end = (next + MAX_FACTORS - inputs.len()).min(sets.len());
        inputs.extend_from_slice(&sets[next..end]);
        next = end;
        let contraction = Contraction { states, axes, inputs: &inputs, outputs: &[axes] };
        nests.push(LoopNest::new(&contraction, optimisations));
    }
    nests
}

/// Groups tables over `sets` so that no group has more than `limit` entries, except groups of a
/// single table. Takes the largest tables first, and adds each to the group that grows least.
fn group(sets: &[AxisSet], states: &[usize], limit: usize) -> Vec<Group> {
    let mut order: Vec<usize> = (0..sets.len()).collect();
    order.sort_by_key(|&number| (std::cmp::Reverse(sets[number].entries(states)), number));
    let mut groups: Vec<Group> = Vec::new();
    for number in order {
        let set = sets[number];
        let grown = |group: &Group| group.axes.union(set).entries(states) - group.entries;
        let fits = |group: &&mut Group| group.axes.union(set).entries(states) <= limit;
        match groups.iter_mut().filter(fits).min_by_key(|group| grown(group)) {
            Some(group) => {
                group.members.push(number);
                group.axes = group.axes.union(set);
                group.entries = group.axes.entries(states);
            }
            None => groups.push(Group {
                members: vec![number],
                axes: set,
                entries: set.entries(states),
                nests: Vec::new(),
            }),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hundreds_of_small_factors_become_a_few_groups() {
        let states = [2; 21];
        let axes = AxisSet::first(21);
        let pairs = (0..21).flat_map(|a| (0..a).map(move |b| [a, b].into_iter().collect()));
        let inputs: Vec<AxisSet> = pairs.collect();
        let outputs: Vec<AxisSet> = (0..21).map(|a| [a].into_iter().collect()).collect();
        let contraction = Contraction { states: &states, axes, inputs: &inputs, outputs: &outputs };
        let step = Step::new(&contraction, Optimisations::default());
        assert!(step.inputs.len() <= 8, "{} groups of inputs", step.inputs.len());
        assert!(step.outputs.len() <= 2, "{} groups of outputs", step.outputs.len());
        let members: usize = step.inputs.iter().map(|group| group.members.len()).sum();
        assert_eq!(members, inputs.len());
        for group in &step.inputs {
            assert!(group.members.iter().all(|&n| group.axes.union(inputs[n]) == group.axes));
        }
        // While the product of more than MAX_FACTORS members is made, two tables exist.
        let is_in_steps = |group: &&Group| group.members.len() > MAX_FACTORS;
        let product = step.inputs.iter().filter(is_in_steps).map(|group| group.entries).max();
        let made = step.inputs.iter().chain(&step.outputs).filter(|g| !g.nests.is_empty());
        let entries: usize = made.map(|group| group.entries).sum();
        assert!(step.scratch_entries() >= entries + product.expect("a group of many members"));
        let each = f64::from(1 << 21);
        assert!(step.work() < 14.0 * each, "{} per entry", step.work() / each);
    }
}
