//! Usage of a reply: reported by the server, or estimated. Pure.

use serde_json::Value;

use crate::drivers::{Price, Usage};

/// Bytes of English or code per token, roughly.
const BYTES: u64 = 4;

/// Reads the usage that a server reports; `None` without input and output tokens.
pub(super) fn reported(usage: &Value) -> Option<Usage> {
    let number = |path: &str| usage.pointer(path).and_then(Value::as_u64);
    let (read, output) = (number("/prompt_tokens")?, number("/completion_tokens")?);
    let cached = number("/prompt_tokens_details/cached_tokens").or_else(|| number("/prompt_cache_hit_tokens"));
    let cache_read = cached.unwrap_or(0).min(read);
    Some(Usage { input: read - cache_read, output, cache_read, cost: cost(usage), requests: 1, ..Usage::default() })
}

/// Estimates the usage from byte counts.
pub(super) fn estimated(read: usize, written: usize) -> Usage {
    let tokens = |bytes: usize| u64::try_from(bytes).unwrap_or(u64::MAX).div_ceil(BYTES);
    Usage { input: tokens(read), output: tokens(written), requests: 1, estimated: true, ..Usage::default() }
}

/// Adds the cost by price, if none was reported.
pub(super) fn priced(usage: Usage, price: Option<Price>) -> Usage {
    let Some(price) = price.filter(|_| usage.cost == 0) else { return usage };
    Usage { cost: price.of(&usage), estimated: true, ..usage }
}

/// Reads the cost in dollars that some servers report.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "held between 0 and a billion")]
fn cost(usage: &Value) -> u64 {
    let dollars = usage.get("cost").and_then(Value::as_f64).unwrap_or(0.0);
    (dollars * 1e6).clamp(0.0, 1e15) as u64
}
