//! Reading the journal of a task of a snapshot: from the entries of the root graph's task, recorded events and pointers to
//! subgraphs, without the values of secret channels. Knows no run.

use std::sync::Arc;

use serde_json::Value;

use crate::checkpoint::{AnswerRecord, CheckpointId, EventRecord, Key, decode_record};
use crate::graph::build::Table;
use crate::graph::error::RunError;
use crate::graph::interrupt::{AnswerInfo, AnyQuestion, Question, QuestionFormat};
use crate::graph::json::node_path;
use crate::graph::records::{BY_HANDLER, JournalPath, PathTask, Reader, SENT, START_NODE, handler_of};
use crate::graph::run::catch_panics::catch_panics;
use crate::graph::state::AnyState;
use crate::graph::superstep::{Position, Task};
use crate::graph::view::task_journal::entries;
use crate::graph::view::untyped::channel_json;
use crate::graph::view::{
    Activation, ChildRun, JournalEntry, JournalMessage, JournalQuestion, Ledger, LedgerTask, NestedSnapshot, Secrets,
    TaskJournal, TaskSnapshot,
};

impl Ledger {
    /// Returns the ledger of a task that is planned at a position. For a task in a subgraph, [`place_below`](Self::place_below)
    /// adds the rest.
    pub(crate) fn of(
        table: &Arc<Table>,
        reader: &Reader,
        pos: &Position,
        own: (CheckpointId, u32),
        task: &Task,
        is_root: bool,
    ) -> Self {
        let node = table.node_name(task.node);
        let first = (task.node != START_NODE).then(|| Arc::clone(&table.row(task.node).facts.first_name));
        let mut ledger = Self::of_lost_task(reader, own, is_root);
        (ledger.task.name, ledger.task.sent) = (first.unwrap_or_default(), task.key.checked_sub(SENT));
        (ledger.task.node, ledger.task.version) = (Arc::clone(node), pos.control.version);
        ledger.secrets = Secrets::of(table, &pos.state, task);
        ledger.questions = questions(table, task, node);
        ledger
    }

    /// Returns the ledger of a task that its graph no longer has.
    pub(crate) fn of_lost_task(reader: &Reader, own: (CheckpointId, u32), is_root: bool) -> Self {
        Self {
            store: Arc::downgrade(&reader.store),
            thread: reader.thread.clone(),
            birth: reader.birth,
            task: LedgerTask { own, ..LedgerTask::default() },
            root: is_root.then_some(own),
            prefixes: if is_root { vec![JournalPath::default()] } else { vec![] },
            questions: vec![],
            secrets: Secrets::default(),
        }
    }

    /// Locates the task below a task of the root graph.
    pub(crate) fn place_below(&mut self, above: &Self, activation: Activation) {
        let Activation { call, by_handler, base } = activation;
        self.root = above.root;
        self.secrets.extend(&above.secrets);
        let Some(above) = above.prefixes.get(usize::from(by_handler && above.prefixes.len() > 1)) else { return };
        let above = if by_handler { above.clone().handler() } else { above.clone() };
        let (graph, LedgerTask { name, sent, version, .. }) = (above.subgraph(call), &self.task);
        let task = |node: &str| graph.task(PathTask { round: version.saturating_sub(base), node, sent: *sent });
        self.prefixes = vec![task(name), task(&handler_of(name))];
    }

    async fn read(&self) -> Result<TaskJournal, RunError> {
        let Some(store) = self.store.upgrade() else {
            return Err(RunError::NoCheckpointer { what: "reading a journal whose store was closed" });
        };
        let (thread, birth) = (self.thread.clone(), self.birth);
        let reader = Reader { store, thread, birth, recorder: None, known: None };
        let (entries, messages) = self.read_entries(&reader).await?;
        let children = self.children(&reader).await?;
        let mut journal = TaskJournal { entries, questions: self.questions.clone(), children, messages };
        self.secrets.hide(&mut journal);
        Ok(journal)
    }

