//! The network: variables with their conditional probability tables, or with factors.

use std::collections::HashMap;

use crate::network::validate::{check_factor, check_table, index_names, one_table_each};
use crate::network::{Annotations, Cpt, Factor, FactorId, NetworkError, Variable, VariableId};

/// A discrete Bayesian network, or a Markov network.
///
/// Variables are numbered in file order by [`VariableId`]. In a Bayesian network `cpts()[v]` is the
/// table of variable `v`. A Markov network has neither parents nor CPTs: its joint distribution is
/// the product of its [factors](Self::factors) divided by the partition function, which is the sum
/// of that product over all configurations. What the rest of the program calls ln P(e) is ln Z(e)
/// for a Markov network: the logarithm of the sum of the product over the configurations that agree
/// with the evidence.
#[derive(Clone, Debug)]
pub struct Network {
    name: String,
    variables: Vec<Variable>,
    /// Empty in a Markov network.
    cpts: Vec<Cpt>,
    /// Empty in a Bayesian network.
    markov: Vec<Factor>,
    is_bayesian: bool,
    children: Vec<Vec<VariableId>>,
    by_name: HashMap<String, VariableId>,
    annotations: Annotations,
}

impl Network {
    /// A Bayesian network of `variables`, with one table for each in any order.
    ///
    /// Normalises each row with [`normalise_row`](crate::network::normalise_row). Readers that warn
    /// about rows that do not sum to one have normalised the rows before, because only they know
    /// the line of each row.
    ///
    /// # Errors
    /// If the network is not valid; the error is the first mistake found.
    ///
    /// # Panics
    /// If a table names a variable that is not in `variables`.
    pub fn new(
        name: impl Into<String>,
        variables: Vec<Variable>,
        cpts: Vec<Cpt>,
    ) -> Result<Self, NetworkError> {
        let by_name = index_names(&variables)?;
        let mut cpts = one_table_each(&variables, cpts)?;
        for cpt in &mut cpts {
            check_table(&variables, cpt)?;
        }
        let mut children = vec![Vec::new(); variables.len()];
        for cpt in &cpts {
            for parent in cpt.parents() {
                children[parent.index()].push(cpt.child());
            }
        }
        let network = Self {
            name: name.into(),
            variables,
            cpts,
            markov: Vec::new(),
            is_bayesian: true,
            children,
            by_name,
            annotations: Annotations::default(),
        };
        match network.find_cycle() {
            Some(cycle) => Err(NetworkError::Cycle(
                cycle.iter().map(|&v| network[v].name().to_owned()).collect(),
            )),
            None => Ok(network),
        }
    }

    /// A Markov network of `variables` and `factors`.
    ///
    /// Several factors may have the same scope. A factor with an empty scope is a constant. The
    /// values of each factor are scaled by a power of two: see [`Factor::exponent`]. If scaled
    /// values would be too small for double precision, the factor becomes two factors, whose
    /// product has the given values. The second comes after all given factors.
    ///
    /// # Errors
    /// If the network is not valid; the error is the first mistake found.
    ///
    /// # Panics
    /// If a factor names a variable that is not in `variables`.
    pub fn markov(
        name: impl Into<String>,
        variables: Vec<Variable>,
        mut factors: Vec<Factor>,
    ) -> Result<Self, NetworkError> {
        let by_name = index_names(&variables)?;
        let mut second = Vec::new();
        for (index, factor) in factors.iter_mut().enumerate() {
            check_factor(&variables, index, factor)?;
            second.extend(factor.scale());
        }
        factors.append(&mut second);
        Ok(Self {
            name: name.into(),
            children: vec![Vec::new(); variables.len()],
            variables,
            cpts: Vec::new(),
            markov: factors,
            is_bayesian: false,
            by_name,
            annotations: Annotations::default(),
        })
    }

    /// The same network with one in place of every value of a factor that is not zero, so that
    /// tables are no longer normalised. A product of its factors cannot underflow: it is zero only
    /// where a factor is.
    pub(crate) fn with_ones(&self) -> Self {
        let mut ones = self.clone();
        let factors = ones.cpts.iter_mut().map(Cpt::factor_mut).chain(&mut ones.markov);
        let values = factors.flat_map(Factor::values_mut);
        values.for_each(|value| *value = f64::from(*value != 0.0));
        ones
    }

