//! Buffer for the ends of tasks until the store has acknowledged them, so that nothing is reported as done that a crash
//! could still undo. Knows events, must not know a store.

use crate::graph::{Event, EventKind};

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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn event(namespace: &[&str], kind: EventKind) -> Event {
        let namespace: Vec<String> = namespace.iter().map(|name| (*name).to_owned()).collect();
        Event { seq: 0, thread: None, namespace: namespace.into(), step: 1, kind }
    }

    fn end(namespace: &[&str], node: &str, error: Option<&str>) -> Event {
        let (node, task): (Arc<str>, _) = (node.into(), Default::default());
        let writes = crate::graph::View::of_payload(Arc::new(()));
        let error = error.map(str::to_owned);
        event(namespace, EventKind::TaskEnd { node, task, error, writes, questions: vec![], dropped: vec![] })
    }

    fn names(events: &[Event]) -> Vec<String> {
        let node = |event: &Event| match &event.kind {
            EventKind::TaskEnd { node, .. } => node.to_string(),
            other => format!("{other:?}"),
        };
        events.iter().map(node).collect()
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