    /// Returns the entries without emitted messages.
    pub(crate) async fn entries(&self) -> Result<Vec<JournalEntry>, RunError> {
        let mut entries = self.read().await?.entries;
        entries.iter_mut().filter_map(JournalEntry::effect_mut).for_each(|effect| effect.messages.clear());
        Ok(entries)
    }

    async fn read_entries(&self, reader: &Reader) -> Result<(Vec<JournalEntry>, Vec<JournalMessage>), RunError> {
        let Some((checkpoint, task)) = self.root else { return Ok((vec![], vec![])) };
        let key = |key: &str| Key::Effect { checkpoint, task, key: key.to_owned() };
        let next = Key::Effect { checkpoint, task: task.saturating_add(1), key: String::new() };
        let mut records = vec![];
        for (at, bytes) in reader.scan(key("")..=next).await? {
            if let Key::Effect { task: of, key, .. } = at
                && of == task
                && self.prefixes.iter().any(|prefix| prefix.holds(&key))
            {
                records.push((key, decode_record(&reader.thread, "journal entry", &bytes)?));
            }
        }
        let mut entries = entries(records);
        if !self.prefixes.iter().any(JournalPath::is_root) {
            let depth = self.prefixes.first().map_or(0, JournalPath::depth);
            entries.iter_mut().for_each(|entry| _ = entry.path.drain(..depth.min(entry.path.len())));
        }
        let messages = attach_messages(&mut entries, self.emitted_messages(reader, checkpoint).await?);
        Ok((entries, messages))
    }

    /// Returns the messages of the task, and of the tasks in its subgraphs.
    async fn emitted_messages(&self, reader: &Reader, root: CheckpointId) -> Result<Vec<JournalMessage>, RunError> {
        let key = |number| Key::Event { checkpoint: root, number };
        let (mut messages, place) = (vec![], self.task.place());
        for (at, bytes) in reader.scan(key(0)..=key(u64::MAX)).await? {
            let event = EventRecord::decode(&reader.thread, at, &bytes)?;
            let depth = event.path.iter().position(|found| *found == place);
            let is_own = (event.checkpoint, event.task) == self.task.own;
            if !is_own && depth.is_none() {
                continue;
            }
            let below = depth.map_or(event.path.len(), |depth| depth + 1);
            messages.push(JournalMessage {
                path: event.path[below..].to_vec(),
                within: event.within,
                at: event.at,
                value: serde_json::from_str(&event.value).unwrap_or(Value::Null),
            });
        }
        Ok(messages)
    }

    async fn children(&self, reader: &Reader) -> Result<Vec<ChildRun>, RunError> {
        let mut runs = vec![];
        for (_, call, checkpoint) in reader.children_of(self.task.own.0, self.task.own.1).await? {
            let Some(record) = reader.record(checkpoint).await? else { continue };
            let is_over = record.control.is_over(&reader.shape(&record).await?);
            let (by_handler, call) = (call >= BY_HANDLER, call & !BY_HANDLER);
            runs.push(ChildRun { call, by_handler, checkpoint, step: record.step, at: record.created_at, is_over });
        }
        Ok(runs)
    }
}

/// Attaches messages to the effects whose bodies emitted them; returns the others.
fn attach_messages(entries: &mut [JournalEntry], messages: Vec<JournalMessage>) -> Vec<JournalMessage> {
    let mut left = vec![];
    for message in messages {
        let found = message.within.split_last().filter(|_| message.path.is_empty()).and_then(|(key, within)| {
            let is_of =
                |entry: &&mut JournalEntry| entry.path.is_empty() && entry.key == *key && entry.within == within;
            entries.iter_mut().filter(is_of).find_map(JournalEntry::effect_mut)
        });
        match found {
            Some(effect) => effect.messages.push(message),
            None => left.push(message),
        }
    }
    left
}

