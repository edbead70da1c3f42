//! Text without what changes from run to run: [`Normalizer`] knows the folders of a run, and writes the normal form of a text in
//! one pass, in linear time. Knows no compiler.

use std::borrow::Cow;

use superstep_base::text::start;

use super::path;
use super::volatile::{self, Number};

/// The folders of a run, which do not count as part of a path: the checkout, folders of worktrees, temporary folders.
///
/// ```
/// # use superstep_verify as superstep;
/// use superstep::findings::Normalizer;
/// let first = Normalizer::new(["/home/ada/tides"]);
/// let second = Normalizer::new(["/tmp/tmp.8fQzKw1Xyz"]);
/// assert_eq!(first.relative("/home/ada/tides/src/main.rs"), "src/main.rs");
/// assert_eq!(
///     first.normalize("/home/ada/tides/src/main.rs:3:5: ‘depth’ is 0x7f12 after 1.2s"),
///     second.normalize("/tmp/tmp.8fQzKw1Xyz/src/main.rs:14:9: 'depth' is 0x55aa after 980ms"),
/// );
/// assert_ne!(first.normalize("E0308 in foo1"), first.normalize("E0277 in foo2"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Normalizer {
    /// Absolute, without a `/` at the end, the longest first.
    roots: Vec<String>,
}

impl Normalizer {
    /// Returns a normalizer for these folders. What is no absolute path, and `/` itself, is left out.
    #[must_use]
    pub fn new(roots: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let folder = |root: String| root.replace('\\', "/").trim_end_matches('/').to_owned();
        let mut roots: Vec<String> = roots.into_iter().map(|root| folder(root.into())).collect();
        roots.retain(|root| path::is_absolute(root));
        roots.sort_by(|one, other| other.len().cmp(&one.len()).then_with(|| one.cmp(other)));
        roots.dedup();
        Self { roots }
    }

    /// Returns the path from the root of the repository, with `/`; a path that leads elsewhere stays as it is.
    #[must_use]
    pub fn relative<'a>(&self, path: &'a str) -> Cow<'a, str> {
        let path = path.strip_prefix("file://").unwrap_or(path);
        let slashed = if path.contains('\\') { Cow::Owned(path.replace('\\', "/")) } else { Cow::Borrowed(path) };
        match slashed {
            Cow::Borrowed(path) => Cow::Borrowed(self.within(path)),
            Cow::Owned(path) => Cow::Owned(self.within(&path).to_owned()),
        }
    }

    /// Returns the text with one form for everything that changes from run to run. Paths are relative and without line numbers,
    /// numbers are `#`, and so are addresses, times, hashes and temporary names; quotation marks are of one kind; space is
    /// single. Digits in identifiers stay, and so do numbers of up to three digits in quotation marks: they are code.
    #[must_use]
    pub fn normalize(&self, text: &str) -> String {
        Scan::text(&self.rootless(text)).finish()
    }

    /// Returns a code, a symbol or the name of a test in one form: its numbers stay.
    pub(super) fn normalize_code(&self, code: &str) -> String {
        Scan::in_quotes(&self.rootless(code)).finish()
    }

    /// Returns a path in one form: its numbers stay.
    pub(super) fn normalize_path(&self, path: &str) -> String {
        let mut normal = String::with_capacity(path.len());
        path::push(&self.relative(path), &mut normal);
        normal
    }

    fn within<'a>(&self, path: &'a str) -> &'a str {
        let inside = self.roots.iter().find_map(|root| match path.strip_prefix(root.as_str())? {
            "" => Some("."),
            rest => rest.strip_prefix('/'),
        });
        let mut path = inside.unwrap_or(path);
        while let Some(rest) = path.strip_prefix("./") {
            path = rest.trim_start_matches('/');
        }
        path
    }

    fn rootless<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.roots.iter().fold(Cow::Borrowed(text), |text, root| match text.contains(root.as_str()) {
            true => Cow::Owned(path::strip_root(&text, root)),
            false => text,
        })
    }
}

/// The maximum length of a quotation, in bytes.
const QUOTE: usize = 400;
/// The number of digits from which a number in quotation marks is not a code: a port, an id, a year.
const LONG: usize = 4;

/// A pass over a text.
struct Scan<'a> {
    text: &'a str,
    at: usize,
    /// The end of a run of characters that is known not to be a path.
    no_path: usize,
    /// The end of the quotation, in bytes from the start of the text.
    quote: usize,
    normal: String,
}

impl<'a> Scan<'a> {
    fn text(text: &'a str) -> Self {
        Self { text, at: 0, no_path: 0, quote: 0, normal: String::with_capacity(text.len()) }
    }

    /// Returns a pass that treats the whole text as quoted.
    fn in_quotes(text: &'a str) -> Self {
        Self { quote: text.len(), ..Self::text(text) }
    }

    /// Returns the normal form.
    fn finish(mut self) -> String {
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
            self.quote = self.closing_quote(first).unwrap_or(self.quote);
        }
        self.normal.push('"');
        self.at += first.len_utf8();
    }

    /// Returns the end of the quotation that starts here. An apostrophe in a word opens none.
    fn closing_quote(&self, first: char) -> Option<usize> {
        if self.text[..self.at].ends_with(char::is_alphanumeric) && first != '"' {
            return None;
        }
        let inside = self.at + first.len_utf8();
        let near = start(&self.text[inside..], QUOTE);
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
        if volatile::is_uuid(self.rest()) {
            return self.drop(volatile::UUID);
        }
        match volatile::read(self.rest()) {
            Number::Volatile(length) => self.drop(length),
            Number::Plain { digits, length, .. } if digits < LONG && self.is_quoted() => self.keep(length),
            Number::Plain { length, suffix, .. } => {
                self.drop(length);
                self.normal.push_str(suffix);
                self.at += if suffix.is_empty() { volatile::unit(self.rest()) } else { 0 };
            }
            Number::Word(length) => self.keep(length),
        }
    }

    fn word(&mut self) {
        let rest = self.rest();
        let length = volatile::word_length(rest).max(1);
        let (word, after) = (&rest[..length], &rest[length..]);
        let is_object = self.text[..self.at].ends_with('@') && word.bytes().all(|byte| byte.is_ascii_hexdigit());
        match () {
            () if volatile::is_uuid(rest) => self.drop(volatile::UUID),
            () if volatile::is_hash(word) || is_object || volatile::is_date(word, after) => self.drop(length),
            () => self.keep(length),
        }
    }
}
