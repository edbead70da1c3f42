//! A program with its arguments, input, environment and limits.

use std::convert::Infallible;
use std::ffi::OsString;
use std::future::pending;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use async_recursion::async_recursion as boxed;
use futures::future::{MaybeDone, maybe_done};
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::runtime::Handle;
use tokio::time::{sleep, timeout};

use super::cgroup::Cgroup;
use super::environment::Environment;
use super::group::Group;
use super::output::{Output, ReadError, Tail};

/// The default number of bytes kept of each output.
const KEPT: usize = 8 * 1024;

/// The time a program may take to exit after SIGTERM.
const GRACE: Duration = Duration::from_secs(2);

/// The time for which the outputs of a program that has exited may stay open before the rest of its group is killed.
const SETTLE: Duration = Duration::from_millis(100);

/// The time for which its outputs are read after that.
const LINGER: Duration = Duration::from_millis(500);

/// A program with its arguments, standard input, environment and working directory.
///
/// ```
/// # use superstep_agents as superstep;
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// use superstep::process::{Environment, Program};
/// let program = Program::new("tr").args(["a-z", "A-Z"]).stdin("tides").environment(Environment::from_process());
/// let output = program.run(|| ()).await?;
/// assert_eq!((output.code, output.stdout.as_str()), (Some(0), "TIDES"));
/// # Ok::<(), std::io::Error>(())
/// # })?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a program does nothing until it is started"]
pub struct Program {
    name: OsString,
    args: Vec<OsString>,
    pub(super) stdin: Vec<u8>,
    env: Vec<(OsString, OsString)>,
    environment: Option<Environment>,
    directory: Option<PathBuf>,
    /// The number of bytes kept of standard output and of standard error.
    pub(super) kept: [usize; 2],
    /// The number of bytes also kept of the beginning of each output.
    head: usize,
    watched: bool,
    /// Set if it gets SIGTERM first, and SIGKILL only if it does not exit.
    is_graceful: bool,
}

/// The limits of a program that is run to its end.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// The maximum running time.
    pub time: Duration,
    /// The maximum number of bytes of each output.
    pub output: u64,
    /// The time its outputs are still read after it has exited: other processes may hold them open.
    pub linger: Duration,
}

/// The end of a program that ran within bounds.
#[derive(Debug)]
pub enum ProgramEnd {
    /// By itself, or by a signal of another process.
    Exited(ExitStatus),
    /// It was killed: it exceeded the output limit.
    TooMuch,
    /// It was killed: it exceeded the time limit.
    TooLong,
}

/// The result of a program that ran within bounds.
#[derive(Debug)]
pub struct BoundedRun {
    /// Its end.
    pub how: ProgramEnd,
    /// The end of what it wrote to its standard output.
    pub out: Tail,
    /// The end of what it wrote to its standard error.
    pub err: Tail,
}

/// The result of a program that ran until it exited or was stopped.
#[derive(Debug)]
#[non_exhaustive]
pub struct RunEnd<T> {
    /// Its exit status, or the reason why it was stopped.
    pub how: Result<ExitStatus, T>,
    /// The end of its standard output.
    pub out: Tail,
    /// The end of its standard error.
    pub err: Tail,
    /// The command lines of the programs that it had started and that still ran when it was stopped, if known.
    pub children: Vec<String>,
}

/// The end of a program that is waited for.
enum End<T> {
    Exited(ExitStatus),
    TooMuch,
    Stopped(T),
}

struct ProgramResult<T> {
    end: End<T>,
    out: Tail,
    err: Tail,
    children: Vec<String>,
}

impl Program {
    /// Returns a program, looked up in `PATH` unless `name` is a path, with empty input and this process's environment.
    pub fn new(name: impl Into<OsString>) -> Self {
        let (args, stdin, env) = (vec![], vec![], vec![]);
        Self {
            name: name.into(),
            args,
            stdin,
            env,
            environment: None,
            directory: None,
            kept: [KEPT; 2],
            head: 0,
            watched: true,
            is_graceful: false,
        }
    }

