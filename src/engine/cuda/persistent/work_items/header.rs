//! The header of a record, with the same fields as in `kernels/record.cuh`.

use bytemuck::{Pod, Zeroable};

/// Kind of a dense work item: all its rows share one list of entries.
pub const DENSE: u8 = 0;
/// Kind of a work item that lists the products of its rows.
pub const SPARSE: u8 = 1;
/// Kind of a work item that sends posteriors to the host.
pub const REPORT: u8 = 2;
/// The bits of the form that hold the kind.
#[cfg(test)]
pub const KIND: u8 = 3;

/// Flag of the form: the record continues the work item of the previous record.
pub const CONTINUED: u8 = 1 << 2;
/// Flag of the form: the operation has no table.
pub const NO_TABLE: u8 = 1 << 3;
/// Flag of the form: rows share table entries by class.
pub const BY_CLASS: u8 = 1 << 4;
/// Flag of the form: the result is P(e), not a message or a posterior.
pub const P_EVIDENCE: u8 = 1 << 5;

/// Number of places in a header for states that all rows of the work item have in common.
pub const COMMON_STATES: usize = 8;

/// Fills the unused places if a record has fewer common states.
pub const NO_STATE: u16 = 0xffff;

/// The header of a record. `kernels/record.cuh` describes the fields, and a test compares both.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct RecordHeader {
    pub words: u16,
    pub next_words: u16,
    pub message_chunks: u16,
    pub finding_chunks: u16,
    pub steps: u16,
    pub threads: u16,
    pub passes: u16,
    pub log_lanes: u8,
    pub form: u8,
    pub message_pairs: u8,
    pub finding_pairs: u8,
    pub messages: u16,
    pub list_words: u16,
    pub row_entries: u16,
    pub headroom: i32,
    pub first_posterior: u32,
    pub common_states: [u16; COMMON_STATES],
}

/// Length of a header in words.
pub const HEADER_WORDS: usize = size_of::<RecordHeader>() / 4;

impl RecordHeader {
    /// A header whose fields are zero, without common states.
    pub fn empty() -> Self {
        Self { common_states: [NO_STATE; COMMON_STATES], ..Self::zeroed() }
    }

    /// The header of `record`.
    ///
    /// # Panics
    /// If `record` is shorter than a header.
    pub fn of(record: &[u32]) -> &Self {
        bytemuck::from_bytes(bytemuck::cast_slice(&record[..HEADER_WORDS]))
    }

    /// The header as words of a record.
    pub fn to_words(self) -> [u32; HEADER_WORDS] {
        bytemuck::cast(self)
    }
}

/// What the twin reads, as the kernel does.
#[cfg(test)]
impl RecordHeader {
    /// The kind: [`DENSE`], [`SPARSE`] or [`REPORT`].
    pub fn kind(&self) -> u8 {
        self.form & KIND
    }

    /// Whether the form has `flag`.
    pub fn has(&self, flag: u8) -> bool {
        self.form & flag != 0
    }

    /// Number of neighbouring threads that share a row.
    pub fn lanes(&self) -> usize {
        1 << self.log_lanes
    }

    /// Number of rows of all passes, including those that are not computed.
    pub fn rows(&self) -> usize {
        usize::from(self.passes) * usize::from(self.threads) / self.lanes()
    }

    /// Number of sources.
    pub fn sources(&self) -> usize {
        32 * usize::from(self.message_chunks + self.finding_chunks)
    }

    /// Number of pairs of factors.
    pub fn pairs(&self) -> usize {
        usize::from(self.message_pairs + self.finding_pairs)
    }
}

/// `value` as a field of a header. A record is so short that its parts fit.
///
/// # Panics
/// If `value` does not fit.
pub fn field<T: TryFrom<usize>>(value: usize) -> T {
    T::try_from(value).ok().expect("the parts of a record are short")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::cuda::kernel_source::{assert_constants, assert_layout, layout};
    use crate::engine::cuda::persistent::work_items::{MAX_RECORD, NO_SOURCE, SOURCE_BITS};

    #[test]
    fn the_kernel_has_the_same_header_and_constants() {
        assert_layout(
            "record.cuh",
            layout!(RecordHeader {
                words,
                next_words,
                message_chunks,
                finding_chunks,
                steps,
                threads,
                passes,
                log_lanes,
                form,
                message_pairs,
                finding_pairs,
                messages,
                list_words,
                row_entries,
                headroom,
                first_posterior,
                common_states,
            }),
        );
        let form = [
            ("DENSE", DENSE),
            ("SPARSE", SPARSE),
            ("REPORT", REPORT),
            ("KIND", KIND),
            ("CONTINUED", CONTINUED),
            ("NO_TABLE", NO_TABLE),
            ("BY_CLASS", BY_CLASS),
            ("P_EVIDENCE", P_EVIDENCE),
        ];
        let mut expected: Vec<_> =
            form.into_iter().map(|(name, value)| (name, f64::from(value))).collect();
        expected.push(("HEADER_WORDS", HEADER_WORDS as f64));
        let common_states = std::mem::offset_of!(RecordHeader, common_states);
        expected.push(("COMMON_STATES_WORD", (common_states / 4) as f64));
        expected.push(("MAX_RECORD", MAX_RECORD as f64));
        expected.push(("NO_SOURCE", f64::from(NO_SOURCE)));
        expected.push(("SOURCE_BITS", f64::from(SOURCE_BITS)));
        assert_constants("record.cuh", &expected);
    }
}
