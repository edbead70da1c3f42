//! `--interactive`: asks each pending question on the terminal and reads the answer from standard input.

use std::io::stdin;

use superstep::graph::interrupt::ReplyKind;
use superstep::graph::{Answer, Reply};

use super::answers::{EditedText, edit_text};
use super::session::{CommandOutput, Session};
use crate::args::RunModeArgs;
use crate::failure::{Call, Failure};
use crate::service::{AnswerInput, AnswerRequest};
use crate::shapes::OpenQuestion;
use crate::terminal::{self, note, print_failure};
use crate::threads::{AppThread, RunRequest};
use crate::watch::View;
use crate::{local, text};

impl Session {
    /// Runs a thread. With `--interactive`, asks its questions and resumes it until there are no more, or no answer.
    ///
    /// Boxed, as each command that runs something has it: without optimization, they would all keep room for it on the stack.
    pub(super) fn run_interactive<'a>(
        &'a self,
        thread: &'a AppThread,
        name: &'a str,
        go: RunRequest,
        mode: RunModeArgs,
    ) -> Call<'a, CommandOutput> {
        Box::pin(async move {
            if mode.queue || self.place_elsewhere(thread).await?.is_some() {
                return self.queue(thread, name, go, mode.wait).await;
            }
            let output = self.run_request(thread, name, go).await?;
            match mode.interactive {
                true => self.ask_until_done(thread, name, output).await,
                false => {
                    self.note_unread(&output);
                    Ok(output)
                }
            }
        })
    }

    /// Asks the questions of a thread and resumes it until there are no more, or no answer.
    async fn ask_until_done(
        &self,
        thread: &AppThread,
        name: &str,
        mut output: CommandOutput,
    ) -> Result<CommandOutput, Failure> {
        let mut shown = None;
        loop {
            let Some(asked) = thread.report().await?.position.questions.into_iter().next() else { return Ok(output) };
            if shown.as_ref() != Some(&asked.id) {
                note(&text::questions(std::slice::from_ref(&asked)));
                shown = Some(asked.id.clone());
            }
            let Some((answer, draft)) = read_answer(thread, name, asked).await? else { return Ok(output) };
            match keep_on_failure(draft, self.run_request(thread, name, RunRequest::Answer(Box::new(answer))).await) {
                Ok(next) => output = next,
                Err(failure) => report_usage_error(failure)?,
            }
        }
    }

    /// Names the option that takes answers from standard input, if somebody has written some there.
    fn note_unread(&self, output: &CommandOutput) {
        let asks = output.json["questions"].as_array().is_some_and(|questions| !questions.is_empty());
        if asks && self.view != View::Quiet && holds_input() {
            note("note: standard input was not read: `--interactive` takes answers from it\n");
        }
    }
}

/// Returns true if standard input is a pipe or a file that holds something.
#[cfg(unix)]
fn holds_input() -> bool {
    use std::os::unix::fs::FileTypeExt;
    let Ok(input) = std::os::fd::AsFd::as_fd(&stdin()).try_clone_to_owned().map(std::fs::File::from) else {
        return false;
    };
    let Ok(about) = input.metadata() else { return false };
    let is_piped = about.file_type().is_fifo() && rustix::io::ioctl_fionread(&input).is_ok_and(|count| count > 0);
    is_piped || (about.is_file() && about.len() > 0)
}

#[cfg(not(unix))]
fn holds_input() -> bool {
    false
}

/// Reports the fate of an answer that may have been written in an editor.
fn keep_on_failure<T>(draft: Option<EditedText>, done: Result<T, Failure>) -> Result<T, Failure> {
    match draft {
        Some(draft) => draft.keep_on_failure(done),
        None => done,
    }
}

/// Prints a usage error and asks again; returns any other error.
fn report_usage_error(failure: Failure) -> Result<(), Failure> {
    if failure.code != USAGE {
        return Err(failure);
    }
    let wanted = Failure { hint: None, help: None, details: None, ..failure };
    print_failure(&wanted, false);
    Ok(())
}

/// Exit code of wrong usage.
const USAGE: u8 = 2;

