//! The network and its junction tree in numbers.

use eframe::egui::{Grid, Ui};

use super::DetailsScene;
use super::links::{Links, bar, facts, section, title};
use crate::app::state::document::Document;
use crate::app::state::highlight::Item;
use crate::app::widgets::colour_scale::ColourScale;
use crate::app::widgets::naming;
use crate::graph::{CliqueId, JunctionTree, Triangulation};
use crate::numbers::{counted, duration, human_bytes, share, short, short_size, thousands};

/// Maximum number of cliques in the list of the largest ones.
const TOP_CLIQUES: usize = 3;

/// Width of the bar of a clique in points.
const BAR_WIDTH: f32 = 110.0;

/// Maximum number of corrections that are listed. The heading says how many there are.
const MAX_CORRECTIONS: usize = 100;

/// Draws the network and its junction tree.
pub(super) fn show(ui: &mut Ui, scene: &DetailsScene<'_>, links: &mut Links<'_>) {
    show_network(ui, scene.document);
    let (compiled, tree) = (scene.compiled, scene.compiled.tree());
    let statistics = compiled.statistics();
    section(ui, "Junction tree");
    let entries = |count: u64| counted(count as usize, "entry", "entries");
    let mean = short(statistics.mean_separator_entries);
    let mut lines = vec![
        ("cliques", thousands(statistics.cliques as u64)),
        ("total entries", thousands(statistics.total_clique_entries)),
        ("largest clique", entries(statistics.max_clique_entries)),
        ("mean separator", format!("{mean} {}", if mean == "1" { "entry" } else { "entries" })),
        ("largest separator", entries(statistics.max_separator_entries)),
        ("depth", thousands(statistics.depth as u64)),
        ("fill edges", thousands(compiled.fill_edges().len() as u64)),
        (
            "triangulation",
            scene.compiled.triangulation().map_or("given", Triangulation::name).to_owned(),
        ),
        ("compiled in", duration(compiled.elapsed())),
    ];
    if !compiled.observed().is_empty() {
        let count = thousands(compiled.observed().len() as u64);
        lines.push(("observed variables left out", count));
    }
    if let Some(bytes) = scene.document.engine_bytes {
        let engine = scene.model.compute.engine;
        let name = format!("{} {}", engine.engine.name(), engine.precision);
        lines.push(("engine", format!("{name}, {}", human_bytes(bytes))));
    }
    if scene.document.shown.is_some() {
        lines.push(("posteriors of", scene.document.posterior_source()));
        lines.push(("times of", scene.document.time_source()));
    }
    facts(ui, "tree facts", lines);
    largest(ui, scene, links, tree);
    ui.add_space(10.0);
    ui.weak("Click a variable, clique, separator or message in any pane to see its details here.");
}

/// Draws the facts about the network that need no junction tree.
pub(super) fn show_network(ui: &mut Ui, document: &Document) {
    let network = document.network();
    title(ui, &document.title(), "network");
    let states: usize = network.variables().iter().map(|variable| variable.cardinality()).sum();
    let (arcs_or_factors, count) = network.arcs_or_factors();
    let values: usize = network.factors().map(|factor| factor.values().len()).sum();
    let kind_of_values = if network.is_bayesian() { "probabilities" } else { "factor entries" };
    facts(
        ui,
        "network facts",
        [
            ("variables", thousands(network.variables().len() as u64)),
            (arcs_or_factors, thousands(count as u64)),
            ("states", thousands(states as u64)),
            (kind_of_values, thousands(values as u64)),
            ("findings", thousands(document.evidence.len() as u64)),
        ],
    );
    if !document.read.warnings.is_empty() {
        let count = counted(document.read.warnings.len(), "correction", "corrections");
        ui.collapsing(format!("{count} while reading"), |ui| {
            for warning in document.read.warnings.iter().take(MAX_CORRECTIONS) {
                ui.label(warning.to_string());
            }
        });
    }
}

/// Lists the largest cliques with their shares of all entries.
fn largest(ui: &mut Ui, scene: &DetailsScene<'_>, links: &mut Links<'_>, tree: &JunctionTree) {
    let top = top_cliques(tree);
    let total = scene.compiled.statistics().total_clique_entries as f64;
    let sum: f64 = top.iter().map(|&clique| tree[clique].entries as f64).sum();
    section(ui, "Largest cliques");
    let of_all = share(sum, total);
    ui.weak(match top.len() {
        1 => format!("it holds {of_all} of all entries"),
        2 => format!("these two hold {of_all} of all entries"),
        _ => format!("these three hold {of_all} of all entries"),
    });
    let scale = ColourScale::of_cliques(tree, ui.visuals().dark_mode);
    Grid::new("largest cliques").num_columns(3).show(ui, |ui| {
        for clique in top {
            let entries = tree[clique].entries;
            let response = links.link(ui, naming::clique_id(clique), Item::Clique(clique));
            response.on_hover_text(naming::clique(scene.compiled, clique));
            let colour = scale.colour(entries as f64);
            bar(ui, BAR_WIDTH, (entries as f64 / total) as f32, colour, None);
            ui.label(format!("{}  {}", share(entries as f64, total), short_size(entries)));
            ui.end_row();
        }
    });
}

/// The largest cliques, at most [`TOP_CLIQUES`], largest first; cliques of equal size by number.
fn top_cliques(tree: &JunctionTree) -> Vec<CliqueId> {
    let mut cliques: Vec<CliqueId> = tree.clique_ids().collect();
    cliques.sort_by_key(|&clique| (std::cmp::Reverse(tree[clique].entries), clique));
    cliques.truncate(TOP_CLIQUES);
    cliques
}
