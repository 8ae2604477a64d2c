//! Bounds on the error that underflow causes in tables and messages.
//!
//! # The invariant
//! A table holds *stored* numbers. With arithmetic that never underflows, its numbers would be the
//! *exact* ones. For every table and message with [`Bounds`]:
//!
//! * a stored number other than zero is at least 2^`min`;
//! * a stored number is below 2^`max` unless it overflowed, and the exact one always is;
//! * without an error, stored and exact numbers are equal, and zero where the other is zero. With
//!   an error, they differ by less than 2^`error`.
//!
//! All numbers are non-negative, so products and sums keep their relative precision as long as no
//! number underflows. The invariant is therefore about underflow and overflow only: "equal" means
//! apart from rounding. Each operation keeps it:
//!
//! * *Rounding to a number type* ([`Bounds::stored`]) changes a number below the smallest normal
//!   number of the type by at most the smallest number of the type. That becomes the error.
//! * *A product of tables* ([`Bounds::product`]) loses at most the smallest number of the type,
//!   times what it is still multiplied by. A table's error is multiplied by numbers of the other
//!   tables, stored or exact, which are below 2^`max` of these tables.
//! * *A sum* ([`Bounds::sum`]) has at most the sum of the errors.
//! * *Scaling by a power of two* ([`Bounds::scaled`]) scales the error as it scales the numbers.
//!   Scaling down may underflow.
//! * *A message from a parent* is a belief divided by the message to the parent. Its error is what
//!   the division loses. The error of the belief is counted as lost where the belief is computed.
//!   Passing the belief on does not enlarge this loss: each entry is divided by an entry of the
//!   message to the parent, and then multiplied by products of the receiver that add up to at most
//!   that entry.
//! * *Multiplying by likelihoods* is a product. Where likelihoods are small, entries may be far
//!   larger before this product than after it. So the power of two by which they are scaled is
//!   chosen from the product's largest entry, and the error is scaled by the same power.
//! * *Raising* ([`raise`]) ends the error of a message, as described below. The message is then
//!   exact in another sense: its numbers are at least the exact ones, and what they are larger by
//!   is counted.
//!
//! # How engines use it
//! For each message, an engine on the CPU does this:
//!
//! 1. It computes the bounds of the products from the bounds of their factors. No product can
//!    underflow if the product of the smallest nonzero entries does not. Then zeros are exact, and
//!    nothing else has to be done.
//! 2. Otherwise the message may have an error.
//! 3. All entries below a level are *raised* to the level, which is 2^60 times the bound of the
//!    error, but at least 2^-300. Then every entry of the message is far above the error, and
//!    messages computed from it do not lose digits to underflow in turn. If the level would be far
//!    above all entries, the message is out of range ([`Bounds::raised_level`]): with a lower
//!    level, an entry could be smaller than the exact one, and nothing would count what is missing.
//! 4. Raising adds probability mass: at most the belief in the raised entries. The engine adds up
//!    this belief over all messages, as a [`Loss`]. The errors of the beliefs themselves are added
//!    too.
//!
//! If the loss exceeds the [`tolerance`] of the precision, the result may be wrong. The run then
//! fails with [`RunError::OutOfRange`], and the case is [computed again](super::recompute). If a
//! message is zero everywhere, the evidence is impossible if zeros are exact, and otherwise the
//! numbers are out of range ([`no_message`]).
//!
//! Bounds are exponents of powers of two, because these are cheap to add and to compare.

use super::RunError;
use crate::potential::{Entry, Limits, Precision, Real};

/// Bounds on the entries of a table, as exponents of powers of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Every entry other than zero is at least 2^`min`.
    pub min: i32,
    /// Every entry is below 2^`max` unless it overflowed. Its exact value always is.
    pub max: i32,
    /// Every entry differs from its exact value by less than 2^`error`, apart from rounding; `None`
    /// if nothing underflowed or overflowed, so that zeros are exact.
    pub error: Option<i32>,
}

/// Minimum level to which entries are raised, as the exponent of a power of two. With a higher
/// minimum, the belief in raised entries would be larger, and more cases would be computed again;
/// with a lower one, more products of raised messages could underflow in turn.
const MIN_RAISED: i32 = -300;

/// Maximum level to which entries are raised, as the exponent of a power of two. The largest entry
/// of a message is near one, so with so large an error the belief nearly always rests on raised
/// entries. With a higher maximum, products of raised messages could overflow; with a lower one,
/// more cases would be computed again.
const MAX_RAISED: i32 = 100;

