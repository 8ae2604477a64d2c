pub mod assemble;
pub mod entry_map;
pub mod fan_out;
pub mod layout;
pub mod nodes;
pub mod reduce;
pub mod structure;
