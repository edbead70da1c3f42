//! Decisions on a task that did not pass, and their effect.

use rstest::rstest;
use superstep::nodes::{AfterHalt, Halted, PlanChanged, PlanChoice};
use superstep_workflows::task_based::{Mark, RunOutcome};
use superstep_workflows::{OnExhausted, Profile};

use crate::agent::{Agent, approved, rejected, work};
use crate::repository::write;
use crate::scene::{Scene, asks, done, marks, plan, profile, retry};

/// Writes a file for each attempt; the task passes from this attempt on.
fn stubborn(task: &'static str, passes_at: u32) -> std::sync::Arc<Agent> {
    Agent::crew(
        |call, folder, _| {
            write(folder, &format!("part-{}.txt", call.task), &format!("{}\n", call.attempt));
            work()
        },
        move |call, _| if call.task == task && call.attempt < passes_at { rejected("no") } else { approved() },
    )
}

#[rstest]
#[case::the_profile(Some(2), 2)]
#[case::beats_the_default(Some(10), 10)]
#[case::which_is_five(None, 5)]
#[case::once(Some(1), 1)]
#[tokio::test]
async fn a_limit_is_a_number_of_attempts(#[case] limit: Option<u32>, #[case] attempts: usize) {
    let scene = Scene::new(stubborn("1", 99));
    let limit = limit.unwrap_or(Profile::default().max_task_review_iterations);
    let outcome = scene.run(&plan(2), Profile { max_task_review_iterations: limit, ..profile() }).await;
    assert_eq!(asks(&outcome), "halted");
    assert_eq!((scene.agent.count("developer"), scene.agent.count("reviewer")), (attempts, attempts));
    assert_eq!(outcome.state().result.outcome, Some(RunOutcome::Halted));
    assert_eq!(marks(outcome.state()), [Mark::Halted, Mark::Pending]);
    assert_eq!(scene.refs().len(), attempts);
    assert!(scene.commits().is_empty());
    assert_eq!(outcome.state().source.plan_markdown.as_deref(), Some(plan(2).as_str()));
}

#[tokio::test]
async fn attempts_of_a_retry_count_from_now_on() {
    let scene = Scene::new(stubborn("1", 5));
    scene.run(&plan(2), profile()).await;
    let outcome = scene.halted(retry(1, "think")).await;
    assert_eq!((asks(&outcome), scene.agent.count("developer")), ("halted", 3));
    assert!(scene.agent.calls("developer")[2].prompt.contains("think"));
    let halted: Halted = outcome.questions()[0].payload().unwrap();
    assert_eq!(halted.attempts, 3);
    let refused = scene.halted(retry(0, "")).await;
    assert!(refused.questions()[0].payload::<Halted>().unwrap().problem.is_some());
    let state = scene.halted(retry(2, "")).await.finished().unwrap();
    assert_eq!(state.run.tasks[0].attempts, 5);
    assert!(scene.sessions("developer")[..5].iter().all(|session| session.starts_with("1:developer-0")));
    assert_eq!((scene.commits(), state.judgement.halts), (vec![done(1), done(2)], 2));
    assert!(!scene.agent.calls("developer")[4].prompt.contains("think"), "a note is sent once");
}

#[rstest]
#[case::first(1, &[2], &[Mark::Skipped, Mark::Done])]
#[case::last(2, &[1], &[Mark::Done, Mark::Skipped])]
#[tokio::test]
async fn a_skipped_task_is_in_no_commit_and_its_work_is_kept(
    #[case] task: usize,
    #[case] committed: &[usize],
    #[case] expected: &[Mark],
    #[values(false, true)] unattended: bool,
) {
    let scene = Scene::new(stubborn(if task == 1 { "1" } else { "2" }, 99));
    let on_exhausted = if unattended { OnExhausted::Skip } else { OnExhausted::Halt };
    let outcome = scene.run(&plan(2), Profile { on_exhausted, ..profile() }).await;
    let outcome = if unattended { outcome } else { scene.halted(AfterHalt::Skip).await };
    let state = outcome.finished().unwrap();
    assert_eq!((marks(&state).as_slice(), state.result.outcome), (expected, Some(RunOutcome::Completed)));
    assert_eq!(scene.commits(), committed.iter().map(|&id| done(id)).collect::<Vec<_>>());
    let files = scene.repository.git(&["ls-tree", "--name-only", "superstep/clock"]);
    assert_eq!(files, format!("README.md\npart-{}.txt\n", committed[0]));
    assert_eq!(scene.file(&format!("part-{task}.txt")), None);
    let name = format!("refs/superstep/clock/task-{task}/attempt-2");
    assert_eq!(scene.repository.git(&["show", &format!("{name}:part-{task}.txt")]), "2\n");
    let parent = scene.repository.git(&["log", "-1", "--format=%s", &format!("{name}^")]);
    assert_eq!(parent.trim(), if task == 1 { "begin".to_owned() } else { done(1) });
}

