//! Commits and branches of people: nothing that a person did is moved, folded or lost.

use std::path::Path;
use std::sync::Arc;

use rstest::rstest;
use serde_json::{Value, json};
use superstep::nodes::{
    AfterGivingUp, AfterHalt, AfterMove, AgentQuestion, AgentReply, ApprovePlan, BranchMoved, TaskGivenUp,
};
use superstep::plan::Decision;
use superstep::spec::{Attempts, Flags};
use superstep::workspace::WorkspaceError;
use superstep_workflows::code_task::{self, TaskOutcome};
use superstep_workflows::task_based::{self, RunOutcome};

use crate::agent::{Agent, Call, approved, part, rejected};
use crate::code_task::desk::{CHECK, Desk, developers, spec, writes};
use crate::phases::stage::{self, Cast, Stage};
use crate::repository::{Repository, write};
use crate::scene::{Scene, asks, marks, plan, profile, retry};

pub(crate) const OWN: &str = "superstep/clock";

pub(crate) fn git(folder: &Path, args: &[&str]) -> String {
    let output = std::process::Command::new("git").args(args).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Commits a file on a branch in a work tree of the person's own, outside of the repository.
fn commit_elsewhere(repository: &Path, branch: &str, file: &str) -> String {
    let beside = beside(repository);
    git(repository, &["worktree", "add", "-q", "--force", beside.to_str().unwrap(), branch]);
    let commit = commit(&beside, file);
    git(repository, &["worktree", "remove", "--force", beside.to_str().unwrap()]);
    commit
}

/// A path outside of the repository.
fn beside(repository: &Path) -> std::path::PathBuf {
    let common = git(repository, &["rev-parse", "--path-format=absolute", "--git-common-dir"]);
    let top = Path::new(&common).parent().unwrap();
    top.with_file_name(format!("{}-beside", top.file_name().unwrap().to_string_lossy()))
}

fn commit(folder: &Path, file: &str) -> String {
    write(folder, file, "a person's\n");
    git(folder, &["add", file]);
    git(folder, &["commit", "-q", "-m", &format!("person: {file}")]);
    git(folder, &["rev-parse", "HEAD"])
}

/// Sets a branch to a new commit on top of it, as a fetch or a push from elsewhere does.
fn move_ref(repository: &Path, branch: &str) -> String {
    commit_elsewhere(repository, &git(repository, &["rev-parse", branch]), "elsewhere.txt");
    let new = git(repository, &["commit-tree", "-m", "elsewhere", "-p", branch, &format!("{branch}^{{tree}}")]);
    git(repository, &["fetch", "-q", ".", &format!("+{new}:refs/heads/{branch}")]);
    new
}

fn is_in(repository: &Repository, commit: &str, branch: &str) -> bool {
    repository.git(&["branch", "--format=%(refname:short)", "--contains", commit]).lines().any(|line| line == branch)
}

fn note(notices: &[String], parts: &[&str]) -> bool {
    notices.iter().any(|notice| parts.iter().all(|part| notice.contains(part)))
}

// --- branches that are not the run's ---

/// Moves `main` in the first turn.
type Moves = fn(&Path);

#[rstest]
#[case::a_commit_in_another_work_tree(|folder: &Path| { commit_elsewhere(folder, "main", "mine.txt"); })]
#[case::a_fetch(|folder: &Path| { move_ref(folder, "main"); })]
#[case::a_deletion(|folder: &Path| { git(folder, &["branch", "-D", "main"]); })]
#[case::a_rename(|folder: &Path| { git(folder, &["branch", "-m", "main", "trunk"]); })]
#[tokio::test]
async fn a_branch_of_a_person_stays_where_they_put_it_while_an_agent_works(#[case] moves: Moves) {
    let agent = Agent::crew(
        move |call, folder, nth| {
            if nth == 0 {
                moves(folder);
            }
            part(folder, &call.task)
        },
        |call, nth| if nth == 0 { rejected(&call.task) } else { approved() },
    );
    let scene = Scene::new(agent);
    let before = scene.repository.git(&["rev-parse", "main"]).trim().to_owned();
    let heads = |repository: &Repository| repository.git(&["for-each-ref", "refs/heads/main", "refs/heads/trunk"]);
    scene.thread.invoke(scene.input(&plan(2), profile())).await.unwrap();
    let state = scene.thread.resume::<ApprovePlan>(Decision::approve()).await.unwrap().finished().unwrap();
    assert_eq!(state.result.outcome, Some(RunOutcome::Completed));
    let now = heads(&scene.repository);
    let new = now.split(' ').next().filter(|_| now.contains("heads/main")).unwrap_or("deleted").to_owned();
    assert_ne!(new, before);
    assert!(note(&state.result.notices, &["`main`", &before, &new, "not by this run"]), "{:?}", state.result.notices);
    assert_eq!(scene.commits().len(), 2);
    assert!(scene.thread.verify().await.unwrap().agrees());
}

#[tokio::test]
async fn what_an_agent_commits_on_the_users_branch_is_put_back_and_kept() {
    let agent = Agent::crew(
        |call, folder, _| {
            git(folder, &["switch", "-q", "main"]);
            write(folder, "agents.txt", "x");
            git(folder, &["add", "."]);
            git(folder, &["commit", "-q", "-m", "by the agent"]);
            part(folder, &call.task)
        },
        |_, _| approved(),
    );
    let scene = Scene::new(agent);
    let state = scene.run(&plan(1), profile()).await.finished().unwrap();
    assert_eq!(scene.repository.subjects("main"), ["begin"]);
    let kept = scene.refs().into_iter().find(|name| name.starts_with("branches/main-")).unwrap();
    assert!(note(&state.result.notices, &["`main`", "restored", &kept]), "{:?}", state.result.notices);
    assert_eq!(scene.repository.subjects(&format!("refs/superstep/clock/{kept}")), ["begin", "by the agent"]);
    assert_eq!(scene.commits().len(), 1);
}

// --- commits on the run's branch while it waits ---

/// Works until a person answers; the first turn of the first task asks.
fn asking(call: &Call, folder: &Path, nth: usize) -> Value {
    write(folder, &format!("draft-{}.txt", call.task), "draft\n");
    match nth {
        0 => json!({"status": "blocked", "summary": "half", "question": "Which colour?"}),
        _ => part(folder, format!("{}-{nth}", call.task)),
    }
}

pub(crate) fn merge(repository: &Path) -> String {
    commit_elsewhere(repository, "main", "merged.txt");
    git(repository, &["merge", "-q", "--no-ff", "-m", "person: merge", "main"]);
    git(repository, &["rev-parse", "HEAD"])
}

#[rstest]
#[case::a_commit(|folder: &Path| commit(folder, "mine.txt"))]
#[case::a_merge(merge)]
#[case::two_commits(|folder: &Path| { commit(folder, "mine.txt"); commit(folder, "mine.txt.2") })]
#[tokio::test]
async fn commits_made_while_a_question_waits_stay_beneath_the_work(#[case] person: fn(&Path) -> String) {
    let scene = Scene::new(Agent::crew(asking, |_, _| approved()));
    let outcome = scene.run(&plan(2), profile()).await;
    assert_eq!(asks(&outcome), "question");
    let Scene { repository, thread, agent, .. } = &scene;
    let mine = person(&repository.path());
    let parents = repository.git(&["rev-list", "--parents", "-1", &mine]);
    let outcome = thread.resume::<AgentQuestion>(AgentReply::Reply { text: "Blue.".into() }).await.unwrap();
    let state = outcome.finished().unwrap();
    assert!(is_in(repository, &mine, OWN), "{:?}", repository.subjects(OWN));
    assert_eq!(repository.git(&["rev-list", "--parents", "-1", &mine]), parents);
    let first = state.run.tasks[0].commit.clone().unwrap();
    assert_eq!(repository.git(&["rev-parse", &format!("{first}^")]).trim(), mine);
    assert_eq!(repository.git(&["show", "--format=", "--name-only", &first]), "draft-1.txt\npart-1-1.txt\n");
    let review = agent.calls("reviewer").into_iter().find(|call| call.task == "1").unwrap();
    assert!(review.prompt.contains("part-1-1.txt") && !review.prompt.contains("mine.txt"), "{}", review.prompt);
    assert_eq!(repository.git(&["status", "--porcelain"]), "");
    assert!(thread.verify().await.unwrap().agrees());
}

#[rstest]
#[case::again(retry(1, ""), ["done", "done"])]
#[case::skipped(AfterHalt::Skip, ["skipped", "done"])]
#[case::accepted(AfterHalt::Accept, ["done", "done"])]
#[tokio::test]
async fn commits_made_while_a_task_is_halted_stay(#[case] answer: AfterHalt, #[case] ends: [&str; 2]) {
    let agent = Agent::crew(
        |call, folder, nth| part(folder, format!("{}-{nth}", call.task)),
        |call, nth| if nth < 2 { rejected(&call.task) } else { approved() },
    );
    let scene = Scene::new(agent);
    let outcome = scene.run(&plan(2), profile()).await;
    assert_eq!(asks(&outcome), "halted");
    let mine = commit(&scene.repository.path(), "mine.txt");
    let merged = merge(&scene.repository.path());
    let state = scene.halted(answer).await.finished().unwrap();
    let ended: Vec<_> = marks(&state).iter().map(|mark| serde_json::to_value(mark).unwrap()).collect();
    assert_eq!(ended, ends);
    for commit in [mine, merged] {
        assert!(is_in(&scene.repository, &commit, OWN), "{:?}", scene.repository.subjects(OWN));
    }
    assert_eq!(scene.file("mine.txt").as_deref(), Some("a person's\n"));
    assert_eq!(scene.repository.git(&["status", "--porcelain"]), "");
    assert!(scene.thread.verify().await.unwrap().agrees());
}

#[tokio::test]
async fn a_commit_that_a_person_makes_after_a_hook_refused_stays_beneath_the_commit_of_the_task() {
    let scene = Scene::new(Agent::willing());
    scene.repository.write(".git/hooks/pre-commit", "#!/bin/sh\ntest -f allowed.txt\n");
    crate::program::make_executable(scene.repository.path().join(".git/hooks/pre-commit"));
    scene.thread.invoke(scene.input(&plan(1), profile())).await.unwrap();
    assert!(scene.thread.resume::<ApprovePlan>(Decision::approve()).await.is_err());
    let mine = commit(&scene.repository.path(), "allowed.txt");
    let state = scene.thread.retry().await.unwrap().finished().unwrap();
    let made = state.run.tasks[0].commit.clone().unwrap();
    assert_eq!(scene.repository.git(&["rev-parse", &format!("{made}^")]).trim(), mine);
    assert_eq!(scene.repository.git(&["show", "--format=", "--name-only", &made]), "part-1.txt\n");
    assert_eq!(scene.repository.git(&["status", "--porcelain"]), "");
}

// --- the run's branch moved by somebody else ---

fn moved(outcome: &crate::scene::RunResult) -> BranchMoved {
    assert_eq!(asks(outcome), "branch_moved", "{outcome:?}");
    outcome.questions()[0].payload().unwrap()
}

#[rstest]
#[case::kept(AfterMove::Keep)]
#[case::aborted(AfterMove::Abort)]
#[tokio::test]
async fn a_run_asks_when_its_branch_is_moved_from_elsewhere(#[case] answer: AfterMove) {
    let agent = Agent::crew(
        |call, folder, nth| {
            if nth == 0 {
                commit_elsewhere_on_own(folder);
            }
            part(folder, &call.task)
        },
        |_, _| approved(),
    );
    let scene = Scene::new(agent);
    let outcome = scene.run(&plan(2), profile()).await;
    let question = moved(&outcome);
    let new = scene.repository.git(&["rev-parse", OWN]).trim().to_owned();
    let old = scene.repository.git(&["rev-parse", "main"]).trim().to_owned();
    assert_eq!(serde_json::to_value(&question).unwrap(), json!({"branch": OWN, "old": old, "new": new.clone()}));
    let outcome = scene.thread.resume::<BranchMoved>(answer).await.unwrap();
    let state = outcome.finished().unwrap();
    assert!(is_in(&scene.repository, &new, OWN));
    match answer {
        AfterMove::Keep => {
            assert_eq!(state.result.outcome, Some(RunOutcome::Completed));
            assert_eq!(scene.file("theirs.txt").as_deref(), Some("a person's\n"));
            assert_eq!(scene.repository.git(&["status", "--porcelain"]), "");
            assert_eq!(scene.repository.git(&["rev-list", "--count", &format!("{new}..{OWN}")]).trim(), "2");
        }
        AfterMove::Abort => {
            assert_eq!(state.result.outcome, Some(RunOutcome::Cancelled));
            assert_eq!(scene.repository.git(&["rev-parse", OWN]).trim(), new);
        }
    }
    assert!(scene.thread.verify().await.unwrap().agrees());
}

/// Commits on top of the run's branch in a work tree of the person's own, and moves the branch there.
fn commit_elsewhere_on_own(folder: &Path) {
    let own = git(folder, &["rev-parse", OWN]);
    let new = commit_elsewhere(folder, &own, "theirs.txt");
    let beside = beside(folder);
    git(folder, &["worktree", "add", "-q", "--detach", beside.to_str().unwrap(), &new]);
    git(&beside, &["update-ref", &format!("refs/heads/{OWN}"), &new]);
    git(folder, &["worktree", "remove", "--force", beside.to_str().unwrap()]);
}

#[rstest]
#[case::an_amend(|folder: &Path| { git(folder, &["commit", "-q", "--amend", "-m", "person: amended"]); })]
#[case::a_reset(|folder: &Path| { git(folder, &["reset", "-q", "--soft", "HEAD~1"]); })]
#[case::a_deletion(|folder: &Path| { git(folder, &["switch", "-q", "main"]); git(folder, &["branch", "-q", "-D", OWN]); })]
#[tokio::test]
async fn a_run_asks_when_its_branch_was_rewritten_while_it_waited(#[case] person: fn(&Path)) {
    let agent = Agent::crew(
        |call, folder, nth| part(folder, format!("{}-{nth}", call.task)),
        |call, nth| if call.task == "2" && nth < 3 { rejected(&call.task) } else { approved() },
    );
    let scene = Scene::new(agent);
    let outcome = scene.run(&plan(2), profile()).await;
    assert_eq!(asks(&outcome), "halted");
    scene.repository.git(&["stash", "-u", "-q"]);
    person(&scene.repository.path());
    let new = scene.repository.git(&["for-each-ref", "--format=%(objectname)", &format!("refs/heads/{OWN}")]);
    let question = moved(&scene.halted(retry(1, "")).await);
    assert_eq!(question.new.map(|new| format!("{new}\n")).unwrap_or_default(), new);
    let state = scene.thread.resume::<BranchMoved>(AfterMove::Keep).await.unwrap().finished().unwrap();
    assert_eq!(state.result.outcome, Some(RunOutcome::Completed));
    if !new.is_empty() {
        assert!(is_in(&scene.repository, new.trim(), OWN));
    }
}

// --- phases ---

#[rstest]
#[case::in_the_checkout(|folder: &Path| { commit(folder, "mine.txt"); })]
#[case::from_elsewhere(|folder: &Path| commit_elsewhere_on_own(folder))]
#[tokio::test]
async fn phases_ask_when_the_branch_they_integrate_into_is_moved(
    #[case] person: fn(&Path),
    #[values(AfterMove::Keep, AfterMove::Abort)] answer: AfterMove,
) {
    let repository = Repository::new();
    let path = repository.path();
    let cast = Cast::developers(move |call| {
        if call.task == "1" && call.nth == 0 {
            person(&path);
        }
        std::future::ready(Ok(call.part()))
    });
    let stage = Stage::with(repository, cast);
    let outcome = stage.run(&stage::plan(&[("1", "none"), ("2", "1")]), profile()).await;
    let question = moved(&outcome);
    let new = stage.repository.git(&["rev-parse", OWN]).trim().to_owned();
    assert_eq!((question.branch.as_str(), question.new.unwrap().as_str()), (OWN, new.as_str()));
    let state = stage::done(stage.thread.resume::<BranchMoved>(answer).await.unwrap());
    assert!(is_in(&stage.repository, &new, OWN));
    match answer {
        AfterMove::Keep => {
            assert_eq!(state.result.outcome, Some(RunOutcome::Completed));
            assert_eq!(stage.commits().into_iter().filter(|line| line != " ").collect::<Vec<_>>(), ["1 1", "2 1"]);
            stage.tidy();
        }
        AfterMove::Abort => assert_eq!(state.result.outcome, Some(RunOutcome::Cancelled)),
    }
    stage.agrees().await;
}

#[rstest]
#[case::to_their_branch("main", &["switch", "-q"])]
#[case::to_a_new_one("mine", &["switch", "-q", "-c"])]
#[tokio::test]
async fn phases_end_on_their_branch_after_a_person_switched_the_checkout(
    #[case] branch: &str,
    #[case] switch: &[&str],
) {
    let cast = one_waits(|task| if task == "1a" { "a.txt" } else { "b.txt" });
    let stage = Stage::new(&cast);
    assert_eq!(asks(&stage.run(&stage::plan(&TWO), profile()).await), "question");
    git(&stage.path(), &[switch, &[branch]].concat());
    let mine = commit(&stage.path(), "mine.txt");
    let state = stage::done(stage.thread.resume::<AgentQuestion>(blue()).await.unwrap());
    assert_eq!(state.result.outcome, Some(RunOutcome::Completed));
    assert_eq!(git(&stage.path(), &["branch", "--show-current"]), OWN);
    assert_eq!(git(&stage.path(), &["rev-parse", branch]), mine);
    let files = git(&stage.path(), &["ls-tree", "-r", "--name-only", OWN]);
    assert_eq!(files, "README.md\na.txt\nb.txt\npart-1a.txt\npart-1b.txt");
    stage.agrees().await;
}

#[tokio::test]
async fn a_branch_of_a_person_stays_where_they_put_it_while_subtasks_work() {
    let cast = Cast::developers(|call| {
        if call.task == "1" {
            commit_elsewhere(call.folder(), "main", "mine.txt");
        }
        std::future::ready(Ok(call.part()))
    });
    let stage = Stage::new(&cast);
    let state = stage::done(stage.run(&stage::plan(&[("1", "none"), ("2", "1")]), profile()).await);
    assert_eq!(stage.repository.subjects("main"), ["begin", "person: mine.txt"]);
    let new = stage.repository.git(&["rev-parse", "main"]).trim().to_owned();
    assert!(note(&state.result.notices, &["`main`", &new, "not by this run"]), "{:?}", state.result.notices);
    assert_eq!(stage.commits(), ["1 1", "2 1"]);
    stage.agrees().await;
}

#[tokio::test]
async fn a_commit_in_the_worktree_of_a_waiting_subtask_is_integrated_as_it_is() {
    let cast = Cast::developers(|call| {
        let waits = call.task == "1b" && call.nth == 0;
        let asks = json!({"status": "blocked", "summary": "half", "question": "Which colour?"});
        let work = if waits { asks } else { call.part() };
        std::future::ready(Ok(work))
    });
    let stage = Stage::new(&cast);
    let outcome = stage.run(&stage::plan(&[("1a", "none"), ("1b", "none")]), profile()).await;
    assert_eq!(asks(&outcome), "question");
    let folder = cast.turns("1b")[0].folder().to_owned();
    let mine = commit(&folder, "mine.txt");
    let reply = AgentReply::Reply { text: "Blue.".into() };
    stage::done(stage.thread.resume::<AgentQuestion>(reply).await.unwrap());
    assert!(is_in(&stage.repository, &mine, OWN), "{}", stage.repository.git(&["log", "--graph", OWN]));
    let last = stage.repository.git(&["show", "--format=", "--name-only", OWN]);
    assert_eq!(last, "part-1b.txt\n");
    stage.tidy();
    stage.agrees().await;
}

const TWO: [(&str, &str); 2] = [("1a", "none"), ("1b", "none")];

/// Agents of which the developer of 1b asks a question first; `writes` returns the file that each writes.
fn one_waits(writes: fn(&str) -> &'static str) -> Arc<Cast> {
    Cast::developers(move |call| {
        let waits = call.task == "1b" && call.nth == 0;
        let asks = json!({"status": "blocked", "summary": "half", "question": "Which colour?"});
        let work = if waits { asks } else { call.part() };
        if !waits {
            write(call.folder(), writes(&call.task), &format!("of {}\n", call.task));
        }
        std::future::ready(Ok(work))
    })
}

fn blue() -> AgentReply {
    AgentReply::Reply { text: "Blue.".into() }
}

#[rstest]
#[case::switched(|folder: &Path| { git(folder, &["switch", "-q", "-c", "mine"]); })]
#[case::switched_with_a_commit(|folder: &Path| { git(folder, &["switch", "-q", "-c", "mine"]); commit(folder, "mine.txt"); })]
#[case::switched_and_back(|folder: &Path| { git(folder, &["switch", "-q", "-c", "mine"]); git(folder, &["switch", "-q", "--detach"]); })]
#[case::named(|folder: &Path| { git(folder, &["branch", "mine"]); })]
#[case::named_after_a_commit(|folder: &Path| { commit(folder, "mine.txt"); git(folder, &["branch", "mine"]); })]
#[tokio::test]
async fn a_branch_that_a_person_makes_in_the_worktree_of_a_waiting_subtask_stays(#[case] person: fn(&Path)) {
    let cast = one_waits(|_| "part.txt");
    let stage = Stage::new(&cast);
    assert_eq!(asks(&stage.run(&stage::plan(&TWO), profile()).await), "question");
    let folder = cast.turns("1b")[0].folder().to_owned();
    person(&folder);
    let tip = git(&folder, &["rev-parse", "mine"]);
    let outcome = stage.thread.resume::<AgentQuestion>(blue()).await.unwrap();
    assert_eq!(git(&stage.path(), &["rev-parse", "mine"]), tip, "{outcome:?}");
    stage.agrees().await;
}

#[tokio::test]
async fn branches_that_agents_make_in_worktrees_go_and_their_commits_are_kept() {
    let cast = Cast::developers(|call| {
        git(call.folder(), &["switch", "-q", "-c", &format!("of-{}", call.task)]);
        commit(call.folder(), &format!("by-{}.txt", call.task));
        std::future::ready(Ok(call.part()))
    });
    let stage = Stage::new(&cast);
    let state = stage::done(stage.run(&stage::plan(&TWO), profile()).await);
    assert!(note(&state.result.notices, &["`of-1a` was created", "removed"]), "{:?}", state.result.notices);
    assert_eq!(stage.refs().iter().filter(|name| name.starts_with("branches/of-1")).count(), 2, "{:?}", stage.refs());
    stage.tidy();
    stage.agrees().await;
}

#[tokio::test]
async fn work_that_collides_with_a_commit_in_the_worktree_of_a_waiting_subtask_is_done_again_on_top_of_it() {
    let cast = one_waits(|task| if task == "1a" { "mine.txt" } else { "of-1b.txt" });
    let stage = Stage::new(&cast);
    assert_eq!(asks(&stage.run(&stage::plan(&TWO), profile()).await), "question");
    let mine = commit(cast.turns("1b")[0].folder(), "mine.txt");
    let state = stage::done(stage.thread.resume::<AgentQuestion>(blue()).await.unwrap());
    assert_eq!(state.result.outcome, Some(RunOutcome::Completed));
    assert!(is_in(&stage.repository, &mine, OWN), "{}", stage.repository.git(&["log", "--graph", OWN]));
    assert_eq!(cast.turns("1a").len(), 2);
    assert_eq!(stage.repository.git(&["show", &format!("{OWN}:mine.txt")]), "of 1a\n");
    assert!(
        note(&state.result.notices, &["commits of people", "subtask 1b", "branches/HEAD-"]),
        "{:?}",
        state.result.notices
    );
    stage.tidy();
    stage.agrees().await;
}

#[rstest]
#[case::retried(retry(1, ""), RunOutcome::Completed)]
#[case::skipped(AfterHalt::Skip, RunOutcome::Completed)]
#[case::aborted(AfterHalt::Abort, RunOutcome::Cancelled)]
#[tokio::test]
async fn a_person_is_asked_about_commits_of_people_that_collide_with_each_other(
    #[case] answer: AfterHalt,
    #[case] ends: RunOutcome,
) {
    let cast = Cast::developers(|call| {
        let asks = json!({"status": "blocked", "summary": "half", "question": "Which colour?"});
        let work = if call.nth == 0 { asks } else { call.part() };
        std::future::ready(Ok(work))
    });
    let stage = Stage::new(&cast);
    let mut outcome = stage.run(&stage::plan(&TWO), profile()).await;
    let commits = ["1a", "1b"].map(|task| {
        let folder = cast.turns(task)[0].folder().to_owned();
        write(&folder, "mine.txt", task);
        git(&folder, &["add", "mine.txt"]);
        git(&folder, &["commit", "-q", "-m", task]);
        git(&folder, &["rev-parse", "HEAD"])
    });
    while outcome.questions()[0].name() == "question" {
        let id = outcome.questions()[0].id();
        outcome = stage.thread.answer(superstep::prelude::Answer::new::<AgentQuestion>(&blue()).to(id)).await.unwrap();
    }
    let reason = stage::halt(&outcome).reason;
    let kept = reason.split('`').nth(1).unwrap().to_owned();
    assert!(reason.contains("mine.txt") && reason.contains("collide"), "{reason}");
    assert_eq!(git(&stage.path(), &["rev-parse", &kept]), commits[1]);
    let state = stage::done(stage.halted(answer).await);
    assert_eq!(state.result.outcome, Some(ends));
    assert_eq!(git(&stage.path(), &["rev-parse", &kept]), commits[1]);
    if ends == RunOutcome::Completed {
        assert!(is_in(&stage.repository, &commits[0], OWN));
    }
    stage.agrees().await;
}

#[tokio::test]
async fn commits_in_the_worktree_of_a_subtask_stay_when_its_phase_is_rejected() {
    let cast = Cast::new(move |call| {
        let asks = json!({"status": "blocked", "summary": "half", "question": "Which colour?"});
        let result = match call.is_developer() {
            true if call.task == "1b" && call.nth == 0 => asks,
            true => call.part(),
            false if call.task == "phase-1" && call.nth == 0 => rejected("1b"),
            false => approved(),
        };
        std::future::ready(Ok(result))
    });
    let stage = Stage::new(&cast);
    assert_eq!(asks(&stage.run(&stage::plan(&TWO), profile()).await), "question");
    let mine = commit(cast.turns("1b")[0].folder(), "mine.txt");
    let state = stage::done(stage.thread.resume::<AgentQuestion>(blue()).await.unwrap());
    assert_eq!((state.result.outcome, cast.turns("1b").len()), (Some(RunOutcome::Completed), 3));
    assert!(is_in(&stage.repository, &mine, OWN), "{}", stage.repository.git(&["log", "--graph", OWN]));
    stage.tidy();
    stage.agrees().await;
}

// --- worktrees that are lost while a subtask waits ---

/// Removes the files of a worktree, with those of tools.
fn empty(folder: &Path) {
    for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        match entry.is_dir() {
            true => std::fs::remove_dir_all(&entry).unwrap(),
            false if entry.ends_with(".git") => {}
            false => std::fs::remove_file(&entry).unwrap(),
        }
    }
}

