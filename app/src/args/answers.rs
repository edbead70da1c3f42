//! Arguments of the commands by which people take part in a thread: `resume`, `approve`, `reject`, `revise`, `edit`,
//! `dismiss`, and `signal`.

use clap::Args;
use superstep::graph::Reply;
use superstep::graph::interrupt::ReplyKind;

use super::runs::RunModeArgs;

/// The question that an answer is for, and the person who gives it.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct AnswerTo {
    /// The question to answer, if several are pending; `status` lists the ids
    #[arg(long, value_name = "ID")]
    pub interrupt: Option<String>,

    /// The person who answers; stored with the answer
    #[arg(long, value_name = "NAME")]
    pub by: Option<String>,

    /// A note; stored with the answer
    #[arg(long, value_name = "TEXT")]
    pub note: Option<String>,

    /// Store the answer without resuming the thread; `proceed` or a runner resumes it later
    #[arg(long, conflicts_with = "interactive")]
    pub record_only: bool,

    #[command(flatten)]
    pub mode: RunModeArgs,
}

/// Answer a question with JSON and resume the thread
///
/// Answers a question with JSON and resumes the thread. Without an answer, works like `proceed`. An invalid answer changes
/// nothing.
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

    /// The answer as JSON, or @FILE to read it from a file
    #[arg(long, value_name = "JSON|@FILE")]
    pub answer: Option<String>,

    #[command(flatten)]
    pub to: AnswerTo,
}

/// Answer yes to a pending question and resume the thread
#[derive(Args, Clone, Debug)]
#[command(after_help = "Example:\n  {bin} approve first --by ada --note 'looks right'")]
pub(crate) struct Approve {
    /// The thread's name
    #[arg(value_name = "THREAD")]
    pub thread: String,

    #[command(flatten)]
    pub to: AnswerTo,
}

/// Answer no to a pending question and resume the thread
#[derive(Args, Clone, Debug)]
#[command(after_help = "Example:\n  {bin} reject first --feedback 'too long'")]
pub(crate) struct Reject {
    /// The thread's name
    #[arg(value_name = "THREAD")]
    pub thread: String,

    /// The reason, if the question takes one; otherwise use `--note`
    #[arg(long, value_name = "TEXT")]
    pub feedback: Option<String>,

    #[command(flatten)]
    pub to: AnswerTo,
}

/// Request a revision and resume the thread
#[derive(Args, Clone, Debug)]
#[command(after_help = "Example:\n  {bin} revise first --feedback 'shorter, and mention the moon'")]
pub(crate) struct Revise {
    /// The thread's name
    #[arg(value_name = "THREAD")]
    pub thread: String,

    /// The requested changes
    #[arg(long, value_name = "TEXT")]
    pub feedback: String,

    #[command(flatten)]
    pub to: AnswerTo,
}

/// Answer a pending question by editing its text in your editor
///
/// Opens the text of a question in $VISUAL or $EDITOR, for example the plan that waits for approval. The saved text is the
/// answer, and the thread resumes; an unchanged text answers nothing.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Example:\n  {bin} edit first --by ada")]
pub(crate) struct EditArgs {
    /// The thread's name
    #[arg(value_name = "THREAD")]
    pub thread: String,

    #[command(flatten)]
    pub to: AnswerTo,
}

/// Cancel a pending question and resume the thread
///
/// Cancels a pending question without an answer and resumes the thread. The node that asked it handles the cancellation, or
/// fails.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Example:\n  {bin} dismiss first --by ada --note 'no longer needed'")]
pub(crate) struct DismissArgs {
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

/// Send a signal to a thread, also while it runs
///
/// Stores a signal in the thread's mailbox, in any status of the thread, and runs nothing. A running thread receives it
/// directly; otherwise a runner or `proceed` resumes the thread, which then receives it. An invalid signal changes nothing.
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

    /// The signal's name; `graphs` lists the signals of each graph
    #[arg(value_name = "NAME", required_unless_present = "discard", default_value = "", hide_default_value = true)]
    pub name: String,

    /// The value as JSON, or @FILE to read it from a file [default: null]
    #[arg(value_name = "JSON|@FILE")]
    pub value: Option<String>,

    /// The sender; stored with the signal
    #[arg(long, value_name = "NAME")]
    pub by: Option<String>,

    /// A note; stored with the signal
    #[arg(long, value_name = "TEXT")]
    pub note: Option<String>,

    /// A deduplication key: a second signal with the same name and key is not sent, and the id of the first is printed
    #[arg(long, value_name = "KEY")]
    pub key: Option<String>,

    /// Remove this signal from the mailbox instead of sending one; `status` lists the ids
    #[arg(long, value_name = "ID", conflicts_with_all = ["name", "value", "by", "note", "key"])]
    pub discard: Option<String>,
}
