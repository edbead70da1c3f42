//! Arguments of the command `runner`.

use std::time::Duration;

use clap::Args;

use crate::app::time::span;

/// Resume every thread of the store as soon as it can be, in one process
///
/// Resumes what a crash left, what slept until a time that has come, and what was answered from another process; that with
/// `approve`, `reject`, `revise` or `resume`, each with --record-only. Threads that wait for an answer, failed, or stopped at a
/// breakpoint are left alone. It goes on until Ctrl-C: then runs end after their superstep, and can be resumed.
///
/// A hook is a command for `sh` or a web address. It gets JSON (standard input, or the body of a POST): of a question, the thread,
/// the question and the commands that answer it; of a stop, the thread, its status and its error. A command also finds
/// SUPERSTEP_THREAD, SUPERSTEP_GRAPH, SUPERSTEP_STATUS, SUPERSTEP_QUESTION (its id), SUPERSTEP_NAME, SUPERSTEP_PAYLOAD and
/// SUPERSTEP_ANSWER (the first answering command) in its environment.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  {bin} runner --until-idle
  {bin} runner --for 8h --on-question 'mail -s \"$SUPERSTEP_THREAD asks\" ada' --on-stop https://example.org/hook")]
pub(crate) struct Runner {
    /// End once no thread can be resumed now; threads that sleep stay asleep
    #[arg(long, conflicts_with = "lasting")]
    pub until_idle: bool,

    /// End after so long, as 90s, 15m, 8h, 30d
    #[arg(id = "lasting", long = "for", value_name = "TIME", value_parser = span)]
    pub lasting: Option<Duration>,

    /// Run at most so many threads at once
    #[arg(long, value_name = "N", default_value_t = 16)]
    pub max_threads: usize,

    /// Resume a thread that gets no further at most so often
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub max_resumes: u32,

    /// Call this for each question that a run leads to
    #[arg(long, value_name = "COMMAND|URL")]
    pub on_question: Option<String>,

    /// Call this after each run, whatever it ended with
    #[arg(long, value_name = "COMMAND|URL")]
    pub on_stop: Option<String>,

    /// End a command of these after so long
    #[arg(long, value_name = "TIME", value_parser = span, default_value = "5m")]
    pub hook_timeout: Duration,
}
