//! Small graphs to try the command line with: no model, no network.
//!
//! | graph | what it shows |
//! |---|---|
//! | [`essay`] | fan out, join, a question that can be approved, rejected or sent back |
//! | [`approval`] | a question between two nodes |
//! | [`map_reduce`] | a worker for each item, counts merged by a reducer |

pub mod approval;
pub mod essay;
pub mod map_reduce;
