//! The protocol and its socket. The socket is a file in the store's directory, for the store's owner alone. Over it goes one
//! JSON object per line: the server greets first, with the protocol's version; then each request is one line, and its reply
//! one line, or, for events, one line each and a last one. Knows limits, no content.
//!
//! ```text
//! < {"superstep":1,"pid":4711}
//! > {"version":1,"ask":"status","thread":"first"}
//! < {"ok":{"thread":"first","graph":"essay",…}}
//! > {"version":1,"ask":"follow","thread":"first"}
//! < {"event":{"kind":"start","node":"Plan","step":1}}
//! < {"ok":null}
//! > nonsense
//! < {"failed":{"error":"the request is not JSON: …","causes":[],"help":null,"code":2}}
//! ```

use std::fs::{self, File, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::time::timeout;

use crate::failure::Failure;
use crate::service::ThreadRequest;

/// The protocol's version.
pub(super) const VERSION: u32 = 1;
/// The longest request, in bytes.
pub(super) const REQUEST: usize = 1 << 20;
/// The longest reply, in bytes: a state may be large.
pub(super) const REPLY: usize = 1 << 30;
/// The time limit for writing a line.
const WRITE: Duration = Duration::from_secs(10);

/// First line of the server.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Greeting {
    pub superstep: u32,
    pub pid: u32,
}

/// A line of the client.
#[derive(Debug, Serialize)]
pub(super) struct Request<'a> {
    pub version: u32,
    #[serde(flatten)]
    pub request: &'a ThreadRequest,
}

/// A line of the server.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Reply {
    /// The last line of a reply.
    Ok(Value),
    /// The last line of a reply.
    Failed(Failure),
    /// One of several lines.
    Event(Value),
}

/// Parses a request.
pub(super) fn request(line: &[u8]) -> Result<ThreadRequest, Failure> {
    let wrong = |error: serde_json::Error| Failure::usage(format!("the request is not JSON: {error}"));
    let sent: Value = serde_json::from_slice(line).map_err(wrong)?;
    if sent["version"] != VERSION {
        let error = format!("the request has protocol version {}; this process speaks {VERSION}", sent["version"]);
        return Err(Failure::usage(error));
    }
    serde_json::from_value(sent).map_err(|error| Failure::usage(format!("the request is invalid: {error}")))
}

/// Reader of a peer's lines.
pub(super) struct LineReader<R>(BufReader<R>);

impl<R: AsyncRead + Unpin> LineReader<R> {
    pub(super) fn new(reader: R) -> Self {
        Self(BufReader::new(reader))
    }

    /// Returns the next line; none at the end. A line that is cut off is ignored.
    pub(super) async fn next(&mut self, limit: usize, within: Duration) -> io::Result<Option<Vec<u8>>> {
        timeout(within, self.read_line(limit)).await.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
    }

    async fn read_line(&mut self, limit: usize) -> io::Result<Option<Vec<u8>>> {
        let mut line = vec![];
        let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
        (&mut self.0).take(most).read_until(b'\n', &mut line).await?;
        match line.pop() {
            Some(b'\n') => Ok(Some(line)),
            Some(_) if line.len() >= limit => {
                Err(io::Error::new(io::ErrorKind::InvalidData, format!("a line is longer than {limit} bytes")))
            }
            _ => Ok(None),
        }
    }

    /// Waits until the peer is gone, or sends something out of turn.
    pub(super) async fn wait_until_gone(&mut self) {
        _ = self.0.fill_buf().await;
    }

    /// Reads a line of the server.
    pub(super) async fn read_reply<T: DeserializeOwned>(&mut self, within: Duration) -> io::Result<Option<T>> {
        let Some(line) = self.next(REPLY, within).await? else { return Ok(None) };
        Ok(Some(serde_json::from_slice(&line)?))
    }
}

/// Writes a line; fails if the peer does not take it in time.
pub(super) async fn write_line(writer: &mut (impl AsyncWrite + Unpin), line: &impl Serialize) -> io::Result<()> {
    let mut text = serde_json::to_vec(line)?;
    text.push(b'\n');
    let written = timeout(WRITE, writer.write_all(&text)).await;
    written.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
}

const NAME: &str = "control.sock";
/// Name of a socket until its permissions are set.
const NEW_SOCKET: &str = "control.new";
/// The longest socket path in bytes that every system supports.
const LONGEST: usize = 100;

/// A listening socket. Dropping it removes its file: drop it before the store's lock.
pub(super) struct Socket {
    pub listener: UnixListener,
    path: PathBuf,
}

impl Socket {
    /// Listens in the directory of a store that this process holds. An existing socket is left over from a dead
    /// process, as the store's lock shows.
    pub(super) fn listen(store: &Path) -> io::Result<Self> {
        let store = std::path::absolute(store)?; // the working directory may change
        let new = store.join(NEW_SOCKET);
        clear(&new)?;
        let listener = SocketPath::to(&store, NEW_SOCKET)?.listen()?;
        fs::set_permissions(&new, Permissions::from_mode(0o600))?;
        let path = store.join(NAME);
        fs::rename(&new, &path)?;
        Ok(Self { listener, path })
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        _ = clear(&self.path); // one that stays is replaced by the next owner
    }
}

/// Connects to the process that holds the store.
pub(super) async fn connect(store: &Path) -> io::Result<UnixStream> {
    SocketPath::to(&std::path::absolute(store)?, NAME)?.connect().await
}

/// Returns true if the peer runs as the same user, or as root: not every system checks the permissions of the file.
pub(super) fn is_ours(peer: &UnixStream) -> bool {
    let own = rustix::process::geteuid().as_raw();
    peer.peer_cred().is_ok_and(|peer| peer.uid() == own || peer.uid() == 0)
}

fn clear(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// A path that is short enough for a socket: a long one goes through an open file descriptor of its directory.
struct SocketPath {
    path: PathBuf,
    /// Open while the path is in use.
    _directory: Option<File>,
}

impl SocketPath {
    fn to(directory: &Path, name: &str) -> io::Result<Self> {
        let path = directory.join(name);
        if path.as_os_str().len() <= LONGEST {
            return Ok(Self { path, _directory: None });
        }
        let open = File::open(directory)?;
        let path = Path::new("/proc/self/fd").join(open.as_raw_fd().to_string());
        if !path.exists() {
            let error = format!("{} is too long a path for a socket", directory.display());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, error));
        }
        Ok(Self { path: path.join(name), _directory: Some(open) })
    }

    fn listen(&self) -> io::Result<UnixListener> {
        UnixListener::bind(&self.path)
    }

    async fn connect(&self) -> io::Result<UnixStream> {
        UnixStream::connect(&self.path).await
    }
}
