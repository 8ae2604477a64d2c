use super::propagator::MIN_BATCH;
use super::schedule::Schedule;
use super::twin::Twin;
use super::work_items::RecordHeader;
use super::*;
use crate::cancel::{CancelToken, Cancelled};
use crate::engine::Engine;
use crate::engine::cpu::Supports;
use crate::engine::cuda::GpuEngine;
use crate::engine::cuda::device::tests::has_gpu;
use crate::engine::cuda::fixtures::{
    assert_agrees_with_sequential, assert_agrees_with_twin, assert_near, load_options,
    long_networks, networks, random_cases,
};
use crate::engine::cuda::kernel_source::assert_constants;
use crate::engine::cuda::underflow::MassBound;
use crate::engine::threads::Threads;
use crate::graph::{CliqueId, JunctionTree};
use crate::network::{Cpt, Evidence, Factor, Network, Variable, VariableId};
use crate::potential::Precision;
use crate::propagation::{CompileOptions, Watch, compile};

/// Number of blocks that are resident at the same time on an H200.
const BLOCKS_OF_AN_H200: usize = 792;

/// The program of a network, as [`Program::new`] returns it.
pub(super) fn program(compiled: &CompiledNetwork) -> (Program, i64) {
    Program::new(compiled, operations(compiled), Semiring::SumProduct).unwrap()
}

/// Engine `gpu` in the form with tables.
fn load(compiled: &Arc<CompiledNetwork>) -> Box<dyn Propagator> {
    let options = LoadOptions { form: Some(Form::Tables), ..load_options(Precision::F32) };
    GpuEngine.load(compiled, &options).unwrap()
}

pub(super) fn twin(compiled: &Arc<CompiledNetwork>, blocks: usize) -> PersistentPropagator<Twin> {
    twin_for(compiled, blocks, Semiring::SumProduct)
}

/// The twin of the kernels for max-product.
pub(in crate::engine::cuda) fn max_product_twin(
    compiled: &Arc<CompiledNetwork>,
) -> Box<dyn Propagator> {
    Box::new(twin_for(compiled, 16, Semiring::MaxProduct))
}

fn twin_for(
    compiled: &Arc<CompiledNetwork>,
    blocks: usize,
    semiring: Semiring,
) -> PersistentPropagator<Twin> {
    let (program, exponent) = Program::new(compiled, operations(compiled), semiring).unwrap();
    let executor = Twin::new(&program, blocks);
    let options = load_options(Precision::F32);
    let memory = Memory { peak: 0, host: 0, device: 0 };
    PersistentPropagator::new(Arc::clone(compiled), program, exponent, executor, memory, options)
}

/// A twin for which no P(e) above zero is too small for single precision.
fn accepting_twin(compiled: &Arc<CompiledNetwork>, blocks: usize) -> PersistentPropagator<Twin> {
    let mut twin = twin(compiled, blocks);
    twin.bound = MassBound::allowing_all();
    twin
}

#[test]
fn the_twin_agrees_with_the_sequential_engine() {
    for (compiled, cases) in networks() {
        for blocks in [1, 7, 528] {
            assert_agrees_with_sequential(
                &compiled,
                &cases,
                &mut accepting_twin(&compiled, blocks),
            );
        }
    }
}

#[test]
fn the_twin_propagates_100_000_variables() {
    for (compiled, cases) in long_networks() {
        let mut twin = accepting_twin(&compiled, BLOCKS_OF_AN_H200);
        assert_agrees_with_sequential(&compiled, &cases, &mut twin);
    }
}

