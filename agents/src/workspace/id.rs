//! Ids of trees and commits, and the keys by which a run finds its commits and its salvaged work again: as text that
//! can be stored, in commit messages and in references. Pure.
//!
//! References must not contain spaces, `:`, `..` and more; ids may. Every byte other than ASCII letters and digits,
//! `-`, `_`, and a dot between two of them is written as `%` and two digits, so that different ids have different
//! names.

use std::fmt;

use git2::Oid;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use superstep_base::text::short_id;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(transparent)]
        #[schemars(inline)]
        pub struct $name(pub(super) String);

        impl $name {
            /// Returns the id as hexadecimal digits.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<Oid> for $name {
            fn from(oid: Oid) -> Self {
                Self(oid.to_string())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

id! {
    /// Id of a tree: all files at one moment.
    TreeId
}

id! {
    /// Id of a commit.
    CommitId
}

impl CommitId {
    /// Returns the first nine digits, for people.
    pub fn short(&self) -> &str {
        short_id(&self.0)
    }
}

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
        let text = |wanted: &str| last(message.lines(), wanted).and_then(unescape);
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
        false => char.to_string().bytes().map(hex).collect(),
    };
    match id.is_empty() {
        true => "%".to_owned(),
        false => id.chars().enumerate().map(one).collect(),
    }
}

/// Key of salvaged work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SalvageKey {
    /// Thread of the run.
    pub thread: String,
    /// Id of the task in the plan.
    pub task: String,
    /// Attempt, from 1: of the phase, if there is one.
    pub attempt: u32,
    /// Phase; `None` if the work has no phases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<SalvagePhase>,
}

/// Position of salvaged work in a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SalvagePhase {
    /// Phase, from 1.
    pub phase: u32,
    /// Piece of work on the task within the attempt, from 1: a task that conflicts with others is worked on twice.
    pub nth: u32,
}

/// Folder of all our references.
pub(super) const PRIVATE: &str = "refs/superstep/";

/// Returns the name of a run's branch: `superstep/THREAD`, with characters that a branch name cannot contain escaped.
///
/// ```
/// # use superstep_agents as superstep;
/// # use superstep::workspace::branch_name;
/// assert_eq!(branch_name("ISSUE-7"), "superstep/ISSUE-7");
/// assert_eq!(branch_name("fix: a/b"), "superstep/fix%3A%20a%2Fb");
/// ```
pub fn branch_name(thread: &str) -> String {
    format!("superstep/{}", escape_id(thread))
}

/// Returns the name of a private reference of a thread: `refs/superstep/THREAD/NAME`. Each part of the name is escaped
/// as in [`branch_name`].
///
/// ```
/// # use superstep_agents as superstep;
/// # use superstep::workspace::reference_name;
/// assert_eq!(reference_name("ISSUE-7", &["integrated", "phase-2"]), "refs/superstep/ISSUE-7/integrated/phase-2");
/// ```
pub fn reference_name(thread: &str, name: &[&str]) -> String {
    let parts: String = name.iter().map(|part| format!("/{}", escape_id(part))).collect();
    format!("{PRIVATE}{}{parts}", escape_id(thread))
}

/// Returns the folder of a thread's references.
pub(super) fn private_folder(thread: &str) -> String {
    format!("{PRIVATE}{}/", escape_id(thread))
}

pub(super) fn salvage_name(key: &SalvageKey) -> String {
    let SalvageKey { thread, task, attempt, phase } = key;
    let folder = private_folder(thread);
    match phase {
        None => format!("{folder}task-{}/attempt-{attempt}", escape_id(task)),
        Some(SalvagePhase { phase, nth }) => {
            let again = if *nth > 1 { format!("-{nth}") } else { String::new() };
            format!("{folder}phase-{phase}/attempt-{attempt}/task-{}{again}", escape_id(task).replace('-', "%2D"))
        }
    }
}