    /// Adds arguments.
    pub fn args(mut self, args: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Sets its standard input. It need not read all of it.
    pub fn stdin(mut self, text: impl Into<Vec<u8>>) -> Self {
        self.stdin = text.into();
        self
    }

    /// Replaces the environment of this process with these variables.
    pub fn environment(mut self, environment: Environment) -> Self {
        self.environment = Some(environment);
        self
    }

    /// Sets an additional variable.
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// Sets the working directory.
    pub fn directory(mut self, path: impl Into<PathBuf>) -> Self {
        self.directory = Some(path.into());
        self
    }

    /// Sets the number of bytes kept of the end of each output; 8 KiB by default.
    pub fn keep(mut self, bytes: usize) -> Self {
        self.kept = [bytes; 2];
        self
    }

    /// Sets the number of bytes kept of the end of its standard output only.
    pub(crate) fn keep_output(mut self, bytes: usize) -> Self {
        self.kept[0] = bytes;
        self
    }

    /// Sets the number of bytes kept of the beginning of each output, in addition to those of its end.
    pub fn keep_head(mut self, bytes: usize) -> Self {
        self.head = bytes;
        self
    }

    /// Sends SIGTERM first if it exceeds its [`Bounds`], and kills it, with its group, only if it does not exit.
    pub fn asked_to_end(mut self) -> Self {
        self.is_graceful = true;
        self
    }

    /// Lets it outlive this process if that is killed: it is short and ends by itself. If it must end early, it gets
    /// SIGTERM before it is killed, because it has things to clean up, such as locks.
    pub(crate) fn outlive_parent(mut self) -> Self {
        self.watched = false;
        self.asked_to_end()
    }

    /// Runs it until it has exited; calls `alive` on each write. What it left running in its group is killed then, also
    /// if that still holds its outputs open. If the future is dropped before, the program is killed with its group.
    ///
    /// # Errors
    /// If it cannot be started, or its outputs cannot be read. An exit code other than 0 is not an error.
    pub async fn run(&self, alive: impl Fn()) -> io::Result<Output> {
        let RunEnd { how, out, err, .. } = self.run_until(pending::<Infallible>(), alive).await?;
        match how {
            Ok(status) => Ok(Output::new(status, &out, &err)),
            Err(never) => match never {},
        }
    }

    /// Runs it as [`run`](Self::run) does, unless `stop` is ready before: then its group gets SIGTERM, is killed if it
    /// does not exit in time, and the value of `stop` is returned in place of the exit status.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub async fn run_until<T>(&self, stop: impl Future<Output = T>, alive: impl Fn()) -> io::Result<RunEnd<T>> {
        let awaited = self.clone().asked_to_end().run_to_end((u64::MAX, LINGER), stop, alive).await?;
        let ProgramResult { end, out, err, children } = awaited;
        let how = match end {
            End::Exited(status) => Ok(status),
            End::Stopped(why) => Err(why),
            End::TooMuch => return Err(ReadError::TooMuch.into()),
        };
        Ok(RunEnd { how, out, err, children })
    }

    /// Runs it until it has exited or exceeds its bounds, then kills the rest of its group.
    ///
    /// # Errors
    /// As [`run`](Self::run); exceeding the bounds is no error.
    #[boxed]
    pub async fn run_within(&self, bounds: &Bounds) -> io::Result<BoundedRun> {
        Ok(self.run_watched_within(bounds).await?.0)
    }

    /// Runs it as [`run_within`](Self::run_within) does, and returns the command lines of the programs that still ran
    /// when it was stopped, if known.
    pub(crate) async fn run_watched_within(&self, bounds: &Bounds) -> io::Result<(BoundedRun, Vec<String>)> {
        let Bounds { time, output, linger } = *bounds;
        let ProgramResult { end, out, err, children } = self.run_to_end((output, linger), sleep(time), || ()).await?;
        let how = match end {
            End::Exited(status) => ProgramEnd::Exited(status),
            End::Stopped(()) => ProgramEnd::TooLong,
            End::TooMuch => ProgramEnd::TooMuch,
        };
        Ok((BoundedRun { how, out, err }, children))
    }

