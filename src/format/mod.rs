//! Reading networks and evidence.
