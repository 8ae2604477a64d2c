//! How the terms of a sum of products are combined, as in `kernels/semiring.cuh`.

use std::ops::Add;

use super::kernels;
use crate::lowering::{Optimisation, Optimisations};

/// A semiring. Terms are numbers that are not negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Semiring {
    /// Terms are added, which gives posteriors and P(e).
    SumProduct,
    /// The largest term counts, which gives max-marginals.
    MaxProduct,
}

impl Semiring {
    /// Combines two terms: their sum or, for max-product, the larger one.
    #[inline]
    pub fn add<Number: Add<Output = Number> + PartialOrd>(self, a: Number, b: Number) -> Number {
        match self {
            Self::SumProduct => a + b,
            Self::MaxProduct if a < b => b,
            Self::MaxProduct => a,
        }
    }

    /// Combines all `terms` as [`add`](Self::add) does; zero if there are none.
    pub fn total(self, terms: impl Iterator<Item = f64>) -> f64 {
        terms.fold(0.0, |a, b| self.add(a, b))
    }

    /// The optimisations for planning contractions. In sum-product, messages to parents can be
    /// known to be one everywhere, because each row of a CPT adds up to one. In max-product they
    /// cannot: the largest entry of a row is rarely one.
    pub fn optimisations(self) -> Optimisations {
        match self {
            Self::SumProduct => Optimisations::default(),
            Self::MaxProduct => Optimisations::default().without(Optimisation::MessagesOfOne),
        }
    }

