//! The end of an output: the last bytes of a stream, however long it is.

use std::io;
use std::process::ExitStatus;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncRead, AsyncReadExt};

/// What a program came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// Its exit code; none if a signal ended it.
    pub code: Option<i32>,
    /// The end of what it wrote to its standard output.
    pub stdout: String,
    /// The end of what it wrote to its standard error.
    pub stderr: String,
}

impl Output {
    pub(super) fn new(status: ExitStatus, stdout: &Tail, stderr: &Tail) -> Self {
        Self { code: status.code(), stdout: stdout.text(), stderr: stderr.text() }
    }
}

/// The last bytes of a stream; may be read while they come.
#[derive(Clone)]
pub(super) struct Tail {
    kept: usize,
    bytes: Arc<Mutex<Vec<u8>>>,
}

impl Tail {
    pub(super) fn of(kept: usize) -> Self {
        Self { kept, bytes: Arc::default() }
    }

    /// Reads to the end; never holds more than a few times as many bytes as are kept.
    pub(super) async fn read(&self, from: Option<impl AsyncRead + Unpin>, alive: impl Fn()) -> io::Result<()> {
        let Some(mut from) = from else { return Ok(()) };
        let mut piece = vec![0; 8 * 1024];
        loop {
            let read = from.read(&mut piece).await?;
            if read == 0 {
                return Ok(());
            }
            alive();
            self.push(&piece[..read]);
        }
    }

    fn push(&self, piece: &[u8]) {
        let mut bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        bytes.extend_from_slice(piece);
        if bytes.len() > self.kept.saturating_mul(2) {
            let cut = bytes.len() - self.kept;
            bytes.drain(..cut);
        }
    }

    /// The bytes as text; the rest of a character that was cut at the beginning is dropped.
    pub(super) fn text(&self) -> String {
        let bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        let last = &bytes[bytes.len().saturating_sub(self.kept)..];
        let is_cut = |byte: &u8| byte & 0b1100_0000 == 0b1000_0000;
        let begin = last.iter().take(3).position(|byte| !is_cut(byte)).unwrap_or(0);
        String::from_utf8_lossy(&last[begin..]).into_owned()
    }
}
