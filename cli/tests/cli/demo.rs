//! `superstep demo` as a newcomer runs it: at a terminal, in a pipe, and on a machine that lacks something.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use rstest::rstest;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use tempfile::TempDir;

use crate::place::RunOutput;

/// The demo on a machine where git was never configured.
fn demo(machine: &TempDir, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_superstep"));
    command.arg("demo").args(words);
    fresh(machine, &mut command);
    command
}

fn fresh(machine: &TempDir, command: &mut Command) {
    let home = machine.path();
    command.current_dir(home).env("TMPDIR", home).env("HOME", home).env("GIT_CONFIG_NOSYSTEM", "1");
    for name in ["SUPERSTEP_STORE", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL"] {
        command.env_remove(name);
    }
}

fn call(machine: &TempDir, words: &[&str]) -> RunOutput {
    RunOutput(demo(machine, words).output().unwrap())
}

/// The commands under "Where to look next", which a person copies.
fn commands(told: &str) -> Vec<&str> {
    let (_, next) = told.split_once("Where to look next\n").unwrap();
    next.lines().filter_map(|line| line.strip_prefix("    ")).collect()
}

fn pasted(machine: &TempDir, line: &str) -> RunOutput {
    let mut shell = Command::new("sh");
    shell.args(["-c", line]);
    fresh(machine, &mut shell);
    RunOutput(shell.output().unwrap())
}

/// The subjects of `git log --oneline` in an output.
fn subjects(told: &str) -> Vec<&str> {
    let lines = told.lines().filter_map(|line| line.trim_end().split_once(' '));
    let is_commit = |hash: &str| hash.len() >= 7 && hash.chars().all(|c| c.is_ascii_hexdigit());
    lines.filter(|(hash, _)| is_commit(hash)).map(|(_, subject)| subject).collect()
}

const COMMITS: [&str; 3] =
    ["feat: Choose a day (task 2)", "feat: Print the table (task 1)", "Begin with the tides of two days"];

#[test]
fn without_a_question_it_ends_in_commits_and_in_commands_that_work() {
    let machine = tempfile::tempdir().unwrap();
    let done = call(&machine, &["--yes"]);
    assert_eq!(done.code(), 0, "{}", done.text());
    assert!(done.text().contains("reviewer says rejected (major): tides.sh:1"), "{}", done.text());
    assert_eq!(subjects(&done.text()), COMMITS);
    let told = done.text();
    let next = commands(&told);
    assert_eq!(next.len(), 6, "{next:#?}");
    for line in next {
        let pasted = pasted(&machine, line);
        assert_eq!(pasted.code(), 0, "{line}: {}", pasted.text());
    }
    assert!(!machine.path().join("superstep-demo-1").exists());
}

#[test]
fn in_a_pipe_it_stops_and_names_the_command_that_approves() {
    let machine = tempfile::tempdir().unwrap();
    let asked = call(&machine, &[]);
    assert_eq!(asked.code(), 10, "{}", asked.text());
    let told = asked.text();
    let next = commands(&told);
    assert!(next[0].contains(" approve tides --store "), "{next:#?}");
    assert_eq!(pasted(&machine, next[0]).code(), 0);
    assert_eq!(subjects(&pasted(&machine, next[1]).text()), COMMITS);
}

