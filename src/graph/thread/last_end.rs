//! The position at which a thread was left, for the next run or update by the same graph: what was just stored need not
//! be read again. Of an interrupted superstep, the tasks are kept too.

use super::handle::ThreadCore;
use crate::checkpoint::{Head, Key};
use crate::graph::context::Exit;
use crate::graph::error::RunError;
use crate::graph::records::{COMMAND_KEY, KnownState, KnownValues, LastEnds, Reader, Recorder};
use crate::graph::run::{KeptStep, Run};
use crate::graph::state::Stored;
use crate::graph::superstep::{Position, StoredChannels};

/// The memory that a kept task takes besides values, roughly, in bytes.
const TASK: u64 = 1024;

/// The end of a run.
pub(crate) struct RunEnd {
    pub position: Position,
    /// The superstep that it left interrupted.
    pub step: Option<KeptStep>,
}

/// A [`RunEnd`], and the lease under which it was stored.
struct StoredEnd {
    end: RunEnd,
    epoch: u64,
}

impl ThreadCore {
    /// Returns the position at which the thread was left, unless it has moved since or has tasks to run.
    pub(super) fn take_end_at_rest(&self, recorder: &Recorder) -> Option<Position> {
        let end = self.take_end(recorder)?.position;
        end.control.is_idle(&self.graph.table.wiring).then_some(end)
    }

    /// Returns the position at which the thread was left, as its checkpoint has it, unless the thread has moved since.
    pub(super) async fn take_stored_end(
        &self,
        reader: &Reader,
        recorder: &Recorder,
    ) -> Result<Option<RunEnd>, RunError> {
        let Some(end) = self.take_end(recorder) else { return Ok(None) };
        // A command that is stored beside the checkpoint may have changed the position already.
        let command = Key::Task { checkpoint: end.position.meta.id, task: COMMAND_KEY };
        Ok(reader.one(command).await?.is_none().then_some(end))
    }

    /// Returns a reader that keeps what it has read, and starts with the state in which the graph left the thread.
    pub(super) fn with_end_read(&self, reader: Reader, head: Option<Head>) -> Reader {
        let state = |stored: &StoredEnd| {
            let position = &stored.end.position;
            let StoredChannels { slots, sizes, .. } = &position.channels;
            KnownState { state: position.state.clone(), slots: slots.clone(), sizes: sizes.clone() }
        };
        let known = head.and_then(|head| self.graph.last_ends.look_at(&reader.thread, head, state));
        Reader { known: Some(known.map_or_else(KnownValues::default, KnownValues::of_root)), ..reader }
    }

    fn take_end(&self, recorder: &Recorder) -> Option<RunEnd> {
        if self.at.is_some() || !self.scope.nodes.is_empty() {
            return None;
        }
        let head = recorder.head();
        let stored: Box<StoredEnd> = self.graph.last_ends.take(self.id.as_ref()?, head)?;
        let StoredEnd { mut end, epoch } = *stored;
        if recorder.lease().follows() != Some(epoch) {
            end.step = None; // another run may have changed records of its tasks
        }
        (head.checkpoint == Some(end.position.meta.id)).then_some(end)
    }

    /// Keeps the position at which a run or an update left the thread, once that is stored.
    pub(super) fn keep_end(&self, recorder: &Recorder, end: Option<Box<RunEnd>>) {
        let (Some(thread), Some(end)) = (&self.id, end) else { return };
        let (bytes, epoch) = (end.bytes(), recorder.lease().epoch());
        recorder.lease().mark_end();
        let stored = Box::new(StoredEnd { end: *end, epoch });
        self.graph.last_ends.keep(thread.clone(), recorder.head(), bytes, stored);
    }
}

/// Returns true if a run that ended like this can be resumed from the position that it had.
pub(super) fn is_resumable(exit: &Exit) -> bool {
    matches!(exit, Exit::Finished | Exit::Interrupted | Exit::Waiting(_) | Exit::Awaiting(_))
}

/// Returns the end of a run, if it can be kept and is worth it: values that are never saved do not outlive their run, and
/// a run moves the writes of its input into the task that applies them.
pub(super) fn end_to_keep(mut run: Run) -> Option<Box<RunEnd>> {
    let is_whole = run.table.schema.channels().iter().all(|channel| channel.stored() != Stored::Never);
    if !is_whole || !run.is_root() || run.pos.start.is_some() {
        return None;
    }
    let step = run.take_left_step();
    let is_worth = step.is_some() || LastEnds::is_worth(run.pos.channels.bytes);
    is_worth.then(|| Box::new(RunEnd { position: run.pos, step }))
}

impl RunEnd {
    /// Returns its size in memory, roughly, in bytes.
    fn bytes(&self) -> u64 {
        let state = self.position.channels.bytes;
        let Some(step) = &self.step else { return state };
        let results = if step.left.has_results() { state } else { 0 };
        state + results + step.len() as u64 * TASK
    }
}
