//! Lines of any output, each read by the first family that knows it.

use super::block::Block;
use super::diagnostic::Diagnostic;
use super::{prefix, shapes, twice};
use crate::findings::Normalizer;

/// Returns the diagnostics that the lines show, in order, each once. The paths of files stay as they were printed; `normalizer`
/// tells those of the repository from others.
pub(in crate::findings) fn read<'a>(lines: &[&'a str], normalizer: &Normalizer) -> Vec<Diagnostic<'a>> {
    let (mut found, mut at) = (vec![], 0);
    let lines: Vec<&'a str> = lines.iter().map(|line| prefix::strip(line)).collect();
    while at < lines.len() {
        at += step(&Block::new(&lines, at, normalizer), &mut found);
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
