//! `shell`: a command behind the prefix that its user chose, in a process group of its own, with limits and without keys in its
//! environment.

use std::io;
use std::path::Path;
use std::pin::Pin;
use std::process::{ExitStatus, Stdio};

use futures_util::future::{MaybeDone, maybe_done};
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};
use tokio::time::{Duration, timeout};

use super::{Refused, ToolLimits};
use crate::drivers::process::Environment;

/// What a command gets of this process's environment beside what any program may see: where toolchains are.
const TOOLCHAINS: [&str; 10] = [
    "CARGO_HOME",
    "GOCACHE",
    "GOPATH",
    "GOROOT",
    "JAVA_HOME",
    "NVM_DIR",
    "PYENV_ROOT",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "VIRTUAL_ENV",
];

/// How long outputs are read after the command has ended and its group was killed.
const AFTER: Duration = Duration::from_secs(1);

/// Runs a command line and returns its exit code and what it wrote.
pub(super) async fn run(
    prefix: &[String],
    line: &str,
    directory: &Path,
    limits: &ToolLimits,
) -> Result<String, Refused> {
    if line.contains('\0') {
        return Err(Refused::new("a command holds no NUL"));
    }
    let spawned = command(prefix, line, directory, limits).spawn();
    let mut running = Running::new(spawned.map_err(|error| Refused::new(format!("cannot be run: {error}")))?);
    let (stdout, stderr) = (running.child.stdout.take(), running.child.stderr.take());
    let (mut out, mut err) = (Tail::new(limits), Tail::new(limits));
    let mut reading = Box::pin(maybe_done(async { tokio::try_join!(out.fill(stdout), err.fill(stderr)).map(drop) }));
    let end = timeout(limits.command, running.end(&mut reading)).await.unwrap_or(End::TooLong);
    // What it left running in its group ends with it; what that had written is still read.
    running.kill_group();
    let _ = timeout(AFTER, async { tokio::join!(&mut reading, running.child.wait()) }).await;
    drop(reading);
    let written = format!("{}{}", out.text(""), err.text("standard error:\n"));
    end.told(&written, limits)
}

/// An output is longer than it may be.
struct TooMuch;

/// How a command ended.
enum End {
    Exited(io::Result<ExitStatus>),
    TooMuch,
    TooLong,
}

impl End {
    fn told(self, written: &str, limits: &ToolLimits) -> Result<String, Refused> {
        match self {
            Self::Exited(Ok(status)) => match status.code() {
                Some(0) => Ok(format!("exit code 0\n{written}")),
                Some(code) => Err(Refused(format!("exit code {code}\n{written}"))),
                None => Err(Refused(format!("{status}\n{written}"))),
            },
            Self::Exited(Err(error)) => Err(Refused::new(format!("the command cannot be followed: {error}"))),
            Self::TooMuch => Err(Refused(format!("killed: it wrote more than {} bytes\n{written}", limits.output))),
            Self::TooLong => Err(Refused(format!("killed: it took longer than {:?}\n{written}", limits.command))),
        }
    }
}

/// `prefix… sh -c LINE`, started by a shell that limits its CPU time first.
fn command(prefix: &[String], line: &str, directory: &Path, limits: &ToolLimits) -> Command {
    let mut command = Command::new("/bin/sh");
    let limited = format!("ulimit -t {} && exec \"$@\"", limits.cpu.as_secs().max(1));
    command.args(["-c", &limited, "sh"]).args(prefix).args(["sh", "-c", line]);
    command.current_dir(directory).env_clear().envs(Environment::allowed().keep(&TOOLCHAINS).iter());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.process_group(0).kill_on_drop(true);
    command
}

/// A command that is killed with its group, at the latest when dropped.
struct Running {
    child: Child,
    group: Option<Pid>,
}

impl Running {
    fn new(child: Child) -> Self {
        let group = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        Self { child, group }
    }

    /// Waits until the command has ended, or has written too much: told before the closed pipe ends the command by itself.
    async fn end<F: Future<Output = Result<(), TooMuch>>>(&mut self, reading: &mut Pin<Box<MaybeDone<F>>>) -> End {
        tokio::select! {
            biased;
            () = &mut *reading => {}
            status = self.child.wait() => return End::Exited(status),
        }
        match reading.as_mut().output_mut() {
            Some(Err(TooMuch)) => End::TooMuch,
            Some(Ok(())) | None => End::Exited(self.child.wait().await),
        }
    }

    fn kill_group(&mut self) {
        if let Some(group) = self.group.take() {
            // A group that is gone already is no failure.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill_group();
    }
}

/// The end of an output.
struct Tail {
    kept: usize,
    most: usize,
    seen: usize,
    bytes: Vec<u8>,
}

impl Tail {
    fn new(limits: &ToolLimits) -> Self {
        Self { kept: limits.answer / 3, most: limits.output, seen: 0, bytes: Vec::new() }
    }

    /// Reads to the end, unless there is too much.
    async fn fill(&mut self, from: Option<impl AsyncRead + Unpin>) -> Result<(), TooMuch> {
        let Some(mut from) = from else { return Ok(()) };
        let mut piece = vec![0; 16 * 1024];
        while self.seen <= self.most {
            // An output that cannot be read any more has ended.
            let Ok(read @ 1..) = from.read(&mut piece).await else { return Ok(()) };
            self.take(&piece[..read]);
        }
        Err(TooMuch)
    }

    fn take(&mut self, piece: &[u8]) {
        self.seen = self.seen.saturating_add(piece.len());
        self.bytes.extend_from_slice(piece);
        if self.bytes.len() > self.kept.saturating_mul(2) {
            self.bytes.drain(..self.bytes.len() - self.kept);
        }
    }

    fn text(&self, title: &str) -> String {
        let kept = &self.bytes[self.bytes.len().saturating_sub(self.kept)..];
        let text = String::from_utf8_lossy(kept);
        match (self.seen, self.seen - kept.len()) {
            (0, _) => String::new(),
            (_, 0) => format!("{title}{text}"),
            (_, lost) => format!("{title}[the first {lost} bytes are left out]\n{text}"),
        }
    }
}