fn removed(folder: &Path) {
    std::fs::remove_dir_all(folder).unwrap();
}

/// Asks in the first two turns on 1b; writes half of the work first.
fn asks_twice() -> Arc<Cast> {
    Cast::developers(|call| {
        let asks = json!({"status": "blocked", "summary": "half", "question": "Which colour?"});
        if call.task == "1b" && call.nth < 2 {
            write(call.folder(), "half.txt", &format!("{}\n", call.nth));
            return std::future::ready(Ok(asks));
        }
        if call.task == "1b" {
            assert_eq!(std::fs::read_to_string(call.folder().join("half.txt")).unwrap(), "1\n");
            assert_eq!(std::fs::read_to_string(call.folder().join("mine.txt")).unwrap(), "a person's\n");
            assert!(call.folder().join("README.md").exists());
        }
        std::future::ready(Ok(call.part()))
    })
}

#[rstest]
#[case::removed(|folder: &Path, _: &Path| removed(folder))]
#[case::removed_and_pruned(|folder: &Path, top: &Path| { removed(folder); git(top, &["worktree", "prune"]); })]
#[case::pruned_after_its_git_file_was_removed(|folder: &Path, top: &Path| { std::fs::remove_file(folder.join(".git")).unwrap(); git(top, &["worktree", "prune"]); })]
#[case::emptied(|folder: &Path, _: &Path| empty(folder))]
#[case::cleaned_up(|_: &Path, top: &Path| { git(top, &["clean", "-ffdxq"]); })]
#[tokio::test]
async fn a_lost_worktree_is_made_again_with_the_commits_of_people_beneath_the_work(#[case] loses: fn(&Path, &Path)) {
    let cast = asks_twice();
    let stage = Stage::new(&cast);
    assert_eq!(asks(&stage.run(&stage::plan(&TWO), profile()).await), "question");
    let folder = cast.turns("1b")[0].folder().to_owned();
    let mine = commit(&folder, "mine.txt");
    let outcome = stage.thread.resume::<AgentQuestion>(blue()).await.unwrap();
    assert_eq!(asks(&outcome), "question");
    loses(&folder, &stage.path());
    let state = stage::done(stage.thread.resume::<AgentQuestion>(blue()).await.unwrap());
    assert_eq!(state.result.outcome, Some(RunOutcome::Completed));
    assert!(is_in(&stage.repository, &mine, OWN), "{}", stage.repository.git(&["log", "--graph", OWN]));
    assert_eq!(stage.files(OWN), "half.txt mine.txt part-1a.txt part-1b.txt");
    stage.tidy();
    stage.agrees().await;
}

