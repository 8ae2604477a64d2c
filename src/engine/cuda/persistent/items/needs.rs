//! What items need and take, for forecasts: without the numbers.

use super::{Grain, HEADER, RECORD, STAGE, THREADS};
use crate::engine::cuda::persistent::costs::Cost;
use crate::engine::cuda::persistent::operations::Operation;
use crate::network::{Network, VariableId};
use crate::potential::Scope;

/// What an operation needs if nothing of it is zero: words of records, and items. With some to spare,
/// because what is zero makes rows share less.
pub(in crate::engine::cuda::persistent) struct Needs {
    pub words: u64,
    pub items: u64,
}

/// See [`Needs`].
pub(in crate::engine::cuda::persistent) fn needs(
    operation: &Operation,
    network: &Network,
    grain: Grain,
) -> Needs {
    let (rows, run) = (operation.rows.entries(), operation.run.entries());
    let factors = Factors::of(operation, network);
    let (on_stage, pairs) = (|rows: usize| factors.on_stage(rows), factors.pairs());
    let words = |rows: usize| {
        let of_rows = (rows + 8) * (1 + pairs) + (run + 32) * pairs;
        HEADER + on_stage(rows) + of_rows + rows * run * 9 / 8 + 64
    };
    let (least, most) = grain.entries;
    let wanted = (rows * run).div_ceil(grain.shares).clamp(least, most);
    let mut each = (wanted / run.max(1)).clamp(1, rows.max(1));
    while each > 1 && (on_stage(each) > STAGE || words(each) > RECORD) {
        each = each * 3 / 4;
    }
    let items = rows.div_ceil(each);
    Needs {
        words: (items * words(each).min(RECORD) * 5 / 4) as u64,
        items: items as u64 * 5 / 4 + 1,
    }
}

/// Nanoseconds from the end of what an operation waits for until it has ended, if many blocks are free
/// and nothing is zero.
pub(in crate::engine::cuda::persistent) fn takes(operation: &Operation, network: &Network) -> u64 {
    let (rows, run) = (operation.rows.entries(), operation.run.entries());
    let factors = Factors::of(operation, network);
    let Grain { shares, entries: (least, most), .. } = Grain::FINEST;
    let mut each = ((rows * run).div_ceil(shares).clamp(least, most) / run).clamp(1, rows);
    while each > 1 && factors.on_stage(each) > STAGE {
        each = each * 3 / 4;
    }
    let words = factors.on_stage(each) as u32;
    let sums = Cost::of_sums((each * run).div_ceil(THREADS), factors.pairs());
    Cost { words, sums }.hop() * (1 + rows.div_ceil(each) / shares) as u64
}

/// Of each message and finding of an operation the entries that a row needs, and the consecutive rows
/// that need the same.
struct Factors(Vec<(usize, usize)>);

impl Factors {
    fn of(operation: &Operation, network: &Network) -> Self {
        let of_findings = operation.findings.iter().map(|&variable| Scope::of(network, [variable]));
        let scopes = operation.factors.iter().map(|(_, scope)| scope.clone());
        let scopes: Vec<Scope> = scopes.chain(of_findings).collect();
        let shared = |scope: &Scope| {
            let states = |variables: &mut dyn Iterator<Item = &VariableId>| -> usize {
                variables.map(|&variable| network[variable].cardinality()).product()
            };
            let width =
                states(&mut operation.run.variables().iter().filter(|v| scope.contains(**v)));
            let of_rows = operation.rows.variables().iter().rev();
            (width, states(&mut of_rows.take_while(|v| !scope.contains(**v))))
        };
        Self(scopes.iter().map(shared).collect())
    }

    fn pairs(&self) -> usize {
        self.0.len() / 2 + 1
    }

    /// Words of the stage that so many rows need.
    fn on_stage(&self, rows: usize) -> usize {
        let words = self.0.iter().map(|&(width, same)| rows.min(rows / same + 2) * width);
        words.map(|words| words.next_multiple_of(32)).sum()
    }
}
