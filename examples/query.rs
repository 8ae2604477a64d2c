//! Posteriors of a shipped network given one finding, in one call.
//!
//!     cargo run --no-default-features --example query

use cliquescope::format::open;
use cliquescope::network::Evidence;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let network = open("asia")?.network;
    let mut evidence = Evidence::none();
    evidence.observe_named(&network, "xray", "yes")?;

    let posteriors = cliquescope::query(&network, &evidence)?;

    println!("ln P(e) = {:.6}", posteriors.ln_p_evidence());
    for variable in network.ids() {
        print!("{}:", network[variable].name());
        let states = network[variable].states();
        for (state, probability) in states.iter().zip(posteriors.of(variable)) {
            print!(" {state} {probability:.4}");
        }
        println!();
    }
    Ok(())
}
