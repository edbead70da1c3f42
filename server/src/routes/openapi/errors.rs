//! Errors as the document describes them: `{"detail": text}` with a status. Those that follow from what a route takes are added here,
//! so that no route names them. Must not know a route.

use std::collections::BTreeSet;

use axum::http::Method;
use utoipa::ToSchema;
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::{ContentBuilder, HeaderBuilder, Ref, Response, ResponseBuilder};

use crate::security::access::Access;

/// The answer to a request that cannot be served.
#[derive(ToSchema)]
#[schema(as = Error)]
#[expect(dead_code, reason = "errors are written by `ApiError`, which has its status too")]
pub(super) struct ErrorJson {
    /// The problem, and its place.
    detail: String,
}

/// The statuses of errors with their names in the document, and what they mean.
const ERRORS: [(u16, &str, &str); 14] = [
    (400, "BadRequest", "The request cannot be read, or names what a graph does not have."),
    (401, "Unauthorized", "A key is needed, or it is not accepted."),
    (403, "Forbidden", "The role of the key, the origin of the page, or the terms of a question do not allow it."),
    (404, "NotFound", "There is no such thing."),
    (406, "NotAcceptable", "The header `accept` does not name the kinds of the answer."),
    (408, "RequestTimeout", "The body came too slowly."),
    (409, "Conflict", "It does not fit what is there already."),
    (413, "PayloadTooLarge", "The body is too large."),
    (415, "UnsupportedMediaType", "The body is not sent as `application/json`."),
    (422, "UnprocessableEntity", "A field is missing, or its value does not fit."),
    (426, "UpgradeRequired", "The connection cannot become a WebSocket."),
    (429, "TooManyRequests", "There are too many requests or runs: try again later."),
    (
        503,
        "ServiceUnavailable",
        "The store or the keys cannot be read, or there are too many streams: try again later.",
    ),
    (504, "GatewayTimeout", "It takes longer than the server allows."),
];

/// Parts of a request from which errors follow.
pub(super) struct RequestParts<'a> {
    pub method: &'a Method,
    pub has_parameters: bool,
    pub has_body: bool,
}

/// Returns the statuses of errors that follow from what a route takes, and from who may use it.
pub(super) fn common_errors(parts: &RequestParts<'_>, access: Access) -> BTreeSet<u16> {
    let mut statuses = BTreeSet::from([429]);
    if access.needs.is_some() {
        statuses.extend([401, 403, 503]);
    }
    if !parts.method.is_safe() {
        statuses.insert(403); // foreign origins
    }
    if parts.has_parameters {
        statuses.insert(400);
    }
    if parts.has_body {
        statuses.extend([400, 408, 413, 415, 422]);
    }
    statuses
}

/// Returns a reference to the answer of a status; none for one that has no name.
pub(super) fn error_reference(status: u16) -> Option<Ref> {
    ERRORS.iter().find(|(known, ..)| *known == status).map(|(_, name, _)| Ref::from_response_name(*name))
}

/// Returns all errors with their names.
pub(super) fn all_errors() -> impl Iterator<Item = (&'static str, Response)> {
    ERRORS.into_iter().map(|(status, name, description)| {
        let schema = Ref::from_schema_name(ErrorJson::name());
        let content = ContentBuilder::new().schema(Some(schema)).build();
        let answer = ResponseBuilder::new().description(description).content("application/json", content);
        (name, if matches!(status, 429 | 503) { answer.header("retry-after", retry_after()) } else { answer }.build())
    })
}

fn retry_after() -> utoipa::openapi::header::Header {
    let seconds = ObjectBuilder::new().schema_type(Type::Integer).build();
    HeaderBuilder::new().schema(Some(seconds)).description(Some("Seconds.")).build()
}
