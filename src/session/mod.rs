//! A worker thread that keeps up with what the user wants.
