//! [`Scripted`]: plays the turns of a scenario, and changes files inside a folder: no absolute path, no `..`, no `.git`, no
//! symbolic link on the way. Each change is idempotent, because a turn that was killed is repeated.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use std::{fs, io};

use futures::future::BoxFuture;
use serde_json::{Value, json};
use superstep_base::{Fnv, files};
use tokio::time::{Instant, sleep_until};

use superstep_base::text::first_chars;

use super::choose::{self, ChosenTurn, Log};
use super::scenario::{EditFile, Failure, MoveFile, Scenario, ScenarioError, Step, ToolUse, WriteFile};
use crate::drivers::tools::{Records, RelativePath, refusal};
use crate::drivers::{
    AgentEvent, AgentEvents, AgentRequest, Capabilities, Driver, DriverError, DriverErrorClass, Finished, Sender,
    Session, SessionRef, TurnStatus, Usage, events,
};

/// Driver that plays the turns of a scenario.
///
/// The turn for a request is selected by role, task, attempt, session and prompt. If several match, or one may be used
/// more than once, the earlier uses in the run are counted. These counts and the results of turns are kept in a log: in
/// memory, or in a folder, by [`logged_in`](Self::logged_in), so that a process that resumes after a kill continues the
/// counts, repeats an unfinished turn, and knows the results of finished ones.
///
/// ```
/// # use superstep_agents as superstep;
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// use superstep::drivers::{AgentRequest, DriverExt, Scripted};
/// let scenario = "turns:\n- role: reviewer\n  steps: [say: I have read it.]\n  submit: {approved: true}\n";
/// let driver = Scripted::parse("demo.yaml", scenario)?;
/// # use superstep::drivers::SubmitTool;
/// let mut request = AgentRequest::new("reviewer", "Review it.", ".");
/// # let schema = serde_json::json!({"type": "object"});
/// request.submit = Some(SubmitTool { name: "submit_review".into(), description: "…".into(), schema });
/// let finished = driver.finish(request, |_| ()).await?;
/// assert_eq!(finished.submitted, Some(serde_json::json!({"approved": true})));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Scripted {
    name: String,
    scenario: Arc<Scenario>,
    log: Arc<Log>,
}

impl Scripted {
    /// Reads a scenario from a file.
    ///
    /// # Errors
    /// [`ScenarioError`] with file, line and key if it cannot be read or is invalid.
    pub fn open(file: impl AsRef<Path>) -> Result<Self, ScenarioError> {
        let file = file.as_ref();
        let text = files::text(file).map_err(|error| ScenarioError::read_error(file, &error))?;
        Self::parse(file, &text)
    }

    /// Reads a scenario from text; `file` names it.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn parse(file: impl AsRef<Path>, text: &str) -> Result<Self, ScenarioError> {
        let file = file.as_ref();
        let scenario = Scenario::parse(file, text)?;
        let name = format!("scripted:{}", file.display());
        Ok(Self { name, scenario: Arc::new(scenario), log: Arc::default() })
    }

    /// Keeps the log in a folder, in a file named after the scenario's. Several scenarios may share the folder, and so
    /// may several runs, if they have different [`TurnPlace::run`](crate::drivers::TurnPlace::run) and their turns different
    /// [`AgentRequest::turn`]. The folder is created when needed.
    #[must_use]
    pub fn logged_in(self, folder: impl Into<PathBuf>) -> Self {
        let log = Log::in_folder(&folder.into(), self.scenario.file());
        Self { log: Arc::new(log), ..self }
    }
}

impl Driver for Scripted {
    fn name(&self) -> &str {
        &self.name
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { sessions: true, submits: true, tools: true, usage: true, cost: true }
    }

    fn keeps_limits(&self) -> bool {
        true
    }

    fn run(&self, request: AgentRequest) -> AgentEvents {
        let Self { scenario, log, .. } = self.clone();
        events(|sender| async move {
            let chosen = choose::turn(&scenario, &log, &request)?;
            let ended = play(&scenario, &chosen, &request, &sender).await;
            log.record_end(&chosen, &request, &ended)?;
            ended
        })
    }

    fn finished_turn<'a>(
        &'a self,
        _: Option<&'a SessionRef>,
        turn: &'a str,
    ) -> BoxFuture<'a, Result<Option<Finished>, DriverError>> {
        Box::pin(std::future::ready(self.log.finished_turn(turn)))
    }
}

