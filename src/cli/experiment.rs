//! `cliquescope experiment`: the paper's table, figures and formulas on this machine.

use std::time::Duration;

use cliquescope::cancel::CancelToken;
use cliquescope::experiment::{Progress, Status};
use cliquescope::numbers;

use super::output;

/// Progress that is told on standard error, a line a step.
pub fn progress() -> Progress {
    Progress::new(CancelToken::new()).told_to(|status| output::note(&in_a_line(status)))
}

fn in_a_line(status: &Status) -> String {
    let share = format!("{:3.0}%", status.share * 100.0);
    match status.left {
        Some(left) if left >= Duration::from_secs(1) => {
            // Fractions of a second would pretend to more than an estimate.
            let left = numbers::counted(left.as_secs() as usize, "second", "seconds");
            format!("{share}  {}  (about {left} left)", status.what)
        }
        _ => format!("{share}  {}", status.what),
    }
}
