//! Retention policy for checkpoints, and garbage collection. Knows records; must not know states or nodes.

mod gc;
mod policy;
mod report;

pub use gc::{gc, gc_all};
pub use policy::Retention;
pub use report::{Swept, SweptStore, SweptThread};
