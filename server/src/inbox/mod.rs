//! Items that wait for a person: open questions, and threads that cannot continue without a person.
//!
//! | file | what it knows |
//! |---|---|
//! | `place` | places of items in their order, as cursors |
//! | `waits` | the reasons for which a thread waits for a person |
//! | `stalls` | threads that have nodes left to run, and that nothing runs |
//! | `damage` | damage of one thread, which must not hide the others |
//! | `cut` | long texts and values, cut to a size |
//! | `ask` | a question as a person answers it |
//! | `item` | an item on the wire |
//! | `survey` | the places of all items, by the store's lists |
//! | `reader` | items of a page, read from their threads |
//! | `check` | answers that would be refused |
//!
//! Small because it only lists the folder.

mod ask;
mod check;
mod cut;
mod damage;
mod item;
mod place;
mod reader;
mod stalls;
mod survey;
mod waits;

pub(crate) use check::{CheckBody, ChecksJson};
pub(crate) use item::InboxJson;
pub(crate) use place::ItemPlace;
pub(crate) use reader::InboxPage;
