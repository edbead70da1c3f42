//! The output of compilers, linters, test runners and programs, read into [`Diagnostic`]s. Each file knows one family of tools;
//! all look at lines, and at a bounded number of lines around them, so that reading takes time in proportion to the output.

mod bare;
mod block;
mod cmake;
mod diagnostic;
mod eslint;
mod go;
mod javascript;
mod lines;
mod linker;
mod located;
mod numbered;
mod place;
mod prefix;
mod pytest;
mod python;
mod rust_json;
mod rust_tests;
mod rustc;
mod shapes;
mod test_runners;
mod throwable;
mod twice;

pub(super) use diagnostic::Diagnostic;
pub(super) use lines::read;
