//! Greedy elimination with incrementally updated scores.
//!
//! Eliminating a vertex changes only the scores of its neighbours and of the common neighbours of
//! pairs that become adjacent, so only these are updated. Neighbours are kept in lists, which are
//! short in any network that can be compiled, and in a bit matrix that answers whether two vertices
//! are adjacent.

use fixedbitset::FixedBitSet;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;

use crate::cancel::{CancelToken, Cancelled};
use crate::graph::{Heuristic, MoralGraph, table_entries};
use crate::network::VariableId;

/// Cardinalities are capped at this value in the weight of a fill edge, so that sums of products
/// are exact in 64 bits for up to 2^16 variables.
const MAX_WEIGHT: usize = 1 << 16;

/// A graph during elimination, with the score of every remaining vertex.
#[derive(Clone)]
pub(super) struct Greedy {
    heuristic: Heuristic,
    cardinalities: Vec<usize>,
    /// The cost of a fill edge is the product of the weights of its ends.
    weights: Vec<u64>,
    /// Bit `a * n + b`: whether `a` and `b` are neighbours.
    adjacent: FixedBitSet,
    /// The remaining neighbours of each vertex.
    neighbours: Vec<Vec<u32>>,
    /// The score of each vertex by the heuristic.
    scores: Vec<u64>,
    /// Vertices whose score fell during the current elimination because two of their neighbours
    /// were joined. May contain a vertex several times.
    changed_scores: Vec<u32>,
}

/// The result of a run.
pub(super) struct Run {
    /// Whether there was a tie that another seed could break differently, with other cliques.
    pub tied: bool,
    /// `None` if the run was stopped because its total reached the bound.
    pub found: Option<Found>,
}

/// A complete elimination order.
pub(super) struct Found {
    pub order: Vec<VariableId>,
    /// `neighbours[i]`: the neighbours of `order[i]` at the time it was eliminated.
    pub neighbours: Vec<Vec<u32>>,
    /// Sum of the table sizes of the maximal cliques, saturating.
    pub entries: u64,
}

impl Greedy {
    /// All of `graph`, before any vertex is eliminated.
    pub fn new(
        graph: &MoralGraph,
        heuristic: Heuristic,
        cancel: &CancelToken,
    ) -> Result<Self, Cancelled> {
        let n = graph.len();
        let mut adjacent = FixedBitSet::with_capacity(n * n);
        let mut neighbours = Vec::with_capacity(n);
        for (a, row) in graph.adjacency().iter().enumerate() {
            adjacent.extend(row.ones().map(|b| a * n + b));
            neighbours.push(row.ones().map(|b| b as u32).collect());
        }
        let weights = match heuristic {
            Heuristic::WeightedMinFill => {
                graph.cardinalities().iter().map(|&states| states.min(MAX_WEIGHT) as u64).collect()
            }
            _ => vec![1; n],
        };
        let mut greedy = Self {
            heuristic,
            cardinalities: graph.cardinalities().to_vec(),
            weights,
            adjacent,
            neighbours,
            scores: Vec::new(),
            changed_scores: Vec::new(),
        };
        for v in 0..n {
            cancel.check()?;
            let score = greedy.score(v);
            greedy.scores.push(score);
        }
        Ok(greedy)
    }

