//! What a commit says: the message, and the trailers by which it is found again. Pure.

use serde::{Deserialize, Serialize};

const THREAD: &str = "Superstep-Thread";
const TASK: &str = "Superstep-Task";
const PHASE: &str = "Superstep-Phase";
const ATTEMPT: &str = "Superstep-Attempt";

/// What a commit was made for: its trailers, by which it is found again after a crash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitKey {
    /// The thread.
    pub thread: String,
    /// The task's id in the plan.
    pub task: String,
    /// The phase it is part of, from 1; none if the work has no phases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<u32>,
    /// The attempt that was approved, from 1: of the phase, if there is one.
    pub attempt: u32,
}

impl CommitKey {
    /// The trailers; one line each, whatever the ids hold.
    fn trailers(&self) -> impl Iterator<Item = (&'static str, String)> {
        let phase = self.phase.map(|phase| (PHASE, phase.to_string()));
        let ids = [(THREAD, line(&self.thread)), (TASK, line(&self.task))];
        ids.into_iter().chain(phase).chain([(ATTEMPT, self.attempt.to_string())])
    }

    /// Returns a message with the trailers at its end, after trailers that it has already.
    pub(super) fn sign(&self, message: &str) -> String {
        let message = message.trim_end();
        let trailers: String = self.trailers().map(|(name, value)| format!("{name}: {value}\n")).collect();
        format!("{message}{}{trailers}", if ends_with_trailers(message) { "\n" } else { "\n\n" })
    }

    /// Reads the trailers of a commit, wherever in the message hooks left them; the last of each counts.
    pub(super) fn read(message: &str) -> Option<Self> {
        let text = |wanted: &str| last(message.lines(), wanted).and_then(unline);
        // One above the thread belongs to another commit's trailers, or to none.
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

/// The value of the last trailer of a name.
fn last<'a>(lines: std::str::Lines<'a>, wanted: &str) -> Option<&'a str> {
    lines.rev().find_map(|line| line.strip_prefix(wanted)?.strip_prefix(':').map(str::trim))
}

/// Whether the last paragraph, below a subject, is all `Name: value`.
fn ends_with_trailers(message: &str) -> bool {
    let is_name =
        |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') && !name.is_empty();
    let is_trailer = |line: &str| line.split_once(": ").is_some_and(|(name, _)| is_name(name));
    message.rsplit_once("\n\n").is_some_and(|(_, last)| last.lines().all(is_trailer))
}

/// Writes an id on one line: what a line cannot hold at that place is `%` and two digits.
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
            // Signed again, the newest counts.
            let phase = phase.map_or(Some(7), |_| None);
            let newer = CommitKey { attempt: attempt.wrapping_add(1), phase, ..key.clone() };
            prop_assert_eq!(CommitKey::read(&newer.sign(&key.sign(&message))), Some(newer));
        }
    }
}
