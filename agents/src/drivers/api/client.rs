//! A client of one server: posts bodies, follows redirects at home. Knows no models.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::{AUTHORIZATION, HeaderMap, HeaderValue, LOCATION, PROXY_AUTHORIZATION, USER_AGENT};
use hyper::{Method, Request, StatusCode, Uri};
use hyper_util::client::legacy::Client as Pool;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use url::Url;

use super::connect::{Connector, proxy_for};
use super::tls;

/// Most redirects that are followed.
const MAX_REDIRECTS: usize = 3;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Client of one server.
#[derive(Clone, Debug)]
pub(super) struct Client {
    pool: Pool<Connector, Full<Bytes>>,
    url: Url,
    headers: HeaderMap,
}

impl Client {
    /// Returns a client that posts to `url` with `headers`. A user and password in the URL are sent as well, if
    /// `headers` have no other authorization.
    pub(super) fn new(url: &Url, mut headers: HeaderMap) -> Result<Self, String> {
        let server = uri(url)?;
        // Servers on this machine are not behind a proxy.
        let proxy = if is_local(url) { None } else { proxy_for(&server)? };
        headers.insert(USER_AGENT, HeaderValue::from_static(concat!("superstep/", env!("CARGO_PKG_VERSION"))));
        if let Some(user) = user_of(url)
            && !headers.contains_key(AUTHORIZATION)
        {
            headers.insert(AUTHORIZATION, user);
        }
        let is_https = url.scheme() == "https";
        if let Some(user) = proxy.as_ref().filter(|_| !is_https).and_then(|proxy| proxy.basic_auth()) {
            headers.insert(PROXY_AUTHORIZATION, user.clone());
        }
        let tls = tls::config(is_https).map_err(|error| error.to_string())?;
        let pool = Pool::builder(TokioExecutor::new()).pool_timer(TokioTimer::new()).build(Connector::new(tls, proxy));
        Ok(Self { pool, url: url.clone(), headers })
    }

    /// Posts a body. Follows only redirects that repeat the request at the same origin; others are the response.
    pub(super) async fn post(&self, body: impl Into<Bytes>) -> Result<Response, BoxError> {
        let body = body.into();
        let mut url = self.url.clone();
        let mut response = self.send(&url, body.clone()).await?;
        for _ in 0..MAX_REDIRECTS {
            let Some(next) = redirect(&url, &response) else { break };
            url = next;
            response = self.send(&url, body.clone()).await?;
        }
        Ok(response)
    }

    async fn send(&self, url: &Url, body: Bytes) -> Result<Response, BoxError> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = uri(url)?;
        *request.headers_mut() = self.headers.clone();
        Ok(Response(self.pool.request(request).await?))
    }
}

/// Response whose body is read piece by piece.
pub(super) struct Response(hyper::Response<Incoming>);

impl Response {
    pub(super) fn status(&self) -> StatusCode {
        self.0.status()
    }

    pub(super) fn headers(&self) -> &HeaderMap {
        self.0.headers()
    }

    /// Returns the next bytes of the body; `None` at its end.
    pub(super) async fn chunk(&mut self) -> Result<Option<Bytes>, BoxError> {
        while let Some(frame) = self.0.body_mut().frame().await {
            if let Ok(bytes) = frame?.into_data() {
                return Ok(Some(bytes));
            }
        }
        Ok(None)
    }
}

/// Formats an error with its causes.
pub(super) fn causes(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(source) = cause {
        text.push_str(&format!(": {source}"));
        cause = source.source();
    }
    text
}

/// Returns where a response leads, if the request may be repeated there.
fn redirect(from: &Url, response: &Response) -> Option<Url> {
    let repeats = [StatusCode::TEMPORARY_REDIRECT, StatusCode::PERMANENT_REDIRECT].contains(&response.status());
    let to = from.join(response.headers().get(LOCATION)?.to_str().ok()?).ok()?;
    (repeats && to.origin() == from.origin()).then_some(to)
}

/// Returns what a request names: without user, password and fragment.
fn uri(url: &Url) -> Result<Uri, String> {
    let mut plain = url.clone();
    let _ = plain.set_username("");
    let _ = plain.set_password(None);
    plain.set_fragment(None);
    plain.as_str().parse().map_err(|error| format!("no request can name its address ({error})"))
}

fn user_of(url: &Url) -> Option<HeaderValue> {
    if url.username().is_empty() && url.password().is_none() {
        return None;
    }
    let [user, password] = [url.username(), url.password().unwrap_or_default()]
        .map(|part| percent_encoding::percent_decode_str(part).collect::<Vec<u8>>());
    let pair = [user, password].join(&b':');
    let mut value = HeaderValue::from_str(&format!("Basic {}", BASE64_STANDARD.encode(pair))).ok()?;
    value.set_sensitive(true);
    Some(value)
}

fn is_local(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}
