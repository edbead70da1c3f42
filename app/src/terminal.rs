//! The terminal: standard output and error, the pager, the log of runs, and Ctrl-C. The only file that prints, where a closed
//! pipe is no error, and the only one that names `tracing_subscriber`. Must not know a run or a graph.

use std::io::{self, ErrorKind, IsTerminal, Write, stdin, stdout};
use std::process::{Command, Stdio, exit};
use std::sync::{Mutex, PoisonError};

use clap::ValueEnum;
use serde_json::Value;
use superstep::graph::CancellationToken;
use superstep_base::moved;
use tracing::Level as Loudness;
use tracing_subscriber::fmt::format::FmtSpan;
#[cfg(feature = "otel")]
use {
    superstep_server::TraceExporter,
    tracing_subscriber::filter::LevelFilter,
    tracing_subscriber::fmt,
    tracing_subscriber::layer::{Layer, SubscriberExt},
};

use super::failure::Failure;
use super::shapes::with_present_paths;
use super::text::{clean, clean_lines, safe_json};

/// Prints text. A closed pipe is ignored: the run continues.
pub(crate) fn print(text: &str) {
    _ = try_print(text);
}

/// Prints text through `$PAGER`, or `less`, if it is longer than the terminal.
pub(crate) fn page(text: &str) {
    let is_read = stdout().is_terminal() && stdin().is_terminal();
    if !is_read || text.lines().count() < height() || !run_pager(text) {
        print(text);
    }
}

/// Runs the pager; returns false if there is none.
fn run_pager(text: &str) -> bool {
    let pager = std::env::var("PAGER").unwrap_or_else(|_| "less".into());
    if ["", "cat"].contains(&pager.trim()) {
        return false;
    }
    let mut command = Command::new("sh");
    command.args(["-c", &pager]).stdin(Stdio::piped());
    if std::env::var_os("LESS").is_none() {
        command.env("LESS", "FRX"); // as git does: what fits is printed, colours stay, the text is there afterwards
    }
    let Ok(mut child) = command.spawn() else { return false };
    if let Some(mut stdin) = child.stdin.take() {
        _ = stdin.write_all(moved::text(text).as_bytes()); // it may be left before its end
    }
    child.wait().is_ok_and(|status| status.code() != Some(NO_COMMAND))
}

/// The exit code of a shell for an unknown program.
const NO_COMMAND: i32 = 127;

/// Prints text; returns false if the reader is gone.
pub(crate) fn try_print(text: &str) -> bool {
    let mut out = stdout().lock();
    let written = out.write_all(moved::text(text).as_bytes()).and_then(|()| out.flush());
    if let Err(error) = &written
        && error.kind() != ErrorKind::BrokenPipe
    {
        WRITE_ERROR.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(|| error.to_string());
    }
    written.is_ok()
}

/// The reason why output was lost although somebody waits for it: a full disk.
static WRITE_ERROR: Mutex<Option<String>> = Mutex::new(None);

/// Takes the error of the last failed write to standard output.
pub(crate) fn take_write_error() -> Option<Failure> {
    let reason = WRITE_ERROR.lock().unwrap_or_else(PoisonError::into_inner).take()?;
    let failure = Failure::new(format!("cannot write to standard output: {reason}"));
    Some(failure.help("the command has run, only its output is lost; check where it is redirected to"))
}

pub(crate) fn print_json(json: &Value) {
    let text = serde_json::to_string_pretty(&*with_present_paths(json)).unwrap_or_default();
    print(&format!("{}\n", safe_json(&text)));
}

/// Prints help to standard error.
pub(crate) fn show_help(text: &str) {
    _ = io::stderr().write_all(text.as_bytes());
}

pub(crate) fn note(line: &str) {
    _ = io::stderr().write_all(moved::text(line).as_bytes());
}

pub(crate) fn print_failure(failure: &Failure, json: bool) {
    let text = if json { json_line(failure) } else { text(failure) };
    _ = io::stderr().write_all(moved::text(&text).as_bytes());
}

fn text(failure: &Failure) -> String {
    let lines = |text: &str| clean_lines(text, 7);
    let mut text = format!("error: {}\n", lines(&failure.error));
    failure.causes.iter().for_each(|cause| text.push_str(&format!("cause: {}\n", lines(cause))));
    failure.help.iter().for_each(|help| text.push_str(&format!(" help: {}\n", lines(help))));
    text
}

fn json_line(failure: &Failure) -> String {
    let Failure { error, causes, help, code, .. } = failure;
    let mut json = serde_json::json!({
        "error": error, "kind": failure.kind(), "causes": causes, "help": help, "code": code,
    });
    if let Some(owner) = failure.details.as_ref().and_then(|details| details.owner.clone()) {
        json["owner"] = owner;
    }
    format!("{}\n", safe_json(&json.to_string()))
}

/// Returns the number of columns of the terminal.
#[cfg(unix)]
pub(crate) fn width() -> usize {
    let size = rustix::termios::tcgetwinsize(stdout());
    size.ok().map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0).unwrap_or(80)
}

