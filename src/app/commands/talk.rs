//! `--interactive`: what a run asks is asked here, one question after the other, and answered in lines of standard input.

use std::io::stdin;

use serde_json::Value;

use super::editor::{Edited, edited};
use super::output::CommandOutput;
use super::session::Session;
use crate::app::{
    args::Talk,
    desk::{AnswerAsk, Saying},
    erased::{AnyThread, Go},
    failure::Failure,
    local,
    print::{complain, note},
    shapes::Asked,
    signal, text,
};
use crate::graph::Answer;

impl Session {
    /// Runs a thread; if somebody sits there, asks what it asks and goes on, until it asks no more or nobody answers.
    pub(super) async fn converse(
        &self,
        thread: &dyn AnyThread,
        name: &str,
        go: Go,
        talk: Talk,
    ) -> Result<CommandOutput, Failure> {
        let mut output = self.follow(thread, name, go).await?;
        if !talk.interactive {
            return Ok(output);
        }
        loop {
            let Some(asked) = thread.stand().await?.position.questions.into_iter().next() else { return Ok(output) };
            let Some((answer, draft)) = read_answer(thread, name, asked).await? else { return Ok(output) };
            match settled(draft, self.follow(thread, name, Go::Answer(Box::new(answer))).await) {
                Ok(next) => output = next,
                Err(failure) => again(failure)?,
            }
        }
    }
}

/// Reports the fate of an answer that may have been written in an editor.
fn settled<T>(draft: Option<Edited>, done: Result<T, Failure>) -> Result<T, Failure> {
    match draft {
        Some(draft) => draft.settled(done),
        None => done,
    }
}

/// Prints a usage error and asks again; returns any other error.
fn again(failure: Failure) -> Result<(), Failure> {
    if failure.code != USAGE {
        return Err(failure);
    }
    let wanted = Failure { hint: None, help: None, ..failure };
    complain(&wanted, false);
    Ok(())
}

/// The exit code of wrong usage.
const USAGE: u8 = 2;

/// An answer, and the text that it is, if that was written in an editor.
type SpokenAnswer = (Answer, Option<Edited>);

/// Asks until there is an answer; none if there are no more lines, or the run is cancelled.
async fn read_answer(thread: &dyn AnyThread, name: &str, asked: Asked) -> Result<Option<SpokenAnswer>, Failure> {
    note(&text::questions(std::slice::from_ref(&asked)));
    loop {
        note(&format!("{}\n> ", ways(&asked)));
        let Some(line) = line().await else { return Ok(None) };
        let mut draft = None;
        let says = match line.trim() {
            "edit" if asked.editable => match edited(&thread.draft(asked.id.parse().ok()).await?.text)? {
                Some(edited) => Saying::Edited(draft.insert(edited).text.clone()),
                None => continue,
            },
            line => match read(line, &asked) {
                Some(says) => says,
                None => continue,
            },
        };
        let interrupt = Some(asked.id.clone());
        let ask = AnswerAsk { thread: name.to_owned(), says, interrupt, by: None, note: None };
        match (local::answer(thread, ask).await, draft) {
            (Ok(answer), draft) => return Ok(Some((answer, draft))),
            (Err(failure), draft) => settled(draft, Err(failure)).or_else(again)?,
        }
    }
}

/// Returns the ways in which the question can be answered.
fn ways(asked: &Asked) -> String {
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
fn read(line: &str, asked: &Asked) -> Option<Saying> {
    let line = line.trim();
    let (word, rest) = line.split_once(char::is_whitespace).map_or((line, ""), |(word, rest)| (word, rest.trim()));
    let text = Some(rest.to_owned()).filter(|rest| !rest.is_empty());
    let fits = asked.words.iter().any(|known| known == word);
    Some(match (word, text) {
        ("", _) => return None,
        ("approve", None) if fits => Saying::Approve,
        ("reject", text) if fits => Saying::Reject(text),
        ("revise", Some(text)) if fits => Saying::Revise(text),
        _ => Saying::Json(serde_json::from_str(line).unwrap_or_else(|_| Value::from(line))),
    })
}

/// The next line of standard input; none at its end, or after Ctrl-C. Read in a thread of its own: nothing waits for it when
/// the process ends.
async fn line() -> Option<String> {
    let (said, hears) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        let read = stdin().read_line(&mut line).ok().filter(|read| *read > 0);
        _ = said.send(read.map(|_| line));
    });
    let cancel = signal::cancels();
    tokio::select! {
        line = hears => line.ok().flatten(),
        () = cancel.token.cancelled() => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(line: &str) -> Option<Saying> {
        let words = ["approve", "reject", "revise"].map(str::to_owned).to_vec();
        read(line, &Asked { words, ..Asked::default() })
    }

    #[rstest::rstest]
    #[case(" approve\n", Some(Saying::Approve))]
    #[case("reject", Some(Saying::Reject(None)))]
    #[case("reject too long\n", Some(Saying::Reject(Some("too long".into()))))]
    #[case("revise  shorter, please", Some(Saying::Revise("shorter, please".into())))]
    #[case("revise", Some(Saying::Json("revise".into())))]
    #[case("skip", Some(Saying::Json("skip".into())))]
    #[case("\"skip\"", Some(Saying::Json("skip".into())))]
    #[case("{\"retry\": {}}", Some(Saying::Json(serde_json::json!({"retry": {}}))))]
    #[case(" \n", None)]
    fn lines_are_read_as_they_are_meant(#[case] line: &str, #[case] means: Option<Saying>) {
        assert_eq!(said(line), means);
    }
}