#[rstest]
#[case::accept(AfterHalt::Accept, RunOutcome::Completed, 2)]
#[case::abort(AfterHalt::Abort, RunOutcome::Cancelled, 0)]
#[tokio::test]
async fn a_halted_task_is_accepted_or_ends_the_run(
    #[case] answer: AfterHalt,
    #[case] outcome: RunOutcome,
    #[case] commits: usize,
) {
    let scene = Scene::new(stubborn("1", 99));
    scene.run(&plan(2), profile()).await;
    scene.repository.write("by-hand.txt", "mended\n");
    let state = scene.halted(answer).await.finished().unwrap();
    assert_eq!(
        (state.result.outcome, scene.repository.subjects("superstep/clock").len() - 1),
        (Some(outcome), commits)
    );
    assert_eq!(scene.file("part-1.txt").as_deref(), Some("2\n"), "the files stay as they are");
    if commits > 0 {
        let files = scene.repository.git(&["show", "--format=", "--name-only", "superstep/clock~1"]);
        assert_eq!(files, "by-hand.txt\npart-1.txt\n", "work is accepted as it is, by hand or not");
    }
}

#[tokio::test]
async fn a_run_that_may_not_interrupt_fails() {
    let scene = Scene::new(stubborn("2", 99));
    let profile = Profile { on_exhausted: OnExhausted::Fail, ..profile() };
    let state = scene.run(&plan(3), profile).await.finished().unwrap();
    assert_eq!(state.result.outcome, Some(RunOutcome::Failed));
    assert_eq!((scene.commits(), scene.agent.count("developer")), (vec![done(1)], 3));
    assert_eq!(scene.refs(), ["task-2/attempt-1", "task-2/attempt-2"]);
}

/// The plan with another task 2 of three.
fn edited() -> String {
    plan(3).replace("Write part 2.", "Write another part 2.")
}

#[rstest]
#[case::the_task(edited(), &["1", "2", "2", "2", "3"], &[1, 2, 3])]
#[case::without_it("# P\n\n### Task 1: Part 1\n\nA.\n\n### Task 3: Part 3\n\nC.\n".into(), &["1", "2", "2", "3"], &[1, 3])]
#[case::another_before_it(
    "# P\n\n### Task 1: Part 1\n\nA.\n\n### Task 9: Part 9\n\nN.\n\n### Task 2: Part 2\n\nB.\n".into(),
    &["1", "2", "2", "9", "2"], &[1, 9, 2]
)]
#[tokio::test]
async fn an_edited_plan_applies_from_the_halt_on(
    #[case] markdown: String,
    #[case] worked: &[&str],
    #[case] commits: &[usize],
) {
    let scene = Scene::new(stubborn("2", 3));
    scene.run(&plan(3), profile()).await;
    let state = scene.halted(AfterHalt::EditPlan { markdown: markdown.clone() }).await.finished().unwrap();
    assert_eq!(scene.agent.tasks("developer"), worked);
    assert_eq!(scene.commits(), commits.iter().map(|&id| done(id)).collect::<Vec<_>>());
    assert_eq!(
        (state.source.plan_markdown.as_ref(), state.run.total_tasks),
        (Some(&markdown), Some(commits.len() as u32))
    );
    let names = |id: usize| format!("part-{id}.txt\n");
    for (nth, &id) in commits.iter().enumerate() {
        let at = format!("superstep/clock~{}", commits.len() - 1 - nth);
        assert_eq!(scene.repository.git(&["show", "--format=", "--name-only", &at]), names(id), "no work of another");
    }
}

#[tokio::test]
async fn an_unreadable_plan_is_requested_again() {
    let scene = Scene::new(stubborn("1", 3));
    scene.run(&plan(1), profile()).await;
    let twice = "### Task 1: A\n\nA.\n\n### Task 1: B\n\nB.\n".to_owned();
    let outcome = scene.halted(AfterHalt::EditPlan { markdown: twice }).await;
    assert!(outcome.questions()[0].payload::<Halted>().unwrap().problem.unwrap().contains('1'));
    assert!(scene.halted(AfterHalt::Accept).await.finished().is_some());
}

