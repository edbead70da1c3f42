//! A run whose future is dropped anywhere, and that resumes in the same process: it ends as an undisturbed one, and no
//! agent that has answered is called again.

use std::collections::BTreeSet;
use std::future::poll_fn;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::task::Poll;

use rstest::rstest;
use superstep::checkpoint::BoxFuture;
use superstep::drivers::{
    AgentEvents, AgentRequest, Capabilities, Driver, DriverError, DriverExt, Finished, SessionRef, events,
};
use superstep::nodes::ApprovePlan;
use superstep::plan::Decision;
use superstep::prelude::*;
use superstep_workflows::Profile;
use superstep_workflows::task_based::{ExecutionState, Step, graph};
use tokio::sync::mpsc;

use crate::agent::{Agent, Call, approved, rejected, work};
use crate::repository::{Repository, write};
use crate::scene::{RunResult, plan, profile};

/// Three tasks, of which the second is rejected once.
fn crew() -> Arc<Agent> {
    Agent::crew(
        |call, folder, _| {
            write(folder, &format!("part-{}.txt", call.task), &format!("{}\n", call.attempt));
            work()
        },
        |call, _| if call.task == "2" && call.attempt == 1 { rejected("no") } else { approved() },
    )
}

/// Agents that stop once when they are called and once when they have answered: they report it and never return.
struct StoppingAgent {
    agent: Arc<Agent>,
    /// The places where they have stopped; `None` if they never stop.
    stops: Option<Arc<Stops>>,
}

struct Stops {
    seen: Mutex<BTreeSet<String>>,
    reached: mpsc::UnboundedSender<String>,
}

impl Stops {
    async fn pass(&self, place: String) {
        if self.seen.lock().unwrap().insert(place.clone()) {
            self.reached.send(place).unwrap();
            std::future::pending::<()>().await;
        }
    }
}

impl Driver for StoppingAgent {
    fn name(&self) -> &str {
        "stopping"
    }

    fn capabilities(&self) -> Capabilities {
        self.agent.capabilities()
    }

    fn run(&self, request: AgentRequest) -> AgentEvents {
        let (agent, stops) = (Arc::clone(&self.agent), self.stops.clone());
        events(move |_| async move {
            let place = format!("{} {} {}", request.role, request.place.task, request.place.attempt);
            if let Some(stops) = &stops {
                if request.access.write {
                    // A part of the work.
                    write(&request.directory, &format!("part-{}.txt", request.place.task), "half");
                }
                stops.pass(format!("{place} asked")).await;
            }
            let finished = agent.finish(request, |_| ()).await?;
            if let Some(stops) = &stops {
                stops.pass(format!("{place} answered")).await;
            }
            Ok(finished)
        })
    }

    fn finished_turn<'a>(
        &'a self,
        session: Option<&'a SessionRef>,
        turn: &'a str,
    ) -> BoxFuture<'a, Result<Option<Finished>, DriverError>> {
        self.agent.finished_turn(session, turn)
    }
}

type Tasks = Thread<ExecutionState, Step, Arc<StoppingAgent>>;

struct Play {
    repository: Repository,
    agent: Arc<Agent>,
    thread: Tasks,
}

impl Play {
    fn new() -> Self {
        Self::with(None)
    }

    /// Returns a play with agents that stop, and the places where they stop.
    fn stopping() -> (Self, mpsc::UnboundedReceiver<String>) {
        let (sender, reached) = mpsc::unbounded_channel();
        (Self::with(Some(Arc::new(Stops { seen: Mutex::default(), reached: sender }))), reached)
    }

    fn with(stops: Option<Arc<Stops>>) -> Self {
        let (repository, agent) = (Repository::new(), crew());
        let driver = Arc::new(StoppingAgent { agent: Arc::clone(&agent), stops });
        let graph = graph::<Arc<StoppingAgent>>().unwrap().with_checkpointer(MemoryCheckpointer::new());
        Self { repository, agent, thread: graph.thread_with("clock", Arc::new(driver)) }
    }

    /// Starts or resumes, whichever is next, until the run ends.
    async fn advance(&self) -> RunResult {
        let mut outcome = match self.thread.state().await.unwrap() {
            None => {
                let input = ExecutionState::update().working_dir(self.repository.path());
                let profile = Profile { final_review: true, ..profile() };
                let input = input.plan_markdown(Some(plan(3))).profile(profile);
                self.thread.invoke(input).await.unwrap()
            }
            Some(_) => self.thread.proceed().await.unwrap(),
        };
        while !outcome.questions().is_empty() {
            outcome = self.thread.resume::<ApprovePlan>(Decision::approve()).await.unwrap();
        }
        outcome
    }

    /// Returns the branch, the kept work, the user's branch, git's status of the files, and the calls of agents.
    fn end(&self) -> [String; 5] {
        let git = |args: &[&str]| self.repository.git(args);
        let branch = git(&["log", "--format=%T %s", "superstep/clock"]);
        let refs = git(&["for-each-ref", "--format=%(refname) %(tree)", "refs/superstep"]);
        let log = self.agent.log.lock().unwrap();
        let line = |call: &Call| format!("{} {} {} {}\n", call.role, call.task, call.attempt, call.prompt.len());
        let calls = log.iter().map(line).collect();
        [
            branch,
            crate::scene::for_people(&refs),
            git(&["rev-parse", "main^{tree}"]),
            git(&["status", "--porcelain"]),
            calls,
        ]
    }
}

async fn undisturbed() -> [String; 5] {
    undisturbed_with(&[]).await
}

