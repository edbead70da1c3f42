//! A run as plain lines: for pipes and logs.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use crate::app::print::say;
use crate::app::text::{clean, clean_lines, safe_json, said};
use crate::graph::{Event, EventKind};

/// Says a line for each task that ends, and for each value that a node emits.
pub(crate) struct Lines {
    /// When each running task began, by its path.
    started: HashMap<Arc<[String]>, Instant>,
}

impl Lines {
    pub(crate) fn new(thread: &str) -> Self {
        say(&format!("thread {}\n", clean(thread)));
        Self { started: HashMap::new() }
    }

    pub(crate) fn tell(&mut self, event: &Event) {
        let node = |node: &str| event.nodes().chain([node]).collect::<Vec<_>>().join("/");
        match &event.kind {
            EventKind::TaskStart { task, .. } => {
                self.started.insert(Arc::clone(&task.path), Instant::now());
            }
            EventKind::TaskEnd { node: name, task, error, questions, .. } => {
                let began = self.started.remove(&task.path);
                let took = began.map(|began| format!(" {:.1}s", began.elapsed().as_secs_f64())).unwrap_or_default();
                let ended = ended(error.as_deref(), questions.len());
                say(&format!("superstep {}: {} {ended}{took}\n", event.step, clean(&node(name))));
            }
            EventKind::Custom { node: name, value, .. } => {
                say(&format!("superstep {}: {} says {}\n", event.step, clean(&node(name)), said(value, 2)));
            }
            EventKind::Values { .. } | EventKind::Update { .. } | EventKind::Interrupt { .. } => {}
            EventKind::Answered { node: name, answer, .. } => {
                let (step, value) = (event.step, answer.value.to_string());
                say(&format!("superstep {step}: {} is answered {}\n", clean(&node(name)), safe_json(&value)));
            }
            EventKind::Message { .. } | EventKind::Checkpoint(_) | EventKind::Stored => {}
        }
    }
}

fn ended(error: Option<&str>, questions: usize) -> String {
    match (error, questions) {
        (Some(error), _) => format!("failed: {}", clean_lines(error, 2)),
        (None, 0) => "done".into(),
        (None, _) => "asks".into(),
    }
}
