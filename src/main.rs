//! The program: opens the window, or runs a command in the terminal.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod cli;

#[cfg(feature = "allocator")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    cli::main()
}
