//! Tools `read`, `list` and `grep`. They walk open folders and follow no link, so none leads out; a search skips `.git`,
//! binary files and everything ignored by `.gitignore` files.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use regex::bytes::{Regex, RegexBuilder};
use rustix::fs::{AtFlags, Dir, FileType, statat};
use superstep_base::text;

use super::answer::{Refusal, ToolLimits, short_name};
use super::root::{RelativePath, Root, enter, is_reserved, open_refusal, read_in};

/// Number of bytes examined to detect binary files.
const SNIFFED_BYTES: usize = 8 * 1024;

/// Space for the note that a text was cut.
const NOTE: usize = 100;

/// Returns a text file from a line on; anything beyond the maximum length is cut, with a note.
pub(super) fn read(root: &Root, at: &RelativePath, line: usize, limits: &ToolLimits) -> Result<String, Refusal> {
    let bytes = root.read(at, limits.file)?;
    if is_binary(&bytes) {
        return Err(Refusal::new(format!("`{at}` is binary, {} bytes", bytes.len())));
    }
    let text = String::from_utf8(bytes).unwrap_or_else(|error| {
        let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
        format!("{text}\n[not UTF-8: some characters are replaced]")
    });
    from_line(text, line, limits.answer).map_err(|lines| Refusal::new(format!("`{at}` has {lines} lines")))
}

/// Returns the text from a line on, counted from 1: whole lines, and a note where to continue. The error is the number
/// of lines.
fn from_line(text: String, line: usize, most: usize) -> Result<String, usize> {
    let starts = || std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1));
    let line = line.max(1);
    let start = starts().nth(line - 1).filter(|start| *start < text.len() || line == 1);
    let rest = &text[start.ok_or_else(|| text.lines().count())?..];
    if rest.len() <= most {
        return Ok(rest.to_owned());
    }
    let shown = text::start(rest, most.saturating_sub(NOTE));
    let shown = shown.rfind('\n').map_or(shown, |end| &shown[..=end]);
    let next = line + shown.matches('\n').count().max(1);
    Ok(format!("{shown}\n[cut here: {} of {} bytes; to read on, `line` is {next}]", shown.len(), rest.len()))
}

/// Returns whether bytes are binary. Git: `buffer_is_binary`.
fn is_binary(bytes: &[u8]) -> bool {
    bytes[..bytes.len().min(SNIFFED_BYTES)].contains(&0)
}

/// Maximum number of entries read from a folder.
const MAX_ENTRIES: usize = 100_000;

/// Entry of a folder.
struct Entry {
    name: String,
    kind: FileType,
}

/// Returns the names in a folder, sorted, one per line: `src/`, `link@`, `a.rs`.
pub(super) fn list(root: &Root, at: &RelativePath, limits: &ToolLimits) -> Result<String, Refusal> {
    let folder = root.folder(at.names())?;
    let entries = entries(folder.as_fd(), &at.to_string())?;
    let mut lines: Vec<String> = entries.iter().take(limits.entries).map(line).collect();
    match entries.len().saturating_sub(limits.entries) {
        0 if lines.is_empty() => lines.push("[empty]".to_owned()),
        0 => {}
        more => lines.push(format!("[{more} more]")),
    }
    Ok(lines.join("\n"))
}

fn line(entry: &Entry) -> String {
    let mark = match entry.kind {
        FileType::RegularFile => "",
        FileType::Directory => "/",
        FileType::Symlink => "@",
        _ => "|",
    };
    format!("{}{mark}", short_name(&entry.name))
}

/// Returns the entries of an open folder, sorted by name, without reserved names and names that are not UTF-8.
fn entries<F: AsFd>(folder: F, shown: &str) -> Result<Vec<Entry>, Refusal> {
    let refuse = |error| open_refusal(shown, error);
    let mut found = Vec::new();
    for entry in Dir::read_from(&folder).map_err(refuse)?.take(MAX_ENTRIES) {
        let entry = entry.map_err(refuse)?;
        let Ok(name) = entry.file_name().to_str() else { continue };
        if [".", ".."].contains(&name) || is_reserved(name) {
            continue;
        }
        let kind = match entry.file_type() {
            FileType::Unknown => statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW)
                .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode)),
            kind => kind,
        };
        found.push(Entry { name: name.to_owned(), kind });
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

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
                if let Ok(inner) = enter(folder.as_fd(), &entry.name) {
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
