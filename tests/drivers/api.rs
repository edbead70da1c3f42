//! The driver `api` against a scripted server: real HTTP, real files, sessions that outlive their process.

mod completion;
mod errors;
mod foreign;
mod sessions;
mod wire;

use std::path::Path;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use superstep::drivers::api::{ApiConfig, ApiDriver, ApiKey};
use superstep::drivers::{
    Access, AgentEvent, AgentRequest, DriverError, DriverExt, Finished, Session, SessionRef, SessionStore, SubmitTool,
};
use tempfile::TempDir;

use crate::model_server::{ModelServer, Scenario};

const KEY: &str = "sk-very-secret-1";

/// A server, a folder to work in and a store; each turn gets a new driver, as in another process.
struct Scene {
    server: ModelServer,
    folder: TempDir,
}

impl Scene {
    async fn of(scenario: impl Into<Scenario>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("work")).unwrap();
        std::fs::write(folder.path().join("work/a.txt"), "tides").unwrap();
        Self { server: ModelServer::start(scenario).await, folder }
    }

    fn work(&self) -> std::path::PathBuf {
        self.folder.path().join("work")
    }

    fn store(&self) -> std::path::PathBuf {
        self.folder.path().join("sessions")
    }

    fn api(&self) -> ApiDriver {
        let config = ApiConfig::new(self.server.url()).key(ApiKey::new(KEY), "MY_KEY");
        ApiDriver::new(config, SessionStore::new(self.store())).unwrap()
    }

    fn request(&self, turn: &str, prompt: &str) -> AgentRequest {
        let mut request = AgentRequest::new("developer", prompt, self.work());
        request.model = Some("m".to_owned());
        request.system = "You are a test.".to_owned();
        request.turn = turn.to_owned();
        request.access = Access { write: true, shell: None };
        request.submit = Some(SubmitTool {
            name: "submit_work".to_owned(),
            description: "Hands the work over.".to_owned(),
            schema: json!({ "type": "object", "properties": { "summary": { "type": "string" } } }),
        });
        request
    }

    async fn finish(&self, request: AgentRequest) -> Result<Finished, DriverError> {
        self.api().finish(request, |_| ()).await
    }

    /// Runs a turn and returns its events and its result.
    async fn run(&self, request: AgentRequest) -> (Vec<AgentEvent>, Result<Finished, DriverError>) {
        let events = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&events);
        let ended = self.api().finish(request, move |event| log.lock().unwrap().push(event.clone())).await;
        let events = events.lock().unwrap().clone();
        (events, ended)
    }

    /// Returns everything in the store.
    fn stored(&self) -> String {
        let mut all = String::new();
        read_all(&self.store(), &mut all);
        all
    }
}

fn read_all(folder: &Path, all: &mut String) {
    for entry in std::fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => read_all(&path, all),
            false => all.push_str(&std::fs::read_to_string(path).unwrap()),
        }
    }
}

fn after(finished: &Finished) -> Session {
    Session::Resume(finished.session.clone().unwrap())
}

fn at(id: &str, turn: &str) -> Session {
    Session::Resume(SessionRef { id: id.to_owned(), turn: turn.to_owned() })
}

fn work_done() -> Value {
    json!({ "summary": "done" })
}
