//! Any bytes as an exported thread: rejected with nothing written, or a thread that can be exported and imported again.
//! Once unchanged, and once with corrected checksums, so that the data behind them is tested.

use futures::FutureExt;
use superstep::checkpoint::{
    CheckpointError, Checkpointer, ExportOptions, ImportOptions, ImportReport, MemoryCheckpointer, export_thread,
    import_thread,
};

/// Never panics. Returns whether the thread was imported, unchanged or with corrected checksums.
pub(crate) fn body(data: &[u8]) -> bool {
    let sealed = sealed(data);
    let as_it_is = is_taken(data);
    sealed.is_some_and(|sealed| is_taken(&sealed)) || as_it_is
}

fn is_taken(file: &[u8]) -> bool {
    let store = MemoryCheckpointer::new();
    let options = ImportOptions::new().max_bytes(1 << 20).max_records(10_000);
    let imported = now(import_thread(&store, file, &options));
    let threads = now(store.threads(None, 9)).expect("a store in memory can be read");
    let Ok(ImportReport { thread, .. }) = imported else {
        assert!(threads.is_empty(), "it was refused, yet something is stored");
        return false;
    };
    assert_eq!(threads, std::slice::from_ref(&thread));
    let mut again = vec![];
    now(export_thread(&store, &thread, &ExportOptions::new(), &mut again)).expect("what was imported can be exported");
    now(import_thread(&MemoryCheckpointer::new(), &again[..], &ImportOptions::new()))
        .expect("what was exported can be imported");
    true
}

/// Polls once: a memory store is never pending.
fn now<T>(future: impl Future<Output = Result<T, CheckpointError>>) -> Result<T, CheckpointError> {
    future.now_or_never().expect("a store in memory does not wait")
}

/// Corrects every checksum, as far as the lengths around it are plausible.
fn sealed(file: &[u8]) -> Option<Vec<u8>> {
    let mut file = file.to_vec();
    let header = 14 + u32::from_le_bytes(file.get(10..14)?.try_into().ok()?) as usize;
    put_crc(&mut file, 0, header)?;
    let mut at = header + 4;
    while file.get(at..at + 3)? == [0xe5, b'S', b'R'] {
        let mut to = at + 5;
        to += usize::try_from(varint(&file, &mut to)?).ok()?;
        for _ in 0..3 {
            varint(&file, &mut to)?;
        }
        let payload = usize::try_from(varint(&file, &mut to)?).ok()?;
        let end = to.checked_add(4)?.checked_add(payload)?;
        let crc = crc32c::crc32c_append(crc32c::crc32c(&file[at..to]), file.get(to + 4..end)?);
        file[to..to + 4].copy_from_slice(&crc.to_le_bytes());
        at = end;
    }
    let end = file.len().checked_sub(4)?;
    put_crc(&mut file, 0, end)?;
    Some(file)
}

fn put_crc(file: &mut [u8], from: usize, to: usize) -> Option<()> {
    let crc = crc32c::crc32c(file.get(from..to)?).to_le_bytes();
    file.get_mut(to..to.checked_add(4)?)?.copy_from_slice(&crc);
    Some(())
}

fn varint(file: &[u8], at: &mut usize) -> Option<u64> {
    let mut number = 0;
    for shift in (0..u64::BITS).step_by(7) {
        let byte = *file.get(*at)?;
        *at += 1;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}
