//! Turns the contractions of a propagation into a [`Plan`].

mod launches;

use std::collections::HashMap;

use super::plan::{CliqueLaunches, Launch, OperandTable, Plan, Sources, Table, TableReadings};
use super::records::THREADS;
use crate::lowering::{AxisSet, Group, LoweredClique, Operand, PlannedStep, Program, widened};
use crate::network::VariableId;
use crate::propagation::Phase;

// If one of the first two constants is wrong, only speed and memory change (and last bits of
// results).

/// A contraction is [widened] until it has this many rows, so that most threads of a large GPU get
/// one: an H200 runs about 800 blocks of 256 threads at the same time.
const WANTED_ROWS: usize = 1 << 17;

/// A contraction is not widened further once at most this many entries are summed for a row. If
/// rows were shorter, adding up their results would take as long as computing them.
const ENTRIES_PER_ROW: usize = 64;

/// Maximum number of tables of a group that are multiplied without scaling in between. The largest
/// entry of each table is in [1, 2), but others may be small: with more tables products underflow
/// sooner, and more cases are computed again in double precision.
const MAX_FACTORS: usize = 16;

/// A plan that is being made.
pub(super) struct Planner<'a> {
    program: &'a Program,
    plan: Plan,
    /// Lists of offsets that the plan has already, and their indices.
    known_offsets: HashMap<Vec<u32>, u32>,
    /// By clique: the tables of its factors and likelihoods, in the order of its operands.
    operands: Vec<Vec<Table>>,
    /// By clique: its message to the parent, and later the message from the parent.
    messages: Vec<Table>,
    /// The position in the buffer of the first free entry.
    free: u64,
}

/// A table and its axes.
#[derive(Clone, Copy)]
struct Input {
    axes: AxisSet,
    table: Table,
}

impl<'a> Planner<'a> {
    /// A planner for `program`, with an empty plan.
    pub fn new(program: &'a Program) -> Self {
        Self {
            program,
            plan: Plan::default(),
            known_offsets: HashMap::new(),
            operands: Vec::new(),
            messages: Vec::new(),
            free: 0,
        }
    }

    /// The plan; `None` if a contraction has more inputs, or more entries, than the kernels
    /// support.
    pub fn plan(mut self) -> Option<Plan> {
        self.allocate();
        for number in (1..self.program.tree.len()).rev() {
            self.collect(number)?;
        }
        for number in 0..self.program.tree.len() {
            self.distribute(number)?;
        }
        Some(self.plan)
    }
}