/// An answer, and its text if it was written in an editor.
type SpokenAnswer = (Answer, Option<EditedText>);

/// Asks until there is a valid answer; none at the end of input or after cancellation. The question is shown already.
async fn read_answer(thread: &AppThread, name: &str, asked: OpenQuestion) -> Result<Option<SpokenAnswer>, Failure> {
    loop {
        note(&format!("{}\n> ", prompt(&asked)));
        let Some(line) = read_line().await else { return Ok(None) };
        let mut draft = None;
        let says = match parse_line(&line, &asked) {
            InputLine::Nothing => continue,
            InputLine::Help => {
                note(&help(&asked));
                continue;
            }
            InputLine::Misses(problem) => {
                note(&format!("{problem}\n"));
                continue;
            }
            InputLine::Edit => match edit_text(&thread.draft(asked.id.parse().ok()).await?.text)? {
                Some(edited) => AnswerInput::Edited(draft.insert(edited).text.clone()),
                None => continue,
            },
            InputLine::Answer(says) => says,
        };
        let interrupt = Some(asked.id.clone());
        let request = AnswerRequest { thread: name.to_owned(), says, interrupt, by: None, note: None };
        match (local::answer(thread, request).await, draft) {
            (Ok(answer), draft) => return Ok(Some((answer, draft))),
            (Err(failure), draft) => keep_on_failure(draft, Err(failure)).or_else(report_usage_error)?,
        }
    }
}

/// Returns the line that asks for an answer.
fn prompt(asked: &OpenQuestion) -> String {
    let ways = asked.words.iter().map(|word| match word.as_str() {
        "approve" => "approve, ".to_owned(),
        word => format!("{word} TEXT, "),
    });
    let ways = ways.collect::<String>();
    let ways = if asked.editable { format!("{ways}edit, ") } else { ways };
    let meant = text::answer_meanings(asked).map(|meant| format!(" ({meant})")).unwrap_or_default();
    format!("answer with {ways}or JSON{meant}; ? shows help; the end of input leaves it pending")
}

/// Explains the ways in which the question can be answered.
fn help(asked: &OpenQuestion) -> String {
    let word = |word: &String| match word.as_str() {
        "approve" => "  approve, yes, y      answer yes\n",
        "reject" => "  reject, no, n        answer no; `reject TEXT` adds a reason, if the question takes one\n",
        "revise" => "  revise TEXT          request a revision with these changes\n",
        _ => "",
    };
    let words: String = asked.words.iter().map(word).collect();
    let edit = if asked.editable {
        "  edit                 edit the text in $EDITOR; the saved text is the answer\n"
    } else {
        ""
    };
    let takes = text::clean(&asked.takes);
    format!("{words}{edit}  any other line       JSON, or otherwise a text; the question takes {takes}\n")
}