    /// Runs it until it has exited, wrote too much, or `stop` is ready, and ends what is left of its group. Its outputs
    /// are read for `linger` after that: a process outside its group may hold them open.
    async fn run_to_end<T>(
        &self,
        (most, linger): (u64, Duration),
        stop: impl Future<Output = T>,
        alive: impl Fn(),
    ) -> io::Result<ProgramResult<T>> {
        // If the future is dropped, a program that must clean up gets SIGTERM before it is killed.
        let mut running = StopOnDrop { group: Some(self.spawn()?), is_graceful: !self.watched };
        let Some(group) = &mut running.group else { return Err(io::Error::other("it was not started")) };
        let [out, err] = self.tails(most);
        let mut talk = Box::pin(maybe_done(self.transfer(pipes(group), &out, &err, alive)));
        let end = tokio::select! {
            // `stop` is polled first: a program that exits at the same moment counts as stopped.
            biased;
            why = stop => Ok(End::Stopped(why)),
            end = wait_for_end(group, &mut talk) => end,
        };
        let mut children = vec![];
        if matches!(end, Ok(End::Stopped(_))) {
            // Read before the group ends: these commands show what the program waited for.
            children = group.children();
        }
        if matches!(end, Ok(End::Exited(_))) {
            // A filter between the program and its output may be behind it.
            let _ = timeout(SETTLE, &mut talk).await;
        } else if self.is_graceful {
            // A program that writes while it cleans up would block on a full pipe.
            end_while_reading(group, &mut talk).await?;
        }
        // Nothing that the program started in its group outlives it.
        group.kill();
        // Reads what was written before the kill.
        let _ = timeout(linger, async { tokio::join!(&mut talk, group.wait()) }).await;
        drop(talk);
        Ok(ProgramResult { end: end?, out, err, children })
    }

    fn tails(&self, most: u64) -> [Tail; 2] {
        self.kept.map(|kept| Tail::of(kept, most).with_head(self.head))
    }

    /// Writes its input and reads its outputs to their ends.
    async fn transfer(&self, pipes: Pipes, out: &Tail, err: &Tail, alive: impl Fn()) -> Result<(), ReadError> {
        let (stdin, stdout, stderr) = pipes;
        let fed = async { feed(stdin, &self.stdin).await.map_err(ReadError::from) };
        tokio::try_join!(fed, out.read(stdout, &alive), err.read(stderr, &alive)).map(|_| ())
    }

    pub(super) fn spawn(&self) -> io::Result<Group> {
        let cgroup = if self.watched && self.is_found() { Cgroup::create() } else { None };
        let mut command = match &cgroup {
            Some(cgroup) => cgroup.command(&self.name, |name| self.variable(name).is_some()),
            None => self.command(),
        };
        command.args(&self.args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if let Some(environment) = &self.environment {
            command.env_clear().envs(environment.iter());
        }
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        Group::spawn(command, self.watched, cgroup)
    }

    /// Returns a command with the program's resolved path, if known: a bare name is only looked up after the fork, and
    /// forking takes longer the more memory this process has.
    fn command(&self) -> Command {
        let Some(file) = self.file().filter(|file| runs_by_itself(file)) else { return Command::new(&self.name) };
        let mut command = Command::new(file);
        #[cfg(unix)]
        command.arg0(&self.name);
        command
    }

    /// Returns the path of the program in `PATH`; `None` if it is not found or depends on the working directory.
    fn file(&self) -> Option<PathBuf> {
        if self.name.as_encoded_bytes().contains(&b'/') {
            return None;
        }
        let mut files = self.places().take_while(|file| file.is_absolute());
        files.find(|file| is_program(file))
    }

    /// Returns the candidate paths, in the order of `PATH`.
    fn places(&self) -> impl Iterator<Item = PathBuf> {
        let folders: Vec<_> = self.variable("PATH").iter().flat_map(std::env::split_paths).collect();
        folders.into_iter().map(|folder| folder.join(&self.name))
    }

    /// Returns a variable of its environment.
    fn variable(&self, name: &str) -> Option<OsString> {
        let own = self.env.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value.clone());
        own.or_else(|| match &self.environment {
            Some(environment) => environment.get(name).map(OsString::from),
            None => std::env::var_os(name),
        })
    }

