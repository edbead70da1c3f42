//! Files that agents of subtasks must not change, and files that never get into a commit.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rstest::rstest;
use serde_json::json;
use superstep::drivers::api::ApiConfig;
use superstep::nodes::AfterHalt;
use superstep::workspace::Furnishings;
use tokio::sync::watch;

use crate::agent::{approved, rejected, work};
use crate::phases::stage::{Call, Cast, Stage, broken, done, halt, phased, plan, profile, three, verified};
use crate::repository::{Repository, write};
use crate::scene::retry;

/// Commands in git's configuration that create a file when they run.
fn commands(owned: &Path) -> String {
    let touch = format!("\"touch {}\"", owned.display());
    format!(
        "[core]\n\tfsmonitor = {touch}\n[filter \"evil\"]\n\tclean = {touch}\n\tsmudge = {touch}\n\tprocess = {touch}\n\trequired = true\n"
    )
}

fn append(file: &Path, text: &str) {
    let before = std::fs::read_to_string(file).unwrap_or_default();
    std::fs::write(file, before + text).unwrap();
}

/// Returns the `.git` of the repository that a worktree belongs to.
fn common(worktree: &Path) -> PathBuf {
    worktree.ancestors().find(|above| above.join(".git").is_dir()).unwrap().join(".git")
}

type Plant = fn(&Path, &Path);

fn configuration(worktree: &Path, owned: &Path) {
    append(&common(worktree).join("config"), &commands(owned));
    append(&common(worktree).join("info/attributes"), "* filter=evil\n");
}

fn hook(worktree: &Path, owned: &Path) {
    for name in ["pre-commit", "post-checkout", "reference-transaction", "post-index-change"] {
        let hook = common(worktree).join("hooks").join(name);
        write(&common(worktree), &format!("hooks/{name}"), &format!("#!/bin/sh\ntouch {}\n", owned.display()));
        crate::program::make_executable(hook);
    }
}

fn hooks_path(worktree: &Path, owned: &Path) {
    hook(worktree, owned);
    std::fs::rename(common(worktree).join("hooks"), worktree.join("evil")).unwrap();
    append(&common(worktree).join("config"), &format!("[core]\n\thooksPath = {}/evil\n", worktree.display()));
}

/// Creates a repository of the agent's own in place of the worktree's file.
fn own_repository(worktree: &Path, owned: &Path) {
    std::fs::remove_file(worktree.join(".git")).unwrap();
    let made = std::process::Command::new("git").args(["init", "-q"]).current_dir(worktree).status().unwrap();
    assert!(made.success());
    append(&worktree.join(".git/config"), &commands(owned));
    write(worktree, ".git/info/attributes", "* filter=evil\n");
}

#[rstest]
#[case::configuration(configuration)]
#[case::hook(hook)]
#[case::place_of_hooks(hooks_path)]
#[case::file_of_the_worktree(own_repository)]
#[tokio::test]
async fn hooks_and_configuration_that_an_agent_changes_halt_the_run_and_never_run(#[case] plant: Plant) {
    let place = tempfile::tempdir().unwrap();
    let owned = place.path().join("owned");
    let (sender, receiver) = watch::channel(0);
    let (sender, evil) = (Arc::new(sender), owned.clone());
    let cast = Cast::developers(move |call| {
        let (sender, mut receiver, evil) = (Arc::clone(&sender), receiver.clone(), evil.clone());
        async move {
            call.part();
            if call.nth > 0 || call.task == "3" {
                return Ok(work());
            }
            sender.send_modify(|count| *count += 1);
            receiver.wait_for(|count| *count == 3).await.unwrap();
            match call.task.as_str() {
                "2b" => plant(call.folder(), &evil),
                _ => return call.hangs().await,
            }
            Ok(work())
        }
    });
    let stage = Stage::new(&cast);
    let config = std::fs::read(stage.path().join(".git/config")).unwrap();
    let outcome = stage.run(&three(), profile()).await;
    let halted = halt(&outcome);
    assert_eq!(halted.phase.clone().unwrap().subtask.as_deref(), Some("2b"), "{halted:?}");
    assert!(halted.reason.starts_with("the agent changed git's hooks or configuration: "), "{}", halted.reason);
    assert!(!owned.exists(), "nothing that was planted runs");
    let lines = stage.lines().await;
    assert_eq!(lines[0], "2a failed 1 (cancelled: subtask 2b failed)");
    assert_eq!(lines[2], "2c failed 1 (cancelled: subtask 2b failed)");
    assert_eq!(halted.salvage.references().count(), 3);
    // A person fixes it, and continues.
    std::fs::write(stage.path().join(".git/config"), config).unwrap();
    let _ = std::fs::remove_dir_all(stage.path().join(".git/hooks"));
    let _ = std::fs::remove_file(stage.path().join(".git/info/attributes"));
    for id in ["2a", "2b", "2c"] {
        let files = stage.files(&format!("refs/superstep/clock/phase-1/attempt-1/task-{id}"));
        assert!(files.split(' ').any(|file| file == format!("part-{id}.txt")), "{id}: {files}");
    }
    stage.tidy();
    done(stage.halted(retry(1, "")).await);
    assert_eq!(stage.commits(), ["2a 2", "2b 2", "2c 2", "3 1"]);
    assert!(!owned.exists());
    stage.agrees().await;
}

