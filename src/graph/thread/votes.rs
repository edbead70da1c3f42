//! Answers to questions with terms: an answer may be one of several approvals, come too late, or close the question.
//! Pure, except for records.

use crate::checkpoint::{QuestionRecord, TaskRecord, TermsRecord, VoteRecord};
use crate::graph::error::RunError;
use crate::graph::interrupt::question::{terms_of, votes_of};
use crate::graph::interrupt::{Answer, CloseReason, Closed, EXPIRY, InterruptId, To};
use crate::graph::records::{Reader, Tasks};
use crate::graph::state::value;

/// The effect of an answer.
pub(crate) enum AnswerEffect {
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
pub(crate) fn effect_of(
    record: &TaskRecord,
    asked: &QuestionRecord,
    answer: &Answer,
    bytes: Vec<u8>,
    now: u64,
) -> Result<AnswerEffect, RunError> {
    let alone = |bytes| AnswerEffect::Decides { bytes, by: answer.by.clone() };
    if let Some(how) = answer.closing {
        let (by, note) = (answer.by.clone(), answer.note.clone());
        return Ok(alone(Closed { how, by, note }.encode()?));
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
        let closed = Closed { how: CloseReason::Disagreed, by: by.clone(), note: None };
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
fn expired(reader: &Reader, records: &Tasks, now: u64) -> Vec<Answer> {
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
    answers.extend(expired(reader, records, now));
    answers
}