impl Planner<'_> {
    /// Allocates the tables of the operands and of the messages.
    fn allocate(&mut self) {
        for clique in self.program.tree.iter() {
            let mut tables = Vec::new();
            for &(operand, axes) in &clique.operands {
                let table = self.table(axes.entries(&clique.states) as u64);
                let variables = axes.iter().map(|axis| clique.variables[axis]).collect();
                self.plan.operands.push(OperandTable { operand, variables });
                tables.push(table);
            }
            self.operands.push(tables);
        }
        self.plan.operand_entries = self.free;
        for clique in self.program.tree.iter() {
            let is_root = clique.parent.is_none();
            let entries = if is_root { 0 } else { clique.separator.entries(&clique.states) };
            let message = self.table(entries as u64);
            self.messages.push(message);
        }
    }

    /// A new table at the end of the memory in use, with a number of its own.
    fn table(&mut self, entries: u64) -> Table {
        let table = Table { first: self.free, entries, ..self.numbered(Table::NONE) };
        self.free += entries;
        self.plan.entries = self.plan.entries.max(self.free);
        table
    }

    /// `table` with a new number.
    fn numbered(&mut self, table: Table) -> Table {
        let number = self.plan.sources.len() as u32;
        self.plan.sources.push(Sources::default());
        Table { number, ..table }
    }

    /// Plans the message of clique `number` to its parent.
    fn collect(&mut self, number: usize) -> Option<()> {
        let clique = &self.program.tree[number];
        let (before, first) = (self.free, self.plan.launches.len());
        let Some(planned) = &self.program.collect[number] else {
            self.end_clique(Phase::Collect, clique, first);
            return Some(());
        };
        let inputs = self.inputs(number, planned)?;
        let message = self.messages[number];
        self.contract(clique, &inputs, clique.separator, message)?;
        self.free = before;
        self.end_clique(Phase::Collect, clique, first);
        Some(())
    }

    /// Plans the contraction of clique `number` away from the root: the messages to its children,
    /// the readings of posteriors and, at the root, the reading of P(e).
    fn distribute(&mut self, number: usize) -> Option<()> {
        let clique = &self.program.tree[number];
        let (before, first) = (self.free, self.plan.launches.len());
        let Some(planned) = &self.program.distribute[number] else {
            self.end_clique(Phase::Distribute, clique, first);
            return Some(());
        };
        let inputs = self.inputs(number, planned)?;
        let outputs = self.program.tree.outputs(number, Phase::Distribute);
        let mut beliefs: Vec<Option<Input>> = vec![None; clique.children.len()];
        for group in &planned.step.outputs {
            let sum = self.table(group.entries as u64);
            self.contract(clique, &inputs, group.axes, sum)?;
            let sum = Input { axes: group.axes, table: sum };
            self.share_out(clique, group, &outputs, sum, &mut beliefs)?;
        }
        // Messages from children are replaced only after all contractions have read them.
        for (&child, belief) in clique.children.iter().zip(beliefs) {
            self.receive(clique, child, belief?);
        }
        self.free = before;
        self.end_clique(Phase::Distribute, clique, first);
        Some(())
    }

    /// Plans what is made from `sum`, the output for a group: beliefs over separators, and
    /// readings.
    fn share_out(
        &mut self,
        clique: &LoweredClique,
        group: &Group,
        outputs: &[AxisSet],
        sum: Input,
        beliefs: &mut [Option<Input>],
    ) -> Option<()> {
        let private: Vec<VariableId> = clique.private().collect();
        for &member in &group.members {
            if let Some(belief) = beliefs.get_mut(member) {
                let axes = outputs[member];
                let mut table = sum.table;
                if axes != sum.axes {
                    table = self.table(axes.entries(&clique.states) as u64);
                    self.sum(clique, sum, axes, table)?;
                }
                *belief = Some(Input { axes, table });
            } else if let Some(&variable) = private.get(member - beliefs.len()) {
                self.read(clique, sum, variable);
            } else {
                let readings = self.readings(sum.table, sum.table.entries, 1);
                self.plan.total = TableReadings { readings, table: sum.table.number };
            }
        }
        Some(())
    }

    /// Plans what `child` receives, given the belief over the separator above it.
    fn receive(&mut self, clique: &LoweredClique, child: usize, belief: Input) {
        let receiver = &self.program.tree[child];
        for variable in receiver.read_from_separator() {
            self.read(clique, belief, variable);
        }
        if self.program.distribute[child].is_some() {
            let before = self.messages[child];
            let message = self.numbered(before);
            let has_message = self.program.collect[child].is_some();
            self.messages[child] = message;
            let belief = belief.table;
            let mut inputs = vec![belief.number];
            inputs.extend(has_message.then_some(before.number));
            let sources = Sources { inputs, is_quotient: true, ..Sources::default() };
            self.plan.sources[message.number as usize] = sources;
            self.plan.computed.push(message.number);
            self.plan.launches.push(Launch::Divide { belief, message, has_message });
            self.plan.launches.push(Launch::Rescale { table: message });
        }
    }

    /// Records in the plan that the launches with indices from `first` belong to `clique`.
    fn end_clique(&mut self, phase: Phase, clique: &LoweredClique, first: usize) {
        let message = clique.messages.map(|(collect, distribute)| match phase {
            Phase::Collect => collect,
            Phase::Distribute => distribute,
        });
        let launches = first..self.plan.launches.len();
        let contractions = self.plan.launches[first..].iter();
        let contractions = contractions.filter(|launch| matches!(launch, Launch::Contract { .. }));
        let entries = AxisSet::first(clique.states.len()).entries(&clique.states) as u64;
        let work = entries.saturating_mul(contractions.count() as u64);
        self.plan.cliques.push(CliqueLaunches { phase, message, launches, work });
    }

    /// Plans the products of the groups of inputs of `planned`, a contraction of clique `number`,
    /// and returns their tables.
    fn inputs(&mut self, number: usize, planned: &PlannedStep) -> Option<Vec<Input>> {
        let clique = &self.program.tree[number];
        let mut operands = self.operands[number].clone().into_iter();
        let mut input = |&(operand, axes): &(Operand, AxisSet)| {
            let table = match operand {
                Operand::Message(sender) => self.messages[sender],
                Operand::Factor(_) | Operand::Likelihood(_) => operands.next()?,
            };
            Some(Input { axes, table })
        };
        let inputs: Vec<Input> = planned.inputs.iter().map(&mut input).collect::<Option<_>>()?;
        planned.step.inputs.iter().map(|group| self.product(clique, group, &inputs)).collect()
    }

    /// Plans the product of the members of `group`, each given as an index into `inputs`.
    fn product(
        &mut self,
        clique: &LoweredClique,
        group: &Group,
        inputs: &[Input],
    ) -> Option<Input> {
        let mut product: Option<Input> = None;
        for members in group.members.chunks(MAX_FACTORS) {
            let members = members.iter().map(|&member| inputs[member]);
            let factors: Vec<Input> = product.into_iter().chain(members).collect();
            product = match *factors {
                [single] => Some(single),
                _ => {
                    let table = self.table(group.entries as u64);
                    let product = Input { axes: group.axes, table };
                    self.contract_rows(clique, &factors, group.axes, group.axes, table)?;
                    Some(product)
                }
            };
        }
        product
    }

    /// Plans the contraction of `inputs`, over all axes of `clique`, onto the axes `output`.
    fn contract(
        &mut self,
        clique: &LoweredClique,
        inputs: &[Input],
        output: AxisSet,
        result: Table,
    ) -> Option<()> {
        let axes = AxisSet::first(clique.states.len());
        let wide = widened(axes, output, &clique.states, WANTED_ROWS, ENTRIES_PER_ROW);
        if wide == output {
            return self.contract_rows(clique, inputs, axes, output, result);
        }
        let table = self.table(wide.entries(&clique.states) as u64);
        self.contract_rows(clique, inputs, axes, wide, table)?;
        self.sum_rows(clique, Input { axes: wide, table }, output, result)
    }

    /// Plans the sum of `input` onto the axes `output`.
    fn sum(
        &mut self,
        clique: &LoweredClique,
        input: Input,
        output: AxisSet,
        result: Table,
    ) -> Option<()> {
        let entries = input.axes.entries(&clique.states) / output.entries(&clique.states);
        if entries < THREADS as usize {
            self.contract_rows(clique, &[input], input.axes, output, result)
        } else {
            self.sum_rows(clique, input, output, result)
        }
    }
}

impl Table {
    /// A table without entries.
    const NONE: Self = Self { first: 0, entries: 0, number: 0 };
}
