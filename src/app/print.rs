//! Standard output and error: the only place that prints. A reader that is gone stops nothing.

use std::io::Write;

use serde_json::Value;

use super::failure::Failure;
use super::text::{clean, safe_json};

/// Prints text. A pipe that was closed is no failure: the run goes on.
pub(crate) fn say(text: &str) {
    _ = try_say(text);
}

/// Prints text and returns whether somebody still reads it.
pub(crate) fn try_say(text: &str) -> bool {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).is_ok()
}

/// Prints JSON for programs.
pub(crate) fn say_json(json: &Value) {
    let text = serde_json::to_string_pretty(json).unwrap_or_default();
    say(&format!("{}\n", safe_json(&text)));
}

/// Prints help to a person who gave too few words.
pub(crate) fn show_help(text: &str) {
    _ = std::io::stderr().write_all(text.as_bytes());
}

/// Prints a line of the log.
pub(crate) fn note(line: &str) {
    _ = std::io::stderr().write_all(line.as_bytes());
}

/// Prints what went wrong.
pub(crate) fn complain(failure: &Failure, json: bool) {
    let text = if json { told_json(failure) } else { told(failure) };
    _ = std::io::stderr().write_all(text.as_bytes());
}

fn told(failure: &Failure) -> String {
    let lines = |text: &str| text.lines().map(|line| clean(line).into_owned()).collect::<Vec<_>>().join("\n       ");
    let mut text = format!("error: {}\n", lines(&failure.error));
    failure.causes.iter().for_each(|cause| text.push_str(&format!("cause: {}\n", lines(cause))));
    failure.help.iter().for_each(|help| text.push_str(&format!(" help: {}\n", lines(help))));
    text
}

fn told_json(failure: &Failure) -> String {
    let Failure { error, causes, help, .. } = failure;
    let json = serde_json::json!({ "error": error, "causes": causes, "help": help });
    format!("{}\n", safe_json(&json.to_string()))
}

/// How many characters a line of the terminal has.
#[cfg(unix)]
pub(crate) fn width() -> usize {
    let size = rustix::termios::tcgetwinsize(std::io::stdout());
    size.ok().map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0).unwrap_or(80)
}

/// How many characters a line of the terminal has.
#[cfg(not(unix))]
pub(crate) fn width() -> usize {
    80
}
