//! Which shared value a cached drawing was computed from.

use std::sync::{Arc, Weak};

/// Identifies the value of an `Arc` without keeping the value alive. Two identities are equal if
/// they identify the same value. While an identity exists, no other value gets the address of the
/// value that it identifies.
#[derive(Clone, Debug)]
pub(in crate::app::panes) struct Identity<T>(Weak<T>);

impl<T> Identity<T> {
    /// The identity of this value.
    pub fn of(value: &Arc<T>) -> Self {
        Self(Arc::downgrade(value))
    }
}

impl<T> PartialEq for Identity<T> {
    fn eq(&self, other: &Self) -> bool {
        // A weak reference keeps the memory of the value, so no other value gets its address.
        self.0.ptr_eq(&other.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_in_the_place_of_a_dropped_one_has_another_identity() {
        // Freed memory is usually reused at once, so a key made of addresses would mistake a new
        // value for an earlier one.
        let mut earlier = Vec::new();
        for number in 0..100 {
            let value = Arc::new([number; 8]);
            let identity = Identity::of(&value);
            assert!(identity == Identity::of(&Arc::clone(&value)));
            assert!(!earlier.contains(&identity), "value {number}");
            earlier.push(identity);
        }
    }
}
