//! The messages of one group of cases, and their propagation.

use std::f64::consts::LN_2;
use std::sync::Arc;

use crate::allocate;
use crate::engine::bounds::Loss;
use crate::engine::{BatchAnswers, RunError};
use crate::network::{Evidence, Finding};
use crate::potential::{Precision, Real};
use crate::propagation::Posteriors;

use super::kernel::{CASES_PER_GROUP, PerCase, Scales, compute};
use super::plan::{Message, Operation, Plan};

/// The first input of an operation is scaled so that its largest entry is near two to the power of
/// this; the second, so that its largest entry is near one. In single precision, sums of products
/// then do not overflow, and products rarely underflow. Some inputs are scaled only after the terms
/// are summed, so a product can still underflow; [`GroupState::raise`] is for this case.
const FIRST_INPUT_EXPONENT: i32 = 32;

/// The assignment of messages to buffers. Another message takes over the buffer of a message that
/// is no longer needed, so that the buffers in use stay in a cache.
pub struct Buffers {
    /// By message: the number of its buffer.
    buffer_of: Vec<u32>,
    /// By buffer: its number of entries.
    sizes: Vec<usize>,
}

impl Buffers {
    /// Buffers for messages that are computed in the order of the plan. The messages from and to
    /// variables, from which posteriors are read, have buffers of their own.
    pub fn new<T: Real>(plan: &Plan<T>) -> Self {
        let mut buffers = Self { buffer_of: vec![u32::MAX; plan.messages], sizes: Vec::new() };
        let mut last_use = vec![0; plan.messages];
        for (number, operation) in plan.operations.iter().enumerate() {
            operation.factors.iter().for_each(|factor| last_use[factor.number as usize] = number);
        }
        for ends in &plan.variables {
            for message in [ends.weights, ends.others] {
                last_use[message.number as usize] = usize::MAX;
                buffers.assign(message, ends.states as usize, &mut Vec::new());
            }
        }
        let mut free = Vec::new();
        for (number, operation) in plan.operations.iter().enumerate() {
            if buffers.buffer_of[operation.result.number as usize] == u32::MAX {
                buffers.assign(operation.result, operation.entries, &mut free);
            }
            let is_done = |factor: &&Message| last_use[factor.number as usize] == number;
            let done = operation.factors.iter().filter(is_done);
            free.extend(done.map(|&factor| buffers.of(factor)));
        }
        buffers
    }

    /// Gives `message` the smallest of the `free` buffers that it fits into and at least half
    /// fills. If there is no such buffer, adds a new one.
    fn assign(&mut self, message: Message, entries: usize, free: &mut Vec<usize>) {
        let fits = |buffer: &usize| (entries..=2 * entries).contains(&self.sizes[*buffer]);
        let fitting = (0..free.len()).filter(|&at| fits(&free[at]));
        let buffer = match fitting.min_by_key(|&at| self.sizes[free[at]]) {
            Some(at) => free.swap_remove(at),
            None => {
                self.sizes.push(entries);
                self.sizes.len() - 1
            }
        };
        self.buffer_of[message.number as usize] = buffer as u32;
    }

    /// The buffer of `message`.
    fn of(&self, message: Message) -> usize {
        self.buffer_of[message.number as usize] as usize
    }

    /// Bytes of the assignment.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.buffer_of) + size_of_val(&*self.sizes)
    }

    /// Number of entries of all buffers together.
    pub fn entries(&self) -> usize {
        self.sizes.iter().sum()
    }
}

