//! The verification commands in the code of a task. Pure: text in, commands out.

use std::fmt;

use serde::Serialize;

use super::blocks::Code;

/// A shell command that must succeed when a task is done, with its position in the plan. Displays as the command.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct VerifyCommand {
    /// The shell command line.
    pub command: String,
    /// The line of the plan on which it starts, from 1.
    pub line: usize,
}

impl fmt::Display for VerifyCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.command)
    }
}

/// The languages of fenced blocks whose lines are commands.
const SHELLS: [&str; 14] = [
    "",
    "sh",
    "bash",
    "zsh",
    "dash",
    "ksh",
    "shell",
    "console",
    "shell-session",
    "shellsession",
    "sh-session",
    "terminal",
    "text",
    "txt",
];

/// True if the lines of a block are commands: it is closed, and its language is a shell.
pub(super) fn is_shell(code: &Code) -> bool {
    !code.is_open && SHELLS.iter().any(|shell| code.language.eq_ignore_ascii_case(shell))
}

/// Returns the commands of a block, one per line; a trailing backslash continues a line. If some lines start with the
/// prompt `$ `, the others are output.
pub(super) fn of_block(code: &Code) -> Vec<VerifyCommand> {
    let commands = joined(&code.lines);
    let has_prompts = commands.iter().any(|(_, text)| text.starts_with("$ "));
    let commands = commands.iter().filter(|(_, text)| !has_prompts || text.starts_with("$ "));
    commands.filter_map(|(line, text)| of_text(text, *line)).collect()
}

/// Returns the command in a text, without its prompt; `None` for an empty text or a comment.
pub(super) fn of_text(text: &str, line: usize) -> Option<VerifyCommand> {
    let mut command = text.trim();
    while let Some(rest) = command.strip_prefix("$ ") {
        command = rest.trim_start();
    }
    let is_command = !command.is_empty() && !command.starts_with('#');
    is_command.then(|| VerifyCommand { command: command.to_owned(), line })
}

/// Joins each line that ends in an odd number of backslashes with the next, as a shell does.
fn joined(lines: &[(usize, String)]) -> Vec<(usize, String)> {
    let mut commands: Vec<(usize, String)> = Vec::new();
    let mut is_continued = false;
    for (number, line) in lines {
        let line = line.trim_end_matches('\r');
        let is_comment = !is_continued && line.trim_start().starts_with('#');
        let next = line.strip_suffix('\\').filter(|rest| !is_comment && trailing_backslashes(rest).is_multiple_of(2));
        let text = next.unwrap_or(line);
        match commands.last_mut().filter(|_| is_continued) {
            Some((_, command)) => command.push_str(text),
            None => commands.push((*number, text.trim_start().to_owned())),
        }
        is_continued = next.is_some();
    }
    commands
}

fn trailing_backslashes(text: &str) -> usize {
    text.len() - text.trim_end_matches('\\').len()
}

/// Returns the first invisible character of a command, or one that changes the direction in which it is displayed.
pub(super) fn hidden_char(command: &str) -> Option<char> {
    command.chars().find(|c| match c {
        '\t' => false,
        '\u{ad}' | '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2060}' | '\u{feff}' => true,
        '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{e0000}'..='\u{e007f}' => true,
        c => c.is_control(),
    })
}
