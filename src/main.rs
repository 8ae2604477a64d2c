//! `cliquescope`: the window, and the same without one as commands.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod cli;

#[cfg(feature = "allocator")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    cli::main()
}
