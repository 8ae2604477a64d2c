//! The time of every message of one propagation.
//!
//!     cargo run --release --no-default-features --example trace

use std::sync::Arc;

use cliquescope::cancel::CancelToken;
use cliquescope::engine::{LoadOptions, SEQUENTIAL, by_name, propagate};
use cliquescope::format::open;
use cliquescope::network::Evidence;
use cliquescope::propagation::{CompileOptions, Watch, compile};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let network = open("insurance")?.network;
    let cancel = CancelToken::new();
    let compiled = Arc::new(compile(network, &CompileOptions::default(), &cancel)?);
    let engine = by_name(SEQUENTIAL.name).ok_or("no such engine")?;
    let mut propagator = engine.load(&compiled, &LoadOptions::default())?;

    let watch = Watch::timed(compiled.plan(), cancel);
    propagate(&mut *propagator, &compiled, &Evidence::none(), &watch)?;
    let trace = watch.trace();

    println!("{:>10} {:>5} {:>5} {:>9} {:>9}", "phase", "from", "to", "entries", "time");
    for timing in &trace.messages {
        let message = compiled.plan()[timing.message];
        let (from, to) = (message.from, message.to);
        let entries = compiled.tree()[from].entries + compiled.tree()[to].entries;
        println!(
            "{:>10} {:>5} {:>5} {entries:>9} {:>9.1?}",
            message.phase.name(),
            from.index(),
            to.index(),
            timing.duration
        );
    }
    for stage in &trace.stages {
        println!("{}: {:.1?}", stage.stage.name(), stage.end - stage.start);
    }
    println!("propagation: {:.1?}", trace.elapsed);
    Ok(())
}
