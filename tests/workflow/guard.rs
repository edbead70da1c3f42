//! Files that agents must not change and people may.

use std::path::Path;

use rstest::rstest;
use serde_json::json;
use superstep::drivers::DriverName;
use superstep::nodes::{AfterHalt, AgentQuestion, AgentReply, ApprovePlan, Crew, Halted};
use superstep::plan::Decision;
use superstep::prelude::*;
use superstep::workspace::Workspace;
use superstep_workflows::task_based::{ExecutionState, RunOutcome, graph};
use superstep_workflows::{OnExhausted, Profile};

use crate::agent::{Agent, Call, approved, part, work};
use crate::repository::{Repository, write};
use crate::scene::{Scene, asks, plan, profile, retry};

const HOOK: &str = ".git/hooks/pre-commit";

#[rstest]
#[case::a_hook_by_the_developer("developer", HOOK, "#!/bin/sh\n")]
#[case::the_configuration_by_the_developer("developer", ".git/config", "[core]\n\thooksPath = /tmp\n")]
#[case::a_hook_by_the_reviewer("reviewer", HOOK, "#!/bin/sh\n")]
#[tokio::test]
async fn an_agent_that_changes_hooks_or_configuration_halts_the_task(
    #[case] role: &'static str,
    #[case] file: &'static str,
    #[case] text: &'static str,
) {
    let agent = Agent::new(move |call, folder, nth| {
        if call.role == role {
            write(folder, file, text);
        }
        Ok(if call.role == "developer" { part(folder, nth) } else { approved() })
    });
    let scene = Scene::new(agent);
    let profile = Profile { on_exhausted: OnExhausted::Fail, ..profile() };
    let outcome = scene.run(&plan(3), profile).await;
    let halted = outcome.questions()[0].payload::<Halted>().unwrap();
    assert!(halted.reason.contains("changed git's hooks or configuration"), "{}", halted.reason);
    let state = scene.halted(AfterHalt::Abort).await.finished().unwrap();
    assert_eq!(state.result.outcome, Some(RunOutcome::Cancelled), "a person ended it");
}

#[tokio::test]
async fn a_person_may_change_hooks_while_a_developer_waits_for_an_answer() {
    let develop = |call: &Call, folder: &Path, nth| match nth {
        0 => json!({"status": "blocked", "summary": "", "question": "Which colour?"}),
        _ => {
            write(folder, &format!("part-{nth}.txt"), &call.prompt);
            work()
        }
    };
    let scene = Scene::new(Agent::crew(develop, |_, _| approved()));
    let outcome = scene.run(&plan(3), profile()).await;
    let Scene { repository, thread, .. } = &scene;
    assert_eq!(outcome.questions()[0].payload::<AgentQuestion>().unwrap().question, "Which colour?");
    repository.write(HOOK, "#!/bin/sh\nexit 0\n");
    repository.git(&["config", "core.abbrev", "12"]);
    let outcome = thread.resume::<AgentQuestion>(AgentReply::Reply { text: "Blue.".into() }).await.unwrap();
    assert!(matches!(outcome, Outcome::Finished(_)), "{outcome:?}");
    assert_eq!(repository.subjects("superstep/clock").len(), 4);
    assert!(repository.git(&["show", "superstep/clock:part-1.txt"]).contains("Blue."));
}

#[tokio::test]
async fn a_person_may_be_on_another_branch_when_a_failed_turn_is_retried() {
    let failed = std::sync::atomic::AtomicBool::new(false);
    let agent = Agent::new(move |call, folder, _| {
        if call.role != "developer" {
            return Ok(approved());
        }
        if call.task == "2" && !failed.swap(true, std::sync::atomic::Ordering::SeqCst) {
            return Err(superstep::drivers::DriverError::no_result(""));
        }
        assert!(call.task == "1" || folder.join("part-1.txt").exists(), "it works where the task began");
        Ok(part(folder, &call.task))
    });
    let scene = Scene::new(agent);
    scene.thread.invoke(scene.input(&plan(2), profile())).await.unwrap();
    assert!(scene.thread.resume::<ApprovePlan>(Decision::approve()).await.is_err());
    scene.repository.git(&["switch", "-q", "main"]);
    assert!(scene.thread.retry().await.unwrap().finished().is_some());
    assert_eq!(scene.commits().len(), 2);
}

