//! Sends updates from any thread of the session to the window.

use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};

use crate::session::Update;

/// Sends updates and wakes the window. Clones send to the same window.
#[derive(Clone)]
pub(super) struct Reporter {
    sender: Sender<(u64, Update)>,
    wake: Arc<Mutex<dyn Fn() + Send>>,
}

impl Reporter {
    pub fn new(sender: Sender<(u64, Update)>, wake: impl Fn() + Send + 'static) -> Self {
        Self { sender, wake: Arc::new(Mutex::new(wake)) }
    }

    /// Sends an update about the network with this serial, and wakes the window.
    pub fn report(&self, source_serial: u64, update: Update) {
        // The receiver is gone once the window is closed.
        let _ = self.sender.send((source_serial, update));
        self.wake();
    }

    /// Wakes the window, so that it reads updates and the state that it shares with jobs.
    pub fn wake(&self) {
        let wake = self.wake.lock().unwrap_or_else(PoisonError::into_inner);
        (*wake)();
    }
}
