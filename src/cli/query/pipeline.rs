//! Reading, computing and writing at the same time.

use std::ops::ControlFlow;
use std::panic::resume_unwind;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use cliquescope::allocate;
use cliquescope::cancel::CancelToken;

/// Number of blocks that wait between two stages. More would take memory and save no time: the
/// slowest stage is busy as long as one block waits.
const WAITING: usize = 1;

/// Time between two checks for cancellation while no block comes, for example from a terminal. With
/// a longer time, cancelling would seem slow.
const CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// Passes blocks through three stages, in order, with at most five blocks in memory.
///
/// `read` makes blocks on a thread of its own, until it returns `None`. `compute` runs on this
/// thread. It breaks to end the work, with the last block or without one. `write` gets each
/// computed block and `writer` on a third thread, and breaks if it can write no more. Cancelling
/// ends the work after the block that is being computed. Returns `writer` once all computed blocks
/// were written, or once `write` broke.
///
/// If `read` waits for input when the work ends, its thread is left waiting.
///
/// # Panics
/// If a stage panics. If the operating system cannot start a thread, calls [`allocate::fail`],
/// which panics.
pub fn run<A: Send + 'static, B: Send + 'static, W: Send + 'static>(
    mut read: impl FnMut() -> Option<A> + Send + 'static,
    mut compute: impl FnMut(A) -> ControlFlow<Option<B>, B>,
    mut writer: W,
    mut write: impl FnMut(&mut W, B) -> ControlFlow<()> + Send + 'static,
    cancel: &CancelToken,
) -> W {
    let (read_blocks, to_compute) = sync_channel(WAITING);
    let (computed_blocks, to_write) = sync_channel(WAITING);
    let reading = start("reader", move || {
        while let Some(block) = read()
            && read_blocks.send(block).is_ok()
        {}
    });
    let writing = start("writer", move || {
        for block in to_write {
            if write(&mut writer, block).is_break() {
                break;
            }
        }
        writer
    });
    while !cancel.is_cancelled() {
        let block = match to_compute.recv_timeout(CHECK_INTERVAL) {
            Ok(block) => block,
            Err(RecvTimeoutError::Timeout) => continue,
            Err(RecvTimeoutError::Disconnected) => {
                join(reading);
                break;
            }
        };
        let (block, is_last) = match compute(block) {
            ControlFlow::Continue(block) => (Some(block), false),
            ControlFlow::Break(block) => (block, true),
        };
        let is_open = block.is_none_or(|block| computed_blocks.send(block).is_ok());
        if is_last || !is_open {
            break;
        }
    }
    drop(computed_blocks);
    join(writing)
}

fn start<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> JoinHandle<T> {
    allocate::start_thread(name, work).unwrap_or_else(|_| allocate::fail())
}

/// Waits for the end of `thread`, and passes its panic on.
fn join<T>(thread: JoinHandle<T>) -> T {
    thread.join().unwrap_or_else(|panic| resume_unwind(panic))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collect(written: &mut Vec<u32>, block: u32) -> ControlFlow<()> {
        written.push(block);
        ControlFlow::Continue(())
    }

    #[test]
    fn blocks_keep_their_order() {
        let mut numbers = 0..1000;
        let compute = |block: u32| ControlFlow::Continue(2 * block);
        let written =
            run(move || numbers.next(), compute, Vec::new(), collect, &CancelToken::new());
        assert!(written.into_iter().eq((0..1000).map(|number| 2 * number)));
    }

    #[test]
    fn computing_writing_and_cancelling_can_end_the_work() {
        let read = || Some(7);
        let with_last = |_| ControlFlow::Break(Some(1));
        assert_eq!(run(read, with_last, Vec::new(), collect, &CancelToken::new()), [1]);
        let without_last = |_: u32| ControlFlow::Break(None);
        assert!(run(read, without_last, Vec::new(), collect, &CancelToken::new()).is_empty());
        let full = |written: &mut Vec<u32>, block| {
            written.push(block);
            if written.len() < 3 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        let written = run(read, ControlFlow::Continue, Vec::new(), full, &CancelToken::new());
        assert_eq!(written, [7, 7, 7]);
        let cancel = CancelToken::new();
        let mut count = 0;
        let compute = |block| {
            count += 1;
            if count == 5 {
                cancel.cancel();
            }
            ControlFlow::Continue(block)
        };
        assert_eq!(run(read, compute, Vec::new(), collect, &cancel).len(), 5);
    }

    #[test]
    fn a_reader_that_waits_does_not_hold_up_the_end() {
        let cancel = CancelToken::new();
        cancel.cancel();
        let (_sender, receiver) = std::sync::mpsc::channel::<u32>();
        let read = move || receiver.recv().ok();
        assert!(run(read, ControlFlow::Continue, Vec::new(), collect, &cancel).is_empty());
    }

    #[test]
    #[should_panic(expected = "a defect")]
    fn a_panic_of_the_reader_is_not_taken_for_the_end() {
        let read = || -> Option<u32> { panic!("a defect") };
        run(read, ControlFlow::Continue, Vec::new(), collect, &CancelToken::new());
    }
}
