//! Cumulative work over time, bounded in length.

/// The most points that a result has for one operation.
pub const MOST: usize = 2_000;

/// Work of each operation at one moment: (count, bytes, busy ticks).
pub type Sums = Vec<(u64, u64, u64)>;

/// The work of all operations over time.
pub type Checkpoints = Thinned<Sums>;

/// Points in order of time; where they become too many, every second one is dropped and only every second one kept from then on.
pub struct Thinned<T> {
    points: Vec<(u64, T)>,
    stride: usize,
    seen: usize,
    most: usize,
}

impl<T> Thinned<T> {
    /// None yet; they are bounded to half of what a result may have, the other half is for marks.
    pub fn new() -> Self {
        let most = MOST / 2 - 1;
        Self {
            points: Vec::with_capacity(most),
            stride: 1,
            seen: 0,
            most,
        }
    }

    /// Notes what is known at a moment.
    pub fn push(&mut self, at: u64, point: T) {
        self.seen += 1;
        if !self.seen.is_multiple_of(self.stride) {
            return;
        }
        if self.points.len() == self.most {
            let mut place = 0;
            self.points.retain(|_| {
                place += 1;
                place % 2 == 0
            });
            self.stride *= 2;
            if !self.seen.is_multiple_of(self.stride) {
                return;
            }
        }
        self.points.push((at, point));
    }

    /// All points that were kept.
    pub fn into_points(self) -> Vec<(u64, T)> {
        self.points
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_points_are_thinned_evenly() {
        let mut checkpoints = Checkpoints::new();
        for at in 1..=100_000 {
            checkpoints.push(at, vec![(at, 0, 0)]);
        }
        let points = checkpoints.into_points();
        assert!((MOST / 4..MOST / 2).contains(&points.len()));
        let steps: Vec<u64> = points
            .windows(2)
            .map(|pair| pair[1].0 - pair[0].0)
            .collect();
        assert!(steps.iter().all(|step| *step == steps[0]), "{steps:?}");
    }
}
