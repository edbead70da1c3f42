//! The inbox of all threads, and of one; and answers that are checked before they are given.

use std::sync::Arc;

use axum::extract::{Path, Query, State};
use axum::{Extension, Json};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::error::{ApiError, ApiResult};
use crate::inbox::{CheckBody, ChecksJson, InboxJson, InboxPage, ItemPlace};
use crate::security::Caller;
use crate::server::Server;

/// The number of items of a page of all threads by default, and of the largest page.
const LIMITS: (usize, usize) = (50, 500);

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub(in super::super) struct InboxQuery {
    /// The number of items, 1 to 500; 50 unless set, and 500 for one thread.
    limit: Option<usize>,
    /// The `next` of the page before.
    after: Option<String>,
}

impl InboxQuery {
    /// Returns the page; `limit`: unless the query has one.
    fn page(self, limit: usize) -> ApiResult<InboxPage> {
        let limit = self.limit.unwrap_or(limit);
        if !(1..=LIMITS.1).contains(&limit) {
            return Err(ApiError::invalid(format!("limit is 1 to {}, and not {limit}", LIMITS.1)));
        }
        let after = self.after.as_deref().map(str::parse::<ItemPlace>).transpose()?;
        Ok(InboxPage { after, limit })
    }
}

pub(super) async fn inbox(
    State(server): State<Arc<Server>>,
    Query(query): Query<InboxQuery>,
) -> ApiResult<Json<InboxJson>> {
    server.inbox(&query.page(LIMITS.0)?).await.map(Json)
}

pub(super) async fn of_thread(
    State(server): State<Arc<Server>>,
    Path(thread): Path<String>,
    Query(query): Query<InboxQuery>,
) -> ApiResult<Json<InboxJson>> {
    server.inbox_of(&thread, &query.page(LIMITS.1)?).await.map(Json)
}

pub(super) async fn check(
    State(server): State<Arc<Server>>,
    Path(thread): Path<String>,
    caller: Option<Extension<Caller>>,
    Json(body): Json<CheckBody>,
) -> ApiResult<Json<ChecksJson>> {
    let by = caller.map(|caller| caller.0.name).or(body.by);
    server.check_inbox(&thread, CheckBody { by, ..body }).await.map(Json)
}
