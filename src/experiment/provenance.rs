//! When, by which program and on which machine something was measured.

#[cfg(feature = "cuda")]
use std::process::Command;

use serde::{Deserialize, Serialize};

/// When, by which program and on which machine something was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Provenance {
    /// Version of the program.
    pub version: String,
    /// Commit that the program was built from, if known.
    pub commit: Option<String>,
    /// Date and time in UTC, such as `2026-11-21T12:30:00Z`.
    pub date: String,
    /// The machine.
    pub machine: Machine,
}

impl Provenance {
    /// This program on this machine, now. `commit` takes precedence over the commit that the build
    /// recorded.
    #[must_use]
    pub fn here(commit: Option<&str>) -> Self {
        let built = option_env!("CLIQUESCOPE_COMMIT").filter(|commit| !commit.is_empty());
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            commit: commit.or(built).map(str::to_owned),
            date: now(),
            machine: Machine::this(),
        }
    }

    /// The date, such as `2026-11-21`.
    #[must_use]
    pub fn day(&self) -> &str {
        self.date.split('T').next().unwrap_or_default()
    }
}

/// A machine on which something was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Name of the CPU, as the CPU reports it.
    pub cpu: String,
    /// Number of threads that the program can run in parallel.
    pub threads: usize,
    /// The GPU that engines use, if there is one.
    pub gpu: Option<Gpu>,
}

/// A GPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gpu {
    /// Name, such as `NVIDIA H200`.
    pub name: String,
    /// Number of multiprocessors.
    pub multiprocessors: u32,
    /// Number of threads that can be resident on all multiprocessors together.
    pub threads: u32,
    /// Version of the driver, if known.
    pub driver: Option<String>,
    /// Clock rates of multiprocessors and memory when the program asked for them, if known.
    pub clocks: Option<String>,
}

impl Machine {
    /// This machine.
    #[must_use]
    pub fn this() -> Self {
        let system = sysinfo::System::new_with_specifics(
            sysinfo::RefreshKind::nothing().with_cpu(sysinfo::CpuRefreshKind::nothing()),
        );
        let cpus = system.as_ref().map(sysinfo::System::cpus).unwrap_or_default();
        let cpu = cpus.first().map(|cpu| cpu.brand().trim().to_owned());
        Self {
            cpu: cpu.filter(|name| !name.is_empty()).unwrap_or_else(|| "unknown CPU".to_owned()),
            threads: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            gpu: Gpu::this(),
        }
    }

    /// Whether times of the two machines can be compared: everything but the clock rates is equal.
    /// Clock rates change from minute to minute.
    #[must_use]
    pub fn is_comparable_with(&self, other: &Self) -> bool {
        let without_clocks = |machine: &Self| {
            let gpu = machine.gpu.clone().map(|gpu| Gpu { clocks: None, ..gpu });
            Self { gpu, ..machine.clone() }
        };
        without_clocks(self) == without_clocks(other)
    }

    /// Name of the GPU if there is one, otherwise of the CPU.
    #[must_use]
    pub fn title(&self) -> &str {
        self.gpu.as_ref().map_or(&self.cpu, |gpu| &gpu.name)
    }
}

impl Gpu {
    /// The first GPU of this machine; `None` if there is none.
    #[cfg(feature = "cuda")]
    fn this() -> Option<Self> {
        let card = crate::engine::cuda::gpu_info()?;
        let query = "driver_version,clocks.sm,clocks.mem,clocks.max.sm,clocks.max.mem";
        // The CUDA library does not report all these values; the driver's command-line tool does.
        let output = Command::new("nvidia-smi")
            .args(["--id=0", "--format=csv,noheader", &format!("--query-gpu={query}")])
            .output();
        let output = output.ok().filter(|output| output.status.success());
        let output = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        let fields: Vec<&str> =
            output.as_deref().unwrap_or_default().split(',').map(str::trim).collect();
        let (driver, clocks) = match fields[..] {
            [driver, sm, memory, max_sm, max_memory] => (
                Some(driver.to_owned()),
                Some(format!("SM {sm} of {max_sm}, memory {memory} of {max_memory}")),
            ),
            _ => (None, None),
        };
        Some(Self {
            name: card.name,
            multiprocessors: card.multiprocessors,
            threads: card.multiprocessors * card.threads_per_multiprocessor,
            driver,
            clocks,
        })
    }

    #[cfg(not(feature = "cuda"))]
    fn this() -> Option<Self> {
        None
    }
}

/// The current date and time in UTC.
fn now() -> String {
    let since = crate::clock::unix_time();
    utc(since.as_secs())
}

/// The date and time in UTC, `seconds` after the beginning of 1970, by the algorithm of Howard
/// Hinnant's `civil_from_days`.
fn utc(seconds: u64) -> String {
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Years count from March, so that the leap day is the last day of a year. 1 January 1970 is
    // 719,468 days after 1 March of year 0, and 400 years have 146,097 days.
    let days = days + 719_468;
    let (cycle, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let year = cycle * 400 + year + next;
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unix_times_are_written_as_dates_in_utc() {
        let cases = [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_000_000_000, "2001-09-09T01:46:40Z"),
            (1_709_164_800, "2024-02-29T00:00:00Z"),
            (1_735_689_599, "2024-12-31T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ];
        for (seconds, date) in cases {
            assert_eq!(utc(seconds), date);
        }
    }

    #[test]
    fn this_machine_has_a_cpu() {
        let here = Provenance::here(Some("abc"));
        assert!(here.machine.threads > 0 && !here.machine.cpu.is_empty());
        assert_eq!((here.commit.as_deref(), here.day().len()), (Some("abc"), 10));
    }
}
