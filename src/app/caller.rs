//! The program as it was called: builds shell commands that answer a question or resume a thread. Knows no store.

use std::path::{Path, PathBuf};

use superstep_base::shell::shell_word;

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

#[cfg(test)]
mod tests {
    use super::*;

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
