//! Decoding records into a position and its tasks. Indexes of another version of the graph are mapped by name.

use std::collections::BTreeMap;
use std::sync::Arc;

use superstep_base::gather;

use super::channels::{LoadedChannels, ReadPolicy, channel};
use super::control::by_edge;
use super::save::log_name;
use crate::checkpoint::{
    AnswerRecord, CarriedRecord, CheckpointId, CheckpointRecord, Key, QuestionRecord, RowId, Slot, TaskRecord,
    TaskStatus, WriteRecord,
};
use crate::graph::build::Table;
use crate::graph::context::{Answers, EarlierQuestion, KnownAnswers};
use crate::graph::error::{Incompatibility, RunError};
use crate::graph::interrupt::{AnyQuestion, DeclaredQuestion, InterruptId, Question, QuestionFormat, Terms};
use crate::graph::records::{
    CheckpointInfo, Mapping, NEW_LINE, ORIGIN, Reader, SENT, START_KEY, START_NAME, START_NODE, Tasks,
};
use crate::graph::state::{AnyWrites, Channel, Mask, Storage};
use crate::graph::superstep::{
    FinishedResult, Position, Routing, StartInput, StoredChannels, StoredWrites, Task, TaskState,
};

/// A task that a checkpoint plans.
pub(crate) struct PlannedTask {
    /// Its key in the present graph.
    pub key: u32,
    /// The key of its record.
    pub stored: u32,
    /// The present name of its node.
    pub name: String,
}

impl PlannedTask {
    fn stored(key: u32, name: String) -> Self {
        Self { key, stored: key, name }
    }
}

impl Reader {
    /// Loads a checkpoint as a position.
    pub(crate) async fn position(
        &self,
        table: &Table,
        id: CheckpointId,
        record: CheckpointRecord,
    ) -> Result<(Position, Mapping), RunError> {
        self.position_by(table, id, record, ReadPolicy::Whole).await
    }

    /// Loads a checkpoint only to show it: channels that cannot be read are noted as incompatibilities, and the others
    /// are read.
    pub(crate) async fn shown_position(
        &self,
        table: &Table,
        id: CheckpointId,
        record: CheckpointRecord,
    ) -> Result<(Position, Mapping), RunError> {
        self.position_by(table, id, record, ReadPolicy::Shown).await
    }

    async fn position_by(
        &self,
        table: &Table,
        id: CheckpointId,
        record: CheckpointRecord,
        reading: ReadPolicy,
    ) -> Result<(Position, Mapping), RunError> {
        let mapping = self.mapping(table, id, &record).await?;
        let (slots, carried) = self.slots(&record, &mapping).await?;
        mapping.note_unclaimed(&table.schema, &carried);
        let mut settled = self.shared(table, &record.namespace, slots, &mapping, reading).await?;
        let unread = std::mem::take(&mut settled.unread);
        let position = self.position_over(table, id, record, &mapping, carried, settled).await?;
        unread.into_iter().for_each(|unread| mapping.note(Incompatibility::Value(Box::new(unread))));
        Ok((position, mapping))
    }

    /// Loads a checkpoint over slots and a state that were read before.
    pub(crate) async fn position_over(
        &self,
        table: &Table,
        id: CheckpointId,
        record: CheckpointRecord,
        mapping: &Mapping,
        carried: Vec<CarriedRecord>,
        settled: LoadedChannels,
    ) -> Result<Position, RunError> {
        let LoadedChannels { state, slots, sizes, stale, mut owed, tails, unread: _ } = settled;
        let control = self.control(table, &record, mapping).await?;
        let start = match &record.control.start {
            Some(writes) => Some(self.start(table, &record.namespace, writes, mapping).await?),
            None => None,
        };
        // At rest nothing is half done: only the pin and channels can keep another version from continuing.
        if start.is_none() && control.is_idle(&table.wiring) && mapping.lost_tasks().is_empty() {
            mapping.drop_pending_misfits();
        }
        // Values that are stored where another version looked for them move with the next checkpoint.
        owed.extend(mapping.take_rewrites());
        let same = mapping.is_same();
        // `base` has the last complete map of channels, `moved` the changes since; another version has neither.
        let moved = if same && record.base.is_some() {
            record.channels.iter().map(|(at, _)| *at as usize).collect()
        } else {
            Mask::default()
        };
        // Without a base the next checkpoint stores the complete map, in the indexes of this version.
        let base = if same { record.base.or(Some(id)) } else { None };
        Ok(Position {
            meta: CheckpointInfo::of(id, &record),
            children: table.children_now(record.children),
            state,
            control,
            start: start.map(Box::new),
            channels: StoredChannels {
                bytes: sizes.iter().sum(),
                sizes,
                slots,
                base,
                moved,
                line: if same { record.line } else { NEW_LINE }, // logs are another graph's
                freed: vec![],
                unknown: carried,
                stale,
                pending_rewrites: owed,
                tails,
                chunks: vec![],
            },
        })
    }

