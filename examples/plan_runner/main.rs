//! Runs a shell command for each task of a markdown plan, after a person has approved it. The process may end or be
//! killed at any time: the same call resumes it, and a task with a stored checkpoint never runs again.
#![allow(clippy::print_stderr, reason = "it is a program")]

mod args;
mod failure;
mod job;

use std::io::Write;
use std::process::ExitCode;

use superstep::graph::RunStream;
use superstep::nodes::{ApprovePlan, CommandOutput, TaskToApprove};
use superstep::plan::{Plan, TaskProgress};
use superstep::prelude::*;
use superstep::routes::{AfterApproval, AfterTaskReview};
use tokio::signal::unix::{SignalKind, signal};

use args::{Args, Wish};
use failure::Failure;
use job::{Job, Step, graph};

/// Prints a line; a closed pipe does not stop the work.
macro_rules! say {
    ($($words:tt)*) => {{
        _ = writeln!(std::io::stdout(), $($words)*);
    }};
}

const WAITING: u8 = 10;
const HALTED: u8 = 11;
const REJECTED: u8 = 12;
const STOPPED: u8 = 130;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match Args::read(std::env::args().skip(1)) {
        Ok(None) => {
            say!("{}", args::HELP);
            ExitCode::SUCCESS
        }
        Ok(Some(args)) => ended(work(&args).await),
        Err(failure) => ended(Err(failure)),
    }
}

fn ended(result: Result<u8, Failure>) -> ExitCode {
    result.unwrap_or_else(|failure| failure.report()).into()
}

async fn work(args: &Args) -> Result<u8, Failure> {
    let plan = args.plan()?;
    let thread = graph()?.with_checkpointer(SledCheckpointer::open(&args.store)?).thread(args.thread.as_str());
    let Some(job) = thread.state().await?.map(|snapshot| snapshot.values) else {
        return begin(&thread, plan, args).await;
    };
    args.fits(&job.command, job.plan.as_ref(), &plan)?;
    let status = thread.status().await?;
    match (args.wish, status) {
        (Wish::Show, status) => Ok(show(&status, &job, args)),
        (Wish::Run, Status::Interrupted { .. }) => Ok(ask(&job, args)),
        (Wish::Approve | Wish::Reject, Status::Interrupted { .. }) => {
            follow(thread.stream(Request::answers([args.answer()]), MODES), args).await
        }
        (_, Status::Finished) => finish(&thread, &job, args).await,
        (Wish::Reject, _) if job.decision.is_some() => {
            Err(Failure::usage("the plan is approved already, and under way", "leave out `--reject` to go on"))
        }
        _ => go_on(&thread, &job, args).await,
    }
}

async fn begin(thread: &Thread<Job, Step, ()>, plan: Plan, args: &Args) -> Result<u8, Failure> {
    if !matches!(args.wish, Wish::Run) {
        return Err(Failure::usage(
            format!("thread `{}` has not begun", args.thread),
            "leave out the last option first",
        ));
    }
    let progress =
        TaskProgress::new(plan.task_count(), args.max_attempts.unwrap_or(TaskProgress::MAX_TASK_REVIEW_ITERATIONS));
    let input = Job::update().plan(Some(plan)).command(&args.command).progress(progress);
    let outcome = thread.invoke(input).await?;
    Ok(ask(outcome.state(), args))
}

/// The events to print: tasks as they start, checkpoints once they are stored.
const MODES: [Mode; 2] = [Mode::Tasks, Mode::Checkpoints];

async fn go_on(thread: &Thread<Job, Step, ()>, job: &Job, args: &Args) -> Result<u8, Failure> {
    say!("going on at {}", job.task());
    follow(thread.stream(Request::proceed(), MODES), args).await
}

/// Leaves a finished run as it is, unless a halted one gets more attempts.
async fn finish(thread: &Thread<Job, Step, ()>, job: &Job, args: &Args) -> Result<u8, Failure> {
    let halted = matches!((job.after_approval(), job.after_task()), (AfterApproval::Approve, AfterTaskReview::Halt));
    let limit = args.max_attempts.filter(|&limit| halted && limit > job.progress.max_task_review_iterations);
    let Some(limit) = limit else { return Ok(summary(job, args)) };
    let progress = TaskProgress { max_task_review_iterations: limit, ..job.progress };
    thread.update_state_as(Step::RunTask, Job::update().progress(progress)).await?;
    go_on(thread, job, args).await
}

