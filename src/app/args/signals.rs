//! Arguments of `signal`.

use clap::Args;

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
