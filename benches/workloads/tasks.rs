//! The workflow that executes plans: the cost of a node without agents and git, on disk. Records a run with real git
//! and scripted agents, then repeats it with the recorded effects.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use superstep::drivers::DriverName;
use superstep::graph::kit::Test;
use superstep::nodes::{ApprovePlan, Crew};
use superstep::plan::Decision;
use superstep::prelude::*;
use superstep_workflows::Profile;
use superstep_workflows::task_based::{ExecutionState, ExecutionStateUpdate, Step, graph};

use super::figure::Figure;
use super::harness::Bench;
use super::measure::Spread;
use super::replay::{BareSled, Recording};
use super::transcript;

type Tasks = Test<ExecutionState, Step, Crew>;

pub(crate) fn run(bench: &Bench) {
    overhead(bench);
    transcript::run(bench);
}

fn overhead(bench: &Bench) {
    let tasks = bench.pick([150, 25, 1]);
    let folder = bench.folder();
    let input = job(folder.path(), tasks);
    let scripted = bench.lone.block_on(recorded(&input));
    // plan_validator, human_approval, prepare_workspace; then developer, verify, reviewer and a commit for each task.
    let nodes = 3 + 4 * tasks;

    let recording = Recording::default();
    bench.lone.block_on(scripted.run_on(Arc::new(recording.clone()), input.clone())).unwrap();
    let commits = recording.take();
    let stores: Vec<_> = (0..bench.pick([9, 5, 1])).map(|_| bench.folder()).collect();
    let opened: Vec<_> = stores.iter().map(|at| Arc::new(SledCheckpointer::open(at.path()).unwrap())).collect();
    let bare_folder = bench.folder();
    let mut bare = BareSled::open(bare_folder.path());
    let once = |nth: u64| {
        let store = Arc::clone(&opened[nth as usize]);
        let ran = bench.lone.block_on(scripted.run_on(store, input.clone())).unwrap();
        assert_eq!(ran.state.run.tasks.iter().filter(|task| task.commit.is_some()).count() as u64, tasks);
    };
    let (ours, limit) = bench.race(stores.len() as u64, nodes, once, |_| bare.write(&commits));
    let what = format!("plan of {tasks}, durable sync, all but agents and git, per node");
    bench.print(&Figure::wall("tasks", what, ours).limit(limit.wall).target("<= 5000"));
    let memory = bench.measure(&bench.lone, nodes, async || {
        scripted.run_on(Arc::new(MemoryCheckpointer::new()), input.clone()).await.unwrap();
    });
    bench.print(&Figure::cpu("tasks", format!("plan of {tasks}, memory store, the same"), memory));
    let per_node = |total: usize| Spread::exact(total as f64 / nodes as f64);
    let bytes = commits.iter().flatten().map(Vec::len).sum();
    bench.print(&Figure::new("tasks", "commits per node", per_node(commits.len()), "commits"));
    bench.print(&Figure::new("tasks", "value bytes per node", per_node(bytes), "bytes"));
}

/// Records the results of the effects of a real run, as a script.
async fn recorded(input: &ExecutionStateUpdate) -> Tasks {
    let test = || graph::<Crew>().unwrap().test_with(Crew::new()).answer::<ApprovePlan>(Decision::approve());
    let ran = test().real_effects().run(input.clone()).await.unwrap();
    test().effects_of(&ran.thread).await.unwrap()
}

/// Writes a plan for a new repository into the folder, and a scenario that executes it.
fn job(folder: &Path, tasks: u64) -> ExecutionStateUpdate {
    let file = folder.join("agents.yaml");
    let turn = |n| {
        format!(
            "- role: developer\n  task: '{n}'\n  steps:\n  - write: {{path: part-{n}.txt, content: x}}\n  submit: {{status: done, summary: It is written.}}\n"
        )
    };
    let reviewer = "- role: reviewer\n  times: always\n  submit: {approved: true, severity: none, summary: fine}\n";
    std::fs::write(&file, format!("turns:\n{}{reviewer}", (1..=tasks).map(turn).collect::<String>())).unwrap();
    let profile = Profile { driver: DriverName::Scripted(file), final_review: false, ..Profile::default() };
    let input = ExecutionState::update().working_dir(repository(folder)).profile(profile);
    input.plan_markdown(Some(plan(tasks)))
}

/// Returns a plan with sections of realistic length.
pub(crate) fn plan(tasks: u64) -> String {
    let section =
        "Print it in columns of equal width, with the times of the day as they stand in the table.\n".repeat(8);
    let task = |n| format!("### Task {n}: Part {n}\n\n{section}\n**Acceptance:**\n\n- Part {n} is there.\n\n");
    format!("# Tides\n\n**Goal:** A table of the tides.\n\n{}", (1..=tasks).map(task).collect::<String>())
}

/// Creates a repository with one commit in a folder below.
pub(crate) fn repository(folder: &Path) -> PathBuf {
    let repository = folder.join("repository");
    std::fs::create_dir(&repository).unwrap();
    std::fs::write(repository.join("README.md"), "# Tides\n").unwrap();
    let words = [
        &["init", "-q", "-b", "main"][..],
        &["config", "user.name", "Ada"],
        &["config", "user.email", "ada@example.org"],
        &["add", "."],
        &["commit", "-q", "-m", "begin"],
    ];
    for words in words {
        let mut git = Command::new("git");
        git.args(words).current_dir(&repository).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        assert!(git.status().unwrap().success(), "git {words:?}");
    }
    repository.canonicalize().unwrap()
}
