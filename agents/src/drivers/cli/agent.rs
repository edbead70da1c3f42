//! [`CliAgent`]: its settings, and running its program for a turn.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::time::Instant;

use super::codex::{self, Scratch};
use super::turn::{Turn, cut};
use super::{claude, input};
use crate::drivers::session::TurnRequest;
use crate::drivers::{
    AgentEvent, AgentEvents, AgentRequest, Capabilities, Driver, DriverError, ErrorClass, Finished, Sender, SessionRef,
    SessionStore, events,
};
use crate::process::{Environment, OutputItem, Program, Redactor, Running, Stopped, Watch};

/// Maximum number of bytes kept of an agent's standard error.
const STDERR: usize = 32 * 1024;

/// Supported programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dialect {
    Codex,
    Claude,
}

impl Dialect {
    fn program(self) -> &'static str {
        match self {
            Self::Codex => codex::PROGRAM,
            Self::Claude => claude::PROGRAM,
        }
    }
}

/// Driver that runs a coding agent's program. Prompts are passed on standard input; it sees an [`Environment`] of
/// listed variables; when cancelled, dropped or out of time, it is killed with all processes it started.
///
/// The agent has its own tools: of [`Access`](super::super::Access), only write permission is passed to it, by its own
/// options. The result is requested with the submit tool's schema.
///
/// ```
/// # use superstep_agents as superstep;
/// use superstep::drivers::{CliAgent, Driver};
/// let codex = CliAgent::codex().args(["-c", "model_reasoning_effort=high"]).env("HTTPS_PROXY", "http://proxy:3128");
/// assert_eq!(codex.name(), "cli:codex");
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct CliAgent {
    dialect: Dialect,
    program: OsString,
    args: Vec<OsString>,
    /// Command placed before the program.
    prefix: Vec<OsString>,
    environment: Environment,
    grace: Duration,
    store: Option<SessionStore>,
}

impl CliAgent {
    /// Returns the agent for the program `codex` (`codex exec --json`). It sees `CODEX_HOME`, `CODEX_API_KEY`,
    /// `OPENAI_API_KEY` and `OPENAI_BASE_URL`.
    pub fn codex() -> Self {
        Self::of(Dialect::Codex, &codex::VARIABLES)
    }

    /// Returns the agent for the program `claude` (`claude -p --output-format stream-json`). It sees `ANTHROPIC_*`,
    /// `CLAUDE_CONFIG_DIR` and `CLAUDE_CODE_OAUTH_TOKEN`.
    pub fn claude() -> Self {
        Self::of(Dialect::Claude, &claude::VARIABLES)
    }

    fn of(dialect: Dialect, variables: &[&str]) -> Self {
        let environment = Environment::allowed().keep(variables);
        let (args, prefix, grace) = (vec![], vec![], Duration::from_secs(5));
        Self { dialect, program: dialect.program().into(), args, prefix, environment, grace, store: None }
    }

    /// Sets the program, by path or name.
    pub fn program(self, program: impl Into<OsString>) -> Self {
        Self { program: program.into(), ..self }
    }

    /// Adds arguments.
    pub fn args(mut self, args: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Sets a command to run the agent's program in, such as a sandbox.
    pub fn behind(mut self, prefix: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        self.prefix.extend(prefix.into_iter().map(Into::into));
        self
    }

    /// Passes further variables of this process, such as a proxy with a password. Secrets in them are hidden in the
    /// agent's output.
    pub fn passing(mut self, names: &[impl AsRef<str>]) -> Self {
        let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
        self.environment = self.environment.keep(&names);
        self
    }

    /// Stores the results of turns, so that the result of a finished turn survives a kill. The conversation itself is
    /// stored by the agent's own program.
    pub fn keeping(self, store: SessionStore) -> Self {
        Self { store: Some(store), ..self }
    }

    /// Sets an environment variable. Values of variables with key-like names are hidden in the agent's output.
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.environment = self.environment.set(name, value);
        self
    }

