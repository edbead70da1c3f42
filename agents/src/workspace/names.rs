//! Encoding of thread and task names in references. Pure.
//!
//! References must not contain spaces, `:`, `..` and more; ids may. Every byte other than ASCII letters and digits,
//! `-`, `_`, and a dot between two of them is written as `%` and two digits, so that different ids have different
//! names.

use super::salvage_key::{SalvageKey, SalvagePhase};

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
    format!("superstep/{}", escaped(thread))
}

/// Returns the folder of a thread's references.
pub(super) fn salvage_folder(thread: &str) -> String {
    format!("{PRIVATE}{}/", escaped(thread))
}

pub(super) fn salvage_name(key: &SalvageKey) -> String {
    let SalvageKey { thread, task, attempt, phase } = key;
    let folder = salvage_folder(thread);
    match phase {
        None => format!("{folder}task-{}/attempt-{attempt}", escaped(task)),
        Some(SalvagePhase { phase, nth }) => {
            let again = if *nth > 1 { format!("-{nth}") } else { String::new() };
            format!("{folder}phase-{phase}/attempt-{attempt}/task-{}{again}", escaped(task).replace('-', "%2D"))
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
/// # use superstep::workspace::escaped;
/// assert_eq!(escaped("fix: a/b"), "fix%3A%20a%2Fb");
/// ```
pub fn escaped(id: &str) -> String {
    let bytes = id.as_bytes();
    let is_word = |nth: usize| bytes.get(nth).is_some_and(u8::is_ascii_alphanumeric);
    let is_kept = |nth: usize| match bytes[nth] {
        b'.' => nth > 0 && is_word(nth - 1) && is_word(nth + 1) && &bytes[nth..] != b".lock",
        b'-' => nth > 0,
        byte => byte.is_ascii_alphanumeric() || byte == b'_',
    };
    match bytes.is_empty() {
        true => "%".to_owned(),
        false => (0..bytes.len()).map(|nth| if is_kept(nth) { char_of(bytes[nth]) } else { hex(bytes[nth]) }).collect(),
    }
}

fn char_of(byte: u8) -> String {
    char::from(byte).to_string()
}

fn hex(byte: u8) -> String {
    format!("%{byte:02X}")
}

pub(super) fn unescape(text: &str) -> Option<String> {
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
