//! A driver whose agents are functions: they really write files.

use std::collections::HashMap;
use std::fmt::Display;
use std::path::Path;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use superstep::checkpoint::BoxFuture;
use superstep::drivers::{
    AgentEvent, AgentEvents, AgentRequest, Capabilities, Driver, DriverError, Finished, Session, SessionRef,
    TurnStatus, Usage, events,
};

use crate::repository::write;

/// A call of an agent.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) role: String,
    pub(crate) prompt: String,
    pub(crate) model: Option<String>,
    pub(crate) session: Session,
    /// Name of the tool that submits the result.
    pub(crate) tool: String,
    /// The task's number in the plan, and the attempt.
    pub(crate) task: String,
    pub(crate) attempt: u32,
    /// Readable files outside the folder.
    pub(crate) files: Vec<std::path::PathBuf>,
    /// Id of the session of the answer.
    pub(crate) answered_in: String,
    pub(crate) turn: String,
}

/// Cost of each turn, in millionths of a dollar.
pub(crate) const COST: u64 = 100;

type Act = dyn Fn(&Call, &Path, usize) -> Result<Value, DriverError> + Send + Sync;

/// An agent that submits the result of a function, which gets the number of the turn in its role.
pub(crate) struct Agent {
    act: Arc<Act>,
    pub(crate) log: Arc<Mutex<Vec<Call>>>,
    ended: Arc<Mutex<HashMap<String, Finished>>>,
}

impl Agent {
    pub(crate) fn new(
        act: impl Fn(&Call, &Path, usize) -> Result<Value, DriverError> + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self { act: Arc::new(act), log: Arc::default(), ended: Arc::default() })
    }

    /// Creates an agent whose developer runs `develop` in the folder, and whose reviewer returns the result of
    /// `review`; both get the call and the number of the turn in their role. The final review passes.
    pub(crate) fn crew(
        develop: impl Fn(&Call, &Path, usize) -> Value + Send + Sync + 'static,
        review: impl Fn(&Call, usize) -> Value + Send + Sync + 'static,
    ) -> Arc<Self> {
        Self::new(move |call, folder, nth| {
            Ok(match call.tool.as_str() {
                "submit_work" => develop(call, folder, nth),
                "submit_review" => review(call, nth),
                _ => approved(),
            })
        })
    }

    /// Creates an agent that writes a file for each task, and approves everything.
    pub(crate) fn willing() -> Arc<Self> {
        Self::crew(|call, folder, _| part(folder, &call.task), |_, _| approved())
    }

    /// Returns the tasks of a role's calls, in order.
    pub(crate) fn tasks(&self, role: &str) -> Vec<String> {
        self.calls(role).into_iter().map(|call| call.task).collect()
    }

    /// Returns the number of calls of a role.
    pub(crate) fn count(&self, role: &str) -> usize {
        self.log.lock().unwrap().iter().filter(|call| call.role == role).count()
    }

    pub(crate) fn calls(&self, role: &str) -> Vec<Call> {
        self.log.lock().unwrap().iter().filter(|call| call.role == role).cloned().collect()
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
        let (act, log, ended) = (Arc::clone(&self.act), Arc::clone(&self.log), Arc::clone(&self.ended));
        events(move |tell| async move {
            let role = request.role.clone();
            let nth = log.lock().unwrap().iter().filter(|before| before.role == role).count();
            let id = match &request.session {
                Session::New => format!("{role}-{nth}"),
                Session::Resume(session) => session.id.clone(),
            };
            let call = Call {
                role,
                prompt: request.prompt.clone(),
                model: request.model.clone(),
                session: request.session.clone(),
                tool: request.submit.as_ref().map(|tool| tool.name.clone()).unwrap_or_default(),
                task: request.place.task.clone(),
                attempt: request.place.attempt,
                files: request.files.clone(),
                answered_in: id.clone(),
                turn: request.turn.clone(),
            };
            log.lock().unwrap().push(call.clone());
            let usage = Usage { input: 10, output: 5, cost: COST, requests: 1, ..Usage::default() };
            let acted = act(&call, &request.directory, nth);
            if acted.as_ref().is_err_and(|error| error.refusal) {
                tell.send(AgentEvent::Usage(usage)).await; // an answer that is refused is paid for, no answer is not
            }
            let submitted = acted?;
            let session = Some(SessionRef { id, turn: request.turn.clone() });
            let submitted = Some(submitted).filter(|value| !value.is_null());
            let finished = Finished { status: TurnStatus::Done, text: String::new(), submitted, session, usage };
            ended.lock().unwrap().insert(request.turn, finished.clone());
            Ok(finished)
        })
    }

    fn finished_turn<'a>(
        &'a self,
        _: Option<&'a SessionRef>,
        turn: &'a str,
    ) -> BoxFuture<'a, Result<Option<Finished>, DriverError>> {
        let ended = self.ended.lock().unwrap().get(turn).cloned();
        Box::pin(std::future::ready(Ok(ended)))
    }
}

/// Writes a file for a task.
pub(crate) fn part(folder: &Path, name: impl Display) -> Value {
    write(folder, &format!("part-{name}.txt"), "x\n");
    work()
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
