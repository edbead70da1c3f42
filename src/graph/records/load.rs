//! From records back to a run. Indexes of another version of the graph are mapped by name.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::checkpoint::{
    CheckpointId, CheckpointRecord, Key, QuestionRecord, RowId, SendRecord, Slot, TaskRecord, TaskStatus, WriteRecord,
};

use super::mapping::Mapping;
use super::reader::{Reader, Tasks};
use super::save::{log_name, row_key};
use crate::graph::channels::mask::Mask;
use crate::graph::channels::merge::Merge;
use crate::graph::channels::state::State;
use crate::graph::channels::value;
use crate::graph::channels::writes::Writes;
use crate::graph::compile::table::Table;
use crate::graph::define::interrupt::{AnyQuestion, InterruptId, Question, Shows};
use crate::graph::define::node::NodeId;
use crate::graph::run::control::{Control, Deferred, JoinState, LastRan, Trigger};
use crate::graph::run::ctx::{Answers, Known};
use crate::graph::run::error::RunError;
use crate::graph::run::position::{Finished, Packet, Position, Start};
use crate::graph::run::task::{Stand, Task};

impl Reader {
    /// Loads a checkpoint as a position.
    pub(crate) async fn position<S: State, N: NodeId, C>(
        &self,
        table: &Table<S, N, C>,
        id: CheckpointId,
        record: CheckpointRecord,
    ) -> Result<(Position<S>, Mapping), RunError> {
        let mapping = self.mapping(table, record.shape).await?;
        let slots = self.slots(table, &record, &mapping).await?;
        let (state, sizes) = self.sized(table, &record.namespace, &slots).await?;
        let position = self.position_over(table, id, record, &mapping, slots, Arc::new(state)).await?;
        Ok((Position { bytes: sizes.iter().sum(), sizes, ..position }, mapping))
    }

    /// The same over slots and a state that were read before.
    pub(crate) async fn position_over<S: State, N: NodeId, C>(
        &self,
        table: &Table<S, N, C>,
        id: CheckpointId,
        record: CheckpointRecord,
        mapping: &Mapping,
        slots: Vec<Slot>,
        state: Arc<S>,
    ) -> Result<Position<S>, RunError> {
        let control = self.control(table, &record, mapping).await?;
        let start = match &record.control.start {
            Some(writes) => Some(self.start(table, &record.namespace, writes, mapping).await?),
            None => None,
        };
        let same = mapping.is_same();
        let moved = if same && record.base.is_some() {
            record.channels.iter().map(|(at, _)| *at as usize).collect()
        } else {
            Mask::default()
        };
        let base = if same { record.base.or(Some(id)) } else { None };
        Ok(Position {
            id,
            parent: record.parent,
            source: record.source,
            step: record.step,
            created_at: record.created_at,
            state,
            control,
            start,
            sizes: vec![0; slots.len()],
            bytes: 0,
            slots,
            base,
            moved,
            line: record.line,
            children: record.children,
            metadata: record.metadata,
            freed: vec![],
        })
    }

    pub(crate) async fn slots<S: State, N: NodeId, C>(
        &self,
        table: &Table<S, N, C>,
        record: &CheckpointRecord,
        mapping: &Mapping,
    ) -> Result<Vec<Slot>, RunError> {
        let mut slots = vec![Slot::Absent; S::channels(&table.schema).len()];
        if let Some(base) = record.base {
            let base = self.record(base).await?.ok_or_else(|| self.damaged("checkpoint", "its base is missing"))?;
            put_slots(&mut slots, base.channels, mapping);
        }
        put_slots(&mut slots, record.channels.clone(), mapping);
        Ok(slots)
    }

    /// Reads the state that the slots describe.
    pub(crate) async fn state<S: State, N: NodeId, C>(
        &self,
        table: &Table<S, N, C>,
        path: &str,
        slots: &[Slot],
    ) -> Result<S, RunError> {
        Ok(self.sized(table, path, slots).await?.0)
    }

