//! A plan of an architect that is part of the repository: when it is committed, also after it is replaced.

use std::sync::Arc;

use rstest::rstest;
use serde_json::{Value, json};
use superstep::nodes::{AfterHalt, PlanChanged, PlanChoice};
use superstep::plan::Issue;
use superstep_workflows::Profile;
use superstep_workflows::task_based::{ExecutionState, RunOutcome};

use crate::agent::{Agent, approved, part, rejected, work};
use crate::phases::scene::{Phases, git_in, halted, profile};
use crate::scene::{RunResult, asks, retry};

const PLAN: &str = "docs/plans/CLOCK-7.md";

fn two_phases() -> Value {
    json!({"goal": "A clock", "approach": "", "success_criteria": [], "tasks": [
        {"id": "1", "title": "One", "description": "Write one.", "depends_on": []},
        {"id": "2", "title": "Two", "description": "Write two.", "depends_on": ["1"]}]})
}

/// An architect who plans two phases, a developer who does nothing in the first turn on one task, a reviewer who
/// rejects the first attempt at one phase.
fn crew(idle: &'static str, flawed: &'static str) -> Arc<Agent> {
    Agent::new(move |call, folder, nth| {
        Ok(match call.tool.as_str() {
            "submit_plan" => two_phases(),
            "submit_work" if call.task == idle && call.attempt == 1 => work(),
            "submit_work" => part(folder, format!("{}-{nth}", call.task)),
            "submit_review" if call.task == flawed && call.attempt < 3 => rejected("flimsy"),
            _ => approved(),
        })
    })
}

/// Runs the plan of an architect to its first question after the approval.
async fn start_run(agent: Arc<Agent>) -> (Phases, RunResult) {
    let scene = Phases::new(agent);
    let issue = Issue { id: "CLOCK-7".into(), title: "Clock".into(), description: String::new() };
    let profile = Profile { plan_in_repo: true, max_task_review_iterations: 1, ..profile() };
    let input = ExecutionState::update().working_dir(scene.repository.path()).issue(Some(issue)).profile(profile);
    let outcome = scene.thread.invoke(input.wanted_branch(Some("superstep/clock".into()))).await.unwrap();
    assert_eq!(asks(&outcome), "approval");
    let outcome = scene.approve().await.unwrap();
    (scene, outcome)
}

impl Phases {
    /// Returns the files of each commit on the branch of the work, oldest first.
    fn changes(&self) -> Vec<String> {
        let log = self.git(&["log", "--reverse", "--format=%x00", "--name-only", "main..superstep/clock"]);
        log.split('\0').skip(1).map(|files| files.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
    }

    fn committed_plan(&self) -> Option<String> {
        self.at("superstep/clock", PLAN)
    }
}

fn reworded(outcome: &RunResult) -> String {
    let plan = outcome.state().source.plan_markdown.clone().unwrap();
    assert!(plan.contains("Write two."), "{plan}");
    plan.replace("Write two.", "Write two anew.")
}

#[tokio::test]
async fn a_plan_is_in_the_first_commit_and_not_in_the_checkout_before() {
    let seen = Agent::new(|call, folder, _| {
        let top = git_in(folder, &["rev-parse", "--path-format=absolute", "--git-common-dir"]);
        let is_there = std::path::Path::new(&top).parent().unwrap().join(PLAN).exists();
        if call.tool == "submit_work" {
            assert_eq!(is_there, call.task != "1", "it is no work of the user's");
        }
        Ok(match call.tool.as_str() {
            "submit_plan" => two_phases(),
            "submit_work" => part(folder, &call.task),
            _ => approved(),
        })
    });
    let (scene, outcome) = start_run(seen).await;
    assert_eq!(outcome.finished().unwrap().result.outcome, Some(RunOutcome::Completed));
    assert_eq!(scene.commits(), ["feat(CLOCK-7): One (task 1)", "feat(CLOCK-7): Two (task 2)"]);
    assert_eq!(scene.changes(), [format!("{PLAN} part-1.txt"), "part-2.txt".into()]);
    scene.is_over().await;
}

#[rstest]
#[case::in_the_first_phase("1", &["docs/plans/CLOCK-7.md part-1-1.txt", "part-2-2.txt"])]
#[case::in_a_later_phase("2", &["docs/plans/CLOCK-7.md part-1-0.txt", "docs/plans/CLOCK-7.md part-2-2.txt"])]
#[tokio::test]
async fn a_plan_that_is_edited_at_a_halt_is_in_the_next_commit(#[case] idle: &'static str, #[case] changes: &[&str]) {
    let (scene, outcome) = start_run(crew(idle, "")).await;
    assert_eq!(halted(&outcome)["subtask"], idle);
    let edited = reworded(&outcome);
    let state = scene.answer(AfterHalt::EditPlan { markdown: edited.clone() }).await.finished().unwrap();
    assert_eq!((state.result.outcome, scene.committed_plan()), (Some(RunOutcome::Completed), Some(edited.clone())));
    assert_eq!((scene.changes(), scene.file(PLAN)), (changes.iter().map(ToString::to_string).collect(), Some(edited)));
    scene.is_over().await;
}

#[tokio::test]
async fn a_plan_that_is_edited_in_the_checkout_and_adopted_is_in_the_next_commit() {
    let (scene, outcome) = start_run(crew("2", "")).await;
    let edited = reworded(&outcome);
    scene.write(PLAN, &edited);
    assert_eq!(asks(&scene.answer(retry(1, "")).await), "plan_changed");
    let state = scene.thread.resume::<PlanChanged>(PlanChoice::Adopt).await.unwrap().finished().unwrap();
    assert_eq!((state.result.outcome, scene.committed_plan()), (Some(RunOutcome::Completed), Some(edited)));
    scene.is_over().await;
}

#[tokio::test]
async fn an_edited_plan_survives_a_rejected_phase_and_is_no_file_change() {
    let (scene, outcome) = start_run(crew("2", "phase-2")).await;
    let edited = reworded(&outcome);
    let outcome = scene.answer(AfterHalt::EditPlan { markdown: edited.clone() }).await;
    assert_eq!(scene.agent.tasks("reviewer"), ["phase-1", "phase-2", "phase-2"]);
    let state = outcome.finished().unwrap();
    assert_eq!((state.result.outcome, scene.committed_plan()), (Some(RunOutcome::Completed), Some(edited)));
    scene.is_over().await;
}
