//! Helpers for tests of drivers: pipes that show whether processes are alive, and programs written in shell.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A named pipe that processes hold open while one of them is alive.
pub(crate) struct Alive(PathBuf);

impl Alive {
    /// Creates the pipe `alive`. A shell holds it open with `exec 3> alive`.
    pub(crate) fn in_folder(folder: &Path) -> Self {
        let pipe = folder.join("alive");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        Self(pipe)
    }

    /// Waits until a process opens it, for at most a minute.
    pub(crate) async fn opened(self) -> OpenPipe {
        let opened = tokio::task::spawn_blocking(|| File::open(self.0));
        OpenPipe(tokio::time::timeout(Duration::from_secs(60), opened).await.unwrap().unwrap().unwrap())
    }
}

pub(crate) struct OpenPipe(File);

impl OpenPipe {
    /// Waits until every process has closed it, for at most a minute.
    pub(crate) async fn closed(mut self) {
        let ended = tokio::task::spawn_blocking(move || self.0.read_to_end(&mut vec![]));
        let ended = tokio::time::timeout(Duration::from_secs(60), ended).await;
        assert!(ended.is_ok(), "a process is alive");
    }
}

/// Writes an executable shell script.
pub(crate) fn script(folder: &Path, name: &str, body: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
    crate::program::make_executable(&path);
    path
}
