//! Commit messages, and the trailers that identify a commit. Pure.

use serde::{Deserialize, Serialize};

const THREAD: &str = "Superstep-Thread";
const TASK: &str = "Superstep-Task";
const PHASE: &str = "Superstep-Phase";
const ATTEMPT: &str = "Superstep-Attempt";

/// Identification of a commit: its trailers, by which it is found after a crash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitKey {
    /// Thread of the run.
    pub thread: String,
    /// Id of the task in the plan.
    pub task: String,
    /// Phase, from 1; `None` if the work has no phases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<u32>,
    /// Approved attempt, from 1: of the phase, if there is one.
    pub attempt: u32,
}

impl CommitKey {
    /// Returns the trailers; one line each, whatever the ids contain.
    fn trailers(&self) -> impl Iterator<Item = (&'static str, String)> {
        let phase = self.phase.map(|phase| (PHASE, phase.to_string()));
        let ids = [(THREAD, line(&self.thread)), (TASK, line(&self.task))];
        ids.into_iter().chain(phase).chain([(ATTEMPT, self.attempt.to_string())])
    }

    /// Returns a message with the trailers appended, after existing trailers.
    pub(super) fn sign(&self, message: &str) -> String {
        let message = message.trim_end();
        let trailers: String = self.trailers().map(|(name, value)| format!("{name}: {value}\n")).collect();
        format!("{message}{}{trailers}", if ends_with_trailers(message) { "\n" } else { "\n\n" })
    }

    /// Reads the trailers of a commit, wherever hooks moved them; the last of each counts.
    pub(super) fn read(message: &str) -> Option<Self> {
        let text = |wanted: &str| last(message.lines(), wanted).and_then(unline);
        // A phase above the thread belongs to other trailers.
        let below = message.rfind(THREAD).map_or("", |at| &message[at..]);
        let phase = last(below.lines(), PHASE).and_then(|phase| phase.parse().ok());
        Some(Self {
            thread: text(THREAD)?,
            task: text(TASK)?,
            phase,
            attempt: last(message.lines(), ATTEMPT)?.parse().ok()?,
        })
    }
}

/// Returns the value of the last trailer with this name.
fn last<'a>(lines: std::str::Lines<'a>, wanted: &str) -> Option<&'a str> {
    lines.rev().find_map(|line| line.strip_prefix(wanted)?.strip_prefix(':').map(str::trim))
}

/// Returns whether the last paragraph, below a subject, consists of `Name: value` lines.
fn ends_with_trailers(message: &str) -> bool {
    let is_name =
        |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') && !name.is_empty();
    let is_trailer = |line: &str| line.split_once(": ").is_some_and(|(name, _)| is_name(name));
    message.rsplit_once("\n\n").is_some_and(|(_, last)| last.lines().all(is_trailer))
}

/// Encodes an id as one line: characters that a line cannot hold become `%` and two digits.
fn line(id: &str) -> String {
    let last = id.chars().count().saturating_sub(1);
    let is_kept = |nth: usize, char: char| {
        let is_blank = char.is_whitespace() && (char != ' ' || nth == 0 || nth == last);
        !is_blank && !char.is_control() && char != '%'
    };
    let one = |(nth, char): (usize, char)| match is_kept(nth, char) {
        true => char.to_string(),
        false => char.to_string().bytes().map(|byte| format!("%{byte:02X}")).collect(),
    };
    match id.is_empty() {
        true => "%".to_owned(),
        false => id.chars().enumerate().map(one).collect(),
    }
}

fn unline(text: &str) -> Option<String> {
    super::names::unescape(text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_key_comes_back_from_any_message(
            thread in "\\PC{0,12}|[ \\n\\t%a:]{0,5}", task in ".{0,6}", phase: Option<u32>, attempt: u32,
            message in "[a-z:# -]{1,20}(\n\n[A-Za-z: \n-]{0,40})?(\n\nReviewed-by: A <a@b>)?",
        ) {
            let key = CommitKey { thread, task, phase, attempt };
            prop_assert_eq!(CommitKey::read(&key.sign(&message)), Some(key.clone()));
            // After signing again, the newest counts.
            let phase = phase.map_or(Some(7), |_| None);
            let newer = CommitKey { attempt: attempt.wrapping_add(1), phase, ..key.clone() };
            prop_assert_eq!(CommitKey::read(&newer.sign(&key.sign(&message))), Some(newer));
        }
    }
}
