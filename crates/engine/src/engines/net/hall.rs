//! The places of one end: each connection has one, and a worker that serves it.

use super::account::Account;
use super::connection::Connection;
use super::settings::Settings;
use crate::control::Control;
use assay_clock::monotonic_ns;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The longest wait in which a worker does not ask whether to go on.
const DOZE_NS: u64 = 50_000_000;

/// What both roles share with their workers.
pub struct Hall {
    pub settings: Settings,
    pub account: Account,
    seats: Mutex<Vec<Arc<Connection>>>,
    changed: Condvar,
}

impl Hall {
    /// All places are free.
    pub fn new(settings: &Settings, address: String) -> Self {
        Self {
            settings: settings.clone(),
            account: Account::new(settings, address),
            seats: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// Gives a connection the next place.
    pub fn seat(&self, connection: Connection) {
        let connection = Arc::new(connection);
        self.account.add(&connection);
        self.seats().push(connection);
        self.changed.notify_all();
    }

    /// Whether every place is taken.
    pub fn is_full(&self) -> bool {
        self.seats().len() as u64 >= self.settings.connections
    }

    /// The connection at a place, if there is one by now.
    pub fn at(&self, place: usize) -> Option<Arc<Connection>> {
        self.seats().get(place).map(Arc::clone)
    }

    /// Waits for the connection at a place; None where it does not come in time, or the phase has ended.
    pub fn wait(&self, place: usize, control: &Control) -> Option<Arc<Connection>> {
        let until_ns = monotonic_ns().saturating_add(self.settings.patience_ns);
        let mut seats = self.seats();
        loop {
            let now = monotonic_ns();
            if let Some(connection) = seats.get(place) {
                return Some(Arc::clone(connection));
            }
            if now >= until_ns || control.reason().is_some() {
                return None;
            }
            let rest = Duration::from_nanos((until_ns - now).min(DOZE_NS));
            let waited = self.changed.wait_timeout(seats, rest);
            seats = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Ends what workers wait for.
    pub fn interrupt(&self) {
        self.account.interrupt();
        self.changed.notify_all();
    }

    /// Forgets all connections.
    pub fn leave(&self) {
        self.seats().clear();
    }

    fn seats(&self) -> MutexGuard<'_, Vec<Arc<Connection>>> {
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