async fn undisturbed_with(hooks: &[(&str, &str)]) -> [String; 5] {
    let play = Play::new();
    hooks.iter().for_each(|(name, body)| hook(&play.repository.path(), name, &format!("#!/bin/sh\n{body}")));
    play.advance().await.finished().unwrap();
    play.end()
}

#[tokio::test]
async fn a_turn_dropped_at_its_start_or_end_runs_once() {
    let whole = undisturbed().await;
    let (play, mut reached) = Play::stopping();
    let mut dropped = vec![];
    while let Some(place) = tokio::select! { place = reached.recv() => place, _ = play.advance() => None } {
        dropped.push(place);
        assert!(dropped.len() < 100, "{dropped:?}");
    }
    assert_eq!(dropped.len(), 18, "{dropped:?}");
    assert_eq!(play.end(), whole);
}

/// Polls a future this many times, then drops it: at once, or when it would be polled again.
async fn cut<T>(future: impl Future<Output = T>, mut polls: usize, at_once: bool) -> Option<T> {
    let mut future = Box::pin(future);
    poll_fn(move |context| {
        if polls == 0 {
            return Poll::Ready(None);
        }
        polls -= 1;
        match future.as_mut().poll(context) {
            Poll::Ready(ended) => Poll::Ready(Some(ended)),
            Poll::Pending if polls == 0 && at_once => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

#[rstest]
#[tokio::test]
async fn a_run_dropped_between_any_two_polls_ends_the_same(
    #[values(1, 3)] grows: usize,
    #[values(false, true)] at_once: bool,
) {
    let whole = undisturbed().await;
    let play = Play::new();
    let mut cuts = 0;
    while cut(play.advance(), 1 + cuts * grows, at_once).await.is_none() {
        cuts += 1;
        assert!(cuts < 2000, "it does not end");
    }
    assert!(cuts > 5, "only {cuts} cuts");
    assert_eq!(play.end(), whole, "{cuts} cuts");
}

// --- commits ---

/// Each hook stops once at each commit: it reports the place, and waits for ever.
const STOPPING: &str = r#"
name=$(basename "$0")
if [ "$name" != reference-transaction ] || [ "$1" = prepared ]; then
  place="$name-$(git log -1 --format=%s-%T 2>/dev/null)"
  mark=$(echo "$place" | tr ' /' '__')
  if [ ! -e ".git/seen/$mark" ]; then
    mkdir -p .git/seen && : > ".git/seen/$mark"
    echo "$place" > .git/reached
    cat .git/never
  fi
fi
"#;

/// Makes the pipes, and returns the lines written to the first.
fn stops(repository: &Repository) -> mpsc::UnboundedReceiver<String> {
    let (folder, (sender, reached)) = (repository.path(), mpsc::unbounded_channel());
    let pipes = [folder.join(".git/reached"), folder.join(".git/never")];
    assert!(std::process::Command::new("mkfifo").args(&pipes).status().unwrap().success());
    // A writer of our own, so that reading never ends.
    let both = std::fs::OpenOptions::new().read(true).write(true).open(&pipes[0]).unwrap();
    std::thread::spawn(move || {
        let lines = std::io::BufRead::lines(std::io::BufReader::new(both));
        lines.map_while(Result::ok).all(|line| sender.send(line).is_ok())
    });
    reached
}

pub(crate) fn hook(folder: &Path, name: &str, text: &str) {
    let name = format!(".git/hooks/{name}");
    write(folder, &name, text);
    crate::program::make_executable(folder.join(name));
}

/// Formats the files, after they were judged.
const NEAT: &str = "for file in part-*.txt; do grep -q neat $file || echo neat >> $file; done\n";
const NEAT_OR_REFUSE: &str =
    "for file in part-*.txt; do grep -q neat $file || { echo neat >> $file; refuse=1; }; done\n";
const REWRITES: &str = "[ -z \"$1\" ] || echo rewritten > \"$1\"\n";

#[rstest]
#[case::before(&[("pre-commit", "")])]
#[case::at_its_message(&[("prepare-commit-msg", ""), ("commit-msg", "")])]
#[case::while_branches_are_locked(&[("reference-transaction", "")])]
#[case::after(&[("post-commit", "")])]
#[case::once_files_are_neat(&[("pre-commit", NEAT)])]
#[case::before_neat_files_are_taken_in(&[("pre-commit", NEAT), ("post-commit", "")])]
#[case::before_a_refusal(&[("pre-commit", NEAT_OR_REFUSE)])]
#[case::before_the_trailers_are_put_back(&[("commit-msg", REWRITES), ("post-commit", "")])]
#[tokio::test]
async fn a_commit_dropped_while_a_hook_runs_is_made_once(#[case] hooks: &[(&str, &str)]) {
    let refusing = |body: &str| format!("{body}\n[ -z \"$refuse\" ] || exit 1\n");
    let plain: Vec<(&str, String)> = hooks.iter().map(|(name, body)| (*name, refusing(body))).collect();
    let plain: Vec<(&str, &str)> = plain.iter().map(|(name, body)| (*name, body.as_str())).collect();
    let whole = undisturbed_with(&plain).await;
    let play = Play::new();
    let mut reached = stops(&play.repository);
    for (name, body) in hooks {
        hook(&play.repository.path(), name, &refusing(&format!("#!/bin/sh\n{body}\n{STOPPING}")));
    }
    let mut dropped = vec![];
    while let Some(place) = tokio::select! { place = reached.recv() => place, _ = play.advance() => None } {
        dropped.push(place);
        assert!(dropped.len() < 50, "{dropped:?}");
    }
    assert!(dropped.len() >= 3 * hooks.len(), "{dropped:?}");
    assert_eq!(play.end(), whole, "{dropped:?}");
}
