//! A subtask that fails: its siblings are cancelled, their work is kept, and a person decides.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rstest::rstest;
use serde_json::{Value, json};
use superstep::nodes::AfterHalt;
use superstep_workflows::OnSubtaskFailure;
use superstep_workflows::task_based::RunOutcome;
use tokio::sync::Barrier;

use crate::agent::work;
use crate::phases::stage::{Cast, Stage, broken, done, halt, phased, plan, profile, question, three, verified};
use crate::repository::write;
use crate::scene::retry;

/// 2a and 2c write their files and hang; then 2b fails. The second time all finish.
fn failing() -> Arc<Cast> {
    let meeting = Arc::new(Barrier::new(3));
    Cast::developers(move |call| {
        let meeting = Arc::clone(&meeting);
        async move {
            if call.nth > 0 || call.task == "3" {
                return Ok(call.part());
            }
            call.part();
            meeting.wait().await;
            if call.task == "2b" { Err(broken()) } else { call.hangs().await }
        }
    })
}

const CANCELLED: &str = "cancelled: subtask 2b failed";

#[tokio::test]
async fn a_subtask_that_fails_cancels_its_siblings_and_keeps_their_work() {
    let cast = failing();
    let stage = Stage::new(&cast);
    let outcome = stage.run(&three(), profile()).await;
    let halted: Value = serde_json::from_slice(&serde_json::to_vec(&halt(&outcome)).unwrap()).unwrap();
    let refs: Vec<String> =
        ["2a", "2b", "2c"].iter().map(|id| format!("refs/superstep/clock/phase-1/attempt-1/task-{id}")).collect();
    assert_eq!(
        halted,
        json!({
            "phase": 1, "subtask": "2b", "reason": "the agent broke", "comments": [], "salvage": refs, "cost": 300,
            "task": "2b", "title": "Part 2b", "attempts": 1, "changes": "", "problem": null,
        })
    );
    let cancelled = |id: &str| format!("{id} failed 1 ({CANCELLED})");
    let failed = "2b failed 1 (the agent broke)".to_owned();
    assert_eq!(stage.lines().await, [cancelled("2a"), failed, cancelled("2c"), "3 pending 0".into()]);
    for id in ["2a", "2b", "2c"] {
        assert_eq!(stage.files(&format!("refs/superstep/clock/phase-1/attempt-1/task-{id}")), format!("part-{id}.txt"));
    }
    assert_eq!(stage.commits(), Vec::<String>::new());
    stage.tidy();

    let state = done(stage.halted(retry(1, "Mind the gap.")).await);
    assert_eq!(
        (state.result.outcome, state.result.usage.cost),
        (Some(RunOutcome::Completed), 900),
        "7 developers, 2 reviewers"
    );
    assert_eq!(stage.commits(), ["2a 2", "2b 2", "2c 2", "3 1"]);
    assert!(cast.turns("2a")[1].request.prompt.contains("Mind the gap."));
    assert!(cast.turns("2a")[1].request.prompt.contains("phase-1/attempt-1/task-2a"));
    stage.tidy();
    stage.agrees().await;
}

#[tokio::test]
async fn a_sibling_that_was_done_is_kept_with_its_attempt() {
    let ended = Arc::new(tokio::sync::Semaphore::new(0));
    let cast = Cast::developers(move |call| {
        let ended = Arc::clone(&ended);
        async move {
            if call.task == "2b" && call.nth == 0 {
                return Err(broken());
            }
            if call.task == "2a" {
                ended.add_permits(1);
            }
            Ok(call.part())
        }
    });
    let stage = Stage::new(&cast);
    let profile = phased(|phased| phased.max_parallel = 1);
    let outcome = stage.run(&three(), profile).await;
    assert_eq!(halt(&outcome).phase.unwrap().subtask.as_deref(), Some("2b"));
    let expected = ["2a completed 1", "2b failed 1 (the agent broke)", "2c failed 1 (cancelled: subtask 2b failed)"];
    assert_eq!(stage.lines().await[..3], expected);
    assert_eq!(cast.tasks(), ["2a", "2b"], "2c is not started");
    stage.tidy();
    done(stage.halted(retry(1, "")).await);
    assert_eq!(cast.tasks(), ["2a", "2b", "2b", "2c", "3"]);
    assert_eq!(stage.commits(), ["2a 1", "2b 2", "2c 2", "3 1"]);
    stage.tidy();
    stage.agrees().await;
}