#[test]
fn evidence_that_takes_numbers_out_of_range_is_refused() {
    // A chain in which each variable is a copy of the one before.
    const VARIABLES: usize = 26_000;
    let id = VariableId::new;
    let variables = (0..VARIABLES).map(|v| Variable::new(format!("X{v}"), ["no", "yes"]));
    let coin = Cpt::new(id(0), vec![], vec![0.5, 0.5]);
    let copies = (1..VARIABLES).map(|v| Cpt::new(id(v), vec![id(v - 1)], vec![1.0, 0.0, 0.0, 1.0]));
    let cpts = std::iter::once(coin).chain(copies).collect();
    let network = Arc::new(Network::new("copies", variables.collect(), cpts).unwrap());
    let compiled = compile(Arc::clone(&network), &CompileOptions::default(), &CancelToken::new());
    let compiled = Arc::new(compiled.unwrap());
    assert_eq!(unsupported(&compiled), None);
    let mut twin = accepting_twin(&compiled, 16);
    let mut run = |findings: usize| {
        let mut evidence = Evidence::none();
        for v in 0..findings {
            let weights = if v % 2 == 0 { vec![1.0, 1e-12] } else { vec![1e-12, 1.0] };
            evidence.set_likelihood(&network, id(v), weights).unwrap();
        }
        twin.run(&evidence, &Watch::untimed(CancelToken::new()))
    };
    assert_eq!(run(VARIABLES), Err(RunError::OutOfRange));
    // The product of the smallest weights is 1e-150,000, which is above 2^-524,000.
    let answer = run(12_500).unwrap();
    assert!((answer.ln_p_evidence() / (6_250.0 * 1e-12_f64.ln()) - 1.0).abs() < 1e-5);
    assert!((answer.of(id(VARIABLES - 1))[0] - 0.5).abs() < 1e-3);
}

#[test]
fn all_weights_other_than_zero_count_for_the_range() {
    let network = networks()[1].0.network().clone();
    let mut variables = network.ids();
    let mut evidence = Evidence::none();
    assert_eq!(state_layout::smallest_power(&evidence), 0.0);
    evidence.observe(&network, variables.next().unwrap(), 0);
    assert_eq!(state_layout::smallest_power(&evidence), 1.0);
    let variable = variables.find(|&v| network[v].cardinality() == 3).unwrap();
    evidence.set_likelihood(&network, variable, vec![4.0, 0.0, 1.0]).unwrap();
    assert_eq!(state_layout::smallest_power(&evidence), 4.0);
}

/// The networks that the paper measures.
pub(super) const PAPER_NETWORKS: [&str; 8] =
    ["mildew", "barley", "water", "pigs", "diabetes", "munin2", "munin3", "munin4"];

/// A network shipped with the program, compiled with default options.
pub(super) fn sample(name: &str) -> Arc<CompiledNetwork> {
    let network = crate::format::sample(name).unwrap().open().network;
    Arc::new(compile(network, &CompileOptions::default(), &CancelToken::new()).unwrap())
}

#[test]
fn the_twin_agrees_with_the_sequential_engine_on_the_papers_networks() {
    for name in PAPER_NETWORKS {
        let compiled = sample(name);
        let mut cases = random_cases(&compiled, 2);
        cases.push(Evidence::none());
        assert_agrees_with_sequential(&compiled, &cases, &mut accepting_twin(&compiled, 264));
    }
}

#[test]
fn a_large_network_has_continued_records_classes_and_operations_without_a_table() {
    let (program, _) = program(&sample("barley"));
    for flag in [work_items::CONTINUED, work_items::NO_TABLE, work_items::BY_CLASS] {
        let records = &program.items.records;
        let mut records = records.iter().flat_map(|records| work_items::split(records));
        assert!(records.any(|record| RecordHeader::of(record).has(flag)), "{flag:#x}");
    }
}

#[test]
fn shortcuts_make_the_critical_path_shorter_than_the_longest_path_of_the_tree() {
    let compiled = sample("pigs");
    let mut steps: Vec<usize> = Vec::new();
    for operation in operations(&compiled).all {
        let before = operation.factors.iter().map(|(factor, _)| steps[*factor]).max();
        steps.push(1 + before.unwrap_or(0));
    }
    let steps = steps.into_iter().max().unwrap();
    // Without shortcuts there is a step for each separator of the longest path, and one for a
    // posterior at the end: as many steps as cliques.
    let cliques = longest_path(compiled.tree(), compiled.tree().root()).1;
    assert!(3 * steps < 2 * cliques, "{steps} steps on a path of {cliques} cliques");
}

