//! A second thread, which walks through a propagation to show how a message is computed.
//!
//! It never touches the worker's engine: evidence can be entered while it copies large tables.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::cancel::CancelToken;
use crate::engine::{Passing, RunError, Walk};
use crate::network::Evidence;
use crate::propagation::{CompiledNetwork, MemoryLimit, MessageId};

/// Which message is to be shown.
#[derive(Clone, Debug)]
pub struct Question {
    /// The network it is a message of.
    pub compiled: Arc<CompiledNetwork>,
    /// What is known.
    pub evidence: Evidence,
    /// The message.
    pub message: MessageId,
    /// Memory that the tables may take; `None` is half of what is available when they are made.
    pub memory: Option<MemoryLimit>,
}

impl PartialEq for Question {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.compiled, &other.compiled)
            && self.evidence == other.evidence
            && self.message == other.message
            && self.memory == other.memory
    }
}

/// What is known of a question: the message with its numbers, or why there is none.
pub type Answer = (Question, Result<Arc<Passing>, String>);

/// Tells the window that there is news.
type Wake = Box<dyn Fn() + Send>;

/// The handle to the thread. The latest question wins; dropping the handle asks the thread to stop.
pub struct Explainer {
    shared: Arc<Shared>,
    answers: Receiver<Answer>,
    /// What the thread is started with, at the first question.
    idle: Option<(Sender<Answer>, Wake)>,
}

struct Shared {
    inbox: Mutex<Inbox>,
    arrived: Condvar,
}

#[derive(Default)]
struct Inbox {
    wanted: Option<Question>,
    /// The tables that were loaded are not needed any more.
    forget: bool,
    at_work: CancelToken,
    closed: bool,
}

