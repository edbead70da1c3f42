//! [`Scripted`]: driver for a scenario and its log.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::future::BoxFuture;
use superstep_base::files;

use super::log::Log;
use super::scenario::{Scenario, ScenarioError};
use super::{choose, play};
use crate::drivers::{AgentEvents, AgentRequest, Capabilities, Driver, DriverError, Finished, SessionRef, events};

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
        let text = files::text(file).map_err(|error| ScenarioError::unread(file, &error))?;
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
    /// may several runs, if they have different [`Place::run`](crate::drivers::Place::run) and their turns different
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
            let ended = play::turn(&scenario, &chosen, &request, &sender).await;
            log.ended(&chosen, &request, &ended)?;
            ended
        })
    }

    fn ended<'a>(
        &'a self,
        _: Option<&'a SessionRef>,
        turn: &'a str,
    ) -> BoxFuture<'a, Result<Option<Finished>, DriverError>> {
        Box::pin(std::future::ready(self.log.finished(turn)))
    }
}
