//! Choosing an elimination order by hand.

use std::sync::Arc;

use crate::allocate;
use crate::app::state::core::Core;
use crate::app::state::model::Model;
use crate::cancel::CancelToken;
use crate::graph::{
    Elimination, EliminationCost, Heuristic, KnownOrders, MoralGraph, StepwiseElimination,
    eliminate, eliminate_in_order,
};
use crate::network::VariableId;

/// Maximum number of variables of a network that can be eliminated by hand. With more, an order
/// takes too many clicks, and each step takes noticeable time.
pub const MAX_VARIABLES: usize = 300;

/// A command about the elimination by hand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EliminationCommand {
    /// Begin with the open network, unless this was done already.
    Begin,
    /// Eliminate this variable.
    Eliminate(VariableId),
    /// Take the last elimination back.
    TakeBack,
    /// Take back the elimination of this variable and all after it; does nothing if it is not
    /// eliminated.
    TakeBackFrom(VariableId),
    /// Take all eliminations back.
    StartAgain,
    /// Eliminate all remaining variables by min-fill.
    Finish,
}

/// An elimination by hand, and what it is compared with.
#[derive(Clone, Debug)]
pub struct HandElimination {
    /// Serial number of the document.
    pub serial: u64,
    /// The variables eliminated so far.
    pub done: StepwiseElimination,
    /// The cost of eliminating all variables by min-fill.
    pub min_fill: EliminationCost,
    /// The lowest cost of an elimination order of this network among those that the heuristics
    /// find and those that are already known.
    pub best: EliminationCost,
    /// The moral graph, with no variable eliminated.
    pub graph: Arc<MoralGraph>,
}

impl HandElimination {
    /// An elimination of the open network of `model` without any step. `None` if no network is
    /// open, or if it has too many variables. `orders` are the known elimination orders.
    pub(crate) fn begin(model: &Model, orders: &[&KnownOrders]) -> Option<Self> {
        let document = model.document.as_ref()?;
        let network = document.network();
        if network.variables().len() > MAX_VARIABLES {
            return None;
        }
        let graph = MoralGraph::of_network(network);
        let never = CancelToken::new();
        let cost = |found: Elimination| EliminationCost::of(&found, &graph);
        let cost_by = |heuristic| {
            cost(eliminate(&graph, heuristic, 0, &never).expect("nothing cancels this"))
        };
        let known = orders.iter().filter_map(|orders| orders.find(&graph)).map(|order| {
            cost(eliminate_in_order(&graph, &order, &never).expect("nothing cancels this"))
        });
        let costs = Heuristic::ALL.into_iter().map(cost_by).chain(known);
        let best = costs.min_by_key(|cost| (cost.total, cost.largest, cost.fill_edges));
        Some(Self {
            serial: document.serial,
            done: StepwiseElimination::new(&graph),
            min_fill: cost_by(Heuristic::MinFill),
            best: best.expect("there are heuristics"),
            graph: Arc::new(graph),
        })
    }

    /// Takes all eliminations back, and eliminates the variables of `order`.
    fn restart(&mut self, order: impl IntoIterator<Item = VariableId>) {
        self.done = StepwiseElimination::new(&self.graph);
        for variable in order {
            self.done.eliminate(variable);
        }
    }
}

impl Model {
    /// The elimination by hand of the open network, if the user has begun one.
    #[must_use]
    pub fn hand_elimination(&self) -> Option<&HandElimination> {
        let serial = self.document.as_ref()?.serial;
        self.elimination.as_ref().filter(|elimination| elimination.serial == serial)
    }
}

/// Applies `command` to the elimination of the open network. All commands but
/// [`Begin`](EliminationCommand::Begin) do nothing before it has begun.
pub(crate) fn apply(core: &mut Core, command: &EliminationCommand) {
    if *command == EliminationCommand::Begin && core.model.hand_elimination().is_none() {
        let orders = [&*core.requests.orders, &core.model.settings.orders];
        let begun = allocate::or_error(|| HandElimination::begin(&core.model, &orders));
        core.model.elimination = begun.ok().flatten();
    }
    let Some(serial) = core.model.document.as_ref().map(|document| document.serial) else { return };
    let Some(elimination) = core.model.elimination.as_mut().filter(|e| e.serial == serial) else {
        return;
    };
    match command {
        EliminationCommand::Begin => {}
        EliminationCommand::Eliminate(variable) => _ = elimination.done.eliminate(*variable),
        EliminationCommand::TakeBack => {
            let order = order(&elimination.done);
            elimination.restart(order.into_iter().rev().skip(1).rev());
        }
        EliminationCommand::TakeBackFrom(variable) => {
            let order = order(&elimination.done);
            elimination.restart(order.into_iter().take_while(|eliminated| eliminated != variable));
        }
        EliminationCommand::StartAgain => elimination.restart([]),
        EliminationCommand::Finish => {
            while let Some(variable) = elimination.done.min_fill() {
                elimination.done.eliminate(variable);
            }
        }
    }
}

/// The variables eliminated so far, in order.
fn order(done: &StepwiseElimination) -> Vec<VariableId> {
    done.steps().iter().map(|step| step.variable).collect()
}
