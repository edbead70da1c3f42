//! The verification commands of a task: the lines of a shell block, and the code in a line of text that a person reads as
//! a command. Pure: text in, commands out; knows no plan.

use std::fmt;

use serde::Serialize;

use super::blocks::{Code, Piece};

/// A shell command that must succeed when a task is done, with its position in the plan. Displays as the command.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[non_exhaustive]
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
    let commands = join_continued(&code.lines);
    let has_prompts = commands.iter().any(|(_, text)| text.starts_with("$ "));
    let commands = commands.iter().filter(|(_, text)| !has_prompts || text.starts_with("$ "));
    commands.filter_map(|(line, text)| of_text(text, *line)).collect()
}

/// Returns the command in a text, without its prompt; `None` for an empty text or a comment.
pub(super) fn of_text(text: &str, line: usize) -> Option<VerifyCommand> {
    let command = without_prompt(text);
    let is_command = !command.is_empty() && !command.starts_with('#');
    is_command.then(|| VerifyCommand { command: command.to_owned(), line })
}

/// Returns a text without its prompts `$ ` and without spaces around it.
pub(super) fn without_prompt(text: &str) -> &str {
    let mut command = text.trim();
    while let Some(rest) = command.strip_prefix("$ ") {
        command = rest.trim_start();
    }
    command
}

