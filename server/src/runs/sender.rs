//! The events of one execution of a run on their way to its readers: converted, without secrets, and marked if the checkpoints of the
//! run can give them again. Must not know how a run is executed.

use std::sync::Arc;

use superstep::graph::{Event, EventKind, Question};
use superstep_base::Fnv;
use tokio::sync::watch;

use super::events::Converter;
use crate::feed::Feed;
use crate::progress::log::EventLog;
use crate::records::mark::EventMark;
use crate::records::run::RunRecord;
use crate::security::secrets::Secrets;

/// Sender of the events of a run.
pub(super) struct EventSender<'a> {
    pub run: &'a RunRecord,
    pub feed: Arc<Feed>,
    pub log: &'a EventLog,
    pub converter: Converter<'a>,
    pub secrets: Secrets,
    /// Watched by the readers of threads, which read the events of each run.
    pub created: &'a watch::Sender<()>,
    /// Set if an earlier execution may have sent some of the events.
    pub is_resumed: bool,
}

/// The keys of events that each superstep has once.
const CHECKPOINT: &str = "checkpoint";
const VALUES: &str = "values ";

impl EventSender<'_> {
    /// Sends an event, unless an earlier execution did, or nobody can read it.
    pub(super) fn send(&mut self, event: &Event) {
        if !self.has_readers() || !(event.namespace.is_empty() || self.converter.has_subgraphs) {
            return;
        }
        let mark = if self.run.stores_events { mark_of(event) } else { None };
        if mark.as_ref().is_some_and(|mark| !self.note(mark) && self.is_resumed) {
            return;
        }
        let mut sent = vec![];
        self.converter.convert(event, &mut |name, mut data| {
            self.secrets.hide(&mut data);
            sent.push((name, data));
        });
        self.feed.send_all(sent, mark.as_ref());
        if self.run.stores_events {
            self.log.write_soon(self.run.run, &self.feed);
        }
    }

    fn has_readers(&self) -> bool {
        self.run.stores_events || self.feed.has_readers() || self.created.receiver_count() > 0
    }

    /// Notes that an event is sent; returns false if it was sent before. Values of a superstep never follow its checkpoint, but for those
    /// with which the engine resumes.
    fn note(&self, mark: &EventMark) -> bool {
        let is_new = self.feed.note_mark(mark);
        if &*mark.key == CHECKPOINT {
            self.feed.note_mark(&EventMark { key: VALUES.into(), ..mark.clone() });
        }
        is_new
    }
}

/// Returns the mark of an event that the checkpoints of its graph can give again; `None` for another.
fn mark_of(event: &Event) -> Option<EventMark> {
    let task = event.task.as_ref().map_or("", |task| &task.id);
    let key = match &event.kind {
        EventKind::Values { questions, .. } => format!("{VALUES}{}", ids(questions)),
        // A task that was killed before its result was stored runs again, and may have another one.
        EventKind::Update { writes, .. } => format!("update {task} {:x}", hash(&writes.json().to_string())),
        EventKind::Interrupt { questions } => format!("interrupt {}", ids(questions)),
        EventKind::TaskStart { .. } => format!("start {task}"),
        EventKind::TaskEnd { error, questions, .. } => {
            format!("end {task} {} {}", error.as_deref().unwrap_or_default(), ids(questions))
        }
        EventKind::Checkpoint(_) => CHECKPOINT.to_owned(),
        _ => return None,
    };
    Some(EventMark { namespace: Arc::clone(&event.namespace), step: event.step, key: key.into() })
}

fn ids(questions: &[Question]) -> String {
    questions.iter().map(|question| question.id().to_string()).collect::<Vec<_>>().join(" ")
}

fn hash(text: &str) -> u64 {
    let mut hash = Fnv::new();
    hash.mix(text.as_bytes());
    hash.finish()
}
