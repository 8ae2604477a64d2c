//! A machine that has less memory than the limit allows: the n-th allocation and all later ones
//! fail, for many n, while a network is read, compiled, loaded and propagated. The work must end
//! with the right answers or with an error that says what happened, and the program must continue.
//! The allocations are made in a child process, because the standard library aborts the process if
//! an allocation fails that the program does not handle.
#![allow(unsafe_code, reason = "an allocator is unsafe to implement")]

#[allow(dead_code, reason = "not all helpers are needed here")]
#[path = "common/session.rs"]
mod session;

use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use std::io::Write;
use std::process::Command;
use std::ptr::null_mut;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use cliquescope::allocate::{self, WithReserve};
use cliquescope::cancel::CancelToken;
use cliquescope::engine::{self, Engine, LoadError, LoadOptions, RunError};
use cliquescope::network::Evidence;
use cliquescope::potential::Precision;
use cliquescope::propagation::{CompileOptions, Form, MemoryLimit, Posteriors, Watch, compile};
use cliquescope::session::{Session, Step, Update};
use rand::SeedableRng as _;
use rand_pcg::Pcg64Mcg;

/// Number of cases in a batch: enough for engine `cpu` to use its batch runner.
const CASES: usize = 40;

/// The system's allocator, which fails on request.
struct FailingAllocator;

/// Number of allocations that still succeed.
static LEFT: AtomicUsize = AtomicUsize::new(usize::MAX);
/// Whether an allocation has failed.
static HAS_FAILED: AtomicBool = AtomicBool::new(false);

/// Whether an allocation is to fail.
fn fails() -> bool {
    if LEFT.load(Ordering::Relaxed) == usize::MAX {
        return false;
    }
    let left = LEFT.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
    if left.is_err() {
        HAS_FAILED.store(true, Ordering::Relaxed);
    }
    left.is_err()
}

// SAFETY: all memory comes from the system's allocator, and null reports a failure.
unsafe impl GlobalAlloc for FailingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `GlobalAlloc`.
        if fails() { null_mut() } else { unsafe { System.alloc(layout) } }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `GlobalAlloc`.
        if fails() { null_mut() } else { unsafe { System.alloc_zeroed(layout) } }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `GlobalAlloc`.
        if fails() { null_mut() } else { unsafe { System.realloc(memory, layout, size) } }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `GlobalAlloc`.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: WithReserve<FailingAllocator> = WithReserve::new(FailingAllocator, used_up);

/// Ends the test, because the reserve of memory was used up.
fn used_up() {
    let _ = std::io::stderr().write_all(b"the reserve is used up\n");
    std::process::abort();
}

/// Runs `work` while allocations after the first `allowed` fail. Returns its result, and whether
/// one failed.
fn with_few_allocations<R>(allowed: usize, work: impl FnOnce() -> R) -> (R, bool) {
    HAS_FAILED.store(false, Ordering::Relaxed);
    LEFT.store(allowed, Ordering::Relaxed);
    let result = work();
    LEFT.store(usize::MAX, Ordering::Relaxed);
    (result, HAS_FAILED.load(Ordering::Relaxed))
}

/// What is read, compiled, loaded and propagated.
struct Scenario {
    network: &'static str,
    engine: &'static dyn Engine,
    options: LoadOptions,
    evidence: Evidence,
    cases: Vec<Evidence>,
}

impl Scenario {
    fn new(name: &'static str, engine: &str, options: LoadOptions) -> Self {
        let network = cliquescope::format::open(name).expect("a sample opens").network;
        let mut random = Pcg64Mcg::seed_from_u64(7);
        let mut draw = |count| Evidence::drawn(&network, count, &mut random);
        Self {
            network: name,
            engine: engine::by_name(engine).expect("an engine of this name"),
            options: LoadOptions { memory: MemoryLimit::from_bytes(1 << 32), ..options },
            evidence: draw(3),
            cases: (0..CASES).map(|_| draw(4)).collect(),
        }
    }

    /// Reads the network, and propagates the evidence and the cases. The first error is returned.
    fn run(&self) -> Result<Vec<Posteriors>, String> {
        let run = || self.run_or_unwind();
        allocate::or_error(run).unwrap_or_else(|error| Err(error.to_string()))
    }

