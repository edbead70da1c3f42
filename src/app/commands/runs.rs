//! Commands that run something: `run`, `proceed`, `retry`; and `cancel`.

use std::sync::Arc;

use super::given;
use super::output::CommandOutput;
use super::own::said;
use super::session::Session;
use crate::app::{
    args::{RunArgs, StopArgs, Talk},
    desk::Ask,
    erased::{AnyThread, Go, Read},
    exit::Exit,
    failure::Failure,
    happened::happened_now,
    held::Held,
    local::Local,
    shapes::Stand,
    signal, time, watch,
};
use crate::checkpoint::ThreadId;
use crate::graph::{Event, RunError, ThreadInfo};

impl Session {
    pub(super) async fn run(&self, args: &RunArgs<'_>) -> Result<CommandOutput, Failure> {
        let graph = self.graphs.named(args.graph)?;
        let input = match args.input {
            Some(text) => Read::Input(graph.input(&given::json("--input", text)?)?),
            None => graph.read(args.own)?,
        };
        let input = match input {
            Read::Input(input) => input,
            Read::Instead(instead) => return said(instead),
        };
        if args.thread.is_some_and(str::is_empty) {
            return Err(Failure::usage("a thread needs a name: \"\" is none"));
        }
        let local = self.created()?;
        let name = match args.thread {
            Some(name) => self.unused(&local, name).await?,
            None => fresh(&local, args.graph).await?,
        };
        let thread = graph.thread(Arc::clone(&local.store), ThreadId::from(name.as_str())).stopping(&args.stops)?;
        self.converse(&*thread, &name, Go::Input(input), args.talk).await
    }

    /// A name that no thread has.
    async fn unused(&self, local: &Local, name: &str) -> Result<String, Failure> {
        let Some(info) = ThreadInfo::read(&*local.store, &ThreadId::from(name)).await? else { return Ok(name.into()) };
        let standing = info.standing;
        Err(Failure::new(format!("there is a thread `{name}` already, of the graph `{}`: {standing}", info.graph))
            .hint("answer it with `{resume}`, go on with `{proceed}`, or leave out `--thread`")
            .spelled(&self.caller, Some(name)))
    }

    pub(super) async fn proceed(&self, name: &str, stops: &StopArgs, talk: Talk) -> Result<CommandOutput, Failure> {
        let local = self.local()?;
        let thread = local.thread(name).await?.stopping(stops)?;
        self.converse(&*thread, name, Go::Proceed, talk).await
    }

    pub(super) async fn retry(&self, name: &str, talk: Talk) -> Result<CommandOutput, Failure> {
        let local = self.local()?;
        let thread = local.thread(name).await?;
        if thread.stand().await?.status == "finished" {
            let error = format!("thread `{name}` has finished: it has no unfinished superstep to begin anew");
            return Err(Failure::new(error).hint(
                "`{replay --mode live --from CHECKPOINT}` runs it again from a checkpoint; `{history}` lists them",
            ));
        }
        self.converse(&*thread, name, Go::Retry, talk).await
    }

    pub(super) async fn cancel(&self, thread: String) -> Result<CommandOutput, Failure> {
        let stand: Stand = self.ask(Ask::Cancel { thread: thread.clone() }).await?;
        let exit = match stand.status.as_str() {
            "finished" => Exit::Finished, // it was faster
            "interrupted" => Exit::Asking,
            "waiting" | "awaiting-signal" => Exit::Waiting,
            _ => Exit::Cancelled,
        };
        let mut output = self.stands(stand, exit.code())?;
        output.text.push_str(&self.afterwards(exit, &thread));
        Ok(output)
    }

    /// Runs a thread, tells what happens, and says where it stopped.
    pub(super) async fn follow(&self, thread: &dyn AnyThread, name: &str, go: Go) -> Result<CommandOutput, Failure> {
        let cancel = signal::cancels();
        let running = self.control.runs(name, cancel.token.clone());
        let mut run = thread.run(go, cancel.token.clone())?;
        let mut watch = watch::Watch::new(self.view, name);
        let mut held = Held::default();
        let mut ticks = tokio::time::interval(watch::TICK);
        let mut boards = tokio::time::interval(watch::BOARD);
        let has_board = self.view.is_tree() && thread.has_board();
        let labels = thread.labels();
        let tell = |watch: &mut watch::Watch, event: &Event| {
            let Some(json) = happened_now(event, &labels) else { return };
            running.tell(&json);
            watch.tell(&json);
        };
        loop {
            tokio::select! {
                event = run.next() => match event {
                    Some(event) => held.pass(event).iter().for_each(|event| tell(&mut watch, event)),
                    None => break,
                },
                _ = ticks.tick() => watch.tick(cancel.token.is_cancelled()),
                _ = boards.tick(), if has_board => {
                    // A run that has stored nothing has none.
                    let board = thread.stand().await.map(|stand| stand.board);
                    board.into_iter().for_each(|board| watch.post(board));
                }
            }
        }
        let ended = run.end().await;
        if !matches!(ended, Err(RunError::Checkpoint(_))) {
            held.rest().iter().for_each(|event| tell(&mut watch, event));
        }
        watch.end();
        drop(running);
        let exit = match ended {
            Ok(exit) => exit,
            Err(error) => {
                let broke = matches!(error, RunError::Node { .. } | RunError::Panicked { .. });
                let failure = Failure::from(error);
                let anew = broke && is_alone(thread).await;
                let failure = if anew { failure.hint("mend the cause, then `{retry}`") } else { failure };
                return Err(failure.spelled(&self.caller, Some(name)));
            }
        };
        let stand = thread.stand().await?;
        let is_over = stand.status == "finished" || !stand.questions.is_empty();
        let mut output = self.stands(stand, exit.code())?;
        if !is_over {
            output.text.push_str(&self.afterwards(exit, name));
        }
        Ok(output)
    }

    /// Returns the next step after a run that neither finished nor interrupted.
    fn afterwards(&self, exit: Exit, name: &str) -> String {
        let go_on = self.caller.on("proceed", name);
        match exit {
            Exit::Cancelled => format!("\ncancelled; what is done is kept. Go on with\n  {go_on}\n"),
            Exit::Halted => format!("\nto go on\n  {go_on}\n"),
            Exit::Waiting => format!("\nonce the time or the signal has come, go on with\n  {go_on}\n"),
            Exit::Finished | Exit::Failed | Exit::Asking | Exit::Rejected | Exit::Unverified => String::new(),
        }
    }
}

/// Returns true if restarting the failed superstep would lose nothing: no results of siblings, no answers.
async fn is_alone(thread: &dyn AnyThread) -> bool {
    let shown = thread.show(None).await;
    shown.is_ok_and(|shown| matches!(&shown.tasks[..], [task] if task.answers.is_empty()))
}

/// A name that sorts by time: the graph's, and milliseconds in letters and digits.
async fn fresh(local: &Local, graph: &str) -> Result<String, Failure> {
    let mut number = time::now();
    loop {
        let name = format!("{graph}-{}", letters(number));
        if local.store.head(&ThreadId::from(name.as_str())).await?.is_none() {
            return Ok(name);
        }
        number += 1;
    }
}

fn letters(mut number: u64) -> String {
    let mut digits = vec![];
    while number > 0 {
        digits.extend(char::from_digit((number % 36) as u32, 36));
        number /= 36;
    }
    digits.iter().rev().collect()
}
