//! A program with everything it is started with.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::Stdio;

use tokio::io::AsyncWriteExt;
use tokio::process::{Child, ChildStdin, Command};

use super::environment::Environment;
use super::group::Group;
use super::output::{Output, Tail};
use super::running::Running;

/// How many bytes of each output are kept unless said otherwise.
const KEPT: usize = 8 * 1024;

/// A program, its arguments, what it reads on its standard input, its environment and directory.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// use superstep::drivers::process::{Environment, Program};
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
    pub(super) kept: usize,
}

impl Program {
    /// Returns a program, found in `PATH` if it is no path, with empty input, in the environment and directory of this process.
    pub fn new(name: impl Into<OsString>) -> Self {
        let (args, stdin, env) = (vec![], vec![], vec![]);
        Self { name: name.into(), args, stdin, env, environment: None, directory: None, kept: KEPT }
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
        self.kept = bytes;
        self
    }

    /// Runs it until it has ended and its outputs are closed; `alive` is called whenever it writes something. If the future
    /// is dropped before, it is killed, with all processes of its group.
    ///
    /// # Errors
    /// If it cannot be started, or its outputs cannot be read. A code other than 0 is no error.
    pub async fn run(&self, alive: impl Fn()) -> io::Result<Output> {
        let mut group = self.spawn()?;
        let Child { stdin, stdout, stderr, .. } = group.child();
        let (stdin, stdout, stderr) = (stdin.take(), stdout.take(), stderr.take());
        let (out, err) = (Tail::of(self.kept), Tail::of(self.kept));
        tokio::try_join!(feed(stdin, &self.stdin), out.read(stdout, &alive), err.read(stderr, &alive))?;
        // Waited for last: until then the group's number cannot go to another process.
        let status = group.wait().await?;
        Ok(Output::new(status, &out, &err))
    }

    /// Starts it, to be followed line by line.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start(self) -> io::Result<Running> {
        let group = self.spawn()?;
        Ok(Running::of(group, self))
    }

    fn spawn(&self) -> io::Result<Group> {
        let mut command = Command::new(&self.name);
        command.args(&self.args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if let Some(environment) = &self.environment {
            command.env_clear().envs(environment.iter());
        }
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        Group::spawn(command)
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
