//! The lines of an output, each buffered only up to a limit.

use std::io;

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::time::Instant;

/// The maximum number of buffered bytes of a line.
const MAX_LENGTH: usize = 8 * 1024 * 1024;

pub(super) struct Lines<R> {
    from: BufReader<R>,
    line: Vec<u8>,
    skipped: u64,
    last: Instant,
}

/// A line without its end.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    Whole(String),
    /// The length of a line in bytes that is longer than the limit.
    TooLong(u64),
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(super) fn of(from: R) -> Self {
        Self { from: BufReader::with_capacity(64 * 1024, from), line: vec![], skipped: 0, last: Instant::now() }
    }

    /// Returns the time of the last read.
    pub(super) fn last(&self) -> Instant {
        self.last
    }

    /// Reads a line. Cancel safe.
    pub(super) async fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            let piece = self.from.fill_buf().await?;
            if piece.is_empty() {
                return Ok(self.rest());
            }
            self.last = Instant::now();
            let end = piece.iter().position(|byte| *byte == b'\n');
            let (text, read) = end.map_or((piece, piece.len()), |end| (&piece[..end], end + 1));
            let room = MAX_LENGTH.saturating_sub(self.line.len()).min(text.len());
            self.line.extend_from_slice(&text[..room]);
            self.skipped += (text.len() - room) as u64;
            self.from.consume(read);
            if end.is_some() {
                return Ok(Some(self.take()));
            }
        }
    }

    /// Returns the unfinished last line.
    pub(super) fn rest(&mut self) -> Option<Line> {
        (!self.line.is_empty()).then(|| self.take())
    }

    fn take(&mut self) -> Line {
        let (line, skipped) = (std::mem::take(&mut self.line), std::mem::take(&mut self.skipped));
        match skipped {
            0 => Line::Whole(String::from_utf8_lossy(&line).into_owned()),
            more => Line::TooLong(line.len() as u64 + more),
        }
    }
}