#[tokio::test]
async fn siblings_may_end_first() {
    let cast = Cast::developers(|call| async move {
        match (call.task.as_str(), call.nth) {
            ("2b", 0) => Err(broken()),
            _ => Ok(call.part()),
        }
    });
    let stage = Stage::new(&cast);
    let profile = phased(|phased| {
        phased.max_parallel = 1;
        phased.on_failure = OnSubtaskFailure::FinishSiblings;
    });
    let outcome = stage.run(&three(), profile).await;
    assert_eq!(halt(&outcome).reason, "the agent broke");
    assert_eq!(stage.lines().await[..3], ["2a completed 1", "2b failed 1 (the agent broke)", "2c completed 1"]);
    stage.tidy();
    done(stage.halted(retry(1, "")).await);
    assert_eq!(stage.commits(), ["2a 1", "2b 2", "2c 1", "3 1"]);
    stage.agrees().await;
}

const SKIPPED: [&str; 4] = [
    "2a completed 2",
    "2b failed 1 (left out: it was skipped)",
    "2c completed 2",
    "3 failed 0 (left out: it depends on 2b)",
];
const ACCEPTED: [&str; 4] = ["2a completed 2", "2b completed 1", "2c completed 2", "3 completed 1"];
const ENDED: [&str; 4] = [
    "2a failed 1 (cancelled: subtask 2b failed)",
    "2b failed 1 (the agent broke)",
    "2c failed 1 (cancelled: subtask 2b failed)",
    "3 pending 0",
];

#[rstest]
#[case::skip(AfterHalt::Skip, RunOutcome::Completed, &["2a 2", "2c 2"], SKIPPED)]
#[case::accept(AfterHalt::Accept, RunOutcome::Completed, &["2a 2", "2b 1", "2c 2", "3 1"], ACCEPTED)]
#[case::abort(AfterHalt::Abort, RunOutcome::Cancelled, &[], ENDED)]
#[tokio::test]
async fn cancelled_subtasks_run_again_after_the_decision_on_the_failed_one(
    #[case] answer: AfterHalt,
    #[case] outcome: RunOutcome,
    #[case] commits: &[&str],
    #[case] lines: [&str; 4],
) {
    let cast = failing();
    let stage = Stage::new(&cast);
    stage.run(&verified(&three(), "2b", "exit 1"), profile()).await;
    let state = done(stage.halted(answer).await);
    assert_eq!((state.result.outcome, stage.lines().await), (Some(outcome), lines.map(str::to_owned).to_vec()));
    assert_eq!((stage.commits(), cast.turns("2b").len()), (commits.iter().map(ToString::to_string).collect(), 1));
    assert!(stage.refs().contains(&"phase-1/attempt-1/task-2b".to_owned()));
    stage.tidy();
    stage.agrees().await;
}

/// A merge that is not finished: git refuses to work there.
const LEFT: &str = "git rev-parse HEAD > $(git rev-parse --git-dir)/MERGE_HEAD";

#[rstest]
#[case::by_its_agent("true")]
#[case::by_a_check(LEFT)]
#[tokio::test]
async fn a_merge_that_is_left_in_its_worktree_fails_a_subtask_and_not_the_run(#[case] verify: &'static str) {
    let cast = Cast::developers(move |call| async move {
        if call.task == "2b" && verify != LEFT && call.nth == 0 {
            let left = std::process::Command::new("sh").args(["-c", LEFT]).current_dir(call.folder()).status();
            assert!(left.unwrap().success());
        }
        Ok(call.part())
    });
    let stage = Stage::new(&cast);
    let outcome = stage.run(&verified(&three(), "2b", verify), profile()).await;
    let reason = halt(&outcome).reason;
    assert!(reason.contains("a merge"), "{reason}");
    assert_eq!(cast.turns("2b").len(), 1);
    stage.tidy();
    if verify != LEFT {
        done(stage.halted(retry(1, "")).await);
        stage.tidy();
    }
    stage.agrees().await;
}

