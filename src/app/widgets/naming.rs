//! Names of variables, cliques, separators and messages, as all panes show them.

use crate::graph::{CliqueId, SeparatorId};
use crate::network::{Network, VariableId};
use crate::numbers;
use crate::propagation::{CompiledNetwork, MessageId};

/// The `limit` of [`variable_set`] in the name of a clique or a separator. With more, names in
/// lists and boxes take more room.
pub const MAX_CHARACTERS: usize = 28;

/// The `limit` of [`variable_list`] in the name of a clique for screen readers. With more, large
/// cliques take long to read aloud.
const MAX_SPOKEN_CHARACTERS: usize = 200;

/// The title that the file gives a variable, if it differs from the name.
#[must_use]
pub fn title(network: &Network, variable: VariableId) -> Option<&str> {
    let name = network[variable].name();
    let title = network.annotations().of(variable).title.as_deref()?;
    // Many titles repeat the name with spaces instead of underscores.
    (!title.eq_ignore_ascii_case(&name.replace('_', " "))).then_some(title)
}

/// The names of `variables`: `{either, lung, tub}`. If this set would have more than `limit`
/// characters, only as many names as fit are given, but at least one, and the others are counted:
/// `{either, lung, +7}`. The count is not included in the limit.
#[must_use]
pub fn variable_set(network: &Network, variables: &[VariableId], limit: usize) -> String {
    format!("{{{}}}", variable_list(network, variables, limit))
}

/// As [`variable_set`], without braces.
#[must_use]
pub fn variable_list(network: &Network, variables: &[VariableId], limit: usize) -> String {
    shortened_list(network, variables, limit).join(", ")
}

/// The items of [`variable_list`]: names and, if some are left out, their number such as `+7`.
#[must_use]
pub fn shortened_list(network: &Network, variables: &[VariableId], limit: usize) -> Vec<String> {
    let mut items = Vec::new();
    let mut taken = 0;
    for (index, &variable) in variables.iter().enumerate() {
        let name = network[variable].name();
        let length = name.chars().count() + 2;
        if index > 0 && taken + length > limit {
            items.push(format!("+{}", variables.len() - index));
            break;
        }
        items.push(name.to_owned());
        taken += length;
    }
    items
}

/// Explains the time of a message that was timed together with `others` other messages. `None` if
/// it was timed alone.
#[must_use]
pub fn timed_together(others: u32) -> Option<String> {
    (others > 0).then(|| {
        let others = numbers::counted(others as usize, "other", "others");
        format!("Timed together with {others}: the time is divided in proportion to the forecast cost of each")
    })
}

/// A time in nanoseconds that belongs to a message: `895 ns`, or `≈ 895 ns` if the message was
/// timed together with `others`, because the common time is divided by an estimate.
#[must_use]
pub fn message_time(nanoseconds: f64, others: u32) -> String {
    let mark = if others > 0 { "≈ " } else { "" };
    format!("{mark}{}", numbers::nanoseconds(nanoseconds))
}

/// The short name of a clique: `C12`.
#[must_use]
pub fn clique_id(clique: CliqueId) -> String {
    format!("C{}", clique.index())
}

/// The short name of a separator: `S3`.
#[must_use]
pub fn separator_id(separator: SeparatorId) -> String {
    format!("S{}", separator.index())
}

/// The name of a clique with its variables, shortened: `C12 {either, lung, tub}`.
#[must_use]
pub fn clique(compiled: &CompiledNetwork, clique: CliqueId) -> String {
    let variables = &compiled.tree()[clique].variables;
    format!("{} {}", clique_id(clique), variable_set(compiled.network(), variables, MAX_CHARACTERS))
}

/// The name of a separator with its variables, shortened: `S3 {either, lung}`.
#[must_use]
pub fn separator(compiled: &CompiledNetwork, separator: SeparatorId) -> String {
    let variables = &compiled.tree()[separator].variables;
    format!(
        "{} {}",
        separator_id(separator),
        variable_set(compiled.network(), variables, MAX_CHARACTERS)
    )
}

/// Sender and receiver of a message: `C4 to C7`.
#[must_use]
pub fn message_ends(compiled: &CompiledNetwork, message: MessageId) -> String {
    let message = compiled.plan()[message];
    format!("{} to {}", clique_id(message.from), clique_id(message.to))
}

/// The name of a clique for screen readers: `Clique 12: either, lung, tub; 8 entries`.
#[must_use]
pub fn spoken_clique(compiled: &CompiledNetwork, clique: CliqueId) -> String {
    let id = clique.index();
    let clique = &compiled.tree()[clique];
    let names = variable_list(compiled.network(), &clique.variables, MAX_SPOKEN_CHARACTERS);
    let entries = numbers::thousands(clique.entries);
    let noun = if clique.entries == 1 { "entry" } else { "entries" };
    format!("Clique {id}: {names}; {entries} {noun}")
}

/// The number of entries of the two clique tables of a message, |from| + |to|.
#[must_use]
pub fn entries_touched(compiled: &CompiledNetwork, message: MessageId) -> u64 {
    let message = compiled.plan()[message];
    let tree = compiled.tree();
    tree[message.from].entries.saturating_add(tree[message.to].entries)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::{Cpt, Variable};

    #[test]
    fn long_sets_are_shortened() {
        let names = ["either", "lung", "tub", "asia"];
        let variables = names.map(|name| Variable::new(name, ["no", "yes"])).to_vec();
        let ids: Vec<VariableId> = (0..names.len()).map(VariableId::new).collect();
        let cpts = ids.iter().map(|&id| Cpt::new(id, vec![], vec![0.5, 0.5])).collect();
        let network = Network::new("names", variables, cpts).unwrap();
        assert_eq!(variable_set(&network, &ids, 100), "{either, lung, tub, asia}");
        assert_eq!(variable_set(&network, &ids, 14), "{either, lung, +2}");
        assert_eq!(variable_set(&network, &ids, 0), "{either, +3}");
        assert_eq!(variable_set(&network, &[], 10), "{}");
    }
}
