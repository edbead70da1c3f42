//! A proxy between the processes and the server, which cuts connections after a drawn number of bytes, in whichever direction they
//! go: in the middle of a statement, and between a commit and its answer.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use crate::rng::Rng;

pub(crate) struct Proxy {
    port: u16,
    cuts: Arc<Cuts>,
}

/// What is cut when.
struct Cuts {
    rng: Mutex<Rng>,
    is_on: AtomicBool,
    made: AtomicU64,
}

/// A connection, from both sides.
struct Link {
    client: TcpStream,
    server: UnixStream,
    /// The number of bytes until the cut.
    left: AtomicI64,
    cuts: Arc<Cuts>,
}

impl Proxy {
    /// Starts a proxy to the socket of a server. It ends with the process.
    pub(crate) fn start(socket: &Path, seed: u64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let cuts =
            Arc::new(Cuts { rng: Mutex::new(Rng::new(seed)), is_on: AtomicBool::new(true), made: AtomicU64::new(0) });
        let (shared, socket) = (Arc::clone(&cuts), socket.to_owned());
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                Link::open(client, &socket, &shared);
            }
        });
        Self { port, cuts }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Returns the number of connections that were cut.
    pub(crate) fn cuts(&self) -> u64 {
        self.cuts.made.load(Ordering::SeqCst)
    }

    /// Cuts no more connections.
    pub(crate) fn calm(&self) {
        self.cuts.is_on.store(false, Ordering::SeqCst);
    }
}

impl Link {
    fn open(client: TcpStream, socket: &PathBuf, cuts: &Arc<Cuts>) {
        // A server that is not there refuses; the client then sees an end.
        let Ok(server) = UnixStream::connect(socket) else { return };
        client.set_nodelay(true).unwrap();
        let mut rng = cuts.rng.lock().unwrap();
        let left = AtomicI64::new(1 << (9 + rng.below(10)) | rng.below(512) as i64);
        drop(rng);
        let link = Arc::new(Self { client, server, left, cuts: Arc::clone(cuts) });
        let back = Arc::clone(&link);
        std::thread::spawn(move || link.pass(&link.client, &link.server));
        std::thread::spawn(move || back.pass(&back.server, &back.client));
    }

    /// Passes bytes on until an end or the cut.
    fn pass(&self, mut from: impl Read, mut to: impl Write) {
        let mut bytes = [0; 2048];
        loop {
            let count = match from.read(&mut bytes) {
                Ok(0) | Err(_) => break,
                Ok(count) => count,
            };
            let left = self.left.fetch_sub(count as i64, Ordering::SeqCst);
            let is_cut = left <= count as i64 && self.cuts.is_on.load(Ordering::SeqCst);
            let passed = if is_cut { left.max(0) as usize } else { count };
            let is_gone = to.write_all(&bytes[..passed]).is_err();
            if is_cut && left > 0 {
                self.cuts.made.fetch_add(1, Ordering::SeqCst);
            }
            if is_cut || is_gone {
                break;
            }
        }
        _ = self.client.shutdown(Shutdown::Both);
        _ = self.server.shutdown(Shutdown::Both);
    }
}