/// The messages of a group of cases. An entry has one number per case.
pub struct GroupState<T> {
    /// By buffer: the entries of the message that it currently holds.
    messages: Vec<Vec<PerCase<T>>>,
    /// By message: for each case, the largest entry, and the smallest entry other than zero. For
    /// messages from variables, whose entries are at most 1, the number 1 is stored instead of the
    /// largest entry.
    ranges: Vec<[PerCase<T>; 2]>,
    /// The messages whose small entries were raised; see [`bounds`](crate::engine::bounds).
    raised: Vec<Raised>,
    /// By case: whether a weight of a finding is below the normal numbers of `T`.
    has_tiny_weight: [bool; CASES_PER_GROUP],
    /// By message and case: the exponent of the power of two by which the message must be
    /// multiplied.
    exponents: Vec<[i64; CASES_PER_GROUP]>,
    /// By case: the exponent of the power of two by which the product of the weights of all its
    /// findings must be multiplied.
    weight_exponents: [i64; CASES_PER_GROUP],
}

/// A message whose small entries were raised for one case.
struct Raised {
    /// The number of the message.
    message: usize,
    case: usize,
    /// The level to which entries were raised, as the exponent of a power of two.
    level: i32,
    /// Number of entries of the message.
    entries: usize,
}

/// Entries are raised to the error of their message times two to the power of this, so that entries
/// that are not raised have a relative error of at most 2^-40. With a larger number, more cases
/// would be computed again.
const ABOVE_ERROR: i32 = 40;

impl<T: Real> GroupState<T> {
    /// A state without messages.
    pub fn new(plan: &Plan<T>, buffers: &Buffers) -> Self {
        // Weights are at most one.
        let ranges = vec![[[T::ONE; CASES_PER_GROUP]; 2]; plan.messages];
        let buffer = |&size: &usize| allocate::zeros(size);
        Self {
            messages: buffers.sizes.iter().map(buffer).collect(),
            ranges,
            raised: Vec::new(),
            has_tiny_weight: [false; CASES_PER_GROUP],
            exponents: vec![[0; CASES_PER_GROUP]; plan.messages],
            weight_exponents: [0; CASES_PER_GROUP],
        }
    }

    /// Bytes of one state for `plan`.
    pub fn bytes(plan: &Plan<T>, buffers: &Buffers) -> usize {
        let per_message = size_of::<[PerCase<T>; 2]>() + size_of::<[i64; CASES_PER_GROUP]>();
        buffers.entries() * size_of::<PerCase<T>>()
            + buffers.sizes.len() * size_of::<Vec<PerCase<T>>>()
            + plan.messages * per_message
    }

    /// Enters the findings of up to [`CASES_PER_GROUP`] cases.
    pub fn enter(&mut self, plan: &Plan<T>, buffers: &Buffers, cases: &[Evidence]) {
        for ends in &plan.variables {
            self.messages[buffers.of(ends.weights)].fill([T::ONE; CASES_PER_GROUP]);
            self.ranges[ends.weights.number as usize][1] = [T::ONE; CASES_PER_GROUP];
        }
        self.raised.clear();
        self.has_tiny_weight = [false; CASES_PER_GROUP];
        let normal = T::ONE.scale(T::LIMITS.normal);
        self.weight_exponents = [0; CASES_PER_GROUP];
        for (number, case) in cases.iter().enumerate() {
            for (variable, finding) in case.iter() {
                let ends = plan.variables[variable.index()];
                let (scale, exponent) = weight_scale(finding);
                self.weight_exponents[number] += exponent;
                let weights = &mut self.messages[buffers.of(ends.weights)];
                let smallest = &mut self.ranges[ends.weights.number as usize][1][number];
                for (state, weight) in weights.iter_mut().enumerate() {
                    let exact = finding.weight(state);
                    let value = T::from_f64(exact.scale(scale));
                    weight[number] = value;
                    self.has_tiny_weight[number] |= exact > 0.0 && value < normal;
                    if value > T::ZERO && value < *smallest {
                        *smallest = value;
                    }
                }
            }
        }
    }

