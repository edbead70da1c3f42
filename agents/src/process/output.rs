//! The last bytes of an output, and optionally its first ones, with bounded memory.

use std::io;
use std::process::ExitStatus;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::io::{AsyncRead, AsyncReadExt};

/// The result of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// The exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// The end of its standard output.
    pub stdout: String,
    /// The end of its standard error.
    pub stderr: String,
}

impl Output {
    pub(super) fn new(status: ExitStatus, stdout: &Tail, stderr: &Tail) -> Self {
        Self { code: status.code(), stdout: stdout.text(), stderr: stderr.text() }
    }
}

/// The reason why reading a stream stopped early.
#[derive(Debug)]
pub(super) enum ReadError {
    /// The stream is longer than its limit.
    TooMuch,
    Io(io::Error),
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<ReadError> for io::Error {
    fn from(broken: ReadError) -> Self {
        match broken {
            ReadError::TooMuch => Self::other("its output is too long"),
            ReadError::Io(error) => error,
        }
    }
}

/// The last bytes of a stream; readable while the stream is still open.
#[derive(Clone, Debug)]
pub struct Tail {
    kept: usize,
    /// The number of first bytes that are kept as well.
    head: usize,
    most: u64,
    bytes: Arc<Mutex<Bytes>>,
}

#[derive(Debug, Default)]
struct Bytes {
    first: Vec<u8>,
    last: Vec<u8>,
    /// The total number of bytes read.
    all: u64,
}

impl Tail {
    /// Keeps the last `kept` bytes of a stream of at most `most` bytes.
    pub(super) fn of(kept: usize, most: u64) -> Self {
        Self { kept, head: 0, most, bytes: Arc::default() }
    }

    /// Also keeps the first `head` bytes.
    pub(super) fn with_head(self, head: usize) -> Self {
        Self { head, ..self }
    }

    /// Reads to the end, and buffers at most a small multiple of the bytes to keep.
    pub(super) async fn read(&self, from: Option<impl AsyncRead + Unpin>, alive: impl Fn()) -> Result<(), ReadError> {
        let Some(mut from) = from else { return Ok(()) };
        let mut piece = vec![0; 16 * 1024];
        loop {
            let read = from.read(&mut piece).await?;
            if read == 0 {
                return Ok(());
            }
            alive();
            if self.push(&piece[..read]) > self.most {
                return Err(ReadError::TooMuch);
            }
        }
    }

    /// Adds bytes and returns the total number.
    fn push(&self, piece: &[u8]) -> u64 {
        let mut bytes = self.bytes();
        bytes.all += piece.len() as u64;
        let (first, piece) = piece.split_at(piece.len().min(self.head.saturating_sub(bytes.first.len())));
        bytes.first.extend_from_slice(first);
        bytes.last.extend_from_slice(piece);
        if bytes.last.len() > self.kept.saturating_mul(2) {
            let cut = bytes.last.len() - self.kept;
            bytes.last.drain(..cut);
        }
        bytes.all
    }

    fn bytes(&self) -> MutexGuard<'_, Bytes> {
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of bytes read and of those kept.
    pub fn lengths(&self) -> (u64, u64) {
        let bytes = self.bytes();
        (bytes.all, bytes.last.len().min(self.kept) as u64)
    }

    /// Takes the bytes out.
    pub fn take(&self) -> Vec<u8> {
        let mut last = std::mem::take(&mut self.bytes().last);
        last.drain(..last.len().saturating_sub(self.kept));
        last
    }

    /// Returns the bytes as text, without a character cut off at the start. A line between first and last bytes reports
    /// the number left out.
    pub fn text(&self) -> String {
        let bytes = self.bytes();
        let missing = bytes.last.len().saturating_sub(self.kept);
        let last = &bytes.last[missing..];
        if self.head > 0 && bytes.all == (bytes.first.len() + last.len()) as u64 {
            return String::from_utf8_lossy(&[&bytes.first, last].concat()).into_owned();
        }
        let is_cut = |byte: &u8| byte & 0b1100_0000 == 0b1000_0000;
        let begin = last.iter().take(3).position(|byte| !is_cut(byte)).unwrap_or(0);
        let last = String::from_utf8_lossy(&last[begin..]);
        if self.head == 0 {
            return last.into_owned();
        }
        let missing = bytes.all - (bytes.first.len() + last.len()) as u64;
        format!("{}\n[{missing} bytes left out]\n{last}", String::from_utf8_lossy(&bytes.first))
    }
}
