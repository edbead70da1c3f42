//! Integrating the work of subtasks: commits, trailers, collisions, checks, and repeated subtasks.

use std::path::Path;
use std::sync::{Arc, Mutex};

use rstest::rstest;
use superstep::drivers::Session;
use superstep::nodes::AfterHalt;
use superstep::prelude::*;
use superstep_workflows::phased::{PhaseStatus, execute_phased_plan};
use superstep_workflows::task_based::RunOutcome;

use crate::agent::{Agent, Call, approved, part, work};
use crate::phases::scene::{Phases, done, git_in, halted, independent, plan, profile, statuses, task, three_phases};
use crate::repository::write;
use crate::scene::retry;

#[tokio::test]
async fn a_plan_with_dependencies_is_executed_in_phases_with_a_commit_for_each_subtask() {
    let scene = Phases::new(Agent::willing());
    let state = scene.run(&three_phases(), profile()).await.finished().unwrap();
    assert_eq!(state.result.outcome, Some(RunOutcome::Completed));
    assert_eq!(
        statuses(&state),
        [
            "1 completed: 1 completed",
            "2 completed: 2a completed, 2b completed, 2c completed",
            "3 completed: 3 completed"
        ]
    );
    assert_eq!(scene.commits(), ["1", "2a", "2b", "2c", "3"].map(done));
    assert_eq!(scene.trailers("Superstep-Thread"), ["clock"; 5]);
    assert_eq!(scene.trailers("Superstep-Task"), ["1", "2a", "2b", "2c", "3"]);
    assert_eq!(scene.trailers("Superstep-Phase"), ["1", "2", "2", "2", "3"]);
    assert_eq!(scene.trailers("Superstep-Attempt"), ["1"; 5]);
    let commits: Vec<String> =
        scene.git(&["log", "--reverse", "--format=%H", "superstep/clock"]).lines().map(str::to_owned).collect();
    let bases: Vec<_> = state.phased.phases.iter().map(|phase| phase.pre_phase_commit.clone().unwrap()).collect();
    assert_eq!(bases, [&commits[0], &commits[1], &commits[4]].map(Clone::clone));
    let made = state.phased.phases.iter().flat_map(|phase| &phase.subtasks).map(|one| one.commit.clone().unwrap());
    assert_eq!(made.collect::<Vec<_>>(), commits[1..]);
    assert!(state.phased.phases.iter().all(|phase| phase.review_result.as_ref().is_some_and(|review| review.approved)));
    assert_eq!(
        (state.run.tasks.len(), scene.agent.count("reviewer"), scene.file("part-3.txt")),
        (0, 3, Some("x\n".into()))
    );
    assert!(scene.agent.calls("developer").iter().all(|call| call.session == Session::New));
    scene.is_over().await;
}

/// The same agents and the same plan with the graphs of the parts, each of which is a node of the next.
#[tokio::test]
async fn an_approved_plan_is_executed_by_the_graphs_of_the_parts() {
    let scene = Phases::new(Agent::willing());
    let graph = execute_phased_plan::<Arc<Agent>>().unwrap().with_checkpointer(MemoryCheckpointer::new());
    let thread = graph.thread_with("clock", Arc::new(Arc::clone(&scene.agent)));
    let ran = thread.invoke(scene.input(&three_phases(), profile())).await.unwrap();
    let state = ran.finished().unwrap();
    assert_eq!(state.result.outcome, Some(RunOutcome::Completed));
    assert_eq!(scene.commits(), ["1", "2a", "2b", "2c", "3"].map(done));
    assert_eq!(scene.trailers("Superstep-Phase"), ["1", "2", "2", "2", "3"]);
    assert_eq!(scene.agent.count("reviewer"), 3);
}

/// Each subtask writes its own line into the same file; one that runs again leaves it alone, from the given turn on.
fn colliding() -> Arc<Agent> {
    Agent::crew(
        |call, folder, _| {
            part(folder, &call.task);
            if call.attempt == 1 {
                write(folder, "README.md", &format!("# Clock of {}, {}\n", call.task, call.attempt));
            }
            work()
        },
        |_, _| approved(),
    )
}

