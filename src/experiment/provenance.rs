//! When, by which program and on which machine something was measured.

#[cfg(feature = "cuda")]
use std::process::Command;

use serde::{Deserialize, Serialize};

/// When, by which program and on which machine something was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Provenance {
    /// Version of the program.
    pub version: String,
    /// Commit that it was built from, if that was told.
    pub commit: Option<String>,
    /// Day and time in UTC, as `2026-11-21T12:30:00Z`.
    pub date: String,
    /// The machine.
    pub machine: Machine,
}

impl Provenance {
    /// This program on this machine now. `commit` stands in where the build was not told one.
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

    /// The day, as `2026-11-21`.
    #[must_use]
    pub fn day(&self) -> &str {
        self.date.split('T').next().unwrap_or_default()
    }
}

/// A machine on which something was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Name of the CPU, as it gives it.
    pub cpu: String,
    /// Threads that it runs at once.
    pub threads: usize,
    /// The GPU that is computed on, if there is one.
    pub gpu: Option<Gpu>,
}

/// A GPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gpu {
    /// Its name, as `NVIDIA H200`.
    pub name: String,
    /// Multiprocessors.
    pub multiprocessors: u32,
    /// Threads that are resident at once, on all multiprocessors together.
    pub threads: u32,
    /// Version of the driver, if it tells.
    pub driver: Option<String>,
    /// Clocks of multiprocessors and memory as they were found, if the driver tells.
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

    /// Whether times of the two can be compared: all but the clocks is the same, which change from one
    /// minute to the next.
    #[must_use]
    pub fn is_as(&self, other: &Self) -> bool {
        let without_clocks = |machine: &Self| {
            let gpu = machine.gpu.clone().map(|gpu| Gpu { clocks: None, ..gpu });
            Self { gpu, ..machine.clone() }
        };
        without_clocks(self) == without_clocks(other)
    }

    /// What computes: the GPU if there is one, else the CPU.
    #[must_use]
    pub fn title(&self) -> &str {
        self.gpu.as_ref().map_or(&self.cpu, |gpu| &gpu.name)
    }
}

impl Gpu {
    #[cfg(feature = "cuda")]
    fn this() -> Option<Self> {
        let card = crate::engine::cuda::card()?;
        let query = "driver_version,clocks.sm,clocks.mem,clocks.max.sm,clocks.max.mem";
        // The driver alone does not tell these; its own tool does, where it is installed.
        let said = Command::new("nvidia-smi")
            .args(["--id=0", "--format=csv,noheader", &format!("--query-gpu={query}")])
            .output();
        let said = said.ok().filter(|output| output.status.success());
        let said = said.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        let fields: Vec<&str> =
            said.as_deref().unwrap_or_default().split(',').map(str::trim).collect();
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

/// The time now in UTC.
fn now() -> String {
    let since = crate::clock::unix_time();
    utc(since.as_secs())
}

/// `seconds` after the beginning of 1970, as a date and time in UTC.
fn utc(seconds: u64) -> String {
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Years that begin in March have the leap day at their end; 1970 begins 719,468 days after the
    // March of year 0. A cycle of 400 years has 146,097 days.
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
    fn seconds_become_a_date() {
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
    fn this_machine_has_a_processor() {
        let here = Provenance::here(Some("abc"));
        assert!(here.machine.threads > 0 && !here.machine.cpu.is_empty());
        assert_eq!((here.commit.as_deref(), here.day().len()), (Some("abc"), 10));
    }
}
