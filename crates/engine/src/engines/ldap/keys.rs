//! Which entry an operation is about, and which operation comes next.

use super::settings::{Keys, Order};
use crate::order::{Permutation, Random};

/// What is drawn of 2^53.
const FRACTION: u64 = 1 << 53;

/// The keys of one operation of one worker.
pub struct Draw {
    keys: Keys,
    random: Random,
    /// The same for all workers of all clients: who is popular, and who comes when.
    scattered: Permutation,
    cursor: u64,
    part: u64,
    parts: u64,
    /// Of 2^53 operations so many miss.
    misses: u64,
    exponent: f64,
}

impl Draw {
    /// Of the worker `part` of `parts` of all clients.
    pub fn new(keys: Keys, part: (u64, u64), seed: u64, shared_seed: u64) -> Self {
        Self {
            keys,
            random: Random::new(seed),
            scattered: Permutation::new(keys.count, shared_seed),
            cursor: part.0,
            part: part.0,
            parts: part.1,
            misses: (keys.misses * FRACTION as f64) as u64,
            exponent: (1.0 - keys.skew).ln() / keys.skew.ln(),
        }
    }

    /// The next key, and whether no entry has it; None where each has come once.
    #[inline]
    pub fn next(&mut self) -> Option<(u64, bool)> {
        let Keys { first, count, .. } = self.keys;
        if self.misses > 0 && self.random.below(FRACTION) < self.misses {
            let missing = self.keys.missing.unwrap_or(first + count);
            return Some((missing + self.random.below(count), true));
        }
        let place = match self.keys.order {
            Order::Uniform => self.random.below(count),
            Order::Skewed => self.skewed(count),
            Order::Once | Order::Forward => self.once(count)?,
        };
        Some((first + place, false))
    }

    /// Self-similar (Gray et al., SIGMOD 1994): 0.8 of the draws fall on 0.2 of the keys, and so on within these.
    fn skewed(&mut self, count: u64) -> u64 {
        let drawn = self.random.below(FRACTION) as f64 / FRACTION as f64;
        let rank = (count as f64 * drawn.powf(self.exponent)) as u64;
        self.scattered.at(rank.min(count - 1))
    }

    fn once(&mut self, count: u64) -> Option<u64> {
        let place = self.cursor;
        if place >= count {
            return None;
        }
        self.cursor += self.parts;
        Some(if self.keys.order == Order::Once {
            self.scattered.at(place)
        } else {
            place
        })
    }

    /// A number that no other operation of this kind has, of any worker: its place in all of them.
    pub fn turn(&self, done: u64) -> u64 {
        done * self.parts + self.part
    }
}

/// The operations of a mix, dealt like cards: each deck has them in exactly their weights, in an order of its own.
pub struct Deck {
    cards: Vec<u16>,
    next: usize,
    random: Random,
}

impl Deck {
    /// A deck of these weights.
    pub fn new(weights: &[u64], seed: u64) -> Self {
        let common = weights.iter().copied().fold(0, divisor).max(1);
        let cards: Vec<u16> = (0_u16..)
            .zip(weights)
            .flat_map(|(card, weight)| std::iter::repeat_n(card, (weight / common) as usize))
            .collect();
        Self {
            next: cards.len(),
            cards,
            random: Random::new(seed),
        }
    }

    /// The next of them.
    #[inline]
    pub fn deal(&mut self) -> usize {
        if self.next == self.cards.len() {
            self.shuffle();
        }
        self.next += 1;
        usize::from(self.cards[self.next - 1])
    }

    /// Fisher and Yates.
    fn shuffle(&mut self) {
        self.next = 0;
        for place in (1..self.cards.len()).rev() {
            let other = self.random.below(place as u64 + 1) as usize;
            self.cards.swap(place, other);
        }
    }
}

/// The operations of a mix: names in exactly their weights, and those of one name in exactly their shares.
pub struct Deal {
    names: Deck,
    within: Vec<(Vec<usize>, Deck)>,
}

