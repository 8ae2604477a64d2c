//! Replaces an input of an operation by a shortcut, and adds the messages that the shortcut needs.

use super::{ShortcutKind, ShortcutSearch, products};
use crate::engine::cuda::persistent::operations::{Operation, Role};
use crate::engine::cuda::persistent::work_items::estimate_latency;
use crate::network::{Network, VariableId};
use crate::potential::Scope;

/// Maximum number of messages that an operation with a shortcut multiplies. A work item can have at
/// most 8 factors. If it reads messages, up to 2 of its factors are findings.
const MAX_FACTORS: usize = 6;

/// Maximum number of products of an operation with a shortcut, or of a message added for it. Larger
/// shortcuts take more time than they save. Tuned on the paper's networks; this affects only speed.
const MAX_PRODUCTS: i64 = 200_000;

/// Identifies an added message, so that no message is added twice. The lists of factors and rows
/// are sorted.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct MessageKey {
    potential: Option<usize>,
    findings: Vec<VariableId>,
    factors: Vec<usize>,
    rows: Vec<VariableId>,
}

/// A message that an operation with a shortcut needs, and that was not added before.
pub(super) struct AddedMessage {
    pub key: MessageKey,
    pub operation: Operation,
    /// As an entry of [`ShortcutSearch::latencies`].
    pub latency: u64,
    /// As an entry of [`ShortcutSearch::ends`].
    pub end: u64,
}

/// An operation with a shortcut, or a message added for it, would be too large.
pub(super) struct TooLarge;

