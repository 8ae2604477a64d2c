//! Merging small separators, which the paper names as future work (section 5).

use crate::experiment::source::{EngineConfig, TimeSource, on_gpu};
use crate::experiment::trees::{MERGE_THRESHOLDS, MESSAGE_ENTRIES, MergeRule, NamedTree};
use crate::experiment::{
    Axis, Experiment, ExperimentError, Figure, Fit, Mark, MarkPosition, Origin, Panel, Parameter,
    Progress, Record, Series, Setup, Shape, Table, Work,
};
use crate::numbers;

pub(in crate::experiment) const EXPERIMENT: Experiment = Experiment {
    name: "merging",
    title: "Section 5: merging small separators away",
    question: "A message over a small separator has work for only a few threads. Does it help to \
               merge the two cliques next to the separator, which saves the messages between them \
               but makes a larger table?",
    equations: &[],
    parameters: &[
        Parameter::Engine,
        Parameter::Baseline,
        Parameter::Repeat,
        Parameter::Threads,
        Parameter::Paper,
        Parameter::Threshold,
    ],
    networks: &["mildew", "barley", "pigs", "munin3"],
    answer,
};

/// The label of the horizontal axis of all panels. The original tree is at 1.
const THRESHOLD_LABEL: &str = "separators of at most this many entries are merged away";

/// A tree of a network, and the time of each engine on it.
struct TreeTimes {
    network: String,
    /// The threshold, in entries, and the rule by which separators were merged away; `None` for the
    /// original tree.
    merged: Option<(u64, MergeRule)>,
    cliques: usize,
    total_entries: u64,
    work: Work,
    /// The median time of each engine, in microseconds.
    times: Vec<Option<f64>>,
}

impl TreeTimes {
    /// Whether the tree belongs to the curve of `network` and `rule`, which begins with the
    /// original tree.
    fn is_on_curve(&self, network: &str, rule: MergeRule) -> bool {
        self.network == network && self.merged.is_none_or(|(_, used)| used == rule)
    }

    /// The threshold in entries; 1 for the original tree, so that it has a position on a
    /// logarithmic axis.
    fn threshold(&self) -> u64 {
        self.merged.map_or(1, |(threshold, _)| threshold)
    }
}

/// Times the engine and its baseline on the original trees and on the merged ones.
fn answer(setup: &Setup, progress: &Progress, record: &mut Record) -> Result<(), ExperimentError> {
    let trees = NamedTree::all(setup, setup.triangulation, progress)?;
    let mut engines = vec![setup.engine.as_str()];
    if setup.baseline != setup.engine {
        engines.push(setup.baseline.as_str());
    }
    let source = TimeSource::choose(setup, &engines)?;
    let variants = variants(setup.threshold);
    let threads = source.machine(setup).gpu.as_ref().map_or(1, |gpu| u64::from(gpu.threads));
    let weights = trees.iter().map(|tree| tree.weight(setup.repeat)).sum::<f64>();
    progress.expect(weights * (engines.len() * variants.len()) as f64);
    let mut rows = Vec::new();
    for original in &trees {
        for &variant in &variants {
            let merge = |(threshold, rule)| {
                original.merged(setup.triangulation, threshold, rule, progress.cancel_token())
            };
            let merged = variant.map(merge).transpose()?;
            let tree = merged.as_ref().unwrap_or(original);
            let mut times = Vec::new();
            for engine in &engines {
                let config = EngineConfig::new(engine, setup);
                let run = source.time(setup, progress, record, tree, &config)?;
                times.push(run.map(|run| run.propagate_us.median));
            }
            let statistics = tree.compiled.statistics();
            rows.push(TreeTimes {
                network: tree.name.clone(),
                merged: variant,
                cliques: statistics.cliques,
                total_entries: statistics.total_clique_entries,
                work: Work::of(&tree.messages(), threads),
                times,
            });
        }
    }
    let fits: Vec<Option<Fit>> = (0..engines.len()).map(|e| fit(&rows, e, engines[e])).collect();
    record.tables.push(table(&rows, &engines, &fits, source.origin()));
    notes(record, &trees, &rows, engines[0]);
    let panels = trees.iter().flat_map(|tree| {
        [
            sizes_panel(&tree.name, &rows),
            times_panel(&tree.name, &rows, engines[0], fits[0], source.origin()),
        ]
    });
    record.figures.push(Figure {
        title: format!("Merging small separators away: tree sizes, and times of {}", engines[0]),
        across: 2,
        panels: panels.collect(),
    });
    Ok(())
}

