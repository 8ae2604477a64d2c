//! The equations that a message computes, with the names of its variables.

use crate::app::widgets::naming::{self, clique_id};
use crate::network::{Network, VariableId};
use crate::propagation::{CompiledNetwork, MessageId};

/// Maximum number of characters for the variable names of one table; further variables are only
/// counted.
const MAX_NAME_CHARACTERS: usize = 120;

/// What a message computes: equations 2 and 3 of Zheng, Mengshoel and Chong.
pub(in crate::app::panes) struct Equations {
    /// `φ*(separator) = Σ ψ(sender)`.
    pub marginalise: String,
    /// Which variables the sum runs over.
    pub summed_out: String,
    /// `ψ(receiver) ← ψ · φ* / φ`.
    pub scatter: String,
}

impl Equations {
    /// The equations of message `id`.
    pub fn of(compiled: &CompiledNetwork, id: MessageId) -> Self {
        let (network, tree) = (compiled.network(), compiled.tree());
        let message = compiled.plan()[id];
        let separator = &tree[message.separator].variables;
        let sender = &tree[message.from].variables;
        let summed: Vec<VariableId> =
            sender.iter().copied().filter(|v| separator.binary_search(v).is_err()).collect();
        let (from, to) = (clique_id(message.from), clique_id(message.to));
        let separator_arguments = arguments(network, separator);
        Self {
            marginalise: format!(
                "φ*{separator_arguments} = Σ ψ_{from}{}",
                arguments(network, sender)
            ),
            summed_out: if summed.is_empty() {
                "nothing is summed out: the separator contains all variables of the sender"
                    .to_owned()
            } else {
                format!(
                    "summed over {}",
                    naming::variable_list(network, &summed, MAX_NAME_CHARACTERS)
                )
            },
            scatter: format!(
                "ψ_{to}{} ← ψ_{to} · φ* / φ",
                arguments(network, &tree[message.to].variables)
            ),
        }
    }
}

/// The names of `variables` in parentheses.
fn arguments(network: &Network, variables: &[VariableId]) -> String {
    format!("({})", naming::variable_list(network, variables, MAX_NAME_CHARACTERS))
}
