//! Searches by what a load like them needs: filter, scope, attributes wanted, size limit.

use crate::asked::TOGETHER;
use crate::message::Attributes;
use std::collections::HashMap;

/// Searches that are kept apart; what comes after them is counted together.
const MOST_SEARCHES: usize = 512;

/// What makes a search another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Search {
    /// The place of its filter.
    pub filter: u32,
    pub scope: Option<Scope>,
    pub attributes: Attributes,
    /// None: it was cut off, or is no number of entries.
    pub size_limit: Option<u32>,
}

/// How deep a search goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    Base,
    One,
    Sub,
    Children,
}

impl Scope {
    pub fn of(number: u64) -> Option<Self> {
        [Self::Base, Self::One, Self::Sub, Self::Children]
            .get(usize::try_from(number).ok()?)
            .copied()
    }

    /// The name in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Base => "base",
            Self::One => "one",
            Self::Sub => "sub",
            Self::Children => "children",
        }
    }
}

/// The searches that are alike.
pub struct SearchTally {
    pub search: Search,
    pub count: u64,
    pub answered: u64,
    pub entries: u64,
    /// Answers without an entry, of which nothing was lost.
    pub empty: u64,
    pub bytes: u64,
}

/// All searches, those beyond the bound in one number.
#[derive(Default)]
pub struct Searches {
    pub tallies: Vec<SearchTally>,
    pub together: u64,
    places: HashMap<Search, u32>,
    /// The one that was counted last for the filter at each place: the usual search is found without a table.
    latest: Vec<u32>,
}

impl Searches {
    /// Counts a search and gives its place.
    pub fn count(&mut self, search: Search) -> u32 {
        if search.filter == TOGETHER {
            self.together += 1;
            return TOGETHER;
        }
        let filter = search.filter as usize;
        if filter >= self.latest.len() {
            self.latest.resize(filter + 1, TOGETHER);
        }
        let latest = self.latest[filter] as usize;
        if let Some(tally) = self
            .tallies
            .get_mut(latest)
            .filter(|one| one.search == search)
        {
            tally.count += 1;
            return latest as u32;
        }
        let place = self.place(search);
        self.latest[filter] = place;
        match self.tallies.get_mut(place as usize) {
            Some(tally) => tally.count += 1,
            None => self.together += 1,
        }
        place
    }

    fn place(&mut self, search: Search) -> u32 {
        if let Some(place) = self.places.get(&search) {
            return *place;
        }
        if self.tallies.len() >= MOST_SEARCHES {
            return TOGETHER;
        }
        let place = self.tallies.len() as u32;
        self.places.insert(search, place);
        self.tallies.push(SearchTally {
            search,
            count: 0,
            answered: 0,
            entries: 0,
            empty: 0,
            bytes: 0,
        });
        place
    }
}
