//! The lines that a unified diff adds, each with its file and line number.

/// A line that a diff adds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AddedLine<'a> {
    pub(super) file: String,
    pub(super) number: u32,
    pub(super) text: &'a str,
}

/// A place in a diff.
#[derive(Default)]
struct Place {
    file: Option<String>,
    /// The number of the next line on the new side.
    number: u32,
    /// The remaining lines of the old and new side of the hunk.
    old: u32,
    new: u32,
}

/// Calls `found` for each added line.
pub(super) fn each_added_line<'a>(diff: &'a str, mut found: impl FnMut(AddedLine<'a>)) {
    let mut place = Place::default();
    for line in diff.lines() {
        if let Some(added) = place.read(line) {
            found(added);
        }
    }
}

impl Place {
    fn read<'a>(&mut self, line: &'a str) -> Option<AddedLine<'a>> {
        if self.old > 0 || self.new > 0 {
            return self.read_hunk(line);
        }
        if let Some(path) = line.strip_prefix("+++ ") {
            self.file = file(path);
        } else if let Some(hunk) = line.strip_prefix("@@ -") {
            self.open(hunk);
        }
        None
    }

    fn read_hunk<'a>(&mut self, line: &'a str) -> Option<AddedLine<'a>> {
        match line.as_bytes().first() {
            Some(b'+') => {
                let (number, text) = (self.number, &line[1..]);
                self.new = self.new.saturating_sub(1);
                self.number += 1;
                return Some(AddedLine { file: self.file.clone()?, number, text });
            }
            Some(b'-') => self.old = self.old.saturating_sub(1),
            Some(b'\\') => {}
            _ => {
                (self.old, self.new) = (self.old.saturating_sub(1), self.new.saturating_sub(1));
                self.number += 1;
            }
        }
        None
    }

    /// Reads `1,3 +2,4 @@` after `@@ -`.
    fn open(&mut self, hunk: &str) {
        let Some((old, rest)) = hunk.split_once(" +") else { return };
        let Some((new, _)) = rest.split_once(" @@") else { return };
        let count = |side: &str| side.split_once(',').map_or(1, |(_, count)| count.parse().unwrap_or(0));
        (self.old, self.new) = (count(old), count(new));
        self.number = new.split(',').next().and_then(|number| number.parse().ok()).unwrap_or(1);
    }
}

/// Reads the path after `+++`: `b/src/a.rs`, `"b/src/\303\244.rs"`, `/dev/null`.
fn file(path: &str) -> Option<String> {
    let path = path.split('\t').next().unwrap_or(path);
    let path = match path.strip_prefix('"').and_then(|path| path.strip_suffix('"')) {
        Some(quoted) => unquote(quoted),
        None => path.to_owned(),
    };
    let path = path.strip_prefix("b/").map(str::to_owned).unwrap_or(path);
    (path != "/dev/null").then_some(path)
}

/// Returns a path without the escapes of git.
fn unquote(path: &str) -> String {
    let (mut bytes, mut rest) = (vec![], path.as_bytes());
    while let Some((byte, after)) = rest.split_first() {
        let (byte, length) = if *byte == b'\\' { unescape_byte(after) } else { (*byte, 0) };
        bytes.push(byte);
        rest = &after[length..];
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns the escaped byte, and the length of its escape after the backslash.
fn unescape_byte(after: &[u8]) -> (u8, usize) {
    match after {
        [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', ..] => ((a - b'0') * 64 + (b - b'0') * 8 + (c - b'0'), 3),
        [b't', ..] => (b'\t', 1),
        [b'n', ..] => (b'\n', 1),
        [byte, ..] => (*byte, 1),
        [] => (b'\\', 0),
    }
}
