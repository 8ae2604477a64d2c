//! What the cases of one group need, and their propagation.

use std::f64::consts::LN_2;
use std::sync::Arc;

use crate::engine::{BatchAnswers, RunError};
use crate::network::{Evidence, Finding};
use crate::potential::{Precision, Real};
use crate::propagation::Posteriors;

use super::kernel::{CASES_PER_GROUP, Numbers, Scales, compute};
use super::plan::{Message, Operation, Plan};

/// The first factor of a product is scaled to have its largest entry near two to this power, and
/// the second near one: no sum of products in single precision can overflow, and what is lost below
/// is smaller than the largest by a factor of 2^150 or more.
pub const NORMAL: i32 = 32;

/// Which messages share memory: one that is not needed any more leaves its room to others, so that
/// what is worked on stays in a cache.
pub struct Rooms {
    of_message: Vec<u32>,
    /// Entries of each.
    pub sizes: Vec<usize>,
}

impl Rooms {
    /// For messages that are computed in the order of the plan. What posteriors are read from stays.
    pub fn new<T: Real>(plan: &Plan<T>) -> Self {
        let mut rooms = Self { of_message: vec![u32::MAX; plan.messages], sizes: Vec::new() };
        let mut last_use = vec![0; plan.messages];
        for (number, operation) in plan.operations.iter().enumerate() {
            operation.factors.iter().for_each(|factor| last_use[factor.number as usize] = number);
        }
        for ends in &plan.variables {
            for message in [ends.weights, ends.others] {
                last_use[message.number as usize] = usize::MAX;
                rooms.place(message, ends.states as usize, &mut Vec::new());
            }
        }
        let mut free = Vec::new();
        for (number, operation) in plan.operations.iter().enumerate() {
            if rooms.of_message[operation.result.number as usize] == u32::MAX {
                rooms.place(operation.result, operation.rows.len(), &mut free);
            }
            let done = |factor: &&Message| last_use[factor.number as usize] == number;
            free.extend(operation.factors.iter().filter(done).map(|&factor| rooms.of(factor)));
        }
        rooms
    }

    /// Gives `message` the smallest free room that it fits in without wasting half of it, or a new
    /// one.
    fn place(&mut self, message: Message, entries: usize, free: &mut Vec<usize>) {
        let fits = |room: &usize| (entries..=2 * entries).contains(&self.sizes[*room]);
        let places = (0..free.len()).filter(|&at| fits(&free[at]));
        let room = match places.min_by_key(|&at| self.sizes[free[at]]) {
            Some(at) => free.swap_remove(at),
            None => {
                self.sizes.push(entries);
                self.sizes.len() - 1
            }
        };
        self.of_message[message.number as usize] = room as u32;
    }

    fn of(&self, message: Message) -> usize {
        self.of_message[message.number as usize] as usize
    }
}

/// Messages of a group of cases.
pub struct State<T> {
    /// In rooms, which serve several messages one after another.
    messages: Vec<Vec<Numbers<T>>>,
    /// The largest entry of each message.
    largest: Vec<Numbers<T>>,
    /// Each message must be multiplied by two to this power.
    exponents: Vec<[i64; CASES_PER_GROUP]>,
    /// What was taken out of the weights of each case.
    of_weights: [i64; CASES_PER_GROUP],
}

impl<T: Real> State<T> {
    pub fn new(plan: &Plan<T>, rooms: &Rooms) -> Self {
        let mut largest = vec![[T::ZERO; CASES_PER_GROUP]; plan.messages];
        for ends in &plan.variables {
            // Weights are at most one.
            largest[ends.weights.number as usize] = [T::ONE; CASES_PER_GROUP];
        }
        Self {
            messages: rooms
                .sizes
                .iter()
                .map(|&size| vec![[T::ZERO; CASES_PER_GROUP]; size])
                .collect(),
            largest,
            exponents: vec![[0; CASES_PER_GROUP]; plan.messages],
            of_weights: [0; CASES_PER_GROUP],
        }
    }

    /// Bytes that a state for `plan` takes.
    pub fn bytes(plan: &Plan<T>, rooms: &Rooms) -> usize {
        let of_message = size_of::<Numbers<T>>() + size_of::<[i64; CASES_PER_GROUP]>();
        let entries: usize = rooms.sizes.iter().sum();
        entries * size_of::<Numbers<T>>() + plan.messages * of_message
    }

