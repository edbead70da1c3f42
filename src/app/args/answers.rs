//! Arguments of the commands by which people take part in a thread: `resume`, `approve`, `reject`, `revise`, `edit`,
//! `dismiss`, and `signal`.

use clap::Args;

use super::runs::InteractiveArg;
use crate::graph::{Reply, ReplyKind};

/// The question that an answer is for, and the person who gives it.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct AnswerTo {
    /// The question's id, where several are open
    #[arg(long, value_name = "ID")]
    pub interrupt: Option<String>,

    /// Who answers; kept with the answer
    #[arg(long, value_name = "NAME")]
    pub by: Option<String>,

    /// A note; kept with the answer
    #[arg(long, value_name = "TEXT")]
    pub note: Option<String>,

    /// Store the answer and run nothing: `proceed` goes on later, or elsewhere
    #[arg(long, conflicts_with = "interactive")]
    pub record_only: bool,

    #[command(flatten)]
    pub interaction: InteractiveArg,
}

/// Answer a question with JSON, and go on
///
/// Answers a question with JSON and goes on. Without an answer, goes on as `proceed` does. A wrong answer changes nothing.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  {bin} resume first --answer true
  {bin} resume first --answer '{\"choice\": 2}' --by ada --note 'as agreed'
  {bin} resume first --answer @answer.json --interrupt 35b63513-3-0-0")]
pub(crate) struct Resume {
    /// The thread's name
    #[arg(value_name = "THREAD")]
    pub thread: String,

    /// The answer as JSON, or @FILE that holds it
    #[arg(long, value_name = "JSON|@FILE")]
    pub answer: Option<String>,

    #[command(flatten)]
    pub to: AnswerTo,
}

/// Say yes to an open question, and go on
#[derive(Args, Clone, Debug)]
#[command(after_help = "Example:\n  {bin} approve first --by ada --note 'looks right'")]
pub(crate) struct Approve {
    /// The thread's name
    #[arg(value_name = "THREAD")]
    pub thread: String,

    #[command(flatten)]
    pub to: AnswerTo,
}

/// Say no to an open question, and go on
#[derive(Args, Clone, Debug)]
#[command(after_help = "Example:\n  {bin} reject first --feedback 'too long'")]
pub(crate) struct Reject {
    /// The thread's name
    #[arg(value_name = "THREAD")]
    pub thread: String,

    /// Why not, if the question takes that; else `--note` keeps it beside the answer
    #[arg(long, value_name = "TEXT")]
    pub feedback: Option<String>,

    #[command(flatten)]
    pub to: AnswerTo,
}

/// Ask for another attempt, and go on
#[derive(Args, Clone, Debug)]
#[command(after_help = "Example:\n  {bin} revise first --feedback 'shorter, and mention the moon'")]
pub(crate) struct Revise {
    /// The thread's name
    #[arg(value_name = "THREAD")]
    pub thread: String,

    /// What is to be different
    #[arg(long, value_name = "TEXT")]
    pub feedback: String,

    #[command(flatten)]
    pub to: AnswerTo,
}

/// Answer an open question with a text that you edit, and go on
///
/// Opens the text that a question is about in $VISUAL or $EDITOR: the plan, where a plan is to be approved or a task did not
/// pass. What you save is the answer; a text that is left as it was answers nothing.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Example:\n  {bin} edit first --by ada")]
pub(crate) struct Edit {
    /// The thread's name
    #[arg(value_name = "THREAD")]
    pub thread: String,

    #[command(flatten)]
    pub to: AnswerTo,
}

/// Cancel an open question, and go on
///
/// Ends an open question without an answer, and goes on: the node that asked it can handle that, or fails.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Example:\n  {bin} dismiss first --by ada --note 'no longer needed'")]
pub(crate) struct Dismiss {
    /// The thread's name
    #[arg(value_name = "THREAD")]
    pub thread: String,

    #[command(flatten)]
    pub to: AnswerTo,
}

/// One of `approve`, `reject`, `revise`.
pub(crate) struct Decision {
    pub thread: String,
    pub reply: Reply,
    pub to: AnswerTo,
}

impl Decision {
    fn new(thread: String, kind: ReplyKind, feedback: Option<String>, to: AnswerTo) -> Self {
        let reply = Reply { kind, feedback, by: to.by.clone() };
        Self { thread, reply, to }
    }
}

impl From<Approve> for Decision {
    fn from(Approve { thread, to }: Approve) -> Self {
        Self::new(thread, ReplyKind::Approve, None, to)
    }
}

impl From<Reject> for Decision {
    fn from(Reject { thread, feedback, to }: Reject) -> Self {
        Self::new(thread, ReplyKind::Reject, feedback, to)
    }
}

impl From<Revise> for Decision {
    fn from(Revise { thread, feedback, to }: Revise) -> Self {
        Self::new(thread, ReplyKind::Revise, Some(feedback), to)
    }
}

/// Send a signal to a thread, which may be running
///
/// Stores a signal in the thread's mailbox, whatever the thread does, and runs nothing. A run under way, or a runner, receives
/// it by itself; a thread that no process runs does once it is resumed with `proceed`. A wrong signal changes nothing.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  {bin} signal first paid '{\"cents\": 500}' --by bank
  {bin} signal first paid '{\"cents\": 500}' --key 'invoice 7'
  {bin} signal first stop
  {bin} signal first --discard 19a0b3c-5f")]
pub(crate) struct Signal {
    /// The thread's name
    #[arg(value_name = "THREAD")]
    pub thread: String,

    /// The signal's name; `graphs` lists those that a graph receives
    #[arg(value_name = "NAME", required_unless_present = "discard", default_value = "", hide_default_value = true)]
    pub name: String,

    /// The value of the signal as JSON, or @FILE with it; `null` by default
    #[arg(value_name = "JSON|@FILE")]
    pub value: Option<String>,

    /// Who sends it; kept with the signal
    #[arg(long, value_name = "NAME")]
    pub by: Option<String>,

    /// A note; kept with the signal
    #[arg(long, value_name = "TEXT")]
    pub note: Option<String>,

    /// The sender's key: a second signal with this name and key is not sent, and the id of the first is printed
    #[arg(long, value_name = "KEY")]
    pub key: Option<String>,

    /// Remove this signal, which no task has received, and send nothing; `status` lists the ids
    #[arg(long, value_name = "ID", conflicts_with_all = ["name", "value", "by", "note", "key"])]
    pub discard: Option<String>,
}
