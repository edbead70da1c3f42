//! A program with everything it is started with.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use futures::future::{MaybeDone, maybe_done};
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::runtime::Handle;
use tokio::time::timeout;

use super::cgroup::Cgroup;
use super::environment::Environment;
use super::group::Group;
use super::output::{Broken, Output, Tail};

/// How many bytes of each output are kept unless said otherwise.
const KEPT: usize = 8 * 1024;

/// How long a program may take to end when it is asked to.
const GRACE: Duration = Duration::from_secs(2);

/// A program, its arguments, what it reads on its standard input, its environment and directory.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// use superstep::process::{Environment, Program};
/// let program = Program::new("tr").args(["a-z", "A-Z"]).stdin("tides").environment(Environment::allowed());
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
    /// Of the standard output, of the standard error.
    pub(super) kept: [usize; 2],
    /// How many bytes are kept of the beginning of each output besides.
    head: usize,
    watched: bool,
    /// Whether it is asked to end, and killed only if it does not.
    asked: bool,
}

/// What ends a program before its time that is run to its end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// How long it may take.
    pub(crate) time: Duration,
    /// How many bytes each output may have.
    pub(crate) output: u64,
    /// How long its outputs are read once it has ended: others may hold them open.
    pub(crate) linger: Duration,
}

/// How a program ended.
#[derive(Debug)]
pub(crate) enum How {
    Exited(ExitStatus),
    /// It was killed: it wrote too much.
    TooMuch,
    /// It was killed: it took too long.
    TooLong,
}

/// A program that was run within bounds.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) how: How,
    pub(crate) out: Tail,
    pub(crate) err: Tail,
}

impl Program {
    /// Returns a program, found in `PATH` if it is no path, with empty input, in the environment and directory of this process.
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
            asked: false,
        }
    }

    /// Adds arguments.
    pub fn args(mut self, args: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Sets what it reads on its standard input. It need not read all of it.
    pub fn stdin(mut self, text: impl Into<Vec<u8>>) -> Self {
        self.stdin = text.into();
        self
    }

    /// Gives it these variables, instead of those of this process.
    pub fn environment(mut self, environment: Environment) -> Self {
        self.environment = Some(environment);
        self
    }

    /// Sets a variable besides.
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// Sets the directory it runs in.
    pub fn directory(mut self, path: impl Into<PathBuf>) -> Self {
        self.directory = Some(path.into());
        self
    }

    /// Sets how many bytes are kept of the end of an output; 8 KiB unless set.
    pub fn keep(mut self, bytes: usize) -> Self {
        self.kept = [bytes; 2];
        self
    }

    /// Sets how many bytes are kept of the end of its standard output alone.
    pub(crate) fn keep_output(mut self, bytes: usize) -> Self {
        self.kept[0] = bytes;
        self
    }

    /// Sets how many bytes are kept of the beginning of each output besides those of its end.
    pub(crate) fn keep_head(mut self, bytes: usize) -> Self {
        self.head = bytes;
        self
    }

    /// Asks it to end if it goes beyond its [`Bounds`], and kills it, with its group, only if it does not.
    pub(crate) fn asked_to_end(mut self) -> Self {
        self.asked = true;
        self
    }

    /// Lets it outlive this process, should that be killed: it ends by itself, and soon. If it has to end before its time, it is
    /// asked to, and killed only if it does not: it has things to leave in order, such as locks.
    pub(crate) fn unwatched(mut self) -> Self {
        self.watched = false;
        self.asked_to_end()
    }

    /// Runs it until it has ended and its outputs are closed; `alive` is called whenever it writes something. If the future
    /// is dropped before, it is killed, with all processes of its group.
    ///
    /// # Errors
    /// If it cannot be started, or its outputs cannot be read. A code other than 0 is no error.
    pub async fn run(&self, alive: impl Fn()) -> io::Result<Output> {
        let mut group = self.spawn()?;
        let [out, err] = self.tails(u64::MAX);
        self.talk(pipes(&mut group), &out, &err, alive).await?;
        self.ended(group, [&out, &err]).await
    }

    /// Runs it as [`run`](Self::run) does, unless `stop` is ready before: its group is asked to end then, and killed if it takes its
    /// time. Returns what stopped it in place of its output.
    pub(crate) async fn run_until<T>(
        &self,
        stop: impl Future<Output = T>,
        alive: impl Fn(),
    ) -> io::Result<Result<Output, T>> {
        let mut group = self.spawn()?;
        let [out, err] = self.tails(u64::MAX);
        let mut talk = Box::pin(maybe_done(self.talk(pipes(&mut group), &out, &err, alive)));
        let stopped = tokio::select! {
            biased;
            why = stop => Some(why),
            () = &mut talk => None,
        };
        let Some(why) = stopped else {
            talk.as_mut().take_output().transpose()?;
            return self.ended(group, [&out, &err]).await.map(Ok);
        };
        // It may still write while it ends.
        let (ended, _) = tokio::join!(group.end(Duration::ZERO, GRACE), timeout(GRACE, talk));
        ended.map(|_| Err(why))
    }

    /// Waits for the end of a program that has closed its outputs.
    async fn ended(&self, mut group: Group, [out, err]: [&Tail; 2]) -> io::Result<Output> {
        // Waited for last: until then the group's number cannot go to another process.
        let status = group.wait().await?;
        if self.watched {
            group.kill(); // what it left running ends with it
        }
        Ok(Output::new(status, out, err))
    }

    /// Runs it until it has ended or goes beyond its bounds; what it left running in its group ends with it.
    pub(crate) async fn run_within(&self, bounds: &Bounds) -> io::Result<Ran> {
        self.run_alive_within(bounds, || ()).await
    }

    /// The same; `alive` is called whenever it writes something.
    pub(crate) async fn run_alive_within(&self, bounds: &Bounds, alive: impl Fn()) -> io::Result<Ran> {
        let mut leaving = Leaving { group: Some(self.spawn()?), is_asked: !self.watched };
        let Some(group) = &mut leaving.group else { return Err(io::Error::other("it was not started")) };
        let [out, err] = self.tails(bounds.output);
        let mut talk = Box::pin(maybe_done(self.talk(pipes(group), &out, &err, alive)));
        let how = timeout(bounds.time, ended(group, &mut talk)).await.unwrap_or(Ok(How::TooLong));
        if self.asked && !matches!(how, Ok(How::Exited(_))) {
            group.end(Duration::ZERO, GRACE).await?;
        }
        group.kill();
        // What was written before is still read.
        let _ = timeout(bounds.linger, async { tokio::join!(&mut talk, group.wait()) }).await;
        drop(talk);
        Ok(Ran { how: how?, out, err })
    }

    fn tails(&self, most: u64) -> [Tail; 2] {
        self.kept.map(|kept| Tail::of(kept, most).with_head(self.head))
    }

    /// Writes its input and reads its outputs, to their ends.
    async fn talk(&self, pipes: Pipes, out: &Tail, err: &Tail, alive: impl Fn()) -> Result<(), Broken> {
        let (stdin, stdout, stderr) = pipes;
        let fed = async { feed(stdin, &self.stdin).await.map_err(Broken::from) };
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

    /// A command by the file of the program, if that is known: a name is looked for only once this process is copied, which takes
    /// the longer the more memory it has.
    fn command(&self) -> Command {
        let Some(file) = self.file().filter(|file| runs_by_itself(file)) else { return Command::new(&self.name) };
        let mut command = Command::new(file);
        #[cfg(unix)]
        command.arg0(&self.name);
        command
    }

    /// The file of the program, as `PATH` has it; none if it is not there, or depends on the directory.
    fn file(&self) -> Option<PathBuf> {
        if self.name.as_encoded_bytes().contains(&b'/') {
            return None;
        }
        let mut files = self.places().take_while(|file| file.is_absolute());
        files.find(|file| is_program(file))
    }

    /// The files that it may be, in the order of `PATH`.
    fn places(&self) -> impl Iterator<Item = PathBuf> {
        let folders: Vec<_> = self.variable("PATH").iter().flat_map(std::env::split_paths).collect();
        folders.into_iter().map(|folder| folder.join(&self.name))
    }

    /// A variable of its environment.
    fn variable(&self, name: &str) -> Option<OsString> {
        let own = self.env.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value.clone());
        own.or_else(|| match &self.environment {
            Some(environment) => environment.get(name).map(OsString::from),
            None => std::env::var_os(name),
        })
    }

    /// Returns whether there is such a program. What is not there fails to start, and not only inside a shell.
    fn is_found(&self) -> bool {
        if self.name.as_encoded_bytes().contains(&b'/') {
            let at = self.directory.as_ref().map_or_else(|| PathBuf::from(&self.name), |place| place.join(&self.name));
            return is_program(&at);
        }
        self.places().any(|file| file.is_absolute() && is_program(&file))
    }
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    path.is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}

