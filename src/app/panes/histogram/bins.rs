//! Bins of equal width on a logarithmic axis.

/// Bins in a decade: four are as fine as every bin still holds a whole number.
pub const PER_DECADE: u32 = 4;

/// One bin and what fell into it.
#[derive(Clone, Debug, PartialEq)]
pub struct Bin {
    /// Lower edge, as a decimal logarithm.
    pub from: f64,
    /// Upper edge, as a decimal logarithm.
    pub to: f64,
    /// Smallest size that belongs here.
    pub least: u64,
    /// Largest size that belongs here.
    pub most: u64,
    /// Positions of the sizes that fell into it.
    pub members: Vec<usize>,
}

/// A histogram with its summary.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bins {
    /// Bins from the smallest size to the largest, without gaps; some may be empty.
    pub bins: Vec<Bin>,
    /// Number of sizes.
    pub count: usize,
    /// Smallest size; zero for none.
    pub min: u64,
    /// Mean size; zero for none.
    pub mean: f64,
    /// Largest size; zero for none.
    pub max: u64,
}

impl Bins {
    /// The histogram of `sizes`. A size of zero counts as one.
    #[must_use]
    pub fn of(sizes: &[u64]) -> Self {
        let (Some(&min), Some(&max)) = (sizes.iter().min(), sizes.iter().max()) else {
            return Self::default();
        };
        let (first, last) = (place(min), place(max));
        let mut bins: Vec<Bin> = (first..=last).map(empty).collect();
        for (index, &size) in sizes.iter().enumerate() {
            bins[(place(size) - first) as usize].members.push(index);
        }
        let total: f64 = sizes.iter().map(|&size| size as f64).sum();
        Self { bins, count: sizes.len(), min, mean: total / sizes.len() as f64, max }
    }

    /// Members of the fullest bin.
    #[must_use]
    pub fn highest(&self) -> usize {
        self.bins.iter().map(|bin| bin.members.len()).max().unwrap_or(0)
    }
}

/// The bin of `size`, counted from size 1. The last power of ten below 2^64 is far from the
/// rounding of the logarithm, which is corrected by looking at the edges.
fn place(size: u64) -> u32 {
    let size = size.max(1);
    let guess = ((size as f64).log10() * f64::from(PER_DECADE)) as u32;
    if size < least_of(guess) {
        guess - 1
    } else if size >= least_of(guess + 1) {
        guess + 1
    } else {
        guess
    }
}

/// The smallest whole number at or above the lower edge of bin `place`.
fn least_of(place: u32) -> u64 {
    let (decade, part) = (place / PER_DECADE, place % PER_DECADE);
    let power = 10_f64.powi(decade as i32);
    // Powers of ten up to 10^22 are exact, so only the edges between them are rounded up.
    if part == 0 {
        power as u64
    } else {
        (power * 10_f64.powf(f64::from(part) / f64::from(PER_DECADE))).ceil() as u64
    }
}

fn empty(place: u32) -> Bin {
    let edge = |place: u32| f64::from(place) / f64::from(PER_DECADE);
    Bin {
        from: edge(place),
        to: edge(place + 1),
        least: least_of(place),
        most: least_of(place + 1).saturating_sub(1).max(least_of(place)),
        members: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_ten_begin_a_bin() {
        let bins = Bins::of(&[999, 1_000, 1_778, 1_779]);
        let counts: Vec<usize> = bins.bins.iter().map(|bin| bin.members.len()).collect();
        assert_eq!(counts, [1, 2, 1]);
        assert_eq!((bins.bins[1].least, bins.bins[1].most), (1_000, 1_778));
        assert_eq!((bins.bins[1].from, bins.bins[1].to), (3.0, 3.25));
    }

    #[test]
    fn bins_meet_without_gap_and_each_holds_a_number() {
        let bins = Bins::of(&[1, u64::MAX / 2]);
        assert_eq!(bins.bins[0].least, 1);
        for pair in bins.bins.windows(2) {
            assert_eq!(pair[0].most + 1, pair[1].least);
            assert!(pair[0].least <= pair[0].most);
        }
    }

    #[test]
    fn every_size_falls_between_the_edges_of_its_bin() {
        let sizes: Vec<u64> =
            (0..1_500).map(|i| 1 + i * i).chain([10_u64.pow(15), 99_999]).collect();
        let bins = Bins::of(&sizes);
        assert_eq!(bins.bins.iter().map(|bin| bin.members.len()).sum::<usize>(), sizes.len());
        for bin in &bins.bins {
            for &member in &bin.members {
                assert!((bin.least..=bin.most).contains(&sizes[member]), "{}", sizes[member]);
            }
        }
    }

    #[test]
    fn the_summary_is_that_of_the_sizes() {
        let bins = Bins::of(&[2, 4, 12]);
        assert_eq!((bins.count, bins.min, bins.mean, bins.max), (3, 2, 6.0, 12));
        assert_eq!(Bins::of(&[]).count, 0);
    }
}