impl ShortcutSearch<'_> {
    /// Operation `number` with `input` as a factor in place of `skipped`, where `skipped` is a
    /// factor of the operation and `input` is a factor of `skipped`. Also returns the messages to
    /// add for it: their numbers follow those of all operations.
    ///
    /// # Errors
    /// If one of these messages or the operation would be too large.
    pub(super) fn with_shortcut(
        &self,
        number: usize,
        skipped: usize,
        input: usize,
        kind: ShortcutKind,
    ) -> Result<(Operation, Vec<AddedMessage>), TooLarge> {
        let mut added = Vec::new();
        let rest_of_skipped = self.without(skipped, input, &mut added)?;
        let (rows, result) = (self.all[number].rows.clone(), self.all[number].result);
        let (input_rows, skipped_rows) =
            (self.all[input].rows.clone(), self.all[skipped].rows.clone());
        let operation = match kind {
            ShortcutKind::LongerSum => {
                let Operation { summed, potential, factors, findings, .. } = &self.all[number];
                let summed = union(self.network, [summed, &input_rows]);
                let others = factors.iter().map(|(factor, _)| *factor).filter(|f| *f != skipped);
                let factors = others.chain(rest_of_skipped).chain([input]);
                let factors = self.with_scopes(factors, &added);
                let (potential, findings) = (*potential, findings.clone());
                let summed = difference(self.network, &summed, &rows);
                Operation { rows, summed, potential, factors, findings, result }
            }
            ShortcutKind::Matrix => {
                let rest = self.without(number, skipped, &mut added)?;
                let matrix_rows = union(self.network, [&rows, &input_rows]);
                let summed = difference(self.network, &skipped_rows, &matrix_rows);
                let factors = rest.into_iter().chain(rest_of_skipped).collect();
                let matrix =
                    self.message(None, vec![], factors, matrix_rows, summed, &mut added)?;
                let factors = self.with_scopes(matrix.into_iter().chain([input]), &added);
                let summed = difference(self.network, &input_rows, &rows);
                Operation { rows, summed, potential: None, factors, findings: vec![], result }
            }
        };
        Ok((self.checked(operation)?, added))
    }

    /// The number of a message over the rows of operation `number` and the rows of `left_out`: the
    /// product of all that the operation multiplies except `left_out`. It may be the number of an
    /// existing message; see [`Self::message`]. `None` if the operation multiplies nothing else.
    ///
    /// # Errors
    /// If the message would be too large.
    fn without(
        &self,
        number: usize,
        left_out: usize,
        added: &mut Vec<AddedMessage>,
    ) -> Result<Option<usize>, TooLarge> {
        let Operation { rows, summed, potential, factors, findings, .. } = &self.all[number];
        let both = union(self.network, [rows, &self.all[left_out].rows]);
        let summed = difference(self.network, summed, &both);
        let factors = factors.iter().map(|(factor, _)| *factor).filter(|f| *f != left_out);
        let (factors, findings) = (factors.collect(), findings.clone());
        self.message(*potential, findings, factors, both, summed, added)
    }

    /// The number of the message with these factors and rows. The message is put into `added`,
    /// unless an equal message is there or was added before. Instead of a message that would only
    /// copy its single factor, returns the number of that factor. Returns `None` if there is
    /// nothing to multiply: no potential, no findings and no factors.
    ///
    /// # Errors
    /// If the message would be too large.
    fn message(
        &self,
        potential: Option<usize>,
        findings: Vec<VariableId>,
        mut factors: Vec<usize>,
        rows: Scope,
        summed: Scope,
        added: &mut Vec<AddedMessage>,
    ) -> Result<Option<usize>, TooLarge> {
        let is_trivial = potential.is_none() && findings.is_empty() && summed.entries() == 1;
        if is_trivial && factors.len() < 2 {
            return Ok(factors.pop());
        }
        factors.sort_unstable();
        let mut variables = rows.variables().to_vec();
        variables.sort_unstable();
        let key = MessageKey { potential, findings, factors, rows: variables };
        let is_equal = |message: &AddedMessage| message.key == key;
        let in_added = || Some(self.all.len() + added.iter().position(is_equal)?);
        if let Some(known) = self.known.get(&key).copied().or_else(in_added) {
            return Ok(Some(known));
        }
        let factors = self.with_scopes(key.factors.iter().copied(), added);
        let (findings, result) = (key.findings.clone(), Role::Message);
        let operation = Operation { rows, summed, potential, factors, findings, result };
        let operation = self.checked(operation)?;
        let latency = estimate_latency(&operation, self.network);
        let end = self.end(&operation, latency, added);
        added.push(AddedMessage { key, operation, latency, end });
        Ok(Some(self.all.len() + added.len() - 1))
    }

    /// The operations `factors`, each with the scope of its result. Some may be among `added`.
    fn with_scopes(
        &self,
        factors: impl Iterator<Item = usize>,
        added: &[AddedMessage],
    ) -> Vec<(usize, Scope)> {
        let rows = |factor: usize| match self.all.get(factor) {
            Some(operation) => &operation.rows,
            None => &added[factor - self.all.len()].operation.rows,
        };
        factors.map(|factor| (factor, rows(factor).clone())).collect()
    }

    /// `operation` with its rows ordered.
    ///
    /// # Errors
    /// If the operation is too large.
    fn checked(&self, mut operation: Operation) -> Result<Operation, TooLarge> {
        let is_small =
            products(&operation) <= MAX_PRODUCTS && operation.factors.len() <= MAX_FACTORS;
        if !is_small || !operation.row_fits(self.network, self.row_fits) {
            return Err(TooLarge);
        }
        operation.order_rows(self.network);
        Ok(operation)
    }
}

/// The variables that are in at least one of the two scopes, in order of their numbers.
fn union(network: &Network, scopes: [&Scope; 2]) -> Scope {
    let mut variables: Vec<VariableId> =
        scopes.iter().flat_map(|s| s.variables()).copied().collect();
    variables.sort_unstable();
    variables.dedup();
    Scope::of(network, variables)
}

/// The variables of `scope` that are not in `removed`.
fn difference(network: &Network, scope: &Scope, removed: &Scope) -> Scope {
    Scope::of(network, scope.variables().iter().copied().filter(|v| !removed.contains(*v)))
}
