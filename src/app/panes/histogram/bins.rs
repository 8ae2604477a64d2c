//! Bins of equal width on a logarithmic axis.

/// Bins per power of ten. With more than six, some bins would contain no whole number.
pub const PER_DECADE: u32 = 4;

/// A bin and its members.
#[derive(Clone, Debug, PartialEq)]
pub struct Bin {
    /// Lower edge, as a decimal logarithm.
    pub from: f64,
    /// Upper edge, as a decimal logarithm.
    pub to: f64,
    /// Smallest size that belongs in the bin.
    pub min: u64,
    /// Largest size that belongs in the bin.
    pub max: u64,
    /// Indices, in the list of sizes, of the sizes in the bin.
    pub members: Vec<usize>,
}

/// A histogram with its summary.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bins {
    /// Bins from the smallest size to the largest, without gaps. Some may be empty.
    pub bins: Vec<Bin>,
    /// Number of sizes.
    pub count: usize,
    /// Smallest size; zero if there are no sizes.
    pub min: u64,
    /// Mean size; zero if there are no sizes.
    pub mean: f64,
    /// Largest size; zero if there are no sizes.
    pub max: u64,
}

impl Bins {
    /// The histogram of `sizes`. A size of zero is counted in the bin of size one.
    #[must_use]
    pub fn of(sizes: &[u64]) -> Self {
        let (Some(&min), Some(&max)) = (sizes.iter().min(), sizes.iter().max()) else {
            return Self::default();
        };
        let (first, last) = (bin_index(min), bin_index(max));
        let mut bins: Vec<Bin> = (first..=last).map(empty_bin).collect();
        for (index, &size) in sizes.iter().enumerate() {
            bins[(bin_index(size) - first) as usize].members.push(index);
        }
        let total: f64 = sizes.iter().map(|&size| size as f64).sum();
        Self { bins, count: sizes.len(), min, mean: total / sizes.len() as f64, max }
    }

    /// Number of members of the fullest bin.
    #[must_use]
    pub fn highest_count(&self) -> usize {
        self.bins.iter().map(|bin| bin.members.len()).max().unwrap_or(0)
    }
}

/// Index of the bin of `size`; bin 0 begins at size 1. The logarithm has a rounding error of less
/// than one bin, which a comparison with the edges corrects.
fn bin_index(size: u64) -> u32 {
    let size = size.max(1);
    let guess = ((size as f64).log10() * f64::from(PER_DECADE)) as u32;
    if size < bin_min(guess) {
        guess - 1
    } else if size >= bin_min(guess + 1) {
        guess + 1
    } else {
        guess
    }
}

/// The smallest whole number in bin `index`.
fn bin_min(index: u32) -> u64 {
    let (decade, part) = (index / PER_DECADE, index % PER_DECADE);
    let power = 10_f64.powi(decade as i32);
    // Powers of ten up to 10^22 are exact in an f64; only the edges between them are rounded up.
    if part == 0 {
        power as u64
    } else {
        (power * 10_f64.powf(f64::from(part) / f64::from(PER_DECADE))).ceil() as u64
    }
}

/// Bin `index` without members.
fn empty_bin(index: u32) -> Bin {
    let edge = |index: u32| f64::from(index) / f64::from(PER_DECADE);
    Bin {
        from: edge(index),
        to: edge(index + 1),
        min: bin_min(index),
        max: bin_min(index + 1).saturating_sub(1).max(bin_min(index)),
        members: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bin_extends_from_a_power_of_ten_over_a_quarter_of_a_decade() {
        let bins = Bins::of(&[999, 1_000, 1_778, 1_779]);
        let counts: Vec<usize> = bins.bins.iter().map(|bin| bin.members.len()).collect();
        assert_eq!(counts, [1, 2, 1]);
        assert_eq!((bins.bins[1].min, bins.bins[1].max), (1_000, 1_778));
        assert_eq!((bins.bins[1].from, bins.bins[1].to), (3.0, 3.25));
    }

    #[test]
    fn bins_have_no_gaps_and_each_contains_a_whole_number() {
        let bins = Bins::of(&[1, u64::MAX / 2]);
        assert_eq!(bins.bins[0].min, 1);
        for pair in bins.bins.windows(2) {
            assert_eq!(pair[0].max + 1, pair[1].min);
            assert!(pair[0].min <= pair[0].max);
        }
    }

    #[test]
    fn every_size_is_within_its_bin() {
        let sizes: Vec<u64> =
            (0..1_500).map(|i| 1 + i * i).chain([10_u64.pow(15), 99_999]).collect();
        let bins = Bins::of(&sizes);
        assert_eq!(bins.bins.iter().map(|bin| bin.members.len()).sum::<usize>(), sizes.len());
        for bin in &bins.bins {
            for &member in &bin.members {
                assert!((bin.min..=bin.max).contains(&sizes[member]), "{}", sizes[member]);
            }
        }
    }

    #[test]
    fn the_summary_has_count_minimum_mean_and_maximum() {
        let bins = Bins::of(&[2, 4, 12]);
        assert_eq!((bins.count, bins.min, bins.mean, bins.max), (3, 2, 6.0, 12));
        assert_eq!(Bins::of(&[]).count, 0);
    }
}
