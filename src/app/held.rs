//! Ends of tasks wait here until the store has acknowledged them: nobody is told that something is done which a crash right
//! after would undo. Knows events, no store.

use crate::graph::{Event, EventKind};

/// The output that is held back, in order.
#[derive(Default)]
pub(crate) struct Held(Vec<Event>);

impl Held {
    /// Takes an event and returns those that may be told now.
    pub(crate) fn pass(&mut self, event: Event) -> Vec<Event> {
        match &event.kind {
            EventKind::TaskEnd { error: None, questions, .. } if questions.is_empty() => {
                self.0.push(event);
                vec![]
            }
            EventKind::Stored => {
                self.0.extract_if(.., |held| held.namespace == event.namespace).collect() // of one graph at a time
            }
            _ => vec![event],
        }
    }

    /// The rest, once the run has ended and all of it is stored.
    pub(crate) fn rest(self) -> Vec<Event> {
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
        event(namespace, EventKind::TaskEnd { node, task, error: error.map(str::to_owned), writes, questions: vec![] })
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
        let mut held = Held::default();
        assert_eq!(names(&held.pass(end(&[], "a", None))), [""; 0]);
        assert_eq!(names(&held.pass(end(&["b"], "inner", None))), [""; 0]);
        assert_eq!(names(&held.pass(end(&[], "c", Some("broken")))), ["c"]);
        assert_eq!(names(&held.pass(event(&[], EventKind::Stored))), ["a"]);
        assert_eq!(names(&held.pass(end(&[], "d", None))), [""; 0]);
        assert_eq!(names(&held.rest()), ["inner", "d"]);
    }
}
