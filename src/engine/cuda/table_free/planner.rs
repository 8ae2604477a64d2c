//! Turns the contractions of a propagation into a [`Plan`].

use std::collections::HashMap;
use std::ops::Range;

use super::plan::{CliqueLaunches, Launch, OperandTable, Plan, Sources, Table};
use super::records::{
    Contraction as Record, MAX_INPUTS, MAX_RUN_OFFSETS, ROWS_PER_THREAD, Reading, THREADS,
};
use crate::lowering::{
    AxisSet, Contraction, Group, LoweredClique, Operand, PlannedStep, Program, RowLimits, RowNest,
    widened,
};
use crate::network::VariableId;
use crate::propagation::Phase;

// If one of the first four constants is wrong, only speed and memory change (and last bits of
// results).

/// A contraction is widened until it has this many rows, so that every thread of a large GPU gets
/// one.
const WANTED_ROWS: usize = 1 << 17;

/// A contraction is not widened further once at most this many entries are summed for a row: adding
/// up shorter rows would take as long as computing them.
const ENTRIES_PER_ROW: usize = 64;

/// A block gets more than one row per thread once there are this many blocks. An H200 runs about
/// 800 blocks at the same time.
const WANTED_BLOCKS: usize = 1024;

/// Maximum number of entries that a block adds up for a reading. Several blocks share the sum of
/// more entries.
const READING_ENTRIES: u64 = 1 << 18;

