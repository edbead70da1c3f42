//! Append-only files of JSON lines that survive a kill: appended lines are on disk, and a torn last line is ignored.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Reads all complete lines of a file; none if there is no file.
pub(super) fn read<T: DeserializeOwned>(path: &Path) -> io::Result<Vec<T>> {
    match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(vec![]),
        read => Ok(read?.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()),
    }
}

/// Opens a file for appending, and creates it with its folders if missing. A torn last line is terminated.
pub(super) fn open(path: &Path) -> io::Result<File> {
    path.parent().map_or(Ok(()), fs::create_dir_all)?;
    let mut file = OpenOptions::new().read(true).append(true).create(true).open(path)?;
    if is_torn(&mut file)? {
        file.write_all(b"\n")?;
    }
    Ok(file)
}

/// Appends a line, in one write.
pub(super) fn append(file: &mut File, line: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(line)?;
    line.push(b'\n');
    file.write_all(&line)
}

fn is_torn(file: &mut File) -> io::Result<bool> {
    if file.metadata()?.len() == 0 {
        return Ok(false);
    }
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last != *b"\n")
}
