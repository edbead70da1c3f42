//! Messages of model servers in states: merged by id, as `#[channel(messages)]` does.

use crate::graph::reducers::Keyed;
use superstep_agents::drivers::api::Message;

impl Keyed for Message {
    fn id(&self) -> &str {
        &self.id
    }

    fn set_id(&mut self, id: String) {
        self.id = id;
    }
}