    /// Eliminates all vertices, or stops once the total entries of the maximal cliques reach
    /// `bound`. `seed` is as for [`eliminate`](crate::graph::eliminate).
    pub fn run(
        mut self,
        seed: u64,
        bound: Option<u64>,
        cancel: &CancelToken,
    ) -> Result<Run, Cancelled> {
        let n = self.neighbours.len();
        // Ties are broken in favour of the vertex that comes first here.
        let mut preference: Vec<u32> = (0..n as u32).collect();
        if seed != 0 {
            preference.shuffle(&mut Pcg64Mcg::seed_from_u64(seed));
        }
        let mut queue = Queue::new(&preference, &self.scores);
        let mut order = Vec::with_capacity(n);
        let mut neighbours = Vec::with_capacity(n);
        let mut entries = 0_u64;
        let mut tied = false;
        let mut residues = Residues::new(n);
        while let Some((v, is_tied)) = queue.pop() {
            cancel.check()?;
            // Vertices that need no fill edge can be eliminated in any order and give the same
            // cliques, so a tie between them does not matter.
            tied |= is_tied && !(self.counts_fill() && self.scores[v] == 0);
            let around = self.eliminate(v);
            for &changed in around.iter().chain(&self.changed_scores) {
                queue.update(changed as usize, self.scores[changed as usize]);
            }
            self.changed_scores.clear();
            if residues.eliminate(v, &around) {
                entries = entries.saturating_add(self.cluster_entries(v, &around));
                if bound.is_some_and(|bound| entries >= bound) {
                    return Ok(Run { tied, found: None });
                }
            }
            order.push(VariableId::new(v));
            neighbours.push(around);
        }
        Ok(Run { tied, found: Some(Found { order, neighbours, entries }) })
    }

    /// Eliminates `v`: joins its neighbours pairwise, and returns these neighbours.
    fn eliminate(&mut self, v: usize) -> Vec<u32> {
        let around = std::mem::take(&mut self.neighbours[v]);
        for &a in &around {
            let a = a as usize;
            let mut list = std::mem::take(&mut self.neighbours[a]);
            list.swap_remove(
                list.iter().position(|&x| x as usize == v).expect("edges go both ways"),
            );
            if self.counts_fill() {
                // Eliminating a no longer adds an edge between v and another neighbour of a.
                let apart = list.iter().filter(|&&x| !self.are_adjacent(v, x as usize));
                let weight: u64 = apart.map(|&x| self.weights[x as usize]).sum();
                self.scores[a] -= weight * self.weights[v];
            }
            self.neighbours[a] = list;
        }
        if !(self.counts_fill() && self.scores[v] == 0) {
            for (index, &a) in around.iter().enumerate() {
                for &b in &around[index + 1..] {
                    if !self.are_adjacent(a as usize, b as usize) {
                        self.connect(a as usize, b as usize);
                    }
                }
            }
        }
        if !self.counts_fill() {
            for &a in &around {
                self.scores[a as usize] = self.score(a as usize);
            }
        }
        around
    }

    /// Makes `a` and `b` neighbours.
    fn connect(&mut self, a: usize, b: usize) {
        if self.counts_fill() {
            let (weight_a, weight_b) = (self.weights[a], self.weights[b]);
            let mut gain = 0;
            for index in 0..self.neighbours[a].len() {
                let c = self.neighbours[a][index] as usize;
                if self.are_adjacent(b, c) {
                    // Eliminating c no longer adds the edge between a and b.
                    self.scores[c] -= weight_a * weight_b;
                    self.changed_scores.push(c as u32);
                } else {
                    gain += self.weights[c];
                }
            }
            self.scores[a] += gain * weight_b;
            let apart = self.neighbours[b].iter().filter(|&&c| !self.are_adjacent(a, c as usize));
            self.scores[b] += apart.map(|&c| self.weights[c as usize]).sum::<u64>() * weight_a;
        }
        let n = self.neighbours.len();
        self.adjacent.insert(a * n + b);
        self.adjacent.insert(b * n + a);
        self.neighbours[a].push(b as u32);
        self.neighbours[b].push(a as u32);
    }

    /// The score of `v`, computed from the graph.
    fn score(&self, v: usize) -> u64 {
        let around = &self.neighbours[v];
        match self.heuristic {
            Heuristic::MinDegree => around.len() as u64,
            Heuristic::MinWeight => self.cluster_entries(v, around),
            Heuristic::MinFill | Heuristic::WeightedMinFill => {
                let mut fill = 0;
                for (index, &a) in around.iter().enumerate() {
                    let apart = around[index + 1..]
                        .iter()
                        .filter(|&&b| !self.are_adjacent(a as usize, b as usize));
                    let weight: u64 = apart.map(|&b| self.weights[b as usize]).sum();
                    fill += weight * self.weights[a as usize];
                }
                fill
            }
        }
    }

