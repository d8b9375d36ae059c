//! The only source of chance: a number that came with the call, through SplitMix64.

/// `span` give or take a quarter; the same seed and step always give the same value.
pub(crate) const fn jitter(seed: u64, step: u64, span: u64) -> u64 {
    let half = span / 2;
    if half == 0 {
        return span;
    }
    span - span / 4 + splitmix(seed ^ step.wrapping_mul(0x9e37_79b9_7f4a_7c15)) % half
}

const fn splitmix(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
