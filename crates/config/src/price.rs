//! Money: prices as people write them, in the currency in which they are asked, and budgets (R34, G9).
//!
//! Refuses fractions of a binary kind: amounts are whole billionths (nano-units) of the currency, so
//! that sums are exact and the same everywhere; and it refuses to turn one currency into another.

use std::fmt;
use std::str::FromStr;

/// Billionths in one unit of a currency.
pub const NANO: u64 = 1_000_000_000;

/// The dearest that a million tokens may be, in units of the currency.
const PRICE_MAX: u64 = 1_000_000;

/// The largest budget, in units of its currency, and in tokens.
const BUDGET_MAX: u64 = 1_000_000_000;
const BUDGET_TOKENS_MAX: u64 = 1_000_000_000_000;

/// In what a price is asked.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Currency {
    /// US dollars.
    Usd,
    /// Chinese yuan.
    Cny,
}

/// What a million tokens cost, in nano-units of the currency.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Price {
    /// Which currency.
    pub currency: Currency,
    /// Input tokens that no cache had.
    pub input_nano: u64,
    /// Output tokens, reasoning included.
    pub output_nano: u64,
    /// Input tokens that were read from a cache; `None`: as any input.
    pub cached_nano: Option<u64>,
    /// Input tokens that were written to a cache; `None`: as any input.
    pub written_nano: Option<u64>,
}

/// What a client's token may spend a day.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Budget {
    /// Money of one currency, in nano-units; what costs another one is not counted.
    Money(Currency, u64),
    /// Tokens, input and output together.
    Tokens(u64),
}

/// Why a text is no price or no budget.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum MoneyError {
    /// It is not written like the example.
    #[error("it is not written as expected")]
    Form,
    /// An amount is too large, or has more than nine digits behind the point.
    #[error("an amount is out of its bounds")]
    Bounds,
}

impl Currency {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Usd, Self::Cny];

    /// Its code, by ISO 4217.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Usd => "USD",
            Self::Cny => "CNY",
        }
    }

    fn of(code: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|currency| currency.code().eq_ignore_ascii_case(code))
    }
}

impl Price {
    /// How it is written: the example of messages and pages.
    pub const EXAMPLE: &'static str = "USD 0.435 in, 0.87 out, 0.003625 cached";

    /// What so many tokens cost, in nano-units. `cached` and `written` are parts of `input`.
    #[must_use]
    pub fn cost_nano(&self, input: u64, cached: u64, written: u64, output: u64) -> u64 {
        let cached = cached.min(input);
        let written = written.min(input - cached);
        let fresh = input - cached - written;
        let parts = [
            (fresh, self.input_nano),
            (cached, self.cached_nano.unwrap_or(self.input_nano)),
            (written, self.written_nano.unwrap_or(self.input_nano)),
            (output, self.output_nano),
        ];
        let whole: u128 = parts.iter().map(|(n, nano)| u128::from(*n) * u128::from(*nano)).sum();
        u64::try_from(whole / 1_000_000).unwrap_or(u64::MAX)
    }
}

impl FromStr for Price {
    type Err = MoneyError;

    fn from_str(text: &str) -> Result<Self, MoneyError> {
        let (code, parts) = text.trim().split_once(char::is_whitespace).ok_or(MoneyError::Form)?;
        let currency = Currency::of(code).ok_or(MoneyError::Form)?;
        let mut found = [None; 4];
        for part in parts.split(',') {
            let (amount, what) =
                part.trim().split_once(char::is_whitespace).ok_or(MoneyError::Form)?;
            let at = NAMES.iter().position(|name| *name == what.trim()).ok_or(MoneyError::Form)?;
            if found[at].replace(nano(amount, PRICE_MAX)?).is_some() {
                return Err(MoneyError::Form);
            }
        }
        let [Some(input_nano), Some(output_nano), cached_nano, written_nano] = found else {
            return Err(MoneyError::Form);
        };
        Ok(Self { currency, input_nano, output_nano, cached_nano, written_nano })
    }
}

const NAMES: [&str; 4] = ["in", "out", "cached", "written"];

impl fmt::Display for Price {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (input, output) = (Some(self.input_nano), Some(self.output_nano));
        f.write_str(self.currency.code())?;
        let mut comma = " ";
        for (nano, name) in [input, output, self.cached_nano, self.written_nano].iter().zip(NAMES) {
            if let Some(nano) = nano {
                write!(f, "{comma}{} {name}", amount(*nano))?;
                comma = ", ";
            }
        }
        Ok(())
    }
}

impl Budget {
    /// How it is written.
    pub const EXAMPLE: &'static str = "USD 5";
}

impl FromStr for Budget {
    type Err = MoneyError;

