//! Must not compile: what a state says of its earlier versions contradicts itself, all reported at once.
use superstep_macros::State;

#[derive(State, Clone, Default)]
#[state(removed("gone", "topic"))]
#[state(removed())]
#[state(forgotten("this"))]
struct Draft {
    #[channel(was = "subject", was = "gone")]
    topic: String,
    #[channel(was = "subject")]
    title: String,
    #[channel(was = "title")]
    taken: String,
    #[channel(was = "")]
    nameless: String,
    #[channel(was)]
    no_name: String,
    #[channel(untracked, was = "scratch")]
    never_kept: String,
    #[channel(upgrade = from_old)]
    no_version: u32,
    #[channel(version = 1, upgrade = from_old)]
    first_version: u32,
    #[channel(version = 2, upgrade_write = from_old)]
    writes_alone: u32,
    #[channel(version = 2, upgrade = from_old, upgrade_write = from_old)]
    same_writes: u32,
    #[channel(messages, version = 2, upgrade = from_old)]
    changes: Vec<String>,
    #[channel(reduce = add, write = Option<u32>, version = 2, upgrade = from_old)]
    other_writes: u32,
    #[channel(version = 2, upgrade)]
    no_function: u32,
}

fn main() {}
