//! Greedy elimination with incrementally updated scores.
//!
//! Eliminating a vertex changes only the scores of its neighbours and of the common neighbours of
//! pairs that become adjacent, so only these are updated.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;

use crate::cancel::{CancelToken, Cancelled};
use crate::graph::dynamic::DynamicGraph;
use crate::graph::{GraphTooLarge, Heuristic, MoralGraph, TriangulationError};
use crate::network::VariableId;

/// Weights are capped at this value in the cost of a fill edge, and for n variables also at 2^32 /
/// n, so that sums of products are exact in 64 bits.
const MAX_WEIGHT: usize = 1 << 16;

/// A graph during elimination, with the score of every remaining vertex.
#[derive(Clone)]
pub(super) struct Greedy {
    heuristic: Heuristic,
    cardinalities: Vec<usize>,
    /// The cost of a fill edge is the product of the weights of its ends.
    weights: Vec<u64>,
    graph: DynamicGraph,
    /// Number of edges of the graph before any vertex was eliminated, and of fill edges.
    edges: u64,
    /// Maximum memory in bytes.
    max_bytes: u64,
    /// For each remaining vertex, the sum of the weights of its remaining neighbours. Kept only for
    /// heuristics that count fill edges.
    around_weights: Vec<u64>,
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
    /// All of `graph`, before any vertex is eliminated. A run takes at most `max_bytes` bytes.
    ///
    /// # Errors
    /// [`TriangulationError::TooLarge`] if the graph alone needs more memory, or
    /// [`TriangulationError::Cancelled`] once `cancel` is set.
    pub fn new(
        graph: &MoralGraph,
        heuristic: Heuristic,
        max_bytes: u64,
        cancel: &CancelToken,
    ) -> Result<Self, TriangulationError> {
        let weights = match heuristic {
            Heuristic::WeightedMinFill => graph.cardinalities(),
            _ => &vec![1; graph.len()],
        };
        Self::with_weights(graph, heuristic, weights, max_bytes, cancel)
    }

