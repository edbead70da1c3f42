//! [`CliAgent`]: its settings, and running its program for a turn.

use std::ffi::OsString;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::time::Instant;

use super::claude::CLAUDE;
use super::codex::CODEX;
use super::dialect::AgentProgram;
use super::input;
use super::turn::{Turn, cut};
use crate::drivers::session::TurnRequest;
use crate::drivers::{
    AgentEvent, AgentEvents, AgentRequest, Capabilities, Driver, DriverError, DriverErrorClass, Finished, Sender,
    SessionRef, SessionStore, events,
};
use crate::process::run_blocking;
use crate::process::{Environment, OutputItem, Program, Redactor, Running, StopReason, Watch};

/// Maximum number of bytes kept of an agent's standard error.
const STDERR: usize = 32 * 1024;

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
    kind: &'static AgentProgram,
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
        Self::new(&CODEX)
    }

    /// Returns the agent for the program `claude` (`claude -p --output-format stream-json`). It sees `ANTHROPIC_*`,
    /// `CLAUDE_CONFIG_DIR` and `CLAUDE_CODE_OAUTH_TOKEN`.
    pub fn claude() -> Self {
        Self::new(&CLAUDE)
    }

    /// Returns the agent for one of the [known programs](super::super::DriverName::programs).
    pub fn new(kind: &'static AgentProgram) -> Self {
        let environment = Environment::from_process().keep(kind.variables);
        let (args, prefix, grace) = (vec![], vec![], Duration::from_secs(5));
        Self { kind, program: kind.command.into(), args, prefix, environment, grace, store: None }
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
    pub fn run_in(mut self, prefix: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        self.prefix.extend(prefix.into_iter().map(Into::into));
        self
    }

    /// Passes further variables of this process, such as a proxy with a password. Secrets in them are hidden in the
    /// agent's output.
    pub fn pass_env(mut self, names: &[impl AsRef<str>]) -> Self {
        let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
        self.environment = self.environment.keep(&names);
        self
    }

    /// Stores the results of turns, so that the result of a finished turn survives a kill. The conversation itself is
    /// stored by the agent's own program.
    pub fn with_store(self, store: SessionStore) -> Self {
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
        let is_there = Program::new(program).environment(self.environment.clone()).is_found();
        (!is_there).then(|| program.to_string_lossy().into_owned())
    }

    async fn run_turn(self, request: AgentRequest, sender: Sender) -> Result<Finished, DriverError> {
        let schema = self.schema_file(&request)?;
        let started = Instant::now();
        let mut running = self.start(&request, schema.as_ref())?;
        let mut turn = Turn::of(self.kind.command, &request);
        let redactor = Redactor::new(self.environment.secrets());
        let stopped = self.read_events(&mut running, &mut turn, &request, &sender, &redactor).await;
        turn.set_duration(started.elapsed());
        let is_cut_short = turn.is_cut_short();
        let restore = |submitted| self.kind.dialect.restore(submitted);
        let finished = turn.result().map(|it| Finished { submitted: it.submitted.map(restore), ..it });
        if let Some(finished) = &finished {
            self.store_result(&request, finished, &sender).await;
        }
        let patience = if stopped.is_ok() && !is_cut_short { self.grace } else { Duration::ZERO };
        let exit = running.end(patience, self.grace).await;
        let ended = match (stopped, finished) {
            (_, Some(finished)) => Ok(finished),
            (Ok(()), None) => Err(turn.into_error(exit)),
            (Err(stopped), None) => Err(turn.stop_error(&stopped)),
        };
        ended.map_err(|error| DriverError {
            message: redactor.redact(&error.message),
            transcript: redactor.redact(&error.transcript),
            ..error
        })
    }

    /// Stores the result before anything else happens, so that it survives a kill.
    async fn store_result(&self, request: &AgentRequest, finished: &Finished, sender: &Sender) {
        let Some(store) = self.store.clone() else { return };
        let AgentRequest { session, turn, role, model, .. } = request.clone();
        let finished = finished.clone();
        let stored = run_blocking(move || {
            store.store_result(
                &TurnRequest { session: &session, turn: &turn, role: &role, model: model.as_deref() },
                finished,
            )
        });
        // The turn has ended all the same.
        if let Ok(Err(error)) = stored.await {
            sender
                .send(AgentEvent::Notice(format!(
                    "the turn could not be stored, and is lost if this process is killed now: {error}"
                )))
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
    ) -> Result<(), StopReason> {
        let (end, idle) = (Instant::now() + request.limits.wall, request.limits.idle);
        let watch = Watch { cancel: request.cancel.clone(), end, idle };
        while !turn.is_over() {
            let Some(output) = running.next(&watch).await? else { break };
            for event in self.events(output, turn, redactor) {
                sender.send(event).await;
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
        self.kind.dialect.events(turn, &redactor.redact_known_in(message))
    }

    /// Writes the result's schema to a file, if the program reads it from one.
    fn schema_file(&self, request: &AgentRequest) -> Result<Option<Scratch>, DriverError> {
        let failed =
            |error| DriverError::new(DriverErrorClass::Fatal, format!("cannot write a temporary file: {error}"));
        let schema = request.submit.as_ref().and_then(|submit| self.kind.dialect.schema_file(&submit.schema));
        schema.map(|schema| Scratch::with(&schema.to_string())).transpose().map_err(failed)
    }

    fn start(&self, request: &AgentRequest, schema: Option<&Scratch>) -> Result<Running, DriverError> {
        let args = self.kind.dialect.args(request, schema.map(|file| file.0.as_path()), &self.args);
        let mut words = self.prefix.iter().chain([&self.program]);
        let program = Program::new(words.next().unwrap_or(&self.program)).args(words).args(args);
        let program = program.directory(&request.directory).keep(STDERR);
        let program = program.environment(self.environment.clone()).stdin(input::of(request));
        program.start().map_err(|error| self.start_error(request, &error))
    }

    fn start_error(&self, request: &AgentRequest, error: &io::Error) -> DriverError {
        let fatal = |message| DriverError::new(DriverErrorClass::Fatal, message);
        if !request.directory.is_dir() {
            return fatal(format!("there is no folder {}", request.directory.display()));
        }
        if let Some(prefix) = self.prefix.first() {
            let prefix = prefix.to_string_lossy();
            return fatal(format!("cannot start `{prefix}`, which the agent is to run in: {error}"))
                .help("install it, or change `command_prefix` in the profile");
        }
        fatal(format!("cannot start `{}`: {error}", self.program.to_string_lossy())).help(self.kind.install)
    }
}

/// Temporary file, removed on drop.
struct Scratch(PathBuf);

impl Scratch {
    fn with(text: &str) -> io::Result<Self> {
        let name = format!("superstep-{:016x}.json", RandomState::new().build_hasher().finish());
        let path = std::env::temp_dir().join(name);
        let mut file = std::fs::OpenOptions::new().write(true).create_new(true).open(&path)?;
        let scratch = Self(path);
        file.write_all(text.as_bytes())?;
        Ok(scratch)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A leftover is a few bytes in a folder that the system cleans.
        let _ = std::fs::remove_file(&self.0);
    }
}

impl Driver for CliAgent {
    fn name(&self) -> &str {
        self.kind.name
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { sessions: true, submits: true, tools: false, usage: true, cost: self.kind.reports_cost }
    }

    fn keeps_limits(&self) -> bool {
        true
    }

    fn bounds_cost(&self) -> bool {
        self.kind.reports_cost
    }

    fn run(&self, request: AgentRequest) -> AgentEvents {
        let this = self.clone();
        events(|sender| this.run_turn(request, sender))
    }

    fn finished_turn<'a>(
        &'a self,
        session: Option<&'a SessionRef>,
        turn: &'a str,
    ) -> BoxFuture<'a, Result<Option<Finished>, DriverError>> {
        Box::pin(async move { self.store.as_ref().map_or(Ok(None), |store| store.finished_turn(session, turn)) })
    }
}