#[rstest]
#[case::removed(removed)]
#[case::emptied(empty)]
#[tokio::test]
async fn a_lost_worktree_is_made_again_with_a_commit_that_a_person_made_after_its_files_were_stored(
    #[case] loses: fn(&Path),
    #[values(false, true)] on_a_branch: bool,
) {
    let cast = asks_twice();
    let stage = Stage::new(&cast);
    stage.run(&stage::plan(&TWO), profile()).await;
    stage.thread.resume::<AgentQuestion>(blue()).await.unwrap();
    let folder = cast.turns("1b")[0].folder().to_owned();
    if on_a_branch {
        git(&folder, &["switch", "-q", "-c", "mine"]);
    }
    let mine = commit(&folder, "mine.txt");
    loses(&folder);
    let state = stage::done(stage.thread.resume::<AgentQuestion>(blue()).await.unwrap());
    assert_eq!(state.result.outcome, Some(RunOutcome::Completed));
    assert!(is_in(&stage.repository, &mine, OWN), "{}", stage.repository.git(&["log", "--graph", OWN]));
    assert_eq!(stage.files(OWN), "half.txt mine.txt part-1a.txt part-1b.txt");
    stage.agrees().await;
}

// --- code tasks ---

/// A task that is given up after its first attempt, and done in the next.
fn given_up() -> Desk {
    let mut spec = spec();
    spec.policy.max_attempts = 1;
    let cast = developers(|call| writes(call, "tides.txt", if call.nth > 0 { "in\n" } else { "error: late\n" }));
    Desk::with(cast, CHECK, spec, &Flags::default())
}

