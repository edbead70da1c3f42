//! Must not compile: channels that contradict themselves, all reported at once.
use superstep_macros::State;

type List = Vec<String>;

#[derive(State, Clone)]
struct Draft {
    #[channel(apend)]
    unknown: Vec<String>,
    #[channel(append, add, secret, secret)]
    two_rules: Vec<String>,
    #[channel(topic)]
    #[channel(append)]
    two_attributes: Vec<String>,
    #[channel(append)]
    no_list: u32,
    #[channel(topic(forever))]
    no_topic: Vec<u32>,
    #[channel(messages)]
    alias: List,
    #[channel(write = Option<u32>, fallible, append(now))]
    no_reducer: Vec<u32>,
    #[channel]
    nothing: u32,
    #[channel()]
    also_nothing: u32,
    #[channel = "append"]
    assigned: Vec<u32>,
    #[channel(reduce)]
    no_function: u32,
    #[channel(version = 0)]
    no_version: u32,
    written: bool,
    __start__: bool,
    #[channel(ephemeral, default = 1)]
    emptied: u32,
    #[channel(default = 1, default = 2)]
    two_defaults: u32,
    #[channel(default)]
    no_default: u32,
}

fn main() {}
