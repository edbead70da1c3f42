//! A file with the events of an agent, for people and other programs. Nothing depends on it: the journal is
//! authoritative.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;

use serde::Serialize;

use crate::process::Redactor;

pub(super) struct Transcript(Option<(File, Redactor)>);

impl Transcript {
    /// Opens the file for appending. If it cannot be opened, a warning is logged and nothing is written.
    pub(super) fn open(path: Option<&Path>) -> Self {
        let opened = path.and_then(|path| {
            let file = opened(&superstep_base::moved::here(path));
            file.inspect_err(|error| tracing::warn!(path = %path.display(), %error, "no transcript is written")).ok()
        });
        Self(opened.map(|file| (file, Redactor::keys())))
    }

    /// Adds an event, without the keys of this process.
    pub(super) fn add(&mut self, event: &impl Serialize) {
        let Some((file, redactor)) = &mut self.0 else { return };
        let Ok(line) = serde_json::to_string(event) else { return };
        if let Err(error) = writeln!(file, "{}", redactor.redact(&line)) {
            tracing::warn!(%error, "an event is missing in the transcript");
        }
    }
}

fn opened(path: &Path) -> std::io::Result<File> {
    path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
    OpenOptions::new().create(true).append(true).open(path)
}
