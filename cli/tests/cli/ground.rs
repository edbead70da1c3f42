//! Repositories with secrets, changes and unusual HEADs: what a run commits, and what it leaves alone.

use std::path::Path;

use rstest::rstest;

use crate::place::Place;

fn put(place: &Place, file: &str, text: &[u8]) {
    let file = place.path().join("repo").join(file);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, text).unwrap();
}

fn read(place: &Place, file: &str) -> Option<String> {
    std::fs::read_to_string(place.path().join("repo").join(file)).ok()
}

/// A developer who leaves secrets and a large file next to the work.
const CARELESS: &str = "
  - role: developer
    task: '1'
    steps:
      - write: {path: face.txt, content: face}
      - write: {path: .env.local, content: KEY=1}
      - write: {path: conf/id_ed25519, content: key}
      - write: {path: conf/server.txt, content: \"-----BEGIN RSA PRIVATE KEY-----\\nx\\n\"}
    submit: {status: done, summary: did}
";

#[test]
fn secrets_and_large_files_are_left_out_with_a_warning_and_are_not_dirt() {
    let place = Place::new(CARELESS);
    put(&place, "large.bin", &vec![b'x'; 11 << 20]);
    put(&place, ".env", b"KEY=2\n");
    let start = place.run(&["--plan", "PLAN.md"]);
    assert_eq!(start.code(), 10, "{}", start.text());
    let done = place.call(&["approve", "t"]);
    assert_eq!(done.code(), 0, "{}", done.text());
    let files = place.git(&["log", "--format=", "--name-only", "main..superstep/t"]);
    assert_eq!(files, "more.txt\nface.txt\n");
    for named in [".env", ".env.local", "conf/id_ed25519", "conf/server.txt", "large.bin"] {
        let count = done.text().lines().filter(|line| line.contains(&format!("`{named}` is left out"))).count();
        assert_eq!(count, 1, "{named}: {}", done.text());
    }
    let next =
        place.call(&["run", "tasks", "--dir", "repo", "--profile", "p.toml", "--plan", "PLAN.md", "--thread", "u"]);
    assert_eq!(next.code(), 10, "{}", next.text());
}

#[test]
fn the_branch_may_be_named() {
    let place = Place::new("");
    assert_eq!(place.run(&["--plan", "PLAN.md", "--branch", "feature/clock"]).code(), 10);
    assert_eq!(place.call(&["approve", "t"]).code(), 0);
    assert_eq!(place.subjects("feature/clock").len(), 3);
    assert_eq!(place.git(&["branch", "--list", "superstep/*"]), "");
    assert_eq!(place.subjects("main"), ["begin"]);
}

#[test]
fn changes_of_the_user_are_in_no_commit() {
    let place = Place::new("");
    put(&place, "face.txt", b"old\n");
    put(&place, "mine.txt", b"old\n");
    place.git(&["add", "."]);
    place.git(&["commit", "-q", "-m", "files"]);
    put(&place, "mine.txt", b"new\n");
    put(&place, "own.txt", b"own\n");
    put(&place, "staged.txt", b"staged\n");
    place.git(&["add", "staged.txt"]);
    let refused = place.run(&["--plan", "PLAN.md"]);
    assert_eq!(refused.code(), 1, "{}", refused.text());
    assert!(refused.text().contains("`--allow-dirty`"), "{}", refused.text());
    assert_eq!(place.run(&["--plan", "PLAN.md", "--allow-dirty"]).code(), 10);
    let done = place.call(&["approve", "t"]);
    assert_eq!(done.code(), 0, "{}", done.text());
    let files = place.git(&["log", "--format=", "--name-only", "main..superstep/t"]);
    assert_eq!(files, "more.txt\nface.txt\n");
    let own = ["mine.txt", "own.txt", "staged.txt"].map(|file| read(&place, file).unwrap());
    assert_eq!(own, ["new\n", "own\n", "staged\n"]);
}

#[test]
fn salvaged_work_is_restored_where_nothing_is_overwritten() {
    let place = Place::halted();
    assert_eq!(place.call(&["resume", "t", "--answer", r#""skip""#]).code(), 0);
    let listed = place.json(&["salvage", "t"]);
    let name = listed[1]["ref"].as_str().unwrap();
    assert_eq!((name, &listed[1]["files"]), ("refs/superstep/t/task-1/attempt-2", &serde_json::json!(["face.txt"])));
    put(&place, "face.txt", b"mine");
    let refused = place.call(&["salvage", "t", "--restore", name]);
    assert_eq!(refused.code(), 1, "{}", refused.text());
    assert!(refused.text().contains("`face.txt`"), "{}", refused.text());
    assert_eq!(read(&place, "face.txt").as_deref(), Some("mine"));
    std::fs::remove_file(place.path().join("repo/face.txt")).unwrap();
    let restored = place.call(&["salvage", "t", "--restore", name]);
    assert_eq!((restored.code(), restored.text()), (0, "wrote face.txt\n".to_owned()));
    assert_eq!(read(&place, "face.txt").as_deref(), Some("face"));
    let unknown = place.call(&["salvage", "t", "--restore", "refs/superstep/t/task-9/attempt-1"]);
    assert_eq!(unknown.code(), 1, "{}", unknown.text());
}

#[rstest]
#[case::detached(&["checkout", "-q", "--detach"])]
#[case::unborn(&["checkout", "-q", "--orphan", "fresh"])]
fn a_run_can_start_at_a_head_without_a_branch_or_commit(#[case] before: &[&str]) {
    let place = Place::new("");
    place.git(before);
    let start = place.run(&["--plan", "PLAN.md"]);
    assert_eq!(start.code(), 10, "{}", start.text());
    let done = place.call(&["approve", "t"]);
    assert_eq!(done.code(), 0, "{}", done.text());
    let subjects = place.subjects("superstep/t");
    let made = ["feat: Face (task 1)", "feat: Hands (task 2)"];
    assert_eq!(subjects[subjects.len() - 2..], made);
    assert_eq!(place.subjects("main"), ["begin"]);
}

#[rstest]
fn an_unfinished_merge_is_refused_before_anything(#[values("run", "approve")] at: &str) {
    let place = Place::new("");
    let begin_merge = || {
        place.git(&["checkout", "-q", "-b", "other"]);
        place.git(&["commit", "-q", "--allow-empty", "-m", "other"]);
        place.git(&["checkout", "-q", "main"]);
        place.git(&["merge", "-q", "--no-ff", "--no-commit", "other"]);
    };
    if at == "run" {
        begin_merge();
    }
    let called = place.run(&["--plan", "PLAN.md"]);
    let called = if at == "run" {
        assert!(!Path::new(&place.path().join(".superstep")).exists());
        called
    } else {
        begin_merge();
        place.call(&["approve", "t"])
    };
    assert_eq!(called.code(), 1, "{}", called.text());
    assert!(called.text().contains("a merge is in progress"), "{}", called.text());
    if at == "approve" {
        place.git(&["merge", "--abort"]);
        assert_eq!(place.call(&["retry", "t"]).code(), 0);
    }
}

#[test]
fn a_thread_starts_once() {
    let place = Place::new("");
    assert_eq!(place.run(&["--plan", "PLAN.md"]).code(), 10);
    let again = place.run(&["--plan", "PLAN.md"]);
    assert_eq!(again.code(), 1, "{}", again.text());
    assert!(again.text().contains("there is a thread `t` already"), "{}", again.text());
    assert_eq!(place.call(&["approve", "t"]).code(), 0);
}

#[rstest]
#[case::above(&["branch", "superstep"], &[], "the branch `superstep` is in the way of the branch `superstep/t`")]
#[case::below(&["branch", "superstep/t/x"], &[], "the branch `superstep/t/x` is in the way of the branch `superstep/t`")]
#[case::chosen(&["branch", "work"], &["--branch", "work/tides"], "the branch `work` is in the way of the branch `work/tides`")]
#[case::taken(&["branch", "work"], &["--branch", "work"], "the branch `work` already exists")]
#[case::invalid(&["branch", "x"], &["--branch", "a..b"], "`a..b` cannot be the name of a branch")]
fn a_branch_that_cannot_be_made_is_refused_before_the_approval(
    #[case] before: &[&str],
    #[case] flags: &[&str],
    #[case] problem: &str,
    #[values("tasks", "phases")] kind: &str,
) {
    let place = Place::new("");
    place.git(before);
    let run = ["run", kind, "--plan", "PLAN.md", "--profile", "p.toml", "--dir", "repo", "--thread", "t"];
    let start = place.call(&[&run[..], flags].concat());
    let text = start.text();
    assert!([1, 2].contains(&start.code()), "{} {text}", start.code());
    assert!(text.contains(problem) && text.contains("help: ") && text.matches(problem).count() == 1, "{text}");
    assert!(!text.contains("class="), "{text}");
}

#[test]
fn an_agent_that_is_not_installed_is_refused_before_anything_is_stored() {
    let place = Place::new("");
    place.write("p.toml", "driver = 'cli:claude'\n[tools]\ncommand_prefix = ['no-such-sandbox']\n");
    let start = place.run(&["--plan", "PLAN.md"]);
    let text = start.text();
    assert_eq!(start.code(), 2, "{text}");
    assert!(text.contains("the program `no-such-sandbox`, which the developer needs, is not installed"), "{text}");
    assert!(text.contains("install it, or change `command_prefix` in the profile"), "{text}");
    assert!(!place.path().join("store").exists() && !place.path().join(".superstep/store").exists());
}

#[test]
fn what_the_work_will_meet_is_said_at_the_approval() {
    let place = Place::new("");
    place.write("repo/.git/info/exclude", ".env\n");
    place.write("repo/.env", "KEY=1");
    place.write("repo/.git/hooks/pre-commit", "#!/bin/sh\nexit 1\n");
    place.profile("[tools]\npass = ['NO_SUCH_VARIABLE']\n");
    let warnings = |kind: &str, thread: &str| {
        let words = ["run", kind, "--plan", "PLAN.md", "--profile", "p.toml", "--dir", "repo", "--thread", thread];
        place.call(&words).text()
    };
    let (tasks, phases) = (warnings("tasks", "a"), warnings("phases", "b"));
    for text in [&tasks, &phases] {
        assert!(text.contains("the hook `.git/hooks/pre-commit` is not executable"), "{text}");
        assert!(
            text.contains("the profile passes the variable `NO_SUCH_VARIABLE` to agents and checks, but it is not set"),
            "{text}"
        );
    }
    let lacks = "the work trees of subtasks do not have the files that git ignores: `.env`";
    assert!(!tasks.contains(lacks) && phases.contains(lacks), "{tasks}\n{phases}");
}
