//! The binary `superstep`: the command line over the workflows that come with the library.

mod code_task;
mod demo;
mod demo_run;
mod forks;
mod salvage;
mod schema;
mod task;
mod tasks;

use std::process::ExitCode;

use superstep::graph::NodeId;
use superstep::nodes::{
    AgentQuestion, ApprovePlan, BranchMoved, BudgetReached, Crew, DecideTask, Halted, PlanChanged, ReviewUnavailable,
    SessionRefused, TaskGivenUp,
};
use superstep_app::{App, Entry, Register};
use superstep_workflows::code_task::{self as code_task_graph, CodeStep, CodeTaskState};
use superstep_workflows::demo::{approval, essay, map_reduce};
use superstep_workflows::task_based::ExecutionState;
use superstep_workflows::{phased, task_based};

fn main() -> ExitCode {
    app().main()
}

fn app() -> App {
    App::new()
        .about("Runs graphs that wait for people, resume in any process and keep every step for inspection")
        .version(env!("CARGO_PKG_VERSION"))
        .graph(
            "approval",
            approval::graph().about("Send a letter after your approval").args(demo::letter).outcome(demo::letter_ends),
        )
        .graph(
            "essay",
            essay::graph()
                .about("Write an essay that you approve, reject or revise")
                .args(demo::essay)
                .outcome(demo::essay_ends)
                .question::<essay::Approve>(),
        )
        .graph("map_reduce", map_reduce::graph().about("Count the words of chapters in parallel").args(demo::book))
        .graph_with(
            "tasks",
            of_agents(
                task_based::crew_graph()
                    .about("Execute a plan task by task with coding agents, after your approval")
                    .example("--plan plan.md --driver cli:claude --thread tides")
                    .example("--issue issue.md --profile superstep.toml --thread tides")
                    .args_of_thread(tasks::input),
            ),
            Crew::new(),
        )
        .graph_with(
            "phases",
            of_agents(
                phased::crew_graph()
                    .about("Execute a plan in phases with coding agents in parallel, after your approval")
                    .example("--plan plan.md --driver cli:claude --thread tides")
                    .example("--issue issue.md --profile superstep.toml --max-parallel 8 --thread tides")
                    .args_of_thread(tasks::phases_input)
                    .progress(phased::progress)
                    .board(phased::board)
                    .labels(phased::label),
            ),
            Crew::new(),
        )
        .graph_with("code-task", of_task(), Crew::new())
        .next_help_heading("Agents")
        .shorthand("task", task::GRAPH)
        .plain_command("task new", "Write a template of a task file", task::new)
        .command("task show", "List the attempts of a task and its children", task::show)
        .command("override", "Override the decision on a task, and continue", task::override_decision)
        .store_command(
            "rewind",
            "Restart a task from one of its attempts, as a new thread with its files",
            task::rewind,
        )
        .command("salvage", "List or restore work that was not accepted", salvage::salvage)
        .plain_command(
            "schema",
            "Print the JSON Schema of a file, for editors: profile, verifiers, graph",
            schema::print,
        )
        .plain_command("demo", "Run a plan with scripted agents in a new folder, without a key or a network", |args| {
            demo_run::demo(args, app)
        })
}

/// The workflow that executes a task by verification.
fn of_task() -> Entry<CodeTaskState, CodeStep, Crew> {
    code_task_graph::crew_graph()
        .about("Execute a task with a coding agent until its verifiers pass")
        .example("--task task.md --driver cli:claude --thread tides")
        .example("--task task.md --profile superstep.toml --parallel 3 --thread tides")
        .args(code_task::input)
        .outcome(code_task::ends)
        .takes_one_input()
        .args_from_clients()
        .answered_by_people()
        .never_blocks()
        .cost(|state| state.usage.cost)
        .summary(code_task_graph::summary)
        .labels(code_task_graph::label)
        .hides(&["load_spec", "snapshot", "verify_stage", "decide", "record", "aggregate_children"])
        .what_if(task::what_if)
        .forks(forks::code_task)
        .repository(|state| state.settings.repository.clone())
        .commit(|state| Some(state.start.as_ref()?.base.at.commit.as_ref()?.to_string()))
        .origin(|state| state.settings.profile.origin.clone())
        .question::<BranchMoved>()
        .question::<TaskGivenUp>()
        .question::<DecideTask>()
        .question::<AgentQuestion>()
        .question::<BudgetReached>()
        .question::<SessionRefused>()
}

/// Adds what the workflows of coding agents share: the meaning of their ends, their texts for people, the answers to their
/// questions.
fn of_agents<N: NodeId>(entry: Entry<ExecutionState, N, Crew>) -> Entry<ExecutionState, N, Crew> {
    entry
        .repository(|state| state.request.working_dir.clone())
        .commit(|state| Some(state.run.start.as_ref()?.at.commit.as_ref()?.to_string()))
        .origin(|state| state.request.profile.origin.clone())
        .outcome(tasks::ends)
        .hides(&["plan_validator", "prepare_workspace", "plan_phases", "begin_phase", "retry_phase"])
        .hides(&["set_up", "next_task_node"])
        .forks(forks::tasks)
        .takes_one_input()
        .args_from_clients()
        .answered_by_people()
        .never_blocks()
        .cost(|state| state.result.usage.cost)
        .summary(task_based::summary)
        .question::<ApprovePlan>()
        .question::<BranchMoved>()
        .question::<Halted>()
        .question::<PlanChanged>()
        .question::<AgentQuestion>()
        .question::<ReviewUnavailable>()
        .question::<BudgetReached>()
        .question::<SessionRefused>()
}
