//! Removes what an interrupted creation left: fjall never opens such a directory again. Knows the names of fjall's
//! files.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

use super::survey::journals;
use crate::checkpoint::CheckpointError;
use crate::checkpoint::embedded::files::io_at;

/// Removes fjall's files from a store of which nothing was ever acknowledged.
pub(super) fn remove(store: &Path) -> Result<(), CheckpointError> {
    for (_, journal) in journals(store)? {
        io_at(&journal, "remove the file", fs::remove_file(&journal))?;
    }
    for name in ["version", "lock"] {
        io_at(&store.join(name), "remove the file", absent(fs::remove_file(store.join(name))))?;
    }
    let keyspaces = store.join("keyspaces");
    io_at(&keyspaces, "remove the directory", absent(fs::remove_dir_all(&keyspaces)))
}

fn absent(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}