#[cfg(not(unix))]
fn is_program(_: &Path) -> bool {
    false
}

/// Returns whether the system runs a file as it is: a script that does not name its interpreter is run by a shell, which is looked for
/// by name only.
fn runs_by_itself(file: &Path) -> bool {
    use std::io::Read;
    let mut begin = [0; 2];
    let read = std::fs::File::open(file).and_then(|mut file| file.read_exact(&mut begin));
    read.is_ok() && [*b"#!", *b"\x7fE"].contains(&begin)
}

/// A program whose end may not be waited for: dropped before, it is asked to end, and killed if it takes its time.
struct Leaving {
    group: Option<Group>,
    is_asked: bool,
}

impl Drop for Leaving {
    fn drop(&mut self) {
        let Some(mut group) = self.group.take().filter(|_| self.is_asked) else { return };
        let Ok(runtime) = Handle::try_current() else { return };
        if !group.has_left() {
            group.ask();
            runtime.spawn(async move { group.end(GRACE, Duration::ZERO).await.map(drop) });
        }
    }
}

/// Input, output and errors of a child.
type Pipes = (Option<ChildStdin>, Option<ChildStdout>, Option<ChildStderr>);

pub(super) fn pipes(group: &mut Group) -> Pipes {
    let Child { stdin, stdout, stderr, .. } = group.child();
    (stdin.take(), stdout.take(), stderr.take())
}

/// Waits until a program has ended, or has written too much: told before the closed pipe ends it by itself.
async fn ended<F>(group: &mut Group, talk: &mut Pin<Box<MaybeDone<F>>>) -> io::Result<How>
where
    F: Future<Output = Result<(), Broken>>,
{
    tokio::select! {
        biased;
        () = &mut *talk => {}
        status = group.wait() => return status.map(How::Exited),
    }
    match talk.as_mut().output_mut() {
        Some(Err(Broken::TooMuch)) => Ok(How::TooMuch),
        Some(Err(Broken::Io(error))) => Err(io::Error::new(error.kind(), error.to_string())),
        Some(Ok(())) | None => group.wait().await.map(How::Exited),
    }
}

/// Writes the input, as far as the program reads it.
pub(super) async fn feed(stdin: Option<ChildStdin>, text: &[u8]) -> io::Result<()> {
    let Some(mut stdin) = stdin else { return Ok(()) };
    match stdin.write_all(text).await {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}
