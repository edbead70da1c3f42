//! The embedded store on fjall, a log-structured merge tree. The only room that names fjall.
//!
//! The code that embedded stores share is in `embedded`. The gaps of fjall 3.1 are closed here: see `journal` and
//! `open`.

mod compact;
mod copy;
mod database;
mod journal;
mod leftovers;
mod open;
mod options;
mod store;
mod survey;

pub use self::options::FjallOptions;
pub use self::store::FjallCheckpointer;
