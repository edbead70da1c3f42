//! Messages with a severity and without a place: `error: text`, `ld.lld: error: text`, `fatal: text`.

use super::block::Block;
use super::diagnostic::Diagnostic;
use super::place::severity;
use crate::findings::severity::Severity;

/// Messages that only summarise earlier ones.
const SUMMARIES: [&str; 12] = [
    "could not compile ",
    "aborting due to ",
    "test failed, to rerun",
    "test run failed",
    "ld returned ",
    "linker command failed",
    "build failed",
    "Command failed",
    "command failed",
    " target failed",
    " targets failed",
    " tests were not run due to test failure",
];

pub(super) fn read<'a>(block: &Block<'a, '_>, found: &mut Vec<Diagnostic<'a>>) -> usize {
    let line = block.first().trim_start();
    let Some((severity, text)) = message(line) else { return 0 };
    if severity != Severity::Info && !is_summary(text) {
        found.push(Diagnostic::error(text).of(severity));
    }
    1
}

fn message(line: &str) -> Option<(Severity, &str)> {
    let line = line.strip_prefix("npm ERR! ").map_or(line, |_| line);
    let of_a_tool = line.split_once(": ").filter(|(tool, _)| is_tool(tool)).map(|(_, rest)| rest);
    let (severity, rest) = severity(line).or_else(|| severity(of_a_tool?))?;
    let text = rest.strip_prefix(':')?.trim();
    (!text.is_empty()).then_some((severity, text))
}

/// Returns whether the text before a severity is the name of a tool: `cc1plus`, `/usr/bin/ld`, `rust-lld`.
pub(super) fn is_tool(tool: &str) -> bool {
    !tool.is_empty() && tool.len() < 80 && !tool.contains(|c: char| c.is_whitespace() || "\"'`(){}[]<>=,;".contains(c))
}

/// Returns whether a message only summarises earlier ones.
pub(super) fn is_summary(text: &str) -> bool {
    let counts = text.contains(") generated ") || text.ends_with(" emitted");
    counts || SUMMARIES.iter().any(|summary| text.contains(summary))
}
