//! The equations that a message computes, with the names of its variables.

use crate::app::widgets::equation::Math;
use crate::app::widgets::naming::{self, clique_id};
use crate::network::{Network, VariableId};
use crate::numbers;
use crate::propagation::{CompiledNetwork, MessageId};

/// Usual limit for the variable names of one table, in characters. Further variables are only
/// counted. A caller with little room passes a smaller limit to [`Equations::of`].
pub(in crate::app::panes) const MAX_NAME_CHARACTERS: usize = 120;

/// What a message computes: equations 2 and 3 of Zheng, Mengshoel and Chong.
pub(in crate::app::panes) struct Equations {
    /// `φ*(separator) = Σ ψ(sender)`.
    pub marginalise: Math,
    /// Which variables the sum runs over, in words.
    pub summed_out: String,
    /// `ψ(receiver) ← ψ · φ* / φ`.
    pub scatter: Math,
}

impl Equations {
    /// The equations of message `id`. The names of each table take at most `limit` characters;
    /// `None` leaves the names out.
    pub fn of(compiled: &CompiledNetwork, id: MessageId, limit: Option<usize>) -> Self {
        let (network, tree) = (compiled.network(), compiled.tree());
        let message = compiled.plan()[id];
        let separator = &tree[message.separator].variables;
        let sender = &tree[message.from].variables;
        let summed: Vec<VariableId> =
            sender.iter().copied().filter(|v| separator.binary_search(v).is_err()).collect();
        let [from, to] = [message.from, message.to].map(|c| Math::subscript("ψ", clique_id(c)));
        let mut marginalise = vec![Math::text("φ*")];
        arguments(&mut marginalise, network, separator, limit);
        marginalise.push(Math::text(" = "));
        if !summed.is_empty() {
            marginalise.push(sum_over(network, &summed, limit));
        }
        marginalise.push(from);
        arguments(&mut marginalise, network, sender, limit);
        let mut scatter = vec![to.clone()];
        arguments(&mut scatter, network, &tree[message.to].variables, limit);
        let ratio = Math::Fraction(Box::new(Math::text("φ*")), Box::new(Math::text("φ")));
        scatter.extend([Math::text(" "), Math::text("← "), to, Math::text(" · "), ratio]);
        Self {
            marginalise: Math::Row(marginalise),
            summed_out: summed_out(network, &summed),
            scatter: Math::Row(scatter),
        }
    }
}

/// Adds the names of `variables` in parentheses to `row`; nothing without a `limit`.
fn arguments(
    row: &mut Vec<Math>,
    network: &Network,
    variables: &[VariableId],
    limit: Option<usize>,
) {
    let Some(limit) = limit else { return };
    row.push(Math::text("("));
    row.extend(names(network, variables, limit));
    row.push(Math::text(")"));
}

/// A sum over `variables`; without a `limit`, they are only counted.
fn sum_over(network: &Network, variables: &[VariableId], limit: Option<usize>) -> Math {
    let over = match limit {
        Some(limit) => Math::Row(names(network, variables, limit)),
        None => Math::text(numbers::counted(variables.len(), "variable", "variables")),
    };
    Math::Sum(Box::new(over))
}

/// The names of `variables`, separated so that a line may end after each of them.
fn names(network: &Network, variables: &[VariableId], limit: usize) -> Vec<Math> {
    let mut names = naming::shortened_list(network, variables, limit);
    if let Some((_, others)) = names.split_last_mut() {
        others.iter_mut().for_each(|name| name.push_str(", "));
    }
    names.into_iter().map(Math::Text).collect()
}

/// Which variables are `summed` out, in words.
fn summed_out(network: &Network, summed: &[VariableId]) -> String {
    if summed.is_empty() {
        return "nothing is summed out: the separator contains all variables of the sender"
            .to_owned();
    }
    format!("summed over {}", naming::variable_list(network, summed, MAX_NAME_CHARACTERS))
}
