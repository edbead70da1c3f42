//! Time for which a thread is kept, as clients set and see it.

use serde_json::{Value, json};
use superstep_base::time::now;

use crate::error::{ApiError, ApiResult};
use crate::records::thread::{ThreadRecord, ThreadTtl, TtlStrategy};
use crate::records::time::time_text;

pub(super) fn parse_strategy(name: Option<&str>) -> ApiResult<TtlStrategy> {
    match name {
        None | Some("delete") => Ok(TtlStrategy::Delete),
        Some("keep_latest") => Ok(TtlStrategy::KeepLatest),
        Some(other) => {
            Err(ApiError::invalid(format!("there is no strategy `{other}`: there are delete and keep_latest")))
        }
    }
}

/// Sets the time for which a thread is kept after its last change: minutes, or an object with them as `ttl`. Null leaves it as it is.
///
/// # Errors
/// 422 if it is no such time.
pub(super) fn set_ttl(thread: &mut ThreadRecord, ttl: Option<&Value>) -> ApiResult<()> {
    let Some(ttl) = ttl.filter(|ttl| !ttl.is_null()) else { return Ok(()) };
    let minutes = ttl.get("ttl").unwrap_or(ttl).as_f64().filter(|minutes| *minutes >= 0.0);
    let minutes = minutes
        .ok_or_else(|| ApiError::invalid("ttl is the minutes for which the thread is kept, or {ttl, strategy}"))?;
    let strategy = parse_strategy(ttl.get("strategy").and_then(Value::as_str))?;
    thread.ttl = Some(ThreadTtl { minutes, strategy, created_at: now(), checked_at: 0 });
    if let (Some(end), Some(ttl)) = (thread.expires_at(), &mut thread.ttl) {
        ttl.checked_at = end;
    }
    Ok(())
}

/// Returns the time for which a thread is kept; null if it is kept for ever.
pub(super) fn ttl_json(thread: &ThreadRecord) -> Value {
    let Some(ttl) = thread.ttl else { return Value::Null };
    json!({
        "strategy": ttl.strategy,
        "ttl_minutes": ttl.minutes,
        "created_at": time_text(ttl.created_at),
        "expires_at": thread.expires_at().map(time_text),
    })
}

/// Returns whether a query has `include=ttl`, alone or among others.
pub(super) fn includes_ttl(query: &str) -> bool {
    let mut pairs = url::form_urlencoded::parse(query.as_bytes());
    pairs.any(|(name, value)| matches!(&*name, "include" | "include[]") && value.split(',').any(|part| part == "ttl"))
}
