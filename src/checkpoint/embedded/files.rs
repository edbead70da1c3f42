//! Files inside a store's directory, opened without following links. Knows file types and owners; must not know the
//! contents.
//!
//! A store may come from a clone or an archive, or a program may have placed a link in it: opening it could then
//! overwrite, move or publish files elsewhere.

use std::fmt::Debug;
use std::fs::{File, Metadata, OpenOptions};
use std::io::ErrorKind;
use std::path::Path;
use std::{fs, io};

use crate::checkpoint::CheckpointError;

type Result<T> = std::result::Result<T, CheckpointError>;

/// Access that a store is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::checkpoint) enum Access {
    /// Read only: files may belong to other users and have hard links.
    Read,
    /// Read and write.
    Write,
}

/// Checks that everything in a store's directory is a regular file or a directory and, for writing, that it belongs to
/// the user and has no hard link elsewhere. A directory that does not exist passes.
///
/// # Errors
/// [`CheckpointError::UnsafeStore`] for a link or a special file, [`CheckpointError::NotWritable`] for another user's.
pub(in crate::checkpoint) fn check(store: &Path, access: Access) -> Result<()> {
    match fs::metadata(store) {
        Ok(found) if found.is_dir() => {
            check_owner(store, store, &found, access)?;
            check_directory(store, store, access)
        }
        _ => Ok(()),
    }
}

fn check_directory(store: &Path, directory: &Path, access: Access) -> Result<()> {
    let entries = match fs::read_dir(directory) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::PermissionDenied) => return Ok(()),
        entries => io_at(directory, "list the files", entries)?,
    };
    for entry in entries {
        let path = io_at(directory, "list the files", entry)?.path();
        let found = match fs::symlink_metadata(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => continue, // removed by another process
            found => io_at(&path, "read the file", found)?,
        };
        check_entry(store, &path, &found, access)?;
        if found.is_dir() {
            check_directory(store, &path, access)?;
        }
    }
    Ok(())
}

fn check_entry(store: &Path, path: &Path, found: &Metadata, access: Access) -> Result<()> {
    if let Some(kind) = unsafe_kind(path, found) {
        return Err(unsafe_file(store, path, kind));
    }
    check_owner(store, path, found, access)?;
    if access == Access::Write && has_other_names(found) {
        return Err(unsafe_file(store, path, "a file with a second name elsewhere (a hard link)"));
    }
    Ok(())
}

fn unsafe_file(store: &Path, path: &Path, kind: &str) -> CheckpointError {
    let file = path.strip_prefix(store).unwrap_or(path).display();
    CheckpointError::UnsafeStore { path: store.into(), reason: format!("`{file}` in it is {kind}") }
}

/// Returns the kind of a file that must not be in a store. The control socket of a running process is allowed.
fn unsafe_kind(path: &Path, found: &Metadata) -> Option<&'static str> {
    let kind = found.file_type();
    if kind.is_symlink() {
        return Some("a symbolic link");
    }
    let is_socket = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("control."));
    if kind.is_file() || kind.is_dir() || (is_socket && is_socket_file(found)) {
        return None;
    }
    Some("not a regular file")
}

/// Opens a file of a store with `options`, but without following links or waiting for another process.
pub(in crate::checkpoint) fn open(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let file = without_following(options).open(path).map_err(clarify_link_error)?;
    match unsafe_kind(path, &file.metadata()?) {
        Some(kind) => Err(io::Error::other(format!("it is {kind}"))),
        None => Ok(file),
    }
}

/// Opens a file of a store for reading, without following links.
pub(in crate::checkpoint) fn open_to_read(path: &Path) -> io::Result<File> {
    open(path, OpenOptions::new().read(true))
}

/// Sets the mode of a file or directory of a store, without following links.
#[cfg(unix)]
pub(in crate::checkpoint) fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    match open_to_read(path) {
        Ok(file) => file.set_permissions(fs::Permissions::from_mode(mode)),
        // A socket, or a file that its owner may not read: set its mode by path, unless it is a link.
        Err(_) if fs::symlink_metadata(path)?.is_symlink() => Err(io::Error::other("it is a symbolic link")),
        Err(_) => fs::set_permissions(path, fs::Permissions::from_mode(mode)),
    }
}

#[cfg(not(unix))]
pub(in crate::checkpoint) fn set_mode(_path: &Path, _mode: u32) -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
fn without_following(options: &mut OpenOptions) -> &mut OpenOptions {
    use std::os::unix::fs::OpenOptionsExt;

    use rustix::fs::OFlags;
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    options.custom_flags(i32::try_from(flags.bits()).unwrap_or_default())
}

#[cfg(not(unix))]
fn unfollowing(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

/// Replaces the error text "too many levels of symbolic links".
#[cfg(unix)]
fn clarify_link_error(error: io::Error) -> io::Error {
    let is_link = error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error());
    if is_link { io::Error::other("it is a symbolic link") } else { error }
}

#[cfg(not(unix))]
fn named(error: io::Error) -> io::Error {
    error
}

#[cfg(unix)]
fn check_owner(store: &Path, path: &Path, found: &Metadata, access: Access) -> Result<()> {
    use std::os::unix::fs::MetadataExt;
    let (owner, user) = (found.uid(), rustix::process::geteuid().as_raw());
    if access == Access::Read || owner == user {
        return Ok(());
    }
    let file = path.strip_prefix(store).ok().filter(|name| !name.as_os_str().is_empty());
    let what = file.map_or("its directory".into(), |name| format!("its file `{}`", name.display()));
    let reason = format!("{what} belongs to user {owner}, and this process runs as user {user}");
    Err(CheckpointError::NotWritable { path: store.into(), reason })
}

#[cfg(not(unix))]
fn check_owner(_store: &Path, _path: &Path, _found: &Metadata, _access: Access) -> Result<()> {
    Ok(())
}

#[cfg(unix)]
fn has_other_names(found: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    found.is_file() && found.nlink() > 1
}

#[cfg(not(unix))]
fn has_other_names(_found: &Metadata) -> bool {
    false
}

#[cfg(unix)]
fn is_socket_file(found: &Metadata) -> bool {
    use std::os::unix::fs::FileTypeExt;
    found.file_type().is_socket()
}

#[cfg(not(unix))]
fn is_socket_file(_found: &Metadata) -> bool {
    false
}

/// Adds the operation and the path to an error of the operating system.
pub(in crate::checkpoint) fn io_at<T>(path: &Path, what: &str, result: io::Result<T>) -> Result<T> {
    result.map_err(|error| match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            CheckpointError::DiskFull { what: what.into(), path: path.into() }
        }
        _ => CheckpointError::io(what, path, error),
    })
}

/// Returns the error for a damaged store.
pub(in crate::checkpoint) fn damaged_store(store: &Path, reason: &str) -> CheckpointError {
    CheckpointError::DamagedStore { path: store.into(), reason: reason.into() }
}
