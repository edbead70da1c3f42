//! Spans of the tools that an agent calls: names and ids, and neither arguments nor results. Knows no turn.

use std::collections::HashMap;

use tracing::{Span, field, info_span};

use crate::drivers::AgentEvent;

/// The calls of tools that have not ended, by their ids. Their spans are children of the one in which the events are read: that of the
/// task.
#[derive(Debug, Default)]
pub(super) struct ToolSpans(HashMap<String, Span>);

impl ToolSpans {
    /// Starts the span of a call, or ends it.
    pub(super) fn on_event(&mut self, event: &AgentEvent) {
        match event {
            AgentEvent::ToolCall { id, name, .. } => {
                let span = info_span!("tool", tool = name.as_str(), call = id.as_str(), error = field::Empty);
                self.0.insert(id.clone(), span);
            }
            AgentEvent::ToolResult { id, ok, .. } => {
                let ended = self.0.remove(id).filter(|_| !ok);
                ended.into_iter().for_each(|span| _ = span.record("error", "tool_error"));
            }
            AgentEvent::Started(_)
            | AgentEvent::Text(_)
            | AgentEvent::Thinking(_)
            | AgentEvent::Usage(_)
            | AgentEvent::Notice(_)
            | AgentEvent::Finished(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::{Debug, Write};
    use std::sync::{Arc, Mutex, MutexGuard};

    use serde_json::json;
    use tracing::field::{Field, Visit};
    use tracing::span::{Attributes, Id, Record};
    use tracing::{Event, Metadata, Subscriber};

    use super::*;

    /// A log of what becomes of spans.
    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Lines>>);

    #[derive(Default)]
    struct Lines(String, u64);

    impl Log {
        fn lines(&self) -> MutexGuard<'_, Lines> {
            self.0.lock().unwrap()
        }
    }

    impl Visit for Lines {
        fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
            write!(self.0, " {field}={value:?}").unwrap();
        }
    }

    impl Subscriber for Log {
        fn enabled(&self, metadata: &Metadata<'_>) -> bool {
            metadata.name() == "tool"
        }

        fn new_span(&self, span: &Attributes<'_>) -> Id {
            let mut lines = self.lines();
            lines.1 += 1;
            let number = lines.1;
            write!(lines.0, "\n{number} starts").unwrap();
            span.record(&mut *lines);
            Id::from_u64(number)
        }

        fn record(&self, span: &Id, values: &Record<'_>) {
            let mut lines = self.lines();
            write!(lines.0, "\n{}", span.into_u64()).unwrap();
            values.record(&mut *lines);
        }

        fn try_close(&self, span: Id) -> bool {
            write!(self.lines().0, "\n{} ends", span.into_u64()).unwrap();
            true
        }

        fn record_follows_from(&self, _: &Id, _: &Id) {}
        fn event(&self, _: &Event<'_>) {}
        fn enter(&self, _: &Id) {}
        fn exit(&self, _: &Id) {}
    }

    #[test]
    fn each_call_of_a_tool_has_a_span_without_payloads() {
        let call = |id: &str, name: &str| AgentEvent::ToolCall {
            id: id.into(),
            name: name.into(),
            arguments: json!({ "text": "payload" }),
        };
        let result = |id: &str, ok| AgentEvent::ToolResult { id: id.into(), ok, text: "payload".into() };
        let (log, mut spans) = (Log::default(), ToolSpans::default());
        tracing::subscriber::with_default(log.clone(), || {
            let events = [call("a", "read"), call("b", "shell"), result("b", false), result("a", true), call("c", "x")];
            events.iter().for_each(|event| spans.on_event(event));
            drop(spans);
        });
        let expected = "\n1 starts tool=\"read\" call=\"a\"\n2 starts tool=\"shell\" call=\"b\"\n2 error=\"tool_error\"\
                        \n2 ends\n1 ends\n3 starts tool=\"x\" call=\"c\"\n3 ends";
        assert_eq!(log.lines().0, expected);
    }
}
