//! The work of developers, and the part of it that is committed.

use rstest::rstest;
use serde_json::{Value, json};
use superstep::drivers::{DriverError, DriverErrorClass, Session};
use superstep::nodes::{AfterHalt, AgentQuestion, AgentReply, Halted};
use superstep_workflows::task_based::{Mark, RunOutcome};
use superstep_workflows::{Profile, RetrySession};

use crate::agent::{Agent, approved, part, rejected, work};
use crate::repository::{Repository, write};
use crate::scene::{Scene, asks, done, marks, plan, profile};

/// Rejects the first attempt at each task.
fn second_time_lucky() -> std::sync::Arc<Agent> {
    Agent::crew(
        |call, folder, nth| {
            write(folder, &format!("part-{}.txt", call.task), &format!("{nth}\n"));
            work()
        },
        |call, _| if call.attempt == 1 { rejected("too thin") } else { approved() },
    )
}

#[rstest]
#[case::resume(RetrySession::Resume, &["1:developer-0", "1:developer-0*", "2:developer-2", "2:developer-2*"])]
#[case::fresh(RetrySession::Fresh, &["1:developer-0", "1:developer-1", "2:developer-2", "2:developer-3"])]
#[case::fresh_reset(RetrySession::FreshReset, &["1:developer-0", "1:developer-1", "2:developer-2", "2:developer-3"])]
#[tokio::test]
async fn a_retry_uses_the_session_that_the_profile_selects(#[case] how: RetrySession, #[case] sessions: &[&str]) {
    let scene = Scene::new(second_time_lucky());
    let profile = Profile { retry_session: how, max_task_review_iterations: 3, ..profile() };
    let state = scene.run(&plan(2), profile).await.finished().unwrap();
    assert_eq!(scene.sessions("developer"), sessions);
    assert!(scene.sessions("reviewer").iter().all(|session| !session.ends_with('*')));
    assert!(state.attempt.developer_session.is_none());
    for (nth, call) in scene.agent.calls("developer").iter().enumerate() {
        assert_eq!(call.prompt.contains("too thin"), nth % 2 == 1, "{}", call.prompt);
        let whole = call.session == Session::New;
        assert_eq!(call.prompt.contains(&format!("Write part {}.", call.task)), whole, "{}", call.prompt);
        assert_eq!(whole, call.prompt.starts_with(&format!("Task {0}, {0} of 2\n", call.task)), "{}", call.prompt);
        let named = call.prompt.contains(&format!("task-{}/attempt-1", call.task));
        assert_eq!(named, nth % 2 == 1 && how == RetrySession::FreshReset, "where the work is kept: {}", call.prompt);
    }
    assert_eq!(scene.refs(), ["task-1/attempt-1", "task-2/attempt-1"]);
}

#[tokio::test]
async fn a_fresh_reset_starts_with_the_files_of_the_task() {
    let agent = Agent::crew(
        |call, folder, nth| {
            write(folder, &format!("try-{}-{nth}.txt", call.task), "x\n");
            work()
        },
        |call, _| if call.attempt == 1 { rejected("no") } else { approved() },
    );
    let scene = Scene::new(agent);
    scene.run(&plan(2), Profile { retry_session: RetrySession::FreshReset, ..profile() }).await.finished().unwrap();
    let files = scene.repository.git(&["ls-tree", "--name-only", "superstep/clock"]);
    assert_eq!(files, "README.md\ntry-1-1.txt\ntry-2-3.txt\n");
}

#[tokio::test]
async fn commits_of_the_developer_become_one_of_the_task() {
    let agent = Agent::crew(
        |call, folder, nth| {
            write(folder, &format!("a-{}.txt", call.task), &format!("{nth}\n"));
            for args in [vec!["add", "."], vec!["commit", "-q", "-m", "mine"]] {
                assert!(std::process::Command::new("git").args(args).current_dir(folder).status().unwrap().success());
            }
            work()
        },
        |call, _| if call.attempt == 1 { rejected("no") } else { approved() },
    );
    let scene = Scene::new(agent);
    let state = scene.run(&plan(2), profile()).await.finished().unwrap();
    assert_eq!(scene.commits(), [done(1), done(2)]);
    assert!(state.result.notices.iter().any(|notice| notice.contains("taken back")), "{:?}", state.result.notices);
}

