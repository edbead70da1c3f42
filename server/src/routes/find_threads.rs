//! Lists of threads. They are read in their order, a page at a time, so that the work grows with the answer and not with the store:
//! the places of threads have their status, records are read for their metadata, and states only for a filter on values and for the
//! threads of the page.

use std::collections::VecDeque;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use serde::Deserialize;
use serde_json::{Map, Value};
use superstep::checkpoint::Order;
use utoipa::ToSchema;

use super::extraction::{check_paths, extract_fields};
use super::query::{Page, contains, page_headers};
use super::threads::listed_json;
use crate::choices::{THREAD_STATUS, check_choice};
use crate::error::{ApiError, ApiResult};
use crate::records::order::{ThreadPlace, ThreadTime};
use crate::records::pages::Pages;
use crate::records::thread::ThreadRecord;
use crate::server::{Server, select_fields};

/// Fields of a thread.
const FIELDS: [&str; 13] = [
    "thread_id",
    "created_at",
    "updated_at",
    "state_updated_at",
    "metadata",
    "config",
    "context",
    "status",
    "values",
    "interrupts",
    "error",
    "extracted",
    "ttl",
];
/// Fields by which threads are sorted.
const SORTED_BY: [&str; 5] = ["thread_id", "status", "created_at", "updated_at", "state_updated_at"];
/// The number of records that are read at once.
const PAGE: usize = 32;

#[derive(Debug, Default, Deserialize, ToSchema)]
#[schema(as = ThreadSearch)]
pub(super) struct SearchBody {
    ids: Option<Vec<String>>,
    /// Text that the name contains; letter case does not matter.
    search: Option<String>,
    /// Values that the metadata contain.
    metadata: Option<Map<String, Value>>,
    /// Values that the state contains.
    values: Option<Map<String, Value>>,
    #[schema(schema_with = crate::choices::thread_status)]
    status: Option<String>,
    /// Names, and the paths of the parts of each thread that are returned under them as `extracted`: `values.messages[-1].content`.
    extract: Option<Map<String, Value>>,
    #[serde(flatten)]
    page: Page,
}

impl SearchBody {
    fn check(&self) -> ApiResult<()> {
        check_choice("status", self.status.as_deref(), &THREAD_STATUS)?;
        self.extract.iter().try_for_each(check_paths)?;
        self.page.check(&FIELDS, &SORTED_BY)
    }
}

pub(super) async fn search(
    State(server): State<Arc<Server>>,
    Json(body): Json<SearchBody>,
) -> ApiResult<(HeaderMap, Json<Vec<Value>>)> {
    body.check()?;
    let (offset, limit) = body.page.bounds();
    let mut threads = Threads::new(&server, &body)?;
    threads.find_foreign().await?;
    let (mut page, mut count) = (vec![], threads.skip(offset).await?);
    while page.len() < limit
        && let Some(thread) = threads.next().await?
    {
        if count < offset {
            count += 1;
        } else if let Some(shown) = shown(&server, &body, &thread).await? {
            count += 1;
            page.push(shown);
        }
    }
    let has_more = page.len() == limit && threads.next().await?.is_some();
    let headers = page_headers(count + usize::from(has_more), count);
    Ok((headers, Json(page)))
}

pub(super) async fn count(State(server): State<Arc<Server>>, Json(body): Json<SearchBody>) -> ApiResult<Json<usize>> {
    body.check()?;
    server.find_foreign().await?;
    let mut threads = Threads::new(&server, &body)?;
    let mut count = threads.skip(usize::MAX).await?;
    while threads.next().await?.is_some() {
        count += 1;
    }
    Ok(Json(count))
}

/// Returns a thread of the page; `None` if another program has deleted it, or changed it so that it is not of the list any more.
async fn shown(server: &Server, body: &SearchBody, thread: &ThreadRecord) -> ApiResult<Option<Value>> {
    let shown = match listed_json(server, thread).await {
        Err(error) if error.is_not_found() => return Ok(None),
        shown => shown?,
    };
    if body.status.as_ref().is_some_and(|status| shown["status"] != **status) {
        return Ok(None);
    }
    let extracted = body.extract.as_ref().map(|paths| extract_fields(&shown, paths)).transpose()?;
    let mut shown = select_fields(shown, body.page.select.as_deref());
    if let Some(extracted) = extracted {
        shown["extracted"] = extracted;
    }
    Ok(Some(shown))
}

