//! Engine `reference`.

use std::sync::Arc;

use super::{Engine, LoadError, LoadOptions, Propagator};
use crate::potential::Precision;
use crate::propagation::{CompiledNetwork, Forecast};

/// See the module.
pub(super) struct Reference;

impl Engine for Reference {
    fn name(&self) -> &'static str {
        "reference"
    }

    fn summary(&self) -> &'static str {
        todo!()
    }

    fn availability(&self) -> Result<(), String> {
        Ok(())
    }

    fn precisions(&self) -> &'static [Precision] {
        &[Precision::F64]
    }

    fn forecast(&self, _: &CompiledNetwork, _: Precision) -> Forecast {
        todo!()
    }

    fn load(
        &self,
        _: &Arc<CompiledNetwork>,
        _: &LoadOptions,
    ) -> Result<Box<dyn Propagator>, LoadError> {
        todo!()
    }
}
