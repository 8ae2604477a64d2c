//! A slot for one message from one thread to another.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A slot in which a new message replaces the waiting one, so that nothing queues up.
///
/// It is shared by reference between any number of senders and one receiver, which waits in
/// [`take`](Self::take) until there is a message or the mailbox is closed.
pub struct Mailbox<M> {
    slot: Mutex<Slot<M>>,
    changed: Condvar,
}

struct Slot<M> {
    message: Option<M>,
    closed: bool,
}

impl<M> Default for Mailbox<M> {
    fn default() -> Self {
        let slot = Slot { message: None, closed: false };
        Self { slot: Mutex::new(slot), changed: Condvar::new() }
    }
}

impl<M> Mailbox<M> {
    /// Sends `message`. It replaces a message that is still waiting.
    pub fn put(&self, message: M) {
        self.update(|waiting| *waiting = Some(message));
    }

    /// Lets `change` edit the waiting message, or `None` if no message is waiting, and wakes the
    /// receiver.
    pub fn update(&self, change: impl FnOnce(&mut Option<M>)) {
        change(&mut self.slot().message);
        self.changed.notify_all();
    }

    /// Waits for a message and takes it. `None` once the mailbox is closed and empty.
    pub fn take(&self) -> Option<M> {
        let waiting = |slot: &mut Slot<M>| slot.message.is_none() && !slot.closed;
        let slot = self.changed.wait_while(self.slot(), waiting);
        slot.unwrap_or_else(PoisonError::into_inner).message.take()
    }

    /// Takes the message if there is one. Does not wait.
    pub fn try_take(&self) -> Option<M> {
        self.slot().message.take()
    }

    /// Waits for `duration`, or until the mailbox is closed.
    pub fn pause(&self, duration: Duration) {
        drop(self.changed.wait_timeout_while(self.slot(), duration, |slot| !slot.closed));
    }

    /// Closes the mailbox, so that the receiver no longer waits. A waiting message can still be
    /// taken.
    pub fn close(&self) {
        self.slot().closed = true;
        self.changed.notify_all();
    }

    /// Closes the mailbox and drops the waiting message, if there is one.
    pub fn close_and_discard(&self) {
        let mut slot = self.slot();
        slot.closed = true;
        slot.message = None;
        self.changed.notify_all();
    }

    fn slot(&self) -> MutexGuard<'_, Slot<M>> {
        // Poisoning is harmless: only `change` can panic, and any message that it leaves can be
        // sent.
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_message_replaces_the_one_before() {
        let mailbox = Mailbox::default();
        assert_eq!(mailbox.try_take(), None);
        mailbox.put(1);
        mailbox.put(2);
        assert_eq!(mailbox.take(), Some(2));
        assert_eq!(mailbox.try_take(), None);
    }

    #[test]
    fn a_waiting_message_can_be_extended() {
        let mailbox = Mailbox::<Vec<u32>>::default();
        for number in [1, 2] {
            mailbox.update(|message| message.get_or_insert_default().push(number));
        }
        assert_eq!(mailbox.take(), Some(vec![1, 2]));
    }

    #[test]
    fn a_message_wakes_the_receiver() {
        let mailbox = Mailbox::default();
        std::thread::scope(|scope| {
            let receiver = scope.spawn(|| mailbox.take());
            mailbox.put("hello");
            assert_eq!(receiver.join().unwrap(), Some("hello"));
        });
    }

    #[test]
    fn closing_ends_a_pause_and_then_take_returns_none() {
        let mailbox = Mailbox::<u32>::default();
        std::thread::scope(|scope| {
            let receiver = scope.spawn(|| {
                mailbox.pause(Duration::from_secs(1000));
                mailbox.take()
            });
            mailbox.close();
            assert_eq!(receiver.join().unwrap(), None);
        });
    }

    #[test]
    fn the_last_message_can_be_taken_after_closing_unless_it_is_discarded() {
        let mailbox = Mailbox::default();
        mailbox.put(1);
        mailbox.close();
        assert_eq!(mailbox.take(), Some(1));
        assert_eq!(mailbox.take(), None);
        let mailbox = Mailbox::default();
        mailbox.put(1);
        mailbox.close_and_discard();
        assert_eq!(mailbox.take(), None);
    }

    #[test]
    fn a_pause_ends_by_itself() {
        Mailbox::<u32>::default().pause(Duration::from_millis(1));
    }
}
