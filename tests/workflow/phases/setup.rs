//! Prepared worktrees: the files that commands of subtasks need are in every worktree, and in no commit.

use std::sync::Arc;

use superstep::checkpoint::MemoryCheckpointer;
use superstep::graph::{Outcome, Thread};
use superstep::nodes::ApprovePlan;
use superstep::plan::Decision;
use superstep::workspace::Furnishings;
use superstep_workflows::phased::{PhaseStep, graph};
use superstep_workflows::task_based::{ExecutionState, RunOutcome};
use superstep_workflows::{PhasedSettings, Profile, WorktreeSettings};

use crate::agent::{Agent, approved, part};
use crate::repository::Repository;

const NEEDS: &str = "test -f deps/lib && test -f made.txt && test -f .env.test && test -f modules/one";

fn plan() -> String {
    let task =
        |n| format!("### Task {n}: Part {n}\n\n**Depends on:** none\n\nWrite it.\n\n**Verify:**\n\n- `{NEEDS}`\n\n");
    format!("# Clock\n\n**Goal:** A clock.\n\n{}", (1..=2).map(task).collect::<String>())
}

fn prepared(setup: &str) -> Profile {
    let furnishings = Furnishings { copy: vec![".env.test".into()], link: vec!["modules".into()] };
    let worktree = WorktreeSettings { setup: vec![setup.to_owned()], furnishings };
    Profile {
        final_review: false,
        phased: PhasedSettings { worktree, ..PhasedSettings::default() },
        ..Profile::default()
    }
}

fn repository() -> Repository {
    let repository = Repository::new();
    repository.write(".gitignore", "deps\n.env.test\nmodules\n");
    repository.git(&["add", "."]);
    repository.git(&["commit", "-q", "-m", "ignore"]);
    repository.write(".env.test", "A=1\n");
    repository.write("modules/one", "1\n");
    repository
}

type Phases = Thread<ExecutionState, PhaseStep, Arc<Agent>>;

async fn run(repository: &Repository, profile: Profile) -> (Phases, Outcome<ExecutionState>) {
    let agent = Agent::crew(|call, folder, _| part(folder, &call.task), |_, _| approved());
    let graph = graph::<Arc<Agent>>().unwrap().with_checkpointer(MemoryCheckpointer::new());
    let thread = graph.thread_with("clock", Arc::new(agent));
    let input = ExecutionState::update().working_dir(repository.path()).profile(profile);
    thread.invoke(input.plan_markdown(Some(plan()))).await.unwrap();
    let outcome = thread.resume::<ApprovePlan>(Decision::approve()).await.unwrap();
    (thread, outcome)
}

#[tokio::test]
async fn checks_of_integrated_work_have_the_files_of_the_setup_and_no_commit_has() {
    let repository = repository();
    let setup = "mkdir -p deps && echo 1 > deps/lib && echo made > made.txt && echo changed >> README.md";
    let (_, outcome) = run(&repository, prepared(setup)).await;
    let state = outcome.finished().unwrap();
    assert_eq!(state.result.outcome, Some(RunOutcome::Completed));
    assert!(state.result.notices.is_empty(), "{:?}", state.result.notices);
    let files = repository.git(&["diff", "--name-only", "main", "superstep/clock"]);
    assert_eq!(files, "part-1.txt\npart-2.txt\n");
    assert_eq!(repository.git(&["worktree", "list"]).lines().count(), 1);
}
