//! Posteriors by definition: sums over all configurations.

use cliquescope::network::{Evidence, Network};

/// ln P(e), and the posteriors of all variables in one array, by variable and then by state.
pub struct Truth {
    pub ln_p_evidence: f64,
    pub posteriors: Vec<f64>,
}

/// The posteriors given `evidence`; `None` if it is impossible. Visits every configuration, so
/// `network` must be small.
pub fn posteriors(network: &Network, evidence: &Evidence) -> Option<Truth> {
    let cardinalities = network.cardinalities();
    let offsets: Vec<usize> = cardinalities
        .iter()
        .scan(0, |end, states| Some(std::mem::replace(end, *end + states)))
        .collect();
    let mut sums = vec![0.0; cardinalities.iter().sum()];
    let mut total = 0.0;
    let configurations: usize = cardinalities.iter().product();
    let mut states = vec![0; cardinalities.len()];
    for configuration in 0..configurations {
        let mut rest = configuration;
        for (state, cardinality) in states.iter_mut().zip(&cardinalities) {
            *state = rest % cardinality;
            rest /= cardinality;
        }
        let probability = joint(network, &states) * weight(evidence, &states);
        total += probability;
        for (offset, state) in offsets.iter().zip(&states) {
            sums[offset + state] += probability;
        }
    }
    if total == 0.0 {
        return None;
    }
    sums.iter_mut().for_each(|sum| *sum /= total);
    Some(Truth { ln_p_evidence: total.ln() + network.ln_scale(), posteriors: sums })
}

/// The product of all factors for one configuration.
fn joint(network: &Network, states: &[usize]) -> f64 {
    let entries = network.factors().map(|factor| {
        let index = factor.scope().iter().fold(0, |index, &variable| {
            index * network[variable].cardinality() + states[variable.index()]
        });
        factor.values()[index]
    });
    entries.product()
}

/// The product of the weights that all findings give one configuration.
fn weight(evidence: &Evidence, states: &[usize]) -> f64 {
    evidence.iter().map(|(variable, finding)| finding.weight(states[variable.index()])).product()
}
