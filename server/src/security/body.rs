//! Bodies of requests: read whole, within a size and a time, before a handler sees them.

use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::http::StatusCode;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use tokio::time::timeout;

use super::limits::Limits;
use crate::error::{ApiError, ApiResult};

/// The longest time for which the rest of a body that is too large is read, so that the client reads the answer.
const DISCARD: Duration = Duration::from_secs(2);

/// Reads a body.
pub(super) async fn read(body: Body, limits: &Limits) -> ApiResult<Bytes> {
    if body.is_end_stream() {
        return Ok(Bytes::new());
    }
    if body.size_hint().lower() > u64::try_from(limits.body).unwrap_or(u64::MAX) {
        discard(body, limits.body).await;
        return Err(too_large(limits));
    }
    match timeout(limits.body_time, Limited::new(body, limits.body).collect()).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large(limits)),
        Ok(Err(_)) => Err(ApiError::new(StatusCode::BAD_REQUEST, "the body of the request has no end")),
        Err(_) => Err(ApiError::new(StatusCode::REQUEST_TIMEOUT, "the body of the request came too slowly")),
    }
}

/// Reads as much again as is taken of a body, and forgets it.
async fn discard(body: Body, limit: usize) {
    let mut rest = Limited::new(body, limit.saturating_mul(2));
    let read = async { while let Some(Ok(_)) = rest.frame().await {} };
    _ = timeout(DISCARD, read).await;
}

fn too_large(limits: &Limits) -> ApiError {
    let detail = format!("the body of the request is too large: at most {} bytes are accepted", limits.body);
    ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, detail)
}
