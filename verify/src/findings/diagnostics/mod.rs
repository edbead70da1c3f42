//! The output of compilers, linters, test runners and programs, read into [`Diagnostic`]s. Each file knows one family of tools;
//! all look at lines, and at a bounded number of lines around them, so that reading takes time in proportion to the output.
//!
//! | file | what it knows |
//! |---|---|
//! | `lines` | which family reads a line |
//! | `diagnostic`, `place` | what is read, and from which lines; places and severities in text |
//! | `messages` | messages of any tool, with a place or a severity |
//! | `rustc`, `rust_tests`, `go`, `python`, `javascript`, `native` | the tools of a language |
//! | `throwable` | exceptions with a stack trace |
//! | `numbered`, `test_runners` | failed tests of other languages |
//!
//! Small because it only lists the folder.

mod diagnostic;
mod go;
mod javascript;
mod lines;
mod messages;
mod native;
mod numbered;
mod place;
mod python;
mod rust_tests;
mod rustc;
mod test_runners;
mod throwable;

pub(super) use diagnostic::Diagnostic;
pub(super) use lines::read;
