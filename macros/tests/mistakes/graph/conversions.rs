//! Values that a setter converts by itself, converted once more.

use superstep::graph::reducers::Keyed;
use superstep::prelude::*;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Message {
    id: String,
}

impl Keyed for Message {
    fn id(&self) -> &str {
        &self.id
    }
}

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Chat {
    #[channel(messages)]
    messages: Vec<Message>,
}

fn main() {
    let message = Message::default();
    let _ = Chat::update().messages([message.into()]);
}
