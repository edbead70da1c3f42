//! Temporary file, removed on drop.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

pub(super) struct Scratch(PathBuf);

impl Scratch {
    pub(super) fn with(text: &str) -> io::Result<Self> {
        let name = format!("superstep-{:016x}.json", RandomState::new().build_hasher().finish());
        let path = std::env::temp_dir().join(name);
        let mut file = std::fs::OpenOptions::new().write(true).create_new(true).open(&path)?;
        let scratch = Self(path);
        file.write_all(text.as_bytes())?;
        Ok(scratch)
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A leftover is a few bytes in a folder that the system cleans.
        let _ = std::fs::remove_file(&self.0);
    }
}
