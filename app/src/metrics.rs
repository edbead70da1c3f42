//! `runner --metrics`: HTTP for one page, `GET /metrics`. Requests are small, few at a time and end soon; a connection is closed after its answer. Must not
//! know what the numbers mean.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use superstep_metrics::{CONTENT_TYPE, RunMetrics};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// The maximum number of connections.
const CONNECTIONS: usize = 16;
/// The time limit of a request and its answer.
const TIME: Duration = Duration::from_secs(5);
/// The maximum number of bytes before the body of a request.
const HEAD: usize = 8 << 10;

/// Listens at an address until the returned task is dropped; returns the address as it is.
pub(crate) async fn serve(address: &str, metrics: Arc<RunMetrics>) -> io::Result<(SocketAddr, JoinSet<()>)> {
    let listener = TcpListener::bind(address).await?;
    let (address, mut task) = (listener.local_addr()?, JoinSet::new());
    task.spawn(accept(listener, metrics));
    Ok((address, task))
}

async fn accept(listener: TcpListener, metrics: Arc<RunMetrics>) {
    let mut open = JoinSet::new();
    loop {
        tokio::select! {
            Some(_) = open.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((peer, _)) if open.len() >= CONNECTIONS => drop(peer), // it tries again
                Ok((peer, _)) => {
                    let metrics = Arc::clone(&metrics);
                    open.spawn(async move { _ = timeout(TIME, answer(peer, &metrics)).await });
                }
                Err(_) => sleep(Duration::from_millis(50)).await, // too many open files: some will be closed
            },
        }
    }
}

async fn answer(mut peer: TcpStream, metrics: &RunMetrics) -> io::Result<()> {
    let Some(request) = read_request_line(&mut peer).await? else { return Ok(()) };
    let mut words = request.split(' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let path = path.split('?').next().unwrap_or_default();
    let (status, kind, body) = match (method, path) {
        ("GET" | "HEAD", "/metrics") => ("200 OK", CONTENT_TYPE, metrics.page().text().to_owned()),
        ("GET" | "HEAD", _) => ("404 Not Found", "text/plain", "the numbers are at /metrics\n".into()),
        _ => ("405 Method Not Allowed", "text/plain", "only GET\n".into()),
    };
    let length = body.len();
    let head =
        format!("HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n");
    peer.write_all(head.as_bytes()).await?;
    if method != "HEAD" {
        peer.write_all(body.as_bytes()).await?;
    }
    peer.shutdown().await
}

/// Reads a request up to its body, and returns its first line; none if it ends early or is too long.
async fn read_request_line(peer: &mut TcpStream) -> io::Result<Option<String>> {
    let (mut head, mut piece) = (vec![], [0; 1024]);
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let read = peer.read(&mut piece).await?;
        if read == 0 || head.len() + read > HEAD {
            return Ok(None);
        }
        head.extend_from_slice(&piece[..read]);
    }
    let line = head.split(|byte| *byte == b'\r').next().unwrap_or_default();
    Ok(Some(String::from_utf8_lossy(line).into_owned()))
}