    /// The PTX of `kernels/table_free.cu`.
    pub fn table_free_kernels(self) -> &'static str {
        match self {
            Self::SumProduct => kernels::TABLE_FREE,
            Self::MaxProduct => kernels::TABLE_FREE_MAX,
        }
    }

    /// The PTX of `kernels/persistent.cu` for GPUs of this compute capability.
    pub fn persistent_kernels(self, capability: (i32, i32)) -> &'static str {
        match self {
            Self::SumProduct if capability >= (8, 0) => kernels::PERSISTENT_80,
            Self::SumProduct => kernels::PERSISTENT,
            Self::MaxProduct => kernels::PERSISTENT_MAX,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::cancel::CancelToken;
    use crate::engine::cuda::device::tests::has_gpu;
    use crate::engine::cuda::fixtures::{
        assert_agrees_with_twin, assert_near, load_options, networks, random_cases, small_networks,
    };
    use crate::engine::cuda::{GpuEngine, persistent, table_free};
    use crate::engine::{ErrorBound, LoadOptions, Propagator, RunError};
    use crate::network::{Evidence, Network};
    use crate::potential::{Odometer, Precision, Scope};
    use crate::propagation::{CompiledNetwork, Form, Posteriors, Watch};

    /// The twins of both forms of the engine.
    fn twins(compiled: &Arc<CompiledNetwork>) -> [Box<dyn Propagator>; 2] {
        [
            table_free::tests::max_product_twin(compiled),
            persistent::tests::max_product_twin(compiled),
        ]
    }

    fn run(propagator: &mut dyn Propagator, case: &Evidence) -> Result<Posteriors, RunError> {
        propagator.run(case, &Watch::untimed(CancelToken::new()))
    }

    /// The max-marginals, from the products of all configurations in double precision; `None` if
    /// the evidence is impossible.
    fn enumerated(network: &Network, evidence: &Evidence) -> Option<Posteriors> {
        let all = Scope::of(network, network.ids());
        let mut factors: Vec<_> = network
            .factors()
            .map(|factor| {
                let scope = Scope::of(network, factor.scope().iter().copied());
                (factor.values(), Odometer::new(&all, &scope))
            })
            .collect();
        let states_of = |variable| Odometer::new(&all, &Scope::of(network, [variable]));
        let mut states: Vec<_> = network.ids().map(states_of).collect();
        let mut marginals: Vec<Vec<f64>> =
            network.variables().iter().map(|variable| vec![0.0; variable.cardinality()]).collect();
        let mut largest = 0.0_f64;
        for _ in 0..all.entries() {
            let mut product = 1.0;
            for (values, index) in &mut factors {
                product *= values[index.next()?];
            }
            let configuration: Vec<usize> = states.iter_mut().map_while(Iterator::next).collect();
            for (variable, finding) in evidence.iter() {
                product *= finding.weight(configuration[variable.index()]);
            }
            for (marginal, &state) in marginals.iter_mut().zip(&configuration) {
                marginal[state] = product.max(marginal[state]);
            }
            largest = largest.max(product);
        }
        (largest > 0.0).then(|| {
            Posteriors::new(network, largest.ln(), |variable, states| {
                states.copy_from_slice(&marginals[variable.index()]);
            })
        })
    }

    #[test]
    fn max_marginals_are_those_of_all_configurations() {
        let (mut answered, mut impossible, mut out_of_range) = (0, 0, 0);
        let small = networks().into_iter().filter(|(compiled, _)| {
            let states = compiled.network().variables().iter().map(|v| v.cardinality() as f64);
            states.product::<f64>() < 5000.0
        });
        let mut small: Vec<_> = small.chain(small_networks(30)).collect();
        let (asia, cases) = &mut small[0];
        let mut contradiction = Evidence::none();
        contradiction.observe_named(asia.network(), "lung", "yes").unwrap();
        contradiction.observe_named(asia.network(), "either", "no").unwrap();
        cases.push(contradiction);
        for (compiled, cases) in small {
            let network = compiled.network();
            let bound = ErrorBound::of(Precision::F32);
            let mut twins = twins(&compiled);
            for case in &cases {
                let expected = enumerated(network, case);
                for twin in &mut twins {
                    match (run(&mut **twin, case), &expected) {
                        (Ok(found), Some(expected)) => {
                            answered += 1;
                            for (a, b) in found.values().iter().zip(expected.values()) {
                                assert!((a - b).abs() <= bound.posterior(network), "{a}, not {b}");
                            }
                            let (a, b) = (found.ln_p_evidence(), expected.ln_p_evidence());
                            assert!(
                                (a - b).abs() <= bound.ln_p_evidence(network, b),
                                "{a}, not {b}"
                            );
                        }
                        (Err(RunError::OutOfRange), Some(_)) => out_of_range += 1,
                        (found, expected) => {
                            assert!(found.is_err() && expected.is_none(), "{found:?}");
                            impossible += 1;
                        }
                    }
                }
            }
        }
        // Only the network whose 600 factors favour the one and the other state in turn is out of
        // the range of single precision.
        assert!(answered > 250 && impossible > 0 && out_of_range <= 8, "{answered} {impossible}");
    }

    #[test]
    fn both_forms_find_the_same_max_marginals_in_larger_networks() {
        let mut answered = 0;
        for (compiled, _) in networks().into_iter().take(5) {
            let mut cases = random_cases(&compiled, 3);
            cases.push(Evidence::none());
            let [mut table_free, mut persistent] = twins(&compiled);
            for case in &cases {
                let found = run(&mut *persistent, case);
                // Max-marginals of a large network can have a wider range than single precision.
                if found == Err(RunError::OutOfRange) {
                    continue;
                }
                answered += 1;
                assert_near(&found, &run(&mut *table_free, case));
            }
        }
        assert!(answered >= 16, "{answered} answered");
    }

    #[test]
    fn the_gpu_finds_the_max_marginals_of_the_twins() {
        if !has_gpu("the_gpu_finds_the_max_marginals_of_the_twins") {
            return;
        }
        for (compiled, cases) in networks() {
            let forms = [Form::TableFree, Form::Tables];
            for (form, mut twin) in forms.into_iter().zip(twins(&compiled)) {
                let options = LoadOptions { form: Some(form), ..load_options(Precision::F32) };
                let mut gpu = GpuEngine.load_max_product(&compiled, &options).unwrap();
                assert_eq!(gpu.form(), Some(form));
                assert_agrees_with_twin(&compiled, &cases, &mut *gpu, &mut *twin);
                // A batch must not be left to the kernel that adds terms up.
                let batch: Vec<Evidence> = cases.iter().cycle().take(20).cloned().collect();
                let answers = gpu.run_batch(&batch, &Watch::untimed(CancelToken::new())).unwrap();
                let single: Vec<_> = batch.iter().map(|case| run(&mut *gpu, case)).collect();
                assert_eq!(answers, single);
            }
            eprintln!("{}: {} cases agree", compiled.network().name(), cases.len());
        }
    }
}
