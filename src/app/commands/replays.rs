//! Commands that take a thread's past apart.

use std::sync::Arc;

use serde_json::Value;

use super::keeps::lines;
use super::output::CommandOutput;
use super::session::Session;
use crate::app::{
    args::{Diff, Mode, Replay},
    erased::{AnyThread, Go},
    exit::Exit,
    failure::Failure,
    happened::gap,
    print::say,
    shapes::Step,
    text,
};
use crate::checkpoint::CheckpointId;
use crate::graph::Verdict;

impl Session {
    pub(super) async fn diff(&self, args: &Diff) -> Result<CommandOutput, Failure> {
        let local = self.looking()?;
        let thread = local.thread(&args.thread).await?;
        let (json, text) = thread.diff(CheckpointId(args.from), CheckpointId(args.to)).await?;
        CommandOutput::new(text, &json)
    }

    pub(super) async fn replay(&self, args: &Replay) -> Result<CommandOutput, Failure> {
        let local = self.looking()?;
        let thread = local.thread(&args.thread).await?;
        if !args.override_policy.is_empty() {
            return reconsidered(&*thread, args).await;
        }
        match args.mode {
            Mode::Recorded => self.recorded(&thread, args).await,
            Mode::Verify => {
                let (json, text, verdict) = thread.verify(args.from.map(CheckpointId)).await?;
                let exit = match verdict {
                    Verdict::Same => Exit::Finished,
                    Verdict::SameInPart if !args.strict => Exit::Finished,
                    Verdict::SameInPart | Verdict::NothingCompared => Exit::Unverified,
                    Verdict::Different => Exit::Failed,
                };
                Ok(CommandOutput { code: exit.code(), ..CommandOutput::new(lines(&text), &json)? })
            }
            Mode::WhatIf => {
                let (json, text) = thread.what_if(args.from.map(CheckpointId)).await?;
                CommandOutput::new(lines(&text), &json)
            }
            Mode::Live => self.live(&thread, args).await,
        }
    }

    /// Tells a thread again; nothing runs.
    async fn recorded(&self, thread: &Arc<dyn AnyThread>, args: &Replay) -> Result<CommandOutput, Failure> {
        if !args.step {
            let events = thread.events(args.from.map(CheckpointId)).await?;
            return CommandOutput::new(text::events(&events), &events);
        }
        let line = line(&**thread, args).await?;
        let mut diffs: Vec<_> = self.gap(&line, args).into_iter().collect();
        for pair in line.windows(2) {
            let [before, after] = pair else { continue };
            let (json, text) = thread.diff(CheckpointId(before.checkpoint), CheckpointId(after.checkpoint)).await?;
            diffs.push(json);
            if !self.pause(&text) {
                break;
            }
        }
        CommandOutput::new("", &diffs)
    }

    /// Runs a thread again, for real.
    async fn live(&self, thread: &Arc<dyn AnyThread>, args: &Replay) -> Result<CommandOutput, Failure> {
        let line = line(&**thread, args).await?;
        self.gap(&line, args);
        let first = line.first().map(|step| step.checkpoint);
        let mut at = first.map(CheckpointId);
        if !args.step {
            return self.follow(&**thread, &args.thread, Go::Live { at, step: false }).await;
        }
        let mut before = first;
        loop {
            let output = self.follow(&**thread, &args.thread, Go::Live { at: at.take(), step: true }).await?;
            let now = output.json["checkpoint"].as_u64();
            if output.json["status"] != "stopped" && output.json["status"] != "pending" {
                return Ok(output);
            }
            let (Some(from), Some(to)) = (before, now) else { return Ok(output) };
            let (_, text) = thread.diff(CheckpointId(from), CheckpointId(to)).await?;
            before = now;
            if from == to || !self.pause(&text) {
                return Ok(output);
            }
        }
    }

    /// Says that what led to the first checkpoint of a line is gone, if it is.
    fn gap(&self, line: &[Step], args: &Replay) -> Option<Value> {
        let first = line.first().filter(|_| args.from.is_none())?;
        let gap = gap(first.parent?, first.step);
        if self.view != crate::app::watch::View::Quiet {
            say(&text::events(std::slice::from_ref(&gap)));
        }
        Some(gap)
    }

    /// Shows what a superstep changed and waits for Enter; not to go on is `q`, or the end of the input.
    fn pause(&self, changes: &str) -> bool {
        if self.view == crate::app::watch::View::Quiet {
            return true;
        }
        say(&format!("{changes}\nEnter goes on, q ends: "));
        let mut line = String::new();
        let read = std::io::stdin().read_line(&mut line);
        say("\n");
        read.is_ok_and(|count| count > 0) && line.trim() != "q"
    }
}

/// Tells what other values of a policy would have decided.
async fn reconsidered(thread: &dyn AnyThread, args: &Replay) -> Result<CommandOutput, Failure> {
    if args.mode != Mode::WhatIf {
        return Err(Failure::usage("--override-policy needs --mode what-if"));
    }
    let changes = args.override_policy.iter().map(|text| change(text)).collect::<Result<Vec<_>, _>>()?;
    match thread.reconsider(&changes).await? {
        Some(said) => CommandOutput::new(lines(&said.text), &said.json),
        None => Err(Failure::usage(format!("thread `{}` is of a graph that decides by no policy", args.thread))
            .help("leave out --override-policy, to see what the graph as it is now would have come to")),
    }
}

/// Reads `KEY=VALUE`.
fn change(text: &str) -> Result<(String, String), Failure> {
    let (key, value) = text.split_once('=').ok_or_else(|| {
        Failure::usage(format!("--override-policy {text}: there is no value"))
            .help("write KEY=VALUE, as max_attempts=2")
    })?;
    Ok((key.trim().to_owned(), value.trim().to_owned()))
}

/// The checkpoints that led to where the thread stands, oldest first.
async fn line(thread: &dyn AnyThread, args: &Replay) -> Result<Vec<Step>, Failure> {
    let history = thread.history(usize::MAX, None).await?;
    let mut line: Vec<Step> = vec![];
    let mut next = history.first().map(|step| step.checkpoint);
    for step in history {
        if next == Some(step.checkpoint) {
            next = step.parent;
            line.push(step);
        }
    }
    line.reverse();
    let Some(from) = args.from else { return Ok(line) };
    let at = line.iter().position(|step| step.checkpoint == from).ok_or_else(|| {
        let name = &args.thread;
        Failure::new(format!("checkpoint {from} did not lead to where thread `{name}` stands"))
            .hint("`{history}` lists the checkpoints there are")
    })?;
    Ok(line.split_off(at))
}
