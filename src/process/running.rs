//! A program that runs and is followed line by line, under limits of ours.

use std::io;
use std::pin::Pin;
use std::time::Duration;

use tokio::process::ChildStdout;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use super::group::Group;
use super::lines::{Line, Lines};
use super::output::Tail;
use super::program::{Program, feed, pipes};

/// How often it is looked whether the program has ended while others hold its output open.
const LOOK: Duration = Duration::from_millis(200);
/// How long what it left in its output is waited for once it has ended.
const LINGER: Duration = Duration::from_millis(500);

/// What ends a program before its time.
#[derive(Clone, Debug)]
pub struct Watch {
    /// Somebody does not want it any more.
    pub cancel: CancellationToken,
    /// When its time is up.
    pub end: Instant,
    /// How long it may write nothing.
    pub idle: Duration,
}

/// Why a program is to be ended.
#[derive(Debug, thiserror::Error)]
pub enum Stopped {
    /// It was cancelled.
    #[error("cancelled")]
    Cancelled,
    /// Its time is up.
    #[error("its time is up")]
    Wall,
    /// It wrote nothing for too long.
    #[error("it wrote nothing for {0:?}")]
    Idle(Duration),
    /// It could not be written to or read from.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// What a program wrote to its standard output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    /// A line.
    Line(String),
    /// A line of so many bytes, too many to be held.
    TooLong(u64),
}

/// How a program ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exit {
    /// Its exit code; none if a signal ended it.
    pub code: Option<i32>,
    /// The end of what it wrote to its standard error.
    pub stderr: String,
}

/// What happens beside the reading of lines.
type Aside = Pin<Box<dyn Future<Output = io::Result<()>> + Send>>;

/// A program that runs. Dropping it kills it, with all processes of its group.
pub struct Running {
    group: Group,
    lines: Option<Lines<ChildStdout>>,
    /// Writes its input and reads its errors; gone once both are done.
    aside: Option<Aside>,
    stderr: Tail,
    /// When it was seen to have ended.
    left: Option<Instant>,
}

impl std::fmt::Debug for Running {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Running").field("left", &self.left).finish_non_exhaustive()
    }
}

impl Running {
    pub(super) fn of(mut group: Group, program: Program) -> Self {
        let (stdin, stdout, stderr) = pipes(&mut group);
        let tail = Tail::of(program.kept[1], u64::MAX);
        let errors = tail.clone();
        let aside = async move {
            let read = async { errors.read(stderr, || ()).await.map_err(io::Error::from) };
            tokio::try_join!(feed(stdin, &program.stdin), read).map(drop)
        };
        Self { group, lines: stdout.map(Lines::of), aside: Some(Box::pin(aside)), stderr: tail, left: None }
    }

    /// Returns the next line of its output; none once that has ended. What is still held open by others, half a second after
    /// the program itself has ended, counts as ended.
    ///
    /// # Errors
    /// [`Stopped`], if it is to be ended before. It still runs then: see [`end`](Self::end).
    pub async fn next(&mut self, watch: &Watch) -> Result<Option<Heard>, Stopped> {
        let Self { group, lines: Some(lines), aside, left, .. } = self else { return Ok(None) };
        loop {
            let quiet = lines.last() + watch.idle;
            tokio::select! {
                biased;
                () = watch.cancel.cancelled() => return Err(Stopped::Cancelled),
                () = sleep_until(watch.end) => return Err(Stopped::Wall),
                line = lines.next() => return Ok(line?.map(heard)),
                done = beside(aside) => done?,
                () = sleep_until(quiet) => return Err(Stopped::Idle(watch.idle)),
                () = sleep(LOOK) => {
                    if left.is_none() && group.has_left() {
                        *left = Some(Instant::now());
                    }
                    if left.is_some_and(|left| left.max(lines.last()).elapsed() > LINGER) {
                        return Ok(lines.rest().map(heard));
                    }
                }
            }
        }
    }

    /// Waits for its end, so long; asks its group to end (SIGTERM) and waits, so long again; kills what is left of the group.
    ///
    /// # Errors
    /// If it cannot be waited for.
    pub async fn end(mut self, patience: Duration, grace: Duration) -> io::Result<Exit> {
        // Nothing more is read, but the program may still write: its output is read away.
        let away = self.lines.take();
        let aside = &mut self.aside;
        let status = tokio::select! {
            status = self.group.end(patience, grace) => status?,
            never = drained(away, aside) => match never {},
        };
        // Closed by now, unless somebody outside the group holds it.
        let _ = tokio::time::timeout(LINGER, finished(&mut self.aside)).await;
        Ok(Exit { code: status.code(), stderr: self.stderr.text() })
    }
}

fn heard(line: Line) -> Heard {
    match line {
        Line::Whole(line) => Heard::Line(line),
        Line::TooLong(bytes) => Heard::TooLong(bytes),
    }
}

/// Goes on with what happens beside; ends once, when it is done.
async fn beside(aside: &mut Option<Aside>) -> io::Result<()> {
    match aside {
        Some(future) => {
            let done = future.await;
            *aside = None;
            done
        }
        None => std::future::pending().await,
    }
}

async fn finished(aside: &mut Option<Aside>) {
    if aside.is_some() {
        // The program has ended; what cannot be told it any more is no failure.
        let _ = beside(aside).await;
    }
}

async fn drained(lines: Option<Lines<ChildStdout>>, aside: &mut Option<Aside>) -> std::convert::Infallible {
    let away = async {
        if let Some(mut lines) = lines {
            while let Ok(Some(_)) = lines.next().await {}
        }
    };
    tokio::join!(away, finished(aside));
    std::future::pending().await
}

impl Program {
    /// Starts it, to be followed line by line.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start(self) -> io::Result<Running> {
        let group = self.spawn()?;
        Ok(Running::of(group, self))
    }
}
