//! Commands that run in a work tree, one after the other until one fails. Knows processes, must not know their purpose.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::activity::Activity;
use super::check_command::CheckCommand;
use super::folder::Folder;
use super::siblings::{Group, Siblings};
use crate::graph::{Ctx, NodeError};
use crate::process::RunEnd;

/// The number of bytes that are kept of the end of a command's output.
const KEPT: usize = 8 * 1024;

/// The result of a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// The command.
    pub command: String,
    /// Its exit code; none if a signal or its time ended it.
    pub code: Option<i32>,
    /// The end of what it wrote.
    pub output: String,
    /// True if it was stopped with the group of its task: its result says nothing about the work then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stopped: bool,
}

impl Check {
    /// Returns whether it succeeded.
    pub fn passed(&self) -> bool {
        self.code == Some(0)
    }

    /// Returns the result as a line.
    pub fn line(&self) -> String {
        match self.code {
            Some(0) => format!("`{}` succeeded", self.command),
            Some(code) => format!("`{}` ended with {code}", self.command),
            None => format!("`{}` was killed", self.command),
        }
    }

    /// Returns the result with the output.
    pub fn report(&self) -> String {
        format!("{}\n{}", self.line(), self.output)
    }
}

/// Commands to run.
pub(super) struct Checks<'a> {
    pub(super) folder: &'a Folder,
    pub(super) commands: &'a [String],
    /// The time limit of each.
    pub(super) limit: Duration,
    /// Variables of this process that they get besides the usual ones.
    pub(super) pass: &'a [String],
    /// The group of tasks that stops them.
    pub(super) together: Option<&'a Siblings>,
}

/// Reason for stopping a command.
enum Stop {
    /// Its group of tasks was stopped.
    Group(String),
    /// It timed out.
    TooLong(Duration),
}

impl Stop {
    /// Returns the end of a command that was stopped, which waited for `children`.
    fn ended(self, command: &str, children: &[String]) -> Check {
        let (output, stopped) = match self {
            Self::Group(why) => (why, true),
            Self::TooLong(limit) => {
                let limit = limit.as_secs();
                let running = match children {
                    [] => String::new(),
                    all => format!("; it waited for `{}`", all.join("`, `")),
                };
                (
                    format!("it took longer than {limit} s (`verify_timeout` in the profile) and was killed{running}"),
                    false,
                )
            }
        };
        Check { command: command.to_owned(), code: None, output, stopped }
    }
}

impl Checks<'_> {
    /// Runs the commands until one fails; each is an effect named `key` and its number.
    pub(super) async fn run<C>(&self, key: &str, ctx: &Ctx<C>) -> Result<Vec<Check>, NodeError>
    where
        C: Send + Sync + 'static,
    {
        let mut checks = vec![];
        for (nth, command) in self.commands.iter().enumerate() {
            let check = ctx.effect(format!("{key}/{nth}"), command, |_| self.one(command, ctx)).await?;
            let passed = check.passed();
            if !passed {
                ctx.emit(check.line()).await;
            }
            checks.push(check);
            if !passed {
                break;
            }
        }
        Ok(checks)
    }

    /// Runs the commands until one fails, all as one effect, and returns the one that failed.
    pub(super) async fn failure<C>(&self, key: &str, ctx: &Ctx<C>) -> Result<Option<Check>, NodeError>
    where
        C: Send + Sync + 'static,
    {
        let failure = |_| async {
            for command in self.commands {
                let check = self.one(command, ctx).await?;
                if !check.passed() {
                    ctx.emit(check.line()).await;
                    return Ok(Some(check));
                }
            }
            Ok::<_, NodeError>(None)
        };
        let commands = crate::plan::hash(&self.commands.join("\n"));
        ctx.effect(key, &commands, failure).await
    }

    pub(super) async fn one<C: Send + Sync + 'static>(&self, command: &str, ctx: &Ctx<C>) -> Result<Check, NodeError> {
        self.folder.hold(ctx).await?;
        let group = match self.together {
            Some(siblings) => Some(siblings.join(ctx).await?),
            None => None,
        };
        Activity::Check { command }.emit(ctx).await;
        let check = match group.as_ref().and_then(Group::stopped) {
            Some(why) => Stop::Group(why).ended(command, &[]),
            None => self.ended(command, group.as_ref(), ctx).await?,
        };
        let output = (!check.passed()).then_some(check.output.as_str());
        Activity::Checked { command, code: check.code, output }.emit(ctx).await;
        Ok(check)
    }

    /// Waits until the command must be stopped.
    async fn stop(&self, group: Option<&Group>) -> Stop {
        let too_long = tokio::time::sleep(self.limit);
        let Some(group) = group else {
            too_long.await;
            return Stop::TooLong(self.limit);
        };
        tokio::select! {
            biased;
            () = group.cancelled() => Stop::Group(group.stopped().unwrap_or_default()),
            () = too_long => Stop::TooLong(self.limit),
        }
    }

    /// Runs the command to its end, or until it must be stopped.
    async fn ended<C>(&self, command: &str, group: Option<&Group>, ctx: &Ctx<C>) -> Result<Check, NodeError>
    where
        C: Send + Sync + 'static,
    {
        let environment = CheckCommand::environment(self.pass);
        let program = CheckCommand { line: command, directory: &self.folder.directory, environment, kept: [0, KEPT] };
        let redactor = program.redactor();
        match program.run(self.stop(group), || ctx.heartbeat()).await {
            Ok(RunEnd { how: Ok(status), out, err, .. }) => {
                let said = redactor.redact(&[out.text(), err.text()].concat());
                Ok(Check { command: command.to_owned(), code: status.code(), output: said, stopped: false })
            }
            Ok(RunEnd { how: Err(stop), children, .. }) => {
                let children: Vec<String> = children.iter().map(|child| redactor.redact(child)).collect();
                Ok(stop.ended(command, &children))
            }
            Err(error) => Err(NodeError::permanent(format!("cannot run `{command}`: {error}"))),
        }
    }
}
