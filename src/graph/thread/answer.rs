//! Matching answers to pending questions and storing them. Each is checked before anything is written (V2): an answer to a
//! question with terms may be one of several approvals, come too late, or close the question.

use std::collections::BTreeMap;

use superstep_base::gather;

use super::handle::ThreadCore;
use crate::checkpoint::{
    AnswerRecord, CheckpointId, Key, QuestionRecord, RowId, SignalRecord, TaskRecord, TaskStatus, TermsRecord,
    VoteRecord, encode_record, question_name,
};
use crate::graph::error::RunError;
use crate::graph::interrupt::question::{terms_of, votes_of};
use crate::graph::interrupt::{Answer, CloseReason, ClosedQuestion, EXPIRY, InterruptId, To};
use crate::graph::records::{Puts, Reader, Tasks};
use crate::graph::run::Run;
use crate::graph::state::stored_value::short_name;
use crate::graph::state::value;

/// A checked answer and the question it is for.
pub(crate) struct MatchedAnswer {
    question: QuestionRecord,
    /// The root graph's task that contains the question.
    root: u32,
    answer: Answer,
    bytes: Vec<u8>,
    /// The time of the answer, in milliseconds since 1970: checked against the terms, and stored.
    at: u64,
}

impl MatchedAnswer {
    /// Returns the record with which the answer is posted, and the id of its question.
    pub(super) fn into_post(self, reader: &Reader, is_closing: bool) -> (InterruptId, SignalRecord) {
        let Self { question, answer, bytes, at, .. } = self;
        let (id, name) = (question_id(reader, &question), question_name(place(&question)));
        let value = if is_closing { vec![] } else { bytes };
        (id, SignalRecord { name, value, by: answer.by, at, note: answer.note })
    }
}

impl ThreadCore {
    /// Checks all answers, given at a time, against the pending questions; writes nothing.
    pub(crate) async fn match_answers(
        &self,
        reader: &Reader,
        records: &Tasks,
        answers: Vec<Answer>,
        now: u64,
    ) -> Result<Vec<MatchedAnswer>, RunError> {
        let mut questions = StepQuestions::of(reader, records);
        let mut matched: Vec<MatchedAnswer> = vec![];
        for answer in answers {
            matched.push(self.match_answer(reader, records, (answer, now), &mut questions).await?);
        }
        Ok(matched)
    }

    /// Checks each of the answers, given at a time, against the pending questions; writes nothing.
    pub(crate) async fn match_each(
        &self,
        reader: &Reader,
        records: &Tasks,
        answers: Vec<Answer>,
    ) -> Result<Vec<Result<MatchedAnswer, RunError>>, RunError> {
        let (now, mut questions) = (self.now(), StepQuestions::of(reader, records));
        let mut matched = vec![];
        for answer in answers {
            matched.push(match self.match_answer(reader, records, (answer, now), &mut questions).await {
                Err(error @ RunError::Checkpoint(_)) => return Err(error),
                found => found,
            });
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
        let mut tasks = AnsweredTasks::of(reader);
        let unasked = TaskRecord::default();
        for (slot, matched) in (0u32..).zip(matched) {
            let row = RowId { checkpoint: made_by, task: matched.question.task, slot: RowId::ANSWERS + slot };
            let now = matched.at;
            let of_root = tasks.changed.get(&(run.pos.meta.id, matched.root)).or(records.get(&matched.root));
            let of_root = of_root.unwrap_or(&unasked);
            let matched = match effect_of(of_root, &matched.question, &matched.answer, matched.bytes.clone(), now)? {
                AnswerEffect::Decides { bytes, by } => {
                    let answer = Answer { by, ..matched.answer };
                    (MatchedAnswer { bytes, answer, ..matched }, row, now)
                }
                AnswerEffect::Counts(vote) => {
                    let mut voted = of_root.clone();
                    voted.votes.push(vote);
                    tasks.changed.insert((run.pos.meta.id, matched.root), voted);
                    continue;
                }
            };
            tasks.store(run.pos.meta.id, records, matched, &mut puts).await?;
        }
        for ((checkpoint, task), record) in tasks.changed {
            puts.push((Key::Task { checkpoint, task }, encode_record(&record)?.into()));
            if checkpoint == run.pos.meta.id {
                records.insert(task, record);
            }
        }
        recorder.commit_now(puts).await?;
        Ok(())
    }

    async fn match_answer(
        &self,
        reader: &Reader,
        records: &Tasks,
        (answer, now): (Answer, u64),
        questions: &mut StepQuestions<'_>,
    ) -> Result<MatchedAnswer, RunError> {
        let now = answer.posted_at.unwrap_or(now);
        let (question, root) = match questions.find(&answer) {
            Err(RunError::UnknownQuestion { question }) => {
                return Err(unmatched_error(reader, answer.to, question).await?);
            }
            found => found?,
        };
        let id = question_id(reader, &question);
        let mistyped = |reason| RunError::MistypedAnswer { id, question: question.name.clone(), reason };
        if let Some(name) = answer.name.filter(|name| *name != question.name) {
            return Err(mistyped(format!("the answer is one to `{name}`")));
        }
        check(&records[&root], &question, id, &answer, now)?;
        let mut bytes = answer.bytes.clone()?;
        let asks = self.graph.table.asked(&question.namespace, &question.node, &question.name);
        if let Some(asks) = asks.filter(|_| answer.closing.is_none()) {
            let taken = (asks.take)(&answer, bytes);
            bytes = taken.map_err(|reason| mistyped(format!("it takes `{}`: {reason}", short_name(asks.answer))))?;
        }
        Ok(MatchedAnswer { question, root, answer, bytes, at: now })
    }
}

fn question_id(reader: &Reader, question: &QuestionRecord) -> InterruptId {
    InterruptId { birth: reader.birth, checkpoint: question.checkpoint, task: question.task, place: question.place }
}

/// Returns the place of a question in its thread.
pub(super) fn place(asked: &QuestionRecord) -> (CheckpointId, u32, u32) {
    (asked.checkpoint, asked.task, asked.place)
}

/// The questions of a superstep, with their tasks in the root graph, and those of them that answers have been matched to.
struct StepQuestions<'a> {
    /// In the order of the tasks.
    all: Vec<TaskQuestion<'a>>,
    by_id: BTreeMap<InterruptId, usize>,
}