#[rstest]
#[case::a_commit(|folder: &Path| commit(folder, "mine.txt"))]
#[case::a_merge(merge)]
#[tokio::test]
async fn commits_made_while_a_code_task_waits_stay_beneath_its_own(#[case] person: fn(&Path) -> String) {
    let desk = given_up();
    desk.run().await;
    let mine = person(&desk.repository.path());
    let retry = AfterGivingUp::Retry { attempts: 1, note: String::new() };
    desk.thread.resume::<TaskGivenUp>(retry).await.unwrap();
    assert_eq!(desk.outcome().await, Some(TaskOutcome::Done));
    let made = desk.repository.git(&["rev-parse", OWN]).trim().to_owned();
    assert_eq!(desk.repository.git(&["rev-parse", &format!("{made}^")]).trim(), mine);
    assert_eq!(desk.repository.git(&["show", "--format=", "--name-only", &made]), "tides.txt\n");
    let patch = std::fs::read_to_string(desk.repository.path().join("runs/clock/attempt-2/diff.patch")).unwrap();
    assert!(patch.contains("tides.txt") && !patch.contains("mine.txt") && !patch.contains("merged.txt"), "{patch}");
    assert!(desk.thread.verify().await.unwrap().agrees());
}

#[rstest]
#[case::one_commit_at_the_end(Attempts::Refs)]
#[case::a_commit_for_each_attempt(Attempts::Branch)]
#[tokio::test]
async fn a_code_task_changes_a_file_that_a_person_committed_while_it_waited(#[case] attempts: Attempts) {
    let mut spec = spec();
    (spec.policy.max_attempts, spec.git.attempts) = (1, attempts);
    let cast = developers(|call| match call.nth {
        0 => writes(call, "tides.txt", "error: late\n"),
        _ => {
            assert_eq!(std::fs::read_to_string(call.folder().join("moon.txt")).unwrap(), "a person's\n");
            std::fs::write(call.folder().join("moon.txt"), "the agent's\n").unwrap();
            writes(call, "tides.txt", "in\n")
        }
    });
    let mut desk = Desk::with(cast, CHECK, spec, &Flags::default());
    desk.settings.allow_dirty = true;
    let folder = desk.repository.path();
    std::fs::write(folder.join("notes.txt"), "of the user, in no commit\n").unwrap();
    desk.run().await;
    std::fs::write(folder.join("moon.txt"), "a person's\n").unwrap();
    git(&folder, &["add", "moon.txt"]);
    git(&folder, &["commit", "-q", "-m", "person: the moon", "moon.txt"]);
    let mine = git(&folder, &["rev-parse", "HEAD"]);
    desk.thread.resume::<TaskGivenUp>(AfterGivingUp::Retry { attempts: 1, note: String::new() }).await.unwrap();
    assert_eq!(desk.outcome().await, Some(TaskOutcome::Done));
    assert_eq!(git(&folder, &["rev-parse", &format!("{OWN}^")]), mine);
    assert_eq!(git(&folder, &["show", &format!("{OWN}:moon.txt")]), "the agent's");
    assert_eq!(git(&folder, &["show", "--format=", "--name-only", OWN]), "moon.txt\ntides.txt");
    assert!(desk.thread.verify().await.unwrap().agrees());
}

