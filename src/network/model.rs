//! The network itself: a validated directed acyclic graph of variables with their tables, or
//! variables and factors.

use std::collections::HashMap;

use crate::network::{
    Annotations, Cpt, Factor, FactorId, RowError, Variable, VariableId, normalise_row,
};

/// A discrete Bayesian network, or a Markov network.
///
/// Variables are numbered in file order by [`VariableId`]. In a Bayesian network `cpts()[v]` is the
/// table of variable `v`. A Markov network has no parents and no such tables: its joint distribution
/// is the product of its [factors](Self::factors), divided by their sum over all configurations,
/// the partition function. What engines give as ln P(e) of such a network is the logarithm of the
/// partition function with the evidence: the sum over those configurations alone that agree with it.
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

/// Why variables and tables do not make a network.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum NetworkError {
    /// Two variables have one name.
    #[error("two variables are called '{0}'")]
    DuplicateVariable(String),
    /// A variable has no state at all.
    #[error("variable '{0}' has no states")]
    NoStates(String),
    /// Two states of one variable have one label.
    #[error("variable '{variable}' has two states labelled '{state}'")]
    DuplicateState {
        /// The variable.
        variable: String,
        /// The label that occurs twice.
        state: String,
    },
    /// A variable has no table, or more than one.
    #[error("variable '{variable}' has {found} probability tables, expected one")]
    TableCount {
        /// The variable.
        variable: String,
        /// How many tables name it as their child.
        found: usize,
    },
    /// A parent is named twice, or a variable is its own parent.
    #[error("the table of '{child}' names '{parent}' more than once")]
    RepeatedParent {
        /// The child.
        child: String,
        /// The repeated variable.
        parent: String,
    },
    /// A table has the wrong number of entries.
    #[error("the table of '{variable}' holds {found} numbers, expected {expected}")]
    TableSize {
        /// The child.
        variable: String,
        /// Numbers that the cardinalities ask for; `None` where that overflows.
        expected: DisplayOverflow,
        /// Numbers given.
        found: usize,
    },
    /// A row of a table is not a distribution.
    #[error("row {row} of the table of '{variable}': {error}")]
    Row {
        /// The child.
        variable: String,
        /// The row, counted from zero in the index order of [`Cpt`].
        row: usize,
        /// What is wrong with it.
        error: RowError,
    },
    /// A factor names a variable twice.
    #[error("factor {factor} names '{variable}' more than once")]
    RepeatedInFactor {
        /// The factor, by its position.
        factor: usize,
        /// The variable.
        variable: String,
    },
    /// The table of a factor has the wrong number of entries.
    #[error("the table of factor {factor} holds {found} numbers, expected {expected}")]
    FactorSize {
        /// The factor, by its position.
        factor: usize,
        /// Numbers that the cardinalities ask for; `None` where that overflows.
        expected: DisplayOverflow,
        /// Numbers given.
        found: usize,
    },
    /// A factor has a value that is negative, infinite or not a number.
    #[error("factor {factor} has the value {value}, expected a finite number of at least zero")]
    FactorValue {
        /// The factor, by its position.
        factor: usize,
        /// The value.
        value: f64,
    },
    /// The graph has a directed cycle.
    #[error("the arcs form a cycle: {}", .0.join(" -> "))]
    Cycle(Vec<String>),
}

/// A count of entries, or the fact that it overflows 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DisplayOverflow(pub Option<usize>);

impl std::fmt::Display for DisplayOverflow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Some(count) => write!(f, "{count}"),
            None => f.write_str("more than 2^64"),
        }
    }
}

impl Network {
    /// Checks that `variables` and `cpts` make a Bayesian network, and puts the tables in order.
    ///
    /// Tables may come in any order. Rows that sum to one only roughly are normalised; a reader
    /// that wants to warn of them calls [`normalise_row`] itself, where it still knows the line.
    ///
    /// # Errors
    /// One of [`NetworkError`], for the first thing that is wrong.
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

