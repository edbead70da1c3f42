//! Ready-made nodes and routers: their writes, their targets, and the processes of commands.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use rstest::rstest;
use superstep::nodes::{
    ApprovalResult, ApprovePlan, CommandError, CommandOutput, ShellCommand, human_approval, next_task_node, run_command,
};
use superstep::plan::{Decision, Plan, TaskProgress};
use superstep::prelude::*;
use superstep::routes::{AfterApproval, AfterTaskReview, route_after_task_review, route_approval};

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Job {
    plan: Option<Plan>,
    decision: Option<Decision>,
    line: String,
    output: Option<CommandOutput>,
    progress: TaskProgress,
}

#[derive(NodeId)]
enum Step {
    Only,
}

impl Job {
    fn question(&self) -> Result<ApprovePlan, &'static str> {
        self.plan.as_ref().map(ApprovePlan::of).ok_or("there is no plan")
    }

    fn decided(&self, approved: ApprovalResult) -> JobUpdate {
        Self::update().decision(Some(approved.decision))
    }

    fn command(&self) -> Result<ShellCommand, NodeError> {
        Ok(ShellCommand::new(&self.line))
    }
}

fn of(node: impl superstep::graph::Node<Job, Step, ()>) -> CompiledGraph<Job, Step> {
    let graph = StateGraph::new().add_node(Step::Only, node).add_edge(START, Step::Only).compile();
    graph.unwrap_or_else(|error| panic!("{error}")).with_checkpointer(MemoryCheckpointer::new())
}

// --- routers ---

#[rstest]
#[case::approved_and_last(1, 1, true, AfterTaskReview::Complete)]
#[case::approved_and_more(0, 1, true, AfterTaskReview::NextTask)]
#[case::rejected_under_the_limit(0, 1, false, AfterTaskReview::Retry)]
#[case::rejected_at_the_limit(0, 2, false, AfterTaskReview::Halt)]
#[case::approved_at_the_limit(0, 2, true, AfterTaskReview::NextTask)]
#[case::rejected_beyond_the_limit(1, 3, false, AfterTaskReview::Halt)]
fn a_task_review_has_a_target(
    #[case] index: usize,
    #[case] iteration: u32,
    #[case] approved: bool,
    #[case] outcome: AfterTaskReview,
) {
    let progress =
        TaskProgress { current_task_index: index, task_review_iteration: iteration, ..TaskProgress::new(2, 2) };
    assert_eq!(route_after_task_review(&progress, approved), outcome);
}

#[rstest]
#[case::approve(Some(Decision::approve()), AfterApproval::Approve)]
#[case::reject(Some(Decision::reject("no")), AfterApproval::Reject)]
#[case::revise(Some(Decision::revise("smaller")), AfterApproval::Revise)]
#[case::nobody_decided(None, AfterApproval::Reject)]
fn a_decision_has_a_target(#[case] decision: Option<Decision>, #[case] outcome: AfterApproval) {
    assert_eq!(route_approval(decision.as_ref()), outcome);
}

// --- nodes ---

#[tokio::test]
async fn the_next_task_starts_with_all_its_attempts() {
    let graph = of(next_task_node(|job: &Job| job.progress, |next| Job::update().progress(next)));
    let before = TaskProgress::new(3, 2).after_review().after_review();
    let outcome = graph.thread("t").invoke(Job::update().progress(before)).await.unwrap();
    let expected = TaskProgress { current_task_index: 1, ..TaskProgress::new(3, 2) };
    assert_eq!(outcome.state().progress, expected);
}

#[tokio::test]
async fn an_approval_shows_the_plan_and_records_the_decision() {
    let thread = of(human_approval(Job::question, Job::decided)).thread("t");
    let plan = Plan::parse("# Tides\n\n**Goal:** know them\n\n## Task 1: Read\n\n## Task 3: Write\n").unwrap();
    let outcome = thread.invoke(Job::update().plan(Some(plan))).await.unwrap();
    let approval = outcome.questions()[0].payload::<ApprovePlan>().unwrap();
    assert_eq!((approval.title.as_deref(), approval.goal.as_deref()), (Some("Tides"), Some("know them")));
    let tasks: Vec<(&str, &str)> = approval.tasks.iter().map(|task| (task.id.as_str(), task.title.as_str())).collect();
    assert_eq!((tasks, approval.warnings.len()), (vec![("1", "Read"), ("3", "Write")], 1));

    let outcome = thread.resume::<ApprovePlan>(Decision::revise("number them")).await.unwrap();
    let decision = outcome.state().decision.clone().unwrap();
    assert_eq!(decision.to_string(), "sent back: number them");
}

#[rstest]
#[case::approve(r#""approve""#, Ok("approved"))]
#[case::some_tasks(r#"{"approve":{"tasks":["1"]}}"#, Ok("approved for the tasks 1"))]
#[case::reject(r#"{"reject":{"feedback":"no"}}"#, Ok("rejected: no"))]
#[case::revise(r#"{"revise":{"feedback":"smaller"}}"#, Ok("sent back: smaller"))]
#[case::another_plan(r##"{"edit_plan":{"markdown":"# A"}}"##, Ok("approved with another plan"))]
#[case::unknown(r#""accept""#, Err("unknown variant `accept`"))]
#[case::without_feedback(r#"{"revise":{}}"#, Err("missing field `feedback`"))]
#[case::a_key_too_many(r#"{"reject":{"feedback":"no","by":"ada"}}"#, Err("unknown field `by`"))]
fn a_decision_is_written_in_few_shapes(#[case] json: &str, #[case] expected: Result<&str, &str>) {
    match (serde_json::from_str::<Decision>(json), expected) {
        (Ok(decision), Ok(text)) => {
            assert_eq!(decision.to_string(), text);
            assert_eq!(serde_json::to_string(&decision).unwrap(), json);
        }
        (Err(error), Err(why)) => assert!(error.to_string().contains(why), "{error}"),
        (read, expected) => panic!("{read:?}, not {expected:?}"),
    }
}

