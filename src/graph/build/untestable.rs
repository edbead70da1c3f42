//! The compile error for `test()` without the feature `test-util`.
//!
//! Small because it is compiled only without that feature.

use super::compiled::CompiledGraph;
use crate::graph::node::NodeId;
use crate::graph::state::State;

/// Implemented by no type, so that calls of `test()` need the feature `test-util`.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`test()` needs the feature `test-util` of superstep",
    label = "the feature `test-util` is off",
    note = "add it for tests: `cargo add --dev superstep --features test-util`, with the same path or git source"
)]
pub trait TestUtil {}

impl<S, N, C> CompiledGraph<S, N, C>
where
    S: State,
    N: NodeId,
    C: Send + Sync + 'static,
{
    #[doc(hidden)]
    pub fn test(&self)
    where
        S: TestUtil,
    {
    }
}
