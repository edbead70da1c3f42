//! Connections from Restate, until the worker stops: then each tells Restate that it takes no more calls, and ends with its last
//! one. Must not know what is called.

use hyper::server::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use restate_sdk::endpoint::Endpoint;
use restate_sdk::hyper::HyperEndpoint;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

/// The time in which connections end once no call is left.
const FAREWELL: Duration = Duration::from_secs(2);

/// Serves an endpoint until `stop`; then current calls go on until `ended` is cancelled.
pub(crate) async fn serve(
    listener: TcpListener,
    endpoint: Endpoint,
    stop: CancellationToken,
    ended: CancellationToken,
) {
    let endpoint = HyperEndpoint::new(endpoint);
    let mut open = JoinSet::new();
    loop {
        tokio::select! {
            () = stop.cancelled() => break,
            Some(_) = open.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => _ = open.spawn(attend(stream, endpoint.clone(), stop.clone())),
                Err(_) => sleep(Duration::from_millis(50)).await, // too many open files: some will be closed
            },
        }
    }
    drop(listener);
    ended.cancelled().await;
    let all = async { while open.join_next().await.is_some() {} };
    if timeout(FAREWELL, all).await.is_err() {
        open.shutdown().await;
    }
}

/// Serves one connection.
async fn attend(stream: TcpStream, endpoint: HyperEndpoint, stop: CancellationToken) {
    _ = stream.set_nodelay(true);
    let connection = http2::Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(stream), endpoint);
    tokio::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection from Restate ended");
    }
}
