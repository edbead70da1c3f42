//! Hexadecimal ids in the records of a thread, such as those of git's objects. Knows no record's meaning.

use std::collections::BTreeSet;

use super::pages::{LAST, Pages};
use crate::checkpoint::{CheckpointError, Checkpointer, Key, ThreadId};

/// Length of an id.
const LENGTH: usize = 40;

/// Returns everything in the records that looks like an id of 40 hexadecimal digits.
pub(crate) async fn hex_ids(store: &dyn Checkpointer, thread: &ThreadId) -> Result<BTreeSet<String>, CheckpointError> {
    let (mut ids, mut pages) = (BTreeSet::new(), Pages::of(store, thread, Key::About..=LAST));
    while let Some(page) = pages.next().await? {
        page.iter().for_each(|(_, bytes)| ids.extend(ids_in(bytes)));
    }
    Ok(ids)
}

/// Returns the ids in bytes. What follows an id may look like another digit; what precedes it is the length of its text.
fn ids_in(bytes: &[u8]) -> impl Iterator<Item = String> {
    let runs = bytes.split(|byte| !byte.is_ascii_digit() && !(b'a'..=b'f').contains(byte));
    runs.filter_map(|run| String::from_utf8(run.get(..LENGTH)?.to_vec()).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_found_in_packed_values_and_texts() {
        let [one, two] = ["a".repeat(LENGTH), "0".repeat(LENGTH)];
        let mut bytes = vec![0x92, 0xd9, 0x28];
        bytes.extend(one.as_bytes());
        bytes.extend([0x31, 0xd9]); // the number 49
        bytes.extend(format!("\"{two}\", {}", "f".repeat(LENGTH - 1)).as_bytes());
        assert_eq!(ids_in(&bytes).collect::<Vec<_>>(), [one, two]);
    }
}
