//! A finding in words.

use crate::app::state::document::Document;
use crate::network::{Finding, VariableId};

/// Describes a finding: `xray = yes`, `age is not young, old` or `rain likelihood 0.300 : 0.700`.
pub(in crate::app::panes) fn describe_finding(
    document: &Document,
    variable: VariableId,
    finding: &Finding,
) -> String {
    let variable = &document.network()[variable];
    match finding {
        Finding::Observed(state) => format!("{} = {}", variable.name(), variable.states()[*state]),
        Finding::Likelihood(weights)
            if weights.contains(&0.0) && weights.iter().all(|&w| w == 0.0 || w == 1.0) =>
        {
            let excluded = variable.states().iter().zip(weights).filter(|(_, w)| **w == 0.0);
            let excluded: Vec<&str> = excluded.map(|(state, _)| state.as_str()).collect();
            format!("{} is not {}", variable.name(), excluded.join(", "))
        }
        Finding::Likelihood(weights) => {
            let weights: Vec<String> = weights.iter().map(|w| format!("{w:.3}")).collect();
            format!("{} likelihood {}", variable.name(), weights.join(" : "))
        }
    }
}
