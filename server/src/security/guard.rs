//! The check that all requests pass before their handler: where they come from, whose they are, how many, and how large. Must not know
//! handlers.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::body::{Body, HttpBody};
use axum::extract::{ConnectInfo, FromRequestParts, MatchedPath, NestedPath, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::Response;
use futures::StreamExt;
use futures::future::ready;
use tokio::sync::OwnedSemaphorePermit;
use tracing::Span;

use super::access::{Access, access};
use super::answers::is_answer;
use super::body;
use super::keys::Keys;
use super::limits::{Limits, RequestCounts, Sender};
use super::origins::Origins;
use super::roles::{Caller, KeyRole};
use crate::error::{ApiError, ApiResult};

/// The header with a key, beside `authorization`.
const KEY: HeaderName = HeaderName::from_static("x-api-key");
/// The refusal of a sender that sends faster than the server accepts.
const TOO_MANY: &str = "too many requests: try again later";
/// The seconds after which a client may try again, where nothing better is known.
const RETRY_AFTER: HeaderValue = HeaderValue::from_static("1");

/// The checks of a server.
pub(crate) struct Guard {
    pub(super) origins: Origins,
    keys: Option<Keys>,
    limits: Limits,
    counts: RequestCounts,
}

impl Guard {
    pub(super) fn new(keys: Option<Keys>, origins: Origins, limits: Limits) -> Self {
        Self { origins, keys, limits, counts: RequestCounts::new(&limits) }
    }
}

/// Checks a request, and passes it on with its [`Caller`] in its extensions.
pub(crate) async fn check(State(guard): State<Arc<Guard>>, request: Request, next: Next) -> Result<Response, Refusal> {
    let (mut parts, body) = request.into_parts();
    let key = take_key(&mut parts.headers);
    let admission = guard.admit(&mut parts, key).await?;
    let body = body::read(body, &guard.limits).await?;
    if let Some(refusal) = admission.unless_it_answers.filter(|_| !is_answer(&body)) {
        return Err(refusal.into());
    }
    let response = next.run(Request::from_parts(parts, Body::from(body))).await;
    Ok(match admission.lasting {
        Some(lasting) => lasting.hold(response),
        None => response,
    })
}

/// A request that may come in.
struct Admission {
    /// The refusal of a request that does more than to answer a question.
    unless_it_answers: Option<ApiError>,
    /// Set if its answer lasts as long as a run.
    lasting: Option<LastingRequest>,
}

/// A request whose answer lasts, in its extensions: it has one of the server's streams until all copies of this are dropped.
#[derive(Clone)]
pub(crate) struct LastingRequest {
    guard: Arc<Guard>,
    key: Option<String>,
    /// Counts what comes later as further requests of it.
    sender: Option<Sender>,
    _stream: Arc<OwnedSemaphorePermit>,
}

impl LastingRequest {
    /// Returns whether its key is accepted still.
    pub(crate) fn is_accepted(&self) -> bool {
        let Some(keys) = &self.guard.keys else { return true };
        self.key.as_deref().is_some_and(|key| keys.find(key).is_ok_and(|found| found.is_some()))
    }

    /// Counts a message of the client as a request.
    ///
    /// # Errors
    /// 429 if it has sent too many.
    pub(crate) fn count(&self) -> ApiResult<()> {
        let counted = self.sender.iter().try_for_each(|sender| self.guard.counts.count(sender));
        counted.map_err(|_| ApiError::new(StatusCode::TOO_MANY_REQUESTS, TOO_MANY))
    }

    /// Returns an answer that ends when the key is revoked.
    fn hold(self, response: Response) -> Response {
        match response.body().size_hint().exact() {
            Some(_) => response,
            None => response
                .map(|body| Body::from_stream(body.into_data_stream().take_while(move |_| ready(self.is_accepted())))),
        }
    }
}

impl Guard {
    /// Checks the head of a request.
    async fn admit(self: &Arc<Self>, parts: &mut Parts, key: Option<String>) -> Result<Admission, Refusal> {
        self.origins.check(&parts.method, host_of(&parts.headers, &parts.uri), &parts.headers)?;
        let access = access_of(parts).await;
        let caller = match access.needs {
            None => Ok(None),
            Some(_) => self.caller(parts, key.as_deref()),
        };
        let sender = sender(parts, caller.as_ref().ok().and_then(Option::as_ref));
        self.count(sender.as_ref())?;
        let caller = caller?;
        caller.iter().for_each(|caller| _ = Span::current().record("key", &*caller.name));
        let unless_it_answers = check_role(access, caller.as_ref(), parts)?;
        let lasting = if access.is_stream { Some(self.last(key, sender)?) } else { None };
        caller.into_iter().for_each(|caller| _ = parts.extensions.insert(caller));
        lasting.iter().for_each(|lasting| _ = parts.extensions.insert(lasting.clone()));
        Ok(Admission { unless_it_answers, lasting })
    }

    /// Returns one of the server's streams.
    fn last(self: &Arc<Self>, key: Option<String>, sender: Option<Sender>) -> ApiResult<LastingRequest> {
        Ok(LastingRequest { guard: Arc::clone(self), key, sender, _stream: Arc::new(self.counts.stream()?) })
    }

    /// Returns the caller of a request; `None` if everyone may do everything.
    fn caller(&self, parts: &Parts, key: Option<&str>) -> ApiResult<Option<Caller>> {
        let Some(keys) = &self.keys else { return Ok(parts.extensions.get::<Caller>().cloned()) };
        let refused = |detail| ApiError::new(StatusCode::UNAUTHORIZED, detail);
        let key = key.ok_or_else(|| refused("a key is needed: send it as `x-api-key` or `authorization: Bearer`"))?;
        let found = keys.find(key).map_err(|error| {
            tracing::error!(%error, "no request is accepted: the keys cannot be read");
            ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "the keys of the server cannot be read")
        });
        found?.map(Some).ok_or_else(|| refused("the key is unknown, or it was revoked"))
    }

    fn count(&self, sender: Option<&Sender>) -> Result<(), Refusal> {
        sender.into_iter().try_for_each(|sender| self.counts.count(sender)).map_err(|wait| Refusal {
            error: ApiError::new(StatusCode::TOO_MANY_REQUESTS, TOO_MANY),
            retry_after: Some(wait.as_secs() + 1),
        })
    }
}

