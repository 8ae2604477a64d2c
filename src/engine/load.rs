//! What engines share when they forecast and load: checks of precision, size and memory.

use super::{Engine, LoadError, LoadOptions};
use crate::numbers::thousands;
use crate::potential::Precision;
use crate::propagation::{CompiledNetwork, Forecast};

/// Checks that `engine` supports `precision`.
///
/// # Errors
/// [`LoadError::Precision`] if it does not.
pub(super) fn check_precision(engine: &dyn Engine, precision: Precision) -> Result<(), LoadError> {
    if engine.precisions().contains(&precision) {
        Ok(())
    } else {
        Err(LoadError::Precision { engine: engine.name(), precision })
    }
}

/// Why a table of `entries` entries is too large for an engine that supports at most `limit`;
/// `None` if it is not. `table` names the kind of table to the user: `clique` or `separator`.
pub(super) fn too_many_entries(table: &str, entries: u64, limit: u32) -> Option<String> {
    let limit = u64::from(limit);
    (entries > limit)
        .then(|| format!("it supports at most {} entries in a {table}", thousands(limit)))
}

/// The forecast of `engine` for `compiled`. The network is not supported if `unsupported` gives a
/// reason, or if it was compiled for given observations and the engine cannot use such a tree.
/// `bytes` computes the memory needed; it is called only if the network is supported.
pub(super) fn forecast(
    engine: &dyn Engine,
    compiled: &CompiledNetwork,
    precision: Precision,
    unsupported: Option<String>,
    bytes: impl FnOnce() -> u64,
) -> Forecast {
    let needs_observed = !compiled.observed().is_empty();
    let unsupported = if needs_observed && !engine.info().capabilities.observed {
        Some("it cannot use a junction tree that was built for given evidence".to_owned())
    } else {
        unsupported
    };
    match unsupported {
        Some(reason) => Forecast::unsupported(engine.name(), precision, compiled, reason),
        None => Forecast::new(engine.name(), precision, compiled, bytes()),
    }
}

/// Checks that `engine` can load `compiled` with `options`, and returns the number of bytes needed.
///
/// # Errors
/// If the engine does not support the precision or the network, or needs more than the memory
/// limit.
pub(super) fn admit(
    engine: &dyn Engine,
    compiled: &CompiledNetwork,
    options: &LoadOptions,
) -> Result<u64, LoadError> {
    check_precision(engine, options.precision)?;
    let forecast = engine.forecast(compiled, options.precision);
    let bytes = forecast.bytes;
    forecast.check(options.memory)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use crate::cancel::CancelToken;
    use crate::engine::{all, fixtures::markov};
    use crate::propagation::{CompileOptions, compile};

    #[test]
    fn the_forecasts_of_all_engines_count_the_network_and_its_tree() {
        let network = markov(&[2; 50_000], Vec::new());
        let compiled = compile(network, &CompileOptions::default(), &CancelToken::new()).unwrap();
        let structure = compiled.structure_bytes(0);
        assert!(structure > 1 << 20);
        for engine in all() {
            for &precision in engine.precisions() {
                let forecast = engine.forecast(&compiled, precision);
                let forms = forecast.forms.iter().map(|form| (form.bytes, form.device_bytes));
                for (bytes, on_gpu) in forms.chain([(forecast.bytes, forecast.device_bytes)]) {
                    assert!(bytes >= structure + on_gpu, "{} {precision}", engine.name());
                }
            }
        }
    }
}