    /// Enters the findings of up to [`CASES_PER_GROUP`] cases.
    pub fn enter(&mut self, plan: &Plan<T>, rooms: &Rooms, cases: &[Evidence]) {
        for ends in &plan.variables {
            self.messages[rooms.of(ends.weights)].fill([T::ONE; CASES_PER_GROUP]);
        }
        self.of_weights = [0; CASES_PER_GROUP];
        for (lane, case) in cases.iter().enumerate() {
            for (variable, finding) in case.iter() {
                let ends = plan.variables[variable.index()];
                let (scale, exponent) = scale_of(finding);
                self.of_weights[lane] += exponent;
                let weights = &mut self.messages[rooms.of(ends.weights)];
                for (state, weight) in weights.iter_mut().enumerate() {
                    weight[lane] = T::from_f64(finding.weight(state).scale(scale));
                }
            }
        }
    }

    /// Computes a message; those that it needs were computed before.
    pub fn compute(&mut self, plan: &Plan<T>, rooms: &Rooms, operation: &Operation) {
        let mut scales =
            Scales { first: [T::ONE; CASES_PER_GROUP], second: [T::ONE; CASES_PER_GROUP] };
        let mut exponents = [0; CASES_PER_GROUP];
        let both = [(&mut scales.first, NORMAL), (&mut scales.second, 0)];
        for ((scales, normal), factor) in both.into_iter().zip(&operation.factors) {
            let largest = &self.largest[factor.number as usize];
            let before = &self.exponents[factor.number as usize];
            for lane in 0..CASES_PER_GROUP {
                let shift = shift(largest[lane], normal);
                scales[lane] = T::ONE.scale(shift);
                exponents[lane] += before[lane] - i64::from(shift);
            }
        }
        let number = operation.result.number as usize;
        self.exponents[number] = exponents;
        let room = rooms.of(operation.result);
        let mut result = std::mem::take(&mut self.messages[room]);
        let factor = |which: usize| -> &[Numbers<T>] {
            let factor = operation.factors.get(which);
            factor.map_or(&[], |factor| &self.messages[rooms.of(*factor)])
        };
        let factors = [factor(0), factor(1)];
        compute(plan, operation, &scales, factors, &mut result, &mut self.largest[number]);
        self.messages[room] = result;
    }

    /// The answers to `cases`, which were propagated.
    pub fn answers(
        &self,
        plan: &Plan<T>,
        rooms: &Rooms,
        offsets: &Arc<[usize]>,
        ln_scale: f64,
        cases: &[Evidence],
    ) -> BatchAnswers {
        let states = offsets[offsets.len() - 1];
        let mut values: Vec<Vec<f64>> = cases.iter().map(|_| vec![0.0; states]).collect();
        let least = match T::PRECISION {
            Precision::F32 => 1e-36,
            Precision::F64 => 1e-290,
        };
        let (mut sums, mut are_possible) = ([0.0; CASES_PER_GROUP], [true; CASES_PER_GROUP]);
        // The sum over any variable is P(e).
        let mut p_evidence = [0.0; CASES_PER_GROUP];
        for (ends, &offset) in plan.variables.iter().zip(&offsets[..]).rev() {
            let of = |message: Message| &self.messages[rooms.of(message)];
            let (weights, others) = (of(ends.weights), of(ends.others));
            for (lane, values) in values.iter_mut().enumerate() {
                let values = &mut values[offset..offset + ends.states as usize];
                for (state, value) in values.iter_mut().enumerate() {
                    *value = weights[state][lane].to_f64() * others[state][lane].to_f64();
                }
                sums[lane] = values.iter().sum();
                // Where it is near what no number holds, digits are lost, or all of it.
                are_possible[lane] &= sums[lane] > least;
                let scale = 1.0 / sums[lane];
                values.iter_mut().for_each(|value| *value *= scale);
            }
            p_evidence = sums;
        }
        let exponents = &self.exponents[plan.variables[0].others.number as usize];
        let answer = |(lane, values): (usize, Vec<f64>)| {
            if !are_possible[lane] {
                return Err(RunError::Impossible);
            }
            let exponent = plan.exponent + exponents[lane] + self.of_weights[lane];
            let ln = f64::ln(p_evidence[lane]) + exponent as f64 * LN_2 + ln_scale;
            Ok(Posteriors::from_values(Arc::clone(offsets), values, ln))
        };
        values.into_iter().enumerate().map(answer).collect()
    }
}

/// The power of two that brings `largest` near two to the power of `normal`, as far as there are
/// such numbers.
fn shift<T: Real>(largest: T, normal: i32) -> i32 {
    let most = match T::PRECISION {
        Precision::F32 => 127,
        Precision::F64 => 1000,
    };
    largest.scale_exponent().map_or(0, |exponent| (exponent + normal).min(most))
}

/// The power of two by which the weights of a finding are multiplied so that none is above one, and
/// the one that the result must then be multiplied by.
pub fn scale_of(finding: &Finding) -> (i32, i64) {
    let Finding::Likelihood(weights) = finding else { return (0, 0) };
    let largest = weights.iter().copied().fold(0.0, f64::max);
    let scale = largest.scale_exponent().unwrap_or(0) - 1;
    (scale, -i64::from(scale))
}
