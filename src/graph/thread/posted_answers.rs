//! Answers to a thread that somebody runs: posted to its mailbox without a lease, and taken by the run, in whichever process it is,
//! or by the next one. Knows the mailbox; how answers are checked and stored is in `answer`.

use std::sync::Arc;

use super::answer::place;
use super::handle::{Thread, ThreadCore};
use super::outcome::Outcome;
use crate::checkpoint::{Key, POSTED_ANSWERS, SignalRecord, encode_record, posted_answers, question_name};
use crate::graph::error::RunError;
use crate::graph::interrupt::{Answer, CloseReason, InterruptId, To};
use crate::graph::node::NodeId;
use crate::graph::records::reader::reader;
use crate::graph::records::{Durability, Reader, Recorder, Tasks};
use crate::graph::state::{AnyState, Boxed, State};

impl<S: State, N: NodeId, C: Send + Sync + 'static> Thread<S, N, C> {
    /// Stores an answer without a claim of the thread: a run may hold it, in this process or in another. It is on disk when
    /// this returns, and nothing runs here.
    ///
    /// A run that holds the thread takes the answer at the end of its superstep, and goes on with it instead of ending with
    /// the question. If nobody runs the thread, the next run takes it, and runners find the thread due.
    ///
    /// # Errors
    /// Those of a resume with the answer, such as [`RunError::UnknownQuestion`], [`RunError::MistypedAnswer`] or
    /// [`RunError::NotAnApprover`]; [`RunError::AlreadyAnswered`] if such an answer was posted before;
    /// [`RunError::UnknownThread`]; if there is no store, or it fails. Nothing is stored on an error.
    pub async fn post_answer(&self, answer: Answer) -> Result<InterruptId, RunError> {
        self.core.post_answer(answer).await
    }

    /// Checks answers against the pending questions, as a resume with all of them does, and returns the ids of their questions.
    /// Writes nothing.
    ///
    /// # Errors
    /// Those of [`post_answer`](Self::post_answer), but for answers that were posted before.
    pub async fn check_answers(&self, answers: Vec<Answer>) -> Result<Vec<InterruptId>, RunError> {
        self.core.check_answers(answers).await
    }

    /// Checks answers as [`check_answers`](Self::check_answers) does, and returns the result of each: the id of its question, or the
    /// reason for which it would be refused. The thread is read once.
    ///
    /// # Errors
    /// [`RunError::UnknownThread`]; if there is no store, or it fails.
    pub async fn check_each_answer(
        &self,
        answers: Vec<Answer>,
    ) -> Result<Vec<Result<InterruptId, RunError>>, RunError> {
        self.core.check_each_answer(answers).await
    }
}

