//! Answers to the pending interrupts of a thread: checks them, and completes questions and tasks for display.

use std::sync::Arc;

use serde_json::Value;

use super::advice::{in_commands, next_steps, status_text};
use super::events::load_texts;
use super::failure::{Call, Failure, json};
use super::shapes::{Draft, NextStep, OpenQuestion, TaskReport, ThreadReport};
use super::threads::{AppThread, questions_of};
use superstep::checkpoint::{LeaseOwner, ThreadId};
use superstep::graph::interrupt::ReplyKind;
use superstep::graph::view::TaskSnapshot;
use superstep::graph::{Answer, AnyState, InterruptId, Question, Reply, RunError, Status};

impl AppThread {
    /// Stores an answer and runs nothing; a run that holds the thread takes it.
    pub(crate) async fn record(&self, answer: Answer) -> Result<(), Failure> {
        if self.post_to_owner(&answer).await?.is_none() {
            self.thread.clone().max_supersteps(0).answer(answer).await?;
        }
        Ok(())
    }

    /// Stores an answer for the run that holds the thread, and returns whose run it is. Stores nothing if nobody runs it.
    pub(crate) async fn post_to_owner(&self, answer: &Answer) -> Result<Option<Arc<LeaseOwner>>, Failure> {
        let owner = self.store.owner(&self.id).await?;
        if owner.is_some() {
            self.thread.post_answer(answer.clone()).await?;
        }
        Ok(owner)
    }

    async fn open(&self) -> Result<Vec<Question>, Failure> {
        match self.thread.status().await? {
            Status::Interrupted { questions } => Ok(questions),
            Status::Running { .. } => match self.questions_while_running().await? {
                questions if questions.is_empty() => Err(no_open_question(&self.report().await?)),
                questions => Ok(questions),
            },
            _ => Err(no_open_question(&self.report().await?)),
        }
    }

    async fn questions_while_running(&self) -> Result<Vec<Question>, Failure> {
        Ok(self.thread.state().await?.map_or(vec![], |snapshot| questions_of(&snapshot.tasks)))
    }

    /// Converts `approve`, `reject` or `revise` into the answer for the question's type.
    pub(super) async fn decide(&self, to: Option<InterruptId>, reply: &Reply) -> Result<Answer, Failure> {
        let questions = self.open().await?;
        let question = select_question(&questions, to, &self.id)?;
        let Some(answer) = self.answer(question, reply) else {
            let state = self.thread.state().await?;
            let suggested = state.map(|state| self.commands(&state.values, question));
            return Err(not_decidable(question, reply.kind, &suggested.unwrap_or_default()));
        };
        let wordless = Reply { feedback: None, ..reply.clone() };
        if reply.feedback.is_some() && self.answer(question, &wordless).as_ref() == Some(&answer) {
            return Err(feedback_unused(question, reply.kind));
        }
        Ok(Answer::json(&answer).to(question.id()))
    }

    /// Rejects an answer where no question is open, or the graph's own check refuses it; `None` ends the question
    /// without one. An answer to a question that is not open passes: storing it reports why.
    pub(super) async fn check(&self, to: Option<InterruptId>, answer: Option<&Value>) -> Result<(), Failure> {
        let questions = match self.open().await {
            Ok(questions) => questions,
            Err(failure) => return if to.is_none() { Err(failure) } else { Ok(()) },
        };
        let (Ok(question), Some(answer)) = (select_question(&questions, to, &self.id), answer) else { return Ok(()) };
        match self.graph.form(question.name()).and_then(|form| form.check(question, answer)) {
            Some(problem) => Err(Failure::usage(format!("question `{}`: {problem}", question.name()))
                .hint("the question is still pending; `{status}` shows it")),
            None => Ok(()),
        }
    }

    /// Returns the text that a person edits to answer a question.
    pub(super) async fn draft(&self, to: Option<InterruptId>) -> Result<Draft, Failure> {
        let questions = self.open().await?;
        let question = select_question(&questions, to, &self.id)?;
        let state = self.thread.state().await?;
        let text = state.and_then(|state| self.draft_of(&state.values, question));
        let text = text.ok_or_else(|| not_editable(question))?;
        Ok(Draft { id: question.id().to_string(), text })
    }

    pub(super) async fn edited_answer(&self, to: Option<InterruptId>, text: String) -> Result<Answer, Failure> {
        let questions = self.open().await?;
        let question = select_question(&questions, to, &self.id)?;
        let form = self.graph.form(question.name());
        let answer = form.and_then(|form| form.answer_from_draft(text)).ok_or_else(|| not_editable(question))?;
        Ok(Answer::json(&answer).to(question.id()))
    }

    /// Returns the answer that a reply gives, as JSON.
    fn answer(&self, question: &Question, reply: &Reply) -> Option<Value> {
        match self.graph.form(question.name()) {
            Some(form) => form.decide(question, reply),
            None => reply.answer_to(question),
        }
    }

    fn commands(&self, state: &AnyState, question: &Question) -> Vec<String> {
        self.graph.form(question.name()).map(|form| form.commands(state, question)).unwrap_or_default()
    }

