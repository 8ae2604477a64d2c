//! A thread that computes, for display, the tables of one message and the beliefs of the cliques at
//! some point of the propagation.
//!
//! The thread has its own tables and never uses the worker's engine, so the worker can propagate
//! new evidence while the explainer copies large tables.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use crate::allocate::start_thread;
use crate::cancel::CancelToken;
use crate::engine::{Beliefs, MessageDetail, PropagationError, RunError, Stepper};
use crate::mailbox::Mailbox;
use crate::network::Evidence;
use crate::propagation::{CompiledNetwork, MemoryLimit, MessageId};
use crate::session::Failure;
use crate::session::panics::catch_panic;

/// Which message to explain.
#[derive(Clone, Debug)]
pub struct Question {
    /// The network, whose plan has the message.
    pub compiled: Arc<CompiledNetwork>,
    /// The evidence to propagate.
    pub evidence: Evidence,
    /// The message to explain.
    pub message: MessageId,
    /// Also compute the beliefs after this number of messages.
    pub beliefs_after: Option<usize>,
    /// Memory that the tables may take. `None` is half of the memory that is available when the
    /// thread allocates them.
    pub memory: Option<MemoryLimit>,
}

impl PartialEq for Question {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.compiled, &other.compiled)
            && self.evidence == other.evidence
            && self.message == other.message
            && self.beliefs_after == other.beliefs_after
            && self.memory == other.memory
    }
}

/// The answer to a question.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// The tables of the message.
    pub detail: Arc<MessageDetail>,
    /// The beliefs. `None` if the question did not ask for them, if the messages passed show that
    /// the evidence is impossible, or if numbers are out of range.
    pub beliefs: Option<Arc<Beliefs>>,
}

/// A question with its answer, or with the reason why the message cannot be shown.
pub type Answer = (Question, Result<Explanation, String>);

/// Wakes the window.
type Wake = Box<dyn Fn() + Send>;

/// The handle to the thread. A new question replaces an unanswered one. Dropping the handle asks
/// the thread to stop, and does not wait for it.
pub struct Explainer {
    tasks: Arc<Mailbox<Task>>,
    /// Stops the task that was sent last.
    cancel: CancelToken,
    answers: Receiver<Answer>,
    /// What the thread needs, until the first question starts it.
    not_started: Option<(Sender<Answer>, Wake)>,
}

enum Task {
    Explain(Question, CancelToken),
    /// Free the tables.
    Forget,
}

impl Explainer {
    /// An explainer whose thread starts with the first question. It calls `wake` after each answer,
    /// from its own thread.
    #[must_use]
    pub fn new(wake: impl Fn() + Send + 'static) -> Self {
        let (sender, answers) = channel();
        Self {
            tasks: Arc::default(),
            cancel: CancelToken::new(),
            answers,
            not_started: Some((sender, Box::new(wake))),
        }
    }

    /// Asks `question`. An earlier question is dropped if it is not answered yet.
    pub fn ask(&mut self, question: Question) {
        if let Some((sender, wake)) = self.not_started.take() {
            let tasks = Arc::clone(&self.tasks);
            // If no thread can be started, there is no answer, and the window goes on.
            let _ = start_thread("explainer", move || answer_questions(&tasks, &sender, &*wake));
        }
        self.cancel.cancel();
        self.cancel = CancelToken::new();
        self.tasks.put(Task::Explain(question, self.cancel.clone()));
    }

    /// Drops the question and asks the thread to free its tables.
    pub fn forget(&self) {
        self.cancel.cancel();
        self.tasks.put(Task::Forget);
    }

    /// The newest answer since the last call, if there is one.
    #[must_use]
    pub fn answer(&self) -> Option<Answer> {
        self.answers.try_iter().last()
    }

    /// Waits for the next answer, forever if no question is open. `None` if no question was ever
    /// asked, or if no thread could be started.
    #[must_use]
    pub fn wait(&self) -> Option<Answer> {
        if self.not_started.is_some() {
            return None;
        }
        self.answers.recv().ok()
    }
}

impl Drop for Explainer {
    fn drop(&mut self) {
        self.cancel.cancel();
        self.tasks.close_and_discard();
    }
}

/// Answers questions until the handle is dropped.
fn answer_questions(tasks: &Mailbox<Task>, answers: &Sender<Answer>, wake: &dyn Fn()) {
    let mut stepper: Option<Stepper> = None;
    while let Some(task) = tasks.take() {
        let Task::Explain(question, token) = task else {
            stepper = None;
            continue;
        };
        let answer = match catch_panic(|| explain(&mut stepper, &question, &token)) {
            // The question was replaced or dropped.
            Ok(Err(Interruption::Cancelled)) => continue,
            Ok(Ok(explanation)) => Ok(explanation),
            Ok(Err(Interruption::Failed(reason))) => Err(reason),
            Err(failure) => {
                stepper = None;
                Err(match failure {
                    Failure::Panicked(_) => {
                        "internal error: the message cannot be shown".to_owned()
                    }
                    failure => failure.to_string(),
                })
            }
        };
        // The receiver is gone once the handle is dropped.
        let _ = answers.send((question, answer));
        wake();
    }
}

