//! Counter of openings, stored in the store's own record.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::engine::{Engine, Tree};
use super::files::broken;
use super::rows::STORE;
use crate::checkpoint::envelope::{Envelope, Flaw};
use crate::checkpoint::{CheckpointError, ThreadId, decode_record, encode_record};

type Result<T> = std::result::Result<T, CheckpointError>;

/// Lease epochs and commit numbers start with the number of the opening, so that they grow across openings; each
/// opening has 2^40 of them.
pub(in crate::checkpoint) const EPOCH_SHIFT: u32 = 40;

/// The store's own record.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::checkpoint) struct StoreRecord {
    epoch: u64,
}

/// Increments the number of openings and returns it.
pub(in crate::checkpoint) fn raise_epoch(engine: &impl Engine, path: &Path, is_old: bool) -> Result<u64> {
    let epoch = match engine.snapshot().get(STORE)? {
        Some(row) => read_store(path, row.as_ref())?.epoch,
        None if is_old => return Err(broken(path, "its records are gone")),
        None => 0,
    };
    let epoch = epoch + 1;
    engine.write(vec![(STORE.to_vec(), Some(store_row(epoch, epoch << EPOCH_SHIFT)?))])?;
    Ok(epoch)
}

/// Encodes the store's own record as a row of commit `number`.
pub(in crate::checkpoint) fn store_row(epoch: u64, number: u64) -> Result<Vec<u8>> {
    let payload = encode_record(&StoreRecord { epoch })?;
    Ok(Envelope { name: STORE, part: 0, parts: 1, commit: number, payload: &payload }.seal())
}

/// Reads the store's own record.
pub(in crate::checkpoint) fn read_store(path: &Path, row: &[u8]) -> Result<StoreRecord> {
    let row = Envelope::decode_prefix(row).map_err(|flaw| match flaw {
        Flaw::Damaged(reason) => broken(path, reason),
        Flaw::Newer(format) => broken(path, &format!("it has rows of format {format}")),
    })?;
    decode_record(&ThreadId::from(""), "store", row.payload)
}
