//! A running program whose output is read line by line, with a cancel token and time limits; each line is buffered only
//! up to a limit.

use std::io;
use std::pin::Pin;
use std::time::Duration;

use async_recursion::async_recursion as boxed;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::process::ChildStdout;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use super::group::Group;
use super::output::Tail;
use super::program::{Program, feed, pipes};

/// The interval at which the program is polled for its exit while others hold its output open.
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// The time its output is still read after it has exited.
const LINGER: Duration = Duration::from_millis(500);

/// The limits of a running program.
#[derive(Clone, Debug)]
pub struct Watch {
    /// Cancels the program.
    pub cancel: CancellationToken,
    /// The deadline.
    pub end: Instant,
    /// The maximum time without output.
    pub idle: Duration,
}

/// The reason why a program must be ended.
#[derive(Debug, thiserror::Error)]
pub enum StopReason {
    /// It was cancelled.
    #[error("cancelled")]
    Cancelled,
    /// The deadline passed.
    #[error("its time is up")]
    Wall,
    /// It wrote nothing for too long.
    #[error("it wrote nothing for {0:?}")]
    Idle(Duration),
    /// Reading its output or writing its input failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// An item of a program's standard output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OutputItem {
    /// A line.
    Line(String),
    /// The length in bytes of a line that is too long to be buffered.
    TooLong(u64),
}

/// The end of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramExit {
    /// The exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// The end of its standard error.
    pub stderr: String,
}

/// The writing of input and reading of errors, beside the reading of lines.
type SideTask = Pin<Box<dyn Future<Output = io::Result<()>> + Send>>;

/// A running program. Dropping it kills it with all processes of its group.
pub struct Running {
    group: Group,
    lines: Option<Lines<ChildStdout>>,
    /// Writes its input and reads its errors; `None` once both are done.
    side: Option<SideTask>,
    stderr: Tail,
    /// The time at which its exit was noticed.
    exited: Option<Instant>,
}

impl std::fmt::Debug for Running {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Running").field("exited", &self.exited).finish_non_exhaustive()
    }
}

impl Running {
    pub(super) fn of(mut group: Group, program: Program) -> Self {
        let (stdin, stdout, stderr) = pipes(&mut group);
        let tail = Tail::of(program.kept[1], u64::MAX);
        let errors = tail.clone();
        let side = async move {
            let read = async { errors.read(stderr, || ()).await.map_err(io::Error::from) };
            tokio::try_join!(feed(stdin, &program.stdin), read).map(drop)
        };
        Self { group, lines: stdout.map(Lines::of), side: Some(Box::pin(side)), stderr: tail, exited: None }
    }

    /// Returns the next line of its output; `None` at the end. If other processes still hold it open half a second
    /// after the program itself has exited, that counts as the end.
    ///
    /// # Errors
    /// [`StopReason`], if it must be ended before. It still runs then: see [`end`](Self::end).
    #[boxed]
    pub async fn next(&mut self, watch: &Watch) -> Result<Option<OutputItem>, StopReason> {
        let Self { group, lines: Some(lines), side, exited, .. } = self else { return Ok(None) };
        loop {
            let quiet = lines.last() + watch.idle;
            tokio::select! {
                biased;
                () = watch.cancel.cancelled() => return Err(StopReason::Cancelled),
                () = sleep_until(watch.end) => return Err(StopReason::Wall),
                line = lines.next() => return Ok(line?.map(output_line)),
                done = run_side(side) => done?,
                () = sleep_until(quiet) => return Err(StopReason::Idle(watch.idle)),
                () = sleep(POLL_INTERVAL) => {
                    if exited.is_none() && group.has_exited() {
                        *exited = Some(Instant::now());
                    }
                    if exited.is_some_and(|exited| exited.max(lines.last()).elapsed() > LINGER) {
                        return Ok(lines.rest().map(output_line));
                    }
                }
            }
        }
    }

    /// Waits up to `patience` for its exit, then sends SIGTERM to its group, waits up to `grace`, and kills the group.
    ///
    /// # Errors
    /// If it cannot be waited for.
    #[boxed]
    pub async fn end(mut self, patience: Duration, grace: Duration) -> io::Result<ProgramExit> {
        // Nothing more is returned, but the program may still write, and must not block.
        let away = self.lines.take();
        let side = &mut self.side;
        let status = tokio::select! {
            status = self.group.end(patience, grace) => status?,
            never = drain(away, side) => match never {},
        };
        // Closed by now, unless a process outside the group holds it.
        let _ = tokio::time::timeout(LINGER, finish_side(&mut self.side)).await;
        Ok(ProgramExit { code: status.code(), stderr: self.stderr.text() })
    }
}

fn output_line(line: Line) -> OutputItem {
    match line {
        Line::Whole(line) => OutputItem::Line(line),
        Line::TooLong(bytes) => OutputItem::TooLong(bytes),
    }
}

/// Polls the side task; pends forever once it is done.
async fn run_side(side: &mut Option<SideTask>) -> io::Result<()> {
    match side {
        Some(future) => {
            let done = future.await;
            *side = None;
            done
        }
        None => std::future::pending().await,
    }
}

async fn finish_side(side: &mut Option<SideTask>) {
    if side.is_some() {
        // The program has exited; input that it did not read is not an error.
        let _ = run_side(side).await;
    }
}

async fn drain(lines: Option<Lines<ChildStdout>>, side: &mut Option<SideTask>) -> std::convert::Infallible {
    let away = async {
        if let Some(mut lines) = lines {
            while let Ok(Some(_)) = lines.next().await {}
        }
    };
    tokio::join!(away, finish_side(side));
    std::future::pending().await
}

impl Program {
    /// Starts it. Its output is read line by line.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start(self) -> io::Result<Running> {
        let group = self.spawn()?;
        Ok(Running::of(group, self))
    }
}

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
