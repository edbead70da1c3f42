//! The shapes of diagnostics, and the selection of candidates for a line by its first character and a quick look at the
//! rest, because most lines have none.

use super::block::Block;
use super::diagnostic::Diagnostic;
use super::{
    bare, cmake, eslint, go, javascript, linker, located, numbered, pytest, python, rust_json, rust_tests, rustc,
    test_runners, throwable,
};

/// Reads diagnostics that start on the first line of a block; returns the number of lines read, 0 if none starts there.
pub(super) type Shape = for<'a> fn(&Block<'a, '_>, &mut Vec<Diagnostic<'a>>) -> usize;

const LETTERS: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
const ANY: &str = "";

/// Every shape, with the first characters and the properties that its lines must have; the first match reads.
const SHAPES: [(Shape, &str, u8); 16] = [
    (rust_json::read, "{", 0),
    (rust_tests::read, "t-FSTLA", 0),
    (rustc::read, "ewnfhirABCDEFGHIJKLMNOPQRSTUVWXYZ", 0),
    (python::read, "TFE", 0),
    (pytest::read, "_FE", 0),
    (go::read, "-pf", 0),
    (javascript::read, "●✖Fn", 0),
    (numbered::read, "0123456789", 0),
    (cmake::read, "C", COLON),
    (test_runners::read, ANY, CAPITAL),
    (throwable::read, LETTERS, CAPITAL),
    (eslint::read, ANY, 0),
    (linker::read, ANY, COLON),
    (located::read, ANY, POSITION),
    (located::read_shell, ANY, COLON | DIGIT),
    (bare::read, ANY, COLON),
];

const COLON: u8 = 1;
const DIGIT: u8 = 2;
/// A separator before a digit.
const POSITION: u8 = 4;
const CAPITAL: u8 = 8;
/// A separator of a path and a line.
const SEPARATOR: u8 = 16;

/// The shapes of lines that start with a byte, one bit each.
const BEGINNINGS: [u16; 256] = beginnings();
/// The kinds of bytes.
const KINDS: [u8; 256] = kinds();

/// Returns the candidate shapes of the line, in order.
pub(super) fn of(line: &str) -> impl Iterator<Item = Shape> {
    let first = line.bytes().find(|byte| *byte != b' ' && *byte != b'\t');
    let begins = first.map_or(0, |first| BEGINNINGS[usize::from(first)]);
    let has = if begins == 0 { 0 } else { glance(line) };
    let fits = move |nth: &usize| begins & (1 << nth) != 0 && SHAPES[*nth].2 & !has == 0;
    (0..SHAPES.len()).filter(fits).map(|nth| SHAPES[nth].0)
}

/// Returns the properties of the line.
fn glance(line: &str) -> u8 {
    let (mut has, mut before) = (0, 0);
    for byte in line.bytes() {
        let kind = KINDS[usize::from(byte)];
        // A digit after a separator is a position: DIGIT << 1.
        has |= kind | ((before >> 3) & kind & DIGIT) << 1;
        before = kind;
    }
    has
}

const fn kinds() -> [u8; 256] {
    let (mut kinds, mut byte) = ([0; 256], 0_u8);
    loop {
        kinds[byte as usize] = match byte {
            b':' => COLON | SEPARATOR,
            b'(' | b'[' => SEPARATOR,
            b'0'..=b'9' => DIGIT,
            b'A'..=b'Z' => CAPITAL,
            _ => 0,
        };
        if byte == u8::MAX {
            return kinds;
        }
        byte += 1;
    }
}

const fn beginnings() -> [u16; 256] {
    let (mut shapes, mut nth) = ([0; 256], 0);
    while nth < SHAPES.len() {
        let letters = SHAPES[nth].1.as_bytes();
        let mut byte = 0;
        while byte < if letters.is_empty() { 256 } else { letters.len() } {
            shapes[if letters.is_empty() { byte } else { letters[byte] as usize }] |= 1 << nth;
            byte += 1;
        }
        nth += 1;
    }
    shapes
}
