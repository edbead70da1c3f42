//! Each workflow killed with SIGKILL at system calls on the files of git and of superstep: in `superstep` itself, in its
//! git, and in the git of its agents. It continues to the same commits, and nobody has to remove a lock.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use rstest::rstest;

use super::Place;

/// Writes the output of `claude`. Developers commit by themselves.
const AGENT: &str = r#"
prompt=$(cat)
case $prompt in *'Review all the work'* | *'Review the work'* | *'review'*'severity'*) role=reviewer ;; *) role=developer ;; esac
case $PWD in *-integration) role=reviewer ;; esac
printf '{"type":"system","subtype":"init","session_id":"s"}\n'
case $role in
  reviewer) answer='{"approved":true,"severity":"none","summary":"fine"}' ;;
  *) answer='{"status":"done","summary":"did","files":[]}'
    part=$(printf '%s\n' "$prompt" | sed -n 's/.*Part \([0-9a-z]*\).*/\1/p' | head -n 1)
    case $PWD in *-task-*) part=${PWD##*-task-} ;; esac
    echo "$part" > "part-$part.txt"
    git add "part-$part.txt" && git commit --quiet --message "own $part" ;;
esac
printf '{"type":"result","subtype":"success","is_error":false,"result":"","session_id":"s","structured_output":%s}\n' "$answer"
"#;

/// The git of the run and of its agents.
const GIT: &str = r#"[ ! -e "$here/kill" ] || . "$here/kill"
exec "$git" "$@"
"#;

const TASK: &str = "---\nid: clock\ntitle: Clock\n---\nPart 1 of a clock.\n";
const VERIFIERS: &str = "
verifiers:
- {id: build, config: {command: \"test -e part-1.txt\"}}
- {id: test, enabled: false}
- {id: bigpicture, enabled: false}
";

#[derive(Clone, Copy, Debug, PartialEq)]
enum Workflow {
    Tasks,
    Phases,
    CodeTask,
}

struct Run(Place, Workflow);

impl Run {
    fn new(workflow: Workflow) -> Self {
        let this = Self(Place::new(""), workflow);
        fs::create_dir(this.path("bin")).unwrap();
        this.script("claude", AGENT);
        let git = Command::new("sh").args(["-c", "command -v git"]).output().unwrap();
        this.script("git", &format!("git='{}'\n{GIT}", String::from_utf8(git.stdout).unwrap().trim()));
        this.0.write("p.toml", "driver = 'cli:claude'\n");
        let task = |id: &str, on: &str| format!("### Task {id}: Part {id}\n\nWrite it.\n\n**Depends on:** {on}\n\n");
        let plan = ["1", "2"].map(|id| task(id, if id == "1" { "none" } else { "1" })).concat();
        let last = if workflow == Workflow::Phases { task("3", "1") } else { String::new() };
        this.0.write("PLAN.md", &format!("# Clock\n\n**Goal:** A clock.\n\n{plan}{last}"));
        this.0.write("task.md", TASK);
        this.0.write("verifiers.yml", VERIFIERS);
        this
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn script(&self, name: &str, body: &str) {
        let path = self.path("bin").join(name);
        fs::write(&path, format!("#!/bin/sh\nhere='{}'\n{body}", self.path("bin").display())).unwrap();
        crate::program::make_executable(path);
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = self.0.command(words);
        command.env("PATH", format!("{}:{}", self.path("bin").display(), std::env::var("PATH").unwrap()));
        command.stdin(Stdio::null());
        command
    }

    /// The command that does the work; others come before it.
    fn work(&self) -> Command {
        let graph = match self.1 {
            Workflow::Tasks => "tasks",
            Workflow::Phases => "phases",
            Workflow::CodeTask => {
                let words = ["task", "--task", "task.md", "--dir", "repo", "--profile", "p.toml", "--thread", "t"];
                return self.command(&words);
            }
        };
        let words = ["run", graph, "--dir", "repo", "--profile", "p.toml", "--thread", "t", "--plan", "PLAN.md"];
        let begun = self.command(&words).output().unwrap();
        assert_eq!(begun.status.code(), Some(10), "{}", text(&begun));
        self.command(&["approve", "t"])
    }

    /// Works until the nth moment, at which a process is killed; returns the number of moments and the output.
    fn killed_at(&self, library: &Path, moment: u64) -> (u64, Output) {
        let (mut work, count) = (self.work(), self.path("count"));
        let variables = [
            ("LD_PRELOAD", library.display().to_string()),
            ("KILL_WIDE", "1".to_owned()),
            ("KILL_AT", moment.to_string()),
            ("KILL_COUNT", count.display().to_string()),
        ];
        let lines = variables.iter().map(|(name, value)| format!("export {name}='{value}'\n"));
        fs::write(self.path("bin/kill"), lines.collect::<String>()).unwrap();
        let output = work.envs(variables).output().unwrap();
        fs::remove_file(self.path("bin/kill")).unwrap();
        (fs::metadata(count).map_or(0, |count| count.len()), output)
    }

    /// Continues until the run is done; returns the output of all commands.
    fn continued(&self) -> Result<String, String> {
        let (mut all, mut words) = (String::new(), ["proceed", "t"]);
        for _ in 0..4 {
            let mut command = self.command(&words);
            // Nothing was stored before the kill.
            let is_lost = self.1 == Workflow::CodeTask
                && ["there is no store", "there is no thread"].iter().any(|text| all.contains(text));
            let output = if is_lost { self.work().output() } else { command.output() }.unwrap();
            all += &format!("{words:?}: {:?}\n{}", output.status.code(), text(&output));
            match output.status.code() {
                Some(0) => return Ok(all),
                Some(10) => words[0] = "approve",
                Some(_) | None => words[0] = "proceed",
            }
        }
        Err(all)
    }

    /// Returns the trees and messages of the branch, all branches, git's status of the files, and the locks.
    fn end(&self) -> [String; 4] {
        let log = self.0.git(&["log", "--format=%T %B", "superstep/t"]);
        let branches = self.0.git(&["for-each-ref", "--format=%(refname) %(tree)", "refs/heads"]);
        let worktrees = self.0.git(&["worktree", "list", "--porcelain"]).matches("worktree ").count();
        let locks = locks(&self.path("repo/.git"));
        [log, branches, self.0.git(&["status", "--porcelain"]), format!("{worktrees} worktrees, locks: {locks:?}")]
    }
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&[&*output.stdout, &*output.stderr].concat()).into_owned()
}

fn locks(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let below = entries.flat_map(|path| if path.is_dir() { locks(&path) } else { vec![path] });
    below.filter(|path| path.extension().is_some_and(|end| end == "lock")).collect()
}

fn library(folder: &Path) -> PathBuf {
    let library = folder.join("kill_at.so");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/workspace/kill_at.c");
    let built = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(source).arg("-ldl").status();
    assert!(built.unwrap().success());
    library
}

/// `SUPERSTEP_KILLS=10` tries every tenth moment.
#[cfg(target_os = "linux")]
#[rstest]
#[case::tasks(Workflow::Tasks)]
#[case::phases(Workflow::Phases)]
#[case::code_task(Workflow::CodeTask)]
fn a_kill_at_any_system_call_on_a_file_leaves_nothing_that_a_person_has_to_remove(#[case] workflow: Workflow) {
    let folder = tempfile::tempdir().unwrap();
    let library = library(folder.path());
    let run = Run::new(workflow);
    let (all, output) = run.killed_at(&library, 0);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    let end = run.end();
    assert!(all > 100, "only {all} moments");
    let step = std::env::var("SUPERSTEP_KILLS").map_or(all / 3, |step| step.parse().unwrap());
    let (mut kills, mut removed, mut failed) = (0, 0, vec![]);
    for moment in (1..=all).step_by(usize::try_from(step).unwrap()) {
        let run = Run::new(workflow);
        let (_, killed) = run.killed_at(&library, moment);
        let result = match killed.status.code() {
            Some(0) => Ok(String::new()),
            Some(_) | None => run.continued(),
        };
        kills += 1;
        let problem = match &result {
            Err(all) => Some(all.clone()),
            Ok(_) if run.end() != end => Some(format!("{:#?}", run.end())),
            Ok(_) => None,
        };
        if let Some(problem) = problem {
            failed.push(format!("killed at {moment} of {all}: {}\n---\n{problem}", text(&killed)));
        }
        removed += run.0.call(&["log", "t"]).text().matches("of a killed run was removed").count();
    }
    eprintln!("{workflow:?}: {kills} kills of {all} moments, {removed} locks removed");
    assert!(failed.is_empty(), "{} of {kills} failed\n{}\nexpected {end:#?}", failed.len(), failed.join("\n===\n"));
}
