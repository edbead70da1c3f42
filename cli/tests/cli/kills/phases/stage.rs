//! A plan of three phases with three siblings, agents that are programs, and places at which they pause. The first
//! attempt at the second phase is rejected; in the third phase 3b collides with 3a.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::Place;

/// Writes the output of `claude`. Its folder is the name of its place.
const AGENT: &str = r##"
cat > /dev/null
at=$(basename "$PWD")
case $at in repo) at=all ;; esac
echo "asked $at" >> "$here/log"
case " $* " in *" --resume "*) echo "resumed s-$at" >> "$here/log" ;; esac
printf '{"type":"system","subtype":"init","session_id":"s-%s"}\n' "$at"
if [ -e "$here/stubborn-$at" ]; then
  echo half > "half-${at##*-}.txt"
  trap 'echo "term-$at" > "$here/reached-term-$at"; sleep 600' TERM
  mkfifo "$here/never-$at"
  cat "$here/never-$at"
fi
"$here/stop" "$at"
answer='{"status":"done","summary":"did","files":[]}'
case $at in
  phase-2-attempt-1-integration) answer='{"approved":false,"severity":"major","comments":[{"id":"c1","severity":"major","issue":"no"}]}' ;;
  *-integration | all) answer='{"approved":true,"severity":"none","summary":"fine"}' ;;
  phase-3-attempt-1-task-3a | phase-3-attempt-1-task-3b) echo "$at" > shared.txt; echo "$at" > "part-${at##*-}.txt" ;;
  *) echo "$at" > "part-$(echo "$at" | sed 's/.*-task-//').txt" ;;
esac
if [ -e "$here/blocked-$at" ]; then
  rm "$here/blocked-$at"
  answer='{"status":"blocked","summary":"","question":"Roman?"}'
fi
printf '{"type":"result","subtype":"success","is_error":false,"result":"","session_id":"s-%s","structured_output":%s}\n' \
  "$at" "$answer"
"##;

/// Reports that a place is reached, once, if it was requested; and waits until it may continue.
const STOP: &str = r#"
[ -e "$here/at-$1" ] || exit 0
rm "$here/at-$1"
echo "$1" > "$here/reached-$1"
cat "$here/gate" > /dev/null
"#;

/// Fails if it is to, once the stubborn siblings are ready.
const CHECK: &str = r#"
at=$(basename "$PWD")
"$here/stop" "check-$at"
[ -e "$here/fail-$at" ] || exit 0
for sibling in "$here"/stubborn-*; do
  until [ -e "$here/never-${sibling##*/stubborn-}" ]; do sleep 0.05; done
done
exit 1
"#;

const SETUP: &str = "\"$here/stop\" \"setup-$(basename \"$PWD\")\"\n";

/// The name of the place has the number of commits.
const HOOK: &str = "\"$here/stop\" \"$(basename \"$0\")-$(git rev-list --count HEAD)\"\n";

/// Kills `superstep` at one of its git commands: before it, beside it, or when it is done.
const GIT: &str = r#"
[ -e "$here/calls" ] || exec "$git" "$@"
echo >> "$here/calls"
[ $(wc -l < "$here/calls") -gt "$(cat "$here/most")" ] || exec "$git" "$@"
case $(ps -o comm= -p $PPID) in *superstep) ;; *) exec "$git" "$@" ;; esac
case $(cat "$here/how") in
  before) kill -9 $PPID ;;
  beside) kill -9 $PPID; exec "$git" "$@" ;;
  after) "$git" "$@"; code=$?; kill -9 $PPID; exit $code ;;
esac
"#;

/// The result of a run: the branch, the salvaged work, the files.
pub(super) type End = [String; 3];

pub(super) struct Stage(Place);

/// Returns the end of a run without kills, and the requests to its agents.
pub(super) fn undisturbed(hook: &str) -> (End, Vec<String>) {
    let stage = Stage::new(hook);
    stage.begin();
    stage.ends(&["approve", "t"], 0);
    (stage.end(), stage.requests())
}

impl Stage {
    pub(super) fn new(hook: &str) -> Self {
        let this = Self(Place::new(""));
        fs::create_dir(this.path("bin")).unwrap();
        this.script("bin/claude", AGENT);
        this.script("bin/stop", STOP);
        this.script("bin/check", CHECK);
        this.script("bin/setup", SETUP);
        let git = Command::new("sh").args(["-c", "command -v git"]).output().unwrap();
        let git = String::from_utf8(git.stdout).unwrap();
        this.script("bin/git", &format!("git='{}'\n{GIT}", git.trim()));
        let profile = "driver = 'cli:claude'\nmax_task_review_iterations = 2\n";
        this.0.write("p.toml", &format!("{profile}[worktree]\nsetup = [\"{}\"]\n", this.path("bin/setup")));
        this.0.write("PLAN.md", &this.plan());
        if !hook.is_empty() {
            this.script(&format!("repo/.git/hooks/{hook}"), HOOK);
        }
        assert!(Command::new("mkfifo").arg(this.path("bin/gate")).status().unwrap().success());
        this
    }

