//! The past of a thread as a page takes it apart, piece by piece: one level of a large value, checkpoints and tasks without their
//! states, and comparisons that run for a while. Knows no route and no request.
//!
//! | file | what it knows |
//! |---|---|
//! | `pointer` | the way to a part of a value |
//! | `level` | one level of a value: its entries in pages, with their sizes |
//! | `shapes` | checkpoints and tasks as JSON |
//! | `notes` | what tasks report of themselves |
//! | `replays` | the number and the time of comparisons |
//!
//! Small because it only lists the folder.

pub(crate) mod level;
pub(crate) mod notes;
pub(crate) mod pointer;
pub(crate) mod replays;
pub(crate) mod shapes;
