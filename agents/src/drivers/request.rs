//! What an agent is asked: a turn of a session, in a folder, with limits. Plain data.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// One turn: a prompt, and everything the agent works under.
#[derive(Clone, Debug)]
pub struct AgentRequest {
    /// In which role it works: `developer`. For logs, scenarios and recordings.
    pub role: String,
    /// The model; none: the driver's own choice.
    pub model: Option<String>,
    /// What stays the same for the session; told when it begins.
    pub system: String,
    /// What it is to do in this turn.
    pub prompt: String,
    /// The folder it works in.
    pub directory: PathBuf,
    /// Files elsewhere that it may read and search, by their absolute paths.
    pub files: Vec<PathBuf>,
    /// Where in a run it stands.
    pub place: Place,
    /// The session.
    pub session: Session,
    /// Names this turn: a turn that is run again under the same name, after its process was killed, is the same turn, and
    /// a driver that keeps sessions goes on where it was.
    pub turn: String,
    /// The tool by which it hands over its result.
    pub submit: Option<SubmitTool>,
    /// What else it may do.
    pub access: Access,
    /// How much it may use.
    pub limits: Limits,
    /// Ends the turn, with every process it started.
    pub cancel: CancellationToken,
}

impl AgentRequest {
    /// Returns a turn of a new session in a folder, which may read and has the usual limits.
    pub fn new(role: impl Into<String>, prompt: impl Into<String>, directory: impl Into<PathBuf>) -> Self {
        Self {
            role: role.into(),
            model: None,
            system: String::new(),
            prompt: prompt.into(),
            directory: directory.into(),
            files: vec![],
            place: Place::default(),
            session: Session::New,
            turn: String::new(),
            submit: None,
            access: Access::default(),
            limits: Limits::default(),
            cancel: CancellationToken::new(),
        }
    }
}

/// Where in a run a turn stands: for logs, scenarios and recordings. A driver of a real agent does not look at it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Place {
    /// The run: turns of a scenario that happen once happen once in each.
    pub run: String,
    /// The task's id in the plan; empty if the turn belongs to none.
    pub task: String,
    /// Which attempt at the task it is, from 1; 0 if it is none.
    pub attempt: u32,
}

/// Which session a turn belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Session {
    /// A new one.
    #[default]
    New,
    /// One that had turns before.
    Resume(SessionRef),
}

/// A session as it stands after one of its turns: two turns that follow the same one do not see each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SessionRef {
    /// The session.
    pub id: String,
    /// The [key](AgentRequest::turn) of its last turn, or what else its driver needs to go on; may be empty.
    #[serde(default)]
    pub turn: String,
}

/// A tool by which an agent hands over its result, once, at the end.
#[derive(Clone, Debug, PartialEq)]
pub struct SubmitTool {
    /// Its name: `submit_work`.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// The JSON schema of what it takes.
    pub schema: Value,
}

/// What an agent may do in its folder besides reading, listing and searching.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// Whether it may write and edit files.
    pub write: bool,
    /// How it may run commands; none: not at all.
    pub shell: Option<Shell>,
}

/// How commands of an agent are run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shell {
    /// A program and its arguments to put before `sh -c COMMAND`: a sandbox.
    pub prefix: Vec<String>,
}

/// How much one turn may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Requests to the model; 200.
    pub requests: u32,
    /// Tokens; none: no limit.
    pub tokens: Option<u64>,
    /// Millionths of a dollar; none: no limit.
    pub cost: Option<u64>,
    /// Time for the whole turn; one hour.
    pub wall: Duration,
    /// Time without a sign of life; ten minutes.
    pub idle: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        let minutes = |n: u64| Duration::from_secs(n * 60);
        Self { requests: 200, tokens: None, cost: None, wall: minutes(60), idle: minutes(10) }
    }
}
