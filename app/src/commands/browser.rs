//! The browser of this machine. Knows an address; must not know what is there.
//!
//! Small because the system knows the browser.

use std::process::{Command, Stdio};

use crate::terminal::note;

/// The program that opens an address in the browser.
const PROGRAM: &str = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };

/// Opens an address in the browser; a sentence says so where there is none.
pub(super) fn open(url: String) {
    std::thread::spawn(move || {
        if let Err(reason) = run(PROGRAM, &url) {
            note(&format!("note: no browser was opened ({reason}); the address is {url}\n"));
        }
    });
}

/// Runs a program with an address, and waits for its end.
fn run(program: &str, url: &str) -> Result<(), String> {
    let mut command = Command::new(program);
    command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let status = command.status().map_err(|error| format!("`{program}`: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("`{program}`: {status}")) }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("true", None)]
    #[case("false", Some("`false`: exit status: 1"))]
    #[case("no-such-browser", Some("`no-such-browser`: No such file or directory (os error 2)"))]
    fn a_browser_that_is_not_there_or_fails_is_named(#[case] program: &str, #[case] reason: Option<&str>) {
        assert_eq!(run(program, "http://127.0.0.1/").err().as_deref(), reason);
    }
}
