//! Helpers that several test programs share.
#![allow(dead_code, reason = "each test program uses only some of these helpers")]

pub mod failing_engine;
pub mod large;
pub mod session;
#[cfg(feature = "app")]
pub mod window;
