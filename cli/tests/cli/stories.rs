//! The output for a person: while agents work, from another terminal, and afterwards; every command that is suggested
//! does something.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use rstest::rstest;

use crate::place::{Place, REJECTS_FIRST, RunOutput};

/// A developer who works until the file `go` exists, as far as a scenario can wait: it hangs, and is cancelled.
const BUSY: &str = "
  - role: developer
    task: '1'
    attempt: 1
    steps:
      - say: I draw a face.
      - tool: {name: shell, arguments: {command: cargo test}, result: ok}
      - usage: {input: 900, output: 120, cost: 0.004}
      - hang
";

/// Approves the plan, and waits until the developer works.
fn at_work(place: &Place) -> Child {
    assert_eq!(place.run(&["--plan", "PLAN.md"]).code(), 10);
    let mut child = place.command(&["approve", "t"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| line == "[task 1, attempt 1] developer: $ cargo test"), "the action is printed at once");
    std::thread::spawn(move || lines.count());
    child
}

#[test]
fn each_working_agent_is_printed_with_its_usage() {
    let place = Place::new(
        "
  - role: developer
    task: '1'
    steps: [write: {path: face.txt, content: face}, usage: {input: 900, output: 120, cost: 0.004}]
    submit: {status: done, summary: did}
",
    );
    assert_eq!(place.run(&["--plan", "PLAN.md"]).code(), 10);
    let text = place.call(&["approve", "t"]).text();
    assert!(text.contains("[task 1, attempt 1] developer: write face.txt\n"), "{text}");
    let ended = text.lines().find(|line| line.contains(": developer done")).unwrap();
    assert!(ended.ends_with("(task 1, attempt 1, 1 action, 1.0k tokens, $0.0040)"), "{ended}");
}

