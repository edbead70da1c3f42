//! Events of supersteps that an earlier process has committed, but had not stored when it was killed: they are made again from the
//! checkpoints, behind the numbers that the process may have used. Tokens and the events of nodes are lost, and those of subgraphs that
//! keep no checkpoints.

use superstep::graph::{AnyThread, CheckpointInfo, EventKind, Mode, Question, Replay, RunError};

use super::sender::EventSender;

/// The metadata of a checkpoint that names the run which made it.
pub(super) const RUN_ID: &str = "run_id";

/// The modes without which it is not known which events are sent already, nor which secrets they have.
const NEEDED: [Mode; 2] = [Mode::Tasks, Mode::Checkpoints];

/// Sends the events that are lost. The sender leaves out those that are not.
pub(super) async fn send_lost_events(
    sender: &mut EventSender<'_>,
    thread: &AnyThread,
    modes: impl IntoIterator<Item = Mode>,
) -> Result<(), RunError> {
    let (run, sent) = (sender.run.run.to_string(), sender.feed.marked_step());
    let is_of_run =
        move |made: &CheckpointInfo| made.metadata.iter().any(|(key, value)| key == RUN_ID && *value == run);
    let is_of_graph = is_of_run.clone();
    let may_be_lost = move |made: &CheckpointInfo| is_of_graph(made) && sent.is_none_or(|step| made.step >= step);
    let made = thread.history().await?.filter(may_be_lost).metadata_only().await?;
    let from = match made.last() {
        Some(oldest) => oldest.parent,
        None => thread.history().await?.limit(1).metadata_only().await?.first().map(|newest| newest.id),
    };
    let replayed = from.map_or_else(|| thread.clone(), |from| thread.clone().at(from));
    let replay = replayed.replay(Replay::Recorded).since(is_of_run);
    let modes = modes.into_iter().chain(NEEDED);
    let mut events = if sender.converter.has_subgraphs { replay.stream_deep(modes) } else { replay.stream(modes) };
    while let Some(event) = events.next().await {
        if is_sent_again(&event.kind) {
            sender.secrets.add_event(&event);
            sender.send(&event);
        }
    }
    events.finish().await.map(drop)
}

/// Returns whether an event is made again: none that the process may make again itself, nor a question that an earlier run has asked.
fn is_sent_again(kind: &EventKind) -> bool {
    match kind {
        EventKind::Custom { .. } | EventKind::Message { .. } => false,
        EventKind::Values { questions, .. }
        | EventKind::Interrupt { questions }
        | EventKind::TaskEnd { questions, .. } => questions.is_empty() || !questions.iter().all(Question::is_answered),
        _ => true,
    }
}