/// A line that a person typed.
#[derive(Debug, PartialEq)]
enum InputLine {
    Nothing,
    Help,
    Edit,
    Answer(AnswerInput),
    /// No answer, with what is missing.
    Misses(&'static str),
}

/// Parses a line: a plain word that fits the question, with or without text; JSON; else a string.
fn parse_line(line: &str, asked: &OpenQuestion) -> InputLine {
    let line = line.trim();
    let (word, rest) = line.split_once(char::is_whitespace).map_or((line, ""), |(word, rest)| (word, rest.trim()));
    let text = Some(rest.to_owned()).filter(|rest| !rest.is_empty());
    let fits = |kind: ReplyKind| asked.words.iter().any(|known| known == kind.word());
    let kind = match (word.to_lowercase().as_str(), &text) {
        ("", _) => return InputLine::Nothing,
        ("?" | "help", None) => return InputLine::Help,
        ("edit", None) if asked.editable => return InputLine::Edit,
        ("approve" | "yes" | "y", None) if fits(ReplyKind::Approve) => ReplyKind::Approve,
        ("reject", _) | ("no" | "n", None) if fits(ReplyKind::Reject) => ReplyKind::Reject,
        ("revise", Some(_)) if fits(ReplyKind::Revise) => ReplyKind::Revise,
        ("revise", None) if fits(ReplyKind::Revise) => return InputLine::Misses("`revise` needs a text: revise TEXT"),
        ("yes" | "y" | "no" | "n", None) if !asked.words.is_empty() => {
            return InputLine::Misses("the question takes no yes or no of this kind: ? lists its answers");
        }
        _ => return InputLine::Answer(AnswerInput::Json(serde_json::from_str(line).unwrap_or_else(|_| line.into()))),
    };
    InputLine::Answer(AnswerInput::Reply(Reply { kind, feedback: text, by: None }))
}

/// Reads a line of standard input; none at its end, or after Ctrl-C. A detached thread reads it, so that the end of the
/// process does not wait for it.
async fn read_line() -> Option<String> {
    let (sender, receiver) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        let read = stdin().read_line(&mut line).ok().filter(|read| *read > 0);
        _ = sender.send(read.map(|_| line));
    });
    let cancel = terminal::cancel_on_signal();
    tokio::select! {
        line = receiver => line.ok().flatten(),
        () = cancel.token.cancelled() => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn reply(kind: ReplyKind, feedback: Option<&str>) -> InputLine {
        InputLine::Answer(AnswerInput::Reply(Reply { kind, feedback: feedback.map(str::to_owned), by: None }))
    }

    fn json(value: impl Into<Value>) -> InputLine {
        InputLine::Answer(AnswerInput::Json(value.into()))
    }

    fn asked(words: &[&str]) -> OpenQuestion {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        OpenQuestion { words, ..OpenQuestion::default() }
    }

    const ALL: [&str; 3] = ["approve", "reject", "revise"];

    #[rstest::rstest]
    #[case(" approve\n", reply(ReplyKind::Approve, None))]
    #[case("yes\n", reply(ReplyKind::Approve, None))]
    #[case("Y", reply(ReplyKind::Approve, None))]
    #[case("reject", reply(ReplyKind::Reject, None))]
    #[case("no", reply(ReplyKind::Reject, None))]
    #[case("N\n", reply(ReplyKind::Reject, None))]
    #[case("reject too long\n", reply(ReplyKind::Reject, Some("too long")))]
    #[case("revise  shorter, please", reply(ReplyKind::Revise, Some("shorter, please")))]
    #[case("revise", InputLine::Misses("`revise` needs a text: revise TEXT"))]
    #[case("?", InputLine::Help)]
    #[case("help\n", InputLine::Help)]
    #[case("help me", json("help me"))]
    #[case("yes, but later", json("yes, but later"))]
    #[case("edit", json("edit"))]
    #[case("skip", json("skip"))]
    #[case("\"skip\"", json("skip"))]
    #[case("{\"retry\": {}}", json(serde_json::json!({"retry": {}})))]
    #[case(" \n", InputLine::Nothing)]
    fn lines_are_read_as_they_are_meant(#[case] line: &str, #[case] means: InputLine) {
        assert_eq!(parse_line(line, &asked(&ALL)), means);
    }

    #[rstest::rstest]
    #[case::a_text("yes", &[], json("yes"))]
    #[case::a_text_too("n", &[], json("n"))]
    #[case::only_one_way("yes", &["reject"], InputLine::Misses("the question takes no yes or no of this kind: ? lists its answers"))]
    fn yes_and_no_are_words_where_they_fit_and_text_where_nothing_else_is_asked_for(
        #[case] line: &str,
        #[case] words: &[&str],
        #[case] means: InputLine,
    ) {
        assert_eq!(parse_line(line, &asked(words)), means);
    }

    #[test]
    fn help_explains_each_way() {
        let question = OpenQuestion { editable: true, ..asked(&ALL) };
        insta::assert_snapshot!(help(&question), @r"
          approve, yes, y      answer yes
          reject, no, n        answer no; `reject TEXT` adds a reason, if the question takes one
          revise TEXT          request a revision with these changes
          edit                 edit the text in $EDITOR; the saved text is the answer
          any other line       JSON, or otherwise a text; the question takes 
        ");
    }
}
