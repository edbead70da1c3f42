//! The position of a thread, as the store has it: every server of the store answers with the same, after any restart. Knows no method of the
//! protocol.

use serde::Serialize;
use serde_json::{Value, json};
use superstep::graph::{AnyGraph, AnyState, Question, StateSnapshot};

use super::client::Client;
use crate::error::{ApiError, ApiResult};
use crate::panics::call_form;
use crate::records::run::RunRecord;
use crate::records::thread::{RunFailure, ThreadRecord};
use crate::security::secrets::Secrets;
use crate::server::Server;
use crate::wire::written;

/// The metadata of a run that names the key of the client which started it.
pub(super) const STARTER: &str = "mcp_client";
/// The kinds of failures that end a task: those of the graph. Others are of the request, and change nothing.
const OF_GRAPH: [&str; 3] = ["NodeError", "GraphRecursionError", "ValueError"];

/// The status of a thread, in the words of the protocol's tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum PositionStatus {
    /// It is executed, or waits for its turn, for a time, a signal or somebody else.
    Working,
    /// It waits for answers that the client may give.
    InputRequired,
    Completed,
    Failed,
    Cancelled,
}

/// The position of a thread.
#[derive(Debug)]
pub(super) struct Position {
    pub thread: String,
    pub graph: String,
    pub status: PositionStatus,
    /// Null while a run is executed.
    pub state: Value,
    /// The open questions that the client may answer.
    pub questions: Vec<OpenQuestion>,
    /// A sentence: what it waits for, or why it failed.
    pub note: Option<String>,
    /// In milliseconds since 1970.
    pub created_at: u64,
    pub updated_at: u64,
}

/// A question with its text for a person.
#[derive(Debug)]
pub(super) struct OpenQuestion {
    pub question: Question,
    pub text: String,
    /// The question as JSON.
    pub shown: Value,
}

impl Position {
    /// Returns where a thread is, for a client.
    ///
    /// # Errors
    /// 404 if there is no such thread, or it has not run.
    pub(super) async fn read(server: &Server, thread: &str, client: &Client) -> ApiResult<Self> {
        let record = server.thread_record(thread).await?.record;
        let graph = server.graph_of(&record)?.ok_or_else(|| ApiError::not_found("run of the thread", thread))?;
        let position = Self::busy(&record, graph);
        if !record.queue.is_empty() {
            return Ok(position);
        }
        let reader = graph.thread(thread);
        let Some(snapshot) = reader.state().await? else { return Ok(position.without_state(&record)) };
        let secrets = server.secrets_of(graph, thread, &snapshot).await?;
        let open: Vec<_> = snapshot.questions().filter(|question| !question.is_answered()).collect();
        let starter = match open.iter().any(|question| !client.may_answer(graph, question, None)) {
            true => starter(server, thread).await?,
            false => None,
        };
        let may_answer = |question: &&Question| client.may_answer(graph, question, starter.as_deref());
        let (offered, others): (Vec<_>, Vec<_>) = open.into_iter().partition(may_answer);
        let mut state = written(snapshot.json(graph.schema()));
        secrets.hide(&mut state);
        let position = Self { state, ..position };
        Ok(match record.error {
            Some(failure) if failure.error == "UserInterrupt" => position.into_cancelled(failure.message),
            Some(failure) if is_of_graph(&failure, &offered, &others) => position.into_failed(&failure),
            failure if !offered.is_empty() => {
                let open = offered.into_iter().map(|question| OpenQuestion::of(graph, (&snapshot, &secrets), question));
                position.with_questions(open.collect(), failure)
            }
            _ if !others.is_empty() => position.with_note(waits_for(&others)),
            _ if snapshot.next.is_empty() => Self { status: PositionStatus::Completed, ..position },
            _ => position.with_note(format!("it continues with {}", snapshot.next.join(", "))),
        })
    }

    fn busy(record: &ThreadRecord, graph: &AnyGraph) -> Self {
        Self {
            thread: record.thread.clone(),
            graph: graph.name().to_owned(),
            status: PositionStatus::Working,
            state: Value::Null,
            questions: vec![],
            note: None,
            created_at: record.created_at,
            updated_at: record.updated_at,
        }
    }

