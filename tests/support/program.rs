//! Programs that a test writes and then runs.

use std::path::Path;
use std::process::Command;

/// Makes a file executable.
///
/// A child process writes it again: while a file is open for writing here, a child that another thread starts inherits it,
/// and the kernel refuses to run it ("text file busy").
pub(crate) fn make_executable(file: impl AsRef<Path>) {
    let script = r#"cp "$0" "$0.new" && chmod 755 "$0.new" && mv "$0.new" "$0""#;
    let status = Command::new("sh").arg("-c").arg(script).arg(file.as_ref()).status().unwrap();
    assert!(status.success(), "{}", file.as_ref().display());
}