    fn from_str(text: &str) -> Result<Self, MoneyError> {
        let (first, second) =
            text.trim().split_once(char::is_whitespace).ok_or(MoneyError::Form)?;
        if let Some(currency) = Currency::of(first) {
            return Ok(Self::Money(currency, nano(second.trim(), BUDGET_MAX)?));
        }
        if second.trim() != "tokens" || !first.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(MoneyError::Form);
        }
        let tokens = first.parse().map_err(|_| MoneyError::Bounds)?;
        if tokens > BUDGET_TOKENS_MAX {
            return Err(MoneyError::Bounds);
        }
        Ok(Self::Tokens(tokens))
    }
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Money(currency, nano) => write!(f, "{} {}", currency.code(), amount(*nano)),
            Self::Tokens(tokens) => write!(f, "{tokens} tokens"),
        }
    }
}

/// An amount as people write it: `0.0028`.
#[must_use]
pub fn amount(nano: u64) -> String {
    let (units, rest) = (nano / NANO, nano % NANO);
    if rest == 0 {
        return units.to_string();
    }
    let digits = format!("{rest:09}");
    format!("{units}.{}", digits.trim_end_matches('0'))
}

fn nano(text: &str, units_max: u64) -> Result<u64, MoneyError> {
    let (units, rest) = text.split_once('.').unwrap_or((text, "0"));
    let plain = |digits: &str| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    if !plain(units) || !plain(rest) {
        return Err(MoneyError::Form);
    }
    if rest.len() > 9 {
        return Err(MoneyError::Bounds);
    }
    let units: u64 = units.parse().map_err(|_| MoneyError::Bounds)?;
    let rest: u64 = format!("{rest:0<9}").parse().map_err(|_| MoneyError::Bounds)?;
    if units > units_max || units == units_max && rest > 0 {
        return Err(MoneyError::Bounds);
    }
    Ok(units * NANO + rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn price(text: &str) -> Price {
        text.parse().unwrap()
    }

    #[test]
    fn r34_a_price_is_read_as_it_is_shown() {
        for text in [
            "USD 0.435 in, 0.87 out, 0.003625 cached",
            "CNY 2 in, 8 out",
            "USD 5 in, 25 out, 0.5 cached, 6.25 written",
            "CNY 0 in, 1000000 out",
            "USD 0.000000001 in, 0 out",
        ] {
            assert_eq!(price(text).to_string(), text);
        }
        assert_eq!(price(" usd 1 in,2.50 out ").to_string(), "USD 1 in, 2.5 out");
        for (text, why) in [
            ("2 in, 8 out", MoneyError::Form),
            ("EUR 2 in, 8 out", MoneyError::Form),
            ("USD 2 in", MoneyError::Form),
            ("USD 2 in, 3 in, 8 out", MoneyError::Form),
            ("USD -2 in, 8 out", MoneyError::Form),
            ("USD 1e3 in, 8 out", MoneyError::Form),
            ("USD .5 in, 8 out", MoneyError::Form),
            ("USD 1000001 in, 8 out", MoneyError::Bounds),
            ("USD 1000000.1 in, 8 out", MoneyError::Bounds),
            ("USD 0.0000000001 in, 8 out", MoneyError::Bounds),
            ("USD 99999999999999999999999 in, 8 out", MoneyError::Bounds),
        ] {
            assert_eq!(text.parse::<Price>(), Err(why), "{text}");
        }
    }

    #[test]
    fn r34_a_cost_is_exact_and_counts_cached_tokens_apart() {
        let own = price("USD 2 in, 8 out, 0.5 cached, 2.5 written");
        // 1,000 fresh, 4,000 cached, 5,000 written, 100 out: 2,000 + 2,000 + 12,500 + 800 micro.
        assert_eq!(own.cost_nano(10_000, 4_000, 5_000, 100), 17_300_000);
        let plain = price("USD 2 in, 8 out");
        assert_eq!(plain.cost_nano(10_000, 4_000, 5_000, 100), 20_800_000);
        // A report whose parts are larger than the whole does not run below nothing.
        assert_eq!(own.cost_nano(10, 40, 50, 0), 5_000);
        assert_eq!(own.cost_nano(u64::MAX, 0, 0, u64::MAX), u64::MAX);
    }

    #[test]
    fn g09_a_budget_is_money_or_tokens() {
        for text in ["USD 5", "CNY 0.5", "0 tokens", "1000000000000 tokens", "USD 1000000000"] {
            assert_eq!(text.parse::<Budget>().unwrap().to_string(), text);
        }
        for text in ["5", "EUR 5", "5 USD", "tokens 5", "-1 tokens", "USD", "1.5 tokens"] {
            assert_eq!(text.parse::<Budget>(), Err(MoneyError::Form), "{text}");
        }
        for text in ["1000000000001 tokens", "USD 1000000001", "99999999999999999999 tokens"] {
            assert_eq!(text.parse::<Budget>(), Err(MoneyError::Bounds), "{text}");
        }
    }
}