/// A sibling ends its turn, or its setup, after another has changed the configuration and still works.
#[rstest]
#[case::ends_its_turn(false)]
#[case::ends_its_setup(true)]
#[tokio::test]
async fn git_runs_no_planted_program_for_siblings(#[case] is_setup: bool) {
    let place = tempfile::tempdir().unwrap();
    let (owned, planted) = (place.path().join("owned"), place.path().join("planted"));
    let (sender, receiver) = watch::channel(false);
    let (sender, evil, flag) = (Arc::new(sender), owned.clone(), planted.clone());
    let cast = Cast::developers(move |call| {
        let (sender, mut receiver) = (Arc::clone(&sender), receiver.clone());
        let (evil, flag) = (evil.clone(), flag.clone());
        async move {
            call.part();
            match call.task.as_str() {
                "2a" => {
                    configuration(call.folder(), &evil);
                    std::fs::write(flag, "").unwrap();
                    sender.send_replace(true);
                    call.hangs().await
                }
                _ if is_setup => call.hangs().await,
                _ => {
                    receiver.wait_for(|planted| *planted).await.unwrap();
                    Ok(work())
                }
            }
        }
    });
    let stage = Stage::new(&cast);
    let waits = format!("case $PWD in *task-2c) until test -e {}; do sleep 0.05; done;; esac", planted.display());
    let profile = phased(|phased| phased.worktree.setup = if is_setup { vec![waits] } else { vec![] });
    let outcome = stage.run(&three(), profile).await;
    let reason = halt(&outcome).reason;
    assert!(reason.contains("changed git's hooks or configuration: "), "{reason}");
    assert!(!owned.exists(), "nothing that was planted runs");
    std::fs::remove_file(stage.path().join(".git/info/attributes")).unwrap();
    assert!(stage.refs().contains(&"phase-1/attempt-1/task-2a".to_owned()), "{:?}", stage.refs());
}

#[tokio::test]
async fn furnished_files_are_in_no_diff_and_no_commit() {
    let repository = Repository::new();
    repository.write(".gitignore", ".env.test\nnode_modules\n");
    repository.git(&["add", "."]);
    repository.git(&["commit", "-q", "--amend", "--no-edit"]);
    repository.write(".env.test", "KEY=1\n");
    repository.write("node_modules/one", "1\n");
    let cast = Cast::new(|call: Call| async move {
        if call.is_developer() {
            assert!(call.folder().join(".env.test").exists() && call.folder().join("node_modules/one").exists());
            assert_eq!(std::fs::read_to_string(call.folder().join("README.md")).unwrap(), "# Clock\nset up\n");
            return Ok(call.part());
        }
        for text in ["set up", "made by setup", ".env.test", "node_modules"] {
            assert!(!call.request.prompt.contains(text), "{text}: {}", call.request.prompt);
        }
        Ok(approved())
    });
    let stage = Stage::with(repository, cast);
    let profile = phased(|phased| {
        phased.worktree.setup = vec!["echo set up >> README.md; echo made by setup > made.txt".into()];
        phased.worktree.furnishings = Furnishings { copy: vec![".env.test".into()], link: vec!["node_modules".into()] };
    });
    done(stage.run(&three(), profile).await);
    assert_eq!(stage.files("superstep/clock"), "part-2a.txt part-2b.txt part-2c.txt part-3.txt");
    stage.tidy();
    stage.agrees().await;
}

#[rstest]
#[case::copy(Furnishings { copy: vec!["none.env".into()], link: vec![] }, "none.env")]
#[case::link(Furnishings { copy: vec![], link: vec!["none".into()] }, "none")]
#[tokio::test]
async fn a_missing_furnished_file_fails_the_subtask(#[case] furnishings: Furnishings, #[case] name: &str) {
    let cast = Cast::developers(|call| async move { Ok(call.part()) });
    let stage = Stage::new(&cast);
    let outcome = stage.run(&three(), phased(|phased| phased.worktree.furnishings = furnishings)).await;
    let reason = halt(&outcome).reason;
    assert!(reason.contains(name) && reason.contains("is not in"), "{reason}");
    assert_eq!(cast.tasks(), Vec::<String>::new());
    stage.tidy();
    stage.agrees().await;
}

#[tokio::test]
async fn a_review_of_a_subtask_returns_it_in_its_session() {
    let cast = Cast::new(|call| async move {
        if call.is_developer() {
            write(call.folder(), &format!("{}-{}.txt", call.task, call.nth), "x\n");
            return Ok(work());
        }
        Ok(if call.task == "2b" && call.nth == 0 { rejected("too thin") } else { approved() })
    });
    let stage = Stage::new(&cast);
    done(stage.run(&three(), phased(|phased| phased.subtask_review = true)).await);
    let [first, second] = &cast.turns("2b")[..] else { panic!() };
    assert_eq!((second.folder(), &second.session), (first.folder(), &first.session));
    assert!(second.request.prompt.contains("too thin"));
    let reviews: Vec<_> = cast.calls().into_iter().filter(|call| !call.is_developer()).map(|one| one.task).collect();
    assert_eq!(reviews.len(), 7, "a review of each turn, and of each phase: {reviews:?}");
    assert_eq!(stage.commits(), ["2a 1", "2b 1", "2c 1", "3 1"]);
    stage.tidy();
    stage.agrees().await;
}

