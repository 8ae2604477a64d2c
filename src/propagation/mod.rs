//! What all engines share: the compiled network, the plan of messages, forecasts of memory,
//! the watch that times a propagation, traces and posteriors.

mod activity;
mod compile;
mod dependencies;
mod forecast;
mod plan;
mod posteriors;
mod span;
mod trace;
mod watch;

pub use activity::{Activity, ActivityTiming};
pub use compile::{CompileOptions, CompiledNetwork, Home, compile};
pub use dependencies::{CriticalPath, Dependencies};
pub use forecast::{Forecast, Form, FormForecast, MemoryLimit, TooLarge};
pub use plan::{Message, MessageId, Phase, Plan};
pub use posteriors::Posteriors;
pub use trace::{MessageTiming, MessageTrace, Savings, Stage, StageTiming};
pub use watch::{TimingHint, Watch, WorkerClock};
