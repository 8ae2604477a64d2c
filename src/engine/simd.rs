//! Functions compiled for several vector instruction sets, chosen when the program runs.
//!
//! [`simd_dispatch!`] wraps a generic loop, the *body*. It is written so that the compiler turns it
//! into vector instructions, or it uses the operations of [`lanes`](super::lanes). On x86-64 the
//! body is compiled three times: for AVX-512, for AVX2, and for the baseline of the target. A call
//! runs the first of these versions that the machine supports.
//!
//! All versions give the same bits. The compiler never fuses a multiplication with an addition and
//! never reorders a sum, so a body that needs a vectorised sum keeps a fixed number of partial sums
//! of its own.
//!
//! The crate `multiversion` (0.9) was tried in place of this macro. It gave the same bits, but sums
//! over short rows, which are the most common, took up to 1.4 times as long.
//!
//! The check for a feature loads a cached flag, so a call costs a few nanoseconds more than the
//! body. Wrap whole loops over rows, not single rows.

use std::sync::atomic::{AtomicUsize, Ordering};

/// While a value of this type exists, all functions defined by [`simd_dispatch!`] use only the
/// instructions of the baseline. All versions give the same bits, so only speed is affected.
pub(super) struct Baseline(());

/// Number of values of type [`Baseline`].
static BASELINES: AtomicUsize = AtomicUsize::new(0);

impl Baseline {
    /// A new value if `vectors` is false; `None` if vector instructions may be used.
    pub fn unless(vectors: bool) -> Option<Self> {
        (!vectors).then(|| {
            BASELINES.fetch_add(1, Ordering::Relaxed);
            Self(())
        })
    }

    /// Whether a value exists.
    pub fn is_wanted() -> bool {
        BASELINES.load(Ordering::Relaxed) > 0
    }
}

impl Drop for Baseline {
    fn drop(&mut self) {
        BASELINES.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Defines a function that runs `$body`, compiled for the best vector instructions of the machine.
///
/// The body has the same arguments as the function, and both return nothing. The body and every
/// function that it calls must be `#[inline(always)]`, because only inlined code is compiled for
/// the chosen instructions. The function may have one type parameter `T`; its bound is given in
/// angle brackets. With `with lanes` after its name, the body gets one more argument before the
/// others: a value of a type with the trait [`Lanes`](crate::engine::lanes::Lanes), for the chosen
/// instructions. Such a body must be generic over this type.
///
/// ```ignore
/// simd_dispatch!(
///     /// Doubles every value.
///     pub double<Real>, double_values, (values: &mut [T])
/// );
/// simd_dispatch!(
///     /// Adds the sum of all values to `sum`.
///     pub add_all<Real>, add_values with lanes, (values: &[T], sum: &mut f64)
/// );
/// ```
macro_rules! simd_dispatch {
    (
        $(#[$meta:meta])* $vis:vis $name:ident $(<$bound:ident>)?, $body:ident $(with $lanes:ident)?,
        ($($argument:ident: $type:ty),*)
    ) => {
        $(#[$meta])*
        #[allow(unsafe_code, reason = "an instruction set is used only after a check for it")]
        $vis fn $name$(<T: $bound>)?($($argument: $type),*) {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw")]
                fn avx512$(<T: $bound>)?($($argument: $type),*) {
                    $(
                        // SAFETY: this function is called only if the machine has AVX-512.
                        let $lanes = unsafe { $crate::engine::lanes::Avx512::new() };
                    )?
                    $body($($lanes,)? $($argument),*);
                }
                #[target_feature(enable = "avx2")]
                fn avx2$(<T: $bound>)?($($argument: $type),*) {
                    $(
                        // SAFETY: this function is called only if the machine has AVX2.
                        let $lanes = unsafe { $crate::engine::lanes::Avx2::new() };
                    )?
                    $body($($lanes,)? $($argument),*);
                }
                let uses_vectors = !$crate::engine::simd::Baseline::is_wanted();
                if uses_vectors
                    && is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512vl")
                    && is_x86_feature_detected!("avx512bw")
                {
                    // SAFETY: the machine has these instructions, as was just checked.
                    return unsafe { avx512($($argument),*) };
                } else if uses_vectors && is_x86_feature_detected!("avx2") {
                    // SAFETY: the machine has these instructions, as was just checked.
                    return unsafe { avx2($($argument),*) };
                }
            }
            $(let $lanes = $crate::engine::lanes::Portable;)?
            $body($($lanes,)? $($argument),*);
        }
    };
}
pub(super) use simd_dispatch;