    /// Whether any factor has a zero.
    pub(crate) fn has_zeros(&self) -> bool {
        self.factors().any(|factor| factor.values().contains(&0.0))
    }

    /// Whether this is a Bayesian network; otherwise it is a Markov network.
    #[must_use]
    pub fn is_bayesian(&self) -> bool {
        self.is_bayesian
    }

    /// Number of factors. In a Bayesian network, one per variable. In a Markov network there may be
    /// more than were given: see [`markov`](Self::markov).
    #[must_use]
    pub fn factor_count(&self) -> usize {
        if self.is_bayesian { self.cpts.len() } else { self.markov.len() }
    }

    /// The factors. Their product is the joint distribution of a Bayesian network, and proportional
    /// to the joint distribution of a Markov network.
    pub fn factors(&self) -> impl ExactSizeIterator<Item = &Factor> {
        (0..self.factor_count()).map(|index| self.factor(FactorId::new(index)))
    }

    /// The ids of all factors.
    pub fn factor_ids(&self) -> impl ExactSizeIterator<Item = FactorId> + use<> {
        (0..self.factor_count()).map(FactorId::new)
    }

    /// The factor with this id.
    ///
    /// # Panics
    /// If the network has no such factor.
    #[must_use]
    pub fn factor(&self, id: FactorId) -> &Factor {
        if self.is_bayesian { self.cpts[id.index()].factor() } else { &self.markov[id.index()] }
    }

    /// Natural logarithm of the scale that was taken out of the factors' values; zero for a
    /// Bayesian network. The product of the factors as given is the product of their stored values
    /// times exp(`ln_scale`).
    #[must_use]
    pub fn ln_scale(&self) -> f64 {
        let exponents = self.markov.iter().map(|factor| i64::from(factor.exponent()));
        exponents.sum::<i64>() as f64 * std::f64::consts::LN_2
    }

    /// The parents of `variable`, slowest index of its table first. Empty in a Markov network.
    #[must_use]
    pub fn parents(&self, variable: VariableId) -> &[VariableId] {
        self.cpts.get(variable.index()).map_or(&[], Cpt::parents)
    }

    /// The name in the file; may be empty.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The same network with its annotations replaced by `annotations`.
    #[must_use]
    pub fn with_annotations(mut self, annotations: Annotations) -> Self {
        self.annotations = annotations;
        self
    }

    /// What the file says in addition to the model.
    #[must_use]
    pub fn annotations(&self) -> &Annotations {
        &self.annotations
    }

    /// All variables, in file order.
    #[must_use]
    pub fn variables(&self) -> &[Variable] {
        &self.variables
    }

    /// All variable ids, in file order.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = VariableId> + use<> {
        (0..self.variables.len()).map(VariableId::new)
    }

    /// All probability tables, in the order of their child variables. Empty in a Markov network.
    #[must_use]
    pub fn cpts(&self) -> &[Cpt] {
        &self.cpts
    }

    /// The probability table of `variable`.
    ///
    /// # Panics
    /// If this is a Markov network, or has no such variable.
    #[must_use]
    pub fn cpt(&self, variable: VariableId) -> &Cpt {
        &self.cpts[variable.index()]
    }

    /// The children of `variable`, in file order. Empty in a Markov network.
    ///
    /// # Panics
    /// If the network has no such variable.
    #[must_use]
    pub fn children(&self, variable: VariableId) -> &[VariableId] {
        &self.children[variable.index()]
    }

    /// Number of states of each variable, in file order.
    #[must_use]
    pub fn cardinalities(&self) -> Vec<usize> {
        self.variables.iter().map(Variable::cardinality).collect()
    }

    /// The variable called `name`, if there is one.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<VariableId> {
        self.by_name.get(name).copied()
    }

    /// Approximate memory of the network in bytes, without annotations.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        // The allocator rounds the size of each block up.
        let block = |bytes: usize| bytes.next_multiple_of(8);
        let text = |text: &String| size_of::<String>() + block(text.len());
        let variable = |variable: &Variable| {
            let states: usize = variable.states().iter().map(text).sum();
            // Counted twice, because the name is in `by_name` too, and a hash map has free slots.
            let name = block(variable.name().len()) + size_of::<(String, VariableId)>();
            size_of::<Variable>() + 2 * name + states + size_of::<Vec<VariableId>>()
        };
        let factor = |factor: &Factor| {
            let of_children = size_of_val(factor.scope());
            let heap = block(size_of_val(factor.scope())) + size_of_val(factor.values());
            size_of::<Cpt>() + heap + of_children
        };
        let variables: usize = self.variables.iter().map(variable).sum();
        (variables + self.factors().map(factor).sum::<usize>()) as u64
    }

    /// Number of arcs; zero in a Markov network.
    #[must_use]
    pub fn arc_count(&self) -> usize {
        self.cpts.iter().map(|cpt| cpt.parents().len()).sum()
    }

    /// What connects the variables, and how many there are: `arcs` or, in a Markov network,
    /// `factors`.
    #[must_use]
    pub fn arcs_or_factors(&self) -> (&'static str, usize) {
        if self.is_bayesian() {
            ("arcs", self.arc_count())
        } else {
            ("factors", self.factor_count())
        }
    }
}

