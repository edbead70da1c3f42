//! Usage of a reply: reported by the server, or estimated. Pure.

use std::time::Duration;

use serde_json::Value;

use super::reply::Reply;
use crate::drivers::{Price, Usage};

/// Bytes of English or code per token, roughly.
const BYTES: u64 = 4;

/// Returns the usage of a reply to a request of this size.
pub(super) fn of(reply: &Reply, body_size: usize, took: Duration, price: Option<Price>) -> Usage {
    let used = reply.usage.as_ref().and_then(reported).unwrap_or_else(|| estimated(body_size, reply.size()));
    let ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
    Usage { ms, ..priced(used, price) }
}

/// Reads the usage that a server reports; `None` without input and output tokens.
fn reported(usage: &Value) -> Option<Usage> {
    let number = |path: &str| usage.pointer(path).and_then(Value::as_u64);
    let (read, output) = (number("/prompt_tokens")?, number("/completion_tokens")?);
    let cached = number("/prompt_tokens_details/cached_tokens").or_else(|| number("/prompt_cache_hit_tokens"));
    let cache_read = cached.unwrap_or(0).min(read);
    Some(Usage { input: read - cache_read, output, cache_read, cost: cost(usage), requests: 1, ..Usage::default() })
}

/// Estimates the usage from byte counts.
fn estimated(read: usize, written: usize) -> Usage {
    let tokens = |bytes: usize| u64::try_from(bytes).unwrap_or(u64::MAX).div_ceil(BYTES);
    Usage { input: tokens(read), output: tokens(written), requests: 1, estimated: true, ..Usage::default() }
}

/// Adds the cost by price, if none was reported.
fn priced(usage: Usage, price: Option<Price>) -> Usage {
    let Some(price) = price.filter(|_| usage.cost == 0) else { return usage };
    Usage { cost: price.of(&usage), estimated: true, ..usage }
}

/// Reads the cost in dollars that some servers report.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "held between 0 and a billion")]
fn cost(usage: &Value) -> u64 {
    let dollars = usage.get("cost").and_then(Value::as_f64).unwrap_or(0.0);
    (dollars * 1e6).clamp(0.0, 1e15) as u64
}
