//! The numbers that the paper prints.

use crate::engine::MappingLayout;

/// A column of Table 1 (section 4): the junction tree of a network and its times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PaperNetwork {
    /// Name of the network, in the paper and among the shipped networks.
    pub name: &'static str,
    /// Number of cliques.
    pub cliques: u64,
    /// Entries of the largest clique.
    pub max_clique: u64,
    /// Entries of the smallest clique.
    pub min_clique: u64,
    /// Mean entries of a clique, rounded.
    pub mean_clique: u64,
    /// Entries of the largest separator.
    pub max_separator: u64,
    /// Entries of the smallest separator.
    pub min_separator: u64,
    /// Mean entries of a separator, rounded.
    pub mean_separator: u64,
    /// Time of a propagation on the GPU, a GeForce GTX 460, in milliseconds.
    pub gpu_ms: f64,
    /// Time of a propagation on the CPU, a Core 2 Quad at 2.5 GHz, in milliseconds.
    pub cpu_ms: f64,
    /// Speedup of the GPU over the CPU, as printed.
    pub speedup: f64,
}

/// The columns of Table 1, in the paper's order.
pub const TABLE_1: [PaperNetwork; 8] = [
    column("mildew", 28, [4_372_480, 336, 341_651], [71_680, 72, 9_273], [53.0, 355.0, 6.70]),
    column("diabetes", 337, [190_080, 495, 32_443], [11_880, 16, 1_845], [94.0, 397.0, 4.22]),
    column("barley", 36, [7_257_600, 216, 512_044], [907_200, 7, 39_318], [106.0, 974.0, 9.19]),
    column("pigs", 368, [177_147, 27, 1_927], [59_049, 3, 339], [75.0, 51.0, 0.68]),
    column("munin2", 860, [504_000, 4, 5_653], [72_000, 2, 713], [125.0, 210.0, 1.68]),
    column("munin3", 904, [156_800, 4, 3_443], [22_400, 2, 553], [104.0, 137.0, 1.32]),
    column("munin4", 872, [784_000, 4, 16_444], [112_000, 2, 2_099], [342.0, 473.0, 1.38]),
    column("water", 20, [995_328, 9, 173_297], [147_456, 3, 26_065], [52.0, 120.0, 2.31]),
];

/// A column of Table 1. Sizes are the largest, the smallest and the mean; the last three numbers
/// are the GPU time, the CPU time and the speedup.
const fn column(
    name: &'static str,
    cliques: u64,
    [max_clique, min_clique, mean_clique]: [u64; 3],
    [max_separator, min_separator, mean_separator]: [u64; 3],
    [gpu_ms, cpu_ms, speedup]: [f64; 3],
) -> PaperNetwork {
    PaperNetwork {
        name,
        cliques,
        max_clique,
        min_clique,
        mean_clique,
        max_separator,
        min_separator,
        mean_separator,
        gpu_ms,
        cpu_ms,
        speedup,
    }
}

/// The column of Table 1 for the sample called `name`.
#[must_use]
pub fn table_1(name: &str) -> Option<&'static PaperNetwork> {
    TABLE_1.iter().find(|column| column.name.eq_ignore_ascii_case(name))
}

/// Networks of Figure 5 with their fastest block sizes, in threads (section 4.2).
pub const BEST_BLOCK_SIZES: [(&str, u32); 2] = [("barley", 48), ("munin3", 16)];

/// The share of a propagation's time that is kernel overhead, for two networks of Figure 7 (section
/// 4.4).
pub const OVERHEAD_SHARES: [(&str, f64); 2] = [("munin3", 0.36), ("barley", 0.017)];

/// Time of one launch in microseconds, lowest and highest, derived from the overhead shares and
/// Table 1: 36% of 104 ms divided by the 1806 messages of Munin3, and 1.7% of 106 ms divided by the
/// 70 messages of Barley.
pub const LAUNCH_US: [f64; 2] = [21.0, 26.0];

/// Speed gained by interleaving the mapping tables, as a fraction, lowest and highest (section
/// 4.5).
pub const LAYOUT_GAIN: [f64; 2] = [0.20, 0.30];

/// The memory layout of the mapping tables that the paper found faster.
pub const BETTER_LAYOUT: MappingLayout = MappingLayout::Interleaved;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_printed_numbers_are_consistent() {
        for column in TABLE_1 {
            assert!(
                (column.cpu_ms / column.gpu_ms - column.speedup).abs() < 0.011,
                "{}",
                column.name
            );
            assert!(
                column.min_clique <= column.mean_clique && column.mean_clique <= column.max_clique
            );
            assert!(column.min_separator <= column.mean_separator);
        }
        let shares = OVERHEAD_SHARES.map(|(name, share)| {
            let column = table_1(name).unwrap();
            share * column.gpu_ms * 1e3 / (2 * (column.cliques - 1)) as f64
        });
        assert!(
            shares.iter().all(|us| (LAUNCH_US[0] - 0.5..LAUNCH_US[1]).contains(us)),
            "{shares:?}"
        );
    }
}
