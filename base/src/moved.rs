//! Folders that are no longer where stored paths name them. What is stored keeps the old path, for recorded results belong
//! to it; a path is mapped where it is opened, shown to people or given to agents. Known for the whole process; must not
//! know how a folder is found again.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};

/// The moves that this process knows.
static MOVES: RwLock<Vec<FolderMove>> = RwLock::new(Vec::new());

/// A folder that was moved, or copied, with everything in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FolderMove {
    /// The path that is stored.
    pub from: PathBuf,
    /// The present path.
    pub to: PathBuf,
}

/// Notes a move for this process, or that a folder is where it was.
///
/// # Errors
/// The other folder, if the folder is known to be elsewhere, or another one to be at its place.
pub fn note(moved: FolderMove) -> Result<(), PathBuf> {
    let mut moves = MOVES.write().unwrap_or_else(PoisonError::into_inner);
    add(&mut moves, moved, Path::exists)
}

/// Adds a move, unless one that still holds says otherwise: a folder is at one place, a place has one folder, and none is
/// moved twice, so that each path is mapped in one way whoever asks.
fn add(moves: &mut Vec<FolderMove>, moved: FolderMove, is_there: impl Fn(&Path) -> bool) -> Result<(), PathBuf> {
    if moves.contains(&moved) {
        return Ok(());
    }
    moves.retain(|known| !known.excludes(&moved) || is_there(&known.to));
    match moves.iter().find(|known| known.excludes(&moved)) {
        Some(known) if known.from == moved.from => Err(known.to.clone()),
        Some(known) => Err(known.from.clone()),
        None => {
            moves.push(moved);
            Ok(())
        }
    }
}

impl FolderMove {
    /// Returns whether both cannot hold in one process.
    fn excludes(&self, other: &Self) -> bool {
        let is_one = self.from == other.from || self.to == other.to;
        is_one || self.from == other.to || self.to == other.from
    }

    /// Returns whether the folder is where it was.
    pub fn is_in_place(&self) -> bool {
        self.from == self.to
    }
}

/// Returns whether a move is known.
pub fn is_any() -> bool {
    MOVES.read().unwrap_or_else(PoisonError::into_inner).iter().any(|known| !known.is_in_place())
}

/// Returns the present path for a stored one. A path that is not in a moved folder, or is the present one already, is
/// returned as it is.
pub fn present_path(path: impl AsRef<Path>) -> PathBuf {
    map_path(path.as_ref(), |FolderMove { from, to }| [from, to])
}

/// Returns the stored path for a present one: the opposite of [`present_path`].
pub fn stored_path(path: impl AsRef<Path>) -> PathBuf {
    map_path(path.as_ref(), |FolderMove { from, to }| [to, from])
}

/// Returns a text with the present paths in place of stored ones.
pub fn text(text: &str) -> Cow<'_, str> {
    let moves = MOVES.read().unwrap_or_else(PoisonError::into_inner);
    moves.iter().filter(|moved| !moved.is_in_place()).fold(Cow::Borrowed(text), |text, moved| {
        match (moved.from.to_str(), moved.to.to_str()) {
            (Some(from), Some(to)) if text.contains(from) => Cow::Owned(replace_path(&text, from, to)),
            _ => text,
        }
    })
}

fn map_path(path: &Path, ends: fn(&FolderMove) -> [&PathBuf; 2]) -> PathBuf {
    let moves = MOVES.read().unwrap_or_else(PoisonError::into_inner);
    let maps = |moved: &&FolderMove| {
        let [from, to] = ends(moved);
        // Where one is inside of the other, the inner one decides.
        let is_mapped = path.starts_with(to) && to.starts_with(from);
        path.starts_with(from) && !is_mapped
    };
    let nearest = moves.iter().filter(maps).max_by_key(|moved| ends(moved)[0].as_os_str().len());
    let below = nearest.and_then(|moved| {
        let [from, to] = ends(moved);
        let rest = path.strip_prefix(from).ok()?;
        Some(if rest.as_os_str().is_empty() { to.clone() } else { to.join(rest) })
    });
    below.unwrap_or_else(|| path.to_owned())
}

