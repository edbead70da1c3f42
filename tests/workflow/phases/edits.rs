//! Another plan at a halt of a phase: what is kept, what runs again, and when it must be approved.

use std::sync::Arc;

use rstest::rstest;
use superstep::nodes::{AfterHalt, AfterMove, ApprovePlan, BranchMoved, PlanChanged, PlanChoice};
use superstep::plan::Decision;
use superstep_workflows::task_based::RunOutcome;
use superstep_workflows::{OnSubtaskFailure, Profile};

use crate::agent::{Agent, approved, rejected, work};
use crate::phases::scene::{Phases, done, halted, plan, profile, statuses, task};
use crate::repository::write;
use crate::scene::{asks, retry};

/// Phase 1: 1; phase 2: 2 and 3 after 1; phase 3: 4 after 2.
fn tasks() -> [String; 4] {
    [task("1", "none", ""), task("2", "1", "**Verify:** `test -e good.txt`"), task("3", "1", ""), task("4", "2", "")]
}

/// The plan with another wording of task 2.
fn reworded() -> String {
    plan(&tasks()).replace("Write part 2.", "Write another part 2.")
}

/// Writes the number of the turn; task 2 passes from its second turn on.
fn failing_once() -> Arc<Agent> {
    Agent::crew(
        |call, folder, _| {
            write(folder, &format!("part-{}.txt", call.task), &format!("{}\n", call.attempt));
            if call.task == "2" && call.attempt > 1 {
                write(folder, "good.txt", "x\n");
            }
            work()
        },
        |_, _| approved(),
    )
}

fn patient() -> Profile {
    let mut profile = Profile { max_task_review_iterations: 1, ..profile() };
    profile.phased.on_failure = OnSubtaskFailure::FinishSiblings;
    profile
}

fn edit(markdown: &str) -> AfterHalt {
    AfterHalt::EditPlan { markdown: markdown.to_owned() }
}

#[tokio::test]
async fn an_edited_plan_with_the_same_phases_and_commands_applies_at_once() {
    let scene = Phases::new(failing_once());
    let outcome = scene.run(&plan(&tasks()), patient()).await;
    assert_eq!(halted(&outcome)["subtask"], "2");
    let before = outcome.state().phased.phases[1].pre_phase_commit.clone();
    let state = scene.answer(edit(&reworded())).await.finished().unwrap();
    assert_eq!(scene.agent.tasks("developer")[3..], ["2", "4"]);
    let prompt = &scene.prompts("2")[1];
    assert!(prompt.contains("Write another part 2.") && prompt.contains("phase-2/attempt-1/task-2"), "{prompt}");
    assert_eq!(scene.commits(), ["1", "2", "3", "4"].map(done));
    assert_eq!(scene.trailers("Superstep-Attempt"), ["1", "2", "1", "1"]);
    assert_eq!((&state.phased.phases[1].pre_phase_commit, state.phased.phases[1].attempt), (&before, 2));
    assert_eq!(
        (state.source.plan_markdown.clone(), state.result.outcome),
        (Some(reworded()), Some(RunOutcome::Completed))
    );
    scene.is_over().await;
}

/// The plan with a task between 2 and 4.
fn longer() -> String {
    let [one, two, three, _] = tasks();
    plan(&[one, two, three, task("5", "2", ""), task("4", "5", "")])
}

#[rstest]
#[case::phases(longer(), &["1", "2", "3", "5", "4"])]
#[case::commands(plan(&tasks()).replace("test -e good.txt", "test -e part-2.txt"), &["1", "2", "3", "4"])]
#[tokio::test]
async fn an_edited_plan_with_other_phases_or_commands_is_approved_again(
    #[case] markdown: String,
    #[case] all: &[&str],
) {
    let scene = Phases::new(failing_once());
    scene.run(&plan(&tasks()), patient()).await;
    let outcome = scene.answer(edit(&markdown)).await;
    assert_eq!(asks(&outcome), "approval");
    assert_eq!(scene.agent.count("developer"), 3);
    scene.is_tidy().await;
    let state = scene.approve().await.unwrap().finished().unwrap();
    assert_eq!(scene.commits(), all.iter().map(|id| done(id)).collect::<Vec<_>>());
    assert_eq!(scene.agent.count("developer"), all.len() + 1, "what is done is kept");
    assert_eq!(scene.trailers("Superstep-Attempt")[..3], ["1", "2", "1"]);
    assert_eq!(state.result.outcome, Some(RunOutcome::Completed));
    scene.is_over().await;
}

