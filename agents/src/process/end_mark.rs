//! A file that tells later processes when this one ended, however it ended. Must not know what the file is for.

use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Shell that creates a file as soon as this process ends. Dropping it ends it without the file.
#[derive(Debug)]
pub(crate) struct EndMark(Child);

impl EndMark {
    /// Starts the shell; `None` if there is none.
    pub(crate) fn start(file: &Path) -> Option<Self> {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", r#"trap '' HUP INT TERM; read _; : > "$1""#, "sh"]).arg(file).current_dir("/").env_clear();
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut shell, 0);
        shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok().map(Self)
    }
}

impl Drop for EndMark {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
