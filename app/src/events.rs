//! What a thread does and did, as JSON with what the command line adds: labels and times of events, long texts, journals of
//! displayed tasks. Ends of tasks are held back until the store has acknowledged them, so that nothing is reported as done
//! that a crash could still undo. Must not know a store or a graph's types.

use std::sync::Arc;

use serde_json::{Value, json};

use super::settings::Labels;
use super::time::now;
use superstep::graph::view::TaskJournal;
use superstep::graph::{Event, EventKind};

/// Converts an event to JSON, with the label of the task that it starts.
pub(crate) fn event_json(event: &Event, labels: &Labels) -> Option<Value> {
    let mut json = event.brief()?;
    if let Some(label) = labels.of(event) {
        json["label"] = label.into();
    }
    Some(json)
}

/// Converts an event to JSON and adds the current time, and whether it is about a step of the machinery.
pub(crate) fn timed_event_json(event: &Event, labels: &Labels) -> Option<Value> {
    event_json_at(event, labels, now())
}

/// Returns a function that makes the same later, with the present time.
pub(crate) fn later_event_json(event: Event, labels: &Arc<Labels>) -> impl FnOnce() -> Option<Value> + Send + 'static {
    let (labels, at) = (Arc::clone(labels), now());
    move || event_json_at(&event, &labels, at)
}

fn event_json_at(event: &Event, labels: &Labels, at: u64) -> Option<Value> {
    let mut json = event_json(event, labels)?;
    json["at"] = at.into();
    if labels.is_machinery(&json) {
        json["machinery"] = true.into();
    }
    Some(json)
}

/// Returns the event for supersteps that are not in the store.
pub(crate) fn gap(missing: u64, step: i64) -> Value {
    json!({ "kind": "gap", "missing": missing, "step": step })
}

/// The output that is held back, in order.
#[derive(Default)]
pub(crate) struct EventBuffer(Vec<Event>);

impl EventBuffer {
    /// Takes an event and returns those that may be shown now.
    pub(crate) fn push(&mut self, event: Event) -> Vec<Event> {
        match &event.kind {
            EventKind::TaskEnd { error: None, questions, .. } if questions.is_empty() => {
                self.0.push(event);
                vec![]
            }
            EventKind::Stored => {
                self.0.extract_if(.., |buffer| buffer.namespace == event.namespace).collect() // of one graph at a time
            }
            _ => vec![event],
        }
    }

    /// Returns the rest, once the run has ended and everything is stored.
    pub(crate) fn finish(self) -> Vec<Event> {
        self.0
    }
}

/// Loads the long texts of prompts, which the journal stores by hash.
#[cfg(feature = "agents")]
pub(super) fn load_texts(journal: &mut TaskJournal) {
    use superstep::graph::view::JournalKind;
    for entry in &mut journal.entries {
        if let JournalKind::Effect(effect) = &mut entry.kind {
            effect
                .messages
                .iter_mut()
                .for_each(|message| superstep::nodes::__private::resolve_texts(&mut message.value));
        }
    }
    journal.messages.iter_mut().for_each(|message| superstep::nodes::__private::resolve_texts(&mut message.value));
}

#[cfg(not(feature = "agents"))]
pub(super) fn load_texts(_: &mut TaskJournal) {}

/// Loads the long texts of prompts in the JSON of an event.
pub(super) fn load_event_texts(event: &mut serde_json::Value) {
    #[cfg(feature = "agents")]
    event.get_mut("value").into_iter().for_each(superstep::nodes::__private::resolve_texts);
    #[cfg(not(feature = "agents"))]
    let _ = event;
}

#[cfg(test)]
mod tests {
    use super::*;
    use superstep::graph::stream::EventTask;

    fn event(namespace: &[&str], kind: EventKind) -> Event {
        let namespace: Vec<String> = namespace.iter().map(|name| (*name).to_owned()).collect();
        Event { seq: 0, thread: None, namespace: namespace.into(), step: 1, task: None, kind }
    }

    fn end(namespace: &[&str], node: &str, error: Option<&str>) -> Event {
        let task = EventTask { node: node.into(), ..EventTask::default() };
        let writes = superstep::graph::view::View::of_payload(Arc::new(()));
        let error = error.map(str::to_owned);
        let end = EventKind::TaskEnd { error, writes, questions: vec![], dropped: vec![] };
        Event { task: Some(task), ..event(namespace, end) }
    }

    fn names(events: &[Event]) -> Vec<String> {
        events.iter().map(|event| event.node().unwrap_or_default().to_owned()).collect()
    }

    #[test]
    fn an_end_waits_until_it_is_stored() {
        let mut buffer = EventBuffer::default();
        assert_eq!(names(&buffer.push(end(&[], "a", None))), [""; 0]);
        assert_eq!(names(&buffer.push(end(&["b"], "inner", None))), [""; 0]);
        assert_eq!(names(&buffer.push(end(&[], "c", Some("broken")))), ["c"]);
        assert_eq!(names(&buffer.push(event(&[], EventKind::Stored))), ["a"]);
        assert_eq!(names(&buffer.push(end(&[], "d", None))), [""; 0]);
        assert_eq!(names(&buffer.finish()), ["inner", "d"]);
    }
}