    /// Computes the message of `operation`. The inputs must have been computed.
    pub fn compute(&mut self, plan: &Plan<T>, buffers: &Buffers, operation: &Operation) {
        let mut scales =
            Scales { first: [T::ONE; CASES_PER_GROUP], second: [T::ONE; CASES_PER_GROUP] };
        let mut exponents = [0; CASES_PER_GROUP];
        let mut shifts = [[0; CASES_PER_GROUP]; 2];
        let both = [(&mut scales.first, FIRST_INPUT_EXPONENT), (&mut scales.second, 0)];
        let inputs = both.into_iter().zip(&operation.factors).zip(&mut shifts);
        for (((scales, target), factor), shifts) in inputs {
            let [largest, _] = &self.ranges[factor.number as usize];
            let before = &self.exponents[factor.number as usize];
            for case in 0..CASES_PER_GROUP {
                let shift = shift(largest[case], target);
                shifts[case] = shift;
                scales[case] = T::ONE.scale(shift);
                exponents[case] += before[case] - i64::from(shift);
            }
        }
        let number = operation.result.number as usize;
        self.exponents[number] = exponents;
        let buffer = buffers.of(operation.result);
        let mut result = std::mem::take(&mut self.messages[buffer]);
        let input = |which: usize| -> &[PerCase<T>] {
            let factor = operation.factors.get(which);
            factor.map_or(&[], |factor| &self.messages[buffers.of(*factor)])
        };
        let inputs = [input(0), input(1)];
        compute(plan, operation, &scales, inputs, &mut result, &mut self.ranges[number]);
        let may_underflow = self.may_underflow(operation, &scales);
        for case in (0..CASES_PER_GROUP).filter(|&case| may_underflow[case]) {
            let shifts = shifts.map(|shifts| shifts[case]);
            self.raise(operation, case, shifts, &mut result);
        }
        self.messages[buffer] = result;
    }

    /// By case: whether a product of the operation may have been below the normal numbers.
    fn may_underflow(&self, operation: &Operation, scales: &Scales<T>) -> [bool; CASES_PER_GROUP] {
        let smallest = |which: usize| match operation.factors.get(which) {
            Some(factor) => self.ranges[factor.number as usize][1],
            None => [T::ONE; CASES_PER_GROUP],
        };
        let (first, second) = (smallest(0), smallest(1));
        let (value, normal) = (T::from_f64(operation.smallest), T::ONE.scale(T::LIMITS.normal));
        std::array::from_fn(|case| {
            // All products that the kernel computes, in the orders of all kinds of operations.
            let unscaled = value * first[case];
            let one = unscaled * scales.first[case];
            let scaled = first[case] * scales.first[case];
            let both = one * second[case];
            let other = second[case] * scales.second[case];
            let products = [unscaled, one, scaled, both, both * scales.second[case], other];
            products.into_iter().any(|product| product < normal)
        })
    }

    /// Raises the small entries of `result`, the message of `operation`, for one case. `shifts` are
    /// the exponents of the scales of the two inputs.
    fn raise(
        &mut self,
        operation: &Operation,
        case: usize,
        shifts: [i32; 2],
        result: &mut [PerCase<T>],
    ) {
        let terms = operation.terms.max(2).ilog2() as i32 + 1;
        // A product that underflows may be multiplied by the scales afterwards, and its error too.
        let amplified: i32 = shifts.into_iter().map(|shift| shift.max(0)).sum();
        let level = T::LIMITS.smallest + amplified + terms + ABOVE_ERROR;
        let lowest = T::ONE.scale(level);
        let entries = operation.entries;
        for entry in &mut result[..entries] {
            entry[case] = if entry[case] < lowest { lowest } else { entry[case] };
        }
        let message = operation.result.number as usize;
        let [largest, smallest] = &mut self.ranges[message];
        smallest[case] = lowest;
        if largest[case] < lowest {
            largest[case] = lowest;
        }
        self.raised.push(Raised { message, case, level, entries });
    }

