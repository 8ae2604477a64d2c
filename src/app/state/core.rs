//! The state that every feature may use.

use std::borrow::Cow;
use std::sync::Arc;

use egui_tiles::Tree;

use crate::app::state::document::Document;
use crate::app::state::highlight::{Highlight, Item};
use crate::app::state::model::Model;
use crate::app::state::notices::Notices;
use crate::app::state::pane::Pane;
use crate::app::state::pane_layout::{self, Arrangement, Enlarged};
use crate::app::state::requests::Requests;

/// The state that every feature may use. Features keep what only they need in structs of their own.
pub(crate) struct Core {
    /// What the panes draw.
    pub(crate) model: Model,
    /// The layout as the user arranged it.
    pub(crate) layout: Tree<Pane>,
    /// The layout that is drawn instead while the view for projectors is on and the window is
    /// narrow.
    pub(crate) narrow_layout: Option<Tree<Pane>>,
    /// What the program enlarged in the layout that is drawn.
    pub(crate) enlarged: Vec<Enlarged>,
    /// The session, and the parts of requests that are kept from one request to the next.
    pub(crate) requests: Requests,
    /// Messages to the user.
    pub(crate) notices: Notices,
}

impl Core {
    /// The open document, to be changed.
    pub(crate) fn document(&mut self) -> Option<&mut Document> {
        self.model.document.as_mut()
    }

    /// Makes `document` the open document, and returns the earlier one. Forgets the selection,
    /// what is under the pointer, the open likelihood sliders and what the lesson points at,
    /// because they belong to the earlier document.
    pub(crate) fn replace_document(&mut self, document: Document) -> Option<Document> {
        let model = &mut self.model;
        (model.selection, model.hover) = (Highlight::default(), Highlight::default());
        (model.likelihood, model.pointed) = (None, None);
        model.document.replace(document)
    }

    /// Sends a request with the evidence on screen. While automatic propagation is off, the request
    /// has the evidence of the last request instead, unless the document was never propagated.
    pub(crate) fn request(&mut self) {
        let is_new = self
            .model
            .document
            .as_ref()
            .is_some_and(|document| document.prior.is_none() && document.result.is_none());
        if self.model.settings.auto_propagate || is_new {
            self.request_evidence();
        } else {
            self.submit();
        }
    }

    /// Sends a request with the evidence on screen.
    pub(crate) fn request_evidence(&mut self) {
        if let Some(document) = &self.model.document {
            self.requests.evidence = document.evidence.clone();
        }
        self.submit();
    }

    /// Sends a request with the evidence of the last request and everything else as it is now. A
    /// network that is being opened is requested without evidence.
    pub(crate) fn submit(&mut self) {
        self.requests.submit(self.model.document.as_mut(), &self.model.compute);
    }

    /// Brings `pane` to the front. If another pane fills the window, the layout is restored.
    pub(crate) fn show_pane(&mut self, pane: Pane) {
        self.model.maximised = self.model.maximised.filter(|maximised| *maximised == pane);
        for layout in [&mut self.layout].into_iter().chain(&mut self.narrow_layout) {
            pane_layout::show_pane(layout, pane);
        }
    }

    /// Whether `pane` is on screen.
    pub(crate) fn is_visible(&self, pane: Pane) -> bool {
        match self.model.maximised {
            Some(maximised) => maximised == pane,
            None => pane_layout::is_visible(self.shown_layout(), pane),
        }
    }

    /// The layout that is drawn, unless a pane is maximised.
    pub(crate) fn shown_layout(&self) -> &Tree<Pane> {
        self.narrow_layout.as_ref().unwrap_or(&self.layout)
    }

    /// The same layout, to be changed.
    fn shown_layout_mut(&mut self) -> &mut Tree<Pane> {
        self.narrow_layout.as_mut().unwrap_or(&mut self.layout)
    }

    /// Arranges the panes as in `layout`.
    pub(crate) fn set_layout(&mut self, layout: Tree<Pane>) {
        self.layout = layout;
        self.narrow_layout = None;
        self.enlarged.clear();
    }

    /// The layout as the user arranged it, without what the program enlarged.
    pub(crate) fn layout_to_store(&self) -> Cow<'_, Tree<Pane>> {
        let mut layout = Cow::Borrowed(&self.layout);
        // Otherwise the narrow layout has what was enlarged.
        if self.narrow_layout.is_none() {
            for enlarged in &self.enlarged {
                enlarged.undo(layout.to_mut());
            }
        }
        layout
    }

    /// Gives `pane` at least as much height as the panes above and below it, until
    /// [`give_height_back`](Self::give_height_back).
    pub(crate) fn enlarge(&mut self, pane: Pane) {
        match pane_layout::enlarge(self.shown_layout_mut(), pane) {
            Some(mut enlarged) => {
                // The user made the group lower after it was enlarged.
                for earlier in self.enlarged.extract_if(.., |other| other.tabs == enlarged.tabs) {
                    enlarged.panes.extend(earlier.panes);
                }
                self.enlarged.push(enlarged);
            }
            None => self.keep_enlarged(pane),
        }
    }

    /// If the group of `pane` was enlarged, keeps its height until `pane` does not need it either.
    pub(crate) fn keep_enlarged(&mut self, pane: Pane) {
        let tabs = pane_layout::group_of(self.shown_layout(), pane);
        if let Some(enlarged) = self.enlarged.iter_mut().find(|one| Some(one.tabs) == tabs) {
            enlarged.panes.push(pane);
        }
    }

    /// `pane` no longer needs the height that its group was given. If no other pane of the group
    /// needs it, gives it back, unless the user has moved a divider or a pane of the column.
    pub(crate) fn give_height_back(&mut self, pane: Pane) {
        let layout = self.narrow_layout.as_mut().unwrap_or(&mut self.layout);
        self.enlarged.retain_mut(|enlarged| {
            enlarged.panes.retain(|other| *other != pane);
            let is_needed = !enlarged.panes.is_empty();
            if !is_needed {
                enlarged.undo(layout);
            }
            is_needed
        });
    }

    /// Applies `change`, which may replace the layout that is drawn, to layouts without what the
    /// program enlarged. Enlarges it again afterwards.
    pub(crate) fn change_layout(&mut self, change: impl FnOnce(&mut Self)) {
        let enlarged = std::mem::take(&mut self.enlarged);
        let layout = self.shown_layout_mut();
        let given_back: Vec<_> = enlarged.into_iter().filter(|one| one.undo(layout)).collect();
        change(self);
        for pane in given_back.into_iter().flat_map(|enlarged| enlarged.panes) {
            self.enlarge(pane);
        }
    }

    /// How the panes are arranged for the open network, unless the user moved a pane.
    pub(crate) fn arrangement(&self) -> Arrangement {
        let document = self.model.document.as_ref();
        Arrangement::for_network(
            document.map_or(0, |document| document.network().variables().len()),
        )
    }

    /// Hides the message of the last failure.
    pub(crate) fn clear_failure(&mut self) {
        self.model.failure = None;
        self.requests.failed_to_open = false;
    }

    /// Selects `item`, or nothing.
    pub(crate) fn select(&mut self, item: Option<Item>) {
        let compiled = self.model.compiled().map(Arc::clone);
        self.model.selection = Highlight::of(item, compiled.as_deref());
    }
}
