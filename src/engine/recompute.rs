//! Computes cases again whose numbers are out of the range of an engine.

use std::sync::Arc;

use super::{
    BatchAnswers, GpuPropagator, LoadError, LoadOptions, Propagator, RunError, cpu, default_engine,
};
use crate::cancel::Cancelled;
use crate::network::Evidence;
use crate::potential::Precision;
use crate::propagation::{CompiledNetwork, Form, MemoryLimit, Posteriors, Watch};

/// A propagator that also answers cases out of the range of the `propagator` in it.
///
/// If a run of `propagator` fails with [`RunError::OutOfRange`], the case is computed again on the
/// CPU: in double precision if the propagator computes in single precision, otherwise with
/// [`Wide`](super::wide::Wide) numbers. The watch notes that the case was computed again.
struct Recomputing {
    propagator: Box<dyn Propagator>,
    compiled: Arc<CompiledNetwork>,
    options: LoadOptions,
    /// The propagator of a wider range, which computes cases again; `None` before the first such
    /// case.
    wider: Option<Box<dyn Propagator>>,
}

/// `propagator`, into which `compiled` was loaded with `options`, extended to answer cases out of
/// its range too.
pub(super) fn recomputing(
    propagator: Box<dyn Propagator>,
    compiled: &Arc<CompiledNetwork>,
    options: &LoadOptions,
) -> Box<dyn Propagator> {
    let (compiled, options) = (Arc::clone(compiled), *options);
    Box::new(Recomputing { propagator, compiled, options, wider: None })
}

impl Recomputing {
    /// The propagator that computes cases again. It is loaded at the first call, within the part of
    /// the memory limit that `propagator` does not use.
    ///
    /// # Errors
    /// [`RunError::OutOfRange`] if this part is too small; another error if the machine itself has
    /// too little memory.
    fn wider(&mut self) -> Result<&mut dyn Propagator, RunError> {
        if self.wider.is_none() {
            // Both propagators count the network and its tree.
            let own = self.propagator.peak_bytes().saturating_sub(self.compiled.structure_bytes(0));
            let limit = self.options.memory.bytes().saturating_sub(own);
            let memory = MemoryLimit::from_bytes(limit);
            self.wider = Some(match self.options.precision {
                Precision::F32 => {
                    // Cases that are computed again are rare, so tables would not pay off.
                    let form = Some(Form::TableFree);
                    let precision = Precision::F64;
                    let options = LoadOptions { precision, form, memory, ..self.options };
                    let loaded = default_engine().load(&self.compiled, &options);
                    loaded.map_err(|error| match error {
                        LoadError::OutOfMemory { error, .. } => error.into(),
                        _ => RunError::OutOfRange,
                    })?
                }
                Precision::F64 => {
                    Box::new(cpu::wide(&self.compiled, self.options.threads, memory)?)
                }
            });
        }
        Ok(&mut **self.wider.as_mut().expect("it was loaded"))
    }

    /// Computes `evidence` again.
    fn recompute(&mut self, evidence: &Evidence, watch: &Watch) -> Result<Posteriors, RunError> {
        watch.recompute(|watch| self.wider()?.run(evidence, watch)).map(Posteriors::recomputed)
    }
}

impl Propagator for Recomputing {
    fn run(&mut self, evidence: &Evidence, watch: &Watch) -> Result<Posteriors, RunError> {
        match self.propagator.run(evidence, watch) {
            Err(RunError::OutOfRange) => self.recompute(evidence, watch),
            answer => answer,
        }
    }

    fn run_batch(&mut self, cases: &[Evidence], watch: &Watch) -> Result<BatchAnswers, Cancelled> {
        let mut answers = self.propagator.run_batch(cases, watch)?;
        for (answer, case) in answers.iter_mut().zip(cases) {
            if *answer == Err(RunError::OutOfRange) {
                watch.check()?;
                *answer = self.recompute(case, watch);
            }
            if *answer == Err(RunError::Cancelled) {
                return Err(Cancelled);
            }
        }
        Ok(answers)
    }

    fn forget(&mut self) {
        self.propagator.forget();
        self.wider.iter_mut().for_each(|wider| wider.forget());
    }

    fn peak_bytes(&self) -> u64 {
        // Both propagators count the network and its tree.
        let structure = self.compiled.structure_bytes(0);
        let wider = self.wider.as_ref().map_or(0, |wider| wider.peak_bytes());
        self.propagator.peak_bytes() + wider.saturating_sub(structure)
    }

    fn form(&self) -> Option<Form> {
        self.propagator.form()
    }

    fn threads(&self) -> usize {
        self.propagator.threads()
    }

    fn gpu(&mut self) -> Option<&mut dyn GpuPropagator> {
        self.propagator.gpu()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cancel::CancelToken;
    use crate::engine::fixtures::{load_options, markov};
    use crate::propagation::{CompileOptions, compile};

    /// A propagator that takes this many bytes and answers no case.
    struct Failing(u64);

    impl Propagator for Failing {
        fn run(&mut self, _: &Evidence, _: &Watch) -> Result<Posteriors, RunError> {
            Err(RunError::OutOfRange)
        }

        fn peak_bytes(&self) -> u64 {
            self.0
        }
    }

    #[test]
    fn both_propagators_together_count_the_network_once() {
        let network = markov(&[2; 50_000], Vec::new());
        let compiled = compile(network, &CompileOptions::default(), &CancelToken::new()).unwrap();
        let structure = compiled.structure_bytes(0);
        let compiled = Arc::new(compiled);
        assert!(structure > 1 << 20);
        let forecast = default_engine().forecast(&compiled, Precision::F64);
        let table_free = forecast.forms.iter().find(|form| form.form == Form::TableFree);
        let (tables, wider) = (1 << 20, table_free.expect("it has this form").bytes);
        let answer = |memory: u64| {
            let memory = MemoryLimit::from_bytes(memory);
            let options = LoadOptions { memory, ..load_options(Precision::F32) };
            let failing = Box::new(Failing(structure + tables));
            let watch = Watch::untimed(CancelToken::new());
            let mut propagator = recomputing(failing, &compiled, &options);
            let answer = propagator.run(&Evidence::none(), &watch);
            (answer, propagator.peak_bytes())
        };
        let (answered, peak) = answer(tables + wider);
        assert!(answered.expect("there is enough memory").is_recomputed());
        assert!(peak <= tables + wider, "{peak}, {tables}, {wider}");
        assert_eq!(answer(tables + wider - 1).0.err(), Some(RunError::OutOfRange));
    }
}
