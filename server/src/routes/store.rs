//! Long-term memory over HTTP: items are written, read, deleted and searched, in the store that nodes see. Knows no run.

use std::sync::Arc;

use axum::Json;
use axum::Router;
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::routing::{post, put};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use superstep::memory::{
    IndexFields, ItemName, Namespace, NamespaceQuery, StoreError, StoreFilter, StoreItem, StoreRead, StoreSearch,
    StoreWrite,
};

use utoipa::{IntoParams, ToSchema};

use crate::error::{ApiError, ApiResult};
use crate::records::time::time_text;
use crate::server::Server;

/// The largest page.
const LARGEST: usize = 1000;

/// Returns the routes of the store.
pub(super) fn of_store() -> Router<Arc<Server>> {
    Router::new()
        .route("/store/items", put(write).get(read).delete(remove))
        .route("/store/items/search", post(search))
        .route("/store/namespaces", post(namespaces))
}

#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = ItemWrite)]
pub(super) struct WriteBody {
    /// Labels, none of which is empty or contains a dot.
    #[schema(min_items = 1)]
    namespace: Vec<String>,
    key: String,
    #[schema(value_type = Object)]
    value: Value,
    /// `false`, or the paths of fields.
    index: Option<Value>,
    /// In minutes.
    ttl: Option<f64>,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct ReadQuery {
    /// Labels, joined by dots.
    #[serde(default)]
    namespace: String,
    key: String,
    /// Lets the time of the item begin again.
    refresh_ttl: Option<bool>,
}

#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = ItemName)]
pub(super) struct NameBody {
    #[serde(default)]
    #[schema(min_items = 1)]
    namespace: Vec<String>,
    key: String,
}

#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = ItemSearch)]
pub(super) struct SearchBody {
    namespace_prefix: Option<Vec<String>>,
    /// Values that fields have, or `{"$gt": 1}`: there are `$eq`, `$ne`, `$gt`, `$gte`, `$lt` and `$lte`.
    #[schema(value_type = Option<Object>)]
    filter: Option<Value>,
    /// The number of items, 1000 at most; 10 unless set.
    limit: Option<usize>,
    offset: Option<usize>,
    /// A text that items are about, where the store embeds them; else a text that they contain.
    query: Option<String>,
    refresh_ttl: Option<bool>,
}

#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = NamespaceSearch)]
pub(super) struct NamespacesBody {
    prefix: Option<Vec<String>>,
    suffix: Option<Vec<String>>,
    max_depth: Option<usize>,
    limit: Option<usize>,
    offset: Option<usize>,
}

/// An item of the store.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Item)]
pub(super) struct ItemJson {
    #[schema(value_type = Vec<String>)]
    namespace: Namespace,
    key: String,
    #[schema(value_type = Object)]
    value: Value,
    #[schema(format = DateTime)]
    created_at: String,
    #[schema(format = DateTime)]
    updated_at: String,
}

/// An item of a search.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = FoundItem)]
pub(super) struct FoundItemJson {
    #[serde(flatten)]
    item: ItemJson,
    /// The similarity to the query; null without one.
    #[schema(required)]
    score: Option<f64>,
}

type Body<T> = Result<Json<T>, JsonRejection>;

async fn write(State(server): State<Arc<Server>>, body: Body<WriteBody>) -> ApiResult<StatusCode> {
    let WriteBody { namespace, key, value, index, ttl } = checked(body)?;
    let write = StoreWrite::new(labels(namespace)?, key, value).index(index_fields(index)?);
    server.memory.put(StoreWrite { ttl_minutes: ttl, ..write }).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn read(
    State(server): State<Arc<Server>>,
    query: Result<Query<ReadQuery>, QueryRejection>,
) -> ApiResult<Json<Value>> {
    let Query(query) = query.map_err(|rejection| ApiError::invalid(rejection.body_text()))?;
    let namespace = query.namespace.split('.').filter(|_| !query.namespace.is_empty());
    let namespace = labels(namespace.map(str::to_owned).collect())?;
    let read = StoreRead::new(namespace, query.key).refresh_ttl(query.refresh_ttl.unwrap_or(true));
    Ok(Json(json!(server.memory.get(read).await?.map(item_json))))
}

async fn remove(State(server): State<Arc<Server>>, body: Body<NameBody>) -> ApiResult<StatusCode> {
    let NameBody { namespace, key } = checked(body)?;
    server.memory.delete(ItemName::new(labels(namespace)?, key)).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn search(State(server): State<Arc<Server>>, body: Body<SearchBody>) -> ApiResult<Json<Value>> {
    let body = checked(body)?;
    let search = StoreSearch::new(labels(body.namespace_prefix.unwrap_or_default())?)
        .filter(StoreFilter::new(body.filter.unwrap_or_default())?)
        .limit(body.limit.unwrap_or(10).min(LARGEST))
        .offset(body.offset.unwrap_or_default())
        .refresh_ttl(body.refresh_ttl.unwrap_or(true));
    let found = server.memory.search(StoreSearch { query: body.query, ..search }).await?;
    let found = found.into_iter().map(|item| {
        let score = item.score;
        FoundItemJson { item: item_json(item), score }
    });
    Ok(Json(json!({ "items": found.collect::<Vec<_>>() })))
}

async fn namespaces(State(server): State<Arc<Server>>, body: Body<NamespacesBody>) -> ApiResult<Json<Value>> {
    let body = checked(body)?;
    let query = NamespaceQuery::default()
        .prefix(labels(body.prefix.unwrap_or_default())?)
        .suffix(labels(body.suffix.unwrap_or_default())?)
        .limit(body.limit.unwrap_or(100).min(LARGEST))
        .offset(body.offset.unwrap_or_default());
    let query = NamespaceQuery { max_depth: body.max_depth, ..query };
    Ok(Json(json!({ "namespaces": server.memory.list_namespaces(query).await? })))
}

/// Returns a body, or what is wrong with it.
fn checked<T>(body: Body<T>) -> ApiResult<T> {
    body.map(|Json(body)| body).map_err(|rejection| ApiError::new(rejection.status(), rejection.body_text()))
}

/// Returns a namespace. Clients join labels by dots, so that none may be in a label.
fn labels(labels: Vec<String>) -> ApiResult<Namespace> {
    match labels.iter().find(|label| label.is_empty() || label.contains('.')) {
        Some(label) if label.is_empty() => Err(ApiError::invalid("a label of a namespace is empty: give it a name")),
        Some(label) => Err(ApiError::invalid(format!("the label `{label}` of a namespace contains a dot: replace it"))),
        None => Ok(labels.into()),
    }
}

fn index_fields(index: Option<Value>) -> ApiResult<IndexFields> {
    let paths = |paths: Vec<Value>| paths.into_iter().map(|path| path.as_str().map(str::to_owned)).collect();
    let fields = match index {
        None | Some(Value::Null) => Some(IndexFields::OfStore),
        Some(Value::Bool(false)) => Some(IndexFields::Nothing),
        Some(Value::Array(list)) => Option::<Vec<String>>::map(paths(list), IndexFields::Paths),
        Some(_) => None,
    };
    fields.ok_or_else(|| ApiError::invalid("`index` is no list of fields: give `false`, or paths such as `title`"))
}

/// Returns an item on the wire.
fn item_json(item: StoreItem) -> ItemJson {
    ItemJson {
        namespace: item.namespace,
        key: item.key,
        value: item.value,
        created_at: time_text(item.created_at),
        updated_at: time_text(item.updated_at),
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        let help = error.help().map(|help| format!(": {help}")).unwrap_or_default();
        let detail = format!("{error}{help}");
        match error {
            StoreError::Checkpoint(error) => error.into(),
            StoreError::EmptyNamespace { .. } => Self::new(StatusCode::BAD_REQUEST, detail),
            StoreError::NotAnObject { .. }
            | StoreError::NameTooLong { .. }
            | StoreError::InvalidTtl { .. }
            | StoreError::UnknownOperator { .. }
            | StoreError::InvalidFilter => Self::invalid(detail),
            _ => Self::new(StatusCode::INTERNAL_SERVER_ERROR, detail),
        }
    }
}
