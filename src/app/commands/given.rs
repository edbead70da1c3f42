//! JSON that a person gives: in words, or as `@FILE`.

use std::io::Read;

use serde_json::Value;

use crate::app::failure::Failure;

/// Reads what stands after an option: JSON, `@FILE`, or `@-` for standard input.
pub(super) fn json(option: &str, given: &str) -> Result<Value, Failure> {
    let text = match given.strip_prefix('@') {
        Some("-") => std::io::read_to_string(std::io::stdin().take(LIMIT)),
        Some(path) => std::fs::read_to_string(path),
        None => return parsed(option, given),
    };
    match text {
        Ok(text) => parsed(&format!("{option} {given}"), &text),
        Err(error) => Err(Failure::usage(format!("{option} {given}: {error}"))),
    }
}

/// The most that is read from standard input, in bytes: as much as a value may have.
const LIMIT: u64 = 64 << 20;

fn parsed(what: &str, text: &str) -> Result<Value, Failure> {
    serde_json::from_str(text).map_err(|error| {
        let help = "give JSON, with quotes around text, and quote it for the shell: '{\"topic\": \"tides\"}' or '\"text\"'; \
                    or @FILE that holds it";
        Failure::usage(format!("{what} is not JSON: {error}")).help(help)
    })
}
