//! The numbers of the message that the panes explain, and the beliefs so far, computed by the
//! session's explainer.

use std::sync::Arc;

use crate::app::state::model::Model;
use crate::app::state::stepping::Stepping;
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

    /// Asks for the numbers of `message` and, while the user steps along the plan, for the beliefs
    /// so far. Does nothing if neither is wanted, or if the last question already asked for all
    /// that is wanted.
    pub(crate) fn ask(&mut self, model: &Model, message: Option<MessageId>) {
        let Some((document, compiled)) = model.document.as_ref().zip(model.compiled()) else {
            return;
        };
        let beliefs_after = model.stepping.as_ref().and_then(Stepping::messages_passed);
        let last = compiled.plan().messages().len().checked_sub(1);
        // Every question is about a message. If no pane shows one, ask about the next message to be
        // passed, or about the last message if all are passed.
        let next = beliefs_after.zip(last).map(|(passed, last)| MessageId::new(passed.min(last)));
        let Some(message) = message.or(next) else { return };
        // The tables of an engine on the CPU leave less memory for the explainer. An engine on a
        // GPU uses the memory of its device.
        let on_gpu = document.engine().engine.info().capabilities.on_gpu();
        let engine_bytes = document.engine_bytes.filter(|_| !on_gpu).unwrap_or(0);
        let question = Question {
            compiled: Arc::clone(compiled),
            evidence: document.evidence.clone(),
            message,
            beliefs_after,
            memory: model.compute.memory.map(|limit| limit.minus(engine_bytes)),
        };
        let is_asked = self.question.as_ref().is_some_and(|asked| {
            let beliefs_after = question.beliefs_after.or(asked.beliefs_after);
            *asked == Question { beliefs_after, ..question.clone() }
        });
        if !is_asked {
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
