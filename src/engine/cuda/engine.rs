//! Engine `gpu`, and the choice between its two forms.

use std::sync::Arc;

use super::device::{Device, device, known_device};
use super::semiring::Semiring;
use super::table_free::TOO_MANY_TABLES;
use super::{persistent, table_free};
use crate::allocate::{self, shared_pool};
use crate::engine::{
    Engine, EngineInfo, GPU, LoadError, LoadOptions, Propagator, check_precision, recomputing,
};
use crate::potential::Precision;
use crate::propagation::{CompiledNetwork, Forecast, Form, FormForecast, TooLarge};

/// The engine `gpu`.
pub struct GpuEngine;

/// A network with more table entries than this is not loaded with tables: making the records of the
/// work items would take seconds, and many times the memory of the entries. If it is wrong, the
/// slower form may be taken.
const MAX_TABLE_ENTRIES: u64 = 1 << 26;

/// The form without tables is ruled out if one propagation is forecast to take more hours than
/// this.
const MAX_HOURS: f64 = 24.0;

/// The forms in which the engine can hold a network, and what was computed to forecast them.
struct Forms {
    tables: Option<(FormForecast, persistent::Prepared)>,
    table_free: Option<(FormForecast, table_free::Prepared)>,
    /// Why the engine does not support the network, if both forms are `None`. The text follows the
    /// word "but" in the message of [`TooLarge`].
    reason: String,
}

impl Forms {
    /// As [`new`](Self::new), on the threads of the [`shared_pool`].
    ///
    /// # Panics
    /// If these threads cannot be started. [`or_error`](allocate::or_error) turns this panic into
    /// an error.
    fn on_all_threads(compiled: &CompiledNetwork, form: Option<Form>, semiring: Semiring) -> Self {
        let pool = shared_pool().unwrap_or_else(|| allocate::fail());
        pool.install(|| Self::new(compiled, form, semiring))
    }

    /// The forms for `compiled`. If `form` is given, only this form is prepared. But if the network
    /// cannot have tables, the form without tables is prepared in their place.
    fn new(compiled: &CompiledNetwork, form: Option<Form>, semiring: Semiring) -> Self {
        let tables = || {
            let entries = compiled.statistics().total_clique_entries;
            let may_have_tables = compiled.observed().is_empty() && entries <= MAX_TABLE_ENTRIES;
            if !may_have_tables || form == Some(Form::TableFree) {
                return None;
            }
            let prepared = persistent::Prepared::new(compiled, semiring).ok()?;
            Some((prepared.forecast(compiled), prepared))
        };
        let (tables, table_free) = if form == Some(Form::Tables) {
            let tables = tables();
            let table_free =
                if tables.is_some() { Err(String::new()) } else { table_free(compiled, semiring) };
            (tables, table_free)
        } else {
            rayon::join(tables, || table_free(compiled, semiring))
        };
        match table_free {
            Ok(table_free) => Self { tables, table_free: Some(table_free), reason: String::new() },
            Err(reason) => Self { tables, table_free: None, reason },
        }
    }

    /// The forecast for engine `gpu` with these forms.
    fn forecast(&self, compiled: &CompiledNetwork, precision: Precision) -> Forecast {
        let tables = self.tables.as_ref().map(|(forecast, _)| *forecast);
        let table_free = self.table_free.as_ref().map(|(forecast, _)| *forecast);
        let forms: Vec<FormForecast> = tables.into_iter().chain(table_free).collect();
        if forms.is_empty() {
            let reason = self.reason.clone();
            return Forecast::unsupported(GPU.name, precision, compiled, reason);
        }
        Forecast::new(GPU.name, precision, compiled, 0).with_forms(forms)
    }
}

/// The form without tables for `compiled`, or why the engine does not support it, as in
/// [`Forms::reason`].
fn table_free(
    compiled: &CompiledNetwork,
    semiring: Semiring,
) -> Result<(FormForecast, table_free::Prepared), String> {
    let (max_ns, entries) = (MAX_HOURS * 3.6e12, compiled.statistics().total_clique_entries);
    let too_slow = || format!("one propagation would take more than {MAX_HOURS} hours");
    // Each entry takes part in at least one product of each pass. This lower bound of the time is
    // checked first, because the plan of such large contractions would itself be large.
    if 2.0 * table_free::PRODUCT_NS * entries as f64 > max_ns {
        return Err(too_slow());
    }
    let prepared = table_free::Prepared::new(compiled, semiring);
    let prepared = prepared.ok_or_else(|| TOO_MANY_TABLES.to_owned())?;
    let forecast = prepared.forecast(compiled);
    if forecast.run_ns > max_ns { Err(too_slow()) } else { Ok((forecast, prepared)) }
}