/// The trees to compare for each network: the original tree, and the trees by both rules with each
/// threshold of [`MERGE_THRESHOLDS`] and `further_threshold`.
fn variants(further_threshold: u64) -> Vec<Option<(u64, MergeRule)>> {
    let mut thresholds = MERGE_THRESHOLDS.to_vec();
    if let Err(index) = thresholds.binary_search(&further_threshold) {
        thresholds.insert(index, further_threshold);
    }
    let mut variants = vec![None];
    for rule in [MergeRule::All, MergeRule::Paying] {
        variants.extend(thresholds.iter().map(|&threshold| Some((threshold, rule))));
    }
    variants
}

/// The name of the rule in tables, notes and legends.
fn rule_name(rule: MergeRule) -> &'static str {
    match rule {
        MergeRule::All => "all",
        MergeRule::Paying => "paying",
    }
}

/// The number of entries that equation 6 counts for an engine.
fn entries(row: &TreeTimes, engine: &str) -> f64 {
    row.work.entries(on_gpu(engine))
}

/// Equation 6 fitted to the times of engine number `index`, called `engine`, on the original trees,
/// or on all trees if fewer than two original trees were measured.
fn fit(rows: &[TreeTimes], index: usize, engine: &str) -> Option<Fit> {
    let points = |only_original: bool| {
        let rows = rows.iter().filter(|row| row.merged.is_none() || !only_original);
        let point =
            |row: &TreeTimes| Some((row.work.messages, entries(row, engine), row.times[index]?));
        rows.filter_map(point).collect::<Vec<_>>()
    };
    Fit::of(&points(true)).or_else(|| Fit::of(&points(false)))
}

/// The table of all trees.
fn table(rows: &[TreeTimes], engines: &[&str], fits: &[Option<Fit>], origin: Origin) -> Table {
    let rule = |row: &TreeTimes| row.merged.map_or("none", |(_, rule)| rule_name(rule));
    let exact = Origin::Exact;
    let mut table = Table::new("trees")
        .text("network", rows.iter().map(|row| row.network.as_str()))
        .text("merged", rows.iter().map(rule))
        .count("threshold", exact, rows.iter().map(TreeTimes::threshold))
        .count("cliques", exact, rows.iter().map(|row| row.cliques as u64))
        .count("messages", exact, rows.iter().map(|row| row.work.messages as u64))
        .count("total_clique", exact, rows.iter().map(|row| row.total_entries))
        // The entries that a thread reads if each separator entry has its own thread.
        .number("entries_in_turn", exact, rows.iter().map(|row| row.work.parallel));
    for (index, (engine, fit)) in engines.iter().zip(fits).enumerate() {
        let predicted = rows
            .iter()
            .map(|row| Some(fit.as_ref()?.predict(row.work.messages, entries(row, engine))));
        table = table
            .number(&format!("{engine}_us"), origin, rows.iter().map(|row| row.times[index]))
            .number(&format!("{engine}_predicted_us"), Origin::Predicted, predicted);
    }
    table
}