/// The level is at least the error times two to the power of this, so that entries that are not
/// raised have a relative error of at most 2^-60. With a larger number, more cases would be
/// computed again; with a smaller one, entries that are not raised would have a larger error.
const ABOVE_ERROR: i32 = 60;

impl Default for Bounds {
    fn default() -> Self {
        Self::ONE
    }
}

impl Bounds {
    /// The bounds of a table whose entries are zero or one.
    pub const ONE: Self = Self { min: 0, max: 1, error: None };

    /// The bounds of a table with this largest and this smallest nonzero entry.
    #[inline]
    pub fn new<T: Real>(largest: T, smallest: T) -> Self {
        let exponent = |value: T| value.scale_exponent().map_or(0, |scale| -scale);
        Self { min: exponent(smallest), max: exponent(largest) + 1, error: None }
    }

    /// The bounds of `values`.
    pub fn of(values: impl Iterator<Item = f64>) -> Self {
        let range = |(largest, smallest): (f64, f64), value: f64| {
            (largest.max(value), if value > 0.0 { smallest.min(value) } else { smallest })
        };
        let (largest, smallest) = values.fold((0.0, f64::INFINITY), range);
        Self::new(largest, smallest)
    }

    /// The bounds of products with one entry of each of `tables`, in whatever order they are
    /// multiplied, in the number type `T`.
    pub fn product<T: Entry>(tables: impl Iterator<Item = Self>) -> Self {
        let mut product = ProductBounds::default();
        tables.for_each(|table| product.add(table));
        product.in_type::<T>()
    }

    /// The bounds of products of one entry of this table and one of `other`, in the number type
    /// `T`. At least as tight as [`product`](Self::product), which also bounds the products of only
    /// some of its tables.
    pub fn times<T: Entry>(self, other: Self) -> Self {
        let (min, max) = (self.min + other.min, self.max + other.max);
        let errors =
            [self.error.map(|error| error + other.max), other.error.map(|error| error + self.max)];
        let error = errors.into_iter().flatten().max().map(|error| error + 1);
        Self { min, max, error }.stored::<T>()
    }

    /// A lower bound on every number other than zero, as an exponent; `None` if there is an error,
    /// because an exact number may then be smaller where the stored one is zero.
    pub fn known_min(self) -> Option<i32> {
        self.error.is_none().then_some(self.min)
    }

    /// The bounds of the numbers after rounding to the number type `T`.
    pub fn stored<T: Entry>(self) -> Self {
        let own = if self.max > T::LIMITS.large {
            Some(self.max)
        } else {
            (self.min < T::LIMITS.normal).then_some(T::LIMITS.smallest)
        };
        Self { error: self.error.max(own), ..self }
    }

    /// The bounds of sums of at most `terms` numbers with these bounds.
    pub fn sum(self, terms: usize) -> Self {
        let terms = ceil_log2(terms);
        Self { max: self.max + terms, error: self.error.map(|error| error + terms), ..self }
    }

    /// The bounds of the table multiplied by two to the power of `exponent`, in the number type
    /// `T`.
    pub fn scaled<T: Entry>(self, exponent: i32) -> Self {
        let limits: Limits = T::LIMITS;
        let (min, max) = (self.min + exponent, self.max + exponent);
        let own = (exponent < 0 && min < limits.normal).then_some(limits.smallest);
        let error = self.error.map(|error| error + exponent).max(own);
        Self { min, max, error }
    }

    /// The level to which small entries must be raised so that none is too small, as the exponent
    /// of a power of two; `None` if none is too small.
    ///
    /// # Errors
    /// [`RunError::OutOfRange`] if the level would be too high.
    #[inline]
    pub fn raised_level(self) -> Result<Option<i32>, RunError> {
        match self.error.map(|error| error + ABOVE_ERROR) {
            Some(level) if level > MAX_RAISED => Err(RunError::OutOfRange),
            level => Ok(level.map(|level| level.max(MIN_RAISED))),
        }
    }
}

/// The bounds of products with one entry of each of some tables, in whatever order they are
/// multiplied, before the number type is taken into account.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProductBounds {
    min: i32,
    max: i32,
    count: usize,
    /// The largest error of a table, relative to the table's 2^`max`, or to one if that is larger.
    relative: Option<i32>,
}

impl ProductBounds {
    /// Takes another table into the products.
    #[inline]
    pub fn add(&mut self, table: Bounds) {
        // A product of only some of the tables may be smaller than the product of all.
        self.min += table.min.min(0);
        self.max += table.max.max(0);
        self.count += 1;
        if let Some(error) = table.error {
            self.relative = self.relative.max(Some(error - table.max.max(0)));
        }
    }