/// Order of a list.
#[derive(Clone, Copy)]
enum ListOrder {
    Time(ThreadTime),
    Name,
    Status,
}

impl ListOrder {
    fn parse(name: Option<&str>) -> ApiResult<Self> {
        match name {
            None | Some("created_at") => Ok(Self::Time(ThreadTime::Created)),
            Some("updated_at") => Ok(Self::Time(ThreadTime::Updated)),
            Some("state_updated_at") => Ok(Self::Time(ThreadTime::State)),
            Some("thread_id") => Ok(Self::Name),
            Some("status") => Ok(Self::Status),
            Some(other) => Err(ApiError::invalid(format!(
                "threads cannot be sorted by `{other}`: there are thread_id, status, created_at, updated_at and state_updated_at"
            ))),
        }
    }

    /// Returns the first part of the keys of what is read: places in the order of a time, or records by their names.
    fn prefix(self) -> &'static str {
        match self {
            Self::Time(time) => time.prefix(),
            Self::Status => ThreadTime::Created.prefix(),
            Self::Name => "",
        }
    }
}

/// The threads of a list, one after another: places are read first, then records of those that are wanted.
struct Threads<'a> {
    server: &'a Server,
    body: &'a SearchBody,
    /// Text that names contain, in lower case.
    search: Option<String>,
    order: ListOrder,
    direction: Order,
    pages: Pages,
    /// Keys of records that were not read.
    keys: VecDeque<String>,
    /// Records that were not looked at.
    read: VecDeque<ThreadRecord>,
}

impl<'a> Threads<'a> {
    fn new(server: &'a Server, body: &'a SearchBody) -> ApiResult<Self> {
        let is_ascending = body.page.sort_order.as_deref() == Some("asc");
        let direction = if is_ascending { Order::Ascending } else { Order::Descending };
        let order = ListOrder::parse(body.page.sort_by.as_deref())?;
        let pages = Pages::new(order.prefix(), direction);
        let search = body.search.as_ref().map(|text| text.to_lowercase());
        Ok(Self { server, body, search, order, direction, pages, keys: VecDeque::new(), read: VecDeque::new() })
    }

    /// Finds the threads of other programs that the list may have.
    async fn find_foreign(&self) -> ApiResult<()> {
        match self.is_newest_first() {
            true => self.server.find_newest_foreign().await,
            false => self.server.find_foreign().await,
        }
    }

    /// Returns whether the list has the order in which threads of other programs are found.
    fn is_newest_first(&self) -> bool {
        let is_by_creation = matches!(self.order, ListOrder::Time(ThreadTime::Created));
        is_by_creation && self.direction == Order::Descending && self.body.ids.is_none()
    }

    /// Returns the next thread that meets all conditions.
    async fn next(&mut self) -> ApiResult<Option<ThreadRecord>> {
        loop {
            while let Some(thread) = self.read.pop_front() {
                if self.fits(&thread).await? {
                    return Ok(Some(thread));
                }
            }
            if self.keys.is_empty() && self.pages.is_over {
                return Ok(None);
            }
            self.read_more().await?;
        }
    }

    /// Leaves out threads at the start of the list without their records; returns how many. None if a condition needs records.
    async fn skip(&mut self, count: usize) -> ApiResult<usize> {
        let mut skipped = 0;
        while skipped < count && self.is_of_places() {
            if self.keys.is_empty() && self.pages.is_over {
                break;
            }
            match self.keys.is_empty() {
                true => self.read_keys().await?,
                false => skipped += self.keys.drain(..self.keys.len().min(count - skipped)).len(),
            }
        }
        Ok(skipped)
    }

    /// Returns whether places alone decide which threads the list has.
    fn is_of_places(&self) -> bool {
        let SearchBody { ids, metadata, values, .. } = self.body;
        ids.is_none() && metadata.is_none() && values.is_none() && !matches!(self.order, ListOrder::Name)
    }

