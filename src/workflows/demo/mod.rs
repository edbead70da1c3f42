//! Small graphs to try the command line with: no model, no network.
//!
//! | graph | feature |
//! |---|---|
//! | [`essay`] | fan out, join, an interrupt with approve, reject or revise |
//! | [`approval`] | an interrupt between two nodes |
//! | [`map_reduce`] | a worker for each item, counts merged by a reducer |

pub mod approval;
pub mod essay;
pub mod map_reduce;