/// Number of cliques on the longest path from `clique` downwards, and on the longest path within
/// the subtree of `clique`.
fn longest_path(tree: &JunctionTree, clique: CliqueId) -> (usize, usize) {
    let (mut down, mut longest) = (1, 1);
    for link in tree.children(clique) {
        let (child_down, within) = longest_path(tree, link.clique);
        longest = longest.max(within).max(down + child_down);
        down = down.max(1 + child_down);
    }
    (down, longest)
}

#[test]
fn numbers_outside_the_range_of_a_word_are_refused() {
    let compiled = |factors: usize| {
        let variable = Variable::new("X", ["no", "yes"]);
        let factor = Factor::new(vec![VariableId::new(0)], vec![1.0, 1e-300]);
        let network = Network::markov("m", vec![variable], vec![factor; factors]).unwrap();
        compile(Arc::new(network), &CompileOptions::default(), &CancelToken::new()).unwrap()
    };
    assert_eq!(unsupported(&compiled(500)), None);
    let reason = unsupported(&compiled(600)).unwrap();
    assert_eq!(
        reason,
        "numbers in its messages can be as large as 2^597947 or as small as 2^-597947; \
         the limits are 2^524000 and 2^-524000"
    );
    assert_eq!(Prepared::new(&compiled(600), Semiring::SumProduct).err(), Some(reason));
}

#[test]
fn posteriors_sum_to_one_in_double_precision() {
    for (compiled, _) in networks() {
        let watch = Watch::untimed(CancelToken::new());
        let Ok(answer) = twin(&compiled, 7).run(&Evidence::none(), &watch) else { continue };
        for variable in compiled.network().ids() {
            let sum: f64 = answer.of(variable).iter().sum();
            assert!((sum - 1.0).abs() < 1e-12, "{variable:?} sums to {sum}");
        }
    }
}

#[test]
fn a_batch_agrees_with_single_runs_and_can_be_cancelled() {
    if !has_gpu("a_batch_agrees_with_single_runs_and_can_be_cancelled") {
        return;
    }
    for (compiled, cases) in networks() {
        let batch: Vec<Evidence> = cases.iter().cycle().take(MIN_BATCH + 5).cloned().collect();
        let mut engine = load(&compiled);
        let watch = Watch::untimed(CancelToken::new());
        let answers = engine.run_batch(&batch, &watch).unwrap();
        assert_eq!(answers.len(), batch.len());
        for (case, answer) in batch.iter().zip(&answers) {
            assert_near(answer, &engine.run(case, &watch));
        }
        watch.cancel();
        assert_eq!(engine.run_batch(&batch, &watch), Err(Cancelled));
    }
}

#[test]
fn zeros_are_left_out_and_the_forecast_suffices() {
    let (mut sparse_operations, mut fewer) = (0, 0);
    for (compiled, _) in networks() {
        let (program, _) = program(&compiled);
        let network = compiled.network();
        let memory = Memory::of(network, &program);
        let forecast = Memory::forecast(&compiled, &program.operations);
        assert!(memory.peak <= forecast.peak && memory.host <= forecast.host);
        assert!(memory.device <= forecast.device);
        assert!(memory.device > 4 * program.items.record_words() as u64);
        let (tables, _) = tables::fill(network, &program.operations.potentials);
        let supports = Supports::find(&compiled, None, false);
        let sparsity = sparsity::find(network, &program.operations, &tables, &supports);
        let alone =
            sparsity::find(network, &program.operations, &tables, &Supports::all(&compiled));
        for (found, alone) in sparsity.iter().zip(&alone) {
            assert!(found.rows.iter().all(|row| alone.rows.binary_search(row).is_ok()));
            fewer += alone.rows.len() - found.rows.len();
        }
        for (operation, sparsity) in program.operations.all.iter().zip(&sparsity) {
            let products = operation.rows.entries() * operation.summed.entries();
            assert!(sparsity.products <= products as u64);
            let is_sparse = sparsity.products < products as u64 && !sparsity.rows.is_empty();
            sparse_operations += usize::from(is_sparse);
        }
    }
    assert!(sparse_operations > 100, "{sparse_operations} operations");
    assert!(fewer > 100, "the supports exclude {fewer} rows");
}