    /// As [`new`](Self::new), but the cost of a fill edge is the product of the `weights` of its
    /// ends, whatever the numbers of their states.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_weights(
        graph: &MoralGraph,
        heuristic: Heuristic,
        weights: &[usize],
        max_bytes: u64,
        cancel: &CancelToken,
    ) -> Result<Self, TriangulationError> {
        let (n, edges) = (graph.len(), graph.edge_count() as u64);
        GraphTooLarge::check(n, edges, max_bytes)?;
        let max_weight = MAX_WEIGHT.min((1 << 32) / n.max(1)).max(1);
        let mut greedy = Self {
            heuristic,
            cardinalities: graph.cardinalities().to_vec(),
            weights: weights.iter().map(|&weight| weight.min(max_weight) as u64).collect(),
            graph: DynamicGraph::new(graph),
            edges,
            max_bytes,
            around_weights: Vec::new(),
            scores: Vec::new(),
            changed_scores: Vec::new(),
        };
        if greedy.counts_fill() {
            greedy.count_fill(cancel)?;
        } else {
            greedy.scores = (0..n as u32).map(|v| greedy.score(v)).collect();
        }
        Ok(greedy)
    }

    /// Computes the score of every vertex by a heuristic that counts fill edges: the cost of all
    /// pairs of neighbours, minus the cost of the pairs that are neighbours of each other.
    fn count_fill(&mut self, cancel: &CancelToken) -> Result<(), Cancelled> {
        let n = self.graph.len() as u32;
        for v in 0..n {
            let weights = self.graph.neighbours(v).iter().map(|&a| self.weights[a as usize]);
            let around: u64 = weights.clone().sum();
            let squares: u128 = weights.map(|weight| u128::from(weight * weight)).sum();
            let pairs = (u128::from(around) * u128::from(around) - squares) / 2;
            self.around_weights.push(around);
            self.scores.push(pairs as u64);
        }
        for a in 0..n {
            cancel.check()?;
            let edges = self.graph.neighbours(a).iter().filter(|&&b| a < b);
            for &b in edges {
                let weight = self.weights[a as usize] * self.weights[b as usize];
                let (few, many) = self.by_degree(a, b);
                for &c in self.graph.neighbours(few) {
                    if self.graph.are_neighbours(c, many) {
                        self.scores[c as usize] -= weight;
                    }
                }
            }
        }
        Ok(())
    }

    /// `a` and `b`, first the one with fewer neighbours.
    fn by_degree(&self, a: u32, b: u32) -> (u32, u32) {
        if self.graph.degree(a) <= self.graph.degree(b) { (a, b) } else { (b, a) }
    }

    /// Eliminates all vertices, or stops once the total entries of the maximal cliques reach
    /// `bound`. `seed` is as for [`eliminate`](crate::graph::eliminate).
    ///
    /// # Errors
    /// [`TriangulationError::TooLarge`] if the triangulated graph needs more memory than is
    /// allowed, or [`TriangulationError::Cancelled`] once `cancel` is set.
    pub fn run(
        mut self,
        seed: u64,
        bound: Option<u64>,
        cancel: &CancelToken,
    ) -> Result<Run, TriangulationError> {
        let n = self.graph.len();
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
            let around = self.eliminate(v as u32, cancel)?;
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
    fn eliminate(&mut self, v: u32, cancel: &CancelToken) -> Result<Vec<u32>, TriangulationError> {
        let around = self.graph.remove(v);
        if self.counts_fill() {
            self.join_and_count(v, &around, cancel)?;
            return Ok(around);
        }
        for (index, &a) in around.iter().enumerate() {
            cancel.check()?;
            self.check_memory(0)?;
            for &b in &around[index + 1..] {
                if !self.graph.are_neighbours(a, b) {
                    self.graph.connect(a, b);
                    self.edges += 1;
                }
            }
        }
        for &a in &around {
            self.scores[a as usize] = self.score(a);
        }
        Ok(around)
    }

    /// Checks that the edges so far and `more` edges fit into the memory limit.
    fn check_memory(&self, more: usize) -> Result<(), GraphTooLarge> {
        GraphTooLarge::check(self.graph.len(), self.edges + more as u64, self.max_bytes)
    }

    /// Joins `around`, the neighbours of the removed vertex `v`, and updates the scores of a
    /// heuristic that counts fill edges.
    fn join_and_count(
        &mut self,
        v: u32,
        around: &[u32],
        cancel: &CancelToken,
    ) -> Result<(), TriangulationError> {
        let weight = |&a: &u32| self.weights[a as usize];
        let total: u64 = around.iter().map(weight).sum();
        // For each neighbour of v, the weight of the neighbours that it shares with v.
        let mut shared: Vec<u64> = around.iter().map(|a| total - weight(a)).collect();
        let mut apart = Vec::new();
        if self.scores[v as usize] > 0 {
            for (i, &a) in around.iter().enumerate() {
                cancel.check()?;
                self.check_memory(apart.len())?;
                for (j, &b) in around.iter().enumerate().skip(i + 1) {
                    if !self.graph.are_neighbours(a, b) {
                        shared[i] -= self.weights[b as usize];
                        shared[j] -= self.weights[a as usize];
                        apart.push((a, b));
                    }
                }
            }
        }
        let own = self.weights[v as usize];
        for (&a, shared) in around.iter().zip(shared) {
            // Eliminating a no longer adds an edge between v and another neighbour of a.
            let rest = &mut self.around_weights[a as usize];
            *rest -= own;
            self.scores[a as usize] -= (*rest - shared) * own;
        }
        for (a, b) in apart {
            self.connect_and_count(a, b);
        }
        Ok(())
    }

    /// Makes `a` and `b` neighbours, and updates the scores of a heuristic that counts fill edges.
    fn connect_and_count(&mut self, a: u32, b: u32) {
        let (weight_a, weight_b) = (self.weights[a as usize], self.weights[b as usize]);
        let (few, many) = self.by_degree(a, b);
        let mut shared = 0;
        for &c in self.graph.neighbours(few) {
            if self.graph.are_neighbours(c, many) {
                // Eliminating c no longer adds the edge between a and b.
                self.scores[c as usize] -= weight_a * weight_b;
                self.changed_scores.push(c);
                shared += self.weights[c as usize];
            }
        }
        for (end, other_weight) in [(a, weight_b), (b, weight_a)] {
            let rest = &mut self.around_weights[end as usize];
            self.scores[end as usize] += (*rest - shared) * other_weight;
            *rest += other_weight;
        }
        self.graph.connect(a, b);
        self.edges += 1;
    }

    /// The score of `v` by a heuristic that does not count fill edges, computed from the graph.
    fn score(&self, v: u32) -> u64 {
        match self.heuristic {
            Heuristic::MinDegree => self.graph.degree(v) as u64,
            _ => self.cluster_entries(v as usize, self.graph.neighbours(v)),
        }
    }

    /// Number of entries of the table over `v` and its neighbours `around`, saturating.
    fn cluster_entries(&self, v: usize, around: &[u32]) -> u64 {
        let mut entries = self.cardinalities[v] as u64;
        for &a in around {
            entries = entries.saturating_mul(self.cardinalities[a as usize] as u64);
            // A vertex can have very many neighbours.
            if entries == u64::MAX {
                break;
            }
        }
        entries
    }

    fn counts_fill(&self) -> bool {
        matches!(self.heuristic, Heuristic::MinFill | Heuristic::WeightedMinFill)
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
    /// A queue of all vertices with these `scores`. Among equal scores, the vertex that comes first
    /// in `preference` wins.
    fn new(preference: &[u32], scores: &[u64]) -> Self {
        let count = preference.len();
        let mut rank = vec![0; count];
        preference.iter().zip(0..).for_each(|(&v, place)| rank[v as usize] = place);
        let leaves = count.next_power_of_two();
        let mut winners = vec![NO_RANK; 2 * leaves];
        winners[leaves..].iter_mut().zip(0..count as u32).for_each(|(own, rank)| *own = rank);
        let mut queue = Self {
            rank,
            vertex: preference.to_vec(),
            scores: preference.iter().map(|&v| scores[v as usize]).collect(),
            winners,
        };
        (1..leaves).rev().for_each(|number| queue.winners[number] = queue.winner(number));
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
mod tests;
