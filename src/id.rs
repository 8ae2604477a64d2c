//! Small integer names for the things a network and its junction tree are made of.
//!
//! They are `u32` rather than `usize` because tables of them are held per clique entry or per
//! message and half the size is twice the cache; no discrete network comes near 2^32 variables.

/// Defines a `u32` newtype that names one kind of thing by its position in the vector that owns it.
macro_rules! define_id {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
        )]
        #[serde(transparent)]
        pub struct $name(u32);

        impl $name {
            /// The id of the thing at `index` of its owner's vector.
            ///
            /// # Panics
            /// If `index` does not fit in 32 bits.
            #[must_use]
            pub fn new(index: usize) -> Self {
                Self(u32::try_from(index).expect("ids fit in 32 bits"))
            }

            /// Position in the owner's vector.
            #[must_use]
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}
pub(crate) use define_id;
