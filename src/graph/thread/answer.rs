//! Matching answers to pending questions and storing them. Each is checked before anything is written (V2).

use std::collections::BTreeMap;

use super::handle::ThreadCore;
use super::votes::{AnswerEffect, check, effect_of};
use crate::checkpoint::{
    AnswerRecord, CheckpointId, Key, QuestionRecord, RowId, TaskRecord, TaskStatus, encode_record,
};
use crate::graph::error::RunError;
use crate::graph::interrupt::{Answer, InterruptId, To};
use crate::graph::records::{Puts, Reader, Tasks};
use crate::graph::run::Run;
use crate::graph::state::type_name::short;

/// A checked answer and the question it is for.
pub(crate) struct MatchedAnswer {
    question: QuestionRecord,
    /// The root graph's task that contains the question.
    root: u32,
    answer: Answer,
    bytes: Vec<u8>,
}

impl ThreadCore {
    /// Checks all answers against the pending questions; writes nothing.
    pub(crate) async fn matching(
        &self,
        reader: &Reader,
        records: &Tasks,
        answers: Vec<Answer>,
    ) -> Result<Vec<MatchedAnswer>, RunError> {
        let mut matched: Vec<MatchedAnswer> = vec![];
        for answer in answers {
            let taken: Vec<InterruptId> =
                matched.iter().map(|matched| question_id(reader, &matched.question)).collect();
            matched.push(self.matched(reader, records, answer, &taken).await?);
        }
        Ok(matched)
    }

    /// Stores checked answers in one commit.
    pub(crate) async fn store_answers(
        &self,
        run: &Run,
        reader: &Reader,
        records: &mut Tasks,
        matched: Vec<MatchedAnswer>,
    ) -> Result<(), RunError> {
        let Some(recorder) = run.recorder() else { return Ok(()) };
        // Forks of one checkpoint are answered separately: rows of answers have an id of their own.
        let made_by = recorder.next_id();
        let mut puts = vec![];
        let mut changed: BTreeMap<(CheckpointId, u32), TaskRecord> = BTreeMap::new();
        for (slot, matched) in (0u32..).zip(matched) {
            let row = RowId { checkpoint: made_by, task: matched.question.task, slot: RowId::ANSWERS + slot };
            let now = self.environment.host.now();
            let of_root = changed.get(&(run.pos.meta.id, matched.root)).or(records.get(&matched.root));
            let of_root = of_root.cloned().unwrap_or_default();
            let matched = match effect_of(&of_root, &matched.question, &matched.answer, matched.bytes.clone(), now)? {
                AnswerEffect::Decides { bytes, by } => {
                    let answer = Answer { by, ..matched.answer };
                    (MatchedAnswer { bytes, answer, ..matched }, row, now)
                }
                AnswerEffect::Counts(vote) => {
                    let votes = [of_root.votes.clone(), vec![vote]].concat();
                    changed.insert((run.pos.meta.id, matched.root), TaskRecord { votes, ..of_root });
                    continue;
                }
            };
            store(reader, run.pos.meta.id, records, matched, &mut changed, &mut puts).await?;
        }
        for ((checkpoint, task), record) in changed {
            puts.push((Key::Task { checkpoint, task }, encode_record(&record)?));
            if checkpoint == run.pos.meta.id {
                records.insert(task, record);
            }
        }
        recorder.commit_now(puts).await?;
        Ok(())
    }

    async fn matched(
        &self,
        reader: &Reader,
        records: &Tasks,
        answer: Answer,
        taken: &[InterruptId],
    ) -> Result<MatchedAnswer, RunError> {
        let (question, root) = match find(reader, records, &answer, taken) {
            Err(RunError::UnknownQuestion { question }) => return Err(past(reader, &answer, question).await?),
            found => found?,
        };
        let id = question_id(reader, &question);
        let mistyped = |reason| RunError::MistypedAnswer { id, question: question.name.clone(), reason };
        if let Some(name) = answer.name.filter(|name| *name != question.name) {
            return Err(mistyped(format!("the answer is one to `{name}`")));
        }
        check(&records[&root], &question, id, &answer, self.environment.host.now())?;
        let mut bytes = answer.bytes.clone()?;
        let asks = self.graph.table.asked(&question.namespace, &question.node, &question.name);
        if let Some(asks) = asks.filter(|_| answer.closing.is_none()) {
            let taken = (asks.take)(&answer, bytes);
            bytes = taken.map_err(|reason| mistyped(format!("it takes `{}`: {reason}", short(asks.answer))))?;
        }
        Ok(MatchedAnswer { question, root, answer, bytes })
    }
}

fn question_id(reader: &Reader, question: &QuestionRecord) -> InterruptId {
    InterruptId { birth: reader.birth, checkpoint: question.checkpoint, task: question.task, place: question.place }
}

