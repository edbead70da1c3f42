//! Errors of requests: a status and a sentence. Knows no route.

use std::sync::Arc;

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::json;
use superstep::checkpoint::CheckpointError;
use superstep::graph::RunError;

/// The answer to a request that cannot be served: `{"detail": text}`.
#[derive(Debug, thiserror::Error)]
#[error("{detail}")]
pub(crate) struct ApiError {
    pub status: StatusCode,
    pub detail: String,
}

pub(crate) type ApiResult<T> = Result<T, ApiError>;

impl ApiError {
    pub(crate) fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self { status, detail: detail.into() }
    }

    pub(crate) fn not_found(what: &str, id: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, format!("there is no {what} `{id}`"))
    }

    pub(crate) fn is_not_found(&self) -> bool {
        self.status == StatusCode::NOT_FOUND
    }

    /// Returns true if it is a failure of the server or of what it stores.
    pub(crate) fn is_internal(&self) -> bool {
        self.status == StatusCode::INTERNAL_SERVER_ERROR
    }

    pub(crate) fn conflict(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, detail)
    }

    pub(crate) fn invalid(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, detail)
    }
}

/// The text of an error of the server, in the extensions of its answer: for the log.
#[derive(Clone, Debug)]
pub(crate) struct ErrorDetail(pub Arc<str>);

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(json!({ "detail": self.detail }))).into_response();
        if self.status.is_server_error() {
            response.extensions_mut().insert(ErrorDetail(self.detail.into()));
        }
        response
    }
}

impl From<CheckpointError> for ApiError {
    fn from(error: CheckpointError) -> Self {
        let status = match &error {
            CheckpointError::ThreadBusy { .. } | CheckpointError::ItemConflict { .. } => StatusCode::CONFLICT,
            CheckpointError::UnknownThread { .. } => StatusCode::NOT_FOUND,
            CheckpointError::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            CheckpointError::Outage { .. } => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self::new(status, error.to_string())
    }
}

impl From<RunError> for ApiError {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Checkpoint(error) => error.into(),
            RunError::UnknownGraph { .. } | RunError::UnknownCheckpoint { .. } => {
                Self::new(StatusCode::NOT_FOUND, error.to_string())
            }
            RunError::NotAnApprover { .. } => Self::new(StatusCode::FORBIDDEN, error.to_string()),
            RunError::AlreadyAnswered { .. } | RunError::QuestionExpired { .. } => Self::conflict(error.to_string()),
            RunError::Foreign { .. } => Self::new(StatusCode::FORBIDDEN, error.to_string()),
            RunError::UnknownNode { .. } => Self::new(StatusCode::BAD_REQUEST, error.to_string()),
            // The text of a panic may have secrets.
            RunError::Panic { doing, .. } => Self::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                format!("the code of the program panicked while {doing}: the reason is on its standard error"),
            ),
            error => Self::invalid(error.to_string()),
        }
    }
}

impl From<serde_json::Error> for ApiError {
    fn from(error: serde_json::Error) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, format!("a record of the server cannot be read: {error}"))
    }
}
