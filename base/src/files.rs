//! Files that a person names: opened only if they are files, read only as far as memory is meant for them. Knows no format;
//! must not know what a file is for.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::path::Path;

/// The most that is read of a file, in bytes: as much as a value may have.
pub const LIMIT: u64 = 64 << 20;

/// Opens a file. A device or a pipe may have no end, or no beginning.
///
/// # Errors
/// [`ErrorKind::InvalidInput`] for what is no file; whatever the system says.
pub fn open(path: &Path) -> io::Result<File> {
    let about = std::fs::metadata(path)?;
    if about.is_dir() {
        return Err(io::Error::new(ErrorKind::IsADirectory, "it is a directory"));
    }
    if !about.is_file() {
        return Err(io::Error::new(ErrorKind::InvalidInput, "it is a pipe or a device, not a file"));
    }
    File::open(path)
}

/// Returns what a file holds.
///
/// # Errors
/// As [`open`] and [`read_bounded`].
pub fn bytes(path: &Path) -> io::Result<Vec<u8>> {
    read_bounded(open(path)?)
}

/// Returns the text that a file holds.
///
/// # Errors
/// As [`bytes`]; [`ErrorKind::InvalidData`] if it is not UTF-8.
pub fn text(path: &Path) -> io::Result<String> {
    as_text(bytes(path)?)
}

/// Returns bytes as text.
///
/// # Errors
/// [`ErrorKind::InvalidData`] if they are not UTF-8.
pub fn as_text(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes).map_err(|_| io::Error::new(ErrorKind::InvalidData, "it is not UTF-8 text"))
}

/// Reads to the end, if there is one within the limit.
///
/// # Errors
/// [`ErrorKind::FileTooLarge`]; whatever the system says.
pub fn read_bounded(from: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = vec![];
    from.take(LIMIT + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LIMIT {
        return Err(io::Error::new(ErrorKind::FileTooLarge, format!("it is larger than {} MiB", LIMIT >> 20)));
    }
    Ok(bytes)
}

/// Creates a folder of ours in somebody's repository, with a `.gitignore` of its own that hides all of it from git. A
/// `.gitignore` that is there stays as it is.
///
/// # Errors
/// If the folder or the file cannot be written.
pub fn hide_from_git(folder: &Path) -> io::Result<()> {
    let file = folder.join(".gitignore");
    if file.try_exists()? {
        return Ok(());
    }
    std::fs::create_dir_all(folder)?;
    std::fs::write(file, "*\n")
}

/// Writes a new file in the place of one that may be there, also of a link, which is not followed.
///
/// # Errors
/// If the old one cannot be removed or the new one cannot be written.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    File::create_new(path)?.write_all(content)
}
