//! Writes the normal form of a text in one pass, in linear time.

use super::number::{self, Number};
use super::{path, word};
use crate::findings::text;

/// The maximum length of a quotation, in bytes.
const QUOTE: usize = 400;
/// The number of digits from which a number in quotation marks is not a code: a port, an id, a year.
const LONG: usize = 4;

/// A pass over a text.
pub(super) struct Scan<'a> {
    text: &'a str,
    at: usize,
    /// The end of a run of characters that is known not to be a path.
    no_path: usize,
    /// The end of the quotation, in bytes from the start of the text.
    quote: usize,
    normal: String,
}

impl<'a> Scan<'a> {
    pub(super) fn text(text: &'a str) -> Self {
        Self { text, at: 0, no_path: 0, quote: 0, normal: String::with_capacity(text.len()) }
    }

    /// Returns a pass that treats the whole text as quoted.
    pub(super) fn quoted(text: &'a str) -> Self {
        Self { quote: text.len(), ..Self::text(text) }
    }

    /// Returns the normal form.
    pub(super) fn finish(mut self) -> String {
        while let Some(first) = self.rest().chars().next() {
            self.step(first);
        }
        self.normal.truncate(self.normal.trim_end().len());
        self.normal
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn step(&mut self, first: char) {
        match first {
            _ if first.is_whitespace() => self.space(first),
            '"' | '\'' | '`' | '‘' | '’' | '“' | '”' => self.mark(first),
            '-' if self.is_sign() => self.at += 1,
            '/' | '.' | '~' | '_' => self.path_or_word(first),
            _ if first.is_alphanumeric() => self.path_or_word(first),
            _ => self.keep(first.len_utf8()),
        }
    }

    fn space(&mut self, first: char) {
        if !self.normal.is_empty() && !self.normal.ends_with(' ') {
            self.normal.push(' ');
        }
        self.at += first.len_utf8();
    }

    fn keep(&mut self, length: usize) {
        self.normal.push_str(&self.text[self.at..self.at + length]);
        self.at += length;
    }

    fn drop(&mut self, length: usize) {
        self.normal.push('#');
        self.at += length;
    }

    /// Returns whether a `-` is the sign of a number.
    fn is_sign(&self) -> bool {
        let is_alone = !self.text[..self.at].ends_with(|c: char| c.is_alphanumeric() || ")]_-#".contains(c));
        let is_number = self.rest()[1..].starts_with(|c: char| c.is_ascii_digit());
        is_alone && is_number && !self.is_quoted()
    }

    fn is_quoted(&self) -> bool {
        self.at < self.quote
    }

    /// Writes a quotation mark, and remembers the end of the quotation that it opens.
    fn mark(&mut self, first: char) {
        let closes = self.at > 0 && self.at == self.quote;
        if !closes && !self.is_quoted() {
            self.quote = self.closing(first).unwrap_or(self.quote);
        }
        self.normal.push('"');
        self.at += first.len_utf8();
    }

    /// Returns the end of the quotation that starts here. An apostrophe in a word opens none.
    fn closing(&self, first: char) -> Option<usize> {
        if self.text[..self.at].ends_with(char::is_alphanumeric) && first != '"' {
            return None;
        }
        let inside = self.at + first.len_utf8();
        let near = text::clip(&self.text[inside..], QUOTE);
        let line = near.split('\n').next().unwrap_or(near);
        let length = match first {
            '‘' | '’' => line.find('’'),
            '“' | '”' => line.find('”'),
            '`' => line.find('`').or_else(|| line.find('\'')),
            mark => line.find(mark),
        };
        length.map(|length| inside + length)
    }

    fn path_or_word(&mut self, first: char) {
        if self.at >= self.no_path && !self.is_port(first) {
            let run = path::run(self.rest());
            let length = path::length(&self.rest()[..run], &self.rest()[run..]);
            if length > 0 {
                return self.path(length);
            }
            self.no_path = self.at + run;
        }
        match first {
            '/' | '.' | '~' => self.keep(1),
            '0'..='9' => self.number(),
            _ => self.word(),
        }
    }

    /// Returns whether the text starts with a port number.
    fn is_port(&self, first: char) -> bool {
        first.is_ascii_digit() && self.text[..self.at].ends_with(':')
    }

    fn path(&mut self, length: usize) {
        path::push(&self.rest()[..length], &mut self.normal);
        self.at += length;
        self.at += path::position(self.rest());
    }

    fn number(&mut self) {
        if word::is_uuid(self.rest()) {
            return self.drop(word::UUID);
        }
        match number::read(self.rest()) {
            Number::Volatile(length) => self.drop(length),
            Number::Plain { digits, length, .. } if digits < LONG && self.is_quoted() => self.keep(length),
            Number::Plain { length, suffix, .. } => {
                self.drop(length);
                self.normal.push_str(suffix);
                self.at += if suffix.is_empty() { number::unit(self.rest()) } else { 0 };
            }
            Number::Word(length) => self.keep(length),
        }
    }

    fn word(&mut self) {
        let rest = self.rest();
        let length = word::length(rest).max(1);
        let (word, after) = (&rest[..length], &rest[length..]);
        let is_object = self.text[..self.at].ends_with('@') && word.bytes().all(|byte| byte.is_ascii_hexdigit());
        match () {
            () if word::is_uuid(rest) => self.drop(word::UUID),
            () if word::is_hash(word) || is_object || word::is_date(word, after) => self.drop(length),
            () => self.keep(length),
        }
    }
}
