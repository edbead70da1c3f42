//! `edit`: answers a question with a text that a person edits.

use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::process::Command;

use super::output::CommandOutput;
use super::session::Session;
use crate::app::args::{AnswerTo, Edit};
use crate::app::failure::Failure;
use crate::app::service::{AnswerInput, ThreadRequest};
use crate::app::shapes::Draft;

impl Session {
    pub(super) async fn edit(&self, args: Edit) -> Result<CommandOutput, Failure> {
        let Edit { thread, to } = args;
        let request = ThreadRequest::Draft { thread: thread.clone(), interrupt: to.interrupt.clone() };
        let Draft { id, text } = self.call(request).await?;
        let Some(edited) = edit_text(&text)? else {
            let error = "the text was left as it was: nothing is answered".to_owned();
            return Err(Failure::new(error).hint("`{status}` shows what else answers the question"));
        };
        let says = AnswerInput::Edited(edited.text.clone());
        let answered = self.answer_question(thread, says, AnswerTo { interrupt: Some(id), ..to }).await;
        edited.keep_on_failure(answered)
    }
}

/// Opens a text in the person's editor and returns the saved one; none if it is unchanged.
pub(super) fn edit_text(text: &str) -> Result<Option<EditedText>, Failure> {
    let failed = |error: &std::io::Error| Failure::new("the text cannot be edited").because(error);
    let mut file = tempfile(text).map_err(|error| failed(&error))?;
    let saved = match open(&file.path) {
        Ok(status) if status.success() => std::fs::read_to_string(&file.path).map_err(|error| failed(&error)),
        Ok(status) => {
            let error = format!("the editor ended with {status}: nothing is answered");
            Err(Failure::new(error).help("set $EDITOR to the one you use"))
        }
        Err(error) => Err(failed(&error)),
    };
    file.text = saved.map_err(|failure| file.with_path(failure))?;
    if file.text == text {
        file.is_kept = false;
        return Ok(None);
    }
    Ok(Some(file))
}

fn open(path: &Path) -> std::io::Result<std::process::ExitStatus> {
    let named = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let editor = named("VISUAL").or_else(|| named("EDITOR")).unwrap_or_else(|| "vi".into());
    let mut line = editor;
    line.push(OsString::from(" \"$1\""));
    Command::new("sh").arg("-c").arg(line).arg("sh").arg(path).status() // `$EDITOR` may have arguments of its own
}

/// An edited text in a file that only its owner can read. The file is removed once it is not needed any more.
pub(super) struct EditedText {
    pub(super) text: String,
    path: std::path::PathBuf,
    is_kept: bool,
}

impl EditedText {
    /// Removes the file if the answer succeeded; else adds its path to the error.
    pub(super) fn keep_on_failure<T>(mut self, answered: Result<T, Failure>) -> Result<T, Failure> {
        self.is_kept = answered.is_err();
        answered.map_err(|failure| self.with_path(failure))
    }

    fn with_path(&self, failure: Failure) -> Failure {
        let error = format!("{}; what you wrote is kept in {}", failure.error, self.path.display());
        Failure { error, ..failure }
    }
}

impl Drop for EditedText {
    fn drop(&mut self) {
        if !self.is_kept {
            _ = std::fs::remove_file(&self.path);
        }
    }
}

fn tempfile(text: &str) -> std::io::Result<EditedText> {
    let name = format!("superstep-{}-{}.md", std::process::id(), crate::app::time::now());
    let path = std::env::temp_dir().join(name);
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(&path)?.write_all(text.as_bytes())?;
    Ok(EditedText { text: String::new(), path, is_kept: true })
}
