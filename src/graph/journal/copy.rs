//! Journals of a checkpoint's tasks, for a fork whose tasks go on with the same work. Knows records only.

use std::collections::BTreeSet;

use super::book::ORIGIN;
use crate::checkpoint::{CheckpointId, EffectKind, EffectRecord, Key, encode_record};
use crate::graph::records::mapping::Mapping;
use crate::graph::records::reader::Reader;
use crate::graph::records::recorder::Puts;
use crate::graph::run::error::RunError;

/// Returns the journals of `from` as those of `to`. The world outside knows the tasks, `tasks` among them, under the names
/// they had.
pub(crate) async fn journals(
    reader: &Reader,
    from: CheckpointId,
    to: CheckpointId,
    tasks: impl IntoIterator<Item = u32>,
    mapping: &Mapping,
) -> Result<Puts, RunError> {
    let (mut puts, mut unnamed) = (vec![], tasks.into_iter().collect::<BTreeSet<u32>>());
    for (task, key, bytes) in reader.effects(from).await? {
        let task = mapping.task(task).map_err(|reason| reader.incompatible(reason))?;
        if key == ORIGIN {
            unnamed.remove(&task);
        }
        puts.push((Key::Effect { checkpoint: to, task, key }, bytes));
    }
    for task in unnamed {
        let key = Key::Effect { checkpoint: to, task, key: ORIGIN.to_owned() };
        puts.push((key, encode_record(&origin(from, mapping.stored_task(task)))?));
    }
    Ok(puts)
}

fn origin(checkpoint: CheckpointId, task: u32) -> EffectRecord {
    let (shown, value) = (String::new(), vec![]);
    let idempotency = super::book::name(checkpoint, task);
    EffectRecord { kind: EffectKind::Value, order: 0, arguments: 0, shown, idempotency, value, at: 0 }
}