    fn draft_of(&self, state: &AnyState, question: &Question) -> Option<String> {
        self.graph.form(question.name())?.draft(state, question)
    }

    /// Adds journals and the ways to answer questions to displayed tasks and to the tasks of their subgraphs.
    pub(super) fn complete<'a>(&'a self, tasks: &'a [TaskSnapshot], shown: &'a mut [TaskReport]) -> Call<'a, ()> {
        Box::pin(async move {
            for (task, shown) in tasks.iter().zip(shown) {
                self.add_replies(&task.questions, None, &mut shown.questions);
                let mut journal = task.journal().await?;
                load_texts(&mut journal);
                shown.journal = if journal.is_empty() { None } else { Some(json(&journal)?) };
                if let (Some(state), Some(inside)) = (&task.state, &mut shown.inside) {
                    self.complete(&state.tasks, &mut inside.tasks).await?;
                }
            }
            Ok(())
        })
    }

    /// Adds to displayed questions the ways to answer them, and the program's own texts if a state is given.
    pub(super) fn add_replies(
        &self,
        questions: &[Question],
        state: Option<&Arc<AnyState>>,
        shown: &mut [OpenQuestion],
    ) {
        for (question, shown) in questions.iter().zip(shown) {
            self.add_replies_to(question, state, shown);
        }
    }

    fn add_replies_to(&self, question: &Question, state: Option<&Arc<AnyState>>, shown: &mut OpenQuestion) {
        let text = |kind| (kind != ReplyKind::Approve).then(|| "..".to_owned()); // `approve` takes none
        let reply = |kind| Reply { kind, feedback: text(kind), by: None };
        let fitting: Vec<(ReplyKind, Value)> =
            ReplyKind::ALL.into_iter().filter_map(|kind| Some((kind, self.answer(question, &reply(kind))?))).collect();
        if shown.takes == "any JSON" && !fitting.is_empty() {
            let samples = fitting.iter().map(|(_, answer)| answer.to_string());
            shown.takes = samples.collect::<Vec<_>>().join(" or ");
        }
        shown.words = fitting.iter().map(|(kind, _)| kind.word().to_owned()).collect();
        shown.means = fitting.iter().map(|(_, answer)| name_of(answer)).collect();
        shown.text = state.and_then(|state| self.graph.form(question.name())?.describe(state, question));
        shown.suggested = state.map(|state| self.commands(state, question)).unwrap_or_default();
        shown.editable = state.is_some_and(|state| self.draft_of(state, question).is_some());
    }
}

fn no_open_question(report: &ThreadReport) -> Failure {
    let error = format!("thread `{}` has no pending question: {}", report.thread, status_text(report));
    let failure = Failure::new(error).next(next_steps(report));
    match &report.help {
        Some(help) => failure.hint(in_commands(help)),
        None => failure,
    }
}

/// Selects the question to answer: the one named by `to`, else the only one.
fn select_question<'a>(
    questions: &'a [Question],
    to: Option<InterruptId>,
    id: &ThreadId,
) -> Result<&'a Question, Failure> {
    let open = questions.iter().filter(|question| to.is_none_or(|to| question.id() == to));
    match open.collect::<Vec<_>>().as_slice() {
        [] => match to {
            Some(to) => Err(RunError::UnknownQuestion { question: to.to_string() }.into()),
            None => Err(Failure::new(format!("thread `{id}` has no pending question"))), // an interrupted one has some
        },
        [question] => Ok(question),
        several => {
            let ids: Vec<String> = several
                .iter()
                .map(|open_question| format!("{} ({})", open_question.id(), open_question.name()))
                .collect();
            let help = format!("select one with `--interrupt ID`: {}", ids.join(", "));
            Err(Failure::new(format!("thread `{id}` has {} pending questions", several.len())).help(help))
        }
    }
}

fn not_decidable(question: &Question, verdict: ReplyKind, suggested: &[String]) -> Failure {
    let (word, name) = (verdict.word(), question.name());
    let failure =
        Failure::usage(format!("`{word}` cannot answer question `{name}`: it takes {}", question.answer_shape()));
    match suggested.first() {
        Some(command) => failure.next(vec![NextStep::new("answer with", command)]),
        None => failure.hint("answer with `{resume --answer JSON}`"),
    }
}

/// Returns the error of feedback that the answer has no place for.
fn feedback_unused(question: &Question, verdict: ReplyKind) -> Failure {
    let (word, name) = (verdict.word(), question.name());
    Failure::usage(format!("question `{name}` takes no text with `{word}`: the text of `--feedback` would be lost"))
        .hint(format!("store it as a note with `{{{word} --note TEXT}}`"))
}

fn not_editable(question: &Question) -> Failure {
    let name = question.name();
    Failure::usage(format!("`edit` cannot answer question `{name}`: it takes {}", question.answer_shape()))
        .hint("`{status}` shows the commands that answer it")
}

/// Returns the name of an answer: a word, or the one key of an object.
fn name_of(answer: &Value) -> String {
    match answer {
        Value::String(word) => word.clone(),
        Value::Object(fields) if fields.len() == 1 => fields.keys().next().cloned().unwrap_or_default(),
        other => other.to_string(),
    }
}