/// A hook that rejects while a file exists.
fn refusing(repository: &Repository) {
    let hook = repository.path().join(".git/hooks/pre-commit");
    write(&repository.path(), ".git/hooks/pre-commit", "#!/bin/sh\n[ ! -e .git/refuse ] || { echo no way; exit 1; }\n");
    crate::program::make_executable(hook);
    repository.write(".git/refuse", "");
}

#[rstest]
#[tokio::test]
async fn a_rejected_commit_fails_the_run_and_is_retried_without_an_agent(#[values(1, 2)] tasks: usize) {
    let agent = Agent::crew(
        |call, folder, _| {
            write(folder, &format!("{}.txt", call.task), "x\n");
            work()
        },
        |_, _| approved(),
    );
    let scene = Scene::new(agent);
    refusing(&scene.repository);
    scene.thread.invoke(scene.input(&plan(tasks), profile())).await.unwrap();
    let answer = superstep::plan::Decision::approve();
    let error = scene.thread.resume::<superstep::nodes::ApprovePlan>(answer).await.unwrap_err();
    assert!(format!("{error:?}").contains("no way"), "{error:?}");
    assert!(scene.commits().is_empty());
    let state = scene.thread.state().await.unwrap().unwrap();
    assert_eq!(state.values.run.current_task_index, 0);
    let count = scene.agent.log.lock().unwrap().len();
    std::fs::remove_file(scene.repository.path().join(".git/refuse")).unwrap();
    let state = scene.thread.retry().await.unwrap().finished().unwrap();
    assert_eq!(scene.commits(), (1..=tasks).map(done).collect::<Vec<_>>());
    assert_eq!(scene.agent.log.lock().unwrap().len() - count, 2 * (tasks - 1));
    assert_eq!(state.result.outcome, Some(RunOutcome::Completed));
}

#[rstest]
#[case::hook(".git/hooks/pre-commit", "#!/bin/sh\ntouch ../owned\n")]
#[case::config(".git/config", "[core]\n\tfsmonitor = touch ../owned\n")]
#[tokio::test]
async fn an_agent_that_changes_hooks_or_configuration_halts_before_git_runs(
    #[case] file: &'static str,
    #[case] text: &'static str,
    #[values(AfterHalt::Accept, AfterHalt::Skip)] answer: AfterHalt,
) {
    let agent = Agent::crew(
        move |_, folder, nth| {
            write(folder, &format!("{nth}.txt"), "x\n");
            if nth == 0 {
                std::fs::copy(folder.join(".git/config"), folder.join(".git/kept")).unwrap();
                write(folder, file, text);
                crate::program::make_executable(folder.join(file));
            }
            work()
        },
        |_, _| approved(),
    );
    let scene = Scene::new(agent);
    let outcome = scene.run(&plan(2), profile()).await;
    let halted: Halted = outcome.questions()[0].payload().unwrap();
    assert!(halted.reason.contains("hooks or configuration"), "{halted:?}");
    assert_eq!(scene.agent.count("reviewer"), 0);
    assert!(!scene.repository.path().join("../owned").exists());
    if file.ends_with("config") {
        std::fs::rename(scene.repository.path().join(".git/kept"), scene.repository.path().join(file)).unwrap();
    } else {
        std::fs::remove_file(scene.repository.path().join(file)).unwrap();
    }
    let state = scene.halted(answer.clone()).await.finished().unwrap();
    let shown = scene.repository.git(&["log", "--reverse", "--format=%s", "--name-only", "main..superstep/clock"]);
    let named: Vec<&str> = shown.lines().filter(|line| !line.is_empty()).collect();
    if answer == AfterHalt::Accept {
        assert_eq!(named, [done(1).as_str(), "0.txt", done(2).as_str(), "1.txt"]);
    } else {
        assert_eq!(named, [done(2).as_str(), "1.txt"]);
        assert_eq!(marks(&state), [Mark::Skipped, Mark::Done]);
        assert_eq!(scene.refs(), ["task-1/attempt-1"], "what is taken out of the files is kept");
    }
}

#[tokio::test]
async fn an_empty_diff_is_no_approval_and_two_in_a_row_halt() {
    let agent = Agent::crew(|_, _, _| work(), |_, _| approved());
    let scene = Scene::new(agent);
    let outcome = scene.run(&plan(2), Profile { max_task_review_iterations: 5, ..profile() }).await;
    assert_eq!(asks(&outcome), "halted");
    assert_eq!((scene.agent.count("developer"), scene.agent.count("reviewer")), (2, 0));
    assert!(scene.agent.calls("developer")[1].prompt.contains("changed no file"));
    assert!(scene.commits().is_empty());
}

