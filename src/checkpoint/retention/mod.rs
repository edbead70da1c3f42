//! What of a thread's past is kept, and the removal of the rest. Knows records; must not know states or nodes.

mod gc;
mod policy;
mod report;

pub use gc::{gc, gc_all};
pub use policy::Retention;
pub use report::{Swept, SweptStore, SweptThread};