    /// The same, with how many bytes each channel's value has in the store.
    async fn sized<S: State, N: NodeId, C>(
        &self,
        table: &Table<S, N, C>,
        path: &str,
        slots: &[Slot],
    ) -> Result<(S, Vec<u64>), RunError> {
        let (mut state, mut sizes) = (S::empty(&table.schema), vec![0; slots.len()]);
        let (mut keys, mut places) = (vec![], vec![]);
        for (at, slot) in slots.iter().enumerate() {
            if let Slot::Row(row) | Slot::Log { full: Some(row), .. } = slot {
                keys.push(Key::Row(*row));
                places.push(at);
            }
        }
        for (at, bytes) in places.into_iter().zip(self.rows(keys).await?) {
            sizes[at] = bytes.len() as u64;
            value::decode_channel::<S>(&table.schema, &mut state, at, &bytes)?;
        }
        for (at, slot) in slots.iter().enumerate() {
            if let Slot::Log { ranges, .. } = slot {
                for range in ranges {
                    sizes[at] += range.bytes;
                    self.entries(table, path, at, range, &mut state).await?;
                }
            }
        }
        Ok((state, sizes))
    }

    pub(crate) async fn entries<S: State, N: NodeId, C>(
        &self,
        table: &Table<S, N, C>,
        path: &str,
        at: usize,
        range: &crate::checkpoint::LogRange,
        state: &mut S,
    ) -> Result<(), RunError> {
        let key = |row| Key::Log { channel: log_name(table, path, at), row };
        let rows = key(range.first)..=key(range.last);
        let rows = self.scan(rows).await?;
        if rows.len() != range.count as usize {
            let reason = format!("{} entries of {} are there", rows.len(), range.count);
            return Err(self.damaged(&format!("log of channel `{}`", table.channel(at)), &reason));
        }
        for (_, bytes) in rows {
            let write = value::decode_write::<S>(&table.schema, at, false, &bytes)?;
            let applied = state.apply(&table.schema, write, &mut Merge::default());
            let channel = &S::channels(&table.schema)[at];
            applied.map_err(|error| self.damaged(channel.name(), &channel.told(error.to_string())))?;
        }
        Ok(())
    }

