//! `superstep` killed with SIGKILL: at every node, inside agents, checks and hooks. It resumes to the same commits, and
//! the log of the agents shows the repeated turns. Agents and checks end with it; git and its hooks live on.

mod moments;
mod people;
mod phases;
mod served;

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::time::{Duration, SystemTime};

use rstest::rstest;

use super::Place;

/// Writes the output of `claude`. Rejects the second task once. Logs its requests and its answers.
const AGENT: &str = r##"
prompt=$(cat)
case $prompt in
  *'Review all the work of this plan'*) role=reviewer task=all ;;
  *'Review the work on this task'*) role=reviewer task= ;;
  *) role=developer task= ;;
esac
[ "$task" ] || task=$(printf '%s\n' "$prompt" | sed -n 's/^Task \([0-9]*\), .*/\1/p' | head -n 1)
[ "$task" ] || exit 1 # the kill came before the prompt was written: nobody was asked
case $prompt in *'not accepted yet'* | *'Earlier comments'*) attempt=2 ;; *) attempt=1 ;; esac
echo "asked $role $task $attempt" >> "$here/log"
printf '{"type":"system","subtype":"init","session_id":"s-%s"}\n' "$task"
[ $role = reviewer ] || echo "$attempt" > "part-$task.txt"
"$here/stop" "$role-$task-$attempt"
approved='{"approved":true,"severity":"none","summary":"fine"}'
rejected='{"approved":false,"severity":"major","comments":[{"id":"c1","severity":"major","issue":"no"}]}'
case "$role $task $attempt" in
  developer*) answer='{"status":"done","summary":"did","files":[]}' ;;
  'reviewer 2 1') answer=$rejected ;;
  *) answer=$approved ;;
esac
echo "answered $role $task $attempt" >> "$here/log"
printf '{"type":"result","subtype":"success","is_error":false,"result":"","session_id":"s-%s","structured_output":%s}\n' \
  "$task" "$answer"
"##;

/// Reports that a place is reached, once, if it was requested; and waits until it may continue.
const STOP: &str = r#"
[ -e "$here/at-$1" ] || exit 0
rm "$here/at-$1"
echo "$1" > "$here/reached"
cat "$here/gate" > /dev/null
"#;

/// The name of the place has the number of commits of the branch.
const HOOK: &str = "\"$here/stop\" \"$(basename \"$0\")-$(git rev-list --count HEAD)\"\n";

/// Three tasks; the second has a check.
struct KilledRun(Place);

impl KilledRun {
    fn new() -> Self {
        let this = Self(Place::new(""));
        this.0.write("p.toml", "driver = 'cli:claude'\nmax_task_review_iterations = 2\n");
        fs::create_dir(this.path("bin")).unwrap();
        this.script("bin/claude", AGENT);
        this.script("bin/stop", STOP);
        let check = format!("**Verify:** `{} check-2`", this.path("bin/stop"));
        let task = |n: u32| format!("### Task {n}: Part {n}\n\nWrite it.\n\n{}\n\n", if n == 2 { &check } else { "" });
        this.0.write("PLAN.md", &format!("# Clock\n\n**Goal:** A clock.\n\n{}{}{}", task(1), task(2), task(3)));
        assert!(
            Command::new("mkfifo").args([this.path("bin/reached"), this.path("bin/gate")]).status().unwrap().success()
        );
        this
    }

    fn path(&self, name: &str) -> String {
        self.0.0.path().join(name).display().to_string()
    }

    /// Writes an executable script that knows the folder of the agents.
    fn script(&self, name: &str, body: &str) {
        let text = format!("#!/bin/sh\nhere='{}'\n{body}", self.path("bin"));
        fs::write(self.path(name), text).unwrap();
        crate::program::make_executable(self.path(name));
    }

    fn hook(&self, name: &str, body: &str) {
        self.script(&format!("repo/.git/hooks/{name}"), body);
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = self.0.command(words);
        let path = std::env::var("PATH").unwrap();
        command.env("PATH", format!("{}:{path}", self.path("bin")));
        command
    }

    fn spawn(&self, words: &[&str]) -> Child {
        self.command(words).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap()
    }

    /// Runs to the approval of the plan.
    fn begin(&self) {
        let words = ["run", "tasks", "--dir", "repo", "--profile", "p.toml", "--thread", "t", "--plan", "PLAN.md"];
        assert_eq!(self.command(&words).output().unwrap().status.code(), Some(10));
    }

