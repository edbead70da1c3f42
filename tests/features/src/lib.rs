//! Programs of users who forgot a feature, one for each value of `mistake`. None of them compiles; without a value there is
//! nothing here.

/// `sled` is off, and its store is named through the prelude.
#[cfg(mistake = "sled_prelude")]
pub fn store() {
    use superstep::prelude::*;
    let _ = SledCheckpointer::open("runs.sled");
}

/// `sled` is off, and its store is opened to be read.
#[cfg(mistake = "sled_read_only")]
pub fn look() {
    use superstep::prelude::*;
    let _ = SledCheckpointer::open_read_only("runs.sled");
}

/// `sled` is off, and its store is imported.
#[cfg(mistake = "sled_import")]
pub use superstep::checkpoint::{SledCheckpointer, SledOptions};

/// `test-util` is off, and the kit for checkpointers is imported.
#[cfg(mistake = "checkpointer_kit")]
pub use superstep::checkpoint::kit::check_all;

/// `test-util` is off, and the test kit is imported.
#[cfg(mistake = "test_kit")]
pub use superstep::graph::kit::Test;

/// `test-util` is off, and a graph is tested.
#[cfg(mistake = "test_method")]
pub fn test<S, N, C>(graph: &superstep::graph::CompiledGraph<S, N, C>)
where
    S: superstep::graph::State,
    N: superstep::graph::NodeId,
    C: Default + Send + Sync + 'static,
{
    let _ = graph.test();
}

/// `agents` is off, and its rooms are imported.
#[cfg(mistake = "agents")]
pub use superstep::{drivers::Driver, nodes::Crew};

/// `schema` is off, and a state and a question ask for JSON Schemas.
#[cfg(mistake = "schema")]
pub mod schemas {
    use superstep::prelude::*;

    #[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
    #[state(schema)]
    pub struct Draft {
        topic: String,
    }

    #[derive(Interrupt, Serialize, Deserialize)]
    #[interrupt(resume = bool, schema)]
    pub struct Approve;
}
