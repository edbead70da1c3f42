//! Parts of bodies that several routes have: pages, order, and filters on metadata.

use axum::Json;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use serde::Deserialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::choices::{SORT_ORDER, check_choice};
use crate::error::{ApiError, ApiResult};
use crate::server::select_fields;

/// The size of a page, unless it is asked for.
const LIMIT: usize = 10;
/// The largest page.
const LARGEST: usize = 1000;

/// A page of a list.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
pub(super) struct Page {
    /// The number of entries, 1 to 1000; 10 unless set.
    pub limit: Option<usize>,
    /// The number of entries that are left out at the start.
    pub offset: Option<usize>,
    /// The fields of the entries; all without it.
    pub select: Option<Vec<String>>,
    /// The field by which entries are sorted; `created_at` unless set.
    pub sort_by: Option<String>,
    #[schema(schema_with = crate::choices::sort_order)]
    pub sort_order: Option<String>,
}

impl Page {
    /// Checks a page of a list whose entries have these fields and are sorted by some of them.
    ///
    /// # Errors
    /// 422 for a size, a field or an order that is not there.
    pub(super) fn check(&self, fields: &[&str], sorted_by: &[&str]) -> ApiResult<()> {
        if let Some(limit) = self.limit.filter(|limit| !(1..=LARGEST).contains(limit)) {
            return Err(ApiError::invalid(format!("limit is 1 to {LARGEST}, and not {limit}")));
        }
        check_choice("sort_by", self.sort_by.as_deref(), sorted_by)?;
        check_choice("sort_order", self.sort_order.as_deref(), &SORT_ORDER)?;
        self.select.iter().flatten().try_for_each(|field| check_choice("select", Some(field), fields))
    }

    /// Returns a page of a list that is sorted as the client asks, else the newest first.
    pub(super) fn sorted(&self, mut all: Vec<Value>) -> (HeaderMap, Json<Vec<Value>>) {
        let is_ascending = self.sort_order.as_deref() == Some("asc");
        sort(&mut all, self.sort_by.as_deref().unwrap_or("created_at"), is_ascending);
        self.of(all)
    }

    /// Returns the number of values that are left out, and the largest number of those of the page.
    pub(super) fn bounds(&self) -> (usize, usize) {
        (self.offset.unwrap_or_default(), self.limit.unwrap_or(LIMIT).clamp(1, LARGEST))
    }

    /// Returns a page of a list, and headers that say how long the list is and where the next page begins.
    pub(super) fn of(&self, all: Vec<Value>) -> (HeaderMap, Json<Vec<Value>>) {
        let (total, (offset, limit)) = (all.len(), self.bounds());
        let page = all.into_iter().skip(offset).take(limit).map(|value| select_fields(value, self.select.as_deref()));
        let page: Vec<Value> = page.collect();
        (page_headers(total, offset + page.len()), Json(page))
    }
}

/// Returns the headers of a page that ends before a value of a list: how long that is, and where the next page begins.
pub(super) fn page_headers(total: usize, end: usize) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(HeaderName::from_static("x-pagination-total"), HeaderValue::from(total));
    if end < total {
        headers.insert(HeaderName::from_static("x-pagination-next"), HeaderValue::from(end));
    }
    headers
}

/// Returns whether an object contains all fields of another, at any depth.
pub(super) fn contains(found: &Map<String, Value>, wanted: &Map<String, Value>) -> bool {
    wanted.iter().all(|(key, value)| match (found.get(key), value) {
        (Some(Value::Object(found)), Value::Object(wanted)) => contains(found, wanted),
        (found, wanted) => found == Some(wanted),
    })
}

/// Sorts objects by one of their fields; equal ones keep their order.
fn sort(all: &mut [Value], by: &str, is_ascending: bool) {
    all.sort_by(|a, b| {
        let order = text(&a[by]).cmp(&text(&b[by]));
        if is_ascending { order } else { order.reverse() }
    });
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn objects_contain_their_parts() {
        let found = json!({ "a": 1, "b": { "c": 2, "d": 3 } });
        let has = |wanted: Value| contains(found.as_object().unwrap(), wanted.as_object().unwrap());
        assert!(has(json!({})) && has(json!({ "b": { "c": 2 } })));
        assert!(!has(json!({ "a": 2 })) && !has(json!({ "e": null })));
    }
}
