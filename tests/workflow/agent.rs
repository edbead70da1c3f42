//! A driver whose agents do what a function says: they really write files.

use std::path::Path;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use superstep::drivers::{
    AgentEvents, AgentRequest, Capabilities, Driver, DriverError, Finished, Session, SessionRef, Status, Usage, events,
};

/// What an agent was asked.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) role: String,
    pub(crate) prompt: String,
    pub(crate) session: Session,
}

type Act = dyn Fn(&Asked, &Path, usize) -> Result<Value, DriverError> + Send + Sync;

/// An agent that hands over what a function returns; the function is given the number of the turn in its role.
pub(crate) struct Agent {
    act: Arc<Act>,
    pub(crate) log: Arc<Mutex<Vec<Asked>>>,
}

impl Agent {
    pub(crate) fn new(
        act: impl Fn(&Asked, &Path, usize) -> Result<Value, DriverError> + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self { act: Arc::new(act), log: Arc::default() })
    }

    /// How often a role was asked.
    pub(crate) fn count(&self, role: &str) -> usize {
        self.log.lock().unwrap().iter().filter(|asked| asked.role == role).count()
    }

    pub(crate) fn asked(&self, role: &str) -> Vec<Asked> {
        self.log.lock().unwrap().iter().filter(|asked| asked.role == role).cloned().collect()
    }
}

impl Driver for Agent {
    fn name(&self) -> &str {
        "agent"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { sessions: true, submits: true, ..Capabilities::default() }
    }

    fn run(&self, request: AgentRequest) -> AgentEvents {
        let (act, log) = (Arc::clone(&self.act), Arc::clone(&self.log));
        events(move |_| async move {
            let asked =
                Asked { role: request.role.clone(), prompt: request.prompt.clone(), session: request.session.clone() };
            let nth = log.lock().unwrap().iter().filter(|before| before.role == asked.role).count();
            log.lock().unwrap().push(asked.clone());
            let submitted = act(&asked, &request.directory, nth)?;
            let id = match request.session {
                Session::New => format!("{}-{nth}", asked.role),
                Session::Resume(session) => session.id,
            };
            let session = Some(SessionRef { id, turn: request.turn });
            let usage = Usage { input: 10, output: 5, cost: 100, requests: 1, ..Usage::default() };
            Ok(Finished { status: Status::Done, text: String::new(), submitted: Some(submitted), session, usage })
        })
    }
}

pub(crate) fn work() -> Value {
    json!({"status": "done", "summary": "did it", "files": []})
}

pub(crate) fn approved() -> Value {
    json!({"approved": true, "severity": "none", "summary": "fine"})
}

pub(crate) fn rejected(issue: &str) -> Value {
    json!({"approved": false, "severity": "major", "comments": [{"issue": issue, "severity": "major"}]})
}
