//! What every engine shares: the compiled network, the plan of messages, forecasts of cost,
//! the watch that an engine reports to, and what comes out.

mod compile;
mod forecast;
mod plan;
mod posteriors;
mod span;
mod trace;
mod watch;

pub use compile::{CompileOptions, CompiledNetwork, Home, compile};
pub use forecast::{Forecast, MemoryLimit, TooLarge, human_bytes};
pub use plan::{Message, MessageId, Phase, Plan};
pub use posteriors::Posteriors;
pub use trace::{MessageTiming, MessageTrace, Savings, Stage, StageTiming};
pub use watch::{TimingHint, Watch, WorkerClock};
