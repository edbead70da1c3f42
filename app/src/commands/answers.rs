//! Commands by which people take part in a thread: answers as JSON, as plain words, or as a text edited in `$EDITOR`; and
//! signals.

use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::process::Command;

use super::session::{CommandOutput, Session, json_argument};
use crate::args::{AnswerTo, Decision, EditArgs, Resume, Signal};
use crate::failure::Failure;
use crate::local::answer;
use crate::service::{AnswerInput, AnswerRequest, SignalInput, ThreadRequest};
use crate::shapes::{Draft, SignalReport, ThreadReport};
use crate::stops::StopArgs;
use crate::text::clean;
use crate::threads::RunRequest;

impl Session {
    pub(super) async fn resume(&self, args: Resume) -> Result<CommandOutput, Failure> {
        let Resume { thread, answer, to } = args;
        let Some(text) = answer else {
            return if to.record_only || to.interrupt.is_some() {
                Err(Failure::usage("there is no answer to store").help("add `--answer JSON`"))
            } else {
                self.proceed(&thread, &StopArgs::default(), to.mode).await
            };
        };
        self.answer_question(thread, AnswerInput::Json(json_argument("--answer", &text)?), to).await
    }

    pub(super) async fn decide(&self, decision: Decision) -> Result<CommandOutput, Failure> {
        let Decision { thread, reply, to } = decision;
        self.answer_question(thread, AnswerInput::Reply(reply), to).await
    }

    pub(super) async fn answer_question(
        &self,
        thread: String,
        says: AnswerInput,
        to: AnswerTo,
    ) -> Result<CommandOutput, Failure> {
        let AnswerTo { interrupt, by, note, record_only, mode } = to;
        let request = AnswerRequest { thread: thread.clone(), says, interrupt, by, note };
        if record_only {
            let report: ThreadReport = self.call(ThreadRequest::Answer(request)).await?;
            self.wake(&thread).await?;
            return self.output_with_note(report, 0, "the answer is stored");
        }
        let local = self.store_to_answer().await?;
        let found = local.thread(&thread).await?;
        let answer = answer(&found, request).await?;
        if let Some(owner) = found.post_to_owner(&answer).await? {
            let report = found.report().await?;
            return self.output_with_note(report, 0, &format!("the answer is stored: {owner} takes it"));
        }
        self.run_interactive(&found, &thread, RunRequest::Answer(Box::new(answer)), mode).await
    }

    pub(super) async fn signal(&self, args: Signal) -> Result<CommandOutput, Failure> {
        let Signal { thread, name, value, by, note, key, discard } = args;
        if let Some(signal) = discard {
            return self.discard(thread, signal).await;
        }
        let value = value.map_or(Ok(serde_json::Value::Null), |text| json_argument("JSON", &text))?;
        let request = SignalInput { thread: thread.clone(), name: name.clone(), value, by, note, key: key.clone() };
        let sent: SignalReport = self.call(ThreadRequest::Signal(request)).await?;
        self.wake(&thread).await?;
        let with = key.map(|key| format!(" with the key `{}`", clean(&key))).unwrap_or_default();
        let runner = if sent.report.status == "pending" { ": a runner resumes the thread, or you" } else { "" };
        let note = format!("signal `{}`{with} is stored ({}){runner}", clean(&name), sent.signal);
        let output = self.output_with_note(sent.report.clone(), 0, &note)?;
        Ok(CommandOutput { json: crate::failure::json(&sent)?, ..output })
    }

    async fn discard(&self, thread: String, signal: String) -> Result<CommandOutput, Failure> {
        let report: ThreadReport = self.call(ThreadRequest::Discard { thread, signal: signal.clone() }).await?;
        self.output_with_note(report, 0, &format!("signal {} is discarded", clean(&signal)))
    }

    pub(super) async fn edit(&self, args: EditArgs) -> Result<CommandOutput, Failure> {
        let EditArgs { thread, to } = args;
        let request = ThreadRequest::Draft { thread: thread.clone(), interrupt: to.interrupt.clone() };
        let Draft { id, text } = self.call(request).await?;
        let Some(edited) = edit_text(&text)? else {
            let error = "the text was not changed: the question is still pending".to_owned();
            return Err(Failure::new(error).hint("`{status}` shows the other commands that answer the question"));
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
            let error = format!("the editor exited with {status}: the question is still pending");
            Err(Failure::new(error).help("set $EDITOR to your editor"))
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
        let error = format!("{}; your text is saved in {}", failure.error, self.path.display());
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
    let name = format!("superstep-{}-{}.md", std::process::id(), crate::time::now());
    let path = std::env::temp_dir().join(name);
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(&path)?.write_all(text.as_bytes())?;
    Ok(EditedText { text: String::new(), path, is_kept: true })
}
