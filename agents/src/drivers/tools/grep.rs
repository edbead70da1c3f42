//! Tool `grep`: matching lines in files beneath the root. Walks open folders, so no link leads out; skips `.git`,
//! binary files and everything ignored by `.gitignore` files.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use regex::bytes::{Regex, RegexBuilder};
use rustix::fs::FileType;

use super::folder::{Entry, entries};
use super::limits::ToolLimits;
use super::path::RelativePath;
use super::read::is_binary;
use super::refusal::Refusal;
use super::root::{Root, enter_in, read_in};

/// Maximum number of bytes shown of a line.
const SHOWN: usize = 400;
/// Maximum depth of folders; each is open while its subfolders are searched.
const DEPTH: usize = 100;
const GITIGNORE: &str = ".gitignore";

/// Searches a folder or a file.
pub(super) fn grep(
    root: &Root,
    pattern: &str,
    at: &RelativePath,
    limits: &ToolLimits,
    stop: &AtomicBool,
) -> Result<String, Refusal> {
    let built =
        RegexBuilder::new(pattern).multi_line(true).crlf(true).size_limit(4 << 20).dfa_size_limit(4 << 20).build();
    let regex = built.map_err(|error| Refusal::new(format!("no regular expression: {error}")))?;
    let mut search =
        Search { regex, limits, stop, until: Instant::now() + limits.search, found: vec![], bytes: 0, cut: None };
    match root.kind(at)? {
        FileType::Directory => search.folder(root, at)?,
        _ => search.text(&root.read(at, limits.file)?, &at.to_string()),
    }
    Ok(search.answer())
}

struct Search<'a> {
    regex: Regex,
    limits: &'a ToolLimits,
    stop: &'a AtomicBool,
    until: Instant,
    found: Vec<String>,
    bytes: usize,
    cut: Option<&'static str>,
}

impl Search<'_> {
    fn answer(mut self) -> String {
        if self.found.is_empty() {
            self.found.push("no match".to_owned());
        }
        self.found.extend(self.cut.map(|why| format!("[stopped: {why}; search for less]")));
        self.found.join("\n")
    }

    /// Searches a folder recursively. The rules of the folders above it apply to its contents, but not to itself.
    fn folder(&mut self, root: &Root, at: &RelativePath) -> Result<(), Refusal> {
        let mut rules = Vec::new();
        for depth in 0..at.names().len() {
            let above = &at.names()[..depth];
            rules.extend(rules_of(root.folder(above)?.as_fd(), &above.join("/"), self.limits));
        }
        let folder = root.folder(at.names())?;
        self.walk(&folder, &at.names().join("/"), &mut rules, 0);
        Ok(())
    }

    fn walk(&mut self, folder: &OwnedFd, path: &str, rules: &mut Vec<Gitignore>, depth: usize) {
        let Ok(entries) = entries(folder, path) else { return };
        let known = rules.len();
        if entries.iter().any(|entry| entry.name == GITIGNORE) {
            rules.extend(rules_of(folder.as_fd(), path, self.limits));
        }
        for entry in &entries {
            if self.is_over() {
                break;
            }
            self.entry(folder, path, entry, rules, depth);
        }
        rules.truncate(known);
    }

    fn entry(&mut self, folder: &OwnedFd, path: &str, entry: &Entry, rules: &mut Vec<Gitignore>, depth: usize) {
        let place = if path.is_empty() { entry.name.clone() } else { format!("{path}/{}", entry.name) };
        if is_ignored(rules, &place, entry.kind.is_dir()) {
            return;
        }
        match entry.kind {
            FileType::Directory if depth < DEPTH => {
                if let Ok(inner) = enter_in(folder.as_fd(), &entry.name) {
                    self.walk(&inner, &place, rules, depth + 1);
                }
            }
            FileType::Directory => self.cut = Some("folders nested too deeply"),
            FileType::RegularFile => {
                // A file that cannot be read has no matches.
                if let Ok(bytes) = read_in(folder.as_fd(), &entry.name, &place, self.limits.file) {
                    self.text(&bytes, &place);
                }
            }
            _ => {}
        }
    }

    fn is_over(&mut self) -> bool {
        if Instant::now() > self.until || self.stop.load(Ordering::Relaxed) {
            self.cut = Some("it took too long");
            return true;
        }
        self.is_full()
    }

    fn is_full(&mut self) -> bool {
        let is_full = self.found.len() >= self.limits.matches || self.bytes >= self.limits.answer;
        if is_full {
            self.cut = Some("there are as many matches as are given");
        }
        is_full
    }

    fn text(&mut self, bytes: &[u8], place: &str) {
        if is_binary(bytes) || !self.regex.is_match(bytes) {
            return;
        }
        for (nth, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if !self.regex.is_match(line) {
                continue;
            }
            if self.is_full() {
                return;
            }
            let shown = String::from_utf8_lossy(&line[..line.len().min(SHOWN)]);
            let found = format!("{place}:{}: {shown}", nth + 1);
            self.bytes += found.len() + 1;
            self.found.push(found);
        }
    }
}

/// Parses the `.gitignore` of a folder, if it has one.
fn rules_of(folder: BorrowedFd<'_>, path: &str, limits: &ToolLimits) -> Option<Gitignore> {
    let bytes = read_in(folder, GITIGNORE, GITIGNORE, limits.file).ok()?;
    let mut rules = GitignoreBuilder::new(path);
    for line in String::from_utf8_lossy(&bytes).lines() {
        // Invalid lines are skipped, as git does.
        let _ = rules.add_line(None, line);
    }
    rules.build().ok()
}

/// Returns whether a path is ignored; the rules of the nearest folder decide.
fn is_ignored(rules: &[Gitignore], path: &str, is_folder: bool) -> bool {
    let decided = rules.iter().rev().map(|rules| rules.matched(path, is_folder)).find(|decided| !decided.is_none());
    matches!(decided, Some(Match::Ignore(_)))
}