/// Joins each line that ends in an odd number of backslashes with the next, as a shell does.
fn join_continued(lines: &[(usize, String)]) -> Vec<(usize, String)> {
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

/// Words that say that code runs: after them it is a command, also later in a sentence.
const RUNS: [&str; 10] = ["run", "runs", "running", "execute", "by", "with", "via", "using", "call", "through"];

/// Words before code that is shown and not run.
const SHOWS: [&str; 24] = [
    "shows", "show", "prints", "print", "returns", "return", "contains", "contain", "has", "have", "outputs", "output",
    "displays", "display", "says", "say", "equals", "reports", "lists", "expect", "expected", "see", "exports",
    "named",
];

/// Words after a name of something that exists or is made.
const EXISTS: [&str; 9] = ["exists", "exist", "has", "have", "contains", "contain", "lists", "appears", "includes"];

/// Words after `is` and `are` that say the same.
const STATES: [&str; 17] = [
    "created",
    "written",
    "generated",
    "present",
    "there",
    "gone",
    "removed",
    "deleted",
    "updated",
    "added",
    "unchanged",
    "empty",
    "missing",
    "available",
    "defined",
    "exported",
    "committed",
];

/// Splits the code of a line into commands and other code: the first code that reads as a command is one, with those
/// joined to it by `,` or `and`.
pub(super) fn of_line(pieces: &[Piece]) -> (Vec<&Piece>, Vec<&Piece>) {
    let (mut commands, mut others) = (Vec::new(), Vec::new());
    let mut before = String::new();
    let mut is_joined = true;
    for (at, piece) in pieces.iter().enumerate() {
        if !piece.is_code {
            before.push_str(&piece.text);
            continue;
        }
        is_joined = match (commands.is_empty(), others.is_empty()) {
            (true, true) => true,
            (true, false) => last_word(&before).is_some_and(|word| RUNS.contains(&word.as_str())),
            (false, _) => is_joined && joins(&before),
        };
        let after = pieces.get(at + 1).filter(|next| !next.is_code).map_or("", |next| next.text.as_str());
        let is_command = is_joined && is_command(&before, &piece.text, after);
        if is_command {
            commands.push(piece)
        } else {
            others.push(piece)
        }
        before.clear();
    }
    (commands, others)
}

/// True if code between these texts reads as a command.
fn is_command(before: &str, code: &str, after: &str) -> bool {
    let is_shown = last_word(before).is_some_and(|word| SHOWS.contains(&word.as_str())) && !before.ends_with(':');
    let code = code.trim().trim_start_matches("$ ").trim();
    let words: Vec<&str> = code.split_whitespace().collect();
    match words.as_slice() {
        [] => true,
        [word] => !is_shown && is_program(word) && !is_described(after),
        [first, second, ..] => !is_shown && begins_command(first, second, words.len()),
    }
}

/// True if the words after a name say that it exists.
fn is_described(after: &str) -> bool {
    let words: Vec<String> = after.split_whitespace().take(4).map(bare_word).collect();
    let mut words = words.iter().map(String::as_str).filter(|word| !matches!(*word, "now" | "file" | "folder" | "not"));
    match words.next() {
        Some("is" | "are" | "was" | "gets") => words.next().is_some_and(|word| STATES.contains(&word)),
        Some(word) => EXISTS.contains(&word),
        None => false,
    }
}

fn bare_word(word: &str) -> String {
    word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase()
}

fn last_word(before: &str) -> Option<String> {
    before.split_whitespace().next_back().map(bare_word).filter(|word| !word.is_empty())
}

/// True if one word is a program that can be run, not a path, a name in code, a value or an address.
fn is_program(word: &str) -> bool {
    let has_letter = word.contains(char::is_alphabetic) || matches!(word, ":" | "[");
    let is_name = word.starts_with(char::is_uppercase) && word.chars().count() > 1;
    let is_code = word.starts_with(['-', '{', '"', '\'', '<', '@', '#'])
        || word.contains(['(', '{', '<', '=', ','])
        || word.contains("::")
        || word.contains("://")
        || word.ends_with([':', ';', ')', '!', '?']);
    has_letter && !is_name && !is_code && !is_path_alone(word)
}

/// True if two or more words begin as a command line does.
fn begins_command(first: &str, second: &str, count: usize) -> bool {
    let is_shouted = first.len() > 1 && first.bytes().all(|byte| byte.is_ascii_uppercase());
    let is_sentence = count < 8
        && first.starts_with(char::is_uppercase)
        && first.chars().skip(1).all(char::is_lowercase)
        && first.len() > 1
        && second.chars().all(char::is_alphabetic);
    let is_code = ["{\"", "[{", "<", "-", "//", "\"", "@"].iter().any(|mark| first.starts_with(mark))
        && !first.starts_with("<(")
        || first.ends_with([':', ',', ';']) && first != ":"
        || first.contains("::")
        || first.ends_with("()")
        || matches!(second, "=" | "==" | "=>" | "->" | ":=" | "!=" | "===" | "+=")
        || is_keyword(first, second);
    let is_quoted_program = first.starts_with('"') && first.ends_with('"') && first.contains('/');
    (!is_shouted && !is_sentence && !is_code || is_quoted_program) && !first.ends_with('/')
}

/// True for the first words of definitions in programming languages.
fn is_keyword(first: &str, second: &str) -> bool {
    match first {
        "fn" | "def" | "class" | "struct" | "enum" | "impl" | "trait" | "const" | "let" | "var" | "pub" | "func"
        | "interface" | "private" | "public" | "async" | "function" | "return" | "mod" => true,
        "use" => second.contains("::"),
        _ => false,
    }
}

/// True for one word that is a path and no program: `src/generated/`, `README.md`; false for `./check` and `scripts/x.sh`.
fn is_path_alone(word: &str) -> bool {
    const SCRIPTS: [&str; 10] = ["sh", "bash", "zsh", "fish", "bat", "cmd", "ps1", "exe", "run", "com"];
    const RUN_FROM: [&str; 12] =
        ["./", "../", "~/", "$", "/bin/", "/usr/", "/opt/", "/sbin/", "bin/", "script/", "scripts/", ".venv/bin/"];
    const BUILD_FILES: [&str; 6] = ["makefile", "dockerfile", "gemfile", "rakefile", "justfile", "procfile"];
    let name = word.rsplit('/').next().unwrap_or_default();
    // The dot of a hidden file does not start an extension.
    let extension = name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()).map(|(_, extension)| extension);
    let is_script = |extension: &str| SCRIPTS.contains(&extension);
    let is_run =
        RUN_FROM.iter().any(|folder| word.starts_with(folder)) || word.contains("/bin/") || word.contains("/.bin/");
    let is_folder = name.is_empty() || matches!(name, "." | ".." | "*" | "**");
    match extension {
        // Folders, hidden files and globs are never programs.
        _ if is_folder || name.starts_with('.') || word.contains('*') => true,
        _ if BUILD_FILES.contains(&word.to_lowercase().as_str()) => true,
        // Scripts are programs in any folder.
        Some(extension) if is_script(extension) => false,
        // In folders of programs, only the extensions of sources and documents mark a path.
        Some(extension) if is_run => matches!(
            extension,
            "rs" | "md"
                | "txt"
                | "json"
                | "toml"
                | "yaml"
                | "yml"
                | "lock"
                | "html"
                | "css"
                | "ts"
                | "go"
                | "c"
                | "h"
                | "java"
        ),
        // `report.md` is a path; `1.5` is not, because its extension has no letter.
        Some(extension) => extension.chars().all(char::is_alphanumeric) && extension.contains(char::is_alphabetic),
        // Without an extension, only a slash distinguishes a path from the name of a program.
        None => word.contains('/') && !is_run,
    }
}

/// True if `between` only joins two commands of one line.
fn joins(between: &str) -> bool {
    let words = between.split(|c: char| c.is_whitespace() || ",;.&+/、，；".contains(c));
    words.filter(|word| !word.is_empty()).all(|word| matches!(word, "and" | "then"))
}