#[tokio::test]
async fn two_runs_do_not_work_in_one_tree() {
    let repository = Repository::new();
    let scenario = "turns:\n- role: developer\n  times: always\n  steps:\n  - write: {path: a.txt, content: a}\n  submit: {status: done, summary: a}\n- role: reviewer\n  times: always\n  submit: {approved: true, summary: a}\n";
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), scenario).unwrap();
    let driver = DriverName::Scripted(file.path().to_owned());
    let profile = Profile { driver, ..profile() };
    let input =
        ExecutionState::update().working_dir(repository.path()).plan_markdown(Some("# A\n".into())).profile(profile);
    let graph = graph::<Crew>().unwrap().with_checkpointer(MemoryCheckpointer::new());
    let other = Workspace::open(repository.path()).await.unwrap().lock("other").await.unwrap();
    let thread = graph.thread_with("clock", Crew::new());
    thread.invoke(input).await.unwrap();
    let error = thread.resume::<ApprovePlan>(Decision::approve()).await.unwrap_err();
    assert!(error.to_string().contains("thread `other` in process"), "{error}");
    drop(other);
    assert!(matches!(thread.proceed().await.unwrap(), Outcome::Finished(_)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_threads_of_one_process_do_not_work_in_one_tree() {
    let (started, mut starts) = tokio::sync::mpsc::unbounded_channel();
    let (go, goes) = std::sync::mpsc::channel::<()>();
    let goes = std::sync::Mutex::new(goes);
    let waiting = Agent::crew(
        move |call, folder, nth| {
            if nth == 0 {
                started.send(()).unwrap();
                goes.lock().unwrap().recv().unwrap();
            }
            part(folder, &call.task)
        },
        |_, _| approved(),
    );
    let first = Scene::new(waiting);
    let agent = Agent::crew(|_, folder, _| part(folder, "bell"), |_, _| approved());
    let graph = graph::<std::sync::Arc<Agent>>().unwrap();
    let second = graph.with_checkpointer(MemoryCheckpointer::new()).thread_with("bell", std::sync::Arc::new(agent));
    second.invoke(first.input(&plan(1), profile())).await.unwrap();
    let thread = first.thread.clone();
    first.thread.invoke(first.input(&plan(2), profile())).await.unwrap();
    let running = tokio::spawn(async move { thread.resume::<ApprovePlan>(Decision::approve()).await });
    starts.recv().await.unwrap();
    let error = second.resume::<ApprovePlan>(Decision::approve()).await.unwrap_err();
    assert!(error.to_string().contains("thread `clock` in process"), "{error}");
    go.send(()).unwrap();
    assert!(matches!(running.await.unwrap().unwrap(), Outcome::Finished(_)));
    assert!(matches!(second.retry().await.unwrap(), Outcome::Finished(_)));
    assert_eq!(first.repository.subjects("superstep/clock").len(), 3);
    assert_eq!(first.repository.subjects("superstep/bell").len(), 4);
}

#[tokio::test]
async fn a_person_may_switch_to_another_branch_meanwhile() {
    let develop = |_: &Call, folder: &Path, nth| match nth {
        0 => {
            write(folder, HOOK, "#!/bin/sh\nexit 0\n"); // halts it
            work()
        }
        _ => part(folder, nth),
    };
    let scene = Scene::new(Agent::crew(develop, |_, _| approved()));
    assert_eq!(asks(&scene.run(&plan(3), profile()).await), "halted");
    let repository = &scene.repository;
    repository.git(&["switch", "-q", "main"]);
    let outcome = scene.halted(retry(1, "")).await;
    assert!(matches!(outcome, Outcome::Finished(_)), "{outcome:?}");
    assert_eq!(repository.subjects("main"), ["begin"]);
    assert_eq!(repository.subjects("superstep/clock").len(), 4);
}
