//! `--interactive`: asks each pending question on the terminal and reads the answer from standard input.

use std::io::stdin;

use serde_json::Value;

use super::editor::{EditedText, edit_text};
use super::output::CommandOutput;
use super::session::Session;
use crate::app::args::InteractiveArg;
use crate::app::decide::{Reply, Verdict};
use crate::app::erased::{AnyThread, RunRequest};
use crate::app::failure::Failure;
use crate::app::print::{note, print_failure};
use crate::app::service::{AnswerInput, AnswerRequest};
use crate::app::shapes::OpenQuestion;
use crate::app::{local, signal, text};
use crate::graph::Answer;

impl Session {
    /// Runs a thread. With `--interactive`, asks its questions and resumes it until there are no more, or no answer.
    pub(super) async fn run_interactive(
        &self,
        thread: &dyn AnyThread,
        name: &str,
        go: RunRequest,
        interaction: InteractiveArg,
    ) -> Result<CommandOutput, Failure> {
        let mut output = self.follow(thread, name, go).await?;
        if !interaction.interactive {
            return Ok(output);
        }
        loop {
            let Some(asked) = thread.report().await?.position.questions.into_iter().next() else { return Ok(output) };
            let Some((answer, draft)) = read_answer(thread, name, asked).await? else { return Ok(output) };
            match keep_on_failure(draft, self.follow(thread, name, RunRequest::Answer(Box::new(answer))).await) {
                Ok(next) => output = next,
                Err(failure) => report_usage_error(failure)?,
            }
        }
    }
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
    let wanted = Failure { hint: None, help: None, ..failure };
    print_failure(&wanted, false);
    Ok(())
}

/// Exit code of wrong usage.
const USAGE: u8 = 2;

/// An answer, and its text if it was written in an editor.
type SpokenAnswer = (Answer, Option<EditedText>);

/// Asks until there is a valid answer; none at the end of input or after cancellation.
async fn read_answer(thread: &dyn AnyThread, name: &str, asked: OpenQuestion) -> Result<Option<SpokenAnswer>, Failure> {
    note(&text::questions(std::slice::from_ref(&asked)));
    loop {
        note(&format!("{}\n> ", ways(&asked)));
        let Some(line) = line().await else { return Ok(None) };
        let mut draft = None;
        let says = match line.trim() {
            "edit" if asked.editable => match edit_text(&thread.draft(asked.id.parse().ok()).await?.text)? {
                Some(edited) => AnswerInput::Edited(draft.insert(edited).text.clone()),
                None => continue,
            },
            line => match read(line, &asked) {
                Some(says) => says,
                None => continue,
            },
        };
        let interrupt = Some(asked.id.clone());
        let request = AnswerRequest { thread: name.to_owned(), says, interrupt, by: None, note: None };
        match (local::answer(thread, request).await, draft) {
            (Ok(answer), draft) => return Ok(Some((answer, draft))),
            (Err(failure), draft) => keep_on_failure(draft, Err(failure)).or_else(report_usage_error)?,
        }
    }
}

/// Returns the ways in which the question can be answered.
fn ways(asked: &OpenQuestion) -> String {
    let ways = asked.words.iter().map(|word| match word.as_str() {
        "approve" => "approve, ".to_owned(),
        word => format!("{word} TEXT, "),
    });
    let ways = ways.collect::<String>();
    let ways = if asked.editable { format!("{ways}edit, ") } else { ways };
    let meant = text::meant(asked).map(|meant| format!(" ({meant})")).unwrap_or_default();
    format!("answer with {ways}or JSON as above{meant}; the end of input leaves it open")
}

/// Parses a line: a plain word that fits the question, with or without text; JSON; else a string.
fn read(line: &str, asked: &OpenQuestion) -> Option<AnswerInput> {
    let line = line.trim();
    let (word, rest) = line.split_once(char::is_whitespace).map_or((line, ""), |(word, rest)| (word, rest.trim()));
    let text = Some(rest.to_owned()).filter(|rest| !rest.is_empty());
    let fits = asked.words.iter().any(|known| known == word);
    let verdict = match (word, &text) {
        ("", _) => return None,
        ("approve", None) if fits => Verdict::Approve,
        ("reject", _) if fits => Verdict::Reject,
        ("revise", Some(_)) if fits => Verdict::Revise,
        _ => return Some(AnswerInput::Json(serde_json::from_str(line).unwrap_or_else(|_| Value::from(line)))),
    };
    Some(AnswerInput::Reply(Reply { verdict, feedback: text, by: None }))
}

/// Reads a line of standard input; none at its end, or after Ctrl-C. A detached thread reads it, so that the end of the
/// process does not wait for it.
async fn line() -> Option<String> {
    let (sender, receiver) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        let read = stdin().read_line(&mut line).ok().filter(|read| *read > 0);
        _ = sender.send(read.map(|_| line));
    });
    let cancel = signal::cancel_on_signal();
    tokio::select! {
        line = receiver => line.ok().flatten(),
        () = cancel.token.cancelled() => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(verdict: Verdict, feedback: Option<&str>) -> AnswerInput {
        AnswerInput::Reply(Reply { verdict, feedback: feedback.map(str::to_owned), by: None })
    }

    fn parsed(line: &str) -> Option<AnswerInput> {
        let words = ["approve", "reject", "revise"].map(str::to_owned).to_vec();
        read(line, &OpenQuestion { words, ..OpenQuestion::default() })
    }

    #[rstest::rstest]
    #[case(" approve\n", Some(reply(Verdict::Approve, None)))]
    #[case("reject", Some(reply(Verdict::Reject, None)))]
    #[case("reject too long\n", Some(reply(Verdict::Reject, Some("too long"))))]
    #[case("revise  shorter, please", Some(reply(Verdict::Revise, Some("shorter, please"))))]
    #[case("revise", Some(AnswerInput::Json("revise".into())))]
    #[case("skip", Some(AnswerInput::Json("skip".into())))]
    #[case("\"skip\"", Some(AnswerInput::Json("skip".into())))]
    #[case("{\"retry\": {}}", Some(AnswerInput::Json(serde_json::json!({"retry": {}}))))]
    #[case(" \n", None)]
    fn lines_are_read_as_they_are_meant(#[case] line: &str, #[case] means: Option<AnswerInput>) {
        assert_eq!(parsed(line), means);
    }
}