    async fn fits(&self, thread: &ThreadRecord) -> ApiResult<bool> {
        let body = self.body;
        let is_listed = !thread.is_temporary
            && self.is_named(&thread.thread)
            && body.status.as_ref().is_none_or(|status| thread.status() == status)
            && body.metadata.as_ref().is_none_or(|wanted| contains(&thread.metadata, wanted));
        match &body.values {
            Some(wanted) if is_listed => {
                match self.server.values(&thread.thread).await {
                    Err(error) if error.is_internal() => Ok(false), // they cannot be read
                    values => Ok(values?.as_object().is_some_and(|values| contains(values, wanted))),
                }
            }
            _ => Ok(is_listed),
        }
    }

    /// Returns whether a name contains the text that is searched for.
    fn is_named(&self, name: &str) -> bool {
        self.search.as_ref().is_none_or(|text| name.to_lowercase().contains(text))
    }

    async fn read_more(&mut self) -> ApiResult<()> {
        if let Some(ids) = &self.body.ids {
            self.read = self.read_ids(ids).await?;
        } else if matches!(self.order, ListOrder::Name) {
            self.read = self.pages.next(&self.server.records).await?.into();
        } else if self.keys.is_empty() {
            self.read_keys().await?;
        } else {
            let keys = self.keys.drain(..self.keys.len().min(PAGE)).collect();
            self.read = self.records(keys).await?;
        }
        Ok(())
    }

    async fn read_keys(&mut self) -> ApiResult<()> {
        let places = match self.order {
            ListOrder::Status => self.all_by_status().await?,
            ListOrder::Time(_) | ListOrder::Name => self.next_places().await?,
        };
        self.keys = places.into_iter().map(|place| place.thread).collect();
        Ok(())
    }

    /// Returns those of the next places that fit.
    async fn next_places(&mut self) -> ApiResult<Vec<ThreadPlace>> {
        self.server.make_orders().await?;
        let mut places = loop {
            let (reached, mut pages) = (self.server.foreign.reached(), self.pages.clone());
            let places = pages.next::<ThreadPlace>(&self.server.records).await?;
            let oldest = places.last().filter(|_| !pages.is_over).map_or(0, |last| last.at);
            if !self.is_newest_first() || reached <= oldest {
                self.pages = pages;
                break places;
            }
            self.server.wait_for_foreign(oldest).await?; // which may have threads that come before these
        };
        let status = self.body.status.as_ref();
        places.retain(|place| status.is_none_or(|status| place.status == *status) && self.is_named(&place.name()));
        Ok(places)
    }

    /// Returns all places, sorted by their status: within one, the order is that of their creation.
    async fn all_by_status(&mut self) -> ApiResult<Vec<ThreadPlace>> {
        let mut places = vec![];
        while !self.pages.is_over {
            places.extend(self.next_places().await?);
        }
        places.sort_by(|a, b| match self.direction {
            Order::Ascending => a.status.cmp(&b.status),
            Order::Descending => b.status.cmp(&a.status),
        });
        Ok(places)
    }

    async fn read_ids(&mut self, ids: &[String]) -> ApiResult<VecDeque<ThreadRecord>> {
        self.pages.is_over = true;
        let mut threads: Vec<_> = self.records(ids.iter().map(|id| ThreadRecord::key_of(id)).collect()).await?.into();
        threads.dedup_by(|a, b| a.thread == b.thread);
        let order = self.order;
        threads.sort_by(|a, b| match order {
            ListOrder::Time(time) => time.of(a).cmp(&time.of(b)),
            ListOrder::Name => a.thread.cmp(&b.thread),
            ListOrder::Status => a.status().cmp(b.status()),
        });
        if self.direction == Order::Descending {
            threads.reverse();
        }
        Ok(threads.into())
    }

    async fn records(&self, keys: Vec<String>) -> ApiResult<VecDeque<ThreadRecord>> {
        let found = self.server.records.get_all::<ThreadRecord>(keys).await?;
        Ok(found.into_iter().map(|thread| thread.record).collect())
    }
}
