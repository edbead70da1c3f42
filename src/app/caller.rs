//! The program as it was called: builds shell commands that answer a question or resume a thread. Knows no store.

use std::path::{Path, PathBuf};

use super::text::needs_escape;

#[derive(Clone, Debug)]
pub(crate) struct Caller {
    pub bin: String,
    /// Path of the store, if given on the command line.
    pub store: Option<PathBuf>,
}

impl Caller {
    /// Returns a shell command about a thread; `words` is the command and its options: `events --follow`.
    pub(crate) fn thread_command(&self, words: &str, thread: &str) -> String {
        let (verb, rest) =
            words.split_once(' ').map_or((words, String::new()), |(verb, rest)| (verb, format!(" {rest}")));
        let (bin, store, thread_quoted) = (shell_word(&self.bin), self.given_store(), shell_word(thread));
        if thread.starts_with('-') {
            return format!("{bin} {verb}{store}{rest} -- {thread_quoted}"); // else it would be taken for an option
        }
        format!("{bin} {verb} {thread_quoted}{store}{rest}")
    }

    /// Returns a shell command about no thread.
    pub(crate) fn command(&self, words: &str) -> String {
        format!("{} {words}{}", shell_word(&self.bin), self.given_store())
    }

    fn given_store(&self) -> String {
        let Some(path) = self.store.as_deref().map(Path::to_string_lossy) else { return String::new() };
        let is = if path.starts_with('-') { '=' } else { ' ' };
        format!(" --store{is}{}", shell_word(&path))
    }
}

/// Quotes a word for a shell, where that is needed; control characters are escaped, so that a terminal only shows them.
///
/// ```
/// assert_eq!(superstep::app::shell_word("the tides"), "'the tides'");
/// ```
pub fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:@%+=,#".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) && !word.starts_with(['#', '-', '=']) {
        return word.to_owned();
    }
    if word.chars().any(needs_escape) {
        return format!("$'{}'", word.chars().map(escaped).collect::<String>());
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Escapes a character as bash and zsh read it between `$'` and `'`.
fn escaped(c: char) -> String {
    match c {
        '\'' | '\\' => format!("\\{c}"),
        c if needs_escape(c) => c.to_string().bytes().map(|byte| format!("\\x{byte:02x}")).collect(),
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
    #[case("=x", "'=x'")]
    #[case("a\u{1b}[2J", r"$'a\x1b[2J'")]
    #[case("it's\u{202e}", r"$'it\'s\xe2\x80\xae'")]
    fn words_survive_a_shell(#[case] word: &str, #[case] written: &str) {
        assert_eq!(shell_word(word), written);
    }

    #[rstest::rstest]
    #[case(None, "a b", "tool events 'a b' --follow")]
    #[case(None, "-x", "tool events --follow -- '-x'")]
    #[case(Some("-s"), "-x", "tool events --store='-s' --follow -- '-x'")]
    #[case(Some("s"), "x", "tool events x --store s --follow")]
    fn a_name_is_no_option(#[case] store: Option<&str>, #[case] thread: &str, #[case] written: &str) {
        let caller = Caller { bin: "tool".into(), store: store.map(PathBuf::from) };
        assert_eq!(caller.thread_command("events --follow", thread), written);
    }
}
