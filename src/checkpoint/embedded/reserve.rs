//! Disk space that a store reserves for when its disk is full: removing old checkpoints has to write first. Knows one
//! file; must not know what the space is used for.

use std::fs::File;
use std::path::Path;
use std::{fs, io};

use super::files::{self, io_at};
use crate::checkpoint::CheckpointError;

const NAME: &str = "reserve";
/// Minimum size of a log for which space is reserved.
const LEAST: u64 = 4 << 20;

/// Reserves `bytes` if the log is large enough; returns whether no further call is needed. A store also works without
/// the reserve.
pub(in crate::checkpoint) fn take(store: &Path, log: u64, bytes: u64) -> bool {
    if log < LEAST {
        return false;
    }
    let path = store.join(NAME);
    if path.symlink_metadata().is_err() && fill(&path, bytes).is_err() {
        let _ = fs::remove_file(&path); // a partial reserve is of no use
    }
    true
}

/// Releases the reserve.
pub(in crate::checkpoint) fn spend(store: &Path) -> Result<(), CheckpointError> {
    let path = store.join(NAME);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => io_at(&path, "remove the file", Err(error)),
        _ => Ok(()),
    }
}

/// Returns the number of bytes that can still be written on the disk of a directory, if the system says so.
#[cfg(unix)]
#[cfg_attr(not(feature = "fjall"), allow(dead_code, reason = "for fjall, which works in the background"))]
pub(in crate::checkpoint) fn free(directory: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(directory).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

#[cfg(not(unix))]
#[cfg_attr(not(feature = "fjall"), allow(dead_code, reason = "for fjall, which works in the background"))]
pub(in crate::checkpoint) fn free(_directory: &Path) -> Option<u64> {
    None
}

fn fill(path: &Path, bytes: u64) -> io::Result<()> {
    let file = files::open(path, File::options().write(true).create_new(true))?;
    files::set_mode(path, 0o600)?;
    allocate(&file, bytes)
}

/// Allocates the space without writing it.
#[cfg(target_os = "linux")]
fn allocate(file: &File, bytes: u64) -> io::Result<()> {
    Ok(rustix::fs::fallocate(file, rustix::fs::FallocateFlags::KEEP_SIZE, 0, bytes)?)
}

#[cfg(not(target_os = "linux"))]
fn allocate(mut file: &File, bytes: u64) -> io::Result<()> {
    use std::io::Write;
    let piece = vec![0x5a; 1 << 20];
    (0..bytes >> 20).try_for_each(|_| file.write_all(&piece))?;
    file.sync_data()
}