    /// Returns the position of a thread whose runs have ended before its first checkpoint.
    fn without_state(self, record: &ThreadRecord) -> Self {
        match &record.error {
            Some(failure) if failure.error != "UserInterrupt" => self.into_failed(failure),
            _ => self.into_cancelled("it was cancelled before it began".into()),
        }
    }

    fn with_note(self, note: String) -> Self {
        Self { note: Some(note), ..self }
    }

    fn into_cancelled(self, note: String) -> Self {
        Self { status: PositionStatus::Cancelled, ..self.with_note(note) }
    }

    fn into_failed(self, failure: &RunFailure) -> Self {
        Self { status: PositionStatus::Failed, ..self.with_note(format!("{}: {}", failure.error, failure.message)) }
    }

    /// Returns the position with open questions; the failure is that of an answer which was not taken.
    fn with_questions(self, questions: Vec<OpenQuestion>, failure: Option<RunFailure>) -> Self {
        let note = failure.map(|failure| format!("the last answer was not taken: {}", failure.message));
        Self { status: PositionStatus::InputRequired, questions, note, ..self }
    }

    /// Returns a question by its id, or by its name; the only one without either.
    ///
    /// # Errors
    /// 404 with what is open.
    pub(super) fn question(&self, wanted: Option<&str>) -> ApiResult<&OpenQuestion> {
        let is_wanted =
            |open: &&OpenQuestion| wanted.is_none_or(|wanted| open.id() == wanted || open.question.name() == wanted);
        let mut found = self.questions.iter().filter(is_wanted);
        match (found.next(), found.next()) {
            (Some(open), None) => Ok(open),
            _ => Err(ApiError::not_found("one open question", wanted.unwrap_or("any")).with_questions(self)),
        }
    }
}

impl ApiError {
    fn with_questions(self, position: &Position) -> Self {
        let open: Vec<String> = position.questions.iter().map(OpenQuestion::id).collect();
        let note = position.note.iter().map(|note| format!("; {note}")).collect::<String>();
        let open =
            if open.is_empty() { "no question is open to you".into() } else { format!("open are {}", open.join(", ")) };
        Self { detail: format!("{} of thread `{}`: {open}{note}", self.detail, position.thread), ..self }
    }
}

impl OpenQuestion {
    fn of(graph: &AnyGraph, (snapshot, secrets): (&StateSnapshot<AnyState>, &Secrets), question: &Question) -> Self {
        let described = graph.form(question.name()).and_then(|form| {
            call_form(question, "describe", || form.describe(&snapshot.values, question)).ok().flatten()
        });
        let mut text = described.unwrap_or_else(|| plain(&question.json()));
        let mut shown = json!(question);
        secrets.hide(&mut shown);
        secrets.hide_in_text(&mut text);
        Self { question: question.clone(), text, shown }
    }

    pub(super) fn id(&self) -> String {
        self.question.id().to_string()
    }
}

/// Returns a question that says nothing of its text: each field in a line.
fn plain(payload: &Value) -> String {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match payload.as_object() {
        Some(fields) => {
            let lines = fields.iter().map(|(name, value)| format!("{name}: {}", text(value)));
            lines.collect::<Vec<_>>().join("\n")
        }
        None => text(payload),
    }
}

/// Returns whether a failure ends the task: if questions are open, one of an answer does not.
fn is_of_graph(failure: &RunFailure, offered: &[&Question], others: &[&Question]) -> bool {
    (offered.is_empty() && others.is_empty()) || OF_GRAPH.contains(&failure.error.as_str())
}

fn waits_for(questions: &[&Question]) -> String {
    let one = |question: &&Question| match question.approvers() {
        [] => format!("`{}`", question.name()),
        people => format!("`{}` ({})", question.name(), people.join(", ")),
    };
    let all: Vec<String> = questions.iter().map(one).collect();
    format!("people have to answer {}, and this client may not: tell them, and wait", all.join(", "))
}

/// Returns the key of the client that started a thread; `None` if it was not started by one of this protocol.
async fn starter(server: &Server, thread: &str) -> ApiResult<Option<String>> {
    let first = server.records.page::<RunRecord>(&RunRecord::prefix_of(thread), None, 1).await?;
    let named = first.first().and_then(|run| run.record.metadata.get(STARTER)).and_then(Value::as_str);
    Ok(named.map(str::to_owned))
}
