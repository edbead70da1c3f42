//! Room that a store keeps for the day on which its disk is full: to remove old checkpoints, something has to be written
//! first, and sled writes whole segments. Knows one file; must not know what the room is used for.

use std::fs::File;
use std::path::Path;
use std::{fs, io};

use super::files::{self, io_at};
use super::segment::SEGMENT;
use crate::checkpoint::CheckpointError;

const NAME: &str = "reserve";
/// The room in bytes: the rest of a segment, which an opening fills, one that follows, and one of a compacted store.
const BYTES: u64 = 3 * SEGMENT as u64;
/// No smaller log is worth it.
const LEAST: u64 = 4 << 20;

/// Takes the room for a store whose log is worth it, if it is not taken; returns whether nothing is left to do. A store
/// works without it as well.
pub(super) fn take(store: &Path) -> bool {
    let is_worth_it = fs::symlink_metadata(store.join("db")).is_ok_and(|log| log.len() >= LEAST);
    if !is_worth_it {
        return false;
    }
    let path = store.join(NAME);
    if path.symlink_metadata().is_err() && fill(&path).is_err() {
        let _ = fs::remove_file(&path); // what little it got is of more use elsewhere
    }
    true
}

/// Gives the room back to the disk.
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

/// Makes the file system keep the room, without writing.
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
