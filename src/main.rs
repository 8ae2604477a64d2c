//! The program: opens the window, or runs a command in the terminal.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod cli;

use cliquescope::allocate::{self, WithReserve};

#[cfg(feature = "allocator")]
#[global_allocator]
static ALLOCATOR: WithReserve<mimalloc::MiMalloc> =
    WithReserve::new(mimalloc::MiMalloc, cli::end_without_memory);

#[cfg(not(feature = "allocator"))]
#[global_allocator]
static ALLOCATOR: WithReserve<std::alloc::System> =
    WithReserve::new(std::alloc::System, cli::end_without_memory);

fn main() -> std::process::ExitCode {
    allocate::return_freed_memory_early();
    cli::main()
}