#[tokio::test]
async fn a_question_of_the_developer_is_answered_in_the_same_session() {
    let agent = Agent::crew(
        |call, folder, nth| match nth {
            0 => json!({"status": "needs_info", "summary": "", "files": [], "question": "Roman?"}),
            _ => {
                assert!(nth != 1 || call.prompt.contains("Arabic"));
                write(folder, &format!("{nth}.txt"), "x\n");
                work()
            }
        },
        |_, _| approved(),
    );
    let scene = Scene::new(agent);
    let outcome = scene.run(&plan(2), profile()).await;
    let question: AgentQuestion = outcome.questions()[0].payload().unwrap();
    assert_eq!((outcome.questions()[0].name(), question.question.as_str()), ("question", "Roman?"));
    let reply = AgentReply::Reply { text: "Arabic".into() };
    let state = scene.thread.resume::<AgentQuestion>(reply).await.unwrap().finished().unwrap();
    assert_eq!(scene.sessions("developer"), ["1:developer-0", "1:developer-0*", "2:developer-2"]);
    assert_eq!(state.run.tasks[0].attempts, 1, "a question is no attempt");
}

#[tokio::test]
async fn an_answer_is_repeated_in_a_new_session_if_the_old_one_is_lost() {
    let agent = Agent::new(|call, folder, nth| match (call.role.as_str(), nth) {
        ("developer", 0) => Ok(json!({"status": "blocked", "summary": "", "question": "Roman?"})),
        ("developer", 1) => Err(DriverError::new(DriverErrorClass::SessionLost, "gone")),
        ("developer", _) => Ok(part(folder, &call.task)),
        _ => Ok(approved()),
    });
    let scene = Scene::new(agent);
    scene.run(&plan(1), profile()).await;
    let reply = AgentReply::Reply { text: "Arabic".into() };
    let state = scene.thread.resume::<AgentQuestion>(reply).await.unwrap().finished().unwrap();
    assert_eq!(scene.sessions("developer"), ["1:developer-0", "1:developer-0*", "1:developer-2"]);
    let prompt = &scene.agent.calls("developer")[2].prompt;
    assert!(["Task 1, 1 of 1", "Roman?", "Arabic"].iter().all(|text| prompt.contains(text)), "{prompt}");
    assert_eq!((state.run.tasks[0].attempts, scene.commits()), (1, vec![done(1)]));
}

#[rstest]
#[case::verified("true", &["1", "2"])]
#[case::leaving_a_process("sleep 1000 & true", &["1", "2"])]
#[case::failing("test -e two.txt", &["1", "1", "2"])]
#[case::failing_beside_a_process("sleep 1000 & test -e two.txt", &["1", "1", "2"])]
#[tokio::test]
async fn a_failing_command_skips_the_reviewer_and_counts(#[case] command: &str, #[case] worked: &[&str]) {
    let agent = Agent::crew(
        |_, folder, nth| {
            write(folder, ["one.txt", "two.txt", "three.txt"][nth], "x\n");
            work()
        },
        |_, _| approved(),
    );
    let scene = Scene::new(agent);
    let plan = format!("# P\n\n### Task 1: A\n\nA.\n\n**Verify:** `{command}`\n\n### Task 2: B\n\nB.\n");
    let state = scene.run(&plan, profile()).await.finished().unwrap();
    assert_eq!(scene.agent.tasks("developer"), worked);
    assert_eq!(scene.agent.tasks("reviewer"), ["1", "2"]);
    assert_eq!(state.run.tasks[0].attempts as usize, worked.len() - 1);
    assert_eq!(scene.agent.calls("developer")[1].prompt.contains("two.txt` ended with 1"), worked.len() == 3);
}