    /// The bounds of the products in the number type `T`.
    #[inline]
    pub fn in_type<T: Entry>(self) -> Bounds {
        let limits: Limits = T::LIMITS;
        let Self { min, max, count, relative } = self;
        // The error of a table is multiplied by entries of the other tables.
        let of_tables = relative.map(|relative| relative + max);
        // What the products themselves lose.
        let own = if max > limits.large {
            Some(max)
        } else {
            (min < limits.normal).then_some(limits.smallest + max)
        };
        let error = of_tables.max(own).map(|error| error + ceil_log2(count + 2));
        Bounds { min, max, error }
    }
}

/// The least integer whose power of two is at least `count`.
fn ceil_log2(count: usize) -> i32 {
    count.max(1).ilog2() as i32 + i32::from(!count.is_power_of_two())
}

/// Maximum absolute error of a posterior, and maximum relative error of P(e), that underflow may
/// cause in the answer of any engine. Rounding adds to it.
#[must_use]
pub fn tolerance(precision: Precision) -> f64 {
    match precision {
        Precision::F32 => 1e-6,
        Precision::F64 => 1e-10,
    }
}

/// The probability mass that may have been lost or added in one propagation, as a share of the
/// total.
#[derive(Clone, Copy, Debug, Default)]
pub struct Loss(f64);

impl Loss {
    /// Adds the share of `mass` in `total`. If the total is zero or not a number, everything counts
    /// as lost. Afterwards the loss is not [none](Self::is_none) even if the mass is zero, because
    /// the same message may cause a loss given other evidence.
    pub fn add(&mut self, mass: f64, total: f64) {
        let share = mass / total;
        self.0 += if share.is_nan() { f64::INFINITY } else { share.max(f64::MIN_POSITIVE) };
    }

    /// Whether nothing can have been lost or added.
    pub fn is_none(self) -> bool {
        self.0 == 0.0
    }

    /// Adds the error of a sum of at most `terms` products with these bounds, as a share of
    /// `total`. Adds nothing if the bounds have no error, so a caller then need not find the total.
    pub fn add_error(&mut self, products: Bounds, terms: usize, total: f64) {
        if let Some(error) = products.sum(terms).error {
            // `powi` would give zero below 2^-1022, where numbers are subnormal.
            self.add(1.0_f64.scale(error), total);
        }
    }

    /// Adds another loss.
    pub fn add_loss(&mut self, other: Self) {
        self.0 += other.0;
    }

    /// Checks that the loss is within the tolerance.
    ///
    /// # Errors
    /// [`RunError::OutOfRange`] if it is not.
    pub fn check(self, precision: Precision) -> Result<(), RunError> {
        // Normalising can double the error. Also fails for infinity.
        if 2.0 * self.0 <= tolerance(precision) { Ok(()) } else { Err(RunError::OutOfRange) }
    }
}

/// Why a message, or the total of all beliefs, is zero everywhere or not finite. `error` is the
/// [error](Bounds::error) of its entries.
pub fn no_message(error: Option<i32>) -> RunError {
    if error.is_some() { RunError::OutOfRange } else { RunError::Impossible }
}

/// The bounds of `weights` times two to the power of `scale`. They are found before scaling,
/// because a positive weight may become zero when it is scaled.
pub fn scaled_bounds(weights: impl Iterator<Item = f64>, scale: i32) -> Bounds {
    Bounds::of(weights).scaled::<f64>(scale)
}

/// Raises all smaller entries of `table` to two to the power of `level`. Returns the bounds of the
/// result, given the `bounds` before.
pub fn raise(table: &mut [f64], level: i32, bounds: Bounds) -> Bounds {
    let lowest = 2_f64.powi(level);
    table.iter_mut().for_each(|value| *value = value.max(lowest));
    Bounds { min: level, max: bounds.max.max(level + 1), error: None }
}

/// The sum of the entries of `belief` at which `message` is at most two to the power of `level`,
/// the level to which it was raised; and the sum of all entries of `belief`.
pub fn belief_in_raised(
    belief: impl Iterator<Item = f64>,
    message: impl Iterator<Item = f64>,
    level: i32,
) -> (f64, f64) {
    let lowest = 2_f64.powi(level);
    let (mut raised, mut total) = (0.0, 0.0);
    for (belief, message) in belief.zip(message) {
        total += belief;
        if message <= lowest {
            raised += belief;
        }
    }
    (raised, total)
}