#[rstest]
#[case::kept(AfterMove::Keep, TaskOutcome::Done)]
#[case::aborted(AfterMove::Abort, TaskOutcome::Cancelled)]
#[tokio::test]
async fn a_code_task_asks_when_its_branch_is_moved(#[case] answer: AfterMove, #[case] outcome: TaskOutcome) {
    let cast = developers(|call| {
        commit_elsewhere_on_own(call.folder());
        commit_elsewhere(call.folder(), "main", "mine.txt");
        writes(call, "tides.txt", "in\n")
    });
    let desk = Desk::new(cast);
    let ended = desk.run().await;
    assert_eq!(ended.questions()[0].name(), "branch_moved");
    let new = desk.repository.git(&["rev-parse", OWN]).trim().to_owned();
    desk.thread.resume::<BranchMoved>(answer).await.unwrap();
    assert_eq!(desk.outcome().await, Some(outcome));
    assert!(is_in(&desk.repository, &new, OWN));
    assert_eq!(desk.repository.subjects("main"), ["begin", "person: mine.txt"]);
    let notices = desk.state().await.notices;
    assert!(note(&notices, &["`main`", "not by this run"]), "{notices:?}");
    assert!(desk.thread.verify().await.unwrap().agrees());
}

// --- forks ---

/// Asserts that nothing is left of a fork.
fn no_fork(repository: &Repository) {
    assert_eq!(repository.git(&["worktree", "list"]).lines().count(), 1);
    assert_eq!(repository.git(&["branch", "--list", "superstep/second*"]), "");
    let left = std::fs::read_dir(repository.path().join(".superstep/forks"));
    assert_eq!(left.into_iter().flatten().count(), 0);
}

