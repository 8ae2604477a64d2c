//! `cliquescope`: the window, and the same without one as commands.

mod cli;

fn main() -> std::process::ExitCode {
    cli::main()
}