/// Notes on the rules, and on the fastest merged tree of each network for the first engine, which
/// is called `engine`.
fn notes(record: &mut Record, trees: &[NamedTree], rows: &[TreeTimes], engine: &str) {
    record.note(format!(
        "Rule 'all' merges separators away as long as no table becomes larger than the largest \
         original one and the sum of all tables at most doubles. Rule 'paying' also requires that \
         equation 6 predicts a gain if a message costs as much as {MESSAGE_ENTRIES} entries."
    ));
    for tree in trees {
        let of_network = || rows.iter().filter(|row| row.network == tree.name);
        let original = of_network().find(|row| row.merged.is_none());
        let merged = of_network().filter_map(|row| Some((row.times[0]?, row.merged?)));
        let fastest = merged.min_by(|a, b| a.0.total_cmp(&b.0));
        let original_us = original.and_then(|row| row.times[0]);
        if let (Some(original_us), Some((us, (threshold, rule)))) = (original_us, fastest) {
            record.note(format!(
                "{}: the fastest merged tree changes the speed on {engine} by {:+.1}% (rule '{}', \
                 separators of at most {}).",
                tree.name,
                100.0 * (original_us / us - 1.0),
                rule_name(rule),
                numbers::counted(threshold as usize, "entry", "entries")
            ));
        }
    }
}

/// The panel of the numbers of entries and messages, relative to the original tree.
fn sizes_panel(network: &str, rows: &[TreeTimes]) -> Panel {
    let original = rows.iter().find(|row| row.network == network && row.merged.is_none());
    let line = |label: &str, rule: MergeRule, size: fn(&TreeTimes) -> f64| {
        // A tree of one clique has no messages. Then 1 is used, to avoid a division by zero.
        let original_size = original.map_or(1.0, size).max(1.0);
        let rows = rows.iter().filter(|row| row.is_on_curve(network, rule));
        let points = rows.map(|row| (row.threshold() as f64, size(row) / original_size));
        Series::new(label, Origin::Exact, Shape::Line, points)
    };
    let entries = |row: &TreeTimes| row.total_entries as f64;
    let messages = |row: &TreeTimes| row.work.messages;
    Panel {
        title: format!("{network}: entries and messages"),
        x: Axis::log(THRESHOLD_LABEL),
        y: Axis::linear("relative to the original tree"),
        series: vec![
            line("entries, all", MergeRule::All, entries),
            line("messages, all", MergeRule::All, messages),
            line("entries, paying", MergeRule::Paying, entries),
            line("messages, paying", MergeRule::Paying, messages),
        ],
        marks: Vec::new(),
    }
}

/// The panel of the times, measured and predicted.
fn times_panel(
    network: &str,
    rows: &[TreeTimes],
    engine: &str,
    fit: Option<Fit>,
    origin: Origin,
) -> Panel {
    let mut series = Vec::new();
    for rule in [MergeRule::All, MergeRule::Paying] {
        let name = rule_name(rule);
        let curve = || rows.iter().filter(|row| row.is_on_curve(network, rule));
        let threshold = |row: &TreeTimes| row.threshold() as f64;
        let measured = curve().filter_map(|row| Some((threshold(row), row.times[0]? / 1e3)));
        let predicted = curve().filter_map(|row| {
            Some((threshold(row), fit?.predict(row.work.messages, entries(row, engine)) / 1e3))
        });
        // A single point makes no line. Usually it is the original tree, which has a mark.
        let measured: Vec<_> = measured.collect();
        if measured.len() > 1 {
            series.push(Series::new(name, origin, Shape::Line, measured));
        }
        series.push(Series::new(name, Origin::Predicted, Shape::Line, predicted));
    }
    series.retain(|series| !series.points.is_empty());
    let original = rows.iter().find(|row| row.network == network && row.merged.is_none());
    let marks = original.and_then(|row| row.times[0]).map(|us| Mark {
        label: "original tree".to_owned(),
        origin,
        position: MarkPosition::Y(us / 1e3),
    });
    Panel {
        title: format!("{network}: time on {engine}"),
        x: Axis::log(THRESHOLD_LABEL),
        y: Axis::log("ms"),
        series,
        marks: marks.into_iter().collect(),
    }
}
