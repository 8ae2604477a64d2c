#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| cliquescope_fuzz::run("uai", bytes));