struct TaskQuestion<'a> {
    question: &'a QuestionRecord,
    task: u32,
    is_open: bool,
    is_taken: bool,
}

impl<'a> StepQuestions<'a> {
    fn of(reader: &Reader, records: &'a Tasks) -> Self {
        let asked = |(task, record): (&u32, &'a TaskRecord)| {
            let (task, is_unfinished) = (*task, record.status != TaskStatus::Done);
            record.questions.iter().map(move |question| {
                let is_open = is_unfinished && !question.answered;
                TaskQuestion { question, task, is_open, is_taken: false }
            })
        };
        let mut all: Vec<TaskQuestion<'_>> = records.iter().flat_map(asked).collect();
        all.sort_by_key(|asked| (asked.task, place(asked.question)));
        let by_id = gather(all.iter().enumerate().rev().map(|(at, asked)| (question_id(reader, asked.question), at)));
        Self { all, by_id }
    }

    /// Returns the question that an answer is for, and its task in the root graph. No other answer is for it then.
    fn find(&mut self, answer: &Answer) -> Result<(QuestionRecord, u32), RunError> {
        let at = match answer.to {
            To::Id(id) => self.with_id(id)?,
            To::TheOnly => self.only_open(answer)?,
        };
        let asked = &mut self.all[at];
        asked.is_taken = true;
        Ok((asked.question.clone(), asked.task))
    }

    fn with_id(&self, id: InterruptId) -> Result<usize, RunError> {
        match self.by_id.get(&id).map(|&at| (at, &self.all[at])) {
            Some((_, asked)) if asked.is_taken => Err(RunError::AlreadyAnswered { id }),
            Some((at, asked)) if asked.is_open => Ok(at),
            Some(_) | None => Err(RunError::UnknownQuestion { question: id.to_string() }),
        }
    }