/// Plays a turn.
async fn play(
    scenario: &Scenario,
    chosen: &ChosenTurn<'_>,
    request: &AgentRequest,
    sender: &Sender,
) -> Result<Finished, DriverError> {
    let session = session(request)?;
    sender.send(AgentEvent::Started(session.clone())).await;
    let place = format!("turn {} of {}", chosen.number + 1, scenario.file_name());
    let context = TurnContext { request, sender, place, started: Instant::now() };
    let mut transcript = Transcript::default();
    for (number, step) in chosen.turn.steps.iter().enumerate() {
        context.run_step(number + 1, step, &mut transcript).await.map_err(|error| error.transcript(&transcript.all))?;
        if let Some(status) = context.exceeded_limit(&transcript.usage) {
            return Ok(transcript.into_result(status, None, session));
        }
    }
    if chosen.turn.submit.is_some() && request.submit.is_none() {
        return Err(context.scenario_error("it submits, but the request has no schema"));
    }
    transcript.last = chosen.turn.text.clone().unwrap_or(transcript.last);
    Ok(transcript.into_result(TurnStatus::Done, chosen.turn.submit.clone(), session))
}

/// Returns the session after this turn. The id of a new one is derived from the request, so that a repeated turn gets
/// the same id.
fn session(request: &AgentRequest) -> Result<SessionRef, DriverError> {
    let id = match &request.session {
        Session::New => format!("scripted-{:016x}", request_hash(request)),
        Session::Resume(session) if session.id.starts_with("scripted-") => session.id.clone(),
        Session::Resume(session) => {
            let message = format!("there is no session `{}` in a scenario", session.id);
            return Err(DriverError::new(DriverErrorClass::SessionLost, message));
        }
    };
    Ok(SessionRef { id, turn: request.turn.clone() })
}

fn request_hash(request: &AgentRequest) -> u64 {
    let mut hash = Fnv::new();
    let attempt = request.place.attempt.to_string();
    for part in [&request.role, &request.place.run, &request.place.task, &attempt, &request.turn] {
        hash.mix(part.as_bytes());
        hash.mix(&[0]);
    }
    hash.finish()
}

/// Output and usage so far.
#[derive(Default)]
struct Transcript {
    last: String,
    all: String,
    usage: Usage,
}

impl Transcript {
    fn into_result(self, status: TurnStatus, submitted: Option<Value>, session: SessionRef) -> Finished {
        Finished { status, text: self.last, submitted, session: Some(session), usage: self.usage }
    }
}

struct TurnContext<'a> {
    request: &'a AgentRequest,
    sender: &'a Sender,
    /// Description of the turn for messages.
    place: String,
    started: Instant,
}

impl TurnContext<'_> {
    async fn run_step(&self, number: usize, step: &Step, transcript: &mut Transcript) -> Result<(), DriverError> {
        if self.request.cancel.is_cancelled() {
            return Err(cancelled_error());
        }
        if step.writes() && !self.request.access.write {
            return Err(self.scenario_error(&format!(
                "step {number} (`{step}`) changes files, which the {} must not",
                self.request.role
            )));
        }
        match step {
            Step::Say(text) => {
                transcript.last.clone_from(text);
                transcript.all.push_str(text);
                transcript.all.push('\n');
                self.sender.send(AgentEvent::Text(text.clone())).await;
            }
            Step::Think(text) => self.sender.send(AgentEvent::Thinking(text.clone())).await,
            Step::Usage(more) => {
                transcript.usage += (*more).into();
                self.sender.send(AgentEvent::Usage(transcript.usage)).await;
            }
            Step::Wait(span) => self.wait(Some(span.0)).await?,
            Step::Hang => self.wait(None).await?,
            Step::Fail(failure) => return Err(self.failure_error(failure)),
            Step::Tool(used) => self.send_tool_use(number, used).await,
            Step::Write(_) | Step::Edit(_) | Step::Delete(_) | Step::Move(_) => self.change(number, step).await?,
        }
        Ok(())
    }

    async fn send_tool_use(&self, number: usize, ToolUse { name, arguments, result, ok }: &ToolUse) {
        let id = format!("step-{number}");
        let call = AgentEvent::ToolCall { id: id.clone(), name: name.clone(), arguments: arguments.clone() };
        self.sender.send(call).await;
        self.sender.send(AgentEvent::ToolResult { id, ok: *ok, text: result.clone() }).await;
    }

    async fn change(&self, number: usize, step: &Step) -> Result<(), DriverError> {
        let folder = &self.request.directory;
        let (arguments, done) = match step {
            Step::Write(write) => (json!({"path": write.path.to_string()}), write.apply(folder)),
            Step::Edit(edit) => (json!({"path": edit.path.to_string()}), edit.apply(folder)),
            Step::Delete(path) => (json!({"path": path.to_string()}), delete(path, folder)),
            Step::Move(moved) => {
                (json!({"from": moved.from.to_string(), "to": moved.to.to_string()}), moved.apply(folder))
            }
            _ => return Ok(()),
        };
        done.map_err(|error| self.scenario_error(&format!("step {number} (`{step}` {arguments}): {error}")))?;
        self.send_tool_use(number, &ToolUse { name: step.to_string(), arguments, result: "done".to_owned(), ok: true })
            .await;
        Ok(())
    }

    /// Waits within the limits of the turn; without a time, until a limit.
    async fn wait(&self, span: Option<Duration>) -> Result<(), DriverError> {
        let (now, limits) = (Instant::now(), self.request.limits);
        let limit = (self.started + limits.wall).min(now + limits.idle);
        let end = span.map(|span| now + span);
        tokio::select! {
            biased;
            () = self.request.cancel.cancelled() => Err(cancelled_error()),
            () = sleep_until(end.unwrap_or(limit)), if end.is_some_and(|end| end <= limit) => Ok(()),
            () = sleep_until(limit) => Err(DriverError::new(DriverErrorClass::Budget, format!("{}: its time is up", self.place))),
        }
    }

    fn exceeded_limit(&self, used: &Usage) -> Option<TurnStatus> {
        let limits = self.request.limits;
        if limits.tokens.is_some_and(|most| used.tokens() > most) {
            return Some(TurnStatus::TokenLimit);
        }
        limits.cost.is_some_and(|most| used.cost > most).then_some(TurnStatus::CostLimit)
    }

    fn failure_error(&self, failure: &Failure) -> DriverError {
        let message = match failure.message.as_str() {
            "" => format!("{} fails", self.place),
            message => message.to_owned(),
        };
        let error = DriverError::new(failure.class, message);
        failure.retry_after.into_iter().fold(error, |error, wait| error.retry_after(wait.0))
    }

    fn scenario_error(&self, what: &str) -> DriverError {
        DriverError::new(DriverErrorClass::Fatal, format!("{}: {what}", self.place)).help("see docs/scenarios.md")
    }
}