#[tokio::test]
async fn colliding_work_is_repeated_on_the_integrated_work() {
    let scene = Phases::new(colliding());
    let state = scene.run(&independent(&["1", "2", "3"]), profile()).await.finished().unwrap();
    assert_eq!(state.result.outcome, Some(RunOutcome::Completed));
    assert_eq!(scene.commits(), ["1", "2", "3"].map(done));
    assert_eq!(scene.trailers("Superstep-Attempt"), ["1"; 3]);
    assert_eq!(scene.file("README.md").as_deref(), Some("# Clock of 1, 1\n"));
    assert_eq!(scene.salvage(), ["phase-1/attempt-1/task-2", "phase-1/attempt-1/task-3"]);
    assert_eq!(scene.salvaged("phase-1/attempt-1/task-2", "README.md").as_deref(), Some("# Clock of 2, 1\n"));
    let again = &scene.prompts("2")[1];
    assert!(again.contains("README.md") && again.contains("collide"), "{again}");
    assert!(again.contains("refs/superstep/clock/phase-1/attempt-1/task-2"), "{again}");
    let sessions: Vec<_> = scene.agent.calls("developer").into_iter().map(|call| call.session).collect();
    assert!(sessions.len() == 5 && sessions.iter().all(|session| *session == Session::New), "{sessions:?}");
    assert!(
        state.result.notices.iter().any(|notice| notice.contains("subtask 2 runs once more")),
        "{:?}",
        state.result.notices
    );
    assert_eq!(scene.agent.count("reviewer"), 1);
    scene.is_over().await;
}

#[tokio::test]
async fn a_repeated_subtask_starts_at_the_integrated_commit_in_a_new_worktree() {
    let log = Arc::new(Mutex::new(vec![]));
    let noted = Arc::clone(&log);
    let agent = Agent::crew(
        move |call, folder, _| {
            let subject = git_in(folder, &["log", "-1", "--format=%s"]);
            noted.lock().unwrap().push((
                call.task.clone(),
                folder.to_owned(),
                subject,
                folder.join("mine.txt").exists(),
            ));
            write(folder, "mine.txt", &call.task);
            work()
        },
        |_, _| approved(),
    );
    let scene = Phases::new(agent);
    scene.run(&independent(&["1", "2"]), profile()).await.finished().unwrap();
    let log = log.lock().unwrap().clone();
    let [first, _, again] = log.as_slice() else { panic!("{log:?}") };
    assert_eq!((first.2.as_str(), again.0.as_str(), again.2.clone(), again.3), ("begin", "2", done("1"), true));
    assert!(log[..2].iter().all(|(_, folder, _, _)| *folder != again.1));
}

#[tokio::test]
async fn a_second_collision_halts() {
    // The repeated subtask changes its part, which the commands of the first task forbid: it never fits.
    let checked =
        plan(&[task("1", "none", "**Verify:** `! test -e part-2.txt`"), task("2", "none", ""), task("3", "none", "")]);
    let scene = Phases::new(Agent::crew(
        |call, folder, _| {
            write(folder, &format!("part-{}.txt", call.task), &call.attempt.to_string());
            work()
        },
        |_, _| approved(),
    ));
    let outcome = scene.run(&checked, profile()).await;
    let payload = halted(&outcome);
    assert_eq!((&payload["phase"], &payload["subtask"]), (&1.into(), &"2".into()));
    let reason = payload["reason"].as_str().unwrap();
    assert!(reason.contains("a check fails once it is put together") && reason.contains("part-2.txt"), "{reason}");
    assert_eq!(statuses(outcome.state()), ["1 failed: 1 completed, 2 failed, 3 completed"]);
    assert_eq!(outcome.state().result.outcome, Some(RunOutcome::Halted));
    let names = ["task-1", "task-2", "task-2-2", "task-3"].map(|name| format!("phase-1/attempt-1/{name}"));
    assert_eq!(scene.salvage(), names);
    let named: Vec<_> = names.iter().map(|name| format!("refs/superstep/clock/{name}")).collect();
    assert_eq!(payload["salvage"], serde_json::json!(named));
    assert_eq!(scene.salvaged(&names[1], "part-2.txt").as_deref(), Some("1"));
    assert_eq!(scene.salvaged(&names[2], "part-2.txt").as_deref(), Some("2"));
    assert_eq!((scene.agent.count("developer"), scene.commits()), (4, vec![]));
    scene.is_tidy().await;
    assert_eq!(scene.git(&["status", "--porcelain"]), "");

    let state = scene.answer(AfterHalt::Skip).await.finished().unwrap();
    assert_eq!(statuses(&state), ["1 completed: 1 completed, 2 failed, 3 completed"]);
    assert_eq!((scene.commits(), scene.agent.count("developer")), (vec![done("1"), done("3")], 4));
    scene.is_over().await;
}

#[tokio::test]
async fn a_check_that_fails_on_the_integrated_work_counts_for_the_later_subtask() {
    let checked = plan(&[
        task("1", "none", "**Verify:** `! test -e big.txt`"),
        task("2", "none", "**Verify:** `test -e part-2.txt`"),
    ]);
    let agent = Agent::crew(
        |call, folder, _| {
            part(folder, &call.task);
            if call.task == "2" && call.attempt == 1 {
                write(folder, "big.txt", "x\n");
            }
            work()
        },
        |_, _| approved(),
    );
    let scene = Phases::new(agent);
    let state = scene.run(&checked, profile()).await.finished().unwrap();
    assert_eq!((scene.commits(), state.result.outcome), (["1", "2"].map(done).to_vec(), Some(RunOutcome::Completed)));
    let again = &scene.prompts("2")[1];
    assert!(again.contains("! test -e big.txt") && again.contains("put together"), "{again}");
    assert_eq!(scene.prompts("1").len(), 1);
    assert_eq!(scene.salvaged("phase-1/attempt-1/task-2", "big.txt").as_deref(), Some("x\n"));
    scene.is_over().await;
}

