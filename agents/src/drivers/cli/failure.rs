//! Classifies failures by an agent's error text. Pure.

use std::time::Duration;

use crate::drivers::error::tells_refusal;
use crate::drivers::{DriverError, ErrorClass};

/// Phrases and the class they indicate; the first match counts.
const WORDS: [(ErrorClass, &[&str]); 5] = [
    (
        ErrorClass::SessionLost,
        &[
            "no conversation found",
            "no rollout found",
            "session not found",
            "thread not found",
            "no session found",
            "conversation not found",
        ],
    ),
    (
        ErrorClass::Auth,
        &[
            "not logged in",
            "/login",
            "codex login",
            "unauthorized",
            "authentication",
            "invalid api key",
            "incorrect api key",
            "401",
            "403 forbidden",
            "credit balance",
            "billing",
        ],
    ),
    (
        ErrorClass::RateLimited,
        &["rate limit", "rate_limit", "usage limit", "too many requests", "429", "hit your limit"],
    ),
    (
        ErrorClass::Fatal,
        &[
            "invalid_request",
            "invalid_json_schema",
            "model_not_found",
            "does not exist",
            "is not supported",
            "unexpected argument",
            "unknown option",
            "400 bad request",
            "404 not found",
        ],
    ),
    (ErrorClass::Content, &["structured_output", "structured output"]),
];

/// Classifies an error text; unknown ones are transient.
pub(super) fn read(words: &str) -> DriverError {
    let lower = words.to_lowercase();
    let is_said = |said: &str| lower.contains(said);
    let found = WORDS.iter().find(|(_, said)| said.iter().any(|word| is_said(word)));
    let class = found.map_or(ErrorClass::Transient, |(class, _)| *class);
    let refusal = tells_refusal(words) && class != ErrorClass::RateLimited;
    let class = if refusal { ErrorClass::Content } else { class };
    let error = DriverError { refusal, ..DriverError::new(class, words) };
    match class {
        ErrorClass::RateLimited => wait(&lower).into_iter().fold(error, DriverError::retry_after),
        ErrorClass::Auth => error.help("log in with the agent's own program, or set its key in the environment"),
        _ => error,
    }
}

/// Parses `try again in 12s`, `retry after 3 minutes`, `in 1.5 seconds`.
fn wait(lower: &str) -> Option<Duration> {
    let words = ["try again in ", "retry after ", "retry in ", "resets in "];
    let rest = words.iter().find_map(|word| lower.split_once(word)).map(|(_, rest)| rest)?;
    let digits = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(rest.len());
    let number: f64 = rest[..digits].trim_end_matches('.').parse().ok()?;
    let unit = rest[digits..].trim_start();
    let seconds = match unit {
        unit if unit.starts_with("ms") || unit.starts_with("milli") => 0.001,
        unit if unit.starts_with('h') => 3600.0,
        unit if unit.starts_with('m') => 60.0,
        unit if unit.starts_with('d') => 86_400.0,
        _ => 1.0,
    };
    Duration::try_from_secs_f64(number * seconds).ok()
}

/// Returns the most informative line of an agent's standard error.
pub(super) fn gist(stderr: &str) -> &str {
    let lines = || stderr.lines().map(str::trim).filter(|line| !line.is_empty());
    let error = lines().find(|line| line.to_lowercase().starts_with("error"));
    let is_trace = |line: &&str| {
        line.starts_with("Stack backtrace") || line.split(':').next().is_some_and(|n| n.parse::<u32>().is_ok())
    };
    error.or_else(|| lines().rfind(|line| !is_trace(line))).unwrap_or_default()
}
