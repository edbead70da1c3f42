//! Columns of rows as values: names, owners, numbers, times. Knows no statement.

use std::sync::Arc;

use superstep_base::time::system_time;
use tokio_postgres::Row;

use crate::checkpoint::{CheckpointError, CheckpointId, LeaseOwner, ThreadHead, ThreadId};

/// Reads the name in the first two columns of a row.
pub(super) fn name_in(row: &Row) -> Result<ThreadId, CheckpointError> {
    let bytes = [row.get::<_, &[u8]>(0), row.get::<_, &[u8]>(1)].concat();
    let name = String::from_utf8(bytes).map_err(|error| {
        let thread = ThreadId::from(String::from_utf8_lossy(error.as_bytes()).into_owned());
        CheckpointError::damaged_record(&thread, "name", "it is not UTF-8")
    });
    name.map(ThreadId::from)
}

/// Reads the number of the newest commit.
pub(super) fn number_in(row: &Row) -> u64 {
    row.get::<_, i64>("commit_number").cast_unsigned()
}

/// Reads the epoch in column `at` of a row.
pub(super) fn epoch_in(row: &Row, at: usize) -> u64 {
    row.get::<_, i64>(at).cast_unsigned()
}

/// Reads the head whose checkpoint, next number and birth are in the columns from `at` on; `None` if the thread has no records.
pub(super) fn head_in(row: &Row, at: usize) -> Option<ThreadHead> {
    let [checkpoint, next, birth] =
        [at, at + 1, at + 2].map(|at| row.get::<_, Option<i64>>(at).map(i64::cast_unsigned));
    Some(ThreadHead { checkpoint: checkpoint.map(CheckpointId), next: next?, birth: birth? })
}

/// Reads the owner whose name, host, process and end are in the columns from `at` on.
pub(super) fn owner_in(row: &Row, at: usize) -> Option<Arc<LeaseOwner>> {
    let name: String = row.get::<_, Option<String>>(at)?;
    let host: Option<String> = row.get(at + 1);
    let pid = row.get::<_, Option<i64>>(at + 2).and_then(|pid| u32::try_from(pid).ok());
    let owner = LeaseOwner::recorded(name, host.unwrap_or_default(), pid.unwrap_or_default());
    Some(Arc::new(owner.until(millis_in(row, at + 3))))
}

/// Reads the time in column `at` of a row.
pub(super) fn millis_in(row: &Row, at: usize) -> std::time::SystemTime {
    system_time(row.get::<_, Option<i64>>(at).unwrap_or_default().cast_unsigned())
}
