//! The numbers of the message that the panes explain, computed by the session's explainer.

use std::sync::Arc;

use crate::app::state::model::Model;
use crate::propagation::MessageId;
use crate::session::{Explainer, Question};

/// The explainer and the last question to it.
pub(crate) struct Explanations {
    explainer: Explainer,
    question: Option<Question>,
}

impl Explanations {
    /// The state before the first question to `explainer`.
    pub(crate) fn new(explainer: Explainer) -> Self {
        Self { explainer, question: None }
    }

    /// Asks for the numbers of `message`, unless the last question was the same.
    pub(crate) fn ask(&mut self, model: &Model, message: MessageId) {
        let Some((document, compiled)) = model.document.as_ref().zip(model.compiled()) else {
            return;
        };
        // The tables of an engine on the CPU leave less memory for the explainer. An engine on a
        // GPU uses the memory of its device.
        let on_gpu = document.engine().engine.info().capabilities.on_gpu();
        let engine_bytes = document.engine_bytes.filter(|_| !on_gpu).unwrap_or(0);
        let question = Question {
            compiled: Arc::clone(compiled),
            evidence: document.evidence.clone(),
            message,
            memory: model.compute.memory.map(|limit| limit.minus(engine_bytes)),
        };
        if self.question.as_ref() != Some(&question) {
            self.question = Some(question.clone());
            self.explainer.ask(question);
        }
    }

    /// Moves the newest answer into `model`, if one has arrived.
    pub(crate) fn receive(&self, model: &mut Model) {
        if let Some(answer) = self.explainer.answer() {
            model.explained = Some(answer);
        }
    }

    /// Drops the last question and its answer, frees the explainer's tables, and ends stepping.
    /// Call this when the tree changes.
    pub(crate) fn forget(&mut self, model: &mut Model) {
        self.explainer.forget();
        (self.question, model.explained, model.stepping) = (None, None, None);
    }
}
