//! How a person calls this program: the exact commands that answer a question or go on. Knows words only.

use std::path::{Path, PathBuf};

/// The program as it was called.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    pub bin: String,
    /// The store, where it was given on the command line.
    pub store: Option<PathBuf>,
}

impl Caller {
    /// Returns a command on a thread, as a shell takes it.
    pub(crate) fn on(&self, verb: &str, thread: &str) -> String {
        self.spelled(&format!("{verb} {}", quoted(thread)))
    }

    /// Returns a command, as a shell takes it.
    pub(crate) fn spelled(&self, words: &str) -> String {
        let store = self.store.as_deref().map(Path::to_string_lossy);
        let store = store.map(|path| format!(" --store {}", quoted(&path))).unwrap_or_default();
        format!("{} {words}{store}", quoted(&self.bin))
    }
}

/// Returns a word so that a shell takes it as one.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:@%+=,#".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) && !word.starts_with(['#', '-']) {
        return word.to_owned();
    }
    if word.chars().any(char::is_control) {
        return format!("$'{}'", word.chars().map(escaped).collect::<String>()); // nothing moves the cursor
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// As bash and zsh read it between `$'` and `'`.
fn escaped(c: char) -> String {
    match c {
        '\'' | '\\' => format!("\\{c}"),
        c if c.is_control() => c.to_string().bytes().map(|byte| format!("\\x{byte:02x}")).collect(),
        c => c.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("essay-1", "essay-1")]
    #[case("an essay", "'an essay'")]
    #[case("it's", r"'it'\''s'")]
    #[case("", "''")]
    #[case("-x", "'-x'")]
    #[case("a\u{1b}[2J", r"$'a\x1b[2J'")]
    fn words_survive_a_shell(#[case] word: &str, #[case] written: &str) {
        assert_eq!(quoted(word), written);
    }
}