/// Returns the number of lines of the terminal.
#[cfg(unix)]
pub(crate) fn height() -> usize {
    let size = rustix::termios::tcgetwinsize(stdout());
    size.ok().map(|size| usize::from(size.ws_row)).filter(|rows| *rows > 0).unwrap_or(usize::MAX)
}

/// Returns the number of columns of the terminal.
#[cfg(not(unix))]
pub(crate) fn width() -> usize {
    80
}

/// Returns the number of lines of the terminal.
#[cfg(not(unix))]
pub(crate) fn height() -> usize {
    usize::MAX
}

/// Least severe level that is logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Level {
    /// What ended a run
    Error,
    /// What went wrong, attempts that are made again too
    Warn,
    /// When runs, supersteps and tasks begin and end, and what is asked
    Info,
}

impl Level {
    fn loudness(self) -> Loudness {
        match self {
            Self::Error => Loudness::ERROR,
            Self::Warn => Loudness::WARN,
            Self::Info => Loudness::INFO,
        }
    }
}

/// Form of a log.
#[cfg(feature = "server")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// Lines for people
    Text,
    /// An object in each line
    Json,
}

/// Starts to log as JSON: each line is an event with the spans around it, unless the program has a `tracing` subscriber of its own.
#[cfg(feature = "server")]
pub(crate) fn start_json_log(level: Level) {
    let subscriber = tracing_subscriber::fmt().with_max_level(level.loudness()).json().flatten_event(true);
    let subscriber = subscriber.with_current_span(false).with_writer(|| JsonLines).finish();
    _ = tracing::subscriber::set_global_default(subscriber);
}

/// Starts to collect spans, and to log if there is a level, unless the program has a `tracing` subscriber of its own.
#[cfg(feature = "otel")]
pub(crate) fn start_traces(traces: &TraceExporter, log: Option<(Level, LogFormat)>) {
    let log = log.map(|(level, format)| match format {
        LogFormat::Json => {
            let lines = fmt::layer().json().flatten_event(true).with_current_span(false).with_writer(|| JsonLines);
            lines.with_filter(LevelFilter::from_level(level.loudness())).boxed()
        }
        LogFormat::Text => {
            let lines = fmt::layer().with_target(false).with_ansi(false).with_writer(|| Lines);
            let lines = lines.with_span_events(FmtSpan::NEW | FmtSpan::CLOSE);
            lines.with_filter(LevelFilter::from_level(level.loudness())).boxed()
        }
    });
    let subscriber = tracing_subscriber::registry().with(traces.layer()).with(log);
    _ = tracing::subscriber::set_global_default(subscriber);
}

/// Writer of JSON that a terminal can show.
#[cfg(feature = "server")]
struct JsonLines;

#[cfg(feature = "server")]
impl Write for JsonLines {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        note(&safe_json(&String::from_utf8_lossy(line)));
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Starts logging, unless the program has a `tracing` subscriber of its own.
pub(crate) fn start_log(level: Level) {
    let subscriber = tracing_subscriber::fmt().with_max_level(level.loudness()).with_target(false).with_ansi(false);
    let subscriber = subscriber.with_span_events(FmtSpan::NEW | FmtSpan::CLOSE).with_writer(|| Lines).finish();
    _ = tracing::subscriber::set_global_default(subscriber);
}

/// Writer that escapes control characters: error messages of nodes may contain any.
struct Lines;

impl Write for Lines {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        note(&format!("{}\n", clean(String::from_utf8_lossy(line).trim_end())));
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Exit code of a process that was interrupted twice.
const INTERRUPTED: i32 = 130;

/// A token that Ctrl-C cancels while this guard lives.
pub(crate) struct CancelOnSignal {
    pub token: CancellationToken,
    listening: tokio::task::JoinHandle<()>,
}

impl Drop for CancelOnSignal {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

/// Installs the signal handlers: from the return on, no signal ends the process at once. A task of its own waits for
/// signals, so that Ctrl-C also ends a process whose node blocks its thread.
pub(crate) fn cancel_on_signal() -> CancelOnSignal {
    let token = CancellationToken::new();
    let (cancelled, mut signals) = (token.clone(), Signals::new());
    let listening = tokio::spawn(async move {
        signals.next().await;
        cancelled.cancel();
        signals.next().await;
        exit(INTERRUPTED); // what is stored is stored; only the task in flight is lost
    });
    CancelOnSignal { token, listening }
}

/// Termination signals; empty if no handler can be installed.
#[cfg(unix)]
struct Signals(Vec<tokio::signal::unix::Signal>);

#[cfg(unix)]
impl Signals {
    fn new() -> Self {
        use tokio::signal::unix::{SignalKind, signal};
        let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
        Self(kinds.into_iter().filter_map(|kind| signal(kind).ok()).collect())
    }

    async fn next(&mut self) {
        let received = |cx: &mut std::task::Context<'_>| {
            let ready =
                self.0.iter_mut().any(|signal| matches!(signal.poll_recv(cx), std::task::Poll::Ready(Some(()))));
            if ready { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
        };
        std::future::poll_fn(received).await;
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn new() -> Self {
        Self
    }

    async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending().await
        }
    }
}