impl Engine for GpuEngine {
    fn info(&self) -> &'static EngineInfo {
        &GPU
    }

    fn availability(&self) -> Result<(), String> {
        device().map(|_| ())
    }

    fn known_availability(&self) -> Option<Result<(), String>> {
        known_device().map(|known| known.map(|_| ()))
    }

    fn forecast(&self, compiled: &CompiledNetwork, precision: Precision) -> Forecast {
        let forms = Forms::on_all_threads(compiled, None, Semiring::SumProduct);
        forms.forecast(compiled, precision)
    }

    fn load(
        &self,
        compiled: &Arc<CompiledNetwork>,
        options: &LoadOptions,
    ) -> Result<Box<dyn Propagator>, LoadError> {
        let propagator = self.load_for(Semiring::SumProduct, compiled, options)?;
        Ok(recomputing(propagator, compiled, options))
    }
}

impl GpuEngine {
    /// Loads `compiled` for max-product. What its propagator returns as posteriors are
    /// max-marginals: for each state of a variable, the probability of the most probable
    /// configuration of all variables with this state and the evidence, divided by the sum of these
    /// probabilities over the variable's states. In place of ln P(e), it returns the logarithm of
    /// the probability of the most probable configuration with the evidence.
    ///
    /// Nothing is computed again on the CPU: a run fails with
    /// [`OutOfRange`](crate::engine::RunError::OutOfRange) if the range of single precision is not
    /// enough, for example to show that the evidence is impossible. In large networks this is more
    /// common than for posteriors: the ratio of the largest probabilities for two states of a
    /// variable can have a factor from every one of the other variables. The form without tables
    /// answers more of these cases. A batch is propagated case by case.
    ///
    /// # Errors
    /// As [`load`](Engine::load).
    pub fn load_max_product(
        &self,
        compiled: &Arc<CompiledNetwork>,
        options: &LoadOptions,
    ) -> Result<Box<dyn Propagator>, LoadError> {
        self.load_for(Semiring::MaxProduct, compiled, options)
    }

    /// Loads `compiled` for `semiring`. Its propagator does not compute cases again that are out of
    /// range.
    fn load_for(
        &self,
        semiring: Semiring,
        compiled: &Arc<CompiledNetwork>,
        options: &LoadOptions,
    ) -> Result<Box<dyn Propagator>, LoadError> {
        let engine = self.name();
        let device = device().map_err(|reason| LoadError::Unavailable { engine, reason })?;
        check_precision(self, options.precision)?;
        allocate::or_error(|| self.load_on(device, semiring, compiled, options))
            .unwrap_or_else(|error| Err(LoadError::OutOfMemory { engine, error }))
    }

    /// Loads `compiled` on `device`, as [`load_for`](Self::load_for) does.
    ///
    /// # Panics
    /// If the host has not enough memory. [`or_error`](allocate::or_error) turns this panic into an
    /// error.
    fn load_on(
        &self,
        device: &'static Device,
        semiring: Semiring,
        compiled: &Arc<CompiledNetwork>,
        options: &LoadOptions,
    ) -> Result<Box<dyn Propagator>, LoadError> {
        let engine = self.name();
        let forms = Forms::on_all_threads(compiled, options.form, semiring);
        let forecast = forms.forecast(compiled, options.precision);
        let Some(form) = forecast.fastest_form(options.memory, options.runs) else {
            return Err(forecast.check(options.memory).expect_err("no form fits").into());
        };
        let refuse = |error| device.refusal(engine, form.device_bytes, &error);
        Ok(match (form.form, forms) {
            (Form::Tables, Forms { tables: Some((_, prepared)), .. }) => {
                match prepared.load(compiled, device, options).map_err(refuse)? {
                    Some(propagator) => propagator,
                    None => {
                        let reason = "the form with tables has more message entries, states or \
                                      words of records than its kernels can number";
                        let forecast = Forecast::unsupported(
                            engine,
                            options.precision,
                            compiled,
                            reason.to_owned(),
                        );
                        let limit = options.memory;
                        return Err(TooLarge { forecast: Box::new(forecast), limit }.into());
                    }
                }
            }
            (Form::TableFree, Forms { table_free: Some((_, prepared)), .. }) => {
                prepared.load(compiled, device, form.bytes).map_err(refuse)?
            }
            _ => unreachable!("the forecast lists the forms that were prepared"),
        })
    }
}
