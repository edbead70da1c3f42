//! A checkpoint prepared for comparison: its metadata, and channel values on demand. Erases the types. Knows the records;
//! must not know differences.

use std::sync::Arc;

use serde_json::{Map, Value};
use superstep_base::gather;

use crate::checkpoint::{BoxFuture, CheckpointId, LogRange, Slot};
use crate::graph::build::Table;
use crate::graph::error::RunError;
use crate::graph::persist::save::log_with;
use crate::graph::persist::{LogEntries, ReadPolicy};
use crate::graph::records::{Mapping, Reader, START_NODE, Tasks};
use crate::graph::state::{Channel, Mask, Storage};
use crate::graph::superstep::task::planned_tasks;
use crate::graph::superstep::{Position, StartInput, Task};
use crate::graph::view::untyped::channel_json;
use crate::graph::view::{AnyChild, Face, Facts};

struct CheckpointFace {
    table: Arc<Table>,
    facts: Facts,
    mapping: Mapping,
}

/// Reads a checkpoint without its channel values.
pub(crate) async fn face(table: &Arc<Table>, reader: &Reader, id: CheckpointId) -> Result<Box<dyn Face>, RunError> {
    let record = reader.known_record(id).await?;
    let mapping = reader.mapping(table, id, &record).await?;
    let control = reader.control(table, &record, &mapping).await?;
    let records = mapping.by_present_key(reader.tasks(id).await?);
    let start = record.control.start.is_some().then(StartInput::default);
    let tasks = planned_tasks(table, &Position { control, start: start.map(Box::new), ..Position::empty(table) });
    let mut questions = vec![];
    for record in tasks.iter().filter_map(|task| records.get(&task.key)) {
        questions.extend(reader.questions(table, record).await?);
    }
    let kept: Vec<_> = record.children.iter().map(|(name, at)| (table.name_now(name.clone()), *at)).collect();
    let inside = find_children(table, reader, &mapping, &tasks, &records, &kept).await?;
    let lost = mapping.lost_tasks().into_iter().map(|(_, name)| name);
    let facts = Facts {
        reader: reader.clone(),
        id,
        step: record.step,
        source: record.source,
        graph: table.identity.fingerprint,
        next: tasks.iter().map(|task| table.node_name(task.node).to_string()).chain(lost).collect(),
        questions,
        slots: reader.slots(&record, &mapping).await?.0,
        path: record.namespace,
        inside,
    };
    Ok(Box::new(CheckpointFace { table: Arc::clone(table), facts, mapping }))
}

async fn find_children(
    table: &Table,
    reader: &Reader,
    mapping: &Mapping,
    tasks: &[Task],
    records: &Tasks,
    kept: &[(String, CheckpointId)],
) -> Result<Vec<(String, CheckpointId, AnyChild)>, RunError> {
    let mut found: Vec<(String, CheckpointId, AnyChild)> = vec![];
    for task in tasks.iter().filter(|task| task.node != START_NODE) {
        let children = &table.row(task.node).children;
        if children.is_empty() {
            continue;
        }
        let call = records.get(&task.key).map_or(0, |record| record.first_call);
        let Some(at) = reader.child(mapping.at, mapping.stored_task(task.key), call).await? else { continue };
        if let Some(child) = child_graph(reader, children, at).await? {
            let node = &table.row(task.node).name;
            let before = found.iter().filter(|(known, ..)| known.split(" (").next() == Some(&**node)).count();
            let name = if before == 0 { node.to_string() } else { format!("{node} ({})", before + 1) };
            found.push((name, at, child));
        }
    }
    for (name, at) in kept {
        if let Some(child) = child_graph(reader, &kept_children(table, name), *at).await?
            && !found.iter().any(|(known, ..)| known == name)
        {
            found.push((name.clone(), *at, child));
        }
    }
    Ok(found)
}

/// Returns the subgraphs that state of this name may belong to.
fn kept_children(table: &Table, name: &str) -> Vec<AnyChild> {
    let mut way = name.split('/').map(|part| part.split('#').next().unwrap_or_default());
    let node = way.next().and_then(|node| table.node_index(node));
    let first = node.map_or(vec![], |node| table.row(node).children.clone());
    way.fold(first, |children, node| children.iter().flat_map(|child| child.0.children(node)).cloned().collect())
}

/// Returns the subgraph of a node that wrote a checkpoint.
pub(crate) async fn child_graph(
    reader: &Reader,
    children: &[AnyChild],
    at: CheckpointId,
) -> Result<Option<AnyChild>, RunError> {
    let shape = reader.record(at).await?.map(|record| record.shape);
    Ok(children.iter().find(|child| Some(child.0.fingerprint()) == shape).or(children.first()).cloned())
}

impl Face for CheckpointFace {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn channels(&self) -> &[Channel] {
        self.table.schema.channels()
    }

    fn values<'a>(&'a self, only: &'a Mask) -> BoxFuture<'a, Result<Map<String, Value>, RunError>> {
        Box::pin(async move {
            let slot = |(at, slot): (usize, &Slot)| if only.contains(at) { slot.clone() } else { Slot::Absent };
            let slots: Vec<Slot> = self.facts.slots.iter().enumerate().map(slot).collect();
            let Facts { reader, path, .. } = &self.facts;
            let state = reader.read_state(&self.table, path, slots, &self.mapping, ReadPolicy::Whole).await?.state;
            let schema = &self.table.schema;
            let named = |at: usize| Some((self.channels()[at].name().to_owned(), channel_json(&state, schema, at)?));
            Ok(gather(only.iter().filter_map(named)))
        })
    }

    fn items<'a>(
        &'a self,
        channel: usize,
        ranges: &'a [LogRange],
    ) -> BoxFuture<'a, Result<Option<Vec<Value>>, RunError>> {
        Box::pin(async move {
            let mut items = vec![];
            let known = &self.channels()[channel];
            if known.storage() != Storage::Log || self.mapping.needs_fold(channel, known) {
                return Ok(None);
            }
            for range in ranges {
                for (_, bytes) in self.entries(channel, range).await?.iter() {
                    let write = self.table.schema.decode_write(channel, false, bytes);
                    let what = format!("channel `{}`", known.name());
                    let write =
                        write.map_err(|misread| self.facts.reader.unreadable_error(&what, self.facts.id, misread))?;
                    match self.table.schema.write_json(&write) {
                        Ok(Value::Array(more)) => items.extend(more),
                        _ => return Ok(None),
                    }
                }
            }
            Ok(Some(items))
        })
    }
}

impl CheckpointFace {
    async fn entries(&self, channel: usize, range: &LogRange) -> Result<LogEntries, RunError> {
        let Facts { reader, path, .. } = &self.facts;
        let log = match self.mapping.source(channel as u32) {
            Some(source) => source.log_with(range),
            None => log_with(&self.table, path, channel, range),
        };
        reader.entries(&log, &self.table.schema.channels()[channel], range).await
    }
}