impl Shared {
    fn inbox(&self) -> MutexGuard<'_, Inbox> {
        // A panic while the lock is held cannot leave an inbox half changed.
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Explainer {
    /// An explainer without a thread, which begins with the first question. It calls `wake` after
    /// each answer, from its own thread.
    #[must_use]
    pub fn new(wake: impl Fn() + Send + 'static) -> Self {
        let shared = Arc::new(Shared { inbox: Mutex::default(), arrived: Condvar::new() });
        let (sender, answers) = channel();
        Self { shared, answers, idle: Some((sender, Box::new(wake))) }
    }

    /// Asks for a message, in place of what was asked for before.
    ///
    /// # Panics
    /// If the operating system gives no thread.
    pub fn ask(&mut self, question: Question) {
        if let Some((sender, wake)) = self.idle.take() {
            let shared = Arc::clone(&self.shared);
            std::thread::Builder::new()
                .name("explainer".to_owned())
                .spawn(move || work(&shared, &sender, &*wake))
                .expect("a thread for the explainer");
        }
        let mut inbox = self.shared.inbox();
        inbox.at_work.cancel();
        inbox.wanted = Some(question);
        self.shared.arrived.notify_one();
    }

    /// Gives up what was asked for and frees the tables.
    pub fn forget(&self) {
        let mut inbox = self.shared.inbox();
        inbox.at_work.cancel();
        inbox.wanted = None;
        inbox.forget = true;
        self.shared.arrived.notify_one();
    }

    /// The newest answer since the last call, if there is one.
    #[must_use]
    pub fn answer(&self) -> Option<Answer> {
        self.answers.try_iter().last()
    }

    /// Waits for the next answer. `None` if the thread is gone, or there was no question.
    #[must_use]
    pub fn wait(&self) -> Option<Answer> {
        if self.idle.is_some() {
            return None;
        }
        self.answers.recv().ok()
    }
}

impl Drop for Explainer {
    fn drop(&mut self) {
        let mut inbox = self.shared.inbox();
        inbox.closed = true;
        inbox.at_work.cancel();
        self.shared.arrived.notify_one();
    }
}

fn work(shared: &Shared, sender: &Sender<Answer>, wake: &dyn Fn()) {
    let mut walk: Option<Walk> = None;
    while let Some((question, token)) = next(shared, &mut walk) {
        let answer = catch_unwind(AssertUnwindSafe(|| explain(&mut walk, &question, &token)));
        let answer = match answer {
            // A newer question is there, or none.
            Ok(Err(Stopped::Cancelled)) => continue,
            Ok(Ok(passing)) => Ok(Arc::new(passing)),
            Ok(Err(Stopped::Failed(reason))) => Err(reason),
            Err(_) => {
                walk = None;
                Err("internal error: the message cannot be shown".to_owned())
            }
        };
        // The handle may be gone already; then nobody wants to know.
        let _ = sender.send((question, answer));
        wake();
    }
}

/// Waits for a question. `None` once the handle is gone.
fn next(shared: &Shared, walk: &mut Option<Walk>) -> Option<(Question, CancelToken)> {
    let mut inbox = shared.inbox();
    loop {
        if inbox.closed {
            return None;
        }
        if std::mem::take(&mut inbox.forget) {
            *walk = None;
        }
        if let Some(question) = inbox.wanted.take() {
            inbox.at_work = CancelToken::new();
            return Some((question, inbox.at_work.clone()));
        }
        inbox = shared.arrived.wait(inbox).unwrap_or_else(PoisonError::into_inner);
    }
}

enum Stopped {
    Cancelled,
    Failed(String),
}

fn explain(
    walk: &mut Option<Walk>,
    question: &Question,
    token: &CancelToken,
) -> Result<Passing, Stopped> {
    if !walk.as_ref().is_some_and(|walk| Arc::ptr_eq(walk.compiled(), &question.compiled)) {
        // The old tables go first, so that the two never have to fit into memory together.
        *walk = None;
        let memory = question.memory.unwrap_or_else(MemoryLimit::half_of_available);
        let fresh = Walk::new(&question.compiled, question.evidence.clone(), memory);
        let refused = |error| Stopped::Failed(format!("Messages cannot be shown: {error}"));
        *walk = Some(fresh.map_err(refused)?);
    }
    let walk = walk.as_mut().expect("made above");
    walk.set_evidence(question.evidence.clone());
    walk.message(question.message, token).map_err(|failure| match failure {
        RunError::Cancelled => Stopped::Cancelled,
        RunError::Impossible => {
            Stopped::Failed("The evidence is impossible: this message is never passed.".to_owned())
        }
        RunError::Device(reason) => Stopped::Failed(reason),
    })
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
            memory: Some(MemoryLimit::of_bytes(1 << 30)),
        }
    }

    #[test]
    fn the_latest_question_is_answered() {
        let mut explainer = Explainer::new(|| {});
        assert!(explainer.wait().is_none(), "nothing was asked");
        let first = question(0);
        for message in 0..compiled_messages(&first) {
            explainer.ask(Question { message: MessageId::new(message), ..first.clone() });
        }
        let last = MessageId::new(compiled_messages(&first) - 1);
        loop {
            let (question, answer) = explainer.wait().unwrap();
            let passing = answer.unwrap();
            assert_eq!(passing.message, question.message);
            if question.message == last {
                break;
            }
        }
        explainer.forget();
        explainer.ask(question(2));
        assert_eq!(explainer.wait().unwrap().1.unwrap().message, MessageId::new(2));
    }

    fn compiled_messages(question: &Question) -> usize {
        question.compiled.plan().messages().len()
    }

    #[test]
    fn what_does_not_fit_is_said() {
        let mut explainer = Explainer::new(|| {});
        explainer.ask(Question { memory: Some(MemoryLimit::of_bytes(1)), ..question(0) });
        let (_, answer) = explainer.wait().unwrap();
        assert!(answer.unwrap_err().contains("too large"));
    }

    #[test]
    fn a_panic_is_an_answer() {
        let mut explainer = Explainer::new(|| {});
        explainer.ask(question(10_000));
        assert!(explainer.wait().unwrap().1.is_err());
        explainer.ask(question(1));
        assert!(explainer.wait().unwrap().1.is_ok());
    }
}
