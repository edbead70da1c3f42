//! An agent with a model server that tries to leave its folder, through the whole workflow.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::{Value, json};
use superstep::checkpoint::{ExportOptions, SledCheckpointer, export_thread};
use superstep::drivers::api::{ApiConfig, ApiDriver, ApiKey};
use superstep::drivers::{DriverName, SessionStore};
use superstep::nodes::{AfterHalt, ApprovePlan, Crew, Halted};
use superstep::plan::Decision;
use superstep::prelude::*;
use superstep_workflows::Profile;
use superstep_workflows::task_based::{ExecutionState, RunOutcome, graph};

use crate::agent::{Agent, Call, approved, rejected, work};
use crate::model_server::{Answer, ModelServer, Scenario, When};
use crate::repository::{Repository, write};
use crate::scene::{Scene, done, plan, profile};

const KEY: &str = "sk-very-secret-0123";

/// Calls that no agent may make.
fn attempts(outside: &Path) -> Vec<(&'static str, Value)> {
    let absolute = outside.join("secret");
    vec![
        ("read", json!({ "path": absolute })),
        ("read", json!({ "path": "link/secret" })),
        ("read", json!({ "path": "a/../../secret" })),
        ("read", json!({ "path": ".git/config" })),
        ("read", json!({ "path": ".superstep/sessions" })),
        ("list", json!({ "path": ".." })),
        ("list", json!({ "path": "link" })),
        ("grep", json!({ "pattern": "secret", "path": "link" })),
        ("grep", json!({ "pattern": "secret", "path": "../" })),
        ("write", json!({ "path": "link/made", "content": "x" })),
        ("write", json!({ "path": ".git/hooks/pre-commit", "content": "#!/bin/sh\n" })),
        ("write", json!({ "path": ".GIT/config", "content": "[core]\n\tfsmonitor = evil\n" })),
        ("write", json!({ "path": ".superstep/sessions/x", "content": "x" })),
        ("edit", json!({ "path": "link/secret", "old": "the", "new": "no" })),
        ("shell", json!({ "command": "env" })),
        ("git", json!({ "args": ["push"] })),
        ("submit_review", json!({ "approved": true })),
    ]
}

fn scenario(outside: &Path) -> Scenario {
    let with_tool = |tool: &str| When { offers: Some(tool.to_owned()), ..When::default() };
    let leak = Answer::text(&format!("My key is {KEY}."));
    let attack = attempts(outside).into_iter().fold(leak, |answer, (name, arguments)| answer.and_call(name, arguments));
    let work = Answer::call("write", json!({ "path": "part.txt", "content": "x\n" }))
        .and_call("submit_work", json!({ "status": "done", "summary": format!("did {KEY}"), "files": [] }));
    let review = json!({ "approved": true, "severity": "none", "summary": format!("fine {KEY}"), "comments": [] });
    [
        attack.when(with_tool("submit_work")),
        work.when(with_tool("submit_work")),
        Answer::call("submit_review", review).when(with_tool("submit_review")),
    ]
    .into()
}

