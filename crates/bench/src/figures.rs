//! Samples, their medians, and whether two passes agree. It knows nothing of what was measured.

use serde_json::{Value, json};

/// Two passes that lie closer together than this agree.
pub(crate) const AGREEMENT: f64 = 0.10;

/// The middle of the samples; the mean of the two middle ones when they are even.
pub(crate) fn median(samples: &[f64]) -> f64 {
    percentile(samples, 0.5)
}

/// The value below which this share of the samples lies, from 0 to 1, between neighbours in
/// proportion. 0 without samples.
pub(crate) fn percentile(samples: &[f64], share: f64) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let Some(last) = sorted.len().checked_sub(1) else { return 0.0 };
    let place = share * last as f64;
    let below = place.floor() as usize;
    let above = (below + 1).min(last);
    sorted[below] + (sorted[above] - sorted[below]) * (place - below as f64)
}

/// What the gateway's figure should be.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Target {
    /// None was set.
    None,
    /// At most this.
    AtMost(f64),
    /// At most so many times nginx's.
    TimesNginx(f64),
}

/// One line of the table; each column has a sample a round.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) key: &'static str,
    pub(crate) title: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) nothing: Vec<f64>,
    pub(crate) nginx: Vec<f64>,
    pub(crate) ekiden: Vec<f64>,
    pub(crate) target: Target,
}

impl Row {
    pub(crate) const fn new(key: &'static str, title: &'static str, unit: &'static str) -> Self {
        Self {
            key,
            title,
            unit,
            nothing: Vec::new(),
            nginx: Vec::new(),
            ekiden: Vec::new(),
            target: Target::None,
        }
    }

    pub(crate) const fn aims(mut self, target: Target) -> Self {
        self.target = target;
        self
    }

    /// The gateway's figure over nginx's: the median of the rounds' own ratios, since the two were
    /// measured next to each other in each round.
    pub(crate) fn ratio(&self) -> Option<f64> {
        let pairs = self.ekiden.iter().zip(&self.nginx).filter(|(_, nginx)| **nginx > 0.0);
        let ratios: Vec<f64> = pairs.map(|(ekiden, nginx)| ekiden / nginx).collect();
        (!ratios.is_empty()).then(|| median(&ratios))
    }

    /// Whether the target is met; `None` where there is none.
    pub(crate) fn meets(&self) -> Option<bool> {
        if self.ekiden.is_empty() {
            return None;
        }
        match self.target {
            Target::None => None,
            Target::AtMost(most) => Some(median(&self.ekiden) <= most),
            Target::TimesNginx(most) => self.ratio().map(|ratio| ratio <= most),
        }
    }

    /// The figure by which two passes are compared: the ratio, else the gateway's own, else
    /// nginx's.
    fn headline(&self) -> f64 {
        let own = if self.ekiden.is_empty() { &self.nginx } else { &self.ekiden };
        self.ratio().unwrap_or_else(|| median(own))
    }

    /// How far apart two passes are, as a share of the smaller figure.
    pub(crate) fn apart(&self, other: &Self) -> f64 {
        let (a, b) = (self.headline(), other.headline());
        let smaller = a.abs().min(b.abs());
        if self.unit == "%" {
            // Growth is a difference of percents already.
            return (a - b).abs() / 100.0;
        }
        if smaller > 0.0 { (a - b).abs() / smaller } else { (a - b).abs() }
    }

    /// Both passes' rounds as one row.
    pub(crate) fn with(&self, other: &Self) -> Self {
        let mut row = self.clone();
        row.nothing.extend(&other.nothing);
        row.nginx.extend(&other.nginx);
        row.ekiden.extend(&other.ekiden);
        row
    }

    /// The same row of a run that was kept, over all its passes; nothing if it had no such row.
    pub(crate) fn earlier(&self, passes: &Value) -> Option<Self> {
        let mut row = Self::new(self.key, self.title, self.unit);
        let kept = passes.as_array()?.iter().filter_map(Value::as_array).flatten();
        for kept in kept.filter(|kept| kept["key"] == self.key) {
            let samples = |column: &str| {
                kept[column].as_array().into_iter().flatten().filter_map(Value::as_f64)
            };
            row.nothing.extend(samples("nothing"));
            row.nginx.extend(samples("nginx"));
            row.ekiden.extend(samples("ekiden"));
        }
        // A column that is empty on one side alone would compare different things.
        let same = row.ekiden.is_empty() == self.ekiden.is_empty()
            && row.nginx.is_empty() == self.nginx.is_empty();
        same.then_some(row)
    }

    pub(crate) fn json(&self) -> Value {
        json!({
            "key": self.key,
            "title": self.title,
            "unit": self.unit,
            "nothing": self.nothing,
            "nginx": self.nginx,
            "ekiden": self.ekiden,
            "ratio": self.ratio(),
            "meets": self.meets(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_lie_between_neighbours() {
        assert!((median(&[3.0, 1.0, 2.0]) - 2.0).abs() < 1e-9);
        assert!((median(&[4.0, 1.0, 2.0, 3.0]) - 2.5).abs() < 1e-9);
        let hundred: Vec<f64> = (0..=100).map(f64::from).collect();
        assert!((percentile(&hundred, 0.99) - 99.0).abs() < 1e-9);
        assert!(percentile(&[], 0.5).abs() < 1e-9);
    }

    #[test]
    fn a_ratio_pairs_what_was_measured_next_to_each_other() {
        let mut row = Row::new("k", "t", "µs").aims(Target::TimesNginx(1.7));
        // The machine was twice as slow in the second round.
        row.nginx = vec![10.0, 20.0, 10.0];
        row.ekiden = vec![16.0, 32.0, 16.0];
        assert!((row.ratio().unwrap() - 1.6).abs() < 1e-9);
        assert_eq!(row.meets(), Some(true));
        let mut slower = row.clone();
        slower.ekiden = vec![19.0, 38.0, 19.0];
        assert_eq!(slower.meets(), Some(false));
        assert!(row.apart(&slower) > AGREEMENT);
        assert!(row.apart(&row.with(&row)) < 1e-9);
    }
}