/// Why there is no [`Explanation`] for a question.
enum Interruption {
    Cancelled,
    Failed(String),
}

/// Answers `question` with the tables of `stepper`, which is replaced if it was made for another
/// network.
fn explain(
    stepper: &mut Option<Stepper>,
    question: &Question,
    token: &CancelToken,
) -> Result<Explanation, Interruption> {
    if !stepper.as_ref().is_some_and(|stepper| Arc::ptr_eq(stepper.compiled(), &question.compiled))
    {
        // Free the old tables first, so that old and new need not fit into memory together.
        *stepper = None;
        let memory = question.memory.unwrap_or_else(MemoryLimit::half_of_available);
        let new = Stepper::new(&question.compiled, question.evidence.clone(), memory);
        let refused = |error| Interruption::Failed(format!("Messages cannot be shown: {error}"));
        *stepper = Some(new.map_err(refused)?);
    }
    let stepper = stepper.as_mut().expect("created above");
    stepper.set_evidence(question.evidence.clone());
    let detail = stepper.message(question.message, token).map_err(|error| match error {
        RunError::Cancelled => Interruption::Cancelled,
        RunError::Impossible => Interruption::Failed(
            "The evidence is impossible: this message is never passed.".to_owned(),
        ),
        RunError::OutOfRange => {
            let error = PropagationError::OutOfRange;
            Interruption::Failed(format!("Messages cannot be shown: {error}"))
        }
        RunError::Device(reason) => Interruption::Failed(reason),
        RunError::OutOfMemory(error) => Interruption::Failed(error.to_string()),
    })?;
    let beliefs = match question.beliefs_after.map(|passed| stepper.beliefs(passed, token)) {
        Some(Err(RunError::Cancelled)) => return Err(Interruption::Cancelled),
        beliefs => beliefs.and_then(Result::ok).map(Arc::new),
    };
    Ok(Explanation { detail: Arc::new(detail), beliefs })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::propagation::{CompileOptions, compile};

    fn question(message: usize) -> Question {
        let network = crate::format::open("asia").unwrap().network;
        let options = CompileOptions::default();
        Question {
            compiled: Arc::new(compile(network, &options, &CancelToken::new()).unwrap()),
            evidence: Evidence::none(),
            message: MessageId::new(message),
            beliefs_after: None,
            memory: Some(MemoryLimit::from_bytes(1 << 30)),
        }
    }

    #[test]
    fn the_newest_question_is_answered() {
        let mut explainer = Explainer::new(|| {});
        assert!(explainer.wait().is_none(), "no question was asked");
        let first = question(0);
        for message in 0..message_count(&first) {
            explainer.ask(Question { message: MessageId::new(message), ..first.clone() });
        }
        let last = MessageId::new(message_count(&first) - 1);
        loop {
            let (question, answer) = explainer.wait().unwrap();
            let explanation = answer.unwrap();
            assert_eq!(explanation.detail.message, question.message);
            assert!(explanation.beliefs.is_none());
            if question.message == last {
                break;
            }
        }
        explainer.forget();
        explainer.ask(question(2));
        assert_eq!(explainer.wait().unwrap().1.unwrap().detail.message, MessageId::new(2));
        explainer.ask(Question { beliefs_after: Some(5), ..question(2) });
        let beliefs = explainer.wait().unwrap().1.unwrap().beliefs.unwrap();
        assert_eq!(beliefs.passed(), 5);
    }

    fn message_count(question: &Question) -> usize {
        question.compiled.plan().messages().len()
    }

    #[test]
    fn tables_that_do_not_fit_are_refused() {
        let mut explainer = Explainer::new(|| {});
        explainer.ask(Question { memory: Some(MemoryLimit::from_bytes(1)), ..question(0) });
        let (_, answer) = explainer.wait().unwrap();
        assert!(answer.unwrap_err().contains("too large"));
    }

    #[test]
    fn a_panic_is_answered_with_an_error() {
        let mut explainer = Explainer::new(|| {});
        explainer.ask(question(10_000));
        assert!(explainer.wait().unwrap().1.is_err());
        explainer.ask(question(1));
        assert!(explainer.wait().unwrap().1.is_ok());
    }
}