#[tokio::test]
async fn a_fork_that_fails_or_is_taken_back_leaves_no_work_tree_and_no_branch() {
    let agent = Agent::crew(|call, folder, _| part(folder, &call.task), |call, _| rejected(&call.task));
    let scene = Scene::new(agent);
    assert_eq!(asks(&scene.run(&plan(1), profile()).await), "halted");
    let state = scene.thread.state().await.unwrap().unwrap().values.as_ref().clone();
    let mut damaged = state.clone();
    damaged.attempt.task_tree = Some("f".repeat(40).parse().unwrap());
    let failed = task_based::fork(&damaged, &state, "second", true).await.unwrap_err();
    assert!(matches!(failed, WorkspaceError::NoSuchObject { .. }), "{failed}");
    no_fork(&scene.repository);
    let made = task_based::fork(&state, &state, "second", true).await.unwrap();
    assert!(made.folder.join("part-1.txt").exists());
    made.remove().await.unwrap();
    no_fork(&scene.repository);

    let desk = given_up();
    desk.run().await;
    let state = desk.state().await;
    let mut damaged = state.clone();
    damaged.attempt.files.as_mut().unwrap().tree = "f".repeat(40).parse().unwrap();
    let failed = code_task::fork(&damaged, &state, "second", true).await.unwrap_err();
    assert!(matches!(failed, WorkspaceError::NoSuchObject { .. }), "{failed}");
    no_fork(&desk.repository);
}