    /// As [`run`](Self::run), but if memory runs out in a function that cannot return an error, the
    /// stack is unwound to the caller.
    fn run_or_unwind(&self) -> Result<Vec<Posteriors>, String> {
        let network = cliquescope::format::open(self.network).expect("a sample opens").network;
        let compiled = compile(network, &CompileOptions::default(), &CancelToken::new());
        let compiled = Arc::new(compiled.expect("it is not cancelled"));
        let loaded = self.engine.load(&compiled, &self.options);
        let mut propagator = loaded.map_err(|error| match error {
            LoadError::OutOfMemory { .. } => error.to_string(),
            other => panic!("{other}"),
        })?;
        let message = |error| match error {
            RunError::OutOfMemory(error) => error.to_string(),
            other => panic!("{other:?}"),
        };
        let watch = Watch::untimed(CancelToken::new());
        let mut answers = vec![propagator.run(&self.evidence, &watch).map_err(message)?];
        let batch = propagator.run_batch(&self.cases, &watch).expect("it is not cancelled");
        assert_eq!(batch.len(), self.cases.len());
        for answer in batch {
            answers.push(answer.map_err(message)?);
        }
        Ok(answers)
    }
}

/// The engines on the CPU, in the forms and precisions that allocate differently.
fn scenarios() -> Vec<(&'static str, Scenario)> {
    let options = |precision, form, threads| LoadOptions {
        precision,
        form,
        threads,
        ..LoadOptions::default()
    };
    let (tables, table_free) = (Some(Form::Tables), Some(Form::TableFree));
    let double = |form| options(Precision::F64, form, 1);
    let single = options(Precision::F32, tables, 2);
    let mut reference = Scenario::new("insurance", "reference", double(None));
    // One case is enough: this engine is slow, and each of its propagations allocates the same.
    reference.cases.truncate(1);
    vec![
        // Insurance has zero probabilities, and engine `cpu` can leave zeros out of its tables.
        ("tables", Scenario::new("insurance", "cpu", double(tables))),
        ("single precision, two threads", Scenario::new("insurance", "cpu", single)),
        ("table-free", Scenario::new("insurance", "cpu", double(table_free))),
        ("sequential", Scenario::new("insurance", "sequential", double(None))),
        ("reference", reference),
    ]
}

#[test]
#[ignore = "run by the other test, in a child process"]
fn in_the_child_process_every_failed_allocation_is_an_error() {
    use_reserve_after_the_last_check();
    for (name, scenario) in scenarios() {
        let expected = scenario.run().expect("there is memory");
        let (mut failures, mut allowed) = (0, 0);
        loop {
            println!("{name}: {allowed} allocations");
            let (result, has_failed) = with_few_allocations(allowed, || scenario.run());
            match result {
                Err(message) => {
                    assert!(has_failed && message.contains("not enough memory"), "{message}");
                    failures += 1;
                }
                Ok(answers) => {
                    for (answer, expected) in answers.iter().zip(&expected) {
                        let mut values = answer.values().iter().zip(expected.values());
                        assert!(values.all(|(a, b)| (a - b).abs() < 1e-5), "{name}");
                    }
                    if !has_failed {
                        break;
                    }
                }
            }
            // Tries each of the first numbers and then takes longer and longer steps, because there
            // are thousands of allocations.
            allowed += 1 + allowed / 8;
        }
        println!("{name}: {failures} failures were errors");
        assert!(failures > 20, "{name}: few allocations failed");
    }
    session_without_memory();
    println!("all done");
}

/// Checks what the functions of `allocate` return if work uses the reserve after its last check:
/// `effect_or_error` no error, `attempt` no result, and `or_error` an error. Of these calls, only
/// the last makes `has_failed` true.
///
/// # Panics
/// If one of them returns something else.
fn use_reserve_after_the_last_check() {
    let work = || drop(black_box(Vec::<u8>::with_capacity(1000)));
    assert!(!allocate::has_used_reserve());
    assert_eq!(with_few_allocations(0, || allocate::effect_or_error(work)), (Ok(()), true));
    assert!(allocate::has_used_reserve());
    assert_eq!(with_few_allocations(0, || allocate::attempt(work)), (None, true));
    assert!(!allocate::has_failed());
    assert!(with_few_allocations(0, || allocate::or_error(work)).0.is_err());
    assert!(allocate::has_failed());
}

