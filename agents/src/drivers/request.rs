//! Request to an agent: a turn of a session, in a folder, with limits. Plain data.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// One turn: a prompt, and the conditions the agent works under.
#[derive(Clone, Debug)]
pub struct AgentRequest {
    /// Role of the agent: `developer`. For logs, scenarios and recordings.
    pub role: String,
    /// Model; `None`: the driver's default.
    pub model: Option<String>,
    /// System prompt; sent when the session starts.
    pub system: String,
    /// Prompt of this turn.
    pub prompt: String,
    /// Working directory.
    pub directory: PathBuf,
    /// Files elsewhere that it may read and search, by their absolute paths.
    pub files: Vec<PathBuf>,
    /// Position in a run.
    pub place: TurnPlace,
    /// Session.
    pub session: Session,
    /// Key of the turn: a repeated turn with the same key, after its process was killed, is the same turn, and a driver
    /// that keeps sessions resumes it where it was.
    pub turn: String,
    /// Tool for submitting the result.
    pub submit: Option<SubmitTool>,
    /// Further permissions.
    pub access: Access,
    /// Limits.
    pub limits: Limits,
    /// Token that ends the turn, with every process it started.
    pub cancel: CancellationToken,
}

impl AgentRequest {
    /// Returns a turn of a new session in a folder, with read access and default limits.
    pub fn new(role: impl Into<String>, prompt: impl Into<String>, directory: impl Into<PathBuf>) -> Self {
        Self {
            role: role.into(),
            model: None,
            system: String::new(),
            prompt: prompt.into(),
            directory: directory.into(),
            files: vec![],
            place: TurnPlace::default(),
            session: Session::New,
            turn: String::new(),
            submit: None,
            access: Access::default(),
            limits: Limits::default(),
            cancel: CancellationToken::new(),
        }
    }
}

/// Position of a turn in a run: for logs, scenarios and recordings. Drivers of real agents ignore it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct TurnPlace {
    /// The run: scenario turns that happen once happen once per run.
    pub run: String,
    /// Id of the task in the plan; empty if there is none.
    pub task: String,
    /// Attempt at the task, from 1; 0 if there is none.
    pub attempt: u32,
}

/// Session of a turn.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Session {
    /// New session.
    #[default]
    New,
    /// Session with earlier turns.
    Resume(SessionRef),
}

/// Reference to a session after one of its turns: two turns that follow the same one do not see each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SessionRef {
    /// The session.
    pub id: String,
    /// [Key](AgentRequest::turn) of its last turn, or other data that its driver needs to resume; may be empty.
    #[serde(default)]
    pub turn: String,
}

/// Tool with which an agent submits its result, once, at the end.
#[derive(Clone, Debug, PartialEq)]
pub struct SubmitTool {
    /// Name: `submit_work`.
    pub name: String,
    /// Purpose of the tool.
    pub description: String,
    /// JSON schema of its arguments.
    pub schema: Value,
}

/// Permissions of an agent in its folder besides reading, listing and searching.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// Set if it may write and edit files.
    pub write: bool,
    /// Execution of commands; `None`: not allowed.
    pub shell: Option<Shell>,
}

/// Execution of an agent's commands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shell {
    /// Command and arguments placed before `sh -c COMMAND`: a sandbox.
    pub prefix: Vec<String>,
    /// Maximum time of one command, and CPU time of each of its processes; `None`: that of the driver.
    pub timeout: Option<Duration>,
}

/// Limits of one turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Requests to the model. Default: 200.
    pub requests: u32,
    /// Tokens; `None`: no limit.
    pub tokens: Option<u64>,
    /// Cost in millionths of a dollar; `None`: no limit.
    pub cost: Option<u64>,
    /// Time for the whole turn. Default: one hour.
    pub wall: Duration,
    /// Maximum time without output. Default: ten minutes.
    pub idle: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        let minutes = |n: u64| Duration::from_secs(n * 60);
        Self { requests: 200, tokens: None, cost: None, wall: minutes(60), idle: minutes(10) }
    }
}
