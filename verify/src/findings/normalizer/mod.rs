//! Text without what changes from run to run: [`Normalizer`] knows the folders of a run, and what paths, numbers and times
//! look like. It knows no compiler.

mod folders;
mod number;
mod path;
mod scan;
mod word;

pub use folders::Normalizer;
pub(super) use number::moment;
