//! What a junction tree must be, as functions that can be called.
