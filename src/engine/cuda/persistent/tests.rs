use super::loaded::MANY;
use super::schedule::Schedule;
use super::twin::Twin;
use super::*;
use crate::cancel::{CancelToken, Cancelled};
use crate::engine::cuda::device::tests::on_the_gpu;
use crate::engine::cuda::fixtures::{
    assert_as_sequential, assert_as_twin, assert_near, load_options, networks,
};
use crate::graph::{CliqueId, JunctionTree};
use crate::network::{Evidence, Factor, Network, Variable, VariableId};
use crate::propagation::{CompileOptions, Watch, compile};

pub(super) fn flow(compiled: &CompiledNetwork) -> (Flow, i64) {
    Flow::new(compiled, operations(compiled)).unwrap()
}

fn twin(compiled: &Arc<CompiledNetwork>, lists: usize) -> Loaded<Twin> {
    let (flow, exponent) = flow(compiled);
    let executor = Twin::new(&flow, lists);
    let options = load_options(Precision::F32);
    let compiled = Arc::clone(compiled);
    Loaded { compiled, flow, exponent, executor, bytes: 0, options, lanes: None }
}

#[test]
fn the_twin_agrees_with_the_sequential_engine() {
    for (compiled, cases) in networks() {
        for lists in [1, 7, 528] {
            assert_as_sequential(&compiled, &cases, &mut twin(&compiled, lists));
        }
    }
}

/// The networks of the paper's tables.
pub(super) const OF_THE_PAPER: [&str; 8] =
    ["mildew", "barley", "water", "pigs", "diabetes", "munin2", "munin3", "munin4"];

pub(super) fn sample(name: &str) -> Arc<CompiledNetwork> {
    let network = crate::format::sample(name).unwrap().open().network;
    Arc::new(compile(network, &CompileOptions::default(), &CancelToken::new()).unwrap())
}

/// So many cases with a fifth of the variables observed.
fn drawn(compiled: &CompiledNetwork, count: usize) -> Vec<Evidence> {
    use rand::SeedableRng;
    let mut rng = rand_pcg::Pcg64Mcg::seed_from_u64(20);
    let network = compiled.network();
    let draw = |_| Evidence::drawn(network, network.variables().len() / 5, &mut rng);
    (0..count).map(draw).collect()
}

#[test]
fn the_twin_agrees_on_the_papers_networks() {
    for name in OF_THE_PAPER {
        let compiled = sample(name);
        let mut cases = drawn(&compiled, 2);
        cases.push(Evidence::none());
        assert_as_sequential(&compiled, &cases, &mut twin(&compiled, 264));
    }
}

#[test]
fn a_large_network_has_items_of_every_kind() {
    let (flow, _) = flow(&sample("barley"));
    for form in [items::GOES_ON, items::BARE, items::BY_CLASS] {
        let mut records = flow.items.records.iter().flat_map(|records| items::split(records));
        assert!(records.any(|record| record[3] & form != 0), "{form:#x}");
    }
}

#[test]
fn a_long_way_through_the_tree_has_shortcuts() {
    let compiled = sample("pigs");
    let mut hops: Vec<usize> = Vec::new();
    for operation in operations(&compiled).all {
        let before = operation.factors.iter().map(|(factor, _)| hops[*factor]).max();
        hops.push(1 + before.unwrap_or(0));
    }
    let hops = hops.into_iter().max().unwrap();
    // A message over each separator of the longest way, and a posterior at its end.
    let on_the_way = longest_way(compiled.tree(), compiled.tree().root()).1;
    assert!(3 * hops < 2 * on_the_way, "{hops} hops on a way of {on_the_way} cliques");
}

/// Cliques on the longest way from `clique` downward, and on the longest of all that is below it.
fn longest_way(tree: &JunctionTree, clique: CliqueId) -> (usize, usize) {
    let (mut down, mut longest) = (1, 1);
    for link in tree.children(clique) {
        let (of_child, below) = longest_way(tree, link.clique);
        longest = longest.max(below).max(down + of_child);
        down = down.max(1 + of_child);
    }
    (down, longest)
}