#[tokio::test]
async fn a_subtask_whose_worktree_was_not_ready_cannot_be_accepted() {
    let stage = Stage::new(&Cast::developers(|call| async move { Ok(call.part()) }));
    let profile = phased(|phased| phased.worktree.setup = vec!["case $PWD in *task-2b) exit 3;; esac".into()]);
    stage.run(&three(), profile).await;
    let again = stage.halted(AfterHalt::Accept).await;
    let problem = halt(&again).problem.unwrap();
    assert_eq!(problem, "there is no work to accept; answer `retry`, `skip` or `abort`");
    stage.agrees().await;
}

#[rstest]
#[case::setup("exit 3", "true", "2b", "the setup of its worktree failed: `exit 3` ended with 3")]
#[case::attempts(
    "true",
    "echo no; exit 4",
    "2b",
    "it was not accepted after 2 attempts: `echo no; exit 4` ended with 4"
)]
#[case::empty("true", "true", "", "2 attempts in a row changed no file")]
#[tokio::test]
async fn every_failure_of_a_subtask_halts(
    #[case] setup: &str,
    #[case] verify: &str,
    #[case] writes: &'static str,
    #[case] reason: &str,
) {
    let cast = Cast::developers(move |call| async move {
        match call.task.as_str() {
            "2b" if writes.is_empty() => Ok(work()),
            "2a" | "2c" => call.hangs().await,
            _ => Ok(call.part()),
        }
    });
    let stage = Stage::new(&cast);
    // The setup fails in the worktree of 2b only.
    let setup = format!("case $PWD in *task-2b) {setup};; esac");
    let profile = phased(|phased| phased.worktree.setup = vec![setup.clone()]);
    let outcome = stage.run(&verified(&three(), "2b", verify), profile).await;
    let halted = halt(&outcome);
    assert_eq!(halted.phase.unwrap().subtask.as_deref(), Some("2b"));
    assert!(halted.reason.replace(&setup, "exit 3").starts_with(reason), "{}", halted.reason);
    let turns = if writes.is_empty() || reason.contains("2 attempts") { 2 } else { 0 };
    assert_eq!(cast.turns("2b").len(), turns, "{:?}", stage.lines().await);
    stage.tidy();
    stage.agrees().await;
}

#[tokio::test]
async fn a_command_that_leaves_a_process_ends_with_its_shell() {
    let stage = Stage::new(&Cast::developers(|call| async move { Ok(call.part()) }));
    let profile = phased(|phased| phased.worktree.setup = vec!["sleep 1000 & true".into()]);
    let state = done(stage.run(&verified(&three(), "2b", "sleep 1000 & test -e part-2b.txt"), profile).await);
    assert_eq!(state.result.outcome, Some(RunOutcome::Completed));
    stage.agrees().await;
}

/// A command that ignores SIGTERM, with a child in the background; both hold a pipe open.
const STUBBORN: &str = "trap '' TERM; exec 3> $ALIVE; (trap '' TERM; sleep 600) & sleep 600";

/// A command that cleans up on SIGTERM.
const ORDERLY: &str = "trap 'echo in order > $ALIVE.end; exit 1' TERM; exec 3> $ALIVE; sleep 600 & wait";