    fn log(&self) -> Vec<String> {
        fs::read_to_string(self.path("bin/log")).unwrap_or_default().lines().map(str::to_owned).collect()
    }

    /// Returns the trees, subjects and trailers of the branch, the kept work, and git's status of the files.
    fn end(&self) -> [String; 3] {
        let log = self.0.git(&["log", "--format=%T %B", "superstep/t"]);
        let refs = self.0.git(&["for-each-ref", "--format=%(refname) %(tree)", "refs/superstep"]);
        let refs = refs.lines().filter(|line| !line.contains("/objects ")).collect::<Vec<_>>().join("\n");
        [log, refs, self.0.git(&["status", "--porcelain"])]
    }
}

/// Returns the end of a run without kills, and the log of its agents.
fn undisturbed(hooks: &[(&str, &str)]) -> ([String; 3], Vec<String>) {
    let run = KilledRun::new();
    hooks.iter().for_each(|(name, body)| run.hook(name, body));
    run.begin();
    let output = run.command(&["approve", "t"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    (run.end(), run.log())
}

/// Returns everything in a folder, with its time.
pub(crate) fn files(folder: &Path) -> Vec<(PathBuf, SystemTime)> {
    let mut all = vec![(folder.to_owned(), fs::symlink_metadata(folder).unwrap().modified().unwrap())];
    if !all[0].0.is_symlink() && folder.is_dir() {
        all.extend(fs::read_dir(folder).unwrap().flat_map(|entry| files(&entry.unwrap().path())));
    }
    all.sort();
    all
}

#[test]
fn a_finished_run_is_verified_without_a_call_and_without_a_trace() {
    let run = KilledRun::new();
    run.begin();
    assert_eq!(run.command(&["approve", "t"]).output().unwrap().status.code(), Some(0));
    let observed = || (run.log(), files(run.path("repo").as_ref()));
    let before = observed();
    let verified = run.command(&["replay", "t", "--mode", "verify"]).output().unwrap();
    let text = String::from_utf8_lossy(&verified.stdout).into_owned();
    assert_eq!(verified.status.code(), Some(0), "{text}");
    assert!(text.contains("19 supersteps compared, no difference") && !text.contains("not compared"), "{text}");
    assert_eq!(observed(), before);
}

/// Reads the output of a process until this many lines report the end of a task, and kills it. Returns its exit code if
/// it ended before.
fn killed_after(mut child: Child, tasks: usize) -> Option<i32> {
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let count = lines.filter(|line| line.starts_with("superstep ")).take(tasks).count();
    if count == tasks {
        child.kill().unwrap();
    }
    child.wait().unwrap().code()
}

#[rstest]
#[case::each(&[1])]
#[case::now_and_then(&[2, 3, 1])]
fn a_run_killed_at_every_node_ends_the_same(#[case] pattern: &[usize]) {
    let (end, log) = undisturbed(&[]);
    let run = KilledRun::new();
    run.begin();
    let mut words = ["approve", "t"];
    let mut kills = 0;
    for tasks in pattern.iter().cycle().copied() {
        match killed_after(run.spawn(&words), tasks) {
            Some(0) => break,
            Some(10) => words[0] = "approve",
            Some(code) => panic!("it ended with {code} after {kills} kills"),
            None => {
                words[0] = "proceed";
                kills += 1;
            }
        }
        assert!(kills < 100, "it makes no progress");
    }
    assert!(kills > 2, "only {kills} kills");
    assert_eq!(run.end(), end);
    let lines = run.log();
    let of = |kind: &str| lines.iter().filter(|line| line.starts_with(kind)).count();
    assert!(of("asked") <= 9 + kills, "a kill repeats the request that was under way: {lines:#?}");
    let once = |lines: &[String]| lines.iter().cloned().collect::<std::collections::BTreeSet<_>>();
    assert_eq!(once(&lines), once(&log));
}

/// The fate of the git process that was running.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Orphan {
    /// It ended with the run.
    Gone,
    /// It continues while the next process resumes the run.
    Beside,
    /// It continues after that process has ended.
    Afterwards,
}

impl KilledRun {
    /// Runs until this place is reached, kills the process there, and returns it.
    fn killed_at(&self, words: &[&str], place: &str) -> Child {
        fs::write(self.path(&format!("bin/at-{place}")), "").unwrap();
        let mut child = self.spawn(words);
        let (sender, reached) = channel();
        let pipe = self.path("bin/reached");
        std::thread::spawn(move || sender.send(fs::read_to_string(pipe)));
        let line = reached.recv_timeout(Duration::from_secs(60));
        child.kill().unwrap();
        assert_eq!(line.map(Result::unwrap), Ok(format!("{place}\n")), "it never came there: {:#?}", self.log());
        child
    }

    /// Lets the process that waits at a place continue.
    fn release(&self) {
        drop(fs::OpenOptions::new().write(true).open(self.path("bin/gate")).unwrap());
    }

    /// Kills the run at each place in turn, and resumes it to the end. Returns the requests to agents.
    fn through(&self, places: &[&str], orphan: Orphan) -> Vec<String> {
        self.begin();
        let mut words = ["approve", "t"];
        for place in places {
            self.killed_at(&words, place).wait().unwrap();
            words[0] = "proceed";
            match orphan {
                Orphan::Beside => self.release(),
                Orphan::Gone | Orphan::Afterwards => {}
            }
        }
        let output = self.command(&words).output().unwrap();
        let text = String::from_utf8_lossy(&[&*output.stdout, &*output.stderr].concat()).into_owned();
        assert_eq!(output.status.code(), Some(0), "{text}");
        if orphan == Orphan::Afterwards {
            self.release();
        }
        self.log().into_iter().filter(|line| line.starts_with("asked")).collect()
    }
}

/// Returns the requests, with the repeated ones twice.
fn with_repeats(log: &[String], again: &[&str]) -> Vec<String> {
    let mut requests = vec![];
    for line in log.iter().filter(|line| line.starts_with("asked")) {
        requests.push(line.clone());
        requests.extend(again.iter().filter(|again| line.ends_with(*again)).map(|_| line.clone()));
    }
    requests
}

#[test]
fn a_run_killed_while_an_agent_works_repeats_its_turn() {
    let (end, log) = undisturbed(&[]);
    let run = KilledRun::new();
    let places = ["developer-1-1", "reviewer-1-1", "developer-2-1", "reviewer-2-1", "developer-2-2", "reviewer-all-1"];
    let requests = run.through(&places, Orphan::Gone);
    assert_eq!(run.end(), end);
    let again = places.map(|place| place.replace('-', " "));
    assert_eq!(requests, with_repeats(&log, &again.each_ref().map(String::as_str)));
}

#[test]
fn a_run_killed_while_a_check_runs_repeats_no_turn() {
    let (end, log) = undisturbed(&[]);
    let run = KilledRun::new();
    assert_eq!(run.through(&["check-2", "check-2"], Orphan::Gone), with_repeats(&log, &[]));
    assert_eq!(run.end(), end);
}

/// The same check, after formatting the files, which were judged before.
const NEAT: &str = r#"
for file in part-*.txt; do grep -q neat $file || echo neat >> $file; done
"$here/stop" "$(basename "$0")-$(git rev-list --count HEAD)"
"#;

#[rstest]
#[case::before(&[("pre-commit", HOOK)], &["pre-commit-1", "pre-commit-3"])]
#[case::after(&[("post-commit", HOOK)], &["post-commit-2", "post-commit-4"])]
#[case::in_a_row(&[("pre-commit", HOOK), ("post-commit", HOOK)], &["pre-commit-1", "post-commit-3", "post-commit-4"])]
#[case::once_files_are_neat(&[("pre-commit", NEAT)], &["pre-commit-1", "pre-commit-3"])]
fn a_run_killed_inside_a_commit_commits_once(
    #[case] hooks: &[(&str, &str)],
    #[case] places: &[&str],
    #[values(Orphan::Beside, Orphan::Afterwards)] orphan: Orphan,
) {
    let (end, log) = undisturbed(hooks);
    let run = KilledRun::new();
    hooks.iter().for_each(|(name, body)| run.hook(name, body));
    let requests = match orphan {
        Orphan::Gone | Orphan::Beside => run.through(places, orphan),
        Orphan::Afterwards => run.through(&places[places.len() - 1..], orphan),
    };
    assert_eq!(requests, with_repeats(&log, &[]), "a commit asks nobody again");
    assert_eq!(run.end(), end);
}
