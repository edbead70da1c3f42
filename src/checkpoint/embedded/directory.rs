//! Directory of a store: its permissions, durability of its names, and the disk space reserved in it for when the disk
//! is full: removing old checkpoints has to write first. Must not know what is in its files.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::files::{self, io_at};
use crate::checkpoint::CheckpointError;

type Result<T> = std::result::Result<T, CheckpointError>;

/// Restricts the directory of a store to its owner. A directory that the owner made read-only is refused.
pub(in crate::checkpoint) fn keep_private(path: &Path) -> Result<()> {
    let permissions = writable(path, fs::metadata(path))?.permissions();
    if permissions.readonly() {
        let reason = "its directory has no write permission".into();
        return Err(CheckpointError::NotWritable { path: path.into(), reason });
    }
    writable(path, private(path, &permissions))
}

/// Converts the error of a store that the process has no permission to write.
pub(in crate::checkpoint) fn writable<T>(store: &Path, tried: io::Result<T>) -> Result<T> {
    match tried {
        Err(error) if matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem) => {
            Err(CheckpointError::NotWritable { path: store.into(), reason: error.to_string() })
        }
        tried => io_at(store, "use the directory of the store", tried),
    }
}

/// Restricts all files to their owner.
pub(in crate::checkpoint) fn restrict(path: &Path) -> Result<()> {
    for entry in io_at(path, "list the files", fs::read_dir(path))? {
        let entry = io_at(path, "list the files", entry)?.path();
        let mode = if entry.is_dir() { 0o700 } else { 0o600 };
        io_at(&entry, "set the permissions", files::set_mode(&entry, mode))?;
    }
    Ok(())
}

/// Makes files of the store, the names of its files, and the name of its directory durable.
pub(in crate::checkpoint) fn sync_directories(path: &Path, files: &[&str]) -> Result<()> {
    let inside = files.iter().copied().chain(["."]).map(|name| path.join(name));
    let outside = path.canonicalize().ok().and_then(|path| path.parent().map(Path::to_path_buf));
    inside.chain(outside).try_for_each(sync_path)
}

/// Makes a file, or the names in a directory, durable.
#[cfg(unix)]
pub(in crate::checkpoint) fn sync_path(path: PathBuf) -> Result<()> {
    io_at(&path, "sync the file", File::open(&path).and_then(|file| file.sync_all()))
}

#[cfg(not(unix))]
pub(in crate::checkpoint) fn sync_path(_path: PathBuf) -> Result<()> {
    Ok(())
}

/// Removes the permissions of group and others, if there are any.
#[cfg(unix)]
fn private(path: &Path, permissions: &fs::Permissions) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let is_private = permissions.mode() & 0o777 == 0o700;
    if is_private { Ok(()) } else { fs::set_permissions(path, fs::Permissions::from_mode(0o700)) }
}

#[cfg(not(unix))]
fn private(_path: &Path, _permissions: &fs::Permissions) -> io::Result<()> {
    Ok(())
}

/// File that holds the reserved space.
const RESERVE: &str = "reserve";
/// Minimum size of a log for which space is reserved.
const LEAST_LOG: u64 = 4 << 20;

/// Reserves `bytes` if the log is large enough; returns whether no further call is needed. A store also works without
/// the reserve.
pub(in crate::checkpoint) fn take_reserve(store: &Path, log: u64, bytes: u64) -> bool {
    if log < LEAST_LOG {
        return false;
    }
    let path = store.join(RESERVE);
    if path.symlink_metadata().is_err() && fill(&path, bytes).is_err() {
        let _ = fs::remove_file(&path); // a partial reserve is of no use
    }
    true
}

/// Releases the reserve.
pub(in crate::checkpoint) fn spend_reserve(store: &Path) -> Result<()> {
    let path = store.join(RESERVE);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => io_at(&path, "remove the file", Err(error)),
        _ => Ok(()),
    }
}

/// Returns the number of bytes that can still be written on the disk of a directory, if the system says so.
#[cfg(unix)]
#[allow(dead_code, reason = "for databases that work in the background")]
pub(in crate::checkpoint) fn free_space(directory: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(directory).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

#[cfg(not(unix))]
#[allow(dead_code, reason = "for databases that work in the background")]
pub(in crate::checkpoint) fn free_space(_directory: &Path) -> Option<u64> {
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
