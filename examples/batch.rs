//! Posteriors of one variable for many cases, computed together.
//!
//!     cargo run --release --no-default-features --example batch

use std::sync::Arc;

use cliquescope::cancel::CancelToken;
use cliquescope::engine::{LoadOptions, default_engine, propagate_batch};
use cliquescope::format::open;
use cliquescope::network::Evidence;
use cliquescope::propagation::{CompileOptions, Watch, compile};
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let network = open("alarm")?.network;

    // A thousand cases that observe five variables each, drawn from the network itself.
    let mut rng = Pcg64Mcg::seed_from_u64(1);
    let cases: Vec<Evidence> = (0..1000).map(|_| Evidence::drawn(&network, 5, &mut rng)).collect();

    // Compile and load once, then propagate all cases in one call.
    let cancel = CancelToken::new();
    let compiled = Arc::new(compile(Arc::clone(&network), &CompileOptions::default(), &cancel)?);
    let mut propagator = default_engine().load(&compiled, &LoadOptions::default())?;
    let watch = Watch::untimed(cancel);
    let answers = propagate_batch(&mut *propagator, &compiled, &cases, &watch)?;

    let variable = network.find("CATECHOL").ok_or("no such variable")?;
    let states = network[variable].states();
    for (number, answer) in answers.iter().enumerate().take(10) {
        match answer {
            Ok(posteriors) => {
                let probability = posteriors.of(variable)[0];
                println!("case {number}: P(CATECHOL = {}) = {probability:.4}", states[0]);
            }
            Err(impossible) => println!("case {number}: {impossible}"),
        }
    }
    println!("... and {} more", answers.len().saturating_sub(10));
    Ok(())
}