    fn plan(&self) -> String {
        let verify = format!("**Verify:** `{}`", self.path("bin/check"));
        let task = |id: &str, on: &str, more: &str| {
            format!("### Task {id}: Part {id}\n\nWrite it.\n\n**Depends on:** {on}\n\n{more}\n\n")
        };
        let second = [task("2a", "1", ""), task("2b", "1", &verify), task("2c", "1", "")].concat();
        let third = ["3a", "3b", "3c"].map(|id| task(id, "2a, 2b, 2c", "")).concat();
        format!("# Clock\n\n**Goal:** A clock.\n\n{}{second}{third}", task("1", "none", ""))
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }

    /// Writes an executable script that knows the folder of the agents.
    fn script(&self, name: &str, body: &str) {
        fs::create_dir_all(Path::new(&self.path(name)).parent().unwrap()).unwrap();
        fs::write(self.path(name), format!("#!/bin/sh\nhere='{}'\n{body}", self.path("bin"))).unwrap();
        crate::program::make_executable(self.path(name));
    }

    /// Changes the behaviour of an agent or a check.
    pub(super) fn play(&self, what: &str) {
        fs::write(self.path(&format!("bin/{what}")), "").unwrap();
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = self.0.command(words);
        command.env("PATH", format!("{}:{}", self.path("bin"), std::env::var("PATH").unwrap()));
        command
    }

    /// Kills the run once this many lines report the end of a task; returns the code if it ended before.
    pub(super) fn killed_after(&self, words: &[&str], tasks: usize) -> Option<i32> {
        let mut child = self.command(words).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let is_end = |line: &String| line.starts_with("superstep ") && line.contains(" done ");
        if lines.filter(is_end).take(tasks).count() == tasks {
            child.kill().unwrap();
        }
        child.wait().unwrap().code()
    }

    /// Returns the indexes of the phases in the stored events of a kind, in order.
    pub(super) fn events(&self, kind: &str) -> Vec<u64> {
        let events = self.0.json(&["events", "t"]);
        let values = events.as_array().unwrap().iter().map(|event| &event["value"][kind]["phase_index"]);
        values.filter_map(Value::as_u64).collect()
    }

    /// Has git remove all objects that nothing refers to.
    pub(super) fn collect_garbage(&self) {
        self.0.git(&["reflog", "expire", "--expire=now", "--expire-unreachable=now", "--all"]);
        self.0.git(&["gc", "--quiet", "--prune=now"]);
    }

    /// Removes all worktrees of subtasks, as a person who cleans up does.
    pub(super) fn remove_worktrees(&self) {
        fs::remove_dir_all(self.path("repo/.superstep/worktrees")).unwrap();
        self.0.git(&["worktree", "prune"]);
    }

    /// Runs to the approval.
    pub(super) fn begin(&self) {
        let words = ["run", "phases", "--dir", "repo", "--profile", "p.toml", "--thread", "t", "--plan", "PLAN.md"];
        self.ends(&words, 10);
    }

    /// Runs the program, and expects this code.
    pub(super) fn ends(&self, words: &[&str], code: i32) {
        let output = self.command(words).output().unwrap();
        let text = String::from_utf8_lossy(&[&*output.stdout, &*output.stderr].concat()).into_owned();
        assert_eq!(output.status.code(), Some(code), "{words:?}: {text}\n{:#?}", self.log());
    }

