//! What tests of drivers share: pipes that tell whether processes are alive, and programs written in shell.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A pipe in a folder that processes hold open as long as one of them is alive.
pub(crate) struct Alive(PathBuf);

impl Alive {
    /// Makes the pipe `alive`. A shell holds it with `exec 3> alive`.
    pub(crate) fn in_folder(folder: &Path) -> Self {
        let pipe = folder.join("alive");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        Self(pipe)
    }

    /// Waits until a process has opened it; gives up after a minute.
    pub(crate) async fn opened(self) -> Held {
        let opened = tokio::task::spawn_blocking(|| File::open(self.0));
        Held(tokio::time::timeout(Duration::from_secs(60), opened).await.unwrap().unwrap().unwrap())
    }
}

pub(crate) struct Held(File);

impl Held {
    /// Waits until no process holds it any more; gives up after a minute.
    pub(crate) async fn let_go(mut self) {
        let ended = tokio::task::spawn_blocking(move || self.0.read_to_end(&mut vec![]));
        let ended = tokio::time::timeout(Duration::from_secs(60), ended).await;
        assert!(ended.is_ok(), "a process is alive");
    }
}

/// Writes an executable shell script.
pub(crate) fn script(folder: &Path, name: &str, body: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}
