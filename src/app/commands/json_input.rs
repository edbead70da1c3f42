//! JSON arguments: literal, or as `@FILE`.

use std::io::{self, ErrorKind};
use std::path::Path;

use serde_json::Value;
use superstep_base::files;

use crate::app::failure::Failure;

/// Reads the value of an option: JSON, `@FILE`, or `@-` for standard input.
pub(super) fn json(option: &str, given: &str) -> Result<Value, Failure> {
    let text = match given.strip_prefix('@') {
        Some("-") => files::bounded(io::stdin()).and_then(files::as_text),
        Some(path) => files::text(Path::new(path)).map_err(piped),
        None => return parsed(option, given),
    };
    match text {
        Ok(text) => parsed(&format!("{option} {given}"), &text),
        Err(error) => Err(Failure::usage(format!("{option} {given}: {error}"))),
    }
}

fn piped(error: io::Error) -> io::Error {
    match error.kind() {
        ErrorKind::InvalidInput => {
            io::Error::new(ErrorKind::InvalidInput, format!("{error}; give what a pipe holds as @-"))
        }
        _ => error,
    }
}

fn parsed(what: &str, text: &str) -> Result<Value, Failure> {
    serde_json::from_str(text).map_err(|error| {
        let help = "give JSON, with quotes around text, and quote it for the shell: '{\"topic\": \"tides\"}' or '\"text\"'; \
                    or @FILE that holds it";
        Failure::usage(format!("{what} is not JSON: {error}")).help(help)
    })
}
