//! Many cases in one call: each block propagates whole cases, one after another.
//!
//! While the GPU works on some cases, the threads of the host make answers of those before and pack
//! those after them.

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use super::items::Grain;
use super::words::Word;
use super::{Flow, tables};
use crate::cancel::Cancelled;
use crate::engine::{BatchAnswers, PropagationFailure};
use crate::network::{Evidence, Finding};
use crate::propagation::{CompiledNetwork, Watch};

/// A block does a case alone: items as large as they can be.
pub(super) const GRAIN: Grain = Grain { threads: 64, shares: 1, least: usize::MAX };

/// Places for cases on their way, so that the host and the GPU work at the same time.
pub(super) const SLOTS: usize = 2;

/// What propagates cases: the GPU, or its twin.
pub(super) trait Executor: Send {
    /// Cases that a slot holds.
    fn capacity(&self) -> usize;

    /// Where the evidence of the cases of a slot is to be packed.
    fn evidence(&mut self, slot: usize, words: usize) -> &mut [u32];

    /// Starts on the cases of a slot, each with so many words of evidence.
    fn start(
        &mut self,
        flow: &Flow,
        slot: usize,
        cases: usize,
        evidence_words: usize,
    ) -> Result<(), PropagationFailure>;

    /// Waits for the results of a slot: for each case the words of its posteriors and of P(e).
    fn results(&mut self, slot: usize) -> Result<&[u64], PropagationFailure>;
}

/// What is needed for many cases of one network.
pub(super) struct Cases {
    flow: Flow,
    exponent: i64,
    executor: Box<dyn Executor>,
    threads: Option<ThreadPool>,
}

impl Cases {
    /// `None` where there is no layout or no memory for it; `executor` is given the records.
    pub fn new(
        compiled: &CompiledNetwork,
        threads: usize,
        executor: impl FnOnce(&Flow, Vec<u32>) -> Option<Box<dyn Executor>>,
    ) -> Option<Self> {
        let flow = Flow::new(compiled, GRAIN)?;
        let (tables, exponent) = tables::fill(compiled, &flow.items);
        let mut records = Vec::with_capacity(flow.items.record_words());
        let all: Vec<usize> = (0..flow.items.len()).collect();
        flow.items.in_order(&all, &tables, &mut records);
        let executor = executor(&flow, records)?;
        let threads = ThreadPoolBuilder::new().num_threads(threads.max(1)).build().ok();
        Some(Self { flow, exponent, executor, threads })
    }

    pub fn run(&mut self, cases: &[Evidence], watch: &Watch) -> Result<BatchAnswers, Cancelled> {
        let mut answers = Vec::with_capacity(cases.len());
        let parts: Vec<&[Evidence]> = cases.chunks(self.executor.capacity()).collect();
        let mut exponents: [Vec<i64>; SLOTS] = Default::default();
        for next in 0..=parts.len() {
            watch.check()?;
            let mut started = Ok(());
            if let Some(cases) = parts.get(next) {
                started = self.start(next % SLOTS, cases, &mut exponents[next % SLOTS]);
            }
            if let Some(before) = next.checked_sub(1) {
                let slot = before % SLOTS;
                answers.extend(self.answers(slot, parts[before], &exponents[slot]));
            }
            if let Err(failure) = started {
                answers.resize(cases.len(), Err(failure));
                break;
            }
        }
        Ok(answers)
    }

    fn start(
        &mut self,
        slot: usize,
        cases: &[Evidence],
        exponents: &mut Vec<i64>,
    ) -> Result<(), PropagationFailure> {
        let is_soft = |(_, finding): (_, &Finding)| matches!(finding, Finding::Likelihood(_));
        let any_soft = cases.iter().any(|case| case.iter().any(is_soft));
        let words = if any_soft { self.flow.evidence_words() } else { self.flow.variables }.max(1);
        let (flow, executor) = (&self.flow, &mut self.executor);
        let packed = executor.evidence(slot, words * cases.len());
        let mut pack = || {
            let pairs = cases.par_iter().zip(packed.par_chunks_mut(words.max(1)));
            pairs.map(|(case, words)| flow.pack(case, true, words)).collect_into_vec(exponents);
        };
        match &self.threads {
            Some(threads) => threads.install(pack),
            None => pack(),
        }
        executor.start(flow, slot, cases.len(), words)
    }

    fn answers(&mut self, slot: usize, cases: &[Evidence], exponents: &[i64]) -> BatchAnswers {
        let (flow, of_potentials) = (&self.flow, self.exponent);
        let results = match self.executor.results(slot) {
            Ok(results) => results,
            Err(failure) => return vec![Err(failure); cases.len()],
        };
        let answer = |((case, exponent), words): ((&Evidence, &i64), &[u64])| {
            flow.answer(case, of_potentials + exponent, |at| Word(words[at]))
        };
        let make = || {
            let inputs = cases.par_iter().zip(exponents);
            inputs.zip(results.par_chunks(flow.result_words())).map(answer).collect()
        };
        match &self.threads {
            Some(threads) => threads.install(make),
            None => make(),
        }
    }
}