/// Returns the question that an answer is for, and its task in the root graph.
fn find(
    reader: &Reader,
    records: &Tasks,
    answer: &Answer,
    taken: &[InterruptId],
) -> Result<(QuestionRecord, u32), RunError> {
    let mut all: Vec<(&QuestionRecord, u32)> =
        records.iter().flat_map(|(task, record)| record.questions.iter().map(|asked| (asked, *task))).collect();
    all.sort_by_key(|(asked, task)| (*task, asked.checkpoint, asked.task, asked.place));
    let is_open = |asked: &QuestionRecord, task: u32| {
        let unfinished = records.get(&task).is_some_and(|record| record.status != TaskStatus::Done);
        unfinished && !asked.answered && !taken.contains(&question_id(reader, asked))
    };
    if let To::Id(id) = answer.to {
        let found = all.iter().find(|(asked, _)| question_id(reader, asked) == id);
        return match found {
            Some((asked, task)) if is_open(asked, *task) => Ok(((*asked).clone(), *task)),
            Some(_) if taken.contains(&id) => Err(RunError::AlreadyAnswered { id }),
            Some(_) | None => Err(RunError::UnknownQuestion { question: id.to_string() }),
        };
    }
    let fits = |asked: &QuestionRecord| answer.name.is_none_or(|name| asked.name == name);
    let mut open = all.into_iter().filter(|(asked, task)| is_open(asked, *task) && fits(asked));
    match (open.next(), open.count()) {
        (Some((asked, task)), 0) => Ok((asked.clone(), task)),
        (Some(_), more) => {
            let named = answer.name.map(|name| format!(" of the type `{name}`")).unwrap_or_default();
            Err(RunError::AmbiguousAnswer { count: more + 1, named })
        }
        (None, _) => {
            let question = answer.name.map_or_else(|| "in this thread".into(), |name| format!("of the type `{name}`"));
            Err(RunError::UnknownQuestion { question })
        }
    }
}

/// Returns the error for a question that an update or new input has dropped unanswered.
fn no_longer_open(id: InterruptId) -> RunError {
    RunError::UnknownQuestion { question: format!("{id} any more") }
}

/// Returns the error of an answer that fits no pending question: the question was answered before, dropped, or never
/// asked.
async fn past(reader: &Reader, answer: &Answer, question: String) -> Result<RunError, RunError> {
    let To::Id(id) = answer.to else { return Ok(RunError::UnknownQuestion { question }) };
    let tasks = reader.tasks(id.checkpoint).await?;
    let record = tasks.get(&id.task).filter(|_| id.birth == reader.birth);
    let answered = |record: &TaskRecord| record.answers.iter().any(|answer| answer.place == id.place);
    Ok(match record {
        Some(record) if answered(record) => RunError::AlreadyAnswered { id },
        Some(record) if !record.questions.is_empty() => no_longer_open(id),
        _ => RunError::UnknownQuestion { question },
    })
}

/// Stores an answer in the task that asked and marks the question as answered in every task above it.
async fn store(
    reader: &Reader,
    root: CheckpointId,
    records: &Tasks,
    (matched, row, at): (MatchedAnswer, RowId, u64),
    changed: &mut BTreeMap<(CheckpointId, u32), TaskRecord>,
    puts: &mut Puts,
) -> Result<(), RunError> {
    let MatchedAnswer { question, root: task, answer, bytes } = matched;
    puts.push((Key::Row(row), bytes));
    let (mut checkpoint, mut task) = (root, task);
    let mut record = match changed.remove(&(checkpoint, task)) {
        Some(record) => record,
        None => records.get(&task).cloned().unwrap_or_default(),
    };
    let asker = loop {
        let asker = mark(&mut record, &question);
        let below = below(reader, checkpoint, task, &question, changed).await?;
        let Some((child, inner_task, inner_record)) = below else { break asker.unwrap_or_default() };
        changed.insert((checkpoint, task), record);
        (checkpoint, task, record) = (child, inner_task, inner_record);
    };
    record.payloads.push((question.place, question.payload));
    record.answers.push(AnswerRecord {
        place: question.place,
        asker,
        name: question.name,
        value: row,
        by: answer.by,
        at,
        note: answer.note,
    });
    record.answers.sort_by_key(|answer| answer.place);
    changed.insert((checkpoint, task), record);
    Ok(())
}

/// Marks a question as answered; returns its asker if the task itself asked it.
fn mark(record: &mut TaskRecord, question: &QuestionRecord) -> Option<String> {
    let place = |asked: &QuestionRecord| (asked.checkpoint, asked.task, asked.place);
    let mut asker = None;
    for asked in record.questions.iter_mut().filter(|asked| place(asked) == place(question)) {
        asked.answered = true;
        asker.clone_from(&asked.asker);
    }
    asker
}

/// Returns the task with the same question in the task's subgraph.
async fn below(
    reader: &Reader,
    checkpoint: CheckpointId,
    task: u32,
    question: &QuestionRecord,
    changed: &BTreeMap<(CheckpointId, u32), TaskRecord>,
) -> Result<Option<(CheckpointId, u32, TaskRecord)>, RunError> {
    if (question.checkpoint, question.task) == (checkpoint, task) {
        return Ok(None);
    }
    for (.., child) in reader.called(checkpoint, task).await? {
        for (key, record) in reader.tasks(child).await? {
            let record = changed.get(&(child, key)).cloned().unwrap_or(record);
            let asks = |asked: &QuestionRecord| {
                (asked.checkpoint, asked.task, asked.place) == (question.checkpoint, question.task, question.place)
            };
            if record.questions.iter().any(asks) {
                return Ok(Some((child, key, record)));
            }
        }
    }
    Ok(None)
}