/// Replaces a path wherever it ends as a path does.
fn replace_path(text: &str, from: &str, to: &str) -> String {
    let (mut done, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find(from) {
        let (before, found) = rest.split_at(at);
        let after = &found[from.len()..];
        done.push_str(before);
        let is_whole = !before.ends_with(is_of_name) && ends_name(after);
        let is_present = to.starts_with(from) && found.strip_prefix(to).is_some_and(ends_name);
        match (is_whole, is_present) {
            (true, false) => done.push_str(to),
            (true, true) => {
                done.push_str(to);
                rest = &found[to.len()..];
                continue;
            }
            (false, _) => done.push_str(from),
        }
        rest = after;
    }
    done + rest
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || "-_.~+@".contains(c)
}

/// Returns whether a name ends before this text: a full stop at the end of a sentence is no part of it.
fn ends_name(after: &str) -> bool {
    let mut after = after.chars();
    match after.next() {
        Some('.') => after.next().is_none_or(char::is_whitespace),
        next => !next.is_some_and(is_of_name),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("/base/a/old", "/base/a/new")]
    #[case("/base/a/old/sub/x", "/base/a/new/sub/x")]
    #[case("/base/a/older", "/base/a/older")]
    #[case("/base/a/new/x", "/base/a/new/x")]
    #[case("/base/in/app/x", "/base/in/app/back/x")]
    #[case("/base/in/app/back/x", "/base/in/app/back/x")]
    #[case("/base/out/app/back/x", "/base/out/app/x")]
    #[case("/base/out/app/x", "/base/out/app/x")]
    #[case("old", "old")]
    fn a_stored_path_leads_to_the_present_place(#[case] path: &str, #[case] there: &str) {
        know();
        assert_eq!(present_path(path), Path::new(there));
        assert_eq!(present_path(there), Path::new(there), "a present path stays");
        assert_eq!(stored_path("/base/a/new/x"), Path::new("/base/a/old/x"));
        assert_eq!(text(&format!("in {path}: no")), format!("in {there}: no"));
    }

    #[rstest]
    #[case("git -C '/base/a/old' log", "git -C '/base/a/new' log")]
    #[case("it is in /base/a/old.", "it is in /base/a/new.")]
    #[case(
        "/base/a/old.git and /x/base/a/old and /base/a/old-2",
        "/base/a/old.git and /x/base/a/old and /base/a/old-2"
    )]
    #[case("file:/base/a/old/x, /base/a/old:3", "file:/base/a/new/x, /base/a/new:3")]
    fn whole_paths_in_texts_are_replaced(#[case] before: &str, #[case] after: &str) {
        know();
        assert_eq!(text(before), after);
    }

    #[rstest]
    #[case::elsewhere(["/a", "/c"], Err("/b"))]
    #[case::where_it_was(["/a", "/a"], Err("/b"))]
    #[case::another_one_there(["/c", "/b"], Err("/a"))]
    #[case::a_new_one_there(["/b", "/b"], Err("/a"))]
    #[case::moved_again(["/b", "/c"], Err("/a"))]
    #[case::another_one_moved_before(["/c", "/a"], Err("/a"))]
    #[case::the_same(["/a", "/b"], Ok(()))]
    #[case::another(["/c", "/d"], Ok(()))]
    fn a_folder_is_at_one_place_as_long_as_it_is_there(#[case] ends: [&str; 2], #[case] expected: Result<(), &str>) {
        let at = |[from, to]: [&str; 2]| FolderMove { from: from.into(), to: to.into() };
        let known = || vec![at(["/a", "/b"])];
        assert_eq!(add(&mut known(), at(ends), |_| true), expected.map_err(PathBuf::from));
        assert_eq!(add(&mut known(), at(ends), |_| false), Ok(()));
    }

    fn know() {
        let moves = [("a/old", "a/new"), ("in/app", "in/app/back"), ("out/app/back", "out/app")];
        for (from, to) in moves {
            let at = |path| Path::new("/base").join(path);
            note(FolderMove { from: at(from), to: at(to) }).unwrap();
        }
    }
}