/// Returns the questions of a task: answered ones first, then pending ones.
fn questions(table: &Table, task: &Task, node: &str) -> Vec<JournalQuestion> {
    let payload = |place: u32, name: &str| {
        let shows = table.asks(name).map_or_else(QuestionFormat::of::<AnyQuestion>, |asks| asks.shows);
        let earlier = task.answers.as_ref()?.asked.get(&place)?.payload.as_deref();
        earlier.map(|payload| (shows.question)(payload))
    };
    let answered = task.record.answers.iter().zip(answer_info(table, task)).map(|(record, answer)| JournalQuestion {
        name: record.name.clone(),
        node: node.to_owned(),
        payload: payload(record.place, &record.name).unwrap_or_default(),
        answer: Some(answer),
    });
    let own = |asked: &Question| {
        task.record.questions.iter().zip(&*task.asked).any(|(record, of)| {
            of.id() == asked.id()
                && record.asker.is_some()
                && task.record.answers.iter().any(|answer| answer.place == record.place)
        })
    };
    let open = task.asked.iter().filter(|asked| !own(asked)).map(|asked| JournalQuestion {
        name: asked.name().to_owned(),
        node: node_path(asked.namespace(), asked.node()),
        payload: asked.json(),
        answer: None,
    });
    answered.chain(open).collect()
}

/// Returns the answers of a task, as a reader sees them.
pub(crate) fn answer_info(table: &Table, task: &Task) -> Vec<AnswerInfo> {
    let values = task.answers.iter().flat_map(|known| known.answers.values());
    let shows = |name: &str| table.asks(name).map_or_else(QuestionFormat::of::<AnyQuestion>, |asks| asks.shows);
    let info = |(record, bytes): (&AnswerRecord, &Vec<u8>)| AnswerInfo {
        name: record.name.clone(),
        value: (shows(&record.name).answer)(bytes),
        by: record.by.clone(),
        at: record.at,
        note: record.note.clone(),
    };
    task.record.answers.iter().zip(values).map(info).collect()
}

impl TaskSnapshot {
    /// Reads the task's effects, journal entries, questions and answers over all of its attempts.
    ///
    /// ```
    /// # use superstep::graph::{NodeId, State};
    /// # use superstep::prelude::*;
    /// # async fn example<S: State, N: NodeId>(thread: Thread<S, N, ()>) -> Result<(), RunError> {
    /// for task in thread.state().await?.iter().flat_map(|snapshot| &snapshot.tasks) {
    ///     for (entry, effect) in task.journal().await?.effects() {
    ///         println!("{} {}: {:?}", entry.key, effect.arguments, effect.result);
    ///     }
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`RunError::NoCheckpointer`] if the store is closed; if it cannot be read.
    pub async fn journal(&self) -> Result<TaskJournal, RunError> {
        catch_panics("reading a journal", self.ledger.read()).await
    }

    /// Locates the tasks of its subgraph below the task of the root graph.
    pub(crate) fn settle_below(&mut self) {
        let (Some(state), Some(activation)) = (&mut self.state, self.activation) else { return };
        for task in &mut state.tasks {
            task.ledger.place_below(&self.ledger, activation);
            task.settle_below();
        }
    }
}

/// The snapshot of a task's subgraph, and its activation.
pub(crate) type NestedState = (Box<NestedSnapshot>, Option<Activation>);

impl Secrets {
    /// Returns the secret values of a state, and of a task's writes.
    pub(crate) fn of(table: &Arc<Table>, state: &AnyState, task: &Task) -> Self {
        if !table.schema.channels().iter().any(|channel| channel.is_secret()) {
            return Self::default();
        }
        let written = task.result().map(|done| done.writes.0.clone()).unwrap_or_default();
        let (table, state) = (Arc::clone(table), state.clone());
        Self(vec![Arc::new(move || {
            let channels = table.schema.channels();
            let secret = |at: &usize| channels[*at].is_secret();
            let held = (0..channels.len()).filter(secret).filter_map(|at| channel_json(&state, &table.schema, at));
            let json = |write| table.schema.write_json(write).ok();
            let written = written.iter().filter(|write| secret(&write.channel())).filter_map(json);
            held.chain(written).collect()
        })])
    }
}