#[rstest]
#[case::named(false)]
#[case::refused(true)]
#[tokio::test]
async fn undeclared_files_are_named(#[case] strict_files: bool) {
    let declared = plan(&[
        task("1", "none", "**Files:** `part-1.txt`"),
        task("2", "none", "**Files:** `part-2.txt`, `src/**`"),
        task("3", "none", ""),
    ]);
    let agent = Agent::crew(
        |call, folder, _| {
            write(folder, &format!("src/{}.rs", call.task), "x\n");
            part(folder, &call.task)
        },
        |_, _| approved(),
    );
    let scene = Phases::new(agent);
    let mut profile = profile();
    profile.phased.strict_files = strict_files;
    let outcome = scene.run(&declared, profile).await;
    if strict_files {
        let payload = halted(&outcome);
        assert_eq!(payload["subtask"], "1");
        assert_eq!(payload["reason"], "it changed files that it does not declare: src/1.rs");
        assert_eq!(scene.agent.count("developer"), 3, "it does not run once more");
        scene.is_tidy().await;
        return;
    }
    let state = outcome.finished().unwrap();
    let named: Vec<_> = state.result.notices.iter().filter(|notice| notice.contains("declare")).collect();
    assert_eq!(named, ["phase 1, subtask 1, attempt 1: changed files that it does not declare: src/1.rs"]);
    assert_eq!(state.phased.phases[0].subtasks[0].files, ["part-1.txt", "src/1.rs"]);
    scene.is_over().await;
}

fn changing_nothing(call: &Call, folder: &Path) -> serde_json::Value {
    if call.task == "2" { work() } else { part(folder, &call.task) }
}

#[tokio::test]
async fn a_subtask_planned_without_changes_is_done_without_a_commit() {
    let scene = Phases::new(Agent::crew(|call, folder, _| changing_nothing(call, folder), |_, _| approved()));
    let nothing = "**Verify:** `true`\n\n**Changes:** nothing";
    let all = plan(&[task("1", "none", ""), task("2", "none", nothing), task("3", "1, 2", "")]);
    let state = scene.run(&all, profile()).await.finished().unwrap();
    assert_eq!(statuses(&state), ["1 completed: 1 completed, 2 completed", "2 completed: 3 completed"]);
    assert_eq!((scene.commits(), &state.phased.phases[0].subtasks[1].commit), (["1", "3"].map(done).to_vec(), &None));
    scene.is_over().await;
}

#[tokio::test]
async fn a_phase_whose_subtasks_change_nothing_is_completed() {
    let scene = Phases::new(Agent::crew(|call, folder, _| changing_nothing(call, folder), |_, _| approved()));
    let nothing = "**Verify:** `true`\n\n**Changes:** nothing";
    let all = plan(&[task("2", "none", nothing), task("3", "2", "")]);
    let state = scene.run(&all, profile()).await.finished().unwrap();
    assert_eq!(statuses(&state), ["1 completed: 2 completed", "2 completed: 3 completed"]);
    assert_eq!(state.phased.phases[0].pre_phase_commit, state.phased.phases[1].pre_phase_commit);
    assert_eq!(scene.commits(), [done("3")]);
    scene.is_over().await;
}

#[tokio::test]
async fn a_retry_after_a_collision_runs_the_subtask_again_on_the_integrated_work() {
    let agent = Agent::crew(
        |call, folder, _| {
            if call.attempt < 3 || call.task == "1" {
                write(folder, "same.txt", &format!("{} {}\n", call.task, call.attempt));
            }
            part(folder, &call.task)
        },
        |_, _| approved(),
    );
    let checked = plan(&[task("1", "none", "**Verify:** `grep -q '^1' same.txt`"), task("2", "none", "")]);
    let scene = Phases::new(agent);
    let outcome = scene.run(&checked, profile()).await;
    assert_eq!(halted(&outcome)["subtask"], "2");
    let state = scene.answer(retry(1, "leave same.txt alone")).await.finished().unwrap();
    assert_eq!((state.result.outcome, scene.commits()), (Some(RunOutcome::Completed), ["1", "2"].map(done).to_vec()));
    assert_eq!(scene.trailers("Superstep-Attempt"), ["1", "2"]);
    let again = scene.prompts("2").pop().unwrap();
    assert!(again.contains("leave same.txt alone") && again.contains("task-2-2"), "{again}");
    assert!(state.phased.phases[0].subtasks.iter().all(|subtask| subtask.status == PhaseStatus::Completed));
    scene.is_over().await;
}