#[tokio::test]
async fn the_turns_of_a_subtask_are_limited() {
    let cast = Cast::new(|call| async move {
        if call.is_developer() {
            write(call.folder(), &format!("{}.txt", call.task), &format!("{}\n", call.nth));
            return Ok(work());
        }
        Ok(if call.task == "2b" { rejected("too thin") } else { approved() })
    });
    let stage = Stage::new(&cast);
    let outcome = stage.run(&three(), phased(|phased| phased.subtask_review = true)).await;
    assert_eq!(halt(&outcome).reason, "it was not accepted after 2 attempts: too thin");
    assert_eq!(cast.turns("2b").len(), 2);
    stage.tidy();
    stage.agrees().await;
}

/// A variable in every test's environment that plays one with a key.
const VARIABLE: &str = "CARGO_PKG_NAME";

#[tokio::test]
async fn a_key_in_the_work_of_a_subtask_is_not_committed() {
    let Ok(key) = std::env::var(VARIABLE) else { return };
    let _ = ApiConfig::new("http://127.0.0.1:1").key_from_env(VARIABLE); // it holds a key from now on
    let cast = Cast::developers(move |call| {
        let key = key.clone();
        async move {
            if call.task == "2b" {
                write(call.folder(), "part.rs", &format!("let key = \"{key}\";\n"));
            }
            Ok(call.part())
        }
    });
    let stage = Stage::new(&cast);
    let outcome = stage.run(&three(), phased(|phased| phased.max_parallel = 1)).await;
    let halted = halt(&outcome);
    assert!(halted.reason.starts_with("it was not accepted after 2 attempts: "), "{}", halted.reason);
    let problem = halt(&stage.halted(AfterHalt::Accept).await).problem.unwrap();
    assert!(problem.starts_with(&format!("part.rs:1 holds the value of `{VARIABLE}`")), "{problem}");
    done(stage.halted(AfterHalt::Skip).await);
    assert_eq!(stage.commits(), ["2a 1", "2c 2"]);
    stage.tidy();
    stage.agrees().await;
}

/// Runs git in an agent's folder.
fn git(folder: &Path, args: &[&str]) {
    assert!(std::process::Command::new("git").args(args).current_dir(folder).status().unwrap().success());
}

#[rstest]
#[case::that_is_done(false)]
#[case::that_fails(true)]
#[tokio::test]
async fn commits_of_agents_are_reverted_and_branches_of_others_stay(#[case] fails: bool) {
    let cast = Cast::developers(move |call| async move {
        call.part();
        let folder = call.folder();
        git(folder, &["add", "."]);
        git(folder, &["commit", "-q", "-m", "mine"]);
        git(folder, &["branch", "of-my-own"]);
        let user = common(folder).parent().unwrap().to_owned();
        git(&user, &["branch", &format!("of-a-person-{}", call.task)]);
        if fails { Err(broken()) } else { Ok(json!({"status": "done", "summary": "did it", "files": []})) }
    });
    let stage = Stage::new(&cast);
    let profile = phased(|phased| phased.max_parallel = 1);
    let outcome = stage.run(&plan(&[("1", "none"), ("2", "1")]), profile).await;
    assert_eq!(outcome.questions().len(), usize::from(fails));
    assert_eq!(stage.repository.subjects("main"), ["begin"]);
    let heads = stage.repository.git(&["for-each-ref", "--format=%(refname:short)", "refs/heads"]);
    let (others, commits) = match fails {
        true => ("of-a-person-1\n", vec![]),
        false => ("of-a-person-1\nof-a-person-2\n", vec!["1 1", "2 1"]),
    };
    assert_eq!(heads, format!("main\n{others}superstep/clock\n"));
    assert_eq!(stage.commits(), commits);
    let count = stage.refs().iter().filter(|name| name.starts_with("branches/of-my-own-")).count();
    assert_eq!(count, 1 + commits.len() / 2);
    stage.agrees().await;
}

#[tokio::test]
async fn checks_of_a_subtask_that_change_hooks_halt_it() {
    let cast = Cast::developers(|call| async move { Ok(call.part()) });
    let stage = Stage::new(&cast);
    let hook = stage.path().join(".git/hooks/pre-commit");
    let command = format!("echo exit 0 > {}", hook.display());
    let outcome = stage.run(&verified(&plan(&[("1", "none")]), "1", &command), profile()).await;
    assert!(halt(&outcome).reason.starts_with("a check changed git's hooks or configuration: "));
    assert_eq!(stage.refs(), ["phase-1/attempt-1/task-1"]);
    stage.tidy();
    stage.agrees().await;
}
