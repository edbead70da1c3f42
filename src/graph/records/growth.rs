//! The entries by which a log has grown. Pure.

use crate::checkpoint::{LogRange, RowId, Slot};

/// Returns the entries that a log has grown by; `None` if it is another log.
pub(crate) fn growth(old: &Slot, new: &Slot) -> Option<Vec<LogRange>> {
    let (Slot::Log { full, ranges: old, .. }, Slot::Log { full: now, ranges: new, .. }) = (old, new) else {
        return None;
    };
    let Some((last, before)) = old.split_last() else { return (full == now).then(|| new.clone()) };
    let (grown, more) = new.get(before.len()..)?.split_first()?;
    let same = full == now
        && new.starts_with(before)
        && grown.log == last.log
        && grown.first == last.first
        && grown.last >= last.last;
    let count = grown.count.checked_sub(last.count).filter(|_| same)?;
    let after = RowId { slot: last.last.slot.saturating_add(1), ..last.last };
    let bytes = grown.bytes.saturating_sub(last.bytes);
    let rest = LogRange { log: grown.log.clone(), first: after, last: grown.last, count, bytes };
    Some((count > 0).then_some(rest).into_iter().chain(more.iter().cloned()).collect())
}
