//! Reports: work items that send normalised posteriors to the host. A report has the posteriors of
//! several variables, because a few long writes over the bus arrive sooner than many short ones,
//! and because the host reads consecutive words faster.

use super::super::costs::report_time;
use super::header::{HEADER_WORDS, REPORT, RecordHeader, field};
use super::{MAX_RECORD, NO_SOURCE, NOT_COMPUTED, STAGING, THREADS, WARP, WorkItem, WorkItems};

/// Minimum and maximum of the target length of a report in words. A variable with more states than
/// the target has a report of its own. The last reports are short, because nothing else is left to
/// compute while they are sent. Tuned on the paper's networks; this affects only speed.
const REPORT_WORDS: std::ops::RangeInclusive<usize> = 64..=256;

/// Within the limits of `REPORT_WORDS`, the target length of a report is the number of words that
/// are in no report yet, divided by this. It affects only speed.
const REPORT_SHARE: usize = 4;

/// If no variable of a report has more states than this, one thread normalises each variable.
/// Otherwise 2 to 32 threads of a warp share each variable of the report: enough threads that none
/// of them normalises more states than this, unless 32 are too few. It affects only speed.
const STATES_PER_THREAD: usize = 8;

/// The posteriors of some variables, which arrive together.
pub(in crate::engine::cuda::persistent) struct Report {
    /// Each variable, and the index of its first word among the words of all reports.
    pub variables: Vec<(u32, u32)>,
    /// The index of this report's last word among the words of all reports. This word is expected
    /// to arrive last.
    pub last: u32,
}

impl WorkItems {
    /// Adds the reports of `posteriors`. Each posterior is given as the numbers of its operation
    /// and of its variable, in the order in which the operations are expected to end. `results`:
    /// for each operation and row the index of the row's result.
    pub(super) fn add_reports(&mut self, posteriors: &[(usize, usize)], results: &[Vec<u32>]) {
        let words = |(operation, _): &(usize, usize)| results[*operation].len();
        let mut remaining: usize = posteriors.iter().map(words).sum();
        let mut rest = posteriors;
        while !rest.is_empty() {
            let limit =
                (remaining / REPORT_SHARE).clamp(*REPORT_WORDS.start(), *REPORT_WORDS.end());
            let mut total = 0;
            let fits = rest.iter().take_while(|posterior| {
                total += words(posterior);
                total <= limit
            });
            let (these, after) = rest.split_at(fits.count().max(1));
            remaining -= these.iter().map(words).sum::<usize>();
            rest = after;
            self.add_report(these, results);
        }
    }

    /// Adds the report of all `posteriors`.
    fn add_report(&mut self, posteriors: &[(usize, usize)], results: &[Vec<u32>]) {
        let base = self.result_words;
        let (mut sources, mut list, mut variables) = (Vec::new(), Vec::new(), Vec::new());
        // Variables with equally many states are placed together, because the host then reads them
        // faster.
        let mut posteriors = posteriors.to_vec();
        posteriors.sort_by_key(|(operation, _)| results[*operation].len());
        for &(operation, variable) in &posteriors {
            let rows = &results[operation];
            variables.push((variable as u32, (base + sources.len()) as u32));
            list.push((sources.len() | rows.len() << 16) as u32);
            sources.extend(rows.iter().map(|&index| match index {
                NOT_COMPUTED => NO_SOURCE,
                index => index,
            }));
        }
        let last = (base + sources.len() - 1) as u32;
        sources.resize(sources.len().next_multiple_of(32), NO_SOURCE);
        debug_assert!(sources.len() <= STAGING);
        self.result_words += sources.len();
        let chunks = sources.len() / 32;
        let most_states = posteriors.iter().map(|(operation, _)| results[*operation].len()).max();
        let lanes =
            most_states.unwrap_or(1).div_ceil(STATES_PER_THREAD).next_power_of_two().min(WARP);
        let words = (HEADER_WORDS + sources.len() + list.len()).next_multiple_of(4);
        let header = RecordHeader {
            words: field(words),
            message_chunks: field(chunks),
            log_lanes: field(lanes.ilog2() as usize),
            form: REPORT,
            list_words: field(list.len()),
            first_posterior: field(base),
            ..RecordHeader::empty()
        };
        let mut record = header.to_words().to_vec();
        record.extend(sources);
        record.extend(&list);
        record.resize(words, 0);
        // The kernel copies the posteriors to the words after the record.
        debug_assert!(record.len() + 64 * chunks <= MAX_RECORD);
        let rounds = (lanes * list.len()).div_ceil(THREADS);
        self.push(WorkItem { records: record, sum_time: report_time(rounds) });
        self.offsets.push(self.records.len());
        self.inputs.push(posteriors.iter().map(|(operation, _)| *operation).collect());
        self.reports.push(Report { variables, last });
    }
}
