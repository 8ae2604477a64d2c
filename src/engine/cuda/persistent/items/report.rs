//! Items that bring posteriors to the host: normalised, and many variables at once, because what
//! comes over the bus in few long writes is there sooner, and so is what the host reads in a row.

use super::super::costs::of_report;
use super::{HEADER, Items, LANES, NO_SOURCE, NO_STATE, NOWHERE, RECORD, STAGE, THREADS};

/// Words of a report, unless one variable has more states: those of the last reports are few, because
/// nothing is left to do while they are made.
const WORDS: std::ops::RangeInclusive<usize> = 64..=256;

/// Share of all words that are left that a report has.
const SHARE: usize = 4;

/// States of a variable that one thread takes.
const EACH: usize = 8;

/// The kind of these items, as in `kernels/persistent.cu`.
pub(in crate::engine::cuda::persistent) const REPORT: u32 = 2;

/// What the host waits for at once: the posteriors of some variables.
pub(in crate::engine::cuda::persistent) struct Report {
    /// Each variable, and the first of its words among those of all reports.
    pub variables: Vec<(u32, u32)>,
    /// The last word.
    pub last: u32,
}

impl Items {
    /// Adds the reports of `posteriors`: operations in the order in which they are expected to end,
    /// and the variable of each. `places`: by operation, where its rows are among the messages.
    pub(super) fn add_reports(&mut self, posteriors: &[(usize, usize)], places: &[Vec<u32>]) {
        let words_of = |(operation, _): &(usize, usize)| places[*operation].len();
        let mut left: usize = posteriors.iter().map(words_of).sum();
        let mut rest = posteriors;
        while !rest.is_empty() {
            let most = (left / SHARE).clamp(*WORDS.start(), *WORDS.end());
            let mut words = 0;
            let fits = rest.iter().take_while(|posterior| {
                words += words_of(posterior);
                words <= most
            });
            let (these, after) = rest.split_at(fits.count().max(1));
            left -= these.iter().map(words_of).sum::<usize>();
            rest = after;
            self.add_report(these, places);
        }
    }

    fn add_report(&mut self, posteriors: &[(usize, usize)], places: &[Vec<u32>]) {
        let base = self.result_words;
        let (mut sources, mut list, mut variables) = (Vec::new(), Vec::new(), Vec::new());
        // Those with as many states come together: the host reads them faster.
        let mut posteriors = posteriors.to_vec();
        posteriors.sort_by_key(|(operation, _)| places[*operation].len());
        for &(operation, variable) in &posteriors {
            let places = &places[operation];
            variables.push((variable as u32, (base + sources.len()) as u32));
            list.push((sources.len() | places.len() << 16) as u32);
            sources.extend(places.iter().map(|&place| match place {
                NOWHERE => NO_SOURCE,
                place => place,
            }));
        }
        let last = (base + sources.len() - 1) as u32;
        sources.resize(sources.len().next_multiple_of(32), NO_SOURCE);
        debug_assert!(sources.len() <= STAGE);
        self.result_words += sources.len();
        let chunks = sources.len() / 32;
        // Threads that share a variable, so that none has many states.
        let most = posteriors.iter().map(|(operation, _)| places[*operation].len()).max();
        let share = most.unwrap_or(1).div_ceil(EACH).next_power_of_two().min(LANES);
        let form = REPORT << 24 | share.ilog2() << 16;
        let mut record = vec![0, chunks as u32, 0, form, 0, list.len() as u32, base as u32, 0];
        record.resize(HEADER, NO_STATE | NO_STATE << 16);
        record.extend(sources);
        record.extend(&list);
        record.resize(record.len().next_multiple_of(4), 0);
        record[0] = record.len() as u32;
        // The kernel has the words themselves behind the record.
        debug_assert!(record.len() + 64 * chunks <= RECORD);
        let rounds = (share * list.len()).div_ceil(THREADS);
        self.push(record, of_report(rounds));
        self.first.push(self.records.len());
        self.needs.push(posteriors.iter().map(|(operation, _)| *operation).collect());
        self.reports.push(Report { variables, last });
    }
}