    /// Sets the time it may take to exit after its result or a request to end. Default: 5 seconds.
    pub fn grace(self, grace: Duration) -> Self {
        Self { grace, ..self }
    }

    /// Returns the program that has to be installed and is not on the agent's `PATH`: its own, or the command it runs in.
    pub fn missing_program(&self) -> Option<String> {
        let program = self.prefix.first().unwrap_or(&self.program);
        let is_there = is_installed(Path::new(program), self.environment.get("PATH"));
        (!is_there).then(|| program.to_string_lossy().into_owned())
    }

    async fn run_turn(self, request: AgentRequest, sender: Sender) -> Result<Finished, DriverError> {
        let schema = self.schema(&request)?;
        let started = Instant::now();
        let mut running = self.start(&request, schema.as_ref())?;
        let mut turn = Turn::of(self.dialect.program(), &request);
        let redactor = Redactor::new(self.environment.secrets());
        let stopped = self.read_events(&mut running, &mut turn, &request, &sender, &redactor).await;
        turn.took(started.elapsed());
        let (is_cut_short, finished) = (turn.is_cut_short(), turn.result().map(|finished| self.restored(finished)));
        if let Some(finished) = &finished {
            self.store_result(&request, finished, &sender).await;
        }
        let patience = if stopped.is_ok() && !is_cut_short { self.grace } else { Duration::ZERO };
        let exit = running.end(patience, self.grace).await;
        let ended = match (stopped, finished) {
            (_, Some(finished)) => Ok(finished),
            (Ok(()), None) => Err(turn.failed(exit)),
            (Err(stopped), None) => Err(turn.stopped(&stopped)),
        };
        ended.map_err(|error| DriverError {
            message: redactor.redact(&error.message),
            transcript: redactor.redact(&error.transcript),
            ..error
        })
    }

    /// Returns the result with what was submitted in the form of the submit tool's schema.
    fn restored(&self, finished: Finished) -> Finished {
        match self.dialect {
            Dialect::Codex => Finished { submitted: finished.submitted.map(codex::without_nulls), ..finished },
            Dialect::Claude => finished,
        }
    }

    /// Stores the result before anything else happens, so that it survives a kill.
    async fn store_result(&self, request: &AgentRequest, finished: &Finished, sender: &Sender) {
        let Some(store) = self.store.clone() else { return };
        let AgentRequest { session, turn, role, model, .. } = request.clone();
        let finished = finished.clone();
        let stored = tokio::task::spawn_blocking(move || {
            store.store_result(
                &TurnRequest { session: &session, turn: &turn, role: &role, model: model.as_deref() },
                finished,
            )
        });
        // The turn has ended all the same.
        if let Ok(Err(error)) = stored.await {
            sender
                .tell(AgentEvent::Notice(format!("should this process be killed now, the turn is lost: {error}")))
                .await;
        }
    }

    /// Reads the program's output until it reports its result, or ends.
    async fn read_events(
        &self,
        running: &mut Running,
        turn: &mut Turn,
        request: &AgentRequest,
        sender: &Sender,
        redactor: &Redactor,
    ) -> Result<(), Stopped> {
        let (end, idle) = (Instant::now() + request.limits.wall, request.limits.idle);
        let watch = Watch { cancel: request.cancel.clone(), end, idle };
        while !turn.is_over() {
            let Some(output) = running.next(&watch).await? else { break };
            for event in self.events(output, turn, redactor) {
                sender.tell(event).await;
            }
        }
        Ok(())
    }

    fn events(&self, output: OutputItem, turn: &mut Turn, redactor: &Redactor) -> Vec<AgentEvent> {
        let line = match output {
            OutputItem::Line(line) if line.trim().is_empty() => return vec![],
            OutputItem::Line(line) => line,
            OutputItem::TooLong(bytes) => {
                return vec![AgentEvent::Notice(format!("a message of {bytes} bytes was left out"))];
            }
        };
        let Ok(message) = serde_json::from_str(&line) else {
            return vec![turn.notice(&format!("no JSON: {}", redactor.redact(&cut(&line, 200))))];
        };
        let message = redactor.known_in(message);
        match self.dialect {
            Dialect::Codex => codex::events(turn, &message),
            Dialect::Claude => claude::events(turn, &message),
        }
    }

