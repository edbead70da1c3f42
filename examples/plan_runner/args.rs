//! The command line of `plan_runner`. Knows the request, not its execution.

use std::path::Path;

use superstep::nodes::ApprovePlan;
use superstep::plan::{Decision, Plan};
use superstep::prelude::Answer;

use super::failure::Failure;

pub(crate) const HELP: &str = "\
Runs a shell command for each task of a markdown plan, once a person has approved it.

usage: plan_runner PLAN.md --run 'COMMAND' [options]

The command reads the task's section of the plan on its standard input. It is given SUPERSTEP_TASK (the task's
number), SUPERSTEP_TASK_TITLE, SUPERSTEP_TASKS and SUPERSTEP_ATTEMPT. Code 0 ends the task, another repeats it.

  --run COMMAND       what to run for each task, by `sh -c`
  --approve           approve the plan and run it
  --reject [TEXT]     drop the plan, with feedback
  --status            show how the run stands, and change nothing
  --max-attempts N    how often a task is tried [5]; more than before lets a halted run go on
  --store PATH        where checkpoints are kept [plan_runner.sled]
  --thread ID         the name of this run [the plan's file name]
  --help

A call that was stopped or killed goes on when it is repeated. Tasks that are done do not run again. (A command that was
running when this program was killed by SIGKILL may still run beside its repetition.)

exit codes: 0 done, 10 waits for approval, 11 halted at the limit of attempts, 12 rejected, 1 failed, 2 wrong usage,
130 stopped by Ctrl-C";

#[derive(Clone, Copy)]
pub(crate) enum Wish {
    Run,
    Approve,
    Reject,
    Show,
}

pub(crate) struct Args {
    pub(crate) file: String,
    pub(crate) command: String,
    pub(crate) store: String,
    pub(crate) thread: String,
    pub(crate) wish: Wish,
    pub(crate) max_attempts: Option<u32>,
    feedback: String,
}

impl Args {
    /// Parses the command line; `None` for `--help`.
    pub(crate) fn read(words: impl Iterator<Item = String>) -> Result<Option<Self>, Failure> {
        let mut words = words.peekable();
        let (mut file, mut command, mut thread, mut max_attempts) = (None, None, None, None);
        let (mut store, mut wish, mut feedback) = ("plan_runner.sled".to_owned(), Wish::Run, String::new());
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| wrong(format!("`{word}` needs a value")));
            match word.as_str() {
                "--help" | "-h" => return Ok(None),
                "--run" => command = Some(value()?),
                "--store" => store = value()?,
                "--thread" => thread = Some(value()?),
                "--max-attempts" => max_attempts = Some(attempts(&value()?)?),
                "--approve" => wish = Wish::Approve,
                "--status" => wish = Wish::Show,
                "--reject" => {
                    wish = Wish::Reject;
                    feedback = words.next_if(|next| !next.starts_with("--")).unwrap_or_default();
                }
                option if option.starts_with('-') => return Err(wrong(format!("there is no option `{option}`"))),
                _ if file.is_some() => return Err(wrong(format!("`{word}` is a second plan"))),
                _ => file = Some(word),
            }
        }
        let file = file.ok_or_else(|| wrong("which plan?"))?;
        let command = command.ok_or_else(|| wrong("what is to be run for each task? `--run` is missing"))?;
        let thread = thread.unwrap_or_else(|| stem(&file));
        Ok(Some(Self { file, command, store, thread, wish, max_attempts, feedback }))
    }

    pub(crate) fn plan(&self) -> Result<Plan, Failure> {
        let text =
            std::fs::read_to_string(&self.file).map_err(|error| Failure::of(format!("{}: {error}", self.file)))?;
        Plan::parse(text).map_err(|error| Failure::of(format!("{}: {error}", self.file)))
    }

    /// Checks that the plan and the command are those that the thread was started with.
    pub(crate) fn fits(&self, command: &str, begun: Option<&Plan>, plan: &Plan) -> Result<(), Failure> {
        let changed = match (begun == Some(plan), command == self.command) {
            (true, true) => return Ok(()),
            (false, _) => format!("the plan {} has changed since thread `{}` began", self.file, self.thread),
            (true, false) => format!("thread `{}` began with another command: `{command}`", self.thread),
        };
        Err(Failure::usage(changed, "undo the change, or begin again under another name with `--thread NAME`"))
    }

    pub(crate) fn decision(&self) -> Decision {
        match self.wish {
            Wish::Reject => Decision::reject(&self.feedback),
            Wish::Run | Wish::Approve | Wish::Show => Decision::approve(),
        }
    }

    /// Returns the decision as an answer, with the user's name.
    pub(crate) fn answer(&self) -> Answer {
        let answer = Answer::new::<ApprovePlan>(&self.decision());
        match std::env::var("USER") {
            Ok(name) => answer.by(name),
            Err(_) => answer,
        }
    }

    /// Returns the command line of this call with another last option.
    pub(crate) fn call(&self, option: &str) -> String {
        let program = std::env::args().next().unwrap_or_default();
        let [program, file, command] = [&program, &self.file, &self.command].map(|word| quoted(word));
        let [store, thread] = [&self.store, &self.thread].map(|word| quoted(word));
        format!("{program} {file} --run {command} --store {store} --thread {thread} {option}")
    }
}

fn stem(file: &str) -> String {
    Path::new(file).file_stem().map_or_else(|| file.to_owned(), |stem| stem.to_string_lossy().into_owned())
}

fn attempts(text: &str) -> Result<u32, Failure> {
    let number = text.parse().ok().filter(|&number| number > 0);
    number.ok_or_else(|| wrong(format!("`{text}` is no number of attempts: 1 or more")))
}

fn wrong(what: impl Into<String>) -> Failure {
    Failure::usage(what, "`plan_runner --help` says how")
}

/// Quotes a word for the shell.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