#[test]
fn a_task_is_running_from_the_start_and_another_process_can_follow_it() {
    let place = Place::new(BUSY);
    let mut child = at_work(&place);
    assert_eq!(place.marks(), ["running", "pending"]);

    let mut watch = place.command(&["watch", "t"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(watch.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| line == "[task 1, attempt 1] developer: $ cargo test"), "also what was before");
    assert_eq!(place.call(&["cancel", "t"]).code(), 0);
    let rest: Vec<String> = lines.collect();
    assert!(rest.iter().any(|line| line.starts_with("t: ")), "it ends with how the thread stands: {rest:?}");
    assert_eq!(watch.wait().unwrap().code(), Some(0));
    child.wait().unwrap();

    let nobody = place.call(&["watch", "t"]);
    assert_eq!((nobody.code(), nobody.text().starts_with("t: ")), (0, true), "{}", nobody.text());
    assert_eq!(place.call(&["watch", "u"]).code(), 1);
}

#[test]
fn the_log_prints_a_whole_run_or_one_attempt() {
    let place = Place::new(REJECTS_FIRST);
    assert_eq!(place.run(&["--plan", "PLAN.md"]).code(), 10);
    assert_eq!(place.call(&["approve", "t", "--by", "ada"]).code(), 11);
    assert_eq!(place.call(&["revise", "t", "--feedback", "mind the gap"]).code(), 0);
    let log = place.call(&["log", "t"]).text();
    for part in [
        "asks approval",
        "was answered \"approve\" by ada",
        "== task 1, attempt 1\n",
        "gets the prompt `developer`",
        "    | Task 1, 1 of 2\n",
        "  write face.txt\n",
        "  says rejected (major): no\n",
        "== task 1, attempt 3\n",
        "mind the gap",
        "feat: Face (task 1)\n",
        "\nin all: ",
    ] {
        assert!(log.contains(part), "{part}: {log}");
    }
    let second = place.call(&["log", "t", "--task", "1", "--attempt", "2"]).text();
    assert!(second.starts_with("== task 1, attempt 2\n"), "{second}");
    assert!(!second.contains("attempt 1\n"), "{second}");
    let nothing = place.call(&["log", "t", "--task", "9"]);
    assert_eq!((nothing.code(), nothing.text().contains("no work on task 9")), (1, true), "{}", nothing.text());
}

/// Returns the commands that are printed under a question.
fn printed(text: &str) -> Vec<String> {
    let binary = env!("CARGO_BIN_EXE_superstep");
    let commands = text.lines().map(str::trim).filter(|line| line.starts_with(binary) || line.starts_with("git "));
    commands.map(str::to_owned).collect()
}

/// Runs a printed command; an editor adds a line to its file.
fn typed(place: &Place, line: &str) -> RunOutput {
    let editor = place.path().join("editor");
    std::fs::write(&editor, "#!/bin/sh\nprintf '\\nMind the gap.\\n' >> \"$1\"\n").unwrap();
    crate::program::make_executable(&editor);
    let mut shell = Command::new("sh");
    shell.args(["-c", line]).current_dir(place.path()).env_remove("SUPERSTEP_STORE").env_remove("VISUAL");
    shell.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1").env("EDITOR", editor);
    RunOutput(shell.output().unwrap())
}

/// Writes a plan of one task.
const ARCHITECT: &str = "
  - {role: architect, submit: {goal: A clock., tasks: [{id: '1', title: Face, description: A face.}]}}
";

fn asking() -> Place {
    let place = Place::new(ARCHITECT);
    assert_eq!(place.run(&["--plan", "PLAN.md"]).code(), 10);
    place
}

#[rstest]
#[case::a_plan(asking, 4)]
#[case::a_halt(Place::halted, 6)]
fn every_command_that_is_printed_does_something(#[case] place: fn() -> Place, #[case] count: usize) {
    let commands = printed(&place().call(&["status", "t"]).text());
    assert_eq!(commands.len(), count, "{commands:?}");
    for at in 0..count {
        let place = place();
        let line = printed(&place.call(&["status", "t"]).text())[at].clone();
        let before = place.json(&["status", "t"])["checkpoint"].take();
        let called = typed(&place, &line);
        assert!(![1, 2].contains(&called.code()), "{line}: {}", called.text());
        let looks = line.starts_with("git ");
        assert_eq!(place.json(&["status", "t"])["checkpoint"] == before, looks, "{line}: {}", called.text());
        // A command may have no question left to answer.
        if let Some(advice) = printed(&called.text()).first() {
            let followed = typed(&place, advice);
            assert!(![1, 2].contains(&followed.code()), "after {line}, {advice}: {}", followed.text());
        }
    }
}

#[test]
fn after_an_abort_there_is_nothing_to_resume() {
    let place = Place::halted();
    let aborted = place.call(&["reject", "t"]);
    assert_eq!(aborted.code(), 13, "{}", aborted.text());
    assert!(!aborted.text().contains("proceed"), "{}", aborted.text());
}

#[test]
fn a_plan_and_a_halt_are_printed_as_text() {
    let place = asking();
    let status = place.call(&["status", "t"]).text();
    assert!(status.contains("  the plan (") && status.contains("    | ### Task 1: Face\n"), "{status}");
    let halted = Place::halted().call(&["status", "t"]).text();
    assert!(halted.contains("  comments:\n    - no (c1)\n"), "{halted}");
}

#[test]
fn an_unchanged_text_answers_nothing() {
    let place = asking();
    let mut edit = place.command(&["edit", "t"]);
    let called = RunOutput(edit.env_remove("VISUAL").env("EDITOR", "true").output().unwrap());
    assert_eq!(
        (called.code(), called.text().contains("the question is still pending")),
        (1, true),
        "{}",
        called.text()
    );
    let edited = typed(&place, &format!("{} edit t", env!("CARGO_BIN_EXE_superstep")));
    assert_eq!(edited.code(), 0, "{}", edited.text());
    assert!(place.state()["plan_markdown"].as_str().unwrap().ends_with("Mind the gap.\n"));
}

#[test]
fn a_text_that_answers_nothing_is_kept() {
    let place = asking();
    let program = env!("CARGO_BIN_EXE_superstep");
    let editors = [
        format!("answer() {{ printf mine > \"$1\"; {program} approve t --record-only; }}; answer"),
        "fail() { printf mine > \"$1\"; exit 3; }; fail".to_owned(),
    ];
    for editor in editors.iter().rev() {
        let mut edit = place.command(&["edit", "t", "--json"]);
        let called = RunOutput(edit.env_remove("VISUAL").env("EDITOR", editor).output().unwrap());
        let error: serde_json::Value = serde_json::from_slice(&called.0.stderr).unwrap();
        let (_, path) = error["error"].as_str().unwrap().split_once("; your text is saved in ").unwrap();
        assert_eq!((called.code(), std::fs::read_to_string(path).unwrap()), (1, "mine".to_owned()));
        std::fs::remove_file(path).unwrap();
    }
}

#[test]
fn git_keeps_only_the_salvaged_work_of_a_deleted_thread() {
    let place = Place::halted();
    // Earlier versions had the phase of a thread here.
    for (thread, branch) in [("t", "superstep%2Ft"), ("other", "superstep%2Fother")] {
        let message = format!("feat: x\n\nSuperstep-Thread: {thread}\nSuperstep-Task: 1\nSuperstep-Attempt: 1\n");
        let made = place.git(&["commit-tree", "-p", "HEAD", "-m", &message, "HEAD^{tree}"]);
        place.git(&["update-ref", &format!("refs/superstep/integration/{branch}"), made.trim()]);
    }
    for name in ["task-1/attempt-9", "worktrees/phase-1-attempt-1-task-1", "integrated/phase-1"] {
        place.git(&["update-ref", &format!("refs/superstep/t/{name}"), "HEAD"]);
    }
    assert_eq!(place.call(&["delete", "t"]).code(), 0);
    let left = place.git(&["for-each-ref", "--format=%(refname)", "refs/superstep/t"]);
    assert!(left.contains("task-1/attempt-9") && left.lines().all(|name| name.contains("/task-")), "{left}");
    let left = place.git(&["for-each-ref", "--format=%(refname)", "refs/superstep/integration"]);
    assert_eq!(left, "refs/superstep/integration/superstep%2Fother\n");
}

#[test]
fn a_run_on_another_runs_branch_reports_it_and_its_leftovers() {
    let place = Place::new(REJECTS_FIRST);
    assert_eq!(place.run(&["--plan", "PLAN.md", "--stay"]).code(), 10);
    assert_eq!(place.call(&["approve", "t"]).code(), 11);
    assert_eq!(place.call(&["resume", "t", "--answer", "\"abort\""]).code(), 13);
    let other = ["run", "tasks", "--dir", "repo", "--profile", "p.toml", "--plan", "PLAN.md", "--thread", "u"];
    let refused = place.call(&other);
    assert_eq!(refused.code(), 1, "{}", refused.text());
    assert!(refused.text().contains("`superstep/t`, the branch of another run"), "{}", refused.text());
    assert!(refused.text().contains("git stash -u"), "{}", refused.text());
    place.git(&["stash", "-q", "-u"]);
    let started = place.call(&other);
    assert_eq!(started.code(), 10, "{}", started.text());
    assert!(started.text().contains("note: the work begins on `superstep/t`"), "{}", started.text());

    assert_eq!(place.call(&["delete", "t"]).code(), 0);
    place.git(&["switch", "-q", "main"]);
    place.git(&["branch", "-q", "-D", "superstep/t"]);
    assert_eq!(place.run(&["--plan", "PLAN.md"]).code(), 10);
    let text = place.call(&["approve", "t"]).text();
    assert!(text.contains("kept in git from an earlier run of this name"), "{text}");
}

#[rstest]
#[case::zeroes("/dev/zero")]
#[case::a_pipe("pipe")]
fn endless_input_is_refused(#[case] file: &str) {
    let place = asking();
    assert!(Command::new("mkfifo").arg(place.path().join("pipe")).status().unwrap().success());
    for option in [["resume", "t", "--answer"], ["run", "approval", "--input"]] {
        let called = place.call(&[&option[..], &[&format!("@{file}")]].concat());
        assert_eq!((called.code(), called.text().contains("not a file")), (2, true), "{}", called.text());
    }
}

#[rstest]
#[case::zeroes("/dev/zero", "it is a pipe or a device, not a file")]
#[case::a_pipe("pipe", "it is a pipe or a device, not a file")]
#[case::a_folder("repo", "it is a directory")]
#[case::a_large_file("large", "it is larger than 64 MiB")]
#[case::no_text("bytes", "UTF-8 text")]
fn an_invalid_plan_issue_or_profile_is_refused(#[case] file: &str, #[case] why: &str) {
    let place = Place::new("");
    assert!(Command::new("mkfifo").arg(place.path().join("pipe")).status().unwrap().success());
    std::fs::File::create(place.path().join("large")).unwrap().set_len((64 << 20) + 1).unwrap();
    std::fs::write(place.path().join("bytes"), [0xff, 0xfe]).unwrap();
    for option in ["--plan", "--issue", "--profile"] {
        let rest = if option == "--profile" { ["--plan", "PLAN.md"] } else { ["--profile", "p.toml"] };
        let words = [&["run", "tasks", "--dir", "repo", option, file][..], &rest].concat();
        let called = place.call(&words);
        let text = called.text();
        assert_eq!(called.code(), 2, "{option}: {text}");
        assert!(text.contains(file) && text.contains(why) && text.contains("help: "), "{option}: {text}");
    }
}
