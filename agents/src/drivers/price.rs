//! Prices of tokens, for drivers that report tokens but no cost. Pure.

use serde::{Deserialize, Serialize};

use super::event::Usage;

/// Prices of a model's tokens, in millionths of a dollar per million tokens: 3 dollars are 3 000 000. Tokens written to
/// a cache cost the same as tokens read.
///
/// ```
/// # use superstep_agents as superstep;
/// use superstep::drivers::{Price, Usage};
/// let price = Price { input: 3_000_000, output: 15_000_000, cache_read: 300_000 };
/// let usage = Usage { input: 1_000, output: 100, ..Usage::default() };
/// assert_eq!(price.of(&usage), 4_500);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Price {
    /// Tokens read.
    pub input: u64,
    /// Tokens written.
    pub output: u64,
    /// Tokens read from a cache.
    pub cache_read: u64,
}

/// Formats millionths of a dollar for people, to the hundredth of a cent: `$0.0160`.
pub fn dollars(millionths: u64) -> String {
    format!("${}.{:04}", millionths / 1_000_000, millionths % 1_000_000 / 100)
}

impl Price {
    /// Returns the cost of the tokens of a usage, in millionths of a dollar, rounded up.
    pub fn of(&self, usage: &Usage) -> u64 {
        let part = |tokens: u64, price: u64| u128::from(tokens) * u128::from(price);
        let read = usage.input.saturating_add(usage.cache_write);
        let sum = part(read, self.input) + part(usage.output, self.output) + part(usage.cache_read, self.cache_read);
        u64::try_from(sum.div_ceil(1_000_000)).unwrap_or(u64::MAX)
    }
}
