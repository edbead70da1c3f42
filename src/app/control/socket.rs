//! The socket: a file in the store's directory, for the store's owner alone. Knows paths and permissions; must not know
//! the protocol.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tokio::net::{UnixListener, UnixStream};

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