    /// Number of entries of the table over `v` and its neighbours `around`.
    fn cluster_entries(&self, v: usize, around: &[u32]) -> u64 {
        let cluster = around.iter().map(|&a| a as usize).chain([v]);
        table_entries(cluster.map(|a| self.cardinalities[a]))
    }

    fn counts_fill(&self) -> bool {
        matches!(self.heuristic, Heuristic::MinFill | Heuristic::WeightedMinFill)
    }

    fn are_adjacent(&self, a: usize, b: usize) -> bool {
        self.adjacent.contains(a * self.neighbours.len() + b)
    }
}

/// A priority queue of the remaining vertices by score: a tournament tree that stores the winner of
/// every match.
struct Queue {
    /// The rank of each vertex; the smallest rank wins among equal scores.
    rank: Vec<u32>,
    /// The vertex of each rank.
    vertex: Vec<u32>,
    /// The current score of each vertex, by rank.
    scores: Vec<u64>,
    /// The rank that won each match, or [`NO_RANK`]. Match 1 is the final, matches 2m and 2m + 1
    /// decide who plays in match m, and the leaves hold one rank each.
    winners: Vec<u32>,
}

/// The winner of a match without players.
const NO_RANK: u32 = u32::MAX;

impl Queue {
    fn new(preference: &[u32], scores: &[u64]) -> Self {
        let count = preference.len();
        let mut rank = vec![0; count];
        preference.iter().zip(0..).for_each(|(&v, place)| rank[v as usize] = place);
        let last_round = count.next_power_of_two();
        let mut winners = vec![NO_RANK; 2 * last_round];
        winners[last_round..].iter_mut().zip(0..count as u32).for_each(|(own, rank)| *own = rank);
        let mut queue = Self {
            rank,
            vertex: preference.to_vec(),
            scores: preference.iter().map(|&v| scores[v as usize]).collect(),
            winners,
        };
        (1..last_round).rev().for_each(|number| queue.winners[number] = queue.winner(number));
        queue
    }

    /// The winner of match `number`, from the winners of the two matches below it.
    fn winner(&self, number: usize) -> u32 {
        match (self.winners[2 * number], self.winners[2 * number + 1]) {
            (NO_RANK, other) | (other, NO_RANK) => other,
            (a, b) if self.scores[b as usize] < self.scores[a as usize] => b,
            (a, _) => a,
        }
    }

    /// Replays the matches of `rank` whose winner may have changed.
    fn replay(&mut self, rank: u32) {
        let mut number = (self.winners.len() / 2 + rank as usize) / 2;
        while number > 0 {
            let winner = self.winner(number);
            let before = std::mem::replace(&mut self.winners[number], winner);
            if winner == before && winner != rank {
                return;
            }
            number /= 2;
        }
    }

    /// Sets the score of `v`, a vertex that has not been removed.
    fn update(&mut self, v: usize, score: u64) {
        let rank = self.rank[v];
        let known = &mut self.scores[rank as usize];
        if *known != score {
            *known = score;
            self.replay(rank);
        }
    }

    /// Removes the vertex with the smallest score. Returns the vertex, and whether another vertex
    /// has the same score.
    fn pop(&mut self) -> Option<(usize, bool)> {
        let first = self.first()?;
        let place = self.winners.len() / 2 + first as usize;
        self.winners[place] = NO_RANK;
        self.replay(first);
        let score = self.scores[first as usize];
        let is_tied = self.first().is_some_and(|other| self.scores[other as usize] == score);
        Some((self.vertex[first as usize] as usize, is_tied))
    }

    /// The rank with the smallest score.
    fn first(&self) -> Option<u32> {
        self.winners.get(1).copied().filter(|&rank| rank != NO_RANK)
    }
}

