//! Topological order and directed cycles.

use crate::network::{Network, VariableId};

impl Network {
    /// The variables, each after its parents, by Kahn's algorithm. Variables without parents come
    /// first, in file order. Variables on or below a directed cycle are left out, but a valid
    /// network has no cycle.
    ///
    /// # Complexity
    /// Linear in the number of variables and arcs.
    #[must_use]
    pub fn topological_order(&self) -> Vec<VariableId> {
        let mut parents_left: Vec<usize> = self.ids().map(|v| self.parents(v).len()).collect();
        let mut ready: std::collections::VecDeque<VariableId> =
            self.ids().filter(|v| parents_left[v.index()] == 0).collect();
        let mut order = Vec::with_capacity(self.variables().len());
        while let Some(variable) = ready.pop_front() {
            order.push(variable);
            for &child in self.children(variable) {
                parents_left[child.index()] -= 1;
                if parents_left[child.index()] == 0 {
                    ready.push_back(child);
                }
            }
        }
        order
    }

    /// The variables of one directed cycle, along its arcs, with the first repeated at the end.
    /// `None` if there is no cycle, as in every valid network.
    pub(super) fn find_cycle(&self) -> Option<Vec<VariableId>> {
        let mut on_cycle_or_below = vec![true; self.variables().len()];
        for variable in self.topological_order() {
            on_cycle_or_below[variable.index()] = false;
        }
        // Each variable on or below a cycle has a parent that is on or below a cycle too. So a walk
        // from child to parent that stays among these variables must return to one seen before.
        let mut current = self.ids().find(|v| on_cycle_or_below[v.index()])?;
        let mut seen_at = vec![None; self.variables().len()];
        let mut walk = Vec::new();
        while seen_at[current.index()].is_none() {
            seen_at[current.index()] = Some(walk.len());
            walk.push(current);
            let mut parents = self.parents(current).iter();
            current = *parents.find(|parent| on_cycle_or_below[parent.index()])?;
        }
        let mut cycle = walk.split_off(seen_at[current.index()]?);
        cycle.push(current);
        cycle.reverse();
        Some(cycle)
    }
}
