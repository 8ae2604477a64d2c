//! What an operation is given with a shortcut, and the messages that this needs.

use super::{Means, Ways, products};
use crate::engine::cuda::persistent::items::takes;
use crate::engine::cuda::persistent::operations::{Operation, Role};
use crate::network::{Network, VariableId};
use crate::potential::Scope;

/// Messages that an operation with a shortcut multiplies at most.
const FACTORS: usize = 6;

/// Products of such an operation, and of a matrix, at most: beyond, they take longer than they save.
const PRODUCTS: i64 = 200_000;

/// What an added message is known by: potential, findings, factors, and variables of its rows.
pub(super) type Key = (Option<usize>, Vec<VariableId>, Vec<usize>, Vec<VariableId>);

impl Ways<'_> {
    /// Operation `of` with a shortcut. What else that needs is added.
    pub(super) fn with_shortcut(
        &mut self,
        of: usize,
        past: usize,
        from: usize,
        means: Means,
    ) -> Option<Operation> {
        let of_past = self.without(past, from)?;
        let (rows, result) = (self.all[of].rows.clone(), self.all[of].result);
        let (beginning, middle) = (self.all[from].rows.clone(), self.all[past].rows.clone());
        let operation = match means {
            Means::LongerSum => {
                let Operation { run, potential, factors, findings, .. } = &self.all[of];
                let run = union(self.network, [run, &beginning]);
                let others = factors.iter().map(|(factor, _)| *factor).filter(|f| *f != past);
                let factors = self.with_scopes(others.chain(of_past).chain([from]));
                let (potential, findings) = (*potential, findings.clone());
                let run = minus(self.network, &run, &rows);
                Operation { rows, run, potential, factors, findings, result }
            }
            Means::Matrix => {
                let of_this = self.without(of, past)?;
                let both = union(self.network, [&rows, &beginning]);
                let run = minus(self.network, &middle, &both);
                let parts = of_this.into_iter().chain(of_past).collect();
                let matrix = self.message(None, vec![], parts, both, run)?;
                let factors = self.with_scopes(matrix.into_iter().chain([from]));
                let run = minus(self.network, &beginning, &rows);
                Operation { rows, run, potential: None, factors, findings: vec![], result }
            }
        };
        self.checked(operation)
    }

    /// What operation `of` is but for its factor `left_out`: a message over the variables of both.
    /// `None` inside if nothing else is in it.
    fn without(&mut self, of: usize, left_out: usize) -> Option<Option<usize>> {
        let Operation { rows, run, potential, factors, findings, .. } = &self.all[of];
        let both = union(self.network, [rows, &self.all[left_out].rows]);
        let run = minus(self.network, run, &both);
        let factors = factors.iter().map(|(factor, _)| *factor).filter(|f| *f != left_out);
        let (factors, findings) = (factors.collect(), findings.clone());
        self.message(*potential, findings, factors, both, run)
    }

    /// The message of these rows; an added one that is the same if there is one. `None` inside if it is a
    /// product of nothing.
    fn message(
        &mut self,
        potential: Option<usize>,
        findings: Vec<VariableId>,
        mut factors: Vec<usize>,
        rows: Scope,
        run: Scope,
    ) -> Option<Option<usize>> {
        if potential.is_none() && findings.is_empty() && run.entries() == 1 && factors.len() < 2 {
            return Some(factors.pop());
        }
        factors.sort_unstable();
        let mut variables = rows.variables().to_vec();
        variables.sort_unstable();
        let key = (potential, findings, factors, variables);
        if let Some(&known) = self.known.get(&key) {
            return Some(Some(known));
        }
        let factors = self.with_scopes(key.2.iter().copied());
        let (findings, result) = (key.1.clone(), Role::Message);
        let operation = Operation { rows, run, potential, factors, findings, result };
        let operation = self.checked(operation)?;
        let takes = takes(&operation, self.network);
        self.ends.push(self.end(&operation, takes));
        self.takes.push(takes);
        self.all.push(operation);
        self.keys.push(key.clone());
        self.known.insert(key, self.all.len() - 1);
        Some(Some(self.all.len() - 1))
    }

    fn with_scopes(&self, factors: impl Iterator<Item = usize>) -> Vec<(usize, Scope)> {
        factors.map(|factor| (factor, self.all[factor].rows.clone())).collect()
    }

    /// `operation`, if it is not too large.
    fn checked(&self, mut operation: Operation) -> Option<Operation> {
        let is_small = products(&operation) <= PRODUCTS && operation.factors.len() <= FACTORS;
        if !is_small || !operation.is_short(self.network, self.is_short) {
            return None;
        }
        operation.order_rows(self.network);
        Some(operation)
    }

    /// Forgets what was added from number `first` on.
    pub(super) fn forget(&mut self, first: usize) {
        for _ in first..self.all.len() {
            let key = self.keys.pop().expect("one for each that was added");
            self.known.remove(&key);
        }
        self.all.truncate(first);
        self.takes.truncate(first);
        self.ends.truncate(first);
    }
}

/// The variables that are in one of both, by number.
fn union(network: &Network, of: [&Scope; 2]) -> Scope {
    let mut variables: Vec<VariableId> = of.iter().flat_map(|s| s.variables()).copied().collect();
    variables.sort_unstable();
    variables.dedup();
    Scope::of(network, variables)
}

/// The variables of `of` that are not in `rows`.
fn minus(network: &Network, of: &Scope, rows: &Scope) -> Scope {
    Scope::of(network, of.variables().iter().copied().filter(|v| !rows.contains(*v)))
}
