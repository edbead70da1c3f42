//! Tool `shell`: runs a command behind the configured prefix, in its own process group, with limits and without keys in
//! its environment.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;

use tokio::time::Duration;

use super::answer::{Refusal, ToolLimits};
use crate::process::{BoundedRun, Bounds, Environment, Program, ProgramEnd, Tail};

/// Warning for people before an agent gets a shell without a sandbox.
pub const UNCONFINED: &str = "the agent may run commands without a sandbox: they reach everything this user reaches; set \
                              `command_prefix` to run them in one";

/// The signal `SIGXCPU`.
const OUT_OF_CPU_TIME: i32 = 24;

/// Time for reading output after the command has ended and its group was killed.
const AFTER: Duration = Duration::from_secs(1);

/// Runs a command line and returns its exit code and output.
pub(super) async fn run(
    prefix: &[String],
    line: &str,
    directory: &Path,
    limits: &ToolLimits,
) -> Result<String, Refusal> {
    if line.contains('\0') {
        return Err(Refusal::new("a command holds no NUL"));
    }
    let bounds = Bounds { time: limits.command, output: limits.output as u64, linger: AFTER };
    let ran = command(prefix, line, directory, limits).run_within(&bounds).await;
    describe(&ran.map_err(|error| Refusal::new(format!("cannot be run: {error}")))?, limits)
}

/// Returns the program `prefix… sh -c LINE`, started by a shell that first limits its CPU time.
fn command(prefix: &[String], line: &str, directory: &Path, limits: &ToolLimits) -> Program {
    let cpu = limits.cpu.as_secs().max(1);
    // A second less than the limit that kills without a word.
    let limited = format!("ulimit -t {} && ulimit -S -t {cpu} && exec \"$@\"", cpu + 1);
    let program = Program::new("/bin/sh").args(["-c", &limited, "sh"]).args(prefix).args(["sh", "-c", line]);
    program.directory(directory).environment(Environment::from_process()).keep(limits.answer / 3)
}

fn describe(ran: &BoundedRun, limits: &ToolLimits) -> Result<String, Refusal> {
    let written = format!("{}{}", text("", &ran.out), text("standard error:\n", &ran.err));
    match ran.how {
        ProgramEnd::Exited(status) if is_out_of_cpu_time(status) => {
            Err(Refusal(format!("killed: it used more than {:?} of CPU time\n{written}", limits.cpu)))
        }
        ProgramEnd::Exited(status) => match status.code() {
            Some(0) => Ok(format!("exit code 0\n{written}")),
            Some(code) => Err(Refusal(format!("exit code {code}\n{written}"))),
            None => Err(Refusal(format!("{status}\n{written}"))),
        },
        ProgramEnd::TooMuch => Err(Refusal(format!("killed: it wrote more than {} bytes\n{written}", limits.output))),
        ProgramEnd::TooLong => Err(Refusal(format!("killed: it took longer than {:?}\n{written}", limits.command))),
    }
}

/// Returns whether the shell, or its last command, was killed for its CPU time.
fn is_out_of_cpu_time(status: ExitStatus) -> bool {
    status.signal() == Some(OUT_OF_CPU_TIME) || status.code() == Some(128 + OUT_OF_CPU_TIME)
}

fn text(title: &str, output: &Tail) -> String {
    let ((all, kept), text) = (output.lengths(), output.text());
    match all - kept {
        _ if all == 0 => String::new(),
        0 => format!("{title}{text}"),
        lost => format!("{title}[the first {lost} bytes are left out]\n{text}"),
    }
}