    /// True if the program exists. One that does not must fail to start here, and not inside the cgroup's shell.
    pub(crate) fn is_found(&self) -> bool {
        if self.name.as_encoded_bytes().contains(&b'/') {
            let at = self.directory.as_ref().map_or_else(|| PathBuf::from(&self.name), |place| place.join(&self.name));
            return is_program(&at);
        }
        self.places().any(|file| file.is_absolute() && is_program(&file))
    }
}

/// True for a file that this process may run.
#[cfg(unix)]
pub(crate) fn is_program(path: &Path) -> bool {
    path.is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}

#[cfg(not(unix))]
pub(crate) fn is_program(_: &Path) -> bool {
    false
}

/// True if the system runs a file directly: a script without an interpreter line is run by a shell, which needs the
/// name only.
fn runs_by_itself(file: &Path) -> bool {
    use std::io::Read;
    let mut begin = [0; 2];
    let read = std::fs::File::open(file).and_then(|mut file| file.read_exact(&mut begin));
    read.is_ok() && [*b"#!", *b"\x7fE"].contains(&begin)
}

/// A running program that gets SIGTERM if dropped early, and is killed if it does not exit in time.
struct StopOnDrop {
    group: Option<Group>,
    is_graceful: bool,
}

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        let Some(mut group) = self.group.take().filter(|_| self.is_graceful) else { return };
        let Ok(runtime) = Handle::try_current() else { return };
        if !group.has_exited() {
            group.terminate();
            runtime.spawn(async move { group.end(GRACE, Duration::ZERO).await.map(drop) });
        }
    }
}

/// The standard input, output and error of a child.
type Pipes = (Option<ChildStdin>, Option<ChildStdout>, Option<ChildStderr>);

pub(super) fn pipes(group: &mut Group) -> Pipes {
    let Child { stdin, stdout, stderr, .. } = group.child();
    (stdin.take(), stdout.take(), stderr.take())
}

/// Ends a program. Its outputs are read meanwhile: it may still write, and blocks if nobody reads.
async fn end_while_reading<F>(group: &mut Group, talk: &mut Pin<Box<MaybeDone<F>>>) -> io::Result<()>
where
    F: Future<Output = Result<(), ReadError>>,
{
    tokio::select! {
        ended = group.end(Duration::ZERO, GRACE) => ended.map(drop),
        () = async { talk.await; pending().await } => Ok(()),
    }
}

/// Waits for the program's exit or too much output. Checks the output first: the closed pipe would end the program.
async fn wait_for_end<T, F>(group: &mut Group, talk: &mut Pin<Box<MaybeDone<F>>>) -> io::Result<End<T>>
where
    F: Future<Output = Result<(), ReadError>>,
{
    tokio::select! {
        biased;
        () = &mut *talk => {}
        status = group.wait() => return status.map(End::Exited),
    }
    match talk.as_mut().output_mut() {
        Some(Err(ReadError::TooMuch)) => Ok(End::TooMuch),
        Some(Err(ReadError::Io(error))) => Err(io::Error::new(error.kind(), error.to_string())),
        Some(Ok(())) | None => group.wait().await.map(End::Exited),
    }
}

/// Writes the input as far as the program reads it.
pub(super) async fn feed(stdin: Option<ChildStdin>, text: &[u8]) -> io::Result<()> {
    let Some(mut stdin) = stdin else { return Ok(()) };
    match stdin.write_all(text).await {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}
