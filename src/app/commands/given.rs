//! JSON that a person gives: in words, or as `@FILE`.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

use serde_json::Value;

use crate::app::failure::Failure;

/// Reads what stands after an option: JSON, `@FILE`, or `@-` for standard input.
pub(super) fn json(option: &str, given: &str) -> Result<Value, Failure> {
    let text = match given.strip_prefix('@') {
        Some("-") => bounded(io::stdin()),
        Some(path) => file(Path::new(path)),
        None => return parsed(option, given),
    };
    match text {
        Ok(text) => parsed(&format!("{option} {given}"), &text),
        Err(error) => Err(Failure::usage(format!("{option} {given}: {error}"))),
    }
}

/// The most that is read, in bytes: as much as a value may have.
const LIMIT: u64 = 64 << 20;

/// Reads a file. A device or a pipe may have no end, or no beginning.
fn file(path: &Path) -> io::Result<String> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::new(ErrorKind::InvalidInput, "it is no file; give what a pipe holds as @-"));
    }
    bounded(File::open(path)?)
}

fn bounded(from: impl Read) -> io::Result<String> {
    let text = io::read_to_string(from.take(LIMIT + 1))?;
    if text.len() as u64 > LIMIT {
        return Err(io::Error::new(ErrorKind::FileTooLarge, format!("it is larger than {} MiB", LIMIT >> 20)));
    }
    Ok(text)
}

fn parsed(what: &str, text: &str) -> Result<Value, Failure> {
    serde_json::from_str(text).map_err(|error| {
        let help = "give JSON, with quotes around text, and quote it for the shell: '{\"topic\": \"tides\"}' or '\"text\"'; \
                    or @FILE that holds it";
        Failure::usage(format!("{what} is not JSON: {error}")).help(help)
    })
}