/// A session in which allocations fail.
struct SessionWithoutMemory {
    session: Session,
    /// The serial number of the last request.
    serial: u64,
}

impl SessionWithoutMemory {
    /// The updates that answer a request for `network`.
    fn updates(&mut self, network: &str) -> Vec<Update> {
        self.serial += 1;
        self.session.submit(session::request(network, self.serial));
        session::updates_until_idle(&self.session)
    }

    /// Opens a network while allocations after the first `allowed` fail. If a step fails, its error
    /// must say that memory is missing. A step that fails to open, compile or load must not have
    /// reported its result. If no step fails, the network must have been propagated. Then the
    /// session must propagate another network. Returns the step that failed, and whether an
    /// allocation failed.
    fn open(&mut self, allowed: usize) -> (Option<Step>, bool) {
        println!("session: {allowed} allocations");
        let (updates, has_failed) = with_few_allocations(allowed, || self.updates("insurance"));
        let failed = match updates.last() {
            Some(Update::Failed(step, failure)) => {
                let message = failure.to_string();
                assert!(has_failed && message.contains("not enough memory"), "{message}");
                let has_result = updates.iter().any(|update| match update {
                    Update::Opened(_) => *step == Step::Open,
                    Update::Compiled(_) => *step == Step::Compile,
                    Update::Loaded { .. } => *step == Step::Load,
                    _ => false,
                });
                assert!(!has_result, "{step:?} has failed after its result: {updates:?}");
                Some(*step)
            }
            _ => {
                assert!(session::last_propagation(&updates).is_some());
                None
            }
        };
        // The reserve may have been used after the last step. This call clears the flag that says
        // so.
        let _ = allocate::or_error(|| ());
        let updates = self.updates("asia");
        assert!(session::last_propagation(&updates).is_some(), "memory is there again");
        (failed, has_failed)
    }
}

/// Opens a network in a session while allocations fail, for many numbers of allocations.
fn session_without_memory() {
    let mut session = SessionWithoutMemory { session: Session::start(|| {}), serial: 0 };
    let (mut allowed, mut failures) = (0, 0);
    // The pairs of numbers tried one after the other with different outcomes. Each entry has the
    // outcome of the first number (the step that failed, or `None`), this number, and the second.
    let mut ends = Vec::new();
    let mut last = (Some(Step::Open), 0);
    loop {
        let (failed, has_failed) = session.open(allowed);
        if failed != last.0 {
            ends.push((last, allowed));
        }
        last = (failed, allowed);
        failures += usize::from(failed.is_some());
        if !has_failed {
            break;
        }
        allowed += 1 + allowed / 8;
    }
    assert!(failures > 20, "few allocations failed");
    assert!(ends.len() > 2, "the failing step changed too rarely: {ends:?}");
    // Finds the number of allocations at which the failing step changes, and tries the numbers
    // around it one by one.
    for ((step, mut fails), mut passes) in ends {
        while passes - fails > 1 {
            let middle = usize::midpoint(fails, passes);
            let is_before = session.open(middle).0 == step;
            if is_before { fails = middle } else { passes = middle }
        }
        for allowed in passes.saturating_sub(10)..passes + 20 {
            session.open(allowed);
        }
    }
}

#[test]
fn an_allocation_that_fails_is_an_error() {
    let program = std::env::current_exe().expect("the path of this program");
    let mut command = Command::new(program);
    let test = "in_the_child_process_every_failed_allocation_is_an_error";
    command.args(["--exact", test, "--ignored", "--nocapture"]);
    let output = command.output().expect("this program starts");
    let text = String::from_utf8_lossy(&output.stdout);
    let last = text.lines().rev().take(3).collect::<Vec<_>>();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("all done"), "{last:?}\n{errors}");
}
