//! Times of files: that of the file system now, and that of a file's last change. Must not know what files are for.

use std::{fs, io};

use super::index::own_folder;
use super::place::Place;

/// Returns the present time of the file system, in nanoseconds since 1970: later changes of files are not before it.
pub(super) fn file_time(place: &Place) -> io::Result<u64> {
    // No branch of a run has this name: git takes files of this folder for references.
    let file = own_folder(place)?.join("clock+");
    // A new file, so that nothing is written through a link.
    let _ = fs::remove_file(&file);
    fs::write(&file, "")?;
    Ok(changed_at(&fs::symlink_metadata(&file)?))
}

/// Returns the time of the last change of content or attributes, in nanoseconds since 1970.
#[cfg(unix)]
pub(super) fn changed_at(about: &fs::Metadata) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let seconds = u64::try_from(about.ctime()).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000).saturating_add(u64::try_from(about.ctime_nsec()).unwrap_or(0))
}

#[cfg(not(unix))]
pub(super) fn changed_at(about: &fs::Metadata) -> u64 {
    let since = about.modified().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    since.map_or(0, |since| u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
}
