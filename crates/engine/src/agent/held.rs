//! Memory that is held until it is released.

use super::answer::Failure;
use assay_host::MemoryHeld;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// What is held, by number.
#[derive(Default)]
pub struct Held(Mutex<(u64, BTreeMap<u64, MemoryHeld>)>);

impl Held {
    /// Takes so many bytes and touches every page; answers with the number.
    pub fn take(&self, bytes: usize) -> Result<Value, Failure> {
        let taken = MemoryHeld::take(bytes)?;
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        held.0 += 1;
        let number = held.0;
        held.1.insert(number, taken);
        Ok(json!({"held": number}))
    }

    /// Gives back what has this number, if anything has.
    pub fn release(&self, number: u64) -> Value {
        let released = {
            let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            held.1.remove(&number)
        };
        json!({"bytes": released.map_or(0, |taken| taken.length())})
    }
}
