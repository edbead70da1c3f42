//! The output of compilers, linters, test runners and programs, read into [`Diagnostic`]s. Each file knows one family of tools;
//! all look at lines, and at a bounded number of lines around them, so that reading takes time in proportion to the output.

mod bare;
mod block;
mod diagnostic;
mod eslint;
mod go;
mod javascript;
mod linker;
mod located;
mod place;
mod pytest;
mod python;
mod rust_json;
mod rust_tests;
mod rustc;
mod shapes;
mod throwable;
mod twice;

use block::Block;
pub(super) use diagnostic::Diagnostic;

use super::normalizer::Normalizer;

/// Returns the diagnostics that the lines show, in order, each once. The paths of files stay as they were printed; `normalizer`
/// tells those of the repository from others.
pub(super) fn read<'a>(lines: &[&'a str], normalizer: &Normalizer) -> Vec<Diagnostic<'a>> {
    let (mut found, mut at) = (vec![], 0);
    while at < lines.len() {
        at += step(&Block::new(lines, at, normalizer), &mut found);
    }
    twice::without(found)
}

/// Reads what begins in the first line, and returns by how many lines to go on.
fn step<'a>(block: &Block<'a, '_>, found: &mut Vec<Diagnostic<'a>>) -> usize {
    let before = found.len();
    let read = shapes::of(block.first()).map(|shape| shape(block, found)).find(|read| *read > 0).unwrap_or(1);
    for diagnostic in &mut found[before..] {
        if diagnostic.shown.is_empty() {
            diagnostic.shown = block.span(read);
        }
    }
    read
}
