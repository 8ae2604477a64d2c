//! Figure 8: memory layouts of the mapping tables.

use crate::engine::{GPU_PAPER, MappingLayout, PaperOptions, SECTOR, WARP, sectors};
use crate::experiment::paper;
use crate::experiment::runs::bars;
use crate::experiment::source::{EngineConfig, TimeSource};
use crate::experiment::trees::NamedTree;
use crate::experiment::{
    Axis, Experiment, ExperimentError, Figure, Mark, MarkPosition, Origin, PAPER_NETWORKS, Panel,
    Parameter, Progress, Record, Series, Setup, Shape, Table,
};
use crate::numbers;

pub(in crate::experiment) const EXPERIMENT: Experiment = Experiment {
    name: "fig8",
    title: "Figure 8: naive and interleaved mapping tables",
    question: "Which words does a warp read at once in each layout of the mapping tables, and how \
               much time does the layout cost or save? The paper reports that interleaving makes \
               its engine 20 to 30% faster.",
    equations: &[],
    parameters: &[Parameter::Repeat, Parameter::Paper],
    networks: &PAPER_NETWORKS,
    answer,
};

/// The figure shows the reads of at most this many elements of each mapping table.
const SHOWN_ELEMENTS: usize = 3;

/// Compares the two layouts by the words that a warp reads, by the number of memory transactions,
/// and by time if there is a source of times.
fn answer(setup: &Setup, progress: &Progress, record: &mut Record) -> Result<(), ExperimentError> {
    let trees = NamedTree::all(setup, setup.triangulation, progress)?;
    let mut panels = addresses(&trees, record);
    let transactions = MappingLayout::ALL.map(|layout| {
        trees.iter().map(|tree| Some(mean_sectors(tree, layout))).collect::<Vec<_>>()
    });
    panels.push(Panel {
        title: "memory transactions of 32 bytes".to_owned(),
        x: Axis::categories("", trees.iter().map(|tree| tree.name.as_str())),
        y: Axis::linear("mean per read of a warp"),
        series: (MappingLayout::ALL.iter().zip(&transactions).enumerate())
            .map(|(stack, (layout, values))| {
                bars(layout.name(), Origin::Exact, stack, values.iter().copied())
            })
            .collect(),
        marks: Vec::new(),
    });
    let [naive_sectors, interleaved_sectors] = transactions;
    let mut table = Table::new("layouts")
        .text("network", trees.iter().map(|tree| tree.name.as_str()))
        .number("naive_transactions", Origin::Exact, naive_sectors)
        .number("interleaved_transactions", Origin::Exact, interleaved_sectors);
    // The numbers above need neither a GPU nor a recording, but the times need one of them.
    match TimeSource::choose(setup, &[GPU_PAPER.name]) {
        Ok(source) => {
            let [naive, interleaved] = times(setup, progress, record, &trees, source)?;
            let gain: Vec<Option<f64>> =
                naive.iter().zip(&interleaved).map(|(n, i)| Some((*n)? / (*i)? - 1.0)).collect();
            let percent = gain.iter().map(|gain| gain.map(|gain| 100.0 * gain));
            panels.push(gain_panel(&trees, bars("interleaved", source.origin(), 0, percent)));
            note_gain(record, &gain);
            let origin = source.origin();
            table = table
                .number("naive_us", origin, naive)
                .number("interleaved_us", origin, interleaved)
                .number("gain", origin, gain)
                .signed();
        }
        Err(ExperimentError::Failed(reason)) => record.note(reason),
        Err(cancelled) => return Err(cancelled),
    }
    record.tables.push(table);
    record.figures.push(Figure {
        title: "The two layouts of the mapping tables".to_owned(),
        across: 2,
        panels,
    });
    Ok(())
}

/// A panel for each layout, with the words that the first warp reads for the largest separator of
/// the first network. Each of the first reads is a row of dots, with a dot for each word. Words are
/// counted from the first word of their read. Both panels show the same range of words. The mapping
/// tables select the entries of the child clique. Adds a table with the words to `record`.
fn addresses(trees: &[NamedTree], record: &mut Record) -> Vec<Panel> {
    let Some(tree) = trees.first() else { return Vec::new() };
    let junction_tree = tree.compiled.tree();
    let largest = junction_tree.separators().iter().max_by_key(|separator| separator.entries);
    let Some(separator) = largest else { return Vec::new() };
    let entries = separator.entries as usize;
    // Each entry of the separator has a mapping table of this many elements.
    let count = junction_tree[separator.child].entries as usize / entries;
    let mut table = Table::new("addresses");
    let threads = WARP.min(entries);
    table = table.count("thread", Origin::Exact, (0..threads).map(|thread| thread as u64));
    let mut panels = Vec::new();
    let elements = SHOWN_ELEMENTS.min(count);
    let spread = |layout: MappingLayout| {
        let words = layout.words_of_warp(entries, count, 0, 0);
        (words[words.len() - 1] - words[0]) as f64
    };
    let widest = MappingLayout::ALL.map(spread).into_iter().fold(1.0, f64::max);
    for layout in MappingLayout::ALL {
        let mut series = Vec::new();
        for n in 0..elements {
            let words = layout.words_of_warp(entries, count, 0, n);
            let name = format!("{layout}_{n}");
            table = table.count(&name, Origin::Exact, words.iter().map(|&word| word as u64));
            let points = words.iter().map(|&word| ((word - words[0]) as f64, n as f64));
            let transactions = numbers::counted(sectors(&words), "transaction", "transactions");
            let label = format!("element {n}: {transactions}");
            series.push(Series::new(label, Origin::Exact, Shape::Points, points));
        }
        panels.push(Panel {
            title: format!(
                "{}, {layout}: {} of {}",
                tree.name,
                numbers::counted(entries, "table", "tables"),
                numbers::counted(count, "element", "elements")
            ),
            x: Axis::linear("word, counted from the first word of the read"),
            y: Axis::categories("element of each table", (0..elements).map(|n| n.to_string())),
            series,
            marks: vec![Mark {
                label: "last word in the wider layout".to_owned(),
                origin: Origin::Exact,
                position: MarkPosition::X(widest),
            }],
        });
    }
    record.tables.push(table);
    panels
}

