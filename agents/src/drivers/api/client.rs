//! A client of one server: posts bodies, follows redirects at home, connects with TLS and through the proxies of the
//! environment. Knows no models.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use async_recursion::async_recursion as boxed;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION, PROXY_AUTHORIZATION, USER_AGENT};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper::{Method, Request, StatusCode, Uri};
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::client::legacy::Client as Pool;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use rustls::ClientConfig;
use tokio::net::TcpStream;
use tower_service::Service;
use url::Url;

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

/// Time limit of a connection, its handshake included.
const CONNECT: Duration = Duration::from_secs(30);

/// A connection to a server or a proxy.
type Socket = MaybeHttpsStream<TokioIo<TcpStream>>;

/// Connector to one server, directly or through a proxy.
#[derive(Clone)]
struct Connector {
    direct: HttpsConnector<HttpConnector>,
    tls: Arc<ClientConfig>,
    proxy: Option<Intercept>,
}

impl Connector {
    fn new(tls: ClientConfig, proxy: Option<Intercept>) -> Self {
        let tls = Arc::new(tls);
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        Self { direct: HttpsConnector::from((tcp, tls.clone())), tls, proxy }
    }
}

/// Returns the proxy that the environment names for a server: `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`, `NO_PROXY`.
///
/// # Errors
///
/// The proxy is no HTTP proxy.
fn proxy_for(server: &Uri) -> Result<Option<Intercept>, String> {
    let proxy = Matcher::from_env().intercept(server);
    match proxy.as_ref().and_then(|proxy| proxy.uri().scheme_str()) {
        None | Some("http" | "https") => Ok(proxy),
        Some(scheme) => {
            Err(format!("the proxy of the environment is a `{scheme}` proxy; only HTTP proxies are supported"))
        }
    }
}

impl Service<Uri> for Connector {
    type Response = Stream;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Stream, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, server: Uri) -> Self::Future {
        let connecting = connect(self.clone(), server);
        Box::pin(async move {
            tokio::time::timeout(CONNECT, connecting)
                .await
                .unwrap_or_else(|_| Err(format!("no connection within {CONNECT:?}").into()))
        })
    }
}

async fn connect(mut connector: Connector, server: Uri) -> Result<Stream, BoxError> {
    match connector.proxy {
        None => Ok(Stream::Direct(connector.direct.call(server).await?)),
        Some(proxy) if server.scheme_str() == Some("https") => {
            let tunnel = Tunnel::new(proxy.uri().clone(), connector.direct);
            let tunnel = match proxy.basic_auth() {
                Some(user) => tunnel.with_auth(user.clone()),
                None => tunnel,
            };
            let stream = HttpsConnector::from((tunnel, connector.tls)).call(server).await?;
            Ok(Stream::Tunnel(Box::new(stream)))
        }
        Some(proxy) => Ok(Stream::Forwarded(connector.direct.call(proxy.uri().clone()).await?)),
    }
}

/// A connection on which requests are sent.
enum Stream {
    Direct(Socket),
    /// To the server through a tunnel of the proxy.
    Tunnel(Box<MaybeHttpsStream<Socket>>),
    /// To the proxy, which forwards requests.
    Forwarded(Socket),
}

trait ReadWrite: Read + Write + Unpin {}
impl<T: Read + Write + Unpin> ReadWrite for T {}

impl Stream {
    fn inner(self: Pin<&mut Self>) -> Pin<&mut dyn ReadWrite> {
        match self.get_mut() {
            Self::Direct(socket) | Self::Forwarded(socket) => Pin::new(socket),
            Self::Tunnel(stream) => Pin::new(&mut **stream),
        }
    }
}

impl Connection for Stream {
    fn connected(&self) -> Connected {
        match self {
            Self::Direct(socket) => socket.connected(),
            Self::Forwarded(socket) => socket.connected().proxy(true),
            Self::Tunnel(stream) => stream.connected(),
        }
    }
}

impl Read for Stream {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        self.inner().poll_read(context, buffer)
    }
}

impl Write for Stream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.inner().poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.inner().poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.inner().poll_shutdown(context)
    }
}

/// Timeout of a request.
const PATIENCE: Duration = Duration::from_secs(30);

/// Posts JSON; the error contains the reason without the address, which may hold a secret.
#[boxed]
pub async fn post(url: &str, json: String) -> Result<(), String> {
    let url = Url::parse(url).map_err(|error| error.to_string())?;
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let client = Client::new(&url, headers)?;
    let sent = tokio::time::timeout(PATIENCE, client.post(json)).await;
    let sent = sent.map_err(|_| format!("no answer within {PATIENCE:?}"))?;
    let answer = sent.map_err(|error| causes(&*error))?;
    if answer.status().is_success() { Ok(()) } else { Err(format!("the server answered {}", answer.status())) }
}
