//! The junction tree as data.

use crate::id::define_id;
use crate::network::VariableId;

define_id! {
    /// Identifies a clique of one [`JunctionTree`].
    CliqueId
}

define_id! {
    /// Identifies a separator, and thus an edge, of one [`JunctionTree`].
    SeparatorId
}

/// A maximal clique of the triangulated graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clique {
    /// Its variables, ascending.
    pub variables: Vec<VariableId>,
    /// Entries of its table: the product of the cardinalities, [`u64::MAX`] if that overflows.
    pub entries: u64,
}

/// The variables that two neighbouring cliques share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Separator {
    /// Its variables, ascending; none if it joins two components of the moral graph.
    pub variables: Vec<VariableId>,
    /// Entries of its table; 1 for an empty separator.
    pub entries: u64,
    /// The end nearer to the root.
    pub parent: CliqueId,
    /// The end further from the root.
    pub child: CliqueId,
}

/// One step from a clique to a neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeLink {
    /// The neighbour.
    pub clique: CliqueId,
    /// The separator on the way.
    pub separator: SeparatorId,
}

/// A rooted tree of cliques with the running intersection property.
///
/// There is always exactly one tree: the components of a disconnected moral graph are joined by
/// empty separators, whose tables have a single entry. A network without variables has a tree with
/// one empty clique.
///
/// Each separator is directly above exactly one clique, its child, so there is one separator fewer
/// than cliques.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JunctionTree {
    cliques: Vec<Clique>,
    separators: Vec<Separator>,
    root: CliqueId,
    parent: Vec<Option<TreeLink>>,
    children: Vec<Vec<TreeLink>>,
    depth: Vec<usize>,
}

impl JunctionTree {
    /// A tree of `cliques` and `separators` rooted at `root`.
    ///
    /// The children of a clique are in the order of their separators.
    ///
    /// # Panics
    /// If the separators do not form a tree in which every parent is nearer to the root than its
    /// child.
    #[must_use]
    pub fn new(cliques: Vec<Clique>, separators: Vec<Separator>, root: CliqueId) -> Self {
        assert_eq!(separators.len() + 1, cliques.len(), "a tree has one edge fewer than vertices");
        let mut parent = vec![None; cliques.len()];
        let mut children = vec![Vec::new(); cliques.len()];
        for (index, separator) in separators.iter().enumerate() {
            let id = SeparatorId::new(index);
            let link = TreeLink { clique: separator.parent, separator: id };
            let before = parent[separator.child.index()].replace(link);
            assert!(before.is_none(), "a clique has one parent");
            children[separator.parent.index()]
                .push(TreeLink { clique: separator.child, separator: id });
        }
        assert!(parent[root.index()].is_none(), "the root has no parent");
        let mut depth = vec![usize::MAX; cliques.len()];
        depth[root.index()] = 0;
        let mut reached = vec![root];
        let mut next = 0;
        while let Some(&clique) = reached.get(next) {
            for link in &children[clique.index()] {
                depth[link.clique.index()] = depth[clique.index()] + 1;
                reached.push(link.clique);
            }
            next += 1;
        }
        assert_eq!(reached.len(), cliques.len(), "every clique is reached from the root");
        Self { cliques, separators, root, parent, children, depth }
    }

    /// All cliques; `cliques()[c]` is clique `c`.
    #[must_use]
    pub fn cliques(&self) -> &[Clique] {
        &self.cliques
    }

    /// All separators; `separators()[s]` is separator `s`.
    #[must_use]
    pub fn separators(&self) -> &[Separator] {
        &self.separators
    }

    /// All clique ids.
    pub fn clique_ids(
        &self,
    ) -> impl DoubleEndedIterator<Item = CliqueId> + ExactSizeIterator + use<> {
        (0..self.cliques.len()).map(CliqueId::new)
    }

    /// All separator ids.
    pub fn separator_ids(
        &self,
    ) -> impl DoubleEndedIterator<Item = SeparatorId> + ExactSizeIterator + use<> {
        (0..self.separators.len()).map(SeparatorId::new)
    }

    /// The root, at which evidence is collected.
    #[must_use]
    pub fn root(&self) -> CliqueId {
        self.root
    }

    /// The step from `clique` toward the root; `None` at the root.
    #[must_use]
    pub fn parent(&self, clique: CliqueId) -> Option<TreeLink> {
        self.parent[clique.index()]
    }

    /// The steps from `clique` away from the root.
    #[must_use]
    pub fn children(&self, clique: CliqueId) -> &[TreeLink] {
        &self.children[clique.index()]
    }

    /// Number of edges between `clique` and the root.
    #[must_use]
    pub fn depth_of(&self, clique: CliqueId) -> usize {
        self.depth[clique.index()]
    }

    /// For each of the network's `variables` variables, the smallest clique that contains it; the
    /// root if no clique does.
    ///
    /// # Panics
    /// If the tree has a variable with an index of at least `variables`.
    #[must_use]
    pub fn smallest_cliques(&self, variables: usize) -> Vec<CliqueId> {
        let mut smallest = vec![self.root; variables];
        let mut by_size: Vec<CliqueId> = self.clique_ids().collect();
        by_size.sort_by_key(|&clique| std::cmp::Reverse((self[clique].entries, clique)));
        for clique in by_size {
            for variable in &self[clique].variables {
                smallest[variable.index()] = clique;
            }
        }
        smallest
    }

    /// An elimination order whose fill edges all connect variables of a common clique of this tree.
    #[must_use]
    pub fn elimination_order(&self) -> Vec<VariableId> {
        let mut from_root = vec![self.root];
        let mut next = 0;
        while let Some(&clique) = from_root.get(next) {
            from_root.extend(self.children(clique).iter().map(|link| link.clique));
            next += 1;
        }
        // From the leaves to the root, each clique eliminates the variables that its parent lacks.
        let mut order = Vec::new();
        for clique in from_root.into_iter().rev() {
            let kept = self.parent(clique).map(|link| &self[link.separator].variables);
            let is_kept = |v: &VariableId| kept.is_some_and(|kept| kept.binary_search(v).is_ok());
            order.extend(self[clique].variables.iter().copied().filter(|v| !is_kept(v)));
        }
        order
    }

    /// Number of edges from the root to the furthest clique.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.depth.iter().copied().max().unwrap_or(0)
    }
}

impl std::ops::Index<CliqueId> for JunctionTree {
    type Output = Clique;

    fn index(&self, clique: CliqueId) -> &Clique {
        &self.cliques[clique.index()]
    }
}

impl std::ops::Index<SeparatorId> for JunctionTree {
    type Output = Separator;

    fn index(&self, separator: SeparatorId) -> &Separator {
        &self.separators[separator.index()]
    }
}