/// Returns the sender for which a request is counted: its key, or its address if that is known.
fn sender(parts: &Parts, caller: Option<&Caller>) -> Option<Sender> {
    let address = || parts.extensions.get::<ConnectInfo<SocketAddr>>().map(|address| Sender::at(address.0.ip()));
    caller.map(|caller| Sender::Key(caller.name.clone())).or_else(address)
}

/// Refuses a caller whose role is too low. Returns the refusal for later if the request may be one that only answers.
fn check_role(access: Access, caller: Option<&Caller>, parts: &Parts) -> ApiResult<Option<ApiError>> {
    let (Some(needed), Some(caller)) = (access.needs, caller) else { return Ok(None) };
    if caller.role >= needed {
        return Ok(None);
    }
    let (method, path) = (&parts.method, parts.uri.path());
    let what = if access.may_answer { ", or the role answer if it only answers a question" } else { "" };
    let name = caller.name.escape_debug();
    let detail =
        format!("{method} {path} needs the role {needed}{what}; the key `{name}` has the role {}", caller.role);
    let refusal = ApiError::new(StatusCode::FORBIDDEN, detail);
    match access.may_answer && caller.role >= KeyRole::Answer {
        true => Ok(Some(refusal)),
        false => Err(refusal),
    }
}

/// Returns the access to the route of a request, wherever the router is mounted. A path without a route shows nothing but that.
async fn access_of(parts: &mut Parts) -> Access {
    let Some(pattern) = parts.extensions.get::<MatchedPath>().cloned() else {
        return Access { needs: Some(KeyRole::Read), is_stream: false, may_answer: false };
    };
    let mounted = NestedPath::from_request_parts(parts, &()).await.ok();
    let mount = mounted.as_ref().map_or("", |mounted| mounted.as_str().trim_end_matches('/'));
    let own = pattern.as_str().strip_prefix(mount).unwrap_or_default();
    access(&parts.method, if own.is_empty() { "/" } else { own })
}

/// Takes the key out of the headers: nothing that comes later logs or stores it.
fn take_key(headers: &mut HeaderMap) -> Option<String> {
    let (own, bearer) = (headers.remove(KEY), headers.remove(header::AUTHORIZATION));
    let own = own.and_then(|value| value.to_str().ok().map(str::to_owned));
    own.or_else(|| {
        let bearer = bearer?;
        let (scheme, key) = bearer.to_str().ok()?.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| key.trim().to_owned())
    })
}

/// Returns the host that a request names.
pub(super) fn host_of<'a>(headers: &'a HeaderMap, uri: &'a Uri) -> Option<&'a str> {
    let header = headers.get(header::HOST).map(|host| host.to_str().unwrap_or_default());
    header.or_else(|| uri.authority().map(axum::http::uri::Authority::as_str))
}

/// The answer to a request that is refused.
pub(crate) struct Refusal {
    error: ApiError,
    /// In seconds.
    retry_after: Option<u64>,
}

impl From<ApiError> for Refusal {
    fn from(error: ApiError) -> Self {
        Self { error, retry_after: None }
    }
}

impl axum::response::IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let mut response = self.error.into_response();
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
        }
        response
    }
}

/// Adds the headers that go with a status, whoever has answered with it.
pub(crate) async fn with_headers(mut response: Response) -> Response {
    let (status, headers) = (response.status(), response.headers_mut());
    match status {
        StatusCode::UNAUTHORIZED => _ = headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer")),
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
            headers.entry(header::RETRY_AFTER).or_insert(RETRY_AFTER);
        }
        _ => {}
    }
    response
}