#[rstest]
#[case::no_such_task(Decision::approve_only(["7".parse().unwrap()]), "the plan has no task `7`")]
#[case::no_task(Decision::approve_only([]), "no task was approved")]
#[case::no_plan(Decision::edit_plan(" "), "the plan is empty")]
#[tokio::test]
async fn an_invalid_decision_is_requested_again(#[case] decision: Decision, #[case] problem: &str) {
    let thread = of(human_approval(Job::question, Job::decided)).thread("t");
    let plan = Plan::parse("## Task 1: Read\n").unwrap();
    thread.invoke(Job::update().plan(Some(plan))).await.unwrap();
    let outcome = thread.resume::<ApprovePlan>(decision).await.unwrap();
    let approval = outcome.questions()[0].payload::<ApprovePlan>().unwrap();
    assert!(approval.problems.iter().any(|text| text.contains(problem)), "{:?}", approval.problems);
    assert!(thread.resume::<ApprovePlan>(Decision::approve()).await.unwrap().finished().is_some());
}

#[tokio::test]
async fn an_approval_without_a_plan_fails_instead_of_asking() {
    let error = of(human_approval(Job::question, Job::decided)).thread("t").invoke(Job::update()).await.unwrap_err();
    assert_eq!(error.to_string(), "node `Only` failed in superstep 1: there is no plan");
}

#[tokio::test]
async fn a_command_runs_in_its_folder() {
    let graph = of(run_command(Job::command, |_: &Job, output| Job::update().output(Some(output))));
    let line = "echo $SUPERSTEP_THREAD $SUPERSTEP_NODE ${SUPERSTEP_TASK_ID:+id}";
    let outcome = graph.thread("t").invoke(Job::update().line(line)).await.unwrap();
    assert_eq!(outcome.state().output.clone().unwrap().stdout, "t Only id\n");
}

// --- commands ---

async fn run(command: ShellCommand) -> CommandOutput {
    command.run(|| ()).await.unwrap_or_else(|error| panic!("{error}"))
}

#[rstest]
#[case::zero("exit 0", Some(0))]
#[case::another("exit 7", Some(7))]
#[case::a_signal("kill -s KILL $$", None)]
#[tokio::test]
async fn a_command_ends_with_its_code(#[case] line: &str, #[case] code: Option<i32>) {
    assert_eq!(run(ShellCommand::new(line)).await.code, code);
}

#[tokio::test]
async fn only_the_end_of_a_long_output_is_kept() {
    let output = run(ShellCommand::new("yes äh | head -c 3000000; echo end; echo oops >&2").keep(8)).await;
    assert_eq!((output.stdout.as_str(), output.stderr.as_str()), ("äh\nend\n", "oops\n"));
    let cut = run(ShellCommand::new("printf 'ää'").keep(3)).await;
    assert_eq!(cut.stdout, "ä");
}

#[tokio::test]
async fn a_command_need_not_read_its_input() {
    let output = run(ShellCommand::new("echo done").stdin("x".repeat(1_000_000))).await;
    assert_eq!(output.stdout, "done\n");
}

#[tokio::test]
async fn large_input_and_output_do_not_wait_for_each_other() {
    let output = run(ShellCommand::new("tee /dev/stderr").stdin("x".repeat(1_000_000)).keep(10)).await;
    assert_eq!((output.stdout.len(), output.stderr.len()), (10, 10));
}

#[tokio::test]
async fn a_command_that_cannot_start_has_a_reason() {
    let error: CommandError = ShellCommand::new("true").directory("/no/such/place").run(|| ()).await.unwrap_err();
    assert!(error.to_string().starts_with("cannot run `true` in a shell: No such file"), "{error}");
}

#[tokio::test]
async fn a_dropped_command_is_killed_with_its_children() {
    let place = tempfile::tempdir().unwrap();
    let alive = place.path().join("alive");
    assert!(Command::new("mkfifo").arg(&alive).status().unwrap().success());
    let line = "exec > alive; sleep 600 & wait";
    let running = tokio::spawn(ShellCommand::new(line).directory(place.path()).run(|| ()));
    // Opens once the shell has opened the pipe, ends once neither the shell nor its child has it open.
    let mut pipe = opened(&alive).await;
    running.abort();
    let ended = tokio::task::spawn_blocking(move || pipe.read_to_end(&mut vec![]));
    let ended = tokio::time::timeout(Duration::from_secs(60), ended).await;
    assert!(ended.is_ok(), "a process of the command is alive");
}

async fn opened(pipe: &Path) -> File {
    let pipe = pipe.to_owned();
    tokio::task::spawn_blocking(|| File::open(pipe)).await.unwrap().unwrap()
}