/// Parses a reference of salvaged work.
pub(super) fn read_salvage_name(name: &str) -> Option<SalvageKey> {
    // Earlier work of the same attempt has the suffix `-earlier-N`.
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let name = name.rsplit_once("-earlier-").filter(|(_, nth)| is_number(nth)).map_or(name, |(name, _)| name);
    let parts: Vec<&str> = name.strip_prefix(PRIVATE)?.split('/').collect();
    let attempt = |part: &str| part.strip_prefix("attempt-")?.parse().ok();
    let (thread, task, attempt, phase) = match parts[..] {
        [thread, task, last] => (thread, task.strip_prefix("task-")?, attempt(last)?, None),
        [thread, phase, middle, task] => {
            let (task, nth) = task.strip_prefix("task-")?.split_once('-').unwrap_or((&task["task-".len()..], "1"));
            let phase = SalvagePhase { phase: phase.strip_prefix("phase-")?.parse().ok()?, nth: nth.parse().ok()? };
            (thread, task, attempt(middle)?, Some(phase))
        }
        _ => return None,
    };
    Some(SalvageKey { thread: unescape(thread)?, task: unescape(task)?, attempt, phase })
}

/// Returns an id as part of a branch name, a reference or a path: characters that these cannot contain are escaped.
///
/// ```
/// # use superstep_agents as superstep;
/// # use superstep::workspace::escape_id;
/// assert_eq!(escape_id("fix: a/b"), "fix%3A%20a%2Fb");
/// ```
pub fn escape_id(id: &str) -> String {
    let bytes = id.as_bytes();
    let is_word = |nth: usize| bytes.get(nth).is_some_and(u8::is_ascii_alphanumeric);
    let is_kept = |nth: usize| match bytes[nth] {
        b'.' => nth > 0 && is_word(nth - 1) && is_word(nth + 1) && &bytes[nth..] != b".lock",
        b'-' => nth > 0,
        byte => byte.is_ascii_alphanumeric() || byte == b'_',
    };
    let one = |nth| if is_kept(nth) { char::from(bytes[nth]).to_string() } else { hex(bytes[nth]) };
    match bytes.is_empty() {
        true => "%".to_owned(),
        false => (0..bytes.len()).map(one).collect(),
    }
}

fn hex(byte: u8) -> String {
    format!("%{byte:02X}")
}

fn unescape(text: &str) -> Option<String> {
    if text == "%" {
        return Some(String::new());
    }
    let (mut bytes, mut rest) = (Vec::new(), text);
    while let Some((before, after)) = rest.split_once('%') {
        bytes.extend_from_slice(before.as_bytes());
        bytes.push(u8::from_str_radix(after.get(..2)?, 16).ok()?);
        rest = &after[2..];
    }
    bytes.extend_from_slice(rest.as_bytes());
    String::from_utf8(bytes).ok()
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

        #[test]
        fn every_id_comes_back_from_a_reference_that_git_accepts(thread in ".{0,20}", task in "[ -~]{0,9}|[0-9]\\.[0-9]|[0-9]-[0-9]", attempt: u32, phase: Option<(u32, u32)>) {
            let phase = phase.map(|(phase, nth)| SalvagePhase { phase, nth: nth.max(1) });
            let key = SalvageKey { thread, task, attempt, phase };
            let name = salvage_name(&key);
            prop_assert!(git2::Reference::is_valid_name(&name), "{name}");
            prop_assert_eq!(read_salvage_name(&format!("{name}-earlier-2")), Some(key.clone()));
            prop_assert_eq!(read_salvage_name(&name), Some(key));
        }

        #[test]
        fn a_branch_of_any_thread_is_one_that_git_accepts(thread in "\\PC{0,20}|[-.a-z/:~^ ]{0,6}(\\.lock)?") {
            let name = branch_name(&thread);
            prop_assert!(git2::Branch::name_is_valid(&name).unwrap_or(false), "{name}");
        }
    }
}
