//! Index mappings between a table and a table over some of its variables.

/// For every entry of a larger table, the entry of a smaller one with the same states: the
/// cluster-sepset mapping of Huang and Darwiche, which section 3.2 of Zheng, Mengshoel and Chong
/// turns around.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexMapping {
    entries: Vec<u32>,
}
