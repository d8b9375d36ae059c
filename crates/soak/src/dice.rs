//! Luck that can be had again: all that is random comes from the seed and from what it is for, never
//! from the order in which things happen.

/// A sequence of numbers that looks random (SplitMix64, Steele, Lea and Flood 2014).
#[derive(Clone, Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    /// The same for the same seed and the same purpose.
    pub(crate) fn of(seed: u64, purpose: &[u64]) -> Self {
        let mut dice = Self(seed);
        for part in purpose {
            dice.0 = dice.next() ^ part.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        }
        let _ = dice.next();
        dice
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From 0 on, below this; 0 for 0.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next().checked_rem(bound).unwrap_or(0)
    }

    /// From the first to the second, both included.
    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high.saturating_sub(low).saturating_add(1))
    }

    /// True so many times in a hundred.
    pub(crate) fn in_hundred(&mut self, times: u64) -> bool {
        self.below(100) < times
    }

    /// One of these; the list is never empty.
    pub(crate) fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        let index = usize::try_from(self.below(all.len() as u64)).unwrap_or(0);
        &all[index]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_purpose_has_the_same_luck() {
        let numbers = |purpose: &[u64]| {
            let mut dice = Dice::of(7, purpose);
            (0..4).map(|_| dice.next()).collect::<Vec<_>>()
        };
        assert_eq!(numbers(&[1, 2]), numbers(&[1, 2]));
        assert_ne!(numbers(&[1, 2]), numbers(&[2, 1]));
        assert_ne!(numbers(&[1]), numbers(&[1, 0]));
    }

    #[test]
    fn bounds_hold() {
        let mut dice = Dice::of(1, &[]);
        let drawn: Vec<u64> = (0..1_000).map(|_| dice.between(3, 5)).collect();
        assert!(drawn.iter().all(|number| (3..=5).contains(number)));
        assert!([3, 4, 5].iter().all(|number| drawn.contains(number)));
        assert_eq!(dice.below(0), 0);
    }
}