/// Maximum number of tables of a group that are multiplied without scaling in between. All entries
/// are in [2^-126, 2), so with more tables products underflow sooner, and more cases are computed
/// again in double precision.
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
    /// The first entry of the buffer that is free.
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

    /// The plan; `None` if a clique has more large tables, or more entries, than the kernels can
    /// number.
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

    /// Plans the messages of clique `number` to its children, and the readings of its variables.
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
                let everything = self.readings(sum.table, sum.table.entries, 1);
                self.plan.total = (everything, sum.table.number);
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

    /// Adds the launches from number `first` on to the plan as those of `clique`.
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

    /// Plans the product of the members of `group`, which are numbers of `inputs`.
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
                    self.rows(clique, &factors, group.axes, group.axes, table)?;
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
            return self.rows(clique, inputs, axes, output, result);
        }
        let table = self.table(wide.entries(&clique.states) as u64);
        self.rows(clique, inputs, axes, wide, table)?;
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
            self.rows(clique, &[input], input.axes, output, result)
        } else {
            self.sum_rows(clique, input, output, result)
        }
    }

    /// Plans a contraction over `axes` in which a thread computes each row.
    fn rows(
        &mut self,
        clique: &LoweredClique,
        inputs: &[Input],
        axes: AxisSet,
        output: AxisSet,
        result: Table,
    ) -> Option<()> {
        let (nest, record) = self.record(clique, inputs, axes, output, result)?;
        let parts = nest.rows.div_ceil(self.plan.records[record as usize].part as usize);
        let blocks = u32::try_from(nest.tiles.checked_mul(parts)?).ok()?;
        let varying = nest.varying as u32;
        self.plan.launches.push(Launch::Contract { record, varying, blocks });
        self.plan.launches.push(Launch::Rescale { table: result });
        Some(())
    }

    /// Plans the sum of `input` onto the axes `output`, in which a block computes each row.
    fn sum_rows(
        &mut self,
        clique: &LoweredClique,
        input: Input,
        output: AxisSet,
        result: Table,
    ) -> Option<()> {
        let (nest, record) = self.record(clique, &[input], input.axes, output, result)?;
        let blocks = u32::try_from(nest.tiles.checked_mul(nest.rows)?).ok()?;
        // This kernel adds up entries as they are: they are below two, so their sum is in range.
        let head = std::mem::take(&mut self.plan.records[record as usize].head);
        let sources = &mut self.plan.sources[result.number as usize];
        sources.head -= head;
        sources.bound -= head;
        self.plan.launches.push(Launch::SumRows { record, blocks });
        self.plan.launches.push(Launch::Rescale { table: result });
        Some(())
    }

    /// Lowers a contraction and adds its record, whose index is returned.
    fn record(
        &mut self,
        clique: &LoweredClique,
        inputs: &[Input],
        axes: AxisSet,
        output: AxisSet,
        result: Table,
    ) -> Option<(RowNest, u32)> {
        const LIMITS: RowLimits = RowLimits { inputs: MAX_INPUTS, run_offsets: MAX_RUN_OFFSETS };
        let states = &*clique.states;
        let sets: Vec<AxisSet> = inputs.iter().map(|input| input.axes).collect();
        let contraction = Contraction { states, axes, inputs: &sets, outputs: &[output] };
        let nest = RowNest::new(&contraction, LIMITS)?;
        let head = head(inputs.len(), nest.steps.checked_mul(nest.run)?);
        let (threads, rows) = (THREADS as usize, nest.tiles.saturating_mul(nest.rows));
        let per_thread = (rows / (threads * WANTED_BLOCKS)).clamp(1, ROWS_PER_THREAD);
        let numbers = u32::try_from(self.plan.numbers.len()).ok()?;
        let firsts = nest.inputs.iter().map(|input| inputs[input.number].table.first);
        self.plan.numbers.extend(firsts);
        for input in &nest.inputs {
            let rows = self.offsets(&input.row_offsets)?;
            // `sum_rows` reads run offsets even of an input that does not vary in the inner run.
            let run = match &*input.run_offsets {
                [] => self.offsets(&vec![0; nest.run])?,
                offsets => self.offsets(offsets)?,
            };
            self.plan.numbers.push(u64::from(rows) | u64::from(run) << 32);
        }
        for (digit, &states) in nest.row_digits.iter().enumerate() {
            self.plan.numbers.push(states as u64);
            self.plan.numbers.extend(nest.inputs.iter().map(|i| i.row_strides[digit] as u64));
        }
        for (digit, &states) in nest.run_digits.iter().enumerate() {
            self.plan.numbers.push(states as u64);
            self.plan.numbers.extend(nest.inputs.iter().map(|i| i.run_strides[digit] as u64));
        }
        let record = self.plan.records.len() as u32;
        self.plan.records.push(Record {
            output: result.first,
            numbers,
            inputs: inputs.len() as u32,
            varying: nest.varying as u32,
            summed: nest.summed as u32,
            row_digits: nest.row_digits.len() as u32,
            run_digits: nest.run_digits.len() as u32,
            rows: u32::try_from(nest.rows).ok()?,
            part: (per_thread * threads) as u32,
            steps: nest.steps as u32,
            run: nest.run as u32,
            result: result.number,
            head,
        });
        let sources = inputs.iter().map(|input| input.table.number).collect();
        self.plan.computed.push(result.number);
        self.plan.sources[result.number as usize] =
            Sources { inputs: sources, head, bound: BOUND, is_quotient: false };
        Some((nest, record))
    }

    /// The index of a list of offsets, which is added if it is new; `None` if the index does not
    /// fit into 32 bits.
    fn offsets(&mut self, list: &[u32]) -> Option<u32> {
        if let Some(&index) = self.known_offsets.get(list) {
            return Some(index);
        }
        let index = u32::try_from(self.plan.offsets.len()).ok()?;
        self.plan.offsets.extend_from_slice(list);
        self.known_offsets.insert(list.to_vec(), index);
        Some(index)
    }

    /// Plans the reading of the posterior of `variable` from `table`, whose axes are of `clique`.
    fn read(&mut self, clique: &LoweredClique, table: Input, variable: VariableId) {
        let axis = clique.variables.iter().position(|&v| v == variable);
        let axis = axis.expect("the variable is read from its clique");
        let stride = table.axes.stride(axis, &clique.states) as u64;
        let readings = self.readings(table.table, stride, clique.states[axis]);
        self.plan.posteriors.push((variable, readings, table.table.number));
    }

    /// Plans the sums of the entries of `table` for each of the `states` of a variable whose
    /// consecutive states are at a distance of `stride`. Returns their numbers.
    fn readings(&mut self, table: Table, stride: u64, states: usize) -> Range<usize> {
        let first = self.plan.readings.len();
        let entries = table.entries / states as u64;
        for state in 0..states as u32 {
            let mut begin = 0;
            while begin < entries {
                let end = entries.min(begin + READING_ENTRIES);
                self.plan.readings.push(Reading {
                    table: table.first,
                    stride,
                    begin,
                    end,
                    states: states as u32,
                    state,
                });
                begin = end;
            }
        }
        let count = self.plan.readings.len() - first;
        self.plan.launches.push(Launch::Read { first: first as u32, count: count as u32 });
        first..first + count
    }
}

impl Table {
    /// A table without entries.
    const NONE: Self = Self { first: 0, entries: 0, number: 0 };
}

/// All sums of products are below 2 to this power, which is in the range of single precision.
const BOUND: i32 = 126;

/// The exponent of the power of two with which products of this many `inputs`, each below two, can
/// begin so that the sum of `run` products is below 2^[`BOUND`].
fn head(inputs: usize, run: usize) -> i32 {
    let run = usize::BITS - run.leading_zeros();
    BOUND - run as i32 - inputs as i32
}
