//! The panes of the window and their titles.

/// A pane of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Pane {
    /// Variables with posteriors and evidence.
    Variables,
    /// Named cases and their posteriors side by side.
    Cases,
    /// The junction tree as a graph.
    JunctionTree,
    /// The network as a graph.
    Network,
    /// Choosing an elimination order by hand.
    Elimination,
    /// Details of the selected item.
    Details,
    /// The cliques as a list.
    Cliques,
    /// When each message was computed.
    Timeline,
    /// The messages as a list.
    Messages,
    /// How the selected message is computed.
    Inside,
    /// Histograms of table sizes.
    Histogram,
    /// Kernel overhead and execution time on a GPU.
    Overhead,
    /// Experiments and their results.
    Experiments,
}

impl Pane {
    /// All panes, in the order of the View menu.
    pub const ALL: [Self; 13] = [
        Self::Variables,
        Self::Cases,
        Self::JunctionTree,
        Self::Network,
        Self::Elimination,
        Self::Details,
        Self::Cliques,
        Self::Timeline,
        Self::Messages,
        Self::Inside,
        Self::Histogram,
        Self::Overhead,
        Self::Experiments,
    ];

    /// The title, as in the tab and in the View menu.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Variables => "Variables",
            Self::Cases => "Cases",
            Self::JunctionTree => "Junction tree",
            Self::Network => "Network",
            Self::Elimination => "Elimination",
            Self::Details => "Details",
            Self::Cliques => "Cliques",
            Self::Timeline => "Timeline",
            Self::Messages => "Messages",
            Self::Inside => "Inside a message",
            Self::Histogram => "Histogram",
            Self::Overhead => "Overhead",
            Self::Experiments => "Experiments",
        }
    }

    /// The pane with this title.
    #[must_use]
    pub fn by_title(title: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|pane| pane.title() == title)
    }
}