#[test]
fn numbers_that_no_word_holds_are_refused() {
    let compiled = |factors: usize| {
        let variable = Variable::new("X", ["no", "yes"]);
        let factor = Factor::new(vec![VariableId::new(0)], vec![1.0, 1e-300]);
        let network = Network::markov("m", vec![variable], vec![factor; factors]).unwrap();
        compile(Arc::new(network), &CompileOptions::default(), &CancelToken::new()).unwrap()
    };
    assert_eq!(refusal(&compiled(500)), None);
    let reason = refusal(&compiled(600)).unwrap();
    assert_eq!(reason, "its numbers can be 2^597947 from one, and it takes up to 2^524000");
    let forecast = GpuPersistent.forecast(&compiled(600), Precision::F32);
    assert_eq!(forecast.unsupported, Some(reason));
}

#[test]
fn what_comes_in_single_precision_sums_to_one_in_double() {
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
fn many_cases_are_answered_as_each_alone() {
    if !on_the_gpu("many_cases_are_answered_as_each_alone") {
        return;
    }
    for (compiled, cases) in networks() {
        let many: Vec<Evidence> = cases.iter().cycle().take(MANY + 5).cloned().collect();
        let mut engine = GpuPersistent.load(&compiled, &load_options(Precision::F32)).unwrap();
        let watch = Watch::untimed(CancelToken::new());
        let answers = engine.run_batch(&many, &watch).unwrap();
        assert_eq!(answers.len(), many.len());
        for (case, answer) in many.iter().zip(&answers) {
            assert_near(answer, &engine.run(case, &watch));
        }
        watch.cancel();
        assert_eq!(engine.run_batch(&many, &watch), Err(Cancelled));
    }
}

#[test]
fn what_is_zero_is_left_out_and_the_forecast_suffices() {
    let mut is_less = 0;
    for (compiled, _) in networks() {
        let (flow, _) = flow(&compiled);
        let (items, shape) = (&flow.items, &flow.shape);
        let words = 2 * items.record_words() + 2 * items.messages + shape.evidence_words();
        let words = words + items.result_words + 6 * items.len();
        assert!(4 * (words + 6 * MAX_LISTS) as u64 <= bytes(&compiled, &flow.operations));
        let network = compiled.network();
        let (copies, starts) = items::copies(network, &flow.operations);
        let (tables, _) = tables::fill(network, &flow.operations.potentials, &copies);
        let support = support::Support::new(&flow.operations, &starts, &tables);
        for (operation, part) in flow.operations.all.iter().zip(&support.parts) {
            let products = operation.rows.entries() * operation.run.entries();
            assert!(part.products <= products as u64);
            is_less += usize::from(part.products < products as u64 && !part.rows.is_empty());
        }
    }
    assert!(is_less > 100, "{is_less} operations");
}

#[test]
fn every_item_is_in_one_list_and_after_what_it_waits_for() {
    for (compiled, _) in networks() {
        let (flow, _) = flow(&compiled);
        for lists in [1, 3, 264] {
            let schedule = Schedule::new(&flow.items, lists);
            assert_eq!(schedule.starts.len(), lists + 1);
            let mut all = schedule.items.clone();
            all.sort_unstable();
            assert!(all.into_iter().eq(0..flow.items.len()));
            let mut place = vec![0; flow.items.len()];
            for (at, &item) in schedule.in_time.iter().enumerate() {
                place[item] = at;
            }
            for list in schedule.starts.windows(2) {
                let list = &schedule.items[list[0] as usize..list[1] as usize];
                assert!(list.is_sorted_by_key(|&item| place[item]));
            }
            let of = |operation: usize| {
                let first = &flow.items.first;
                (first[operation]..first[operation + 1]).map(|item| place[item])
            };
            for (consumer, needs) in flow.items.needs.iter().enumerate() {
                for producer in needs {
                    assert!(of(*producer).max() < of(consumer).min());
                }
            }
        }
    }
}

#[test]
fn blocks_that_go_through_their_lists_all_come_to_the_end() {
    for (compiled, _) in networks() {
        let (flow, _) = flow(&compiled);
        [1, 2, 7, 264, 792].iter().for_each(|&lists| go_through_lists(&flow.items, lists));
    }
    for name in OF_THE_PAPER {
        // As many as run at once on an H200.
        go_through_lists(&flow(&sample(name)).0.items, 792);
    }
}

/// Reads all that the kernel reads, as blocks do it that wait for one another. What is written stays
/// written, so that where one order of the blocks comes to the end, all do.
fn go_through_lists(items: &Items, lists: usize) {
    let lists = lists.min(items.len()).max(1);
    let (records, starts) = Schedule::new(items, lists).records(items);
    let half = |word: u32, side: u32| (word >> (16 * side) & 0xffff) as usize;
    // Where the next record of each list begins, and its words; none at the end of the list.
    let mut next: Vec<(usize, usize)> =
        starts.chunks(2).map(|start| (4 * start[0] as usize, 4 * start[1] as usize)).collect();
    assert_eq!(next.len(), lists);
    let mut is_written = vec![false; items.messages];
    let (mut read, mut goes_on) = (0, true);
    while std::mem::take(&mut goes_on) {
        for (at, words) in &mut next {
            while *words > 0 {
                let record = &records[*at..*at + *words];
                assert_eq!(half(record[0], 0), *words);
                let (chunks, of_findings) = (half(record[1], 0), half(record[1], 1));
                let (sources, behind) = record[items::HEADER..].split_at(32 * chunks);
                let mut needed = sources.iter().map(|source| source & items::NO_SOURCE);
                let is_there = |place| place == items::NO_SOURCE || is_written[place as usize];
                if !needed.all(is_there) {
                    break;
                }
                let writes_messages = record[3] >> 24 & 3 != items::REPORT && record[6] & 1 == 0;
                if writes_messages {
                    let (passes, threads) = (half(record[3], 0), half(record[2], 1));
                    let rows = (passes * threads) >> (record[3] >> 16 & 0xff);
                    let of_rows = &behind[32 * of_findings + record[5] as usize..][..rows];
                    for &place in of_rows.iter().filter(|place| **place != u32::MAX) {
                        let before = std::mem::replace(&mut is_written[place as usize], true);
                        assert!(!before, "each word is written once");
                    }
                }
                read += *words;
                (*at, *words) = (*at + *words, half(record[0], 1));
                goes_on = true;
            }
        }
    }
    assert!(next.iter().all(|(_, words)| *words == 0), "blocks wait for each other in a circle");
    assert_eq!(read, records.len(), "every record is in a list");
}

#[test]
fn twenty_drawn_cases_of_each_of_the_papers_networks() {
    if !on_the_gpu("twenty_drawn_cases_of_each_of_the_papers_networks") {
        return;
    }
    for name in OF_THE_PAPER {
        let compiled = sample(name);
        let cases = drawn(&compiled, 20);
        let mut gpu = GpuPersistent.load(&compiled, &load_options(Precision::F32)).unwrap();
        assert_as_sequential(&compiled, &cases, &mut *gpu);
        let run =
            |gpu: &mut dyn Propagator| gpu.run(&cases[0], &Watch::untimed(CancelToken::new()));
        assert_eq!(run(&mut *gpu), run(&mut *gpu), "{name}: two runs are bit-equal");
        eprintln!("{name}: 20 cases agree");
    }
}

#[test]
fn the_gpu_does_what_the_twin_does() {
    if !on_the_gpu("the_gpu_does_what_the_twin_does") {
        return;
    }
    for (compiled, cases) in networks() {
        let mut gpu = GpuPersistent.load(&compiled, &load_options(Precision::F32)).unwrap();
        assert_as_twin(&compiled, &cases, gpu.as_mut(), &mut twin(&compiled, 16));
    }
}