#[tokio::test]
async fn an_edited_plan_that_is_rejected_ends_the_run() {
    let scene = Phases::new(failing_once());
    scene.run(&plan(&tasks()), patient()).await;
    scene.answer(edit(&longer())).await;
    let outcome = scene.thread.resume::<ApprovePlan>(Decision::reject("no")).await.unwrap();
    let state = outcome.finished().unwrap();
    assert_eq!(state.result.outcome, Some(RunOutcome::Rejected));
    let ended = ["1 completed: 1 completed", "2 failed: 2 failed, 3 completed", "3 pending: 4 pending"];
    assert_eq!(statuses(&state), ended, "nothing is under way any more");
    assert_eq!(scene.commits(), [done("1")]);
    scene.is_over().await;
}

#[tokio::test]
async fn an_edited_plan_may_be_approved_in_part() {
    let scene = Phases::new(failing_once());
    scene.run(&plan(&tasks()), patient()).await;
    scene.answer(edit(&longer())).await;
    let only = Decision::approve_only(["1", "2", "3"].map(|id| id.parse().unwrap()));
    let state = scene.thread.resume::<ApprovePlan>(only).await.unwrap().finished().unwrap();
    assert_eq!(
        (scene.commits(), state.result.outcome),
        (["1", "2", "3"].map(done).to_vec(), Some(RunOutcome::Completed))
    );
    scene.is_over().await;
}

#[tokio::test]
async fn an_edited_plan_without_the_rest_ends_the_run_with_its_work() {
    let scene = Phases::new(failing_once());
    let chain = [task("1", "none", ""), task("2", "1", "**Verify:** `test -e good.txt`")];
    scene.run(&plan(&chain), patient()).await;
    scene.answer(edit(&plan(&chain[..1]))).await;
    let state = scene.approve().await.unwrap().finished().unwrap();
    assert_eq!((scene.commits(), state.result.outcome), (vec![done("1")], Some(RunOutcome::Completed)));
    assert_eq!((statuses(&state), scene.agent.count("reviewer")), (vec!["1 completed: 1 completed".to_owned()], 1));
    let dropped =
        "the new plan drops subtask 2 (Part 2); its work is kept as refs/superstep/clock/phase-2/attempt-1/task-2";
    assert!(state.result.notices.iter().any(|notice| notice == dropped), "{:?}", state.result.notices);
    scene.is_over().await;
}

#[tokio::test]
async fn an_edited_plan_after_a_review_repeats_the_whole_phase() {
    let agent = Agent::crew(
        |call, folder, _| {
            write(folder, &format!("part-{}.txt", call.task), &format!("{}\n", call.attempt));
            write(folder, "good.txt", "x\n");
            work()
        },
        |call, _| if call.task == "phase-2" && call.attempt < 3 { rejected("flimsy") } else { approved() },
    );
    let scene = Phases::new(agent);
    assert!(halted(&scene.run(&plan(&tasks()), patient()).await)["subtask"].is_null());
    let state = scene.answer(edit(&reworded())).await.finished().unwrap();
    assert_eq!(scene.trailers("Superstep-Attempt"), ["1", "3", "3", "1"]);
    let prompt = &scene.prompts("2")[2];
    assert!(prompt.contains("Write another part 2.") && prompt.contains("flimsy"), "{prompt}");
    assert!(prompt.contains("refs/superstep/clock/phase-2/attempt-2/task-3"), "{prompt}");
    assert_eq!(state.result.outcome, Some(RunOutcome::Completed));
    scene.is_over().await;
}

#[rstest]
#[case::keep(PlanChoice::Keep, retry(1, "again"))]
#[case::adopt(PlanChoice::Adopt, retry(1, "again"))]
#[case::adopt_and_accept(PlanChoice::Adopt, AfterHalt::Accept)]
#[case::adopt_and_skip(PlanChoice::Adopt, AfterHalt::Skip)]
#[case::keep_and_skip(PlanChoice::Keep, AfterHalt::Skip)]
#[tokio::test]
async fn a_plan_changed_in_its_file_interrupts_before_the_answer_applies(
    #[case] which: PlanChoice,
    #[case] answer: AfterHalt,
) {
    let scene = Phases::new(failing_once());
    let (file, markdown) = (tempfile::NamedTempFile::new().unwrap(), plan(&tasks()));
    halted(&from_file(&scene, file.path()).await);
    std::fs::write(file.path(), reworded()).unwrap();
    assert_eq!(asks(&scene.answer(answer.clone()).await), "plan_changed");
    let state = scene.thread.resume::<PlanChanged>(which).await.unwrap().finished().unwrap();
    let is_adopted = which == PlanChoice::Adopt;
    assert_eq!(state.source.plan_markdown, Some(if is_adopted { reworded() } else { markdown }));
    let prompts = scene.prompts("2");
    match answer {
        AfterHalt::Retry { .. } => {
            assert_eq!((prompts.len(), scene.commits()), (2, ["1", "2", "3", "4"].map(done).to_vec()));
            assert!(
                prompts[1].contains("again") && prompts[1].contains("another part 2") == is_adopted,
                "{}",
                prompts[1]
            );
            assert_eq!(scene.trailers("Superstep-Attempt"), ["1", "2", "1", "1"]);
        }
        AfterHalt::Accept => assert_eq!((prompts.len(), scene.commits()), (1, ["1", "2", "3", "4"].map(done).to_vec())),
        _ => assert_eq!((prompts.len(), scene.commits()), (1, ["1", "3"].map(done).to_vec())),
    }
    assert_eq!(state.result.outcome, Some(RunOutcome::Completed));
    scene.is_over().await;
}

