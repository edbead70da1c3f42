//! Events of supersteps that an earlier process has committed, but had not stored when it was killed: they are made again from the
//! checkpoints, behind the numbers that the process may have used. Tokens and the events of nodes are lost.
//!
//! Small because the engine replays what is recorded.

use superstep::checkpoint::Source;
use superstep::graph::{AnyThread, CheckpointInfo, EventKind, Mode, Replay, RunError};

use super::sender::EventSender;

/// The metadata of a checkpoint that names the run which made it.
pub(super) const RUN_ID: &str = "run_id";

/// Sends the events that are lost. The sender leaves out those that are not.
pub(super) async fn send_lost_events(
    sender: &mut EventSender<'_>,
    thread: &AnyThread,
    modes: impl IntoIterator<Item = Mode>,
) -> Result<(), RunError> {
    let (run, step) = (sender.run.run.to_string(), sender.feed.marked_step());
    let is_its = move |made: &CheckpointInfo| {
        let is_of_run = made.metadata.iter().any(|(key, value)| key == RUN_ID && *value == run);
        is_of_run && step.is_none_or(|step| made.step >= step)
    };
    let made = thread.history().await?.filter(is_its).metadata_only().await?;
    let Some(oldest) = made.last() else { return Ok(()) };
    sender.input_step = made.first().filter(|newest| newest.source == Source::Input).map(|newest| newest.step);
    let from = oldest.parent;
    let replayed = from.map_or_else(|| thread.clone(), |from| thread.clone().at(from));
    let mut events = replayed.replay(Replay::Recorded).stream(modes);
    while let Some(event) = events.next().await {
        let is_of_run = !matches!(&event.kind, EventKind::Checkpoint(made) if made.id.is_some() && made.id == from);
        let is_kept = !matches!(&event.kind, EventKind::Custom { .. } | EventKind::Message { .. });
        if is_of_run && is_kept {
            sender.send(&event);
        }
    }
    events.finish().await.map(drop)
}
