//! Paths in text: their bounds, and temporary folders in them.

use super::volatile;

/// Folders for temporary files, and the number of folders below them with random names.
const TEMPORARY: [(&str, usize); 6] = [
    ("/private/var/folders/", 4),
    ("/var/folders/", 4),
    ("/private/tmp/", 1),
    ("/var/tmp/", 1),
    ("/dev/shm/", 1),
    ("/tmp/", 1),
];

/// Returns whether the path is absolute and has at least one folder.
pub(super) fn is_absolute(path: &str) -> bool {
    let unix = path.len() > 1 && path.starts_with('/');
    unix || matches!(path.as_bytes(), [drive, b':', b'/', _, ..] if drive.is_ascii_alphabetic())
}

/// Returns the text without `root` at the beginning of paths.
pub(super) fn strip_root(text: &str, root: &str) -> String {
    let (mut short, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find(root) {
        let (before, after) = (&rest[..at], &rest[at + root.len()..]);
        let begins = !before.ends_with(|c: char| is_part(c) && c != '@' && c != '+') || before.ends_with("file://");
        let cut = if begins { below(after) } else { None };
        short.push_str(before.strip_suffix("file://").filter(|_| cut.is_some()).unwrap_or(before));
        short.push_str(match cut {
            Some("") => ".",
            Some(_) => "",
            None => root,
        });
        rest = cut.filter(|inside| !inside.is_empty()).unwrap_or(after);
    }
    short + rest
}

/// Returns the text after a root if a path continues or ends there: empty at its end.
fn below(after: &str) -> Option<&str> {
    match after.strip_prefix('/') {
        Some(inside) if inside.starts_with(is_part) => Some(inside),
        Some(_) => None,
        None => (!after.starts_with(|c: char| is_part(c) && c != '.')).then_some(""),
    }
}

fn is_part(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '.' | '/' | '-' | '+' | '@' | '~' | '%')
}

/// Returns the length in bytes of the run of path characters at the start of the text.
pub(super) fn run(text: &str) -> usize {
    text.find(|c: char| !is_part(c)).unwrap_or(text.len())
}

/// Returns the length in bytes of the path in a run, or 0. A path has a folder, or a line number after its extension.
pub(super) fn length(run: &str, after: &str) -> usize {
    let path = run.trim_end_matches(['.', '-', '+', '@', '%']);
    let is_path = match path.contains('/') {
        true => path.contains(char::is_alphabetic) && !path.starts_with("//") && !after.starts_with("://"),
        false if path.contains('.') && is_random(path) => true,
        false => path.len() == run.len() && has_extension(path) && position(after) > 0,
    };
    if is_path { path.len() } else { 0 }
}

fn has_extension(path: &str) -> bool {
    path.rsplit_once('.')
        .is_some_and(|(name, extension)| !name.is_empty() && extension.starts_with(char::is_alphabetic))
}

/// Returns the length in bytes of the line and column after a path: `:3`, `:3:5`, `:3-5`, `:3:5-4:7`.
pub(super) fn position(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits = |from: usize| bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut at = 0;
    while let Some(separator) = bytes.get(at) {
        let is_first = at == 0;
        let number = if *separator == b':' || (*separator == b'-' && !is_first) { digits(at + 1) } else { 0 };
        if number == 0 {
            break;
        }
        at += 1 + number;
    }
    at
}

/// Appends a path in its normal form: one name for temporary folders and hashes.
pub(super) fn push(path: &str, normal: &mut String) {
    let path = path.trim_start_matches("./");
    let temporary = TEMPORARY.iter().find_map(|(folder, random)| Some((path.strip_prefix(folder)?, *random)));
    match temporary {
        Some((inside, random)) => push_temporary(inside, random, normal),
        None => push_folders(path, false, normal),
    }
}

fn push_temporary(inside: &str, random: usize, normal: &mut String) {
    normal.push_str("<tmp>");
    if let Some(rest) = inside.splitn(random + 1, '/').nth(random) {
        normal.push('/');
        push_folders(rest, true, normal);
    }
}

fn push_folders(path: &str, counted: bool, normal: &mut String) {
    for (nth, folder) in path.split('/').enumerate() {
        if nth > 0 {
            normal.push('/');
        }
        match is_random(folder) {
            true => normal.push_str("<tmp>"),
            false => push_folder(folder, counted, normal),
        }
    }
}

/// Appends one part of a path; in temporary folders without numbers.
fn push_folder(folder: &str, counted: bool, normal: &mut String) {
    let mut rest = folder;
    while let Some(first) = rest.chars().next() {
        let length = volatile::word_length(rest).max(first.len_utf8());
        let part = &rest[..length];
        match part {
            _ if volatile::is_uuid(rest) => {
                normal.push('#');
                rest = &rest[volatile::UUID..];
                continue;
            }
            _ if volatile::is_hash(part) => normal.push('#'),
            _ if counted && part.bytes().all(|byte| byte.is_ascii_digit()) => normal.push('#'),
            _ => normal.push_str(part),
        }
        rest = &rest[length..];
    }
}

/// Returns whether a part of a path is a temporary name, as `mktemp` or Rust, Go and Python libraries create it.
fn is_random(folder: &str) -> bool {
    let tail = folder.strip_prefix(".tmp").or_else(|| folder.strip_prefix("tmp."));
    if let Some(tail) = tail {
        let is_mixed = tail.contains(|c: char| c.is_ascii_digit() || c.is_ascii_uppercase());
        return tail.len() >= 6 && is_mixed && tail.bytes().all(|byte| byte.is_ascii_alphanumeric());
    }
    let is_mixed = |tail: &str| tail.contains(|c: char| c.is_ascii_digit()) && tail.contains(char::is_alphabetic);
    folder.strip_prefix("tmp").is_some_and(|tail| tail.len() == 8 && volatile::word_length(tail) == 8 && is_mixed(tail))
}
