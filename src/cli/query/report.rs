//! What the query tells the user on standard error: failed cases, and the progress on a terminal.

use std::io::{IsTerminal, Write};
use std::time::Duration;

use cliquescope::clock::Instant;
use cliquescope::numbers::{counted, thousands};

use super::blocks::Row;
use crate::cli::{options, output};

/// Maximum number of failed cases that are listed. The output marks all of them.
const MAX_LISTED: usize = 100;

/// Minimum time between two updates of the progress. More updates would not be read.
const INTERVAL: Duration = Duration::from_millis(200);

/// Counts cases, lists those that failed, and shows the progress.
pub struct Report {
    /// The file of the cases, as the user named it, or "standard input"; `None` without a file.
    file: Option<String>,
    /// Number of cases so far.
    pub cases: usize,
    /// Number of these cases that have no answer.
    pub failed: usize,
    /// Number of these cases that were computed again with numbers of a wider range.
    pub recomputed: usize,
    progress: Progress,
}

impl Report {
    /// A report on the cases in `file`; `None` if the cases are not from a file. The progress is
    /// shown only for a file, and only if standard error is a terminal and the answers do not go to
    /// a terminal. `is_file_written` says that the answers go to a file.
    pub fn new(file: Option<&str>, is_file_written: bool) -> Self {
        let is_shown = std::io::stderr().is_terminal()
            && file.is_some()
            && (is_file_written || !std::io::stdout().is_terminal());
        let progress = Progress { is_shown, started: Instant::now(), shown: None };
        Self { file: file.map(str::to_owned), cases: 0, failed: 0, recomputed: 0, progress }
    }

    /// Prints a line.
    pub fn note(&mut self, line: &str) {
        self.progress.clear();
        output::note(line);
    }

    /// Removes the progress from the terminal.
    pub fn clear(&mut self) {
        self.progress.clear();
    }

    /// Prints warnings.
    pub fn warn(&mut self, warnings: &[String]) {
        warnings.iter().for_each(|warning| self.note(&format!("warning: {warning}")));
    }

    /// Prints a warning if no case of the file was counted.
    pub fn warn_if_no_cases(&mut self) {
        if self.cases == 0
            && let Some(file) = &self.file
        {
            let warning = format!("{file}: {}", options::NO_CASES);
            self.warn(&[warning]);
        }
    }

    /// Counts a failed case, and prints why it failed unless too many were printed already.
    /// `message` names the file and the line if the case could not be read.
    pub fn fail(&mut self, row: &Row, message: &str) {
        self.failed += 1;
        if self.failed > MAX_LISTED {
            return;
        }
        let place = match (&self.file, row.line) {
            _ if row.error.is_some() => String::new(),
            (Some(file), Some(line)) => format!("{file}:{line}: case {}: ", row.number),
            (Some(file), None) => format!("{file}: case {}: ", row.number),
            (None, _) => String::new(),
        };
        self.note(&format!("error: {place}{message}"));
    }

    /// Counts cases and updates the progress. `share` is the share of the file that was read.
    pub fn advance(&mut self, cases: usize, share: Option<f64>) {
        self.cases += cases;
        self.progress.update(self.cases, share);
    }

    /// Prints how many cases were computed again and how many failed, if any, and removes the
    /// progress.
    pub fn finish(&mut self) {
        self.progress.clear();
        if self.recomputed > 0 {
            let cases = match (self.recomputed, self.cases) {
                (_, 1) => "the case was".to_owned(),
                (1, cases) => format!("1 of {} cases was", thousands(cases as u64)),
                (some, cases) => {
                    let (some, cases) = (thousands(some as u64), thousands(cases as u64));
                    format!("{some} of {cases} cases were")
                }
            };
            self.note(&format!("note: {cases} computed again with numbers of a wider range"));
        }
        if self.failed > 0 && self.cases > 1 {
            let (failed, cases) = (thousands(self.failed as u64), thousands(self.cases as u64));
            let listed = match self.failed > MAX_LISTED {
                true => format!("; the first {MAX_LISTED} are listed, and the output marks all"),
                false => String::new(),
            };
            self.note(&format!("error: {failed} of {cases} cases have no answer{listed}"));
        }
    }
}

/// A line on the terminal that is overwritten.
struct Progress {
    is_shown: bool,
    started: Instant,
    /// When the line was written last; `None` if there is no line.
    shown: Option<Instant>,
}

impl Progress {
    fn update(&mut self, cases: usize, share: Option<f64>) {
        let is_due = self.shown.is_none_or(|shown| shown.elapsed() >= INTERVAL);
        if self.is_shown && is_due && self.started.elapsed() >= INTERVAL {
            let line = progress_line(cases, share, self.started.elapsed());
            let _ = write!(std::io::stderr().lock(), "\r{line}\x1b[K");
            self.shown = Some(Instant::now());
        }
    }

    fn clear(&mut self) {
        if self.shown.take().is_some() {
            let _ = write!(std::io::stderr().lock(), "\r\x1b[K");
        }
    }
}

/// The progress after `elapsed`.
fn progress_line(cases: usize, share: Option<f64>, elapsed: Duration) -> String {
    let share = share.map_or_else(String::new, |share| format!(", {:.0}%", 100.0 * share));
    let rate = thousands((cases as f64 / elapsed.as_secs_f64()) as u64);
    format!("{}{share}, {rate} per second", counted(cases, "case", "cases"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_progress_has_the_share_only_if_it_is_known() {
        let elapsed = Duration::from_secs(2);
        let line = progress_line(400_000, Some(0.254), elapsed);
        assert_eq!(line, "400,000 cases, 25%, 200,000 per second");
        assert_eq!(progress_line(1, None, elapsed), "1 case, 0 per second");
    }
}