    fn only_open(&self, answer: &Answer) -> Result<usize, RunError> {
        let is_open = |(_, asked): &(usize, &TaskQuestion<'_>)| asked.is_open && !asked.is_taken;
        let open = self.all.iter().enumerate().filter(is_open);
        the_only(open.map(|(at, asked)| (at, asked.question.name.as_str())), answer)
    }
}

/// Returns the only one of the pending questions, given with their names, that an answer without an id fits.
pub(super) fn the_only<'a, T>(open: impl Iterator<Item = (T, &'a str)>, answer: &Answer) -> Result<T, RunError> {
    let mut open = open.filter(|(_, name)| answer.name.is_none_or(|wanted| *name == wanted));
    match (open.next(), open.count()) {
        (Some((question, _)), 0) => Ok(question),
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
pub(super) async fn unmatched_error(reader: &Reader, to: To, question: String) -> Result<RunError, RunError> {
    let To::Id(id) = to else { return Ok(RunError::UnknownQuestion { question }) };
    let record = reader.task(id.checkpoint, id.task).await?.filter(|_| id.birth == reader.birth);
    let answered = |record: &TaskRecord| record.answers.iter().any(|answer| answer.place == id.place);
    Ok(match &record {
        Some(record) if answered(record) => RunError::AlreadyAnswered { id },
        Some(record) if !record.questions.is_empty() => no_longer_open(id),
        _ => RunError::UnknownQuestion { question },
    })
}

/// The tasks that answers change, in the root graph and in its subgraphs.
struct AnsweredTasks<'a> {
    reader: &'a Reader,
    /// The checkpoints of subgraphs, by the task that runs them.
    called: BTreeMap<(CheckpointId, u32), Vec<CheckpointId>>,
    /// Their tasks, once they were read.
    read: BTreeMap<CheckpointId, Tasks>,
    changed: BTreeMap<(CheckpointId, u32), TaskRecord>,
}

impl<'a> AnsweredTasks<'a> {
    fn of(reader: &'a Reader) -> Self {
        Self { reader, called: BTreeMap::new(), read: BTreeMap::new(), changed: BTreeMap::new() }
    }

    /// Stores an answer in the task that asked and marks the question as answered in every task above it.
    async fn store(
        &mut self,
        root: CheckpointId,
        records: &Tasks,
        (matched, row, at): (MatchedAnswer, RowId, u64),
        puts: &mut Puts,
    ) -> Result<(), RunError> {
        let MatchedAnswer { question, root: task, answer, bytes, .. } = matched;
        puts.push((Key::Row(row), bytes.into()));
        let mut key = (root, task);
        let mut record = match self.changed.remove(&key) {
            Some(record) => record,
            None => records.get(&task).cloned().unwrap_or_default(),
        };
        let asker = loop {
            let asker = mark(&mut record, &question);
            let Some((below, inner)) = self.take_nested_task(key, &question).await? else {
                break asker.unwrap_or_default();
            };
            self.changed.insert(key, record);
            (key, record) = (below, inner);
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
        self.changed.insert(key, record);
        Ok(())
    }

    /// Takes the task with the same question in the subgraph of a task.
    async fn take_nested_task(
        &mut self,
        key: (CheckpointId, u32),
        question: &QuestionRecord,
    ) -> Result<Option<((CheckpointId, u32), TaskRecord)>, RunError> {
        if (question.checkpoint, question.task) == key {
            return Ok(None);
        }
        if !self.called.contains_key(&key) {
            let called = self.reader.children_of(key.0, key.1).await?;
            self.called.insert(key, called.into_iter().map(|(.., child)| child).collect());
        }
        let asks = |record: &TaskRecord| record.questions.iter().any(|asked| place(asked) == place(question));
        for &child in &self.called[&key] {
            if child == question.checkpoint
                && let Some(asker) = self.asker((child, question.task)).await?.filter(&asks)
            {
                self.changed.remove(&(child, question.task));
                return Ok(Some(((child, question.task), asker)));
            }
            if !self.read.contains_key(&child) {
                self.read.insert(child, self.reader.tasks(child).await?);
            }
            if let Some((&task, record)) = self.read[&child].iter().find(|(_, record)| asks(record)) {
                let changed = self.changed.remove(&(child, task));
                return Ok(Some(((child, task), changed.unwrap_or_else(|| record.clone()))));
            }
        }
        Ok(None)
    }
}

impl AnsweredTasks<'_> {
    /// Returns the record of the task that asked, without reading those beside it.
    async fn asker(&self, key: (CheckpointId, u32)) -> Result<Option<TaskRecord>, RunError> {
        match self.changed.get(&key) {
            Some(changed) => Ok(Some(changed.clone())),
            None => self.reader.task(key.0, key.1).await,
        }
    }
}

/// Marks a question as answered; returns its asker if the task itself asked it.
fn mark(record: &mut TaskRecord, question: &QuestionRecord) -> Option<String> {
    let mut asker = None;
    for asked in record.questions.iter_mut().filter(|asked| place(asked) == place(question)) {
        asked.answered = true;
        asker.clone_from(&asked.asker);
    }
    asker
}

/// The effect of an answer.
enum AnswerEffect {
    /// The question is answered, by these people.
    Decides { bytes: Vec<u8>, by: Option<String> },
    /// More approvals are needed.
    Counts(VoteRecord),
}

/// Fails if this person may not answer the question, or not any more.
pub(crate) fn check(
    record: &TaskRecord,
    asked: &QuestionRecord,
    id: InterruptId,
    answer: &Answer,
    now: u64,
) -> Result<(), RunError> {
    let Some(terms) = terms_of(record, asked) else { return Ok(()) };
    if answer.is_of_expiry {
        return Ok(());
    }
    if terms.expires.is_some_and(|expires| expires <= now) {
        return Err(RunError::QuestionExpired { id });
    }
    if answer.closing.is_some() {
        return Ok(());
    }
    if terms.approvals <= 1 && terms.approvers.is_empty() {
        return Ok(());
    }
    let refused = |reason: String| RunError::NotAnApprover { id, reason };
    let Some(by) = &answer.by else { return Err(refused("it takes answers with a name only".into())) };
    if !terms.approvers.is_empty() && !terms.approvers.contains(by) {
        return Err(refused(format!("`{by}` is not among {}", terms.approvers.join(", "))));
    }
    if votes_of(record, asked).any(|vote| vote.by == *by) {
        return Err(refused(format!("`{by}` has answered already")));
    }
    Ok(())
}

/// Returns the effect of a checked answer.
fn effect_of(
    record: &TaskRecord,
    asked: &QuestionRecord,
    answer: &Answer,
    bytes: Vec<u8>,
    now: u64,
) -> Result<AnswerEffect, RunError> {
    let alone = |bytes| AnswerEffect::Decides { bytes, by: answer.by.clone() };
    if let Some(how) = answer.closing {
        let (by, note) = (answer.by.clone(), answer.note.clone());
        return Ok(alone(ClosedQuestion { how, by, note }.encode()?));
    }
    let Some(terms) = terms_of(record, asked).filter(|terms| terms.approvals > 1 && !answer.is_of_expiry) else {
        return Ok(alone(bytes));
    };
    let by = answer.by.clone().unwrap_or_default();
    let vote = VoteRecord {
        checkpoint: asked.checkpoint,
        task: asked.task,
        place: asked.place,
        by,
        at: now,
        note: answer.note.clone(),
        value: bytes,
    };
    let votes: Vec<&VoteRecord> = votes_of(record, asked).chain([&vote]).collect();
    let names = |votes: &[&VoteRecord]| {
        let names: Vec<&str> = votes.iter().map(|vote| vote.by.as_str()).collect();
        Some(names.join(", "))
    };
    let same: Vec<&VoteRecord> = votes.iter().filter(|other| is_same(&other.value, &vote.value)).copied().collect();
    if same.len() >= terms.approvals as usize {
        return Ok(AnswerEffect::Decides { bytes: vote.value.clone(), by: names(&same) });
    }
    if is_hopeless(terms, &votes) {
        let by = names(&votes);
        let closed = ClosedQuestion { how: CloseReason::Disagreed, by: by.clone(), note: None };
        return Ok(AnswerEffect::Decides { bytes: closed.encode()?, by });
    }
    Ok(AnswerEffect::Counts(vote))
}

fn is_same(one: &[u8], other: &[u8]) -> bool {
    one == other || matches!((value::canon(one), value::canon(other)), (Ok(one), Ok(other)) if one == other)
}

/// Returns true if the remaining approvers cannot give any answer enough approvals.
fn is_hopeless(terms: &TermsRecord, votes: &[&VoteRecord]) -> bool {
    if terms.approvers.is_empty() {
        return false;
    }
    let left = terms.approvers.len().saturating_sub(votes.len());
    let most = votes.iter().map(|vote| votes.iter().filter(|other| is_same(&vote.value, &other.value)).count()).max();
    most.unwrap_or(0) + left < terms.approvals as usize
}

/// Returns the answers to questions that have expired.
fn expired_answers(reader: &Reader, records: &Tasks, now: u64) -> Vec<Answer> {
    let mut answers = vec![];
    for record in records.values() {
        for asked in record.questions.iter().filter(|asked| !asked.answered) {
            let Some(terms) = terms_of(record, asked).filter(|terms| terms.expires.is_some_and(|at| at <= now)) else {
                continue;
            };
            let QuestionRecord { checkpoint, task, place, .. } = *asked;
            let answer = Answer::of_expiry(terms.default.clone()).by(EXPIRY);
            answers.push(Answer { to: To::Id(InterruptId { birth: reader.birth, checkpoint, task, place }), ..answer });
        }
    }
    answers
}

/// Adds the answers to questions that have expired.
pub(crate) fn with_expired(reader: &Reader, records: &Tasks, mut answers: Vec<Answer>, now: u64) -> Vec<Answer> {
    answers.extend(expired_answers(reader, records, now));
    answers
}
