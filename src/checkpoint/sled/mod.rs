//! The embedded store. The only room that names sled.
//!
//! The code that embedded stores share is in `embedded`. The gaps of sled 0.34.7 in a power cut are closed here:
//! see `disk` and `open`.

mod compact;
mod disk;
mod image;
mod open;
mod options;
mod page;
mod segment;
mod small;
mod store;
mod survey;
mod swap;

pub use self::options::SledOptions;
pub use self::store::SledCheckpointer;
