//! Which segments are lost: each with the same probability, by itself. A draw gives the distance to the next loss.

/// The losses of one direction; the same seed gives the same ones.
pub struct Chance {
    state: u64,
    /// Logarithm of the probability that a segment is not lost; 0 where none is.
    kept: f64,
    /// Segments until the next loss.
    left: u64,
}

impl Chance {
    pub fn new(loss: f64, seed: u64) -> Self {
        let kept = if loss > 0.0 { (1.0 - loss).ln() } else { 0.0 };
        let mut made = Self {
            state: seed,
            kept,
            left: u64::MAX,
        };
        made.left = made.draw();
        made
    }

    /// The first lost one among the next `segments`, counted from 0; all of them up to it are used up.
    pub fn next_loss(&mut self, segments: u32) -> Option<u32> {
        if self.left >= u64::from(segments) {
            self.left -= if self.left == u64::MAX {
                0
            } else {
                u64::from(segments)
            };
            return None;
        }
        let lost = self.left as u32;
        self.left = self.draw();
        Some(lost)
    }

    /// A geometric distance.
    fn draw(&mut self) -> u64 {
        if self.kept == 0.0 {
            return u64::MAX;
        }
        ((1.0 - self.uniform()).ln() / self.kept) as u64
    }

    /// `SplitMix64` (Steele, Lea, Flood 2014), 53 bits of it, from 0 to below 1.
    fn uniform(&mut self) -> f64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost_of(chance: &mut Chance, segments: u32) -> u32 {
        let (mut lost, mut from) = (0, 0);
        while let Some(at) = chance.next_loss(segments - from) {
            lost += 1;
            from += at + 1;
        }
        lost
    }

    #[test]
    fn the_share_is_met_whatever_the_packets() {
        for (share, each) in [(0.01, 1), (0.01, 45), (0.2, 7), (0.001, 40)] {
            let mut chance = Chance::new(share, 7);
            let packets = 1_000_000 / each;
            let lost: u32 = (0..packets).map(|_| lost_of(&mut chance, each)).sum();
            let all = f64::from(packets * each);
            let error = (all * share * (1.0 - share)).sqrt();
            assert!(
                (f64::from(lost) - all * share).abs() < 4.0 * error,
                "{lost} of {all}"
            );
        }
    }

    #[test]
    fn nothing_is_lost_without_loss() {
        let mut chance = Chance::new(0.0, 1);
        assert!((0..1_000).all(|_| chance.next_loss(u32::MAX).is_none()));
    }

    #[test]
    fn the_seed_decides() {
        let losses = |seed| {
            let mut chance = Chance::new(0.1, seed);
            (0..50).map(|_| chance.next_loss(3)).collect::<Vec<_>>()
        };
        assert_eq!(losses(3), losses(3));
        assert_ne!(losses(3), losses(4));
    }
}
