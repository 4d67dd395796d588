//! The numbers of datagrams as they come: which are missing, late, or there twice.

/// So many of the last datagrams are known one by one: a multiple of 64.
const WINDOW: u64 = 1 << 16;
const WORDS: usize = (WINDOW / 64) as usize;

/// What came of one flow of datagrams that are numbered from 0.
pub struct Sequence {
    /// One above the highest number so far.
    pub next: u64,
    /// Datagrams, each once.
    pub received: u64,
    /// Came after one with a higher number.
    pub reordered: u64,
    /// Came again.
    pub duplicated: u64,
    seen: Box<[u64; WORDS]>,
}

impl Sequence {
    /// Nothing came yet.
    pub fn new() -> Self {
        Self {
            next: 0,
            received: 0,
            reordered: 0,
            duplicated: 0,
            seen: Box::new([0; WORDS]),
        }
    }

    /// Notes one datagram. A very late one (65,536 behind) counts as late and never as a duplicate.
    #[inline]
    pub fn note(&mut self, number: u64) {
        if number == self.next {
            self.advance(number);
        } else {
            self.jump(number);
        }
    }

    #[inline]
    fn advance(&mut self, number: u64) {
        let word = &mut self.seen[place(number)];
        if number.is_multiple_of(64) {
            *word = 0;
        }
        *word |= 1 << (number % 64);
        self.next = number + 1;
        self.received += 1;
    }

    #[cold]
    fn jump(&mut self, number: u64) {
        if number > self.next {
            let first =
                (self.next.next_multiple_of(64)).max(number.saturating_sub(WINDOW) / 64 * 64);
            (first..=number)
                .step_by(64)
                .for_each(|at| self.seen[place(at)] = 0);
            self.advance_over(number);
            return;
        }
        if self.next - number <= WINDOW - 64 {
            let word = &mut self.seen[place(number)];
            if *word & 1 << (number % 64) != 0 {
                self.duplicated += 1;
                return;
            }
            *word |= 1 << (number % 64);
        }
        self.reordered += 1;
        self.received += 1;
    }

    /// Takes a number above the next one; its word has been cleared where it is new.
    fn advance_over(&mut self, number: u64) {
        self.seen[place(number)] |= 1 << (number % 64);
        self.next = number + 1;
        self.received += 1;
    }
}

fn place(number: u64) -> usize {
    (number / 64) as usize % WORDS
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn of(numbers: &[u64]) -> Sequence {
        let mut sequence = Sequence::new();
        for number in numbers {
            sequence.note(*number);
        }
        sequence
    }

    #[test]
    fn gaps_latecomers_and_repeats_are_told_apart() {
        let sequence = of(&[0, 1, 4, 3, 3, 200, 200, 2, 201, 100]);
        assert_eq!(sequence.next, 202);
        assert_eq!(sequence.received, 8);
        assert_eq!(sequence.reordered, 3);
        assert_eq!(sequence.duplicated, 2);
    }

    #[test]
    fn the_window_goes_round() {
        let numbers: Vec<u64> = (0..5 * WINDOW).filter(|at| at % 1_000 != 7).collect();
        let sequence = of(&numbers);
        assert_eq!(sequence.received, numbers.len() as u64);
        assert_eq!((sequence.reordered, sequence.duplicated), (0, 0));
    }

    #[test]
    fn a_very_late_one_is_no_duplicate() {
        let sequence = of(&[0, 10 * WINDOW, 5, 5]);
        assert_eq!((sequence.reordered, sequence.duplicated), (2, 0));
    }

    proptest! {
        #[test]
        fn counts_agree_with_a_set(numbers in prop::collection::vec(0_u64..30_000, 1..400)) {
            let sequence = of(&numbers);
            let distinct: BTreeSet<u64> = numbers.iter().copied().collect();
            prop_assert_eq!(sequence.received, distinct.len() as u64);
            prop_assert_eq!(sequence.duplicated, (numbers.len() - distinct.len()) as u64);
        }
    }
}