fn cancelled_error() -> DriverError {
    DriverError::new(DriverErrorClass::Cancelled, "the turn was cancelled")
}

/// Returns the path in a folder, after checking that no part of it is a link.
fn checked_path(at: &RelativePath, folder: &Path) -> io::Result<PathBuf> {
    let (mut path, records) = (folder.to_owned(), Records::load(folder));
    for name in at.names() {
        path.push(name);
        match fs::symlink_metadata(&path) {
            Ok(found) if found.is_symlink() => return Err(io::Error::other("there is a symbolic link on the way")),
            Ok(found) if found.is_dir() && records.contains(&path) => return Err(refusal()),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(path)
}

/// Fails if records are in a folder that is to be moved or deleted.
fn ensure_no_records(path: &Path, folder: &Path) -> io::Result<()> {
    if Records::load(folder).are_below(path) { Err(refusal()) } else { Ok(()) }
}

impl WriteFile {
    fn apply(&self, folder: &Path) -> io::Result<()> {
        let path = checked_path(&self.path, folder)?;
        with_folder(&path)?;
        fs::write(path, &self.content)
    }
}

impl EditFile {
    fn apply(&self, folder: &Path) -> io::Result<()> {
        let path = checked_path(&self.path, folder)?;
        let text = fs::read_to_string(&path)?;
        let edited = apply_edit(&text, &self.old, &self.new).or_else(|| self.with_line_ends_of(&text));
        match edited {
            Some(edited) => fs::write(path, edited),
            None => Err(io::Error::other(format!("`{}` is not there", first_line(&self.old)))),
        }
    }

    /// Returns the text after the edit if only its line ends differ from those of the scenario.
    fn with_line_ends_of(&self, text: &str) -> Option<String> {
        let lines = |written: &str| written.replace("\r\n", "\n");
        let ends = |written: &str| match text.contains("\r\n") {
            true => lines(written).replace('\n', "\r\n"),
            false => lines(written),
        };
        apply_edit(text, &ends(&self.old), &ends(&self.new))
    }
}

/// Returns the text after the edit, also if it was done before.
fn apply_edit(text: &str, old: &str, new: &str) -> Option<String> {
    let was_done = !new.is_empty() && text.contains(new);
    if was_done && (new.contains(old) || !text.contains(old)) {
        return Some(text.to_owned());
    }
    text.contains(old).then(|| text.replacen(old, new, 1))
}

fn first_line(text: &str) -> String {
    first_chars(text.trim().lines().next().unwrap_or_default(), 60).to_owned()
}

impl MoveFile {
    fn apply(&self, folder: &Path) -> io::Result<()> {
        let (from, to) = (checked_path(&self.from, folder)?, checked_path(&self.to, folder)?);
        if !from.exists() && to.exists() {
            return Ok(());
        }
        ensure_no_records(&from, folder)?;
        with_folder(&to)?;
        fs::rename(from, to)
    }
}

/// Removes a file, or a folder with its contents; does nothing if it does not exist.
fn delete(path: &RelativePath, folder: &Path) -> io::Result<()> {
    let path = checked_path(path, folder)?;
    ensure_no_records(&path, folder)?;
    let removed = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

fn with_folder(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)
}
