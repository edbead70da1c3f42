//! `superstep` killed with SIGKILL inside a turn or a hook; then a person commits, and the run resumes. What an agent had
//! committed until the kill is the agent's, and what comes later is the person's.

use std::fs;
use std::time::Duration;

use rstest::rstest;

use super::{AGENT, HOOK, KilledRun, NEAT};

/// The agent commits its work before it stops.
fn committing() -> String {
    let commits = "git add \"part-$task.txt\"; git commit -q -m \"by the agent: $task\"; }\n\"$here/stop\"";
    let works = "[ $role = reviewer ] || echo \"$attempt\" > \"part-$task.txt\"\n\"$here/stop\"";
    assert!(AGENT.contains(works));
    AGENT.replace(works, &format!("[ $role = reviewer ] || {{ echo \"$attempt\" > \"part-$task.txt\"; {commits}"))
}

impl KilledRun {
    /// A run that was killed after its agent had committed.
    fn after_an_agents_commit() -> Self {
        let run = Self::new();
        run.script("bin/claude", &committing().replace("git commit -q", "git commit -q --allow-empty"));
        run.begin();
        run.killed_at(&["approve", "t"], "developer-1-1").wait().unwrap();
        run
    }

    /// Commits a file as a person, without any hook.
    fn commits(&self) -> String {
        self.0.write("repo/mine.txt", "a person's\n");
        self.0.git(&["add", "mine.txt"]);
        let who = ["-c", "core.hooksPath=/dev/null", "-c", "user.name=Grace"];
        self.0.git(&[&who[..], &["commit", "-q", "-m", "person: mine"]].concat());
        self.0.git(&["rev-parse", "HEAD"]).trim().to_owned()
    }

    /// Waits until no git of a killed run is left.
    fn waits_for_git(&self) {
        let repository = fs::canonicalize(self.path("repo")).unwrap();
        let is_here = |entry: std::io::Result<fs::DirEntry>| {
            let process = entry.unwrap().path();
            let is_git = fs::read_to_string(process.join("comm")).is_ok_and(|name| name.trim() == "git");
            is_git && fs::read_link(process.join("cwd")).is_ok_and(|folder| folder == repository)
        };
        while fs::read_dir("/proc").is_ok_and(|mut all| all.any(is_here)) {
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Runs to the end.
    fn proceeds(&self) {
        let output = self.command(&["proceed", "t"]).output().unwrap();
        let text = String::from_utf8_lossy(&[&*output.stdout, &*output.stderr].concat()).into_owned();
        assert_eq!(output.status.code(), Some(0), "{text}");
    }

    /// Checks that the commit is in the result as it is, and in none of the run.
    fn keeps(&self, mine: &str) {
        let log = self.0.git(&["log", "--graph", "--name-only", "--format=%s by %an", "superstep/t"]);
        assert!(self.0.git(&["rev-list", "superstep/t"]).lines().any(|commit| commit == mine), "{log}");
        assert_eq!(self.0.git(&["log", "-1", "--format=%s by %an", mine]), "person: mine by Grace\n");
        assert_eq!(self.0.git(&["show", "superstep/t:mine.txt"]), "a person's\n", "{log}");
        let own = self.0.git(&["log", "--author=Ada", "--format=", "--name-only", "main..superstep/t"]);
        assert!(!own.contains("mine.txt"), "{log}");
        assert_eq!(self.0.git(&["status", "--porcelain"]), "", "{log}");
    }
}

#[test]
fn what_an_agent_committed_before_it_was_killed_is_put_back() {
    let run = KilledRun::after_an_agents_commit();
    assert_eq!(run.0.subjects("superstep/t"), ["begin", "by the agent: 1"]);
    run.proceeds();
    let subjects = run.0.subjects("superstep/t");
    assert!(subjects.iter().all(|subject| !subject.starts_with("by the agent")), "{subjects:?}");
    assert_eq!(subjects.len(), 4);
}

#[rstest]
#[case::of_a_developer("developer-1-1")]
#[case::of_another_developer("developer-2-2")]
#[case::of_a_reviewer("reviewer-1-1")]
#[case::of_a_check("check-2")]
fn a_commit_made_after_a_kill_in_the_middle_of_a_turn_is_the_persons(#[case] place: &str) {
    let run = KilledRun::new();
    run.begin();
    run.killed_at(&["approve", "t"], place).wait().unwrap();
    let mine = run.commits();
    run.proceeds();
    run.keeps(&mine);
    let subjects = run.0.subjects("superstep/t");
    assert_eq!(subjects.iter().filter(|subject| subject.starts_with("feat")).count(), 3, "{subjects:?}");
}

#[test]
fn a_commit_on_top_of_what_an_agent_committed_before_a_kill_stays() {
    let run = KilledRun::after_an_agents_commit();
    let mine = run.commits();
    run.proceeds();
    run.keeps(&mine);
    let subjects = run.0.subjects("superstep/t");
    assert_eq!(subjects[..3], ["begin", "by the agent: 1", "person: mine"]);
}

#[rstest]
#[case::before("pre-commit", HOOK, "pre-commit-1")]
#[case::once_files_are_neat("pre-commit", NEAT, "pre-commit-1")]
#[case::with_the_message("commit-msg", HOOK, "commit-msg-1")]
#[case::after("post-commit", HOOK, "post-commit-2")]
fn a_commit_made_after_a_kill_inside_a_hook_is_the_persons(
    #[case] hook: &str,
    #[case] body: &str,
    #[case] place: &str,
    #[values(false, true)] lives_on: bool,
) {
    let run = KilledRun::new();
    run.hook(hook, body);
    run.begin();
    run.killed_at(&["approve", "t"], place).wait().unwrap();
    let mine = run.commits();
    if !lives_on {
        run.release(); // the git of the killed run ends first
    }
    run.proceeds();
    let main = run.0.git(&["rev-parse", "main"]);
    if lives_on {
        run.release();
        run.waits_for_git();
    }
    assert_eq!(run.0.git(&["rev-parse", "main"]), main);
    run.keeps(&mine);
    let subjects = run.0.subjects("superstep/t");
    assert_eq!(subjects.iter().filter(|subject| subject.starts_with("feat")).count(), 3, "{subjects:?}");
}