#[tokio::test]
async fn files_that_checks_create_are_neither_judged_nor_committed() {
    let scene = Scene::new(Agent::willing());
    let commands =
        "`echo more >> part-1.txt`, `mkdir cache && touch cache/x`, `git rm -q --cached README.md; rm README.md`";
    let plan = format!("# P\n\n### Task 1: A\n\nA.\n\n**Verify:** {commands}\n");
    let state = scene.run(&plan, profile()).await.finished().unwrap();
    assert_eq!(scene.repository.git(&["show", "--format=", "--name-only", "superstep/clock"]), "part-1.txt\n");
    assert_eq!(scene.repository.git(&["show", "superstep/clock:part-1.txt"]), "x\n");
    assert_eq!(scene.repository.git(&["status", "--porcelain"]), "");
    let notices = state.result.notices.concat();
    assert!(["cache/x", "part-1.txt", "README.md"].iter().all(|file| notices.contains(file)), "{notices}");
    assert!(!scene.agent.calls("reviewer")[0].prompt.contains("+more"));
}

#[tokio::test]
async fn changes_of_the_user_are_in_no_commit() {
    let agent = Agent::crew(
        |call, folder, _| {
            assert!(folder.join("mine.txt").exists());
            write(folder, &format!("{}.txt", call.task), "x\n");
            write(folder, ".env", "KEY=1\n");
            write(folder, ".superstep/note", "x\n");
            work()
        },
        |call, _| {
            assert!(!call.prompt.contains("mine.txt") && !call.prompt.contains("KEY=1"), "{}", call.prompt);
            approved()
        },
    );
    let scene = Scene::new(agent);
    scene.repository.write("mine.txt", "mine\n");
    scene.repository.write("README.md", "# Mine\n");
    let input = scene.input(&plan(2), profile()).allow_dirty(true);
    scene.thread.invoke(input).await.unwrap();
    let answer = superstep::plan::Decision::approve();
    let state = scene.thread.resume::<superstep::nodes::ApprovePlan>(answer).await.unwrap().finished().unwrap();
    let count = state.result.notices.iter().filter(|notice| notice.contains(".env")).count();
    assert_eq!(count, 1, "a file that is left out is reported once: {:?}", state.result.notices);
    let files = scene.repository.git(&["log", "--format=", "--name-only", "main..superstep/clock"]);
    assert_eq!(files, "2.txt\n1.txt\n");
    assert_eq!(scene.file("README.md").as_deref(), Some("# Mine\n"));
    let status = scene.repository.git(&["status", "--porcelain"]);
    assert!(
        status.contains("M README.md") && status.contains("?? mine.txt") && !status.contains(".superstep"),
        "{status}"
    );
}

#[tokio::test]
async fn dirt_is_refused_before_an_agent_works() {
    let scene = Scene::new(Agent::crew(|_, _, _| Value::Null, |_, _| Value::Null));
    scene.thread.invoke(scene.input(&plan(2), profile())).await.unwrap();
    scene.repository.write("README.md", "# Mine\n");
    let answer = superstep::plan::Decision::approve();
    let error = scene.thread.resume::<superstep::nodes::ApprovePlan>(answer).await.unwrap_err();
    assert!(format!("{error:?}").contains("README.md"), "{error:?}");
    assert_eq!(scene.agent.count("developer"), 0);
}

#[rstest]
#[case::merge(&["merge", "--quiet", "other"])]
#[case::rebase(&["rebase", "--quiet", "other"])]
#[case::cherry_pick(&["cherry-pick", "other"])]
#[tokio::test]
async fn an_operation_of_git_that_an_agent_leaves_open_does_not_stop_the_run(
    #[case] operation: &'static [&'static str],
) {
    let agent = Agent::crew(
        move |call, folder, _| {
            write(folder, &format!("part-{}.txt", call.task), "x\n");
            if call.task == "1" {
                let git =
                    |args: &[&str]| drop(std::process::Command::new("git").args(args).current_dir(folder).output());
                git(&["add", "--all"]);
                git(&["commit", "--quiet", "--message", "own"]);
                git(&["branch", "other", "HEAD~1"]);
                git(&["stash", "--quiet"]);
                git(&["switch", "--quiet", "other"]);
                write(folder, "part-1.txt", "y\n");
                git(&["add", "--all"]);
                git(&["commit", "--quiet", "--message", "other"]);
                git(&["switch", "--quiet", "-"]);
                git(operation);
            }
            work()
        },
        |_, _| approved(),
    );
    let scene = Scene::new(agent);
    let state = scene.run(&plan(2), profile()).await.finished().unwrap();
    assert_eq!(state.result.outcome, Some(RunOutcome::Completed));
    assert!(
        state.result.notices.iter().any(|notice| notice.contains("was ended without changing the files")),
        "{:?}",
        state.result.notices
    );
}