#[tokio::test]
async fn a_fork_that_is_taken_back_leaves_a_branch_that_a_person_has_worked_on() {
    let agent = Agent::crew(|call, folder, _| part(folder, &call.task), |call, _| rejected(&call.task));
    let scene = Scene::new(agent);
    scene.run(&plan(1), profile()).await;
    let state = scene.thread.state().await.unwrap().unwrap().values.as_ref().clone();
    let made = task_based::fork(&state, &state, "second", true).await.unwrap();
    let mine = commit(&made.folder, "mine.txt");
    made.remove().await.unwrap();
    assert!(is_in(&scene.repository, &mine, &made.branch));
}

// --- work that no commit contains ---

#[tokio::test]
async fn an_attempt_whose_only_work_git_ignores_names_it_in_the_question_and_to_the_agent() {
    let agent = Agent::crew(
        |_, folder, nth| {
            write(folder, "notes.log", &format!("{nth}"));
            crate::agent::work()
        },
        |_, _| approved(),
    );
    let scene = Scene::new(agent);
    scene.repository.write(".gitignore", "*.log\n");
    scene.repository.git(&["add", "."]);
    scene.repository.git(&["commit", "-q", "-m", "ignore"]);
    let outcome = scene.run(&plan(1), profile()).await;
    let halted: superstep::nodes::Halted = outcome.questions()[0].payload().unwrap();
    let left = "changed, but ignored by git and so in no commit: `notes.log`";
    assert_eq!(halted.reason, format!("2 attempts in a row changed no file that can be committed: {left}"));
    let again = scene.agent.calls("developer")[1].prompt.clone();
    assert!(again.contains(left), "{again}");
    let state = scene.halted(AfterHalt::Abort).await.finished().unwrap();
    assert!(note(&state.result.notices, &[left]), "{:?}", state.result.notices);
}

