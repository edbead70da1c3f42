//! The end of an output, and its beginning where that matters: so many bytes of a stream, however long it is.

use std::io;
use std::process::ExitStatus;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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

/// Why a stream is not read to its end.
#[derive(Debug)]
pub(super) enum Broken {
    /// It is longer than it may be.
    TooMuch,
    Io(io::Error),
}

impl From<io::Error> for Broken {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<Broken> for io::Error {
    fn from(broken: Broken) -> Self {
        match broken {
            Broken::TooMuch => Self::other("its output is too long"),
            Broken::Io(error) => error,
        }
    }
}

/// The last bytes of a stream; may be read while they come.
#[derive(Clone, Debug)]
pub(crate) struct Tail {
    kept: usize,
    /// How many of the first bytes are kept besides.
    head: usize,
    most: u64,
    bytes: Arc<Mutex<Bytes>>,
}

#[derive(Debug, Default)]
struct Bytes {
    first: Vec<u8>,
    last: Vec<u8>,
    /// How many there were.
    all: u64,
}

impl Tail {
    /// Keeps so many bytes of a stream that may have at most so many.
    pub(super) fn of(kept: usize, most: u64) -> Self {
        Self { kept, head: 0, most, bytes: Arc::default() }
    }

    /// Keeps so many of the first bytes besides.
    pub(super) fn with_head(self, head: usize) -> Self {
        Self { head, ..self }
    }

    /// Reads to the end; never holds more than a few times as many bytes as are kept.
    pub(super) async fn read(&self, from: Option<impl AsyncRead + Unpin>, alive: impl Fn()) -> Result<(), Broken> {
        let Some(mut from) = from else { return Ok(()) };
        let mut piece = vec![0; 16 * 1024];
        loop {
            let read = from.read(&mut piece).await?;
            if read == 0 {
                return Ok(());
            }
            alive();
            if self.push(&piece[..read]) > self.most {
                return Err(Broken::TooMuch);
            }
        }
    }

    /// Returns how many bytes there were.
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

    /// How many bytes there were, and how many of them are kept.
    pub(crate) fn lengths(&self) -> (u64, u64) {
        let bytes = self.bytes();
        (bytes.all, bytes.last.len().min(self.kept) as u64)
    }

    /// Takes the bytes out.
    pub(crate) fn take(&self) -> Vec<u8> {
        let mut last = std::mem::take(&mut self.bytes().last);
        last.drain(..last.len().saturating_sub(self.kept));
        last
    }

    /// The bytes as text; the rest of a character that was cut at the beginning is dropped. A line tells of the bytes that are
    /// missing between the first and the last.
    pub(crate) fn text(&self) -> String {
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