#[test]
fn loading_takes_little_more_memory_than_the_gpu_keeps() {
    let compiled = sample("munin3");
    let entries = compiled.statistics().total_clique_entries;
    let memory = Threads::new(16).unwrap().install(|| {
        let (program, _) = program(&compiled);
        Memory::of(compiled.network(), &program)
    });
    let Memory { peak, host, device } = memory;
    assert!(peak <= 24 * entries, "{} bytes for {entries} entries", peak);
    // The host frees its records while they are copied to the GPU.
    assert!(peak >= host && peak >= device && 5 * peak < 3 * (host + device));
}

#[test]
fn work_items_do_not_depend_on_the_number_of_threads() {
    let networks = networks().into_iter().map(|(compiled, _)| compiled);
    for compiled in networks.chain([sample("munin3")]) {
        let work_items = |threads| {
            let threads = Threads::new(threads).unwrap();
            let (program, exponent) = threads.install(|| program(&compiled));
            let costs = program.items.costs.iter().map(|cost| (cost.staged_words, cost.sum_time));
            (program.items.records, costs.collect::<Vec<_>>(), exponent)
        };
        assert!(work_items(1) == work_items(4));
    }
}

#[test]
fn the_kernel_has_the_same_constants() {
    let constants = [
        ("THREADS", work_items::THREADS as f64),
        ("STAGING_PER_THREAD", work_items::STAGING_PER_THREAD as f64),
        ("STAGING", work_items::STAGING as f64),
        ("EPOCH_BITS", f64::from(words::EPOCH_BITS)),
        ("PEAK", f64::from(tables::PEAK)),
        ("RAISE", f64::from(interval::RAISE)),
        ("PRODUCT_HEADROOM", f64::from(interval::PRODUCT_HEADROOM)),
    ];
    assert_constants("persistent", &constants);
}

#[test]
fn every_work_item_is_in_one_list_and_comes_after_its_inputs() {
    for (compiled, _) in networks() {
        let (program, _) = program(&compiled);
        let items = &program.items;
        for blocks in [1, 3, 264] {
            let schedule = Schedule::new(items, blocks);
            assert_eq!(schedule.starts.len(), blocks + 1);
            let mut all = schedule.items.clone();
            all.sort_unstable();
            assert!(all.into_iter().eq(0..items.len()));
            let mut position = vec![0; items.len()];
            for (at, &item) in schedule.start_order.iter().enumerate() {
                position[item] = at;
            }
            for list in schedule.starts.windows(2) {
                let list = &schedule.items[list[0] as usize..list[1] as usize];
                assert!(list.is_sorted_by_key(|&item| position[item]));
            }
            let positions = |operation: usize| {
                (items.offsets[operation]..items.offsets[operation + 1]).map(|item| position[item])
            };
            for (consumer, inputs) in items.inputs.iter().enumerate() {
                for producer in inputs {
                    assert!(positions(*producer).max() < positions(consumer).min());
                }
            }
        }
    }
}

#[test]
fn blocks_that_wait_for_each_other_finish_their_lists() {
    for (compiled, _) in networks() {
        let (program, _) = program(&compiled);
        for blocks in [1, 2, 7, 264, BLOCKS_OF_AN_H200] {
            simulate_blocks(&program.items, blocks);
        }
    }
    for name in PAPER_NETWORKS {
        simulate_blocks(&program(&sample(name)).0.items, BLOCKS_OF_AN_H200);
    }
}

