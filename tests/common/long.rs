//! Long runs with random input. `fuzz/long.sh` starts them with a time and a seed. Each prints one
//! line with the number of executions and failures, and the memory used.
#![allow(dead_code, reason = "each test program uses only some of these helpers")]

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// mimalloc, as in the program. The allocator of the C library keeps much freed memory for each
/// thread, as if the memory had grown.
#[cfg(feature = "allocator")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// At the end of a run, resident memory may be 1.5 times what it was after a tenth of the run, plus
/// this many bytes. More is a leak, because the input does not get larger during a run.
const MEMORY_SLACK: u64 = 64 << 20;

/// How long a run takes, and the numbers in its report.
pub struct LongRun {
    name: &'static str,
    started: Instant,
    time: Duration,
    /// The seed of the random numbers.
    pub seed: u64,
    executions: u64,
    failures: u64,
    /// Resident memory in bytes after a tenth of the time.
    first_memory: Option<u64>,
}

impl LongRun {
    /// The run called `name`, as the environment asks for it: `LONG_SECONDS` is the time, 10
    /// seconds by default, and `LONG_SEED` the seed, 1 by default.
    pub fn from_environment(name: &'static str) -> Self {
        cliquescope::allocate::return_freed_memory_early();
        let number = |variable: &str, default: u64| match std::env::var(variable) {
            Ok(text) => text.parse().unwrap_or_else(|_| panic!("{variable} is not a number")),
            Err(_) => default,
        };
        Self {
            name,
            started: Instant::now(),
            time: Duration::from_secs(number("LONG_SECONDS", 10)),
            seed: number("LONG_SEED", 1),
            executions: 0,
            failures: 0,
            first_memory: None,
        }
    }

    /// Whether there is time left for another execution. Also measures the memory once a tenth of
    /// the time has passed.
    pub fn has_time_left(&mut self) -> bool {
        let elapsed = self.started.elapsed();
        if elapsed >= self.time / 10 && self.first_memory.is_none() {
            self.first_memory = resident_bytes();
        }
        elapsed < self.time
    }

    /// Counts `executions`.
    pub fn count(&mut self, executions: u64) {
        self.executions += executions;
    }

    /// Runs `work`. A panic is counted as a failure and reported with its `cause`: the input, and
    /// how to repeat it.
    pub fn catch(&mut self, cause: &str, work: impl FnOnce()) {
        if catch_unwind(AssertUnwindSafe(work)).is_err() {
            self.failures += 1;
            println!("{}: a failure caused by {cause}", self.name);
        }
    }

    /// Prints the report.
    ///
    /// # Panics
    /// If anything failed, or the memory has grown by more than [`MEMORY_SLACK`] says.
    pub fn finish(self) {
        let last = resident_bytes();
        let mib = |bytes: Option<u64>| match bytes {
            Some(bytes) => format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20)),
            None => "unknown".to_owned(),
        };
        println!(
            "{}: {} executions in {:.0} s, {} failures, memory first {}, last {}, seed {}",
            self.name,
            self.executions,
            self.started.elapsed().as_secs_f64(),
            self.failures,
            mib(self.first_memory),
            mib(last),
            self.seed
        );
        assert_eq!(self.failures, 0, "{}: failures", self.name);
        if let (Some(first), Some(last)) = (self.first_memory, last) {
            assert!(last <= first / 2 * 3 + MEMORY_SLACK, "{}: the memory has grown", self.name);
        }
    }
}

/// Resident memory of this process; `None` where the system does not report it.
pub fn resident_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? * 1024)
}