    /// Checks that `variables` and `factors` make a Markov network.
    ///
    /// Several factors may have one scope, and a factor of no variable is a constant.
    ///
    /// # Errors
    /// One of [`NetworkError`], for the first thing that is wrong.
    pub fn markov(
        name: impl Into<String>,
        variables: Vec<Variable>,
        mut factors: Vec<Factor>,
    ) -> Result<Self, NetworkError> {
        let by_name = index_names(&variables)?;
        for (index, factor) in factors.iter_mut().enumerate() {
            check_factor(&variables, index, factor)?;
            factor.scale();
        }
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

    /// Whether the network has a table for each variable given its parents, and no other factors.
    #[must_use]
    pub fn is_bayesian(&self) -> bool {
        self.is_bayesian
    }

    /// Number of factors: of variables in a Bayesian network.
    #[must_use]
    pub fn factor_count(&self) -> usize {
        if self.is_bayesian { self.cpts.len() } else { self.markov.len() }
    }

    /// The factors whose product is the joint distribution, up to the partition function.
    pub fn factors(&self) -> impl ExactSizeIterator<Item = &Factor> {
        (0..self.factor_count()).map(|index| self.factor(FactorId::new(index)))
    }

    /// All factor ids.
    pub fn factor_ids(&self) -> impl ExactSizeIterator<Item = FactorId> + use<> {
        (0..self.factor_count()).map(FactorId::new)
    }

    /// One of the factors.
    #[must_use]
    pub fn factor(&self, id: FactorId) -> &Factor {
        if self.is_bayesian { self.cpts[id.index()].factor() } else { &self.markov[id.index()] }
    }

    /// Natural logarithm of the number that the product of the factors' values is to be multiplied
    /// by; zero for a Bayesian network.
    #[must_use]
    pub fn ln_scale(&self) -> f64 {
        let exponents = self.markov.iter().map(|factor| i64::from(factor.exponent()));
        exponents.sum::<i64>() as f64 * std::f64::consts::LN_2
    }

    /// The parents of `variable`, slowest index of its table first; none in a Markov network.
    #[must_use]
    pub fn parents(&self, variable: VariableId) -> &[VariableId] {
        self.cpts.get(variable.index()).map_or(&[], Cpt::parents)
    }

    /// The network's own name, as the file gives it; may be empty.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The same network with `annotations` in place of those it has.
    #[must_use]
    pub fn with_annotations(mut self, annotations: Annotations) -> Self {
        self.annotations = annotations;
        self
    }

    /// What the file says beside the model.
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

    /// All probability tables; the table at position `v` belongs to variable `v`. None in a Markov
    /// network.
    #[must_use]
    pub fn cpts(&self) -> &[Cpt] {
        &self.cpts
    }

    /// The probability table of `variable`.
    ///
    /// # Panics
    /// If this is a Markov network, which has none.
    #[must_use]
    pub fn cpt(&self, variable: VariableId) -> &Cpt {
        &self.cpts[variable.index()]
    }

    /// The children of `variable`, in file order.
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

    /// Number of arcs.
    #[must_use]
    pub fn arc_count(&self) -> usize {
        self.cpts.iter().map(|cpt| cpt.parents().len()).sum()
    }

    /// What joins the variables, in words, and how many there are: arcs, or the factors of a Markov
    /// network.
    #[must_use]
    pub fn joints(&self) -> (&'static str, usize) {
        if self.is_bayesian() {
            ("arcs", self.arc_count())
        } else {
            ("factors", self.factor_count())
        }
    }

    /// Every variable after its parents; among those that could come next, file order.
    ///
    /// Shorter than the network if, and only if, there is a directed cycle, which a network that
    /// was built does not have.
    #[must_use]
    pub fn topological_order(&self) -> Vec<VariableId> {
        let mut missing: Vec<usize> = self.ids().map(|v| self.parents(v).len()).collect();
        let mut ready: std::collections::VecDeque<VariableId> =
            self.ids().filter(|v| missing[v.index()] == 0).collect();
        let mut order = Vec::with_capacity(self.variables.len());
        while let Some(variable) = ready.pop_front() {
            order.push(variable);
            for &child in self.children(variable) {
                missing[child.index()] -= 1;
                if missing[child.index()] == 0 {
                    ready.push_back(child);
                }
            }
        }
        order
    }

    /// The variables of one directed cycle, its first repeated at the end, if there is one.
    fn find_cycle(&self) -> Option<Vec<VariableId>> {
        let mut on_cycle_or_below = vec![true; self.variables.len()];
        for variable in self.topological_order() {
            on_cycle_or_below[variable.index()] = false;
        }
        // Walking from child to parent among what is left must come back to where it was.
        let mut at = self.ids().find(|v| on_cycle_or_below[v.index()])?;
        let mut seen_at = vec![None; self.variables.len()];
        let mut walk = Vec::new();
        while seen_at[at.index()].is_none() {
            seen_at[at.index()] = Some(walk.len());
            walk.push(at);
            let mut parents = self.parents(at).iter();
            at = *parents.find(|parent| on_cycle_or_below[parent.index()])?;
        }
        let mut cycle = walk.split_off(seen_at[at.index()]?);
        cycle.push(at);
        cycle.reverse();
        Some(cycle)
    }
}

impl std::ops::Index<VariableId> for Network {
    type Output = Variable;