/// Reads the records as the kernel does, with blocks that wait for each other's messages. A written
/// message stays written, so if the blocks finish in one interleaving, they finish in all.
fn simulate_blocks(items: &WorkItems, blocks: usize) {
    let blocks = blocks.min(items.len()).max(1);
    let schedule = Schedule::new(items, blocks);
    let (starts, mut records) = (schedule.record_starts(items), vec![0; items.record_words()]);
    let mut first = 0;
    // Buffers of several pieces, as on the GPU.
    let buffers = schedule.pieces(items, 0..blocks, 1 << 17).into_iter();
    for (lists, words) in buffers.flat_map(|(lists, _)| schedule.pieces(items, lists, 1 << 16)) {
        schedule.write_records(items, lists, &mut records[first..first + words]);
        first += words;
    }
    assert_eq!(first, records.len(), "every list is in one piece");
    // The position and the length of the next record of each list; the length is 0 at the end.
    let mut next: Vec<(usize, usize)> =
        starts.chunks(2).map(|start| (4 * start[0] as usize, 4 * start[1] as usize)).collect();
    assert_eq!(next.len(), blocks);
    let mut is_written = vec![false; items.messages];
    let (mut words_read, mut has_progress) = (0, true);
    while std::mem::take(&mut has_progress) {
        for (at, words) in &mut next {
            while *words > 0 {
                let record = &records[*at..*at + *words];
                let header = RecordHeader::of(record);
                assert_eq!(usize::from(header.words), *words);
                let (sources, list) = record[work_items::HEADER_WORDS..].split_at(header.sources());
                let sources = &sources[..32 * usize::from(header.message_chunks)];
                let mut inputs = sources.iter().map(|source| source & work_items::NO_SOURCE);
                let has_arrived =
                    |index| index == work_items::NO_SOURCE || is_written[index as usize];
                if !inputs.all(has_arrived) {
                    break;
                }
                if header.kind() != work_items::REPORT && !header.has(work_items::P_EVIDENCE) {
                    let results = &list[header.list_words.into()..][..header.rows()];
                    for &index in results.iter().filter(|i| **i != work_items::NOT_COMPUTED) {
                        let before = std::mem::replace(&mut is_written[index as usize], true);
                        assert!(!before, "each word is written once");
                    }
                }
                words_read += *words;
                (*at, *words) = (*at + *words, header.next_words.into());
                has_progress = true;
            }
        }
    }
    assert!(next.iter().all(|(_, words)| *words == 0), "blocks wait for each other in a cycle");
    assert_eq!(words_read, records.len(), "every record is in a list");
}

#[test]
fn the_gpu_agrees_with_the_sequential_engine_on_the_papers_networks() {
    if !has_gpu("the_gpu_agrees_with_the_sequential_engine_on_the_papers_networks") {
        return;
    }
    for name in PAPER_NETWORKS {
        let compiled = sample(name);
        let cases = random_cases(&compiled, 20);
        let mut gpu = load(&compiled);
        assert_agrees_with_sequential(&compiled, &cases, &mut *gpu);
        let run =
            |gpu: &mut dyn Propagator| gpu.run(&cases[0], &Watch::untimed(CancelToken::new()));
        assert_eq!(run(&mut *gpu), run(&mut *gpu), "{name}: two runs are bit-equal");
        eprintln!("{name}: 20 cases agree");
    }
}

#[test]
fn the_gpu_agrees_with_the_twin() {
    if !has_gpu("the_gpu_agrees_with_the_twin") {
        return;
    }
    for (compiled, cases) in networks() {
        let mut gpu = load(&compiled);
        assert_agrees_with_twin(
            &compiled,
            &cases,
            gpu.as_mut(),
            &mut accepting_twin(&compiled, 16),
        );
    }
}
