//! Nodes of plain functions: the constructor of nodes that read a job, perform it and create the update; and those that
//! need neither git nor agents, which run a shell command or move on to the next task. Must not know their purpose.

use std::future::ready;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::graph::node::WithOptions;
use crate::graph::{Ctx, Node, NodeError, NodeId, State, Writes};
use crate::nodes::job::{Context, Job, MakeUpdate, ReadJob, node};
use crate::plan::TaskProgress;
use crate::process::{Output, Program};

/// A command line for `sh -c`, with its standard input.
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
    program: Program,
}

/// The result of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandOutput {
    /// Its exit code; none if a signal ended it.
    pub code: Option<i32>,
    /// The end of its standard output.
    pub stdout: String,
    /// The end of its standard error.
    pub stderr: String,
}

impl CommandOutput {
    /// Returns true if the exit code is 0.
    pub fn is_success(&self) -> bool {
        self.code == Some(0)
    }
}

/// A command could not be started or observed to its end.
#[derive(Debug, thiserror::Error)]
#[error("cannot run `{line}` in a shell: {source}")]
pub struct CommandError {
    /// The command line.
    pub line: String,
    /// The cause.
    pub source: io::Error,
}

impl ShellCommand {
    /// Returns a command with empty input, in the environment and directory of this process.
    pub fn new(line: impl Into<String>) -> Self {
        let line = line.into();
        Self { program: Program::new("sh").args(["-c", &line]), line }
    }

    /// Sets the standard input. The command need not read all of it.
    pub fn stdin(mut self, text: impl Into<String>) -> Self {
        self.program = self.program.stdin(text.into());
        self
    }

    /// Sets a variable of its environment.
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.program = self.program.env(name.into(), value.into());
        self
    }

    /// Sets the directory it runs in.
    pub fn directory(mut self, path: impl Into<PathBuf>) -> Self {
        self.program = self.program.directory(path);
        self
    }

    /// Sets how many bytes are kept of the end of each output. Default: 8 KiB.
    pub fn keep(mut self, bytes: usize) -> Self {
        self.program = self.program.keep(bytes);
        self
    }

    /// Runs the command until it has ended; `alive` is called at each output. What it left running in the background is
    /// killed then. If the future is dropped before, the command's process group is killed.
    ///
    /// # Errors
    /// [`CommandError`] if it cannot be started, or its outputs cannot be read. A code other than 0 is no error.
    pub async fn run(self, alive: impl Fn()) -> Result<CommandOutput, CommandError> {
        let output = self.program.run(alive).await.map_err(|source| CommandError { line: self.line, source })?;
        let Output { code, stdout, stderr, .. } = output;
        Ok(CommandOutput { code, stdout, stderr })
    }
}

/// Returns a node that runs a shell command: `command` creates it from the state, `ended` the update from its result.
///
/// An exit code other than 0 is a result; the node fails only if the command cannot be run. Besides the command's own
/// variables, its environment names the place it runs at: `SUPERSTEP_THREAD`, `SUPERSTEP_NODE`, and
/// `SUPERSTEP_TASK_ID`, which stays the same when the node runs again after a crash. Output counts as activity for an
/// idle timeout. If the run is cancelled or the node times out, the command's process group is killed.
pub fn run_command<S: State, N: NodeId, C: Context>(
    command: impl ReadJob<S, ShellCommand>,
    ended: impl MakeUpdate<S, CommandOutput>,
) -> WithOptions<impl Node<S, N, C>, S, N, C> {
    node(command, ended)
}

impl<C: Context> Job<C> for ShellCommand {
    type Output = CommandOutput;

    async fn perform(self, ctx: &Ctx<C>) -> Result<CommandOutput, NodeError> {
        Ok(with_place(self, ctx).run(|| ctx.heartbeat()).await?)
    }
}

/// Adds the variables that name the place.
fn with_place<C>(command: ShellCommand, ctx: &Ctx<C>) -> ShellCommand {
    let command = command.env("SUPERSTEP_NODE", ctx.node()).env("SUPERSTEP_TASK_ID", ctx.task_id());
    match ctx.thread() {
        Some(thread) => command.env("SUPERSTEP_THREAD", thread.as_str()),
        None => command,
    }
}

/// Returns a node that moves on to the next task: the index grows by one, attempts are reset to 0. `progress` reads the
/// state, `moved` creates the update.
pub fn next_task_node<S: State, N: NodeId, C: Context, W: Into<Writes<S>> + 'static>(
    progress: impl Fn(&S) -> TaskProgress + Send + Sync + 'static,
    moved: impl Fn(TaskProgress) -> W + Send + Sync + 'static,
) -> impl Node<S, N, C> {
    move |state: Arc<S>, _: Ctx<C>| {
        let writes: Writes<S> = moved(progress(&state).next_task()).into();
        ready(Ok::<_, NodeError>(writes))
    }
}
