//! The numbers inside a message, computed by the session's explainer.

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
    /// Explanations by `explainer`, before the first question.
    pub(crate) fn new(explainer: Explainer) -> Self {
        Self { explainer, question: None }
    }

    /// Asks for the numbers of `message`, unless they were asked for already.
    pub(crate) fn ask(&mut self, model: &Model, message: MessageId) {
        let Some((document, compiled)) = model.document.as_ref().zip(model.compiled()) else {
            return;
        };
        // The tables of a CPU engine count against the limit; a GPU engine uses its device's
        // memory.
        let on_gpu = document.engine().engine.info().capabilities.on_gpu();
        let engine = document.engine_bytes.filter(|_| !on_gpu).unwrap_or(0);
        let question = Question {
            compiled: Arc::clone(compiled),
            evidence: document.evidence.clone(),
            message,
            memory: model.compute.memory.map(|limit| limit.minus(engine)),
        };
        if self.question.as_ref() != Some(&question) {
            self.question = Some(question.clone());
            self.explainer.ask(question);
        }
    }

    /// Moves a new answer into `model`.
    pub(crate) fn receive(&self, model: &mut Model) {
        if let Some(answer) = self.explainer.answer() {
            model.explained = Some(answer);
        }
    }

    /// Frees the tables of the current tree and ends stepping.
    pub(crate) fn forget(&mut self, model: &mut Model) {
        self.explainer.forget();
        (self.question, model.explained, model.stepping) = (None, None, None);
    }
}