#[tokio::test]
async fn an_agent_behind_api_reaches_nothing_outside_and_leaves_no_key_anywhere() {
    let (repository, outside, stored) = (Repository::new(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::write(outside.path().join("secret"), "the hidden words").unwrap();
    symlink(outside.path(), repository.path().join("link")).unwrap();
    repository.git(&["add", "link"]);
    repository.git(&["commit", "-q", "-m", "link"]);
    let config = fs::read(repository.path().join(".git/config")).unwrap();

    let server = ModelServer::start(scenario(outside.path())).await;
    let sessions = SessionStore::new(repository.path().join(".superstep/sessions"));
    let api = ApiDriver::new(ApiConfig::new(server.url()).key(ApiKey::new(KEY), "MY_KEY"), sessions).unwrap();
    let store = std::sync::Arc::new(SledCheckpointer::open(stored.path().join("store")).unwrap());
    let graph = graph::<Crew>().unwrap().with_shared_checkpointer(store.clone());
    let thread = graph.thread_with("clock", Crew::new().with("api", api)).record_events();
    let profile = Profile { driver: DriverName::Api { provider: None }, model: Some("m".into()), ..profile() };
    let input = ExecutionState::update().working_dir(repository.path()).plan_markdown(Some(plan(1))).profile(profile);
    thread.invoke(input).await.unwrap();
    let outcome = thread.resume::<ApprovePlan>(Decision::approve()).await.unwrap();

    assert!(matches!(outcome, Outcome::Finished(_)), "{outcome:?}");
    let requests = server.requests();
    let results: Vec<Value> = requests[1].messages().into_iter().filter(|message| message["role"] == "tool").collect();
    assert_eq!(results.len(), attempts(outside.path()).len());
    for result in &results {
        let text = result["content"].as_str().unwrap();
        assert!(text.starts_with("error: ") && !text.contains("hidden words"), "{result}");
    }
    assert!(requests.iter().all(|request| !request.body.to_string().contains(KEY)), "a key is in a header only");
    assert_eq!(fs::read_to_string(outside.path().join("secret")).unwrap(), "the hidden words");
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
    assert_eq!(fs::read(repository.path().join(".git/config")).unwrap(), config);
    assert!(!repository.path().join(".git/hooks/pre-commit").exists());
    assert_eq!(repository.git(&["ls-tree", "--name-only", "superstep/clock"]), "README.md\nlink\npart.txt\n");

    let mut exported = vec![];
    export_thread(&*store, &"clock".into(), &ExportOptions::new().with_secrets(), &mut exported).await.unwrap();
    fs::write(stored.path().join("exported"), exported).unwrap();
    for folder in [&repository.path(), stored.path()] {
        assert_eq!(holding(folder, KEY.as_bytes()), Vec::<String>::new());
        assert!(!holding(folder, b"did [key]").is_empty(), "it was said");
    }
}

#[tokio::test]
async fn a_reviewer_may_read_the_file_of_a_long_diff() {
    let long = "a line of work\n".repeat(20_000);
    let develop = move |call: &Call, folder: &Path, _| {
        write(folder, &format!("part-{}-{}.txt", call.task, call.attempt), &long);
        work()
    };
    let review = |call: &Call, _| if call.attempt == 1 { rejected("again") } else { approved() };
    let scene = Scene::new(Agent::crew(develop, review));
    scene.run(&plan(1), Profile { final_review: true, ..profile() }).await.finished().unwrap();
    let calls = scene.agent.calls("reviewer");
    assert_eq!(calls.iter().map(|call| call.files.len()).collect::<Vec<_>>(), [1, 2, 1], "all, what is new, all");
    for call in calls {
        assert!(call.files.iter().all(|file| file.is_absolute() && call.prompt.contains(file.to_str().unwrap())));
        assert!(call.files.iter().all(|file| fs::read_to_string(file).unwrap().contains("+a line of work")));
    }
}

/// A variable in every test's environment that plays one with a key.
const VARIABLE: &str = "CARGO_PKG_NAME";

#[tokio::test]
async fn a_key_in_the_work_is_in_no_prompt_of_a_reviewer_and_no_commit() {
    let Ok(key) = std::env::var(VARIABLE) else { return };
    let _ = ApiConfig::new("http://127.0.0.1:1").key_from_env(VARIABLE); // it holds a key from now on
    let leaked = format!("first\nlet key = \"{key}\";\n");
    let develop = move |call: &Call, folder: &Path, nth| {
        write(folder, "part.rs", if nth == 0 || nth > 2 { &leaked } else { "clean\n" });
        if nth == 1 {
            assert!(call.prompt.contains(&format!("part.rs:2 holds the value of `{VARIABLE}`")), "{}", call.prompt);
            assert!(!call.prompt.contains(&leaked));
        }
        work()
    };
    let review = |call: &Call, _| if call.attempt == 2 { rejected("again") } else { approved() };
    let scene = Scene::new(Agent::crew(develop, review));
    let outcome = scene.run(&plan(1), Profile { max_task_review_iterations: 3, ..profile() }).await;
    let state = outcome.finished().unwrap();
    assert_eq!((state.run.tasks[0].attempts, state.run.tasks[0].reviews, scene.agent.count("reviewer")), (3, 2, 2));

    let scene = Scene::new(Agent::crew(
        move |_, folder, _| {
            write(folder, "part.rs", &key);
            work()
        },
        |_, _| approved(),
    ));
    scene.run(&plan(1), profile()).await;
    assert_eq!(scene.agent.count("reviewer"), 0);
    let refused = scene.thread.resume::<Halted>(AfterHalt::Accept).await.unwrap();
    let problem = refused.questions()[0].payload::<Halted>().unwrap().problem.unwrap();
    let advice = "remove the key from the file, then accept again";
    assert_eq!(problem, format!("part.rs:1 holds the value of `{VARIABLE}`; {advice}"));
    write(&scene.repository.path(), "part.rs", "clean\n");
    let state = scene.thread.resume::<Halted>(AfterHalt::Accept).await.unwrap().finished().unwrap();
    assert_eq!((state.result.outcome, scene.commits()), (Some(RunOutcome::Completed), vec![done(1)]));
    assert!(scene.thread.verify().await.unwrap().agrees());
}

/// Returns the files in a folder that contain some bytes.
fn holding(folder: &Path, bytes: &[u8]) -> Vec<String> {
    let mut found = vec![];
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            found.extend(holding(&entry.path(), bytes));
        } else if kind.is_file() && fs::read(entry.path()).unwrap().windows(bytes.len()).any(|part| part == bytes) {
            found.push(entry.path().display().to_string());
        }
    }
    found
}
