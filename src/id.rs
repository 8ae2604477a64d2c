//! Ids of variables, cliques, separators, factors and messages.
//!
//! Ids are `u32` rather than `usize`, because twice as many of them fit into a cache. No network
//! has anywhere near 2^32 variables.

/// Defines a `u32` newtype whose values are positions in the vector that owns the items.
macro_rules! define_id {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash,
            serde::Serialize, serde::Deserialize,
        )]
        #[serde(transparent)]
        pub struct $name(u32);

        impl $name {
            /// The id of the item at `index`.
            ///
            /// # Panics
            /// If `index` does not fit in 32 bits.
            #[must_use]
            pub fn new(index: usize) -> Self {
                Self(u32::try_from(index).expect("ids fit in 32 bits"))
            }

            /// The position of the item in the vector that owns it.
            #[must_use]
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}
pub(crate) use define_id;