impl ThreadCore {
    pub(crate) fn post_answer(&self, answer: Answer) -> Boxed<'_, Result<InterruptId, RunError>> {
        Box::pin(async move {
            let (reader, checkpoint) = self.reader_to_post("an answer").await?;
            let (records, now) = (reader.tasks(checkpoint).await?, self.now());
            let is_closing = answer.closing.is_some();
            let matched = self.match_answers(&reader, &records, vec![answer], now).await?;
            let Some(matched) = matched.into_iter().next() else { return Err(self.empty_input_error()) };
            let (id, record) = matched.into_post(&reader, is_closing);
            let before = posted_answers(&&*reader.store, &reader.thread).await?;
            let is_same = |(_, other): &(Key, SignalRecord)| other.name == record.name && other.by == record.by;
            if before.iter().any(is_same) {
                return Err(RunError::AlreadyAnswered { id });
            }
            let key = Key::Signal { order: POSTED_ANSWERS, id: self.environment.host.random() };
            reader.store.post(&reader.thread, vec![(key, encode_record(&record)?)]).await?;
            Ok(id)
        })
    }

    pub(crate) fn check_answers(&self, answers: Vec<Answer>) -> Boxed<'_, Result<Vec<InterruptId>, RunError>> {
        Box::pin(async move {
            let (reader, checkpoint) = self.reader_to_post("an answer").await?;
            let records = reader.tasks(checkpoint).await?;
            let matched = self.match_answers(&reader, &records, answers, self.now()).await?;
            Ok(matched.into_iter().map(|matched| matched.into_post(&reader, false).0).collect())
        })
    }

    fn check_each_answer(
        &self,
        answers: Vec<Answer>,
    ) -> Boxed<'_, Result<Vec<Result<InterruptId, RunError>>, RunError>> {
        Box::pin(async move {
            let (reader, checkpoint) = self.reader_to_post("an answer").await?;
            let records = reader.tasks(checkpoint).await?;
            let matched = self.match_each(&reader, &records, answers).await?.into_iter();
            Ok(matched.map(|matched| Ok(matched?.into_post(&reader, false).0)).collect())
        })
    }

    /// Takes the posted answers that a resume with some answers can apply too, and has them removed with its first commit. One
    /// that does not fit any more is removed and logged.
    pub(super) async fn take_posted(
        &self,
        recorder: &Arc<Recorder>,
        given: &[Answer],
    ) -> Result<Vec<Answer>, RunError> {
        if self.at.is_some() || self.settings.restart_superstep {
            return Ok(vec![]);
        }
        let reader = reader(recorder);
        let posted = posted_answers(&&*reader.store, &reader.thread).await?;
        let Some(head) = recorder.head().checkpoint.filter(|_| !posted.is_empty()) else { return Ok(vec![]) };
        let records = reader.tasks(head).await?;
        let mut taken: Vec<Answer> = vec![];
        for (key, record) in posted {
            let Some(answer) = posted_answer(&reader, &records, record) else {
                recorder.delete_gathered(key);
                continue;
            };
            if taken.iter().chain(given).any(|other| other.to == answer.to || other.to == To::TheOnly) {
                continue; // another vote on the same question: the next run takes it
            }
            match self.match_answers(&reader, &records, vec![answer.clone()], self.now()).await {
                Ok(_) => taken.push(answer),
                Err(error @ RunError::Checkpoint(_)) => return Err(error),
                Err(error) => tracing::warn!(thread = reader.thread.as_str(), %error, "a posted answer was dropped"),
            }
            recorder.delete_gathered(key);
        }
        Ok(taken)
    }

    /// Returns true if an answer was posted to a question with which a run has ended, so that the run goes on.
    pub(super) async fn is_answered(
        &self,
        done: &Result<Outcome<AnyState>, RunError>,
        recorder: &Recorder,
    ) -> Result<bool, RunError> {
        let Ok(outcome) = done else { return Ok(false) };
        let may_go_on = recorder.durability() != Durability::Exit && self.at.is_none();
        if !may_go_on || outcome.questions().is_empty() || recorder.lease().is_cancelled() {
            return Ok(false);
        }
        let posted = posted_answers(&&**recorder.store(), recorder.lease().thread()).await?;
        let open = outcome.questions().iter().map(|question| question.id());
        let names: Vec<String> = open.map(|id| question_name((id.checkpoint, id.task, id.place))).collect();
        Ok(posted.iter().any(|(_, record)| names.contains(&record.name)))
    }
}

/// Returns a posted answer to one of the questions of a superstep; `None` if the question is not among them.
fn posted_answer(reader: &Reader, records: &Tasks, record: SignalRecord) -> Option<Answer> {
    let questions = records.values().flat_map(|task| &task.questions);
    let asked = questions.into_iter().find(|asked| question_name(place(asked)) == record.name)?;
    let (checkpoint, task, place) = place(asked);
    let to = To::Id(InterruptId { birth: reader.birth, checkpoint, task, place });
    let closing = record.value.is_empty().then_some(CloseReason::Cancelled);
    Some(Answer::posted(to, record.value, (record.by, record.note), (record.at, closing)))
}
