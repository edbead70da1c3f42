//! Disk space that a store reserves for when its disk is full: removing old checkpoints has to write first, and sled
//! writes whole segments. Knows one file; must not know what the space is used for.

use std::fs::File;
use std::path::Path;
use std::{fs, io};

use super::files::{self, io_at};
use super::segment::SEGMENT;
use crate::checkpoint::CheckpointError;

const NAME: &str = "reserve";
/// Size of the reserve in bytes: the rest of a segment, which an opening fills, the next one, and one of a compacted
/// store.
const BYTES: u64 = 3 * SEGMENT as u64;
/// Minimum size of a log for which space is reserved.
const LEAST: u64 = 4 << 20;

/// Reserves the space if the log is large enough; returns whether no further call is needed. A store also works without
/// the reserve.
pub(super) fn take(store: &Path) -> bool {
    let is_worth_it = fs::symlink_metadata(store.join("db")).is_ok_and(|log| log.len() >= LEAST);
    if !is_worth_it {
        return false;
    }
    let path = store.join(NAME);
    if path.symlink_metadata().is_err() && fill(&path).is_err() {
        let _ = fs::remove_file(&path); // a partial reserve is of no use
    }
    true
}

/// Releases the reserve.
pub(super) fn spend(store: &Path) -> Result<(), CheckpointError> {
    let path = store.join(NAME);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => io_at(&path, "remove the file", Err(error)),
        _ => Ok(()),
    }
}

fn fill(path: &Path) -> io::Result<()> {
    let file = files::open(path, File::options().write(true).create_new(true))?;
    files::set_mode(path, 0o600)?;
    allocate(&file)
}

/// Allocates the space without writing it.
#[cfg(target_os = "linux")]
fn allocate(file: &File) -> io::Result<()> {
    Ok(rustix::fs::fallocate(file, rustix::fs::FallocateFlags::KEEP_SIZE, 0, BYTES)?)
}

#[cfg(not(target_os = "linux"))]
fn allocate(mut file: &File) -> io::Result<()> {
    use std::io::Write;
    let piece = vec![0x5a; 1 << 20];
    (0..BYTES >> 20).try_for_each(|_| file.write_all(&piece))?;
    file.sync_data()
}