    /// Runs until all these places are reached, and leaves the process there.
    pub(super) fn paused_at(&self, words: &[&str], places: &[&str]) -> Child {
        let (sender, reached) = channel();
        for place in places {
            self.play(&format!("at-{place}"));
            let pipe = self.path(&format!("bin/reached-{place}"));
            assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
            let sender = sender.clone();
            std::thread::spawn(move || sender.send(fs::read_to_string(pipe).unwrap()));
        }
        let mut child = self.command(words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        for _ in places {
            if reached.recv_timeout(Duration::from_secs(120)).is_err() {
                child.kill().unwrap();
                panic!("{places:?} are not all reached: {:#?}", self.log());
            }
        }
        places.iter().for_each(|place| fs::remove_file(self.path(&format!("bin/reached-{place}"))).unwrap());
        child
    }

    /// Runs until all these places are reached, and kills the process there.
    pub(super) fn killed_at(&self, words: &[&str], places: &[&str]) {
        let mut child = self.paused_at(words, places);
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// Kills the run at these places, once the thread's events contain this text this many times.
    pub(super) fn killed_once(&self, words: &[&str], places: &[&str], event: &str, times: usize) {
        let mut child = self.paused_at(words, places);
        let until = Instant::now() + Duration::from_secs(60);
        loop {
            let events_text = self.0.call(&["events", "t", "--json"]).text();
            if events_text.matches(event).count() >= times {
                break;
            }
            if Instant::now() > until {
                child.kill().unwrap();
                panic!("`{event}` does not come {times} times: {events_text}");
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// Lets the processes that wait at places continue.
    pub(super) fn release(&self) {
        drop(fs::OpenOptions::new().write(true).open(self.path("bin/gate")).unwrap());
    }

    /// Kills the run at this git command; returns the code if it ended before.
    pub(super) fn killed_at_git(&self, words: &[&str], call: u64, how: &str) -> Option<i32> {
        self.0.write("bin/most", &call.to_string());
        self.0.write("bin/how", how);
        self.play("calls");
        let output = self.command(words).output().unwrap();
        fs::remove_file(self.path("bin/calls")).unwrap();
        let code = output.status.code();
        if code.is_some_and(|code| code != 0) {
            eprintln!("{}", String::from_utf8_lossy(&output.stderr));
        }
        code
    }

    fn log(&self) -> Vec<String> {
        fs::read_to_string(self.path("bin/log")).unwrap_or_default().lines().map(str::to_owned).collect()
    }

    /// Returns the places of all requests.
    pub(super) fn requests(&self) -> Vec<String> {
        self.log().iter().filter_map(|line| line.strip_prefix("asked ")).map(str::to_owned).collect()
    }

    /// Returns the sessions that were continued.
    pub(super) fn resumed(&self) -> Vec<String> {
        self.log().iter().filter_map(|line| line.strip_prefix("resumed ")).map(str::to_owned).collect()
    }

    /// Returns a phase of the state.
    pub(super) fn phase(&self, index: usize) -> Value {
        self.0.state()["phases"][index].take()
    }

    /// Returns the end, if nothing is left over and a replay agrees.
    pub(super) fn end(&self) -> End {
        assert_eq!(self.left_over(), "");
        self.ends(&["replay", "t", "--mode", "verify"], 0);
        let log = self.0.git(&["log", "--format=%T %B", "superstep/t"]);
        let refs = self.0.git(&["for-each-ref", "--format=%(refname) %(tree)", "refs/superstep"]);
        let refs = refs.lines().filter(|line| !line.contains("/objects ")).collect::<Vec<_>>().join("\n");
        [log, refs, self.0.git(&["status", "--porcelain"])]
    }

    /// Returns the worktrees, branches, references, marker files and processes that should be gone.
    pub(super) fn left_over(&self) -> String {
        let lines = |args: &[&str]| self.0.git(args).lines().map(str::to_owned).collect::<Vec<_>>();
        let mut found: Vec<String> = lines(&["worktree", "list"]).split_off(1);
        found.extend(lines(&["for-each-ref", "--format=%(refname)", "refs/superstep/t/integrated"]));
        let branches = lines(&["for-each-ref", "--format=%(refname)", "refs/heads"]);
        let known = ["refs/heads/main", "refs/heads/superstep/t"];
        found.extend(branches.into_iter().filter(|name| !known.contains(&name.as_str())));
        let entries = fs::read_dir(self.path("repo/.superstep/worktrees")).into_iter().flatten().flatten();
        found.extend(entries.map(|entry| entry.path().display().to_string()));
        found.extend(self.processes());
        found.join("\n")
    }

    /// Returns the processes that still work in the folder, after time to end.
    pub(super) fn processes(&self) -> Vec<String> {
        let until = Instant::now() + Duration::from_secs(20);
        loop {
            let found = working_in(&self.0.path());
            if found.is_empty() || Instant::now() > until {
                return found;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Returns the commands of processes whose working directory is in a folder, where the system lists them.
fn working_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let is_in = |process: &PathBuf| fs::read_link(process.join("cwd")).is_ok_and(|at| at.starts_with(folder));
    let is_alive =
        |process: &PathBuf| fs::read_to_string(process.join("stat")).is_ok_and(|stat| !stat.contains(") Z "));
    let found = entries.map(|entry| entry.path()).filter(is_in).filter(is_alive);
    found.map(|process| fs::read_to_string(process.join("cmdline")).unwrap_or_default().replace('\0', " ")).collect()
}
