//! Classifies failures by an agent's error text. Pure.

use std::time::Duration;

use crate::drivers::error::tells_refusal;
use crate::drivers::{DriverError, DriverErrorClass};

/// Phrases and the class they indicate; the first match counts.
const WORDS: [(DriverErrorClass, &[&str]); 6] = [
    (
        DriverErrorClass::SessionLost,
        &[
            "no conversation found",
            "no rollout found",
            "session not found",
            "thread not found",
            "no session found",
            "conversation not found",
        ],
    ),
    // Settings that no wait mends.
    (
        DriverErrorClass::Fatal,
        &[
            "environment variable",
            "env var",
            "model provider `",
            "unknown model",
            "invalid model",
            "model not found",
            "no such model",
            "unsupported model",
            "issue with the selected model",
            "may not have access to it",
            "error loading config",
            "failed to load config",
            "failed to parse config",
            "invalid configuration",
            "invalid settings",
        ],
    ),
    (
        DriverErrorClass::Auth,
        &[
            "not logged in",
            "not authenticated",
            "login required",
            "please log in",
            "please login",
            "please sign in",
            "sign in again",
            "log in again",
            "/login",
            "codex login",
            "no api key",
            "missing api key",
            "api key not found",
            "api key is required",
            "api key is missing",
            "missing bearer",
            "invalid x-api-key",
            "invalid bearer",
            "token has expired",
            "token expired",
            "token could not be refreshed",
            "refresh token",
            "oauth",
            "could not load credentials",
            "unable to locate credentials",
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
        DriverErrorClass::RateLimited,
        &["rate limit", "rate_limit", "usage limit", "too many requests", "429", "hit your limit"],
    ),
    (
        DriverErrorClass::Fatal,
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
    (DriverErrorClass::Content, &["structured_output", "structured output"]),
];

/// Classifies an error text; unknown ones are transient.
pub(super) fn read(words: &str) -> DriverError {
    // The hint of a Rust program that panicked names a variable too.
    let lines = words.lines().filter(|line| !line.contains("RUST_BACKTRACE"));
    let lower = lines.collect::<Vec<_>>().join("\n").to_lowercase();
    let is_said = |said: &str| lower.contains(said);
    let found = WORDS.iter().find(|(_, said)| said.iter().any(|word| is_said(word)));
    let class = found.map_or(DriverErrorClass::Transient, |(class, _)| *class);
    let refusal = tells_refusal(words) && class != DriverErrorClass::RateLimited;
    let class = if refusal { DriverErrorClass::Content } else { class };
    let error = DriverError { refusal, ..DriverError::new(class, words) };
    match class {
        DriverErrorClass::RateLimited => wait(&lower).into_iter().fold(error, DriverError::retry_after),
        _ => of_class(error, class),
    }
}

/// Gives a failure this class, with what a person can set if it cannot work as it is configured.
pub(super) fn of_class(error: DriverError, class: DriverErrorClass) -> DriverError {
    let help = match class {
        DriverErrorClass::Auth | DriverErrorClass::Fatal if error.help.is_empty() => help(class, &error.message),
        _ => None,
    };
    let error = DriverError { class, ..error };
    help.into_iter().fold(error, DriverError::help)
}

/// Returns what to set for an agent that cannot work as it is configured.
fn help(class: DriverErrorClass, words: &str) -> Option<String> {
    match (variable(words), class) {
        (Some(name), _) => Some(format!(
            "set `{name}` where superstep runs, and let the agent see it with `pass = [\"{name}\"]` in the profile"
        )),
        (None, DriverErrorClass::Auth) => Some(
            "log in with the agent's own program, or set its key in the environment; `pass = [\"NAME\"]` in the profile lets it \
             see a variable"
                .to_owned(),
        ),
        (None, _) if words.to_lowercase().contains("model") => {
            Some("name a model that the agent knows with `model = \"NAME\"` in the profile".to_owned())
        }
        (None, _) => None,
    }
}

/// Returns the name of an environment variable in a text: `OPENAI_API_KEY`.
fn variable(words: &str) -> Option<&str> {
    let names = words.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    let is_name = |name: &&str| {
        let is_upper = name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
        is_upper && name.len() > 3 && name.contains('_') && name.starts_with(|c: char| c.is_ascii_uppercase())
    };
    names.into_iter().find(is_name)
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
pub(super) fn error_line(stderr: &str) -> &str {
    let lines = || stderr.lines().map(str::trim).filter(|line| !line.is_empty());
    let error = lines().find(|line| line.to_lowercase().starts_with("error"));
    let is_trace = |line: &&str| {
        line.starts_with("Stack backtrace") || line.split(':').next().is_some_and(|n| n.parse::<u32>().is_ok())
    };
    error.or_else(|| lines().rfind(|line| !is_trace(line))).unwrap_or_default()
}