/// Mean number of memory transactions of 32 bytes when a warp reads one element per thread, over
/// all reads of a propagation.
fn mean_sectors(tree: &NamedTree, layout: MappingLayout) -> f64 {
    let junction_tree = tree.compiled.tree();
    let (mut reads, mut transactions) = (0.0, 0.0);
    for separator in junction_tree.separators() {
        for clique in [separator.parent, separator.child] {
            let entries = separator.entries as usize;
            let count = junction_tree[clique].entries as usize / entries;
            // A transaction brings eight words. So the reads of elements n and n + 8 need equally
            // many transactions, and every full warp needs as many as the first. The last warp may
            // have fewer threads.
            for residue in 0..count.min(SECTOR) {
                // Number of elements n for which n modulo 8 is `residue`.
                let elements = (count - residue).div_ceil(SECTOR) as f64;
                let warp_sectors =
                    |warp| sectors(&layout.words_of_warp(entries, count, warp, residue)) as f64;
                let full_warps = entries / WARP;
                if full_warps > 0 {
                    transactions += elements * full_warps as f64 * warp_sectors(0);
                }
                if entries > full_warps * WARP {
                    transactions += elements * warp_sectors(full_warps);
                }
                reads += elements * entries.div_ceil(WARP) as f64;
            }
        }
    }
    if reads > 0.0 { transactions / reads } else { 0.0 }
}

/// The median times with the naive layout and with the interleaved layout, in microseconds. Each
/// has one time per network.
fn times(
    setup: &Setup,
    progress: &Progress,
    record: &mut Record,
    trees: &[NamedTree],
    source: TimeSource,
) -> Result<[Vec<Option<f64>>; 2], ExperimentError> {
    progress.expect(2.0 * trees.iter().map(|tree| tree.weight(setup.repeat)).sum::<f64>());
    let mut by_layout = [Vec::new(), Vec::new()];
    for tree in trees {
        for (layout, times) in MappingLayout::ALL.into_iter().zip(&mut by_layout) {
            let paper = PaperOptions { layout, ..setup.paper };
            let config = EngineConfig { paper, ..EngineConfig::new(GPU_PAPER.name, setup) };
            let run = source.time(setup, progress, record, tree, &config)?;
            times.push(run.map(|run| run.propagate_us.median));
        }
    }
    Ok(by_layout)
}

/// The panel of the speed that interleaving gains, in percent, next to the paper's range.
fn gain_panel(trees: &[NamedTree], series: Series) -> Panel {
    let mark = |share: f64| Mark {
        label: format!("+{:.0}% in the paper", 100.0 * share),
        origin: Origin::Paper,
        position: MarkPosition::Y(100.0 * share),
    };
    Panel {
        title: "change of the speed by interleaving".to_owned(),
        x: Axis::categories("", trees.iter().map(|tree| tree.name.as_str())),
        y: Axis::differences("% faster"),
        series: vec![series],
        marks: paper::LAYOUT_GAIN.map(mark).into(),
    }
}

/// Notes how many networks become faster by interleaving, and why others do not. `gain` holds the
/// gain in speed of each network, as a fraction.
fn note_gain(record: &mut Record, gain: &[Option<f64>]) {
    let measured: Vec<f64> = gain.iter().copied().flatten().collect();
    if measured.is_empty() {
        return;
    }
    let not_faster = measured.iter().filter(|&&gain| gain <= 0.0).count();
    record.note(format!(
        "Interleaving makes {} of {} faster.",
        measured.len() - not_faster,
        numbers::counted(measured.len(), "network", "networks")
    ));
    if not_faster > 0 {
        record.note(
            "Where interleaving does not help, the cache is the main reason. In the naive layout, a \
             memory transaction brings eight successive elements of one thread's table, and the \
             thread finds seven of them in the L1 cache later. In the interleaved layout, the \
             thread needs another transaction for each element. This was tested on an H200 with \
             kernels that read the mapping tables past the L1 cache: on the eight networks the \
             naive layout took 1.15 to 1.41 times as long, and the interleaved layout at most 1.03 \
             times. More than half of the lead of the naive layout was gone.",
        );
    }
}
