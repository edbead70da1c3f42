//! Connections to servers: TLS, and the proxies of the environment. Knows no requests.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::Uri;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use tokio::net::TcpStream;
use tower_service::Service;

/// Time limit of a connection, its handshake included.
const CONNECT: Duration = Duration::from_secs(30);

type BoxError = Box<dyn std::error::Error + Send + Sync>;
/// A connection to a server or a proxy.
type Socket = MaybeHttpsStream<TokioIo<TcpStream>>;

/// Connector to one server, directly or through a proxy.
#[derive(Clone)]
pub(super) struct Connector {
    direct: HttpsConnector<HttpConnector>,
    tls: Arc<ClientConfig>,
    proxy: Option<Intercept>,
}

impl Connector {
    pub(super) fn new(tls: ClientConfig, proxy: Option<Intercept>) -> Self {
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
pub(super) fn proxy_for(server: &Uri) -> Result<Option<Intercept>, String> {
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
pub(super) enum Stream {
    Direct(Socket),
    /// To the server through a tunnel of the proxy.
    Tunnel(Box<MaybeHttpsStream<Socket>>),
    /// To the proxy, which forwards requests.
    Forwarded(Socket),
}

trait Both: Read + Write + Unpin {}
impl<T: Read + Write + Unpin> Both for T {}

impl Stream {
    fn inner(self: Pin<&mut Self>) -> Pin<&mut dyn Both> {
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
