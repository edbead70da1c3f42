//! The git program: what it is called with, and what it came to. Knows processes; must not know what a call is for.
//!
//! Arguments are a vector, input goes in by stdin, the environment is an allow-list, the process leads a group of its own
//! that is killed when its time is up or the future is dropped. But for commits, nothing that a repository's configuration
//! names is run, apart from filters (`filter.*`), without which a snapshot would not hold what a commit holds.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStdin, Command};
use tokio::time::timeout;

use super::error::WorkspaceError;
use super::open::Place;

/// How much is kept of what git or a hook says.
const SAID: usize = 8 * 1024;
/// How much git may answer: far more than the names of a million files.
const ANSWER: usize = 256 * 1024 * 1024;
/// How long the outputs may stay open after git has ended: a hook may have left something running.
const STRAGGLERS: Duration = Duration::from_millis(500);

/// Everywhere: no monitor of the configuration's choice, nothing in the background.
const ALWAYS: [&str; 5] =
    ["core.fsmonitor=false", "gc.auto=0", "maintenance.auto=false", "submodule.recurse=false", "core.editor=:"];
/// Unless hooks are meant.
const PLAIN: [&str; 5] =
    ["core.hooksPath=/dev/null", "core.safecrlf=false", "core.pager=cat", "diff.external=", "credential.helper="];

/// One call of the git program.
#[must_use]
pub(super) struct Call<'a> {
    place: &'a Place,
    args: Vec<OsString>,
    input: Vec<u8>,
    index: Option<&'a Path>,
    hooks: bool,
}

/// What a call came to.
pub(super) struct Answer {
    pub(super) code: Option<i32>,
    pub(super) stdout: Vec<u8>,
    /// The end of it.
    pub(super) stderr: String,
}

impl<'a> Call<'a> {
    pub(super) fn new(place: &'a Place, args: &[&str]) -> Self {
        Self { place, args: args.iter().map(OsString::from).collect(), input: vec![], index: None, hooks: false }
    }

    pub(super) fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.args.push(arg.into());
        self
    }

    pub(super) fn input(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.input = bytes.into();
        self
    }

    /// On another index than the user's.
    pub(super) fn on(mut self, index: &'a Path) -> Self {
        self.index = Some(index);
        self
    }

    /// With the user's hooks and keys, and the time they need.
    pub(super) fn with_hooks(mut self) -> Self {
        self.hooks = true;
        self
    }

    /// Runs it and returns what it wrote; another code than 0 is an error.
    pub(super) async fn done(self) -> Result<Vec<u8>, WorkspaceError> {
        let command = self.shown();
        let answer = self.run().await?;
        match answer.code {
            Some(0) => Ok(answer.stdout),
            code => Err(WorkspaceError::GitFailed { command, code, output: answer.stderr.trim().to_owned() }),
        }
    }

    /// Runs it to its end, whatever the code.
    pub(super) async fn run(self) -> Result<Answer, WorkspaceError> {
        let limit = if self.hooks { self.place.options.commit_limit } else { self.place.options.limit };
        let program = self.place.options.program.clone();
        match timeout(limit, self.follow()).await {
            Err(_) => Err(WorkspaceError::TimedOut { command: self.shown(), limit }),
            Ok(Err(source)) => Err(WorkspaceError::GitMissing { program, source }),
            Ok(Ok(answer)) => Ok(answer),
        }
    }

    fn shown(&self) -> String {
        let args: Vec<_> = self.args.iter().map(|arg| arg.to_string_lossy()).collect();
        args.join(" ")
    }

    async fn follow(&self) -> io::Result<Answer> {
        let mut running = Running(self.command().spawn()?);
        let Child { stdin, stdout, stderr, .. } = &mut running.0;
        let (stdin, mut answered, mut said) = (stdin.take(), Kept::new(ANSWER), Kept::new(SAID));
        let (stdout, stderr) = (stdout.take(), stderr.take());
        let outputs =
            async { tokio::try_join!(feed(stdin, &self.input), answered.fill(stdout), said.fill(stderr)).map(drop) };
        let status = tokio::select! {
            biased;
            closed = outputs => { closed?; running.0.wait().await? }
            status = wait_and_linger(&mut running.0) => status?,
        };
        if answered.is_cut {
            return Err(io::Error::other("its answer is too long"));
        }
        Ok(Answer { code: status.code(), stdout: answered.bytes, stderr: text(&said.bytes) })
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.place.options.program);
        for setting in ALWAYS.iter().chain(if self.hooks { &[][..] } else { &PLAIN[..] }) {
            command.arg("-c").arg(setting);
        }
        command.args(&self.args).current_dir(&self.place.root).env_clear().envs(self.place.options.environment());
        command.env("GIT_TERMINAL_PROMPT", "0").env("GIT_EDITOR", ":").env("GIT_PAGER", "cat");
        command.env("GIT_OPTIONAL_LOCKS", "0").env("GIT_NO_LAZY_FETCH", "1").env("GIT_LITERAL_PATHSPECS", "1");
        if let Some(above) = self.place.root.parent() {
            command.env("GIT_CEILING_DIRECTORIES", above);
        }
        if let Some(index) = self.index {
            command.env("GIT_INDEX_FILE", index);
        }
        if self.hooks {
            command
                .env_remove("GIT_LITERAL_PATHSPECS")
                .env_remove("GIT_NO_LAZY_FETCH")
                .env_remove("GIT_OPTIONAL_LOCKS");
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        #[cfg(unix)]
        command.process_group(0);
        command
    }
}

/// A process that is killed with its group when dropped before its end.
struct Running(Child);

#[cfg(unix)]
impl Drop for Running {
    fn drop(&mut self) {
        let id = self.0.id().and_then(|id| rustix::process::Pid::from_raw(id.cast_signed()));
        if let Some(group) = id {
            // A group that is gone already is no failure.
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
    }
}

async fn wait_and_linger(child: &mut Child) -> io::Result<std::process::ExitStatus> {
    let status = child.wait().await?;
    tokio::time::sleep(STRAGGLERS).await;
    Ok(status)
}

/// Writes the input, as far as git reads it.
async fn feed(stdin: Option<ChildStdin>, input: &[u8]) -> io::Result<()> {
    let Some(mut stdin) = stdin else { return Ok(()) };
    match stdin.write_all(input).await {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// The last bytes of a stream.
struct Kept {
    bytes: Vec<u8>,
    most: usize,
    is_cut: bool,
}

impl Kept {
    fn new(most: usize) -> Self {
        Self { bytes: vec![], most, is_cut: false }
    }

    async fn fill(&mut self, from: Option<impl AsyncRead + Unpin>) -> io::Result<()> {
        let Some(mut from) = from else { return Ok(()) };
        let mut piece = vec![0; SAID];
        loop {
            let read = from.read(&mut piece).await?;
            if read == 0 {
                self.cut();
                return Ok(());
            }
            self.bytes.extend_from_slice(&piece[..read]);
            if self.bytes.len() > self.most.saturating_mul(2) {
                self.cut();
            }
        }
    }

    fn cut(&mut self) {
        let surplus = self.bytes.len().saturating_sub(self.most);
        self.is_cut |= surplus > 0;
        self.bytes.drain(..surplus);
    }
}

/// Reads bytes as text without the rest of a character that was cut at the beginning.
fn text(bytes: &[u8]) -> String {
    let is_cut = |byte: &u8| byte & 0b1100_0000 == 0b1000_0000;
    let begin = bytes.iter().take(3).position(|byte| !is_cut(byte)).unwrap_or(0);
    String::from_utf8_lossy(&bytes[begin..]).into_owned()
}
