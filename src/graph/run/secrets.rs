//! The secrets that nodes and routers of a graph can put into their errors: those of the state that they read, and those that
//! their superstep has written to it. Knows no log.

use superstep_base::panics::catch_panic;

use super::state::Run;
use super::trace;
use crate::graph::state::{AnySchema, AnyWrite};
use crate::graph::superstep::Task;
use crate::graph::view::untyped::channel_json;

impl Run {
    /// Notes the secrets of the state, which the tasks of the next superstep read.
    pub(super) fn note_secrets(&self) {
        let schema = &self.table.schema;
        if self.may_log_secrets() {
            let held = (0..schema.channels().len()).filter(|at| is_secret(schema, *at));
            self.shared.events.secrets.add(held.filter_map(|at| channel_json(&self.pos.state, schema, at)));
        }
    }

    /// Notes the secrets that the tasks have written, which routers read.
    pub(super) fn note_written_secrets(&self) {
        let schema = &self.table.schema;
        if self.may_log_secrets() {
            let written = self.step.tasks.iter().filter_map(Task::result).flat_map(|done| &done.writes.0);
            let secret = written.filter(|write| is_secret(schema, write.channel()));
            self.shared.events.secrets.add(secret.filter_map(|write| write_json(schema, write)));
        }
    }

    fn may_log_secrets(&self) -> bool {
        self.table.schema.channels().iter().any(|channel| channel.is_secret()) && trace::logs_errors()
    }
}

fn is_secret(schema: &AnySchema, at: usize) -> bool {
    schema.channels()[at].is_secret()
}

fn write_json(schema: &AnySchema, write: &AnyWrite) -> Option<serde_json::Value> {
    catch_panic(|| schema.write_json(write).ok()).ok().flatten()
}
