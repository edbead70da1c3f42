//! Connections: accepted up to a limit, and closed if a head does not arrive in time. Must not know routes.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::ConnectInfo;
use axum::http::{Request, StatusCode, header};
use axum::response::IntoResponse;
use hyper::body::Incoming;
use hyper::server::conn::http1::Builder;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use superstep::graph::CancellationToken;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::sleep;
use tower_service::Service;

use super::limits::Limits;
use crate::error::ApiError;

/// The smallest buffer for a head that the protocol's implementation takes, in bytes.
const SMALLEST: usize = 8 << 10;
/// The most headers of a request.
const HEADERS: usize = 100;
/// The pause after the system has refused to accept a connection, as when no more files can be opened.
const PAUSE: Duration = Duration::from_secs(1);
/// The number of connections above the limit that are answered, and the time for it; others are closed at once.
const TURNED_AWAY: usize = 64;
const TURN_AWAY: Duration = Duration::from_secs(1);

/// The answers of a server to the connections of a listener.
pub(crate) struct Connections {
    router: Router,
    limits: Limits,
    closing: CancellationToken,
    open: Arc<Semaphore>,
    turned_away: Arc<Semaphore>,
}

impl Connections {
    pub(crate) fn new(router: Router, limits: Limits, closing: CancellationToken) -> Self {
        let open = Arc::new(Semaphore::new(limits.connections.clamp(1, u32::MAX as usize >> 3)));
        Self { router, limits, closing, open, turned_away: Arc::new(Semaphore::new(TURNED_AWAY)) }
    }

    /// Serves connections until the server closes, and then waits until those that are open have ended.
    pub(crate) async fn serve(self, listener: TcpListener) -> io::Result<()> {
        let most = self.open.available_permits();
        loop {
            let accepted = tokio::select! {
                biased;
                () = self.closing.cancelled() => break,
                accepted = listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, address)) => self.accept(stream, address),
                Err(error) if is_of_connection(&error) => {}
                Err(error) => {
                    tracing::error!(%error, "a connection was not accepted");
                    sleep(PAUSE).await;
                }
            }
        }
        drop(listener);
        let all = u32::try_from(most).unwrap_or(u32::MAX);
        _ = self.open.acquire_many(all).await;
        Ok(())
    }

    fn accept(&self, stream: TcpStream, address: SocketAddr) {
        _ = stream.set_nodelay(true); // events are small
        let builder = self.builder();
        if let Ok(permit) = Arc::clone(&self.open).try_acquire_owned() {
            let connection = Connection { stream, address, permit };
            tokio::spawn(connection.serve(builder, self.router.clone(), self.closing.clone()));
        } else if let Ok(permit) = Arc::clone(&self.turned_away).try_acquire_owned() {
            tokio::spawn(turn_away(stream, builder, permit));
        }
    }

    fn builder(&self) -> Builder {
        let mut builder = Builder::new();
        builder.timer(TokioTimer::new()).header_read_timeout(self.limits.headers_time);
        builder.max_buf_size(self.limits.headers.max(SMALLEST)).max_headers(HEADERS);
        builder
    }
}

/// An open connection.
struct Connection {
    stream: TcpStream,
    address: SocketAddr,
    /// Given back when the connection ends.
    permit: OwnedSemaphorePermit,
}

impl Connection {
    /// Answers the requests of a connection. When the server closes, the one that is being answered is the last.
    async fn serve(self, builder: Builder, router: Router, closing: CancellationToken) {
        let Self { stream, address, permit: _permit } = self;
        let service = service_fn(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(ConnectInfo(address));
            router.clone().call(request)
        });
        let connection = builder.serve_connection(TokioIo::new(stream), service).with_upgrades();
        tokio::pin!(connection);
        let ended = tokio::select! {
            ended = connection.as_mut() => ended,
            () = closing.cancelled() => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = ended {
            tracing::debug!(%error, "a connection has ended early");
        }
    }
}

/// Answers one request of a connection above the limit.
async fn turn_away(stream: TcpStream, mut builder: Builder, _permit: OwnedSemaphorePermit) {
    builder.keep_alive(false).header_read_timeout(TURN_AWAY);
    let service = service_fn(async |_: Request<Incoming>| {
        let detail = "as many connections are open as this server accepts: try again later";
        let error = ApiError::new(StatusCode::SERVICE_UNAVAILABLE, detail);
        Ok::<_, io::Error>(([(header::RETRY_AFTER, "1")], error).into_response())
    });
    _ = builder.serve_connection(TokioIo::new(stream), service).await;
}

/// Returns whether an error is one of the connection that was to be accepted, and not of the listener.
fn is_of_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}
