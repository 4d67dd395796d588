//! Operations by client, filter and result: who asks for what, and what comes of it.

use crate::asked::TOGETHER;
use crate::hashing::Table;
use crate::message::Kind;

/// Rows that are kept apart; what comes after them is counted together.
const MOST: usize = 4096;

/// What makes an operation another row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Use {
    pub client: u32,
    pub kind: Kind,
    pub filter: u32,
    pub code: Option<u32>,
}

/// The operations of a row.
#[derive(Clone, Copy)]
pub struct UseTally {
    pub row: Use,
    pub count: u64,
    pub entries: u64,
    pub timed: u64,
    pub response_sum_ns: u64,
    pub response_max_ns: u64,
}

/// All rows.
#[derive(Default)]
pub struct Uses {
    pub tallies: Vec<UseTally>,
    pub together: u64,
    places: Table<Use, u32>,
}

impl Uses {
    /// The place of a row.
    pub fn place(&mut self, row: Use) -> u32 {
        if let Some(place) = self.places.get(&row) {
            return *place;
        }
        if self.tallies.len() >= MOST {
            return TOGETHER;
        }
        let place = self.tallies.len() as u32;
        self.places.insert(row, place);
        self.tallies.push(UseTally {
            row,
            count: 0,
            entries: 0,
            timed: 0,
            response_sum_ns: 0,
            response_max_ns: 0,
        });
        place
    }

    /// Counts an operation with its entries and its response time, if it has one.
    pub fn count(&mut self, place: u32, entries: u32, ns: Option<u64>) {
        let Some(tally) = self.tallies.get_mut(place as usize) else {
            self.together += 1;
            return;
        };
        tally.count += 1;
        tally.entries += u64::from(entries);
        if let Some(ns) = ns {
            tally.timed += 1;
            tally.response_sum_ns = tally.response_sum_ns.saturating_add(ns);
            tally.response_max_ns = tally.response_max_ns.max(ns);
        }
    }
}
