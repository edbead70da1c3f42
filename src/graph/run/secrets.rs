//! The secrets that nodes, routers and reducers of a graph can put into their errors and events: those of the state that they read, and those
//! that their superstep has written to it. Knows no log.

use std::sync::Arc;

use superstep_base::panics::catch_panic;

use super::state::Run;
use crate::graph::context::SecretValues;
use crate::graph::state::{AnySchema, AnyWrite, AnyWrites};
use crate::graph::superstep::Task;
use crate::graph::view::untyped::channel_json;

impl Run {
    /// Notes the secrets of the state, which the tasks of the next superstep read.
    pub(crate) fn note_secrets(&self) {
        let schema = &self.table.schema;
        if self.table.has_secrets {
            let held = (0..schema.channels().len()).filter(|at| is_secret(schema, *at));
            self.shared.events.secrets.add(held.filter_map(|at| channel_json(&self.pos.state, schema, at)));
        }
    }

    /// Notes the secrets that the tasks have written, which routers and reducers read.
    pub(super) fn note_written_secrets(&self) {
        if self.table.has_secrets {
            self.step.tasks.iter().filter_map(Task::result).for_each(|done| self.note_secrets_of(&done.writes));
        }
    }

    /// Notes the secrets among writes.
    pub(crate) fn note_secrets_of(&self, writes: &AnyWrites) {
        let schema = &self.table.schema;
        let secret = writes.0.iter().filter(|write| is_secret(schema, write.channel()));
        self.shared.events.secrets.add(secret.filter_map(|write| write_json(schema, write)));
    }

    /// Returns those that were noted.
    pub(crate) fn secrets(&self) -> SecretValues {
        SecretValues(Arc::clone(&self.shared.events.secrets))
    }
}

fn is_secret(schema: &AnySchema, at: usize) -> bool {
    schema.channels()[at].is_secret()
}

fn write_json(schema: &AnySchema, write: &AnyWrite) -> Option<serde_json::Value> {
    catch_panic(|| schema.write_json(write).ok()).ok().flatten()
}
