//! The open questions of a thread: how they are shown, and what answers them. Still typed.

use std::sync::Arc;

use serde_json::Value;

use super::decide::{Reply, Verdict, known, name_of};
use super::failure::Failure;
use super::shapes::{Asked, Draft, QuestionShape};
use super::thread::TypedThread;
use crate::checkpoint::ThreadId;
use crate::graph::{Answer, InterruptId, NodeId, Question, RunError, State, Status};

impl<S: State, N: NodeId, C: Send + Sync + 'static> TypedThread<S, N, C> {
    async fn open(&self) -> Result<Vec<Question>, Failure> {
        match self.thread.status().await? {
            Status::Interrupted { questions } => Ok(questions),
            _ => Err(nothing_asked(&self.id)),
        }
    }

    /// The answer that a plain word comes to.
    pub(super) async fn decided(&self, to: Option<InterruptId>, reply: &Reply) -> Result<Answer, Failure> {
        let questions = self.open().await?;
        let question = chosen(&questions, to, &self.id)?;
        let answer = self.answer(question, reply).ok_or_else(|| undecided(question, reply.verdict))?;
        let wordless = Reply { feedback: None, ..reply.clone() };
        if reply.feedback.is_some() && self.answer(question, &wordless).as_ref() == Some(&answer) {
            return Err(unheard(question, reply.verdict));
        }
        Ok(Answer::json(&answer).to(question.id()))
    }

    /// Refuses an answer that cannot be followed.
    pub(super) async fn checked(&self, to: Option<InterruptId>, answer: &Value) -> Result<(), Failure> {
        let Ok(questions) = self.open().await else { return Ok(()) };
        let Ok(question) = chosen(&questions, to, &self.id) else { return Ok(()) };
        match self.reading.questions.problem(question, answer) {
            Some(problem) => Err(Failure::usage(format!("question `{}`: {problem}", question.name()))
                .hint("the question is still open; `{status}` shows it")),
            None => Ok(()),
        }
    }

    /// Returns the text that a person edits to answer a question.
    pub(super) async fn drafted(&self, to: Option<InterruptId>) -> Result<Draft, Failure> {
        let questions = self.open().await?;
        let question = chosen(&questions, to, &self.id)?;
        let state = self.thread.state().await?;
        let text = state.and_then(|state| self.reading.questions.draft(&state.values, question));
        let text = text.ok_or_else(|| unedited(question))?;
        Ok(Draft { id: question.id().to_string(), text })
    }

    /// The answer that an edited text is.
    pub(super) async fn of_edited(&self, to: Option<InterruptId>, text: String) -> Result<Answer, Failure> {
        let questions = self.open().await?;
        let question = chosen(&questions, to, &self.id)?;
        let answer = self.reading.questions.answer(question, text).ok_or_else(|| unedited(question))?;
        Ok(Answer::json(&answer).to(question.id()))
    }

    fn answer(&self, question: &Question, reply: &Reply) -> Option<Value> {
        let mut deciders = self.reading.deciders.iter();
        match deciders.find(|(name, _)| *name == question.name()) {
            Some((_, decide)) => decide(question, reply),
            None => known(question, reply),
        }
    }

    /// The question as it is shown; in words of the program's own where the state is at hand.
    pub(super) fn asked(&self, question: &Question, state: Option<&Arc<S>>) -> Asked {
        let words = [Verdict::Approve, Verdict::Reject, Verdict::Revise];
        let reply = |verdict| Reply { verdict, feedback: Some("..".into()), by: None };
        let fitting: Vec<(Verdict, Value)> =
            words.into_iter().filter_map(|verdict| Some((verdict, self.answer(question, &reply(verdict))?))).collect();
        let mut shape = QuestionShape::from(question);
        if shape.takes == "any JSON" && !fitting.is_empty() {
            let samples = fitting.iter().map(|(_, answer)| answer.to_string());
            shape.takes = samples.collect::<Vec<_>>().join(" or ");
        }
        Asked {
            question: shape,
            words: fitting.iter().map(|(verdict, _)| verdict.word().to_owned()).collect(),
            means: fitting.iter().map(|(_, answer)| name_of(answer)).collect(),
            commands: vec![],
            text: state.and_then(|state| self.reading.questions.text(state, question)),
            editable: state.is_some_and(|state| self.reading.questions.draft(state, question).is_some()),
        }
    }
}

fn nothing_asked(id: &ThreadId) -> Failure {
    Failure::new(format!("thread `{id}` has no open question"))
}

/// The question that an answer is for.
fn chosen<'a>(questions: &'a [Question], to: Option<InterruptId>, id: &ThreadId) -> Result<&'a Question, Failure> {
    let open = questions.iter().filter(|question| to.is_none_or(|to| question.id() == to));
    match open.collect::<Vec<_>>().as_slice() {
        [] => match to {
            Some(to) => Err(RunError::UnknownQuestion { question: to.to_string() }.into()),
            None => Err(nothing_asked(id)),
        },
        [question] => Ok(question),
        several => {
            let ids: Vec<String> = several.iter().map(|asked| format!("{} ({})", asked.id(), asked.name())).collect();
            let help = format!("say which one with `--interrupt ID`: {}", ids.join(", "));
            Err(Failure::new(format!("thread `{id}` has {} open questions", several.len())).help(help))
        }
    }
}

fn undecided(question: &Question, verdict: Verdict) -> Failure {
    let (word, name) = (verdict.word(), question.name());
    Failure::usage(format!("`{word}` cannot answer question `{name}`: it takes {}", question.answer_shape()))
        .hint("answer with `{resume --answer JSON}`")
}

/// Returns the error of feedback that the answer has no place for.
fn unheard(question: &Question, verdict: Verdict) -> Failure {
    let (word, name) = (verdict.word(), question.name());
    Failure::usage(format!("question `{name}` takes no text with `{word}`: what `--feedback` says would be lost"))
        .hint(format!("keep it beside the answer with `{{{word} --note TEXT}}`"))
}

fn unedited(question: &Question) -> Failure {
    let name = question.name();
    Failure::usage(format!("`edit` cannot answer question `{name}`: it takes {}", question.answer_shape()))
        .hint("`{status}` shows what answers it")
}