    /// Whether logs hold entries after those of a position: some other way led on from it, so it begins a line of its own.
    pub(crate) async fn is_left<S: State, N: NodeId, C>(
        &self,
        table: &Table<S, N, C>,
        path: &str,
        position: &Position<S>,
    ) -> Result<bool, RunError> {
        let most = RowId { checkpoint: CheckpointId(u64::MAX), task: u32::MAX, slot: u32::MAX };
        for (at, slot) in position.slots.iter().enumerate() {
            let Slot::Log { ranges, .. } = slot else { continue };
            let Some(range) = ranges.last() else { continue };
            let key = |row| Key::Log { channel: log_name(table, path, at), row };
            if self.goes_on(key(range.last)..=key(most)).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    pub(crate) async fn control<S: State, N: NodeId, C>(
        &self,
        table: &Table<S, N, C>,
        record: &CheckpointRecord,
        mapping: &Mapping,
    ) -> Result<Control<Packet>, RunError> {
        let stored = &record.control;
        let mut control = Control::new(&table.wiring);
        control.version = stored.version;
        let node = |at: u32| mapping.node(at).map_err(|reason| self.incompatible(reason));
        for &(at, version) in &stored.ready {
            control.ready.push(Trigger { node: node(at)?, version });
        }
        for &(at, version, finished) in &stored.deferred {
            control.deferred.push(Deferred { node: node(at)?, version, finished });
        }
        for (at, join) in &stored.joins {
            if let Some(at) = mapping.join(*at) {
                let arrived = Mask::from_words(&join.arrived);
                control.joins[at as usize] = JoinState { arrived, version: join.version, finished: join.finished };
            }
        }
        control.last_ran = stored
            .last_ran
            .and_then(|(version, at, tied)| Some(LastRan { version, node: mapping.node(at).ok()?, tied }));
        control.sends = self.sends(table, &stored.sends, mapping).await?;
        Ok(control)
    }

    /// The names of the tasks that a checkpoint plans, without its state and payloads.
    pub(crate) async fn planned<S: State, N: NodeId, C>(
        &self,
        table: &Table<S, N, C>,
        mut record: CheckpointRecord,
    ) -> Result<Vec<String>, RunError> {
        let mapping = self.mapping(table, record.shape).await?;
        let sends = std::mem::take(&mut record.control.sends);
        let control = self.control(table, &record, &mapping).await?;
        let mut nodes = vec![];
        control.pulls(&table.wiring, &mut nodes);
        for send in sends {
            nodes.push(mapping.node(send.node).map_err(|reason| self.incompatible(reason))?);
        }
        let start = record.control.start.map(|_| "__start__".to_owned());
        Ok(start.into_iter().chain(nodes.into_iter().map(|node| table.row(node).name.to_string())).collect())
    }

    pub(crate) fn incompatible(&self, reason: String) -> RunError {
        RunError::Incompatible { thread: self.thread.clone(), reason }
    }

    async fn sends<S: State, N: NodeId, C>(
        &self,
        table: &Table<S, N, C>,
        sends: &[SendRecord],
        mapping: &Mapping,
    ) -> Result<Vec<(u32, Packet)>, RunError> {
        let rows = self.rows(sends.iter().map(|send| Key::Row(send.payload)).collect()).await?;
        let mut packets = vec![];
        for (send, bytes) in sends.iter().zip(rows) {
            let node = mapping.node(send.node).map_err(|reason| self.incompatible(reason))?;
            let row = table.row(node);
            let unreadable = |reason| RunError::Codec { what: format!("payload of `{}`", row.name), reason };
            let payload = row.body.payload(&bytes).map_err(unreadable)?;
            packets.push((node, Packet { payload, row: send.payload }));
        }
        Ok(packets)
    }

    async fn start<S: State, N: NodeId, C>(
        &self,
        table: &Table<S, N, C>,
        path: &str,
        rows: &[WriteRecord],
        mapping: &Mapping,
    ) -> Result<Start<S>, RunError> {
        let (writes, rows, sizes) = self.writes(table, path, rows, mapping).await?;
        Ok(Start { writes, rows, sizes })
    }

    /// Reads a task's writes back; those of channels that are gone, or never saved, are left out.
    async fn writes<S: State, N: NodeId, C>(
        &self,
        table: &Table<S, N, C>,
        path: &str,
        stored: &[WriteRecord],
        mapping: &Mapping,
    ) -> Result<(Writes<S>, Vec<WriteRecord>, Vec<u64>), RunError> {
        let (mut kept, mut keys) = (vec![], vec![]);
        for write in stored {
            if let (Some(channel), Some(row)) = (mapping.channel(write.channel), write.row) {
                kept.push(WriteRecord { channel, ..*write });
                keys.push(row_key(table, path, channel as usize, write.overwrite, row));
            }
        }
        let (mut writes, mut sizes) = (Writes::default(), vec![]);
        for (write, bytes) in kept.iter().zip(self.rows(keys).await?) {
            sizes.push(bytes.len() as u64);
            let channel = write.channel as usize;
            writes.0.push(value::decode_write::<S>(&table.schema, channel, write.overwrite, &bytes)?);
        }
        Ok((writes, kept, sizes))
    }

    /// Reads what became of a task: its result, or its questions and answers.
    pub(crate) async fn finished<S: State, N: NodeId, C>(
        &self,
        table: &Table<S, N, C>,
        path: &str,
        record: &TaskRecord,
        mapping: &Mapping,
    ) -> Result<Finished<S>, RunError> {
        let (writes, rows, sizes) = self.writes(table, path, &record.writes, mapping).await?;
        let node = |at: &u32| mapping.node(*at).map_err(|reason| self.incompatible(reason));
        Ok(Finished {
            writes,
            rows,
            sizes,
            targets: record.targets.iter().map(node).collect::<Result<_, _>>()?,
            sends: self.sends(table, &record.sends, mapping).await?,
            chosen: record.chosen,
            cached: record.cached,
            fires: record.handled.is_none(),
            routed: true,
            saved: true,
            children: record.children.clone(),
            returned: None,
        })
    }

    pub(crate) async fn questions<S: State, N: NodeId, C>(
        &self,
        table: &Table<S, N, C>,
        records: &[QuestionRecord],
    ) -> Result<Vec<Question>, RunError> {
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
            shows: table.asks(&record.name).map_or_else(Shows::of::<AnyQuestion>, |asks| asks.shows),
            answered: record.answered,
            asker: record.asker.clone().unwrap_or_default(),
        };
        Ok(records.iter().zip(rows).map(question).collect())
    }

    pub(crate) async fn answers(&self, record: &TaskRecord) -> Result<Answers, RunError> {
        let own = |asked: &QuestionRecord| asked.asker.clone().map(|asker| (asked.place, asker));
        let asked = record.questions.iter().filter_map(own);
        let askers = asked.chain(record.answers.iter().map(|answer| (answer.place, answer.asker.clone())));
        let askers: BTreeMap<u32, String> = askers.collect();
        if askers.is_empty() {
            return Ok(None);
        }
        let rows = self.rows(record.answers.iter().map(|answer| Key::Row(answer.value)).collect()).await?;
        let answers = record.answers.iter().zip(rows);
        let answers = answers.map(|(answer, bytes)| (answer.place, (answer.name.clone(), bytes)));
        Ok(Some(Arc::new(Known { answers: answers.collect(), askers, ..Known::default() })))
    }

    /// Gives the planned tasks of a position what their records say.
    pub(crate) async fn restore<S: State, N: NodeId, C>(
        &self,
        table: &Table<S, N, C>,
        path: &str,
        tasks: &mut [Task<S>],
        records: Tasks,
        mapping: &Mapping,
    ) -> Result<(), RunError> {
        let here = |(key, record)| Ok((mapping.task(key)?, record));
        let by_key: Result<Tasks, String> =
            if mapping.is_same() { Ok(records) } else { records.into_iter().map(here).collect() };
        let mut by_key = by_key.map_err(|reason| self.incompatible(reason))?;
        for task in tasks {
            task.again = true; // a killed process may have left a subgraph halfway, and no record of its task
            let Some(record) = by_key.remove(&task.key) else { continue };
            (task.attempts, task.first_call) = (record.attempts, record.first_call);
            (task.wake, task.effects) = (record.wake, record.effects);
            task.failures.clone_from(&record.failures);
            task.answers = self.answers(&record).await?;
            task.handled.clone_from(&record.handled);
            task.error.clone_from(&record.error);
            task.questions.clone_from(&record.questions);
            task.answered.clone_from(&record.answers);
            task.asked = self.questions(table, &record.questions).await?;
            task.stand = match record.status {
                TaskStatus::Done => Stand::Done(Box::new(self.finished(table, path, &record, mapping).await?)),
                TaskStatus::Interrupted => {
                    let open: Vec<QuestionRecord> =
                        record.questions.iter().filter(|question| !question.answered).cloned().collect();
                    let fresh = record.questions.is_empty() || open.len() < record.questions.len();
                    Stand::Asked { questions: self.questions(table, &open).await?, fresh }
                }
                TaskStatus::Waiting => Stand::Asked { questions: vec![], fresh: false },
                TaskStatus::Pending | TaskStatus::Failed => Stand::Ready,
            };
        }
        Ok(())
    }
}

fn put_slots(slots: &mut [Slot], stored: Vec<(u32, Slot)>, mapping: &Mapping) {
    for (at, slot) in stored {
        if let Some(at) = mapping.channel(at) {
            slots[at as usize] = slot;
        }
    }
}