#[rstest]
#[case::yes("yes\n", 0)]
#[case::no("what?\nno\n", 12)]
#[case::nothing("", 10)]
fn answers_in_a_pipe_are_read(#[case] typed: &str, #[case] code: i32) {
    let machine = tempfile::tempdir().unwrap();
    let mut command = demo(&machine, &[]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(typed.as_bytes()).unwrap();
    let ended = RunOutput(child.wait_with_output().unwrap());
    assert_eq!(ended.code(), code, "{}", ended.text());
}

#[test]
fn its_commands_work_from_every_folder() {
    let machine = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_superstep"), machine.path().join("superstep")).unwrap();
    let mut relative = Command::new("./superstep");
    relative.args(["demo", "--yes"]);
    fresh(&machine, &mut relative);
    let done = RunOutput(relative.output().unwrap());
    assert_eq!(done.code(), 0, "{}", done.text());
    let told = done.text();
    for line in commands(&told).into_iter().filter(|line| !line.starts_with("rm ")) {
        let mut shell = Command::new("sh");
        shell.args(["-c", line]);
        fresh(&machine, &mut shell);
        let pasted = RunOutput(shell.current_dir("/").output().unwrap());
        assert_eq!(pasted.code(), 0, "{line}: {}", pasted.text());
    }
}

#[rstest]
#[case::approved("approve\n", 0, 3)]
#[case::rejected("reject not now\n", 12, 0)]
#[case::left_open("\u{4}", 10, 0)]
fn at_a_terminal_it_asks(#[case] typed: &str, #[case] code: i32, #[case] commits: usize) {
    let machine = tempfile::tempdir().unwrap();
    let (told, ended) = at_a_terminal(demo(&machine, &[]), typed);
    assert_eq!(ended, code, "{told}");
    assert!(told.contains("type `approve` and press Enter"), "{told}");
    assert!(told.contains("answer with approve, reject TEXT, revise TEXT"), "{told}");
    assert_eq!(subjects(&told).len(), commits, "{told}");
    assert!(!commands(&told.replace('\r', "")).is_empty());
}

/// Runs a command in a terminal in which somebody has typed this; returns what the terminal shows, and the exit code.
fn at_a_terminal(mut command: Command, typed: &str) -> (String, i32) {
    let screen = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&screen).unwrap();
    unlockpt(&screen).unwrap();
    let name = ptsname(&screen, vec![]).unwrap();
    let terminal = File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap();
    command.stdin(terminal.try_clone().unwrap()).stdout(terminal.try_clone().unwrap()).stderr(terminal);
    let mut child = command.spawn().unwrap();
    drop(command); // it holds the terminal open
    let mut screen = File::from(screen);
    screen.write_all(typed.as_bytes()).unwrap();
    let (mut told, mut some) = (vec![], [0; 4096]);
    while let Ok(read @ 1..) = screen.read(&mut some) {
        told.extend_from_slice(&some[..read]);
    }
    (String::from_utf8_lossy(&told).into_owned(), child.wait().unwrap().code().unwrap())
}

#[test]
fn each_demo_has_a_folder_of_its_own() {
    let machine = tempfile::tempdir().unwrap();
    assert_eq!(call(&machine, &[]).code(), 10);
    let second = call(&machine, &[]);
    assert!(second.text().contains("superstep-demo-2/store"), "{}", second.text());
}

#[test]
fn without_git_it_says_so_and_leaves_nothing() {
    let machine = tempfile::tempdir().unwrap();
    let called = RunOutput(demo(&machine, &[]).env("PATH", machine.path()).output().unwrap());
    assert_eq!(called.code(), 1, "{}", called.text());
    assert!(called.text().starts_with("error: cannot run git: "), "{}", called.text());
    assert!(called.text().contains(" help: install git"), "{}", called.text());
    assert_eq!(fs::read_dir(machine.path()).unwrap().count(), 0);
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let machine = tempfile::tempdir().unwrap();
    let nowhere = machine.path().join("nowhere");
    let called = RunOutput(demo(&machine, &[]).env("TMPDIR", &nowhere).output().unwrap());
    assert_eq!(called.code(), 1, "{}", called.text());
    let begin = format!("error: cannot create a folder in {}: ", Path::display(&nowhere));
    assert!(called.text().starts_with(&begin), "{}", called.text());
    assert!(called.text().contains(" help: set TMPDIR"), "{}", called.text());
}

#[test]
fn it_has_no_json() {
    let machine = tempfile::tempdir().unwrap();
    let called = call(&machine, &["--json"]);
    assert_eq!(called.code(), 2, "{}", called.text());
    assert!(called.text().contains("not JSON"), "{}", called.text());
    assert_eq!(fs::read_dir(machine.path()).unwrap().count(), 0);
}