    /// The probability mass that raised entries may have added to `case`. `log2_total` is the
    /// logarithm of P(e), without the exponents of weights and of the plan.
    fn loss(&self, case: usize, log2_total: f64) -> Loss {
        let mut loss = Loss::default();
        for raised in self.raised.iter().filter(|raised| raised.case == case) {
            // The number of the message over the same edge in the other direction.
            let other = raised.message ^ 1;
            // The mass must still be multiplied by two to the power of this. The exponent of the
            // total is already in `log2_total`.
            let exponent = self.exponents[raised.message][case] + self.exponents[other][case];
            let largest = self.ranges[other][0][case].to_f64().log2();
            let mass = f64::from(raised.level) + (raised.entries as f64).log2() + largest;
            loss.add((mass - log2_total + exponent as f64).exp2(), 1.0);
        }
        loss
    }

    /// The answers to `cases`. All messages must have been computed. `offsets` has the position of
    /// each variable's first state in the posteriors; see [`Posteriors::offsets`].
    pub fn answers(
        &self,
        plan: &Plan<T>,
        buffers: &Buffers,
        offsets: &Arc<[usize]>,
        ln_scale: f64,
        cases: &[Evidence],
    ) -> BatchAnswers {
        let states = offsets[offsets.len() - 1];
        let mut values: Vec<Vec<f64>> = cases.iter().map(|_| vec![0.0; states]).collect();
        // A smaller sum may have lost digits or even all terms to underflow, so the case is
        // computed again. The smallest normal numbers of the two types are about 1e-38 and 1e-308.
        let min_sum = match T::PRECISION {
            Precision::F32 => 1e-36,
            Precision::F64 => 1e-290,
        };
        let (mut sums, mut are_possible) = ([0.0; CASES_PER_GROUP], [true; CASES_PER_GROUP]);
        // P(e) is the sum over the states of any variable. The first variable is visited last, so
        // its sums stay in `sums`.
        for (ends, &offset) in plan.variables.iter().zip(&offsets[..]).rev() {
            let message = |message: Message| &self.messages[buffers.of(message)];
            let (weights, others) = (message(ends.weights), message(ends.others));
            for (case, values) in values.iter_mut().enumerate() {
                let values = &mut values[offset..offset + ends.states as usize];
                for (state, value) in values.iter_mut().enumerate() {
                    *value = weights[state][case].to_f64() * others[state][case].to_f64();
                }
                sums[case] = values.iter().sum();
                are_possible[case] &= sums[case] > min_sum && sums[case].is_finite();
                let scale = 1.0 / sums[case];
                values.iter_mut().for_each(|value| *value *= scale);
            }
        }
        let exponents = &self.exponents[plan.variables[0].others.number as usize];
        let answer = |(case, values): (usize, Vec<f64>)| {
            if !are_possible[case] || self.has_tiny_weight[case] {
                return Err(RunError::OutOfRange);
            }
            self.loss(case, sums[case].log2() + exponents[case] as f64).check(T::PRECISION)?;
            let exponent = plan.exponent + exponents[case] + self.weight_exponents[case];
            let ln = f64::ln(sums[case]) + exponent as f64 * LN_2 + ln_scale;
            Ok(Posteriors::from_values(Arc::clone(offsets), values, ln))
        };
        values.into_iter().enumerate().map(answer).collect()
    }
}

/// The exponent of the power of two that brings `largest` near two to the power of `target`; zero
/// if `largest` is zero. It is limited so that the number type can hold the power of two.
fn shift<T: Real>(largest: T, target: i32) -> i32 {
    let max = match T::PRECISION {
        Precision::F32 => 127,
        Precision::F64 => 1000,
    };
    largest.scale_exponent().map_or(0, |exponent| (exponent + target).min(max))
}

/// The exponent of the power of two by which the weights of a finding are multiplied so that none
/// exceeds one; and the negative of this exponent, which must be added to the exponent of P(e).
pub fn weight_scale(finding: &Finding) -> (i32, i64) {
    let Finding::Likelihood(weights) = finding else { return (0, 0) };
    let largest = weights.iter().copied().fold(0.0, f64::max);
    let scale = largest.scale_exponent().unwrap_or(0) - 1;
    (scale, -i64::from(scale))
}
