//! Helpers that several test programs share.
#![allow(dead_code, reason = "each test program uses some of them")]

pub mod failing_engine;
pub mod session;
#[cfg(feature = "app")]
pub mod window;