#[rstest]
#[case::keep(PlanChoice::Keep, retry(1, "again"), false)]
#[case::adopt(PlanChoice::Adopt, retry(1, "again"), true)]
#[case::adopt_and_accept(PlanChoice::Adopt, AfterHalt::Accept, true)]
#[case::keep_and_skip(PlanChoice::Keep, AfterHalt::Skip, false)]
#[tokio::test]
async fn a_plan_changed_in_its_file_interrupts_before_the_answer_applies(
    #[case] which: PlanChoice,
    #[case] answer: AfterHalt,
    #[case] adopted: bool,
) {
    let scene = Scene::new(stubborn("2", 99));
    let file = approved_from_file(&scene, 3).await;
    std::fs::write(file.path(), edited()).unwrap();
    assert_eq!(asks(&scene.halted(answer.clone()).await), "plan_changed");
    let shown = scene.thread.resume::<PlanChanged>(PlanChoice::Diff).await.unwrap();
    let diff = shown.questions()[0].payload::<PlanChanged>().unwrap().diff.unwrap();
    assert!(diff.contains("+Write another part 2."), "{diff}");
    assert_eq!(scene.agent.count("developer"), 3);
    let outcome = scene.thread.resume::<PlanChanged>(which).await.unwrap();
    let state = outcome.state();
    assert_eq!(state.source.plan_markdown, Some(if adopted { edited() } else { plan(3) }));
    if let AfterHalt::Retry { .. } = answer {
        assert_eq!((asks(&outcome), scene.agent.count("developer")), ("halted", 4), "one attempt from now on");
        let prompt = &scene.agent.calls("developer")[3].prompt;
        assert!(prompt.contains("again") && prompt.contains("another part 2") == adopted, "{prompt}");
    } else {
        let second = if answer == AfterHalt::Skip { Mark::Skipped } else { Mark::Done };
        assert_eq!(
            (state.result.outcome, marks(state)),
            (Some(RunOutcome::Completed), vec![Mark::Done, second, Mark::Done])
        );
    }
}

/// Runs a plan of this many tasks from a file to the approval, and approves.
async fn approved_from_file(scene: &Scene, tasks: usize) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), plan(tasks)).unwrap();
    let hash = superstep::plan::Plan::parse(plan(tasks)).unwrap().hash();
    let input = scene.input(&plan(tasks), profile()).plan_path(Some(file.path().to_owned())).plan_hash(Some(hash));
    scene.thread.invoke(input).await.unwrap();
    let approve = superstep::plan::Decision::approve();
    scene.thread.resume::<superstep::nodes::ApprovePlan>(approve).await.unwrap();
    file
}

#[rstest]
#[case::accepted(AfterHalt::Accept, &[1, 2, 9], Mark::Done)]
#[case::skipped(AfterHalt::Skip, &[1, 9], Mark::Skipped)]
#[tokio::test]
async fn a_new_task_before_the_current_one_is_done_after_it(
    #[case] answer: AfterHalt,
    #[case] commits: &[usize],
    #[case] second: Mark,
) {
    let scene = Scene::new(stubborn("2", 99));
    let file = approved_from_file(&scene, 2).await;
    let more = plan(2).replace("### Task 2", "### Task 9: Part 9\n\nN.\n\n### Task 2");
    std::fs::write(file.path(), more).unwrap();
    scene.halted(answer).await;
    let outcome = scene.thread.resume::<PlanChanged>(PlanChoice::Adopt).await.unwrap();
    let state = outcome.finished().unwrap();
    assert_eq!(marks(&state), [Mark::Done, Mark::Done, second]);
    assert_eq!(scene.commits(), commits.iter().map(|&id| done(id)).collect::<Vec<_>>());
    assert_eq!((state.result.outcome, state.run.total_tasks), (Some(RunOutcome::Completed), Some(3)));
}

#[tokio::test]
async fn a_plan_without_the_last_open_task_ends_the_run() {
    let scene = Scene::new(stubborn("2", 99));
    scene.run(&plan(2), profile()).await;
    let state = scene.halted(AfterHalt::EditPlan { markdown: plan(1) }).await.finished().unwrap();
    assert_eq!((state.result.outcome, marks(&state)), (Some(RunOutcome::Completed), vec![Mark::Done, Mark::Skipped]));
    assert_eq!(
        (scene.commits(), scene.agent.tasks("developer")),
        (vec![done(1)], ["1", "2", "2"].map(String::from).to_vec())
    );
    assert_eq!(scene.file("part-2.txt"), None);
    assert_eq!(scene.refs(), ["task-2/attempt-1", "task-2/attempt-2"]);
}

#[tokio::test]
async fn a_plan_without_tasks_is_one_task_with_its_own_limit() {
    let scene = Scene::new(stubborn("1", 99));
    let profile = Profile { max_review_iterations: Some(3), ..profile() };
    let outcome = scene.run("# Clock\n\nDo it all.\n", profile).await;
    assert_eq!((asks(&outcome), scene.agent.count("developer")), ("halted", 3));
    assert_eq!(outcome.state().run.total_tasks, Some(1));
    assert!(scene.halted(AfterHalt::Accept).await.finished().is_some());
    assert_eq!(scene.commits(), ["feat: Clock (task 1)"]);
}
