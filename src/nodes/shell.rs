//! A shell command with its input, and what it came to. Knows processes; must not know the engine.

use std::io;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStdin, Command};

/// How many bytes of each output are kept unless said otherwise.
const KEPT: usize = 8 * 1024;

/// A command line for `sh -c`, with what it reads on its standard input.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// use superstep::nodes::ShellCommand;
/// let output = ShellCommand::new("tr a-z A-Z; exit 3").stdin("tides").run(|| ()).await?;
/// assert_eq!((output.code, output.stdout.as_str()), (Some(3), "TIDES"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a command does nothing until it is run"]
pub struct ShellCommand {
    line: String,
    stdin: String,
    env: Vec<(String, String)>,
    directory: Option<PathBuf>,
    kept: usize,
}

/// What a command came to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandOutput {
    /// Its exit code; none if a signal ended it.
    pub code: Option<i32>,
    /// The end of what it wrote to its standard output.
    pub stdout: String,
    /// The end of what it wrote to its standard error.
    pub stderr: String,
}

impl CommandOutput {
    /// Returns whether the command ended with 0.
    pub fn is_success(&self) -> bool {
        self.code == Some(0)
    }
}

/// A command could not be run, or not be followed to its end.
#[derive(Debug, thiserror::Error)]
#[error("cannot run `{line}` in a shell: {source}")]
pub struct CommandError {
    /// The command line.
    pub line: String,
    /// Why.
    pub source: io::Error,
}

impl ShellCommand {
    /// Returns a command with empty input, in the environment and directory of this process.
    pub fn new(line: impl Into<String>) -> Self {
        Self { line: line.into(), stdin: String::new(), env: vec![], directory: None, kept: KEPT }
    }

    /// Sets what the command reads on its standard input. It need not read all of it.
    pub fn stdin(mut self, text: impl Into<String>) -> Self {
        self.stdin = text.into();
        self
    }

    /// Sets a variable of its environment.
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// Sets the directory it runs in.
    pub fn directory(mut self, path: impl Into<PathBuf>) -> Self {
        self.directory = Some(path.into());
        self
    }

    /// Sets how many bytes are kept of the end of each output; 8 KiB unless set.
    pub fn keep(mut self, bytes: usize) -> Self {
        self.kept = bytes;
        self
    }

    /// Runs the command until it has ended and its outputs are closed; `alive` is called whenever it writes something. If
    /// the future is dropped before, the command is killed, with all processes of its group.
    ///
    /// # Errors
    /// [`CommandError`] if it cannot be started, or its outputs cannot be read. A code other than 0 is no error.
    pub async fn run(self, alive: impl Fn()) -> Result<CommandOutput, CommandError> {
        self.follow(alive).await.map_err(|source| CommandError { line: self.line, source })
    }

    async fn follow(&self, alive: impl Fn()) -> io::Result<CommandOutput> {
        let mut running = Running(self.command().spawn()?);
        let Child { stdin, stdout, stderr, .. } = &mut running.0;
        let (stdin, stdout, stderr) = (stdin.take(), stdout.take(), stderr.take());
        let ((), stdout, stderr) = tokio::try_join!(
            feed(stdin, &self.stdin),
            tail(stdout, self.kept, &alive),
            tail(stderr, self.kept, &alive)
        )?;
        // Waited for last: until then the group's number cannot go to another process.
        let status = running.0.wait().await?;
        Ok(CommandOutput { code: ExitStatus::code(&status), stdout, stderr })
    }

    fn command(&self) -> Command {
        let mut command = Command::new("sh");
        command.arg("-c").arg(&self.line).envs(self.env.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        #[cfg(unix)]
        command.process_group(0);
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        command
    }
}

/// A command that is killed with its group when dropped before its end.
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

/// Writes the input, as far as the command reads it.
async fn feed(stdin: Option<ChildStdin>, text: &str) -> io::Result<()> {
    let Some(mut stdin) = stdin else { return Ok(()) };
    match stdin.write_all(text.as_bytes()).await {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Reads to the end and returns the last `kept` bytes as text; never holds more than a few times as many.
async fn tail(from: Option<impl AsyncRead + Unpin>, kept: usize, alive: &impl Fn()) -> io::Result<String> {
    let Some(mut from) = from else { return Ok(String::new()) };
    let (mut tail, mut piece) = (Vec::new(), vec![0; KEPT]);
    loop {
        let read = from.read(&mut piece).await?;
        if read == 0 {
            return Ok(text(last(&tail, kept)));
        }
        alive();
        tail.extend_from_slice(&piece[..read]);
        if tail.len() > kept.saturating_mul(2) {
            tail = last(&tail, kept).to_vec();
        }
    }
}

fn last(bytes: &[u8], kept: usize) -> &[u8] {
    &bytes[bytes.len().saturating_sub(kept)..]
}

/// Reads bytes as text; the rest of a character that was cut at the beginning is dropped.
fn text(bytes: &[u8]) -> String {
    let is_cut = |byte: &u8| byte & 0b1100_0000 == 0b1000_0000;
    let begin = bytes.iter().take(3).position(|byte| !is_cut(byte)).unwrap_or(0);
    String::from_utf8_lossy(&bytes[begin..]).into_owned()
}