impl Deal {
    /// From the name, weight and share of each operation; those of one name have one weight.
    pub fn new<'a>(operations: impl Iterator<Item = (&'a str, u64, u64)>, seed: u64) -> Self {
        let mut named: Vec<(&str, u64, Vec<usize>, Vec<u64>)> = Vec::new();
        for (place, (name, weight, share)) in operations.enumerate() {
            match named.iter_mut().find(|(known, ..)| *known == name) {
                Some((_, _, places, shares)) => {
                    places.push(place);
                    shares.push(share);
                }
                None => named.push((name, weight, vec![place], vec![share])),
            }
        }
        let weights: Vec<u64> = named.iter().map(|(_, weight, ..)| *weight).collect();
        let within = (1_u64..).zip(named);
        Self {
            names: Deck::new(&weights, seed),
            within: within
                .map(|(number, (_, _, places, shares))| (places, Deck::new(&shares, seed ^ number)))
                .collect(),
        }
    }

    /// The next operation.
    #[inline]
    pub fn next(&mut self) -> usize {
        let (places, deck) = &mut self.within[self.names.deal()];
        if let [only] = places[..] {
            return only;
        }
        places[deck.deal()]
    }
}

fn divisor(one: u64, other: u64) -> u64 {
    if other == 0 {
        one
    } else {
        divisor(other, one % other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(order: Order, count: u64) -> Keys {
        Keys {
            order,
            first: 5,
            count,
            ..Keys::default()
        }
    }

    #[test]
    fn a_deck_has_its_weights_exactly() {
        let mut deck = Deck::new(&[60, 0, 30, 10], 7);
        let mut counts = [0; 4];
        (0..1000).for_each(|_| counts[deck.deal()] += 1);
        assert_eq!(counts, [600, 0, 300, 100]);
    }

    #[test]
    fn operations_of_one_name_have_its_weight_and_their_shares() {
        let operations = [
            ("search", 3, 7),
            ("modify", 1, 1),
            ("search", 3, 2),
            ("search", 3, 1),
        ];
        let mut deal = Deal::new(operations.into_iter(), 7);
        let mut counts = [0; 4];
        (0..400).for_each(|_| counts[deal.next()] += 1);
        assert_eq!(counts, [210, 100, 60, 30]);
    }

    #[test]
    fn keys_that_come_once_are_shared_out() {
        for order in [Order::Once, Order::Forward] {
            let mut seen = Vec::new();
            for part in 0..3 {
                let mut draw = Draw::new(keys(order, 100), (part, 3), part, 9);
                seen.extend(std::iter::from_fn(|| draw.next()).map(|(key, _)| key));
            }
            seen.sort_unstable();
            assert_eq!(seen, (5..105).collect::<Vec<_>>());
        }
    }

    #[test]
    fn four_of_five_skewed_draws_fall_on_a_fifth_of_the_keys() {
        let mut draw = Draw::new(keys(Order::Skewed, 1000), (0, 1), 1, 2);
        let mut counts = vec![0_u32; 1000];
        (0..100_000).for_each(|_| counts[draw.next().unwrap().0 as usize - 5] += 1);
        counts.sort_unstable_by(|one, other| other.cmp(one));
        let popular: u32 = counts[..200].iter().sum();
        assert!((78_000..82_000).contains(&popular), "{popular}");
    }

    #[test]
    fn a_share_misses() {
        let with_misses = Keys {
            misses: 0.25,
            missing: Some(1000),
            ..keys(Order::Uniform, 100)
        };
        let mut draw = Draw::new(with_misses, (0, 1), 1, 2);
        let drawn: Vec<_> = (0..10_000).map(|_| draw.next().unwrap()).collect();
        let missed = drawn.iter().filter(|(_, missed)| *missed).count();
        assert!((2_300..2_700).contains(&missed), "{missed}");
        assert!(drawn.iter().all(|(key, missed)| (*key >= 1000) == *missed));
    }
}