#[rstest]
#[case::stubborn(STUBBORN, None)]
#[case::orderly(ORDERLY, Some("in order\n"))]
#[tokio::test]
async fn commands_of_siblings_are_terminated_with_their_children(#[case] command: &str, #[case] end: Option<&str>) {
    let place = tempfile::tempdir().unwrap();
    let pipe = place.path().join("alive");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let runs = Arc::new(AtomicBool::new(false));
    let stage = Stage::new(&failing_beside(&pipe, &runs));
    let command = command.replace("$ALIVE", pipe.to_str().unwrap());
    let outcome = stage.run(&verified(&three(), "2a", &command), profile()).await;
    assert_eq!(halt(&outcome).reason, "the agent broke");
    assert!(runs.load(Ordering::SeqCst));
    let ours = pipe.to_str().unwrap().to_owned();
    assert_eq!(processes_with(&ours), Vec::<String>::new());
    assert_eq!(std::fs::read_to_string(pipe.with_extension("end")).ok().as_deref(), end);
    assert_eq!(stage.lines().await[0], format!("2a failed 1 ({CANCELLED})"));
    stage.tidy();
    stage.agrees().await;
}

/// 2b fails once a command of a sibling has opened a pipe, which is read from then on.
fn failing_beside(pipe: &std::path::Path, runs: &Arc<AtomicBool>) -> Arc<Cast> {
    let (is_open, opened) = (Arc::clone(runs), pipe.to_owned());
    Cast::developers(move |call| {
        let (is_open, opened) = (Arc::clone(&is_open), opened.clone());
        async move {
            if call.task != "2b" {
                return Ok(call.part());
            }
            let pipe = tokio::task::spawn_blocking(|| std::fs::File::open(opened).unwrap()).await.unwrap();
            is_open.store(true, Ordering::SeqCst);
            tokio::task::spawn_blocking(move || {
                let mut pipe = pipe;
                std::io::Read::read_to_end(&mut pipe, &mut vec![]).unwrap(); // until every process has closed it
            });
            Err(broken())
        }
    })
}

/// Returns the command lines of processes that contain a text, or hold a file of this name open.
pub(crate) fn processes_with(text: &str) -> Vec<String> {
    let processes = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok).map(|entry| entry.path());
    let own = std::process::id().to_string();
    let others = processes.filter(|path| path.join("cmdline").exists() && !path.ends_with(&own));
    let holds = |path: &std::path::PathBuf| {
        let files = std::fs::read_dir(path.join("fd")).into_iter().flatten().filter_map(Result::ok);
        let mut files = files.filter_map(|file| std::fs::read_link(file.path()).ok());
        files.any(|file| file.display().to_string() == text)
    };
    let line = |path: &std::path::PathBuf| {
        let line = std::fs::read(path.join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).replace('\0', " ")
    };
    others.filter(|path| line(path).contains(text) || holds(path)).map(|path| line(&path)).collect()
}

#[tokio::test]
async fn a_halt_may_be_answered_again_and_again() {
    let cast = Cast::developers(|call| async move {
        if call.task == "2b" && call.nth < 3 {
            write(call.folder(), "half.txt", "half\n");
            return Err(broken());
        }
        Ok(call.part())
    });
    let stage = Stage::new(&cast);
    let mut outcome = stage.run(&three(), phased(|phased| phased.max_parallel = 1)).await;
    for attempt in 1..=3 {
        assert_eq!(halt(&outcome).attempts, attempt);
        let salvage = format!("phase-1/attempt-{attempt}/task-2b");
        assert!(stage.refs().contains(&salvage), "{:?}", stage.refs());
        stage.tidy();
        outcome = stage.halted(retry(1, "")).await;
    }
    done(outcome);
    assert_eq!(stage.commits(), ["2a 1", "2b 4", "2c 4", "3 1"]);
    stage.agrees().await;
}

#[tokio::test]
async fn a_plan_of_one_subtask_halts_as_others_do() {
    let cast = Cast::developers(|call| async move { if call.nth == 0 { Err(broken()) } else { Ok(call.part()) } });
    let stage = Stage::new(&cast);
    let outcome = stage.run(&plan(&[("1", "none")]), profile()).await;
    assert_eq!(question(&outcome).name(), "halted");
    done(stage.halted(retry(1, "")).await);
    assert_eq!(stage.commits(), ["1 2"]);
}