    fn index(&self, variable: VariableId) -> &Variable {
        &self.variables[variable.index()]
    }
}

fn index_names(variables: &[Variable]) -> Result<HashMap<String, VariableId>, NetworkError> {
    let mut by_name = HashMap::with_capacity(variables.len());
    for (index, variable) in variables.iter().enumerate() {
        if variable.states().is_empty() {
            return Err(NetworkError::NoStates(variable.name().to_owned()));
        }
        let mut labels = std::collections::HashSet::with_capacity(variable.cardinality());
        if let Some(state) = variable.states().iter().find(|state| !labels.insert(*state)) {
            return Err(NetworkError::DuplicateState {
                variable: variable.name().to_owned(),
                state: state.clone(),
            });
        }
        if by_name.insert(variable.name().to_owned(), VariableId::new(index)).is_some() {
            return Err(NetworkError::DuplicateVariable(variable.name().to_owned()));
        }
    }
    Ok(by_name)
}

/// Sorts `cpts` by child, and checks that every variable has exactly one.
fn one_table_each(variables: &[Variable], mut cpts: Vec<Cpt>) -> Result<Vec<Cpt>, NetworkError> {
    let mut found = vec![0_usize; variables.len()];
    for cpt in &cpts {
        found[cpt.child().index()] += 1;
    }
    if let Some(index) = found.iter().position(|&count| count != 1) {
        return Err(NetworkError::TableCount {
            variable: variables[index].name().to_owned(),
            found: found[index],
        });
    }
    cpts.sort_by_key(Cpt::child);
    Ok(cpts)
}

fn check_factor(variables: &[Variable], index: usize, factor: &Factor) -> Result<(), NetworkError> {
    let mut scope = factor.scope().to_vec();
    scope.sort_unstable();
    if let Some(pair) = scope.windows(2).find(|pair| pair[0] == pair[1]) {
        let variable = variables[pair[0].index()].name().to_owned();
        return Err(NetworkError::RepeatedInFactor { factor: index, variable });
    }
    let cardinality = |v: &VariableId| variables[v.index()].cardinality();
    let expected = scope.iter().try_fold(1_usize, |size, v| size.checked_mul(cardinality(v)));
    let found = factor.values().len();
    if expected != Some(found) {
        let expected = DisplayOverflow(expected);
        return Err(NetworkError::FactorSize { factor: index, expected, found });
    }
    match factor.values().iter().find(|value| !value.is_finite() || **value < 0.0) {
        Some(&value) => Err(NetworkError::FactorValue { factor: index, value }),
        None => Ok(()),
    }
}

fn check_table(variables: &[Variable], cpt: &mut Cpt) -> Result<(), NetworkError> {
    let name = |v: VariableId| variables[v.index()].name().to_owned();
    let mut scope: Vec<VariableId> = cpt.scope().collect();
    let expected = scope
        .iter()
        .try_fold(1_usize, |size, v| size.checked_mul(variables[v.index()].cardinality()));
    scope.sort_unstable();
    if let Some(pair) = scope.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(NetworkError::RepeatedParent {
            child: name(cpt.child()),
            parent: name(pair[0]),
        });
    }
    if expected != Some(cpt.values().len()) {
        return Err(NetworkError::TableSize {
            variable: name(cpt.child()),
            expected: DisplayOverflow(expected),
            found: cpt.values().len(),
        });
    }
    let child = cpt.child();
    for (row, values) in cpt.rows_mut(variables[child.index()].cardinality()).enumerate() {
        normalise_row(values).map_err(|error| NetworkError::Row {
            variable: name(child),
            row,
            error,
        })?;
    }
    Ok(())
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
    fn tables_may_come_in_any_order() {
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
    fn what_does_not_fit_is_refused_by_name() {
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
            "the table of 'a' holds 1 numbers, expected 2"
        );
        assert_eq!(
            refused(coins(&["a"]), vec![Cpt::new(id(0), vec![], vec![0.5, 0.6])]),
            "row 0 of the table of 'a': the row sums to 1.1, not to 1 (within 0.01)"
        );
    }
}
