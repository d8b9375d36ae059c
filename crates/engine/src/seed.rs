//! The only source of chance: a number that came with the call, through SplitMix64.

/// `span` give or take a quarter; the same seed and step always give the same value.
pub(crate) const fn jitter(seed: u64, step: u64, span: u64) -> u64 {
    let half = span / 2;
    if half == 0 {
        return span;
    }
    span - span / 4 + splitmix(seed ^ step.wrapping_mul(0x9e37_79b9_7f4a_7c15)) % half
}

/// `span` give or take so many hundredths of a per cent, but never more than `most`.
pub(crate) const fn spread(seed: u64, step: u64, span: u64, bp: u32, most: u64) -> u64 {
    let reach = span / 10_000 * bp as u64 + span % 10_000 * bp as u64 / 10_000;
    let chance = splitmix(seed ^ step.wrapping_mul(0x9e37_79b9_7f4a_7c15)) % (2 * reach + 1);
    let value = span.saturating_sub(reach).saturating_add(chance);
    // What would be beyond the bound is as far below it: clients that came together come apart.
    if value > most { most.saturating_sub(value - most) } else { value }
}

const fn splitmix(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