/// Prints events until the run ends or the process is interrupted; the run is then dropped and its command killed.
async fn follow(run: RunStream<Job>, args: &Args) -> Result<u8, Failure> {
    tokio::select! {
        biased; // the signal handlers are installed before anything is printed
        stopped = asked_to_stop() => {
            stopped.map_err(|error| Failure::of(error.to_string()))?;
            say!("stopped; the same call goes on");
            Ok(STOPPED)
        }
        ended = tell(run, args) => ended,
    }
}

async fn asked_to_stop() -> std::io::Result<()> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    tokio::select! { _ = interrupt.recv() => {} _ = terminate.recv() => {} }
    Ok(())
}

async fn tell(mut run: RunStream<Job>, args: &Args) -> Result<u8, Failure> {
    let mut is_running = false;
    while let Some(event) = run.next().await {
        is_running = tell_event(&event, is_running);
    }
    match run.outcome().await? {
        Outcome::Finished(job) => Ok(summary(&job, args)),
        outcome => Ok(ask(outcome.state(), args)),
    }
}

/// Prints a task's start, and its end once the checkpoint is stored. Returns whether a task is running.
fn tell_event(event: &Event, is_running: bool) -> bool {
    match &event.kind {
        EventKind::TaskStart { input, .. } if event.node() == Some(Step::RunTask.name()) => {
            let Some(job) = input.get::<Job>() else { return false };
            match job.progress.task_review_iteration {
                0 => say!("{}", job.task()),
                before => say!("{} (attempt {})", job.task(), before + 1),
            }
            true
        }
        EventKind::Checkpoint(made) if is_running => {
            made.values.get::<Job>().into_iter().for_each(tell_result);
            false
        }
        _ => is_running,
    }
}

fn tell_result(job: &Job) {
    let (number, total) = (job.progress.current_task_index + 1, job.progress.total_tasks);
    match &job.last_run {
        Some(run) if run.is_success() => say!("task {number} of {total} done"),
        Some(run) => say!("task {number} of {total} failed ({})", code(run)),
        None => {}
    }
}

fn code(run: &CommandOutput) -> String {
    run.code.map_or("killed by a signal".into(), |code| format!("exit code {code}"))
}

fn show(status: &Status, job: &Job, args: &Args) -> u8 {
    match status {
        Status::Interrupted { .. } => ask(job, args),
        Status::Finished => summary(job, args),
        Status::Failed { reason } => {
            say!("failed at {}: {reason}", job.task());
            0
        }
        _ => {
            say!("unfinished, at {}; the same call without --status goes on", job.task());
            0
        }
    }
}

/// Prints the plan and the commands to answer.
fn ask(job: &Job, args: &Args) -> u8 {
    if let Ok(ApprovePlan { title, goal, tasks, warnings, .. }) = job.question() {
        say!("{}", title.as_deref().unwrap_or("a plan without a title"));
        goal.iter().for_each(|goal| say!("goal: {goal}"));
        tasks.iter().for_each(|TaskToApprove { id, title, .. }| say!("  Task {id}: {title}"));
        warnings.iter().for_each(|warning| say!("warning: {warning}"));
    }
    say!("\nrun `{}` for each of these tasks ({})?", job.command, job.progress.total_tasks);
    say!("  yes: {}", args.call("--approve"));
    say!("  no:  {}", args.call("--reject 'what is wrong'"));
    WAITING
}

fn summary(job: &Job, args: &Args) -> u8 {
    let decision = job.decision.as_ref().map(ToString::to_string).unwrap_or_default();
    let (number, total) = (job.progress.current_task_index + 1, job.progress.total_tasks);
    match (job.after_approval(), job.after_task()) {
        (AfterApproval::Reject | AfterApproval::Revise, _) => {
            say!("{decision}");
            REJECTED
        }
        (AfterApproval::Approve, AfterTaskReview::Complete) => {
            say!("all {total} tasks are done; the plan was {decision}");
            0
        }
        (AfterApproval::Approve, AfterTaskReview::Halt | AfterTaskReview::Retry | AfterTaskReview::NextTask) => {
            let run = job.last_run.clone().unwrap_or_default();
            say!("halted at task {number} of {total}, {}: {}", job.task(), code(&run));
            _ = write!(std::io::stdout(), "{}{}", run.stdout, run.stderr);
            let more = job.progress.max_task_review_iterations + 1;
            say!("to try again: {}", args.call(&format!("--max-attempts {more}")));
            HALTED
        }
    }
}