impl std::ops::Index<VariableId> for Network {
    type Output = Variable;

    fn index(&self, variable: VariableId) -> &Variable {
        &self.variables[variable.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(index: usize) -> VariableId {
        VariableId::new(index)
    }

    fn coins(names: &[&str]) -> Vec<Variable> {
        names.iter().map(|name| Variable::new(*name, ["heads", "tails"])).collect()
    }

    fn fair(child: usize, parents: &[usize]) -> Cpt {
        let parents: Vec<_> = parents.iter().map(|&p| id(p)).collect();
        let size = 2 << parents.len();
        Cpt::new(id(child), parents, vec![0.5; size])
    }

    #[test]
    fn tables_can_be_given_in_any_order() {
        let network =
            Network::new("n", coins(&["a", "b"]), vec![fair(1, &[0]), fair(0, &[])]).unwrap();
        assert_eq!(network.cpt(id(1)).parents(), [id(0)]);
        assert_eq!(network.children(id(0)), [id(1)]);
        assert_eq!(network.topological_order(), [id(0), id(1)]);
        assert_eq!(network.find("b"), Some(id(1)));
    }

    #[test]
    fn a_cycle_is_named_along_its_arcs() {
        let cpts = vec![fair(0, &[2]), fair(1, &[0]), fair(2, &[1]), fair(3, &[2])];
        let error = Network::new("n", coins(&["a", "b", "c", "d"]), cpts).unwrap_err();
        assert_eq!(error.to_string(), "the arcs form a cycle: a -> b -> c -> a");
    }

    #[test]
    fn mistakes_are_reported_with_names() {
        let refused = |variables: Vec<Variable>, cpts: Vec<Cpt>| {
            Network::new("n", variables, cpts).unwrap_err().to_string()
        };
        assert_eq!(
            refused(coins(&["a", "a"]), vec![fair(0, &[]), fair(1, &[])]),
            "two variables are called 'a'"
        );
        assert_eq!(
            refused(vec![Variable::new("a", ["x", "x"])], vec![fair(0, &[])]),
            "variable 'a' has two states labelled 'x'"
        );
        assert_eq!(
            refused(coins(&["a", "b"]), vec![fair(0, &[])]),
            "variable 'b' has 0 probability tables, expected one"
        );
        assert_eq!(
            refused(coins(&["a", "b"]), vec![fair(0, &[]), fair(1, &[0, 0])]),
            "the table of 'b' names 'a' more than once"
        );
        assert_eq!(
            refused(coins(&["a"]), vec![Cpt::new(id(0), vec![], vec![1.0])]),
            "the table of 'a' holds 1 number, expected 2"
        );
        assert_eq!(
            refused(coins(&["a"]), vec![Cpt::new(id(0), vec![], vec![0.5, 0.6])]),
            "row 0 of the table of 'a': the row sums to 1.1, not to 1 (within 0.01)"
        );
    }
}