/// Agents whose second phase the reviewer rejects.
fn rejected_in_phase_2() -> Arc<Agent> {
    Agent::crew(
        |call, folder, _| {
            write(folder, &format!("part-{}.txt", call.task), &format!("{}\n", call.attempt));
            write(folder, "good.txt", "x\n");
            work()
        },
        |call, _| if call.task == "phase-2" { rejected("flimsy") } else { approved() },
    )
}

#[rstest]
#[case::same_phases(reworded(), &["1", "2", "3", "4"])]
#[case::other_phases(longer(), &["1", "2", "3", "5", "4"])]
#[tokio::test]
async fn an_accepted_phase_is_committed_before_another_plan_applies(#[case] changed: String, #[case] all: &[&str]) {
    let scene = Phases::new(rejected_in_phase_2());
    let file = tempfile::NamedTempFile::new().unwrap();
    let is_longer = changed == longer();
    halted(&from_file(&scene, file.path()).await);
    std::fs::write(file.path(), &changed).unwrap();
    scene.answer(AfterHalt::Accept).await;
    let outcome = scene.thread.resume::<PlanChanged>(PlanChoice::Adopt).await.unwrap();
    let outcome = if is_longer { scene.approve().await.unwrap() } else { outcome };
    let state = outcome.finished().unwrap();
    assert_eq!(scene.commits(), all.iter().map(|id| done(id)).collect::<Vec<_>>());
    assert_eq!(scene.trailers("Superstep-Attempt")[..3], ["1", "2", "2"]);
    assert_eq!(
        (state.source.plan_markdown.clone(), state.result.outcome),
        (Some(changed), Some(RunOutcome::Completed))
    );
    assert_eq!(scene.prompts("2").len(), 2, "what was accepted is not done again");
    scene.is_over().await;
}

#[rstest]
#[case::kept(AfterMove::Keep, RunOutcome::Completed)]
#[case::aborted(AfterMove::Abort, RunOutcome::Cancelled)]
#[tokio::test]
async fn a_person_may_end_the_run_when_its_branch_moves_before_another_plan_applies(
    #[case] answer: AfterMove,
    #[case] ends: RunOutcome,
) {
    let scene = Phases::new(rejected_in_phase_2());
    let file = tempfile::NamedTempFile::new().unwrap();
    halted(&from_file(&scene, file.path()).await);
    std::fs::write(file.path(), reworded()).unwrap();
    let branch = "superstep/clock";
    let new = scene.git(&["commit-tree", "-m", "a person's", "-p", branch, &format!("{branch}^{{tree}}")]);
    scene.git(&["update-ref", &format!("refs/heads/{branch}"), &new]);
    scene.answer(AfterHalt::Accept).await;
    let outcome = scene.thread.resume::<PlanChanged>(PlanChoice::Adopt).await.unwrap();
    assert_eq!(asks(&outcome), "branch_moved");
    let state = scene.thread.resume::<BranchMoved>(answer).await.unwrap().finished().unwrap();
    assert_eq!(state.result.outcome, Some(ends));
    assert_eq!(scene.git(&["merge-base", branch, &new]), new, "it stays where a person put it");
    if ends == RunOutcome::Cancelled {
        assert_eq!(scene.git(&["rev-parse", branch]), new);
        assert!(scene.salvage().iter().any(|kept| kept.contains("task-2")), "{:?}", scene.salvage());
    }
    assert_eq!(scene.git(&["for-each-ref", "refs/superstep/clock/integrated"]), "");
    assert!(scene.thread.verify().await.unwrap().agrees());
}

/// Runs the plan from a file to its first halt.
async fn from_file(scene: &Phases, file: &std::path::Path) -> crate::scene::RunResult {
    let markdown = plan(&tasks());
    std::fs::write(file, &markdown).unwrap();
    let hash = superstep::plan::Plan::parse(markdown.as_str()).unwrap().hash();
    let input = scene.input(&markdown, patient()).plan_path(Some(file.to_owned())).plan_hash(Some(hash));
    scene.thread.invoke(input).await.unwrap();
    scene.approve().await.unwrap()
}
