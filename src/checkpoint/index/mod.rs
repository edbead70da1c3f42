//! An index of the threads of a store: it finds those that meet the conditions of a list, and those that are due, in time that
//! grows with the answer.
//!
//! The index is derived from the records of threads, and brought up to date when somebody asks: a commit only notes that its
//! thread has changed. Knows summaries and sorted rows of bytes; must not know where a store keeps the rows.
//!
//! | file | what it knows |
//! |---|---|
//! | `keys` | the rows of a thread in the index |
//! | `names` | sorted names of threads: the rows with one start, and unions of them |
//! | `search` | the threads that meet all conditions of a list |
//! | `due` | the threads that are due, in the order in which they became so |
//! | `changes` | the threads that have changed since the index was brought up to date |
//! | `upkeep` | lists and due threads of a store that keeps an index, and its upkeep |
//!
//! Small because it only lists the folder.

pub(super) mod changes;
mod due;
pub(super) mod keys;
mod names;
mod search;
pub(super) mod upkeep;