/// Recognises maximal clusters during elimination. Why this works is explained at
/// [`Elimination::maximal_clusters`](crate::graph::Elimination::maximal_clusters).
struct Residues {
    /// For each residue (a cluster without its eliminated vertex), its number of vertices; `None`
    /// once one of these vertices is eliminated.
    sizes: Vec<Option<usize>>,
    /// For each vertex, the residues that contain it.
    residues_of: Vec<Vec<u32>>,
}

impl Residues {
    fn new(n: usize) -> Self {
        Self { sizes: Vec::with_capacity(n), residues_of: vec![Vec::new(); n] }
    }

    /// Eliminates `v`, whose neighbours are `around`. Returns whether the cluster of `v` is
    /// maximal, that is, contained in no earlier cluster.
    fn eliminate(&mut self, v: usize, around: &[u32]) -> bool {
        let mut maximal = true;
        for residue in std::mem::take(&mut self.residues_of[v]) {
            let size = self.sizes[residue as usize].take();
            maximal &= size != Some(around.len() + 1);
        }
        for &a in around {
            self.residues_of[a as usize].push(self.sizes.len() as u32);
        }
        self.sizes.push(Some(around.len()));
        maximal
    }
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::*;
    use crate::graph::eliminate_in_order;

    fn random_graphs(seed: u64) -> impl Iterator<Item = MoralGraph> {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        (0..80).map(move |_| {
            let n = random.random_range(1..=16);
            let edges: Vec<Vec<VariableId>> = (0..random.random_range(0..=24))
                .map(|_| (0..2).map(|_| VariableId::new(random.random_range(0..n))).collect())
                .collect();
            MoralGraph::new((0..n).map(|_| random.random_range(1..=4)).collect(), &edges)
        })
    }

    fn run(graph: &MoralGraph, heuristic: Heuristic, seed: u64, bound: Option<u64>) -> Run {
        let cancel = CancelToken::new();
        Greedy::new(graph, heuristic, &cancel).unwrap().run(seed, bound, &cancel).unwrap()
    }

    #[test]
    fn the_total_counts_the_maximal_clusters() {
        for (round, graph) in random_graphs(3).enumerate() {
            for heuristic in Heuristic::ALL {
                let found = run(&graph, heuristic, round as u64, None).found.unwrap();
                let clusters =
                    eliminate_in_order(&graph, &found.order, &CancelToken::new()).unwrap().clusters;
                let expected: u64 = clusters
                    .iter()
                    .enumerate()
                    .filter(|(i, c)| {
                        !clusters.iter().enumerate().any(|(j, d)| j != *i && c.is_subset(d))
                    })
                    .map(|(_, c)| table_entries(c.ones().map(|v| graph.cardinalities()[v])))
                    .sum();
                assert_eq!(found.entries, expected, "graph {round}, {heuristic:?}");
            }
        }
    }

    #[test]
    fn a_run_stops_when_its_total_reaches_the_bound() {
        for graph in random_graphs(4) {
            let entries = run(&graph, Heuristic::MinFill, 0, None).found.unwrap().entries;
            assert!(run(&graph, Heuristic::MinFill, 0, Some(entries)).found.is_none());
            let below = run(&graph, Heuristic::MinFill, 0, Some(entries + 1)).found;
            assert_eq!(below.map(|found| found.entries), Some(entries));
        }
    }

    #[test]
    fn without_a_tie_every_seed_gives_the_same_total() {
        let (mut tied, mut untied) = (0, 0);
        for graph in random_graphs(5) {
            for heuristic in Heuristic::ALL {
                let first = run(&graph, heuristic, 0, None);
                if first.tied {
                    tied += 1;
                    continue;
                }
                untied += 1;
                let entries = first.found.unwrap().entries;
                for seed in 1..6 {
                    let other = run(&graph, heuristic, seed, None).found.unwrap();
                    assert_eq!(other.entries, entries, "{heuristic:?} with seed {seed}");
                }
            }
        }
        assert!(tied > 20 && untied > 20, "both occur: {tied} and {untied} times");
    }
}