    fn schema(&self, request: &AgentRequest) -> Result<Option<Scratch>, DriverError> {
        match (&request.submit, self.dialect) {
            (Some(submit), Dialect::Codex) => codex::schema_file(&submit.schema).map(Some),
            (_, Dialect::Claude) | (None, _) => Ok(None),
        }
    }

    fn start(&self, request: &AgentRequest, schema: Option<&Scratch>) -> Result<Running, DriverError> {
        let args = match self.dialect {
            Dialect::Codex => codex::args(request, schema.map(Scratch::path), &self.args),
            Dialect::Claude => claude::args(request, &self.args),
        };
        let mut words = self.prefix.iter().chain([&self.program]);
        let program = Program::new(words.next().unwrap_or(&self.program)).args(words).args(args);
        let program = program.directory(&request.directory).keep(STDERR);
        let program = program.environment(self.environment.clone()).stdin(input::of(request));
        program.start().map_err(|error| self.missing(request, &error))
    }

    fn missing(&self, request: &AgentRequest, error: &io::Error) -> DriverError {
        if !request.directory.is_dir() {
            let message = format!("there is no folder {}", request.directory.display());
            return DriverError::new(ErrorClass::Fatal, message);
        }
        if let Some(prefix) = self.prefix.first() {
            let message = format!("cannot start `{}`, which the agent is to run in: {error}", prefix.to_string_lossy());
            return DriverError::new(ErrorClass::Fatal, message)
                .help("install it, or change `command_prefix` in the profile");
        }
        let message = format!("cannot start `{}`: {error}", self.program.to_string_lossy());
        let help = match self.dialect {
            Dialect::Codex => codex::INSTALL,
            Dialect::Claude => claude::INSTALL,
        };
        DriverError::new(ErrorClass::Fatal, message).help(help)
    }
}

/// Returns whether a program can be started: by its path, or by its name in a folder of `PATH`.
fn is_installed(program: &Path, path: Option<&OsStr>) -> bool {
    let runs = |file: &Path| {
        let suffixes = if cfg!(windows) { &["exe", "cmd", "bat"][..] } else { &[][..] };
        is_executable(file) || suffixes.iter().any(|suffix| is_executable(&file.with_extension(suffix)))
    };
    if program.components().count() > 1 {
        return runs(program);
    }
    path.is_some_and(|path| std::env::split_paths(path).any(|folder| runs(&folder.join(program))))
}

fn is_executable(file: &Path) -> bool {
    let Ok(about) = std::fs::metadata(file) else { return false };
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        about.is_file() && about.permissions().mode() & 0o111 != 0
    }
    #[cfg(not(unix))]
    {
        about.is_file()
    }
}

impl Driver for CliAgent {
    fn name(&self) -> &str {
        match self.dialect {
            Dialect::Codex => codex::NAME,
            Dialect::Claude => claude::NAME,
        }
    }

    fn capabilities(&self) -> Capabilities {
        let cost = self.dialect == Dialect::Claude;
        Capabilities { sessions: true, submits: true, tools: false, usage: true, cost }
    }

    fn keeps_limits(&self) -> bool {
        true
    }

    fn bounds_cost(&self) -> bool {
        self.dialect == Dialect::Claude
    }

    fn run(&self, request: AgentRequest) -> AgentEvents {
        let this = self.clone();
        events(|sender| this.run_turn(request, sender))
    }

    fn ended<'a>(
        &'a self,
        session: Option<&'a SessionRef>,
        turn: &'a str,
    ) -> BoxFuture<'a, Result<Option<Finished>, DriverError>> {
        Box::pin(async move { self.store.as_ref().map_or(Ok(None), |store| store.ended(session, turn)) })
    }
}
