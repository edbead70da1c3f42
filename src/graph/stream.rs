//! The parts of [`Event`](super::Event)s and of the streams that [`Thread::stream`](super::Thread::stream) and
//! [`Thread::replay`](super::Thread::replay) return.
//!
//! Small because it only lists what readers of a stream need; the rooms below define it.

pub use super::replay::replaying::ReplayStream;
pub use super::view::event::{CheckpointView, EventTask, TaskView};
