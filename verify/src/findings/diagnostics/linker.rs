//! Undefined symbols reported by linkers.

use super::block::Block;
use super::diagnostic::{Diagnostic, Place};

/// Messages of linkers.
const MISSING: [&str; 4] =
    ["undefined reference to ", "multiple definition of ", "undefined symbol: ", "Undefined symbols for "];

pub(super) fn read<'a>(block: &Block<'a, '_>, found: &mut Vec<Diagnostic<'a>>) -> usize {
    let line = block.first();
    if !line.contains("ndefined ") && !line.contains("multiple definition") {
        return 0;
    }
    let Some(at) = MISSING.iter().find_map(|text| line.find(text)) else { return 0 };
    let text = match line.find("Undefined symbols for ") {
        Some(_) => block.line(1).trim().trim_end_matches(", referenced from:"),
        None => line[at..].split_once("; ").map_or(&line[at..], |(text, _)| text),
    };
    let place = source(&line[..at]).or_else(|| block.own(block.after(2).filter_map(referenced)));
    found.push(Diagnostic::error(text).at(place));
    1
}

/// Reads the file before the message: `/usr/bin/ld: link.c:(.text+0xa): ` or `link.c:5: `.
fn source(before: &str) -> Option<Place<'_>> {
    let files = before.split(": ").filter_map(|part| part.trim().split_once(':'));
    let is_source =
        |file: &str| !file.ends_with(".o") && !file.ends_with(".a") && file.contains('.') && !file.contains(' ');
    let mut places = files.filter(|(file, _)| is_source(file));
    places.next().map(|(file, position)| Place { file, line: position.parse().unwrap_or(0) })
}

/// Reads `>>> referenced by main.rs:9 (src/main.rs:9)`.
fn referenced(line: &str) -> Option<Place<'_>> {
    let (_, rest) = line.split_once("referenced by ")?;
    let place = rest.split_once('(').map_or(rest, |(_, place)| place);
    super::place::place(place)
}
