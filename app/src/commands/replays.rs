//! `diff` and `replay`.

use serde_json::Value;

use super::session::{CommandOutput, Session, lines};
use crate::args::{DiffArgs, Mode, Replay};
use crate::events::gap;
use crate::failure::{Exit, Failure};
use crate::shapes::HistoryStep;
use crate::terminal::print;
use crate::text;
use crate::threads::{AppThread, RunRequest};
use superstep::checkpoint::CheckpointId;
use superstep::graph::VerifyVerdict;

impl Session {
    pub(super) async fn diff(&self, args: &DiffArgs) -> Result<CommandOutput, Failure> {
        let local = self.store_to_read().await?;
        let thread = local.thread(&args.thread).await?;
        let (json, text) = thread.diff(CheckpointId(args.from), CheckpointId(args.to)).await?;
        CommandOutput::new(text, &json)
    }

    pub(super) async fn replay(&self, args: &Replay) -> Result<CommandOutput, Failure> {
        let local = self.store_to_read().await?;
        let thread = local.thread(&args.thread).await?;
        if !args.override_policy.is_empty() {
            return policy_what_if(&thread, args).await;
        }
        match args.mode {
            Mode::Recorded => self.replay_recorded(&thread, args).await,
            Mode::Verify => {
                let (json, text, verdict) = thread.verify(args.from.map(CheckpointId)).await?;
                let exit = match verdict {
                    VerifyVerdict::Same => Exit::Finished,
                    VerifyVerdict::SameInPart if !args.strict => Exit::Finished,
                    VerifyVerdict::SameInPart | VerifyVerdict::NothingCompared => Exit::Unverified,
                    VerifyVerdict::Different => Exit::Failed,
                };
                Ok(CommandOutput { code: exit.code(), ..CommandOutput::new(lines(&text), &json)? })
            }
            Mode::WhatIf => {
                let (json, text) = thread.what_if(args.from.map(CheckpointId)).await?;
                CommandOutput::new(lines(&text), &json)
            }
            Mode::Live => self.replay_live(&thread, args).await,
        }
    }

    /// Replays the recorded events; nothing runs.
    async fn replay_recorded(&self, thread: &AppThread, args: &Replay) -> Result<CommandOutput, Failure> {
        if !args.step {
            let events = thread.events(args.from.map(CheckpointId)).await?;
            return CommandOutput::new(text::events(&events), &events);
        }
        let line = line(thread, args).await?;
        let mut diffs: Vec<_> = self.gap(&line, args).into_iter().collect();
        for pair in line.windows(2) {
            let [before, after] = pair else { continue };
            let (json, text) =
                thread.diff(CheckpointId(before.info.checkpoint), CheckpointId(after.info.checkpoint)).await?;
            diffs.push(json);
            if !self.pause(&text) {
                break;
            }
        }
        CommandOutput::new("", &diffs)
    }

    /// Runs a thread again with its side effects.
    async fn replay_live(&self, thread: &AppThread, args: &Replay) -> Result<CommandOutput, Failure> {
        let line = line(thread, args).await?;
        self.gap(&line, args);
        let first = line.first().map(|step| step.info.checkpoint);
        let mut at = first.map(CheckpointId);
        if let Some(from) = at
            && let Some(own) = thread.fork_writes(from, None).await?
        {
            let fork = async {
                let local = self.local().await?;
                let graph = self.graphs.of_thread(&args.thread, &local.info(&args.thread).await?.graph)?;
                thread.fork(from, Some(graph.input(&own.values)?)).await
            };
            own.undo_on_failure(fork.await).await?;
            print(&own.text);
            at = None;
        }
        if !args.step {
            return self.follow(thread, &args.thread, RunRequest::Live { at, step: false }).await;
        }
        let mut before = first;
        loop {
            let output = self.follow(thread, &args.thread, RunRequest::Live { at: at.take(), step: true }).await?;
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

    /// Reports that checkpoints before the first one of a line were removed.
    fn gap(&self, line: &[HistoryStep], args: &Replay) -> Option<Value> {
        let first = line.first().filter(|_| args.from.is_none())?;
        let gap = gap(first.info.parent?, first.info.step);
        if self.view != crate::watch::View::Quiet {
            print(&text::events(std::slice::from_ref(&gap)));
        }
        Some(gap)
    }

    /// Shows the changes of a superstep and waits for Enter; returns false on `q` or the end of the input.
    fn pause(&self, changes: &str) -> bool {
        if self.view == crate::watch::View::Quiet {
            return true;
        }
        print(&format!("{changes}\nEnter continues, q quits: "));
        let mut line = String::new();
        let read = std::io::stdin().read_line(&mut line);
        print("\n");
        read.is_ok_and(|count| count > 0) && line.trim() != "q"
    }
}

async fn policy_what_if(thread: &AppThread, args: &Replay) -> Result<CommandOutput, Failure> {
    if args.mode != Mode::WhatIf {
        return Err(Failure::usage("--override-policy needs --mode what-if"));
    }
    let changes = args.override_policy.iter().map(|text| change(text)).collect::<Result<Vec<_>, _>>()?;
    match thread.policy_what_if(&changes).await? {
        Some(result) => CommandOutput::new(lines(&result.text), &result.json),
        None => Err(Failure::usage(format!("the graph of thread `{}` has no policy", args.thread))
            .help("leave out --override-policy to see the result of the current graph")),
    }
}

/// Parses `KEY=VALUE`.
fn change(text: &str) -> Result<(String, String), Failure> {
    let (key, value) = text.split_once('=').ok_or_else(|| {
        Failure::usage(format!("--override-policy {text}: the value is missing"))
            .help("write KEY=VALUE, for example max_attempts=2")
    })?;
    Ok((key.trim().to_owned(), value.trim().to_owned()))
}

/// Returns the checkpoints that led to the newest one, oldest first.
async fn line(thread: &AppThread, args: &Replay) -> Result<Vec<HistoryStep>, Failure> {
    let history = thread.history(usize::MAX, None).await?;
    let mut line: Vec<HistoryStep> = vec![];
    let mut next = history.first().map(|step| step.info.checkpoint);
    for step in history {
        if next == Some(step.info.checkpoint) {
            next = step.info.parent;
            line.push(step);
        }
    }
    line.reverse();
    let Some(from) = args.from else { return Ok(line) };
    let at = line.iter().position(|step| step.info.checkpoint == from).ok_or_else(|| {
        let name = &args.thread;
        Failure::new(format!("checkpoint {from} is not an ancestor of the newest checkpoint of thread `{name}`"))
            .hint("`{history}` lists the checkpoints")
    })?;
    Ok(line.split_off(at))
}