    /// Returns true if logs hold entries after those of a position: another run continued from it, so the next one
    /// starts a new line.
    pub(crate) async fn has_later_entries(
        &self,
        table: &Table,
        path: &str,
        position: &Position,
    ) -> Result<bool, RunError> {
        let most = RowId { checkpoint: CheckpointId(u64::MAX), task: u32::MAX, slot: u32::MAX };
        for (at, slot) in position.channels.slots.iter().enumerate() {
            let Slot::Log { ranges, .. } = slot else { continue };
            let Some(range) = ranges.last().filter(|range| range.log.is_none()) else { continue };
            let key = |row| Key::Log { channel: log_name(table, path, at), row };
            if self.goes_on(key(range.last)..=key(most)).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the names of the tasks that a checkpoint plans, without reading its state and payloads.
    pub(crate) async fn planned_names(
        &self,
        table: &Table,
        id: CheckpointId,
        record: CheckpointRecord,
    ) -> Result<Vec<String>, RunError> {
        Ok(self.planned(table, id, record).await?.into_iter().map(|task| task.name).collect())
    }

    /// Returns the tasks that a checkpoint plans, without reading its state and payloads.
    pub(crate) async fn planned(
        &self,
        table: &Table,
        id: CheckpointId,
        mut record: CheckpointRecord,
    ) -> Result<Vec<PlannedTask>, RunError> {
        let mapping = self.mapping(table, id, &record).await?;
        let sends = std::mem::take(&mut record.control.sends);
        let control = self.control(table, &record, &mapping).await?;
        let mut nodes = vec![];
        control.pulls(&table.wiring, &mut nodes);
        let start = record.control.start.map(|_| PlannedTask::stored(START_KEY, START_NAME.into()));
        let edge = |node: u32| {
            let (stored, name) = (mapping.stored_task(node), table.row(node).name.to_string());
            PlannedTask { key: node, stored, name }
        };
        let sent = sends.iter().zip(SENT..).map(|(send, key)| (key, mapping.name_now(table, send.node)));
        let others = sent.chain(mapping.lost_tasks()).map(|(key, name)| PlannedTask::stored(key, name));
        Ok(start.into_iter().chain(nodes.into_iter().map(edge)).chain(others).collect())
    }

    pub(crate) async fn start(
        &self,
        table: &Table,
        path: &str,
        rows: &[WriteRecord],
        mapping: &Mapping,
    ) -> Result<StartInput, RunError> {
        let (writes, stored) = self.writes(table, path, rows, mapping).await?;
        Ok(StartInput { writes, stored })
    }

    /// Reads a task's writes; those to channels that are gone, or never saved, are left out. Writes to unknown channels
    /// are rows only.
    async fn writes(
        &self,
        table: &Table,
        path: &str,
        stored: &[WriteRecord],
        mapping: &Mapping,
    ) -> Result<(AnyWrites, StoredWrites), RunError> {
        let (mut kept, mut keys) = (Vec::with_capacity(stored.len()), Vec::with_capacity(stored.len()));
        for write in stored {
            let (Some(channel), Some(row)) = (mapping.noted_as(write.channel), write.row) else { continue };
            // A write that the present rule cannot apply is still shown; no run continues with it.
            let overwrite = mapping.taken_as(table, write).unwrap_or(write.overwrite);
            let key = mapping.row_key(table, path, channel, write.overwrite, row);
            let present = (!mapping.is_same()).then(|| mapping.present_key(table, path, channel, overwrite, row));
            kept.push((WriteRecord { channel, overwrite, ..*write }, present.filter(|present| *present != key)));
            keys.push(key);
        }
        let channels = table.schema.channels();
        let (mut writes, mut rows_now) = (AnyWrites(Vec::with_capacity(kept.len())), StoredWrites::default());
        rows_now.reserve(kept.len());
        for ((write, moved), bytes) in kept.into_iter().zip(self.rows(keys).await?) {
            let at = write.channel as usize;
            rows_now.push(write, channels.get(at).map_or(Storage::Never, Channel::storage), &bytes);
            if let Some(present) = moved {
                mapping.add_rewrite(present, bytes.clone());
            }
            if at >= channels.len() {
                continue;
            }
            match table.schema.decode_write(at, write.overwrite, &bytes) {
                Ok(write) => writes.0.push(write),
                Err(misread) => mapping.note(Incompatibility::Value(Box::new(self.unreadable_value(
                    &channel(table, at),
                    mapping.at,
                    misread,
                )))),
            }
        }
        Ok((writes, rows_now))
    }

    /// Reads the result of a task.
    pub(crate) async fn load_result(
        &self,
        table: &Table,
        path: &str,
        record: &TaskRecord,
        mapping: &Mapping,
    ) -> Result<FinishedResult, RunError> {
        let written = self.writes(table, path, &record.writes, mapping).await?;
        self.finished_with(table, record, mapping, written).await
    }

    /// Restores the task of START, if it has ended with the input that its checkpoint has: that has been read.
    pub(crate) async fn restore_start(
        &self,
        table: &Table,
        start: &StartInput,
        (task, record): (&mut Task, TaskRecord),
        mapping: &Mapping,
    ) -> Result<(), RunError> {
        let written = (start.writes.clone(), start.stored.clone());
        task.again = true;
        task.state = TaskState::Done(Box::new(self.finished_with(table, &record, mapping, written).await?));
        task.restore(record);
        Ok(())
    }

    async fn finished_with(
        &self,
        table: &Table,
        record: &TaskRecord,
        mapping: &Mapping,
        (writes, stored): (AnyWrites, StoredWrites),
    ) -> Result<FinishedResult, RunError> {
        let targets = record.targets.iter().filter_map(|at| by_edge(table, mapping, *at, None));
        Ok(FinishedResult {
            writes,
            stored,
            routing: Routing {
                targets: targets.collect(),
                sends: self.sends(table, &record.sends, mapping).await?,
                chosen: record.chosen,
                fires: record.handled.is_none(),
                is_done: true,
            },
            cached: record.cached,
            saved: true,
            children: record.children.clone(),
            returned: None,
        })
    }

    pub(crate) async fn questions(&self, table: &Table, of: &TaskRecord) -> Result<Vec<Question>, RunError> {
        let records = &of.questions;
        let rows = self.rows(records.iter().map(|record| Key::Row(record.payload)).collect()).await?;
        let question = |(record, payload): (&QuestionRecord, Vec<u8>)| Question {
            id: InterruptId {
                birth: self.birth,
                checkpoint: record.checkpoint,
                task: record.task,
                place: record.place,
            },
            name: record.name.clone(),
            node: record.node.clone(),
            namespace: record.namespace.clone(),
            payload,
            shows: declaration(table, record).map_or_else(QuestionFormat::of::<AnyQuestion>, |asks| asks.shows),
            answered: record.answered,
            asker: record.asker.clone().unwrap_or_default(),
            terms: Terms::of(of, record),
        };
        Ok(records.iter().zip(rows).map(question).collect())
    }

    /// Returns the earlier questions and answers of a task, named by its checkpoint and key. `read`: the questions of its last
    /// run.
    async fn answers(
        &self,
        task: (CheckpointId, u32),
        record: &TaskRecord,
        read: &[Question],
    ) -> Result<Answers, RunError> {
        let questions = record.questions.iter().filter_map(|asked| earlier_question(task.0, asked));
        let answered = record.answers.iter().map(|answer| answered_question(task, record, answer));
        let mut asked: BTreeMap<u32, (EarlierQuestion, RowId)> = gather(answered.chain(questions));
        if asked.is_empty() {
            return Ok(None);
        }
        let known: BTreeMap<RowId, &Question> =
            gather(record.questions.iter().map(|question| question.payload).zip(read));
        let unread: Vec<Key> =
            asked.values().filter(|(_, row)| !known.contains_key(row)).map(|(_, row)| Key::Row(*row)).collect();
        let mut payloads = if unread.is_empty() { vec![] } else { self.get(unread).await? }.into_iter();
        for (question, row) in asked.values_mut() {
            question.payload = match known.get(row) {
                Some(question) => Some(question.payload.clone()),
                None => payloads.next().flatten(),
            };
        }
        let rows = self.rows(record.answers.iter().map(|answer| Key::Row(answer.value)).collect()).await?;
        let answers = gather(record.answers.iter().map(|answer| answer.place).zip(rows));
        let asked = gather(asked.into_iter().map(|(place, (asked, _))| (place, asked)));
        Ok(Some(Arc::new(KnownAnswers { asked, answers, ..KnownAnswers::default() })))
    }

    /// Counts the effects of tasks that a killed process left without a record.
    pub(crate) async fn restore_effects(
        &self,
        id: CheckpointId,
        path: &str,
        tasks: &mut [Task],
        mapping: &Mapping,
    ) -> Result<(), RunError> {
        if !path.is_empty() || tasks.iter().all(|task| task.is_done() || task.node == START_NODE) {
            return Ok(());
        }
        let mut entries = BTreeMap::<u32, u32>::new();
        for (task, ..) in self.effects(id).await?.into_iter().filter(|(_, key, _)| key != ORIGIN) {
            if let Ok(task) = mapping.task(task) {
                *entries.entry(task).or_default() += 1;
            }
        }
        for task in tasks.iter_mut().filter(|task| !task.is_done()) {
            let Some(&count) = entries.get(&task.key) else { continue };
            task.record.effects = task.record.effects.max(count);
            task.starts.all = task.starts.all.max(1);
        }
        Ok(())
    }

    /// Restores the planned tasks of a position from their records.
    pub(crate) async fn restore(
        &self,
        table: &Table,
        path: &str,
        tasks: &mut [Task],
        records: Tasks,
        mapping: &Mapping,
    ) -> Result<(), RunError> {
        let mut by_key = mapping.by_present_key(records);
        for task in tasks {
            task.again = true; // a killed process may have left a subgraph halfway, and no record of its task
            let Some(mut record) = by_key.remove(&task.key) else { continue };
            // No node would take the answer to a question that is not declared any more.
            record.questions.retain(|asked| asked.answered || table.still_asks(depth(path), asked));
            let asked: Arc<[Question]> = self.questions(table, &record).await?.into();
            let place = (mapping.at, mapping.stored_task(task.key));
            task.answers = self.answers(place, &record, &asked).await?;
            task.state = match record.status {
                TaskStatus::Done => TaskState::Done(Box::new(self.load_result(table, path, &record, mapping).await?)),
                TaskStatus::Interrupted => {
                    let open = open_of(&asked);
                    let fresh = record.questions.is_empty() || open.len() < record.questions.len();
                    TaskState::Asked { questions: open, fresh }
                }
                TaskStatus::Waiting => TaskState::Asked { questions: Arc::default(), fresh: false },
                TaskStatus::Pending | TaskStatus::Failed => TaskState::Ready,
            };
            task.asked = asked.into();
            task.restore(record);
        }
        Ok(())
    }
}

/// Returns the questions that are open.
fn open_of(asked: &Arc<[Question]>) -> Arc<[Question]> {
    match asked.iter().any(|asked| asked.answered) {
        true => asked.iter().filter(|asked| !asked.answered).cloned().collect(),
        false => Arc::clone(asked),
    }
}

/// Returns the declaration of a question: that of the node that asked it, if it has one.
fn declaration(table: &Table, record: &QuestionRecord) -> Option<DeclaredQuestion> {
    table.asked(&record.namespace, &record.node, &record.name).or_else(|| table.asks(&record.name))
}

/// Returns the depth of a namespace: the number of subgraphs in it.
fn depth(path: &str) -> usize {
    path.matches('/').count()
}

/// Returns a question of the task's last run, and the row of its payload.
fn earlier_question(checkpoint: CheckpointId, asked: &QuestionRecord) -> Option<(u32, (EarlierQuestion, RowId))> {
    let (asker, name) = (asked.asker.clone()?, asked.name.clone());
    let here = asked.payload.checkpoint == checkpoint;
    Some((asked.place, (EarlierQuestion { asker, name, payload: None, here }, asked.payload)))
}

/// Returns an answered question of the task, and the row of its payload.
fn answered_question(
    (checkpoint, task): (CheckpointId, u32),
    record: &TaskRecord,
    answer: &AnswerRecord,
) -> (u32, (EarlierQuestion, RowId)) {
    let known = record.payloads.iter().find(|(place, _)| *place == answer.place).map(|(_, row)| *row);
    let row = known.unwrap_or(RowId { checkpoint, task, slot: RowId::QUESTIONS + answer.place });
    let (asker, name) = (answer.asker.clone(), answer.name.clone());
    (answer.place, (EarlierQuestion { asker, name, payload: None, here: row.checkpoint == checkpoint }, row))
}

pub(crate) async fn position(
    reader: &Reader,
    table: &Table,
    id: CheckpointId,
) -> Result<(Position, Mapping), RunError> {
    reader.position(table, id, reader.known_record(id).await?).await
}
