//! Tasks that wait for a time, a signal or an answer, and signals that have come for them: read from their records, without a
//! graph.

use std::collections::{BTreeMap, HashSet};

use super::reads::ThreadReads;
use crate::checkpoint::codec::decode_record;
use crate::checkpoint::error::CheckpointError;
use crate::checkpoint::key::{CheckpointId, Key, POSTED_ANSWERS, ThreadId};
use crate::checkpoint::task_record::{ReceiveRecord, TaskRecord, TaskStatus};
use crate::checkpoint::thread_record::SignalRecord;

/// Records of the tasks of a checkpoint, by their numbers.
pub(crate) type TaskRecords = BTreeMap<u32, TaskRecord>;

/// Order and id of a signal.
pub(crate) type SignalPosition = (u64, u64);

/// Returns at most this many signals of a thread's mailbox, in the order in which they were sent, from a position on.
pub(crate) async fn sent_signals(
    reads: &dyn ThreadReads,
    thread: &ThreadId,
    (order, id): SignalPosition,
    limit: usize,
) -> Result<Vec<(SignalPosition, SignalRecord)>, CheckpointError> {
    let range = Key::Signal { order, id }..=Key::Signal { order: POSTED_ANSWERS - 1, id: u64::MAX };
    let mut signals = vec![];
    for (key, bytes) in reads.read_range(thread, range, limit).await? {
        if let Key::Signal { order, id } = key {
            signals.push(((order, id), decode_record(thread, key, &bytes)?));
        }
    }
    Ok(signals)
}

/// Returns the answers that were posted to a thread and that no run has taken, in the order in which they were posted.
pub(crate) async fn posted_answers(
    reads: &dyn ThreadReads,
    thread: &ThreadId,
) -> Result<Vec<(Key, SignalRecord)>, CheckpointError> {
    let key = |id| Key::Signal { order: POSTED_ANSWERS, id };
    let mut answers: Vec<(Key, SignalRecord)> = vec![];
    for (key, bytes) in reads.read_range(thread, key(0)..=key(u64::MAX), usize::MAX).await? {
        let answer = decode_record(thread, &key, &bytes)?;
        answers.push((key, answer));
    }
    answers.sort_by_key(|(_, answer)| answer.at);
    Ok(answers)
}

/// Returns the name of a question as posted answers have it: checkpoint, task and place.
pub(crate) fn question_name((checkpoint, task, place): (CheckpointId, u32, u32)) -> String {
    format!("{checkpoint}-{task}-{place}")
}

/// Signals and answers that have arrived for the tasks of a checkpoint.
#[derive(Debug, Default)]
pub(crate) struct ArrivedSignals {
    sent: Vec<(SignalPosition, SignalRecord)>,
    /// Journal entries that hold a signal which no task record mentions, because the process was killed.
    received: HashSet<(u32, String)>,
    /// The questions to which answers were posted.
    answered: HashSet<String>,
}

impl ArrivedSignals {
    /// Reads the mailbox and the journals, if a task waits for a signal or an answer.
    pub(crate) async fn read(
        reads: &dyn ThreadReads,
        thread: &ThreadId,
        checkpoint: CheckpointId,
        tasks: &TaskRecords,
    ) -> Result<Self, CheckpointError> {
        let waiting = tasks.iter().filter(|(_, task)| may_wait(task));
        let entry = |task: u32, record: &TaskRecord| {
            let entries: Vec<_> = record.receives.iter().map(|awaited| (task, awaited.entry.clone())).collect();
            entries
        };
        let entries: Vec<(u32, String)> = waiting.flat_map(|(task, record)| entry(*task, record)).collect();
        let posted = if tasks.values().any(asks) { posted_answers(reads, thread).await? } else { vec![] };
        let answered = posted.into_iter().map(|(_, answer)| answer.name).collect();
        if entries.is_empty() {
            return Ok(Self { answered, ..Self::default() });
        }
        let key = |(task, key): &(u32, String)| Key::Effect { checkpoint, task: *task, key: key.clone() };
        let found = reads.read_records(thread, entries.iter().map(key).collect()).await?;
        let received = entries.into_iter().zip(found).filter_map(|(entry, found)| found.map(|_| entry)).collect();
        Ok(Self { sent: sent_signals(reads, thread, (0, 0), usize::MAX).await?, received, answered })
    }

    /// Returns true if a task can run: its time or one of its signals has come.
    pub(crate) fn wakes(&self, task: u32, record: &TaskRecord, now: u64) -> bool {
        let due = record.wake.is_some_and(|wake| wake <= now);
        due || self.signals(task, record) || self.has_answer(record)
    }

    /// Returns true if an answer was posted to one of the open questions of a task.
    fn has_answer(&self, record: &TaskRecord) -> bool {
        let mut open = record.questions.iter().filter(|asked| !asked.answered);
        !self.answered.is_empty()
            && open.any(|asked| self.answered.contains(&question_name((asked.checkpoint, asked.task, asked.place))))
    }

    /// Returns true if one of the signals that a task waits for has arrived.
    fn signals(&self, task: u32, record: &TaskRecord) -> bool {
        record.receives.iter().any(|awaited| {
            let sent = self.sent.iter().any(|(_, signal)| awaited.takes(signal));
            sent || self.received.contains(&(task, awaited.entry.clone()))
        })
    }

    /// Returns the first signal that one of the tasks waits for.
    pub(super) fn first<'a>(
        &self,
        mut records: impl Iterator<Item = &'a TaskRecord>,
    ) -> Option<&(SignalPosition, SignalRecord)> {
        let first = |awaited: &ReceiveRecord| self.sent.iter().find(|(_, signal)| awaited.takes(signal));
        records.find_map(|record| record.receives.iter().find_map(first))
    }
}

/// Returns true if a task failed.
pub(crate) fn is_failed(record: &TaskRecord) -> bool {
    record.status == TaskStatus::Failed
}

/// Returns true if a task may wait for a time or a signal.
pub(super) fn may_wait(record: &TaskRecord) -> bool {
    matches!(record.status, TaskStatus::Waiting | TaskStatus::Interrupted)
}

/// Returns true if a task waits for a time or a signal, and for no answer, and neither has come.
pub(crate) fn is_resting((task, record): (u32, &TaskRecord), arrived: &ArrivedSignals, now: u64) -> bool {
    let waits = record.wake.is_some() || !record.receives.is_empty();
    record.status == TaskStatus::Waiting && waits && !arrived.wakes(task, record, now)
}

/// Returns true if a task has a question without an answer.
pub(super) fn asks(task: &TaskRecord) -> bool {
    task.status != TaskStatus::Done && task.questions.iter().any(|question| !question.answered)
}