#[tokio::test]
async fn work_that_git_refuses_is_named_and_the_rest_is_committed() {
    let agent = Agent::crew(
        |call, folder, _| {
            write(folder, "git~1", "x");
            part(folder, &call.task)
        },
        |_, _| approved(),
    );
    let scene = Scene::new(agent);
    let state = scene.run(&plan(1), profile()).await.finished().unwrap();
    assert_eq!(scene.commits().len(), 1);
    assert!(note(&state.result.notices, &["`git~1`", "git refuses it"]), "{:?}", state.result.notices);
}

#[tokio::test]
async fn subtasks_and_code_tasks_name_work_that_git_ignores() {
    let ignore = |repository: &Repository| {
        repository.write(".gitignore", "*.log\n");
        repository.git(&["add", "."]);
        repository.git(&["commit", "-q", "-m", "ignore"]);
    };
    let cast = Cast::developers(|call| {
        write(call.folder(), "notes.log", "x");
        std::future::ready(Ok(call.part()))
    });
    let stage = Stage::new(&cast);
    ignore(&stage.repository);
    let state = stage::done(stage.run(&stage::plan(&[("1", "none"), ("2", "1")]), profile()).await);
    assert!(note(&state.result.notices, &["ignored by git", "`notes.log`"]), "{:?}", state.result.notices);

    let desk = Desk::new(developers(|call| {
        write(call.folder(), "notes.log", "x");
        writes(call, "tides.txt", "in\n")
    }));
    ignore(&desk.repository);
    desk.run().await;
    let notices = desk.state().await.notices;
    assert!(note(&notices, &["ignored by git", "`notes.log`"]), "{notices:?}");
}
