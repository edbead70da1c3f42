//! Files that determine what git executes: hooks, configuration, attributes. Fingerprinted before an agent works and
//! compared before git is called again; while a work tree is locked, right before each call, because a process that
//! outlived its agent may have changed something since. Files are read and nothing is executed, so that a planted file is
//! detected before it takes effect.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::{fmt, fs};

use async_recursion::async_recursion as boxed;
use git2::{Config, ConfigLevel, ObjectType, Oid};
use serde::{Deserialize, Serialize};
use superstep_base::moved;

use super::error::WorkspaceError;
use super::place::{Place, Workspace, as_bytes, as_path, lexical};

/// Maximum depth of hook folders and of included configurations.
const DEEPEST: usize = 8;

/// Beginning of a file that names git's folder of a work tree.
const LINK: &[u8] = b"gitdir: ";

/// Maximum number of files read in a folder of hooks.
const MOST: usize = 2000;

/// Everything that determines what git executes, with a digest of content and mode.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct GitFingerprint {
    things: BTreeMap<String, String>,
}

/// A change of something that determines what git executes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TamperedItem {
    /// File, or folder of hooks.
    pub what: String,
    /// Kind of change.
    pub how: Tampering,
}

/// Kind of change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tampering {
    /// It is new.
    Added,
    /// It was removed.
    Removed,
    /// Its content or mode changed.
    Changed,
}

impl fmt::Display for TamperedItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = match self.how {
            Tampering::Added => "is new",
            Tampering::Removed => "is gone",
            Tampering::Changed => "was changed",
        };
        write!(f, "{} {how}", self.what)
    }
}

impl GitFingerprint {
    /// Returns one digest of everything.
    pub fn digest(&self) -> String {
        let all: String = self.things.iter().map(|(what, digest)| format!("{digest} {what:?}\n")).collect();
        blob_hash(all.as_bytes())
    }

    /// Returns the differences to `now`, in the order of names.
    pub fn changes(&self, now: &Self) -> Vec<TamperedItem> {
        let how = |what: &String| match (self.things.get(what), now.things.get(what)) {
            (None, Some(_)) => Some(Tampering::Added),
            (Some(_), None) => Some(Tampering::Removed),
            (before, now) => (before != now).then_some(Tampering::Changed),
        };
        let mut whats: Vec<_> = self.things.keys().chain(now.things.keys()).collect();
        whats.sort();
        whats.dedup();
        whats.into_iter().filter_map(|what| Some(TamperedItem { what: what.clone(), how: how(what)? })).collect()
    }

    fn note(&mut self, what: String, file: &Path) {
        if let Some(digest) = digest(file) {
            self.things.insert(what, digest);
        }
    }

    /// Notes a file that may name a path of the repository. If the repository was moved, it is the same with the new path,
    /// and another one with the old path.
    fn note_link(&mut self, what: String, file: &Path) {
        let text = fs::read(file).unwrap_or_default();
        let before = if text.starts_with(LINK) { LINK } else { b"" };
        let text = &text[before.len()..];
        let line = text.strip_suffix(b"\n").unwrap_or(text);
        let path = as_path(line.strip_suffix(b"\r").unwrap_or(line));
        let (stored, here) = (moved::stored_path(&path), moved::present_path(&path));
        let seen = match (stored != path, here != path) {
            (true, _) => [before, &as_bytes(&stored), b"\n"].concat(),
            (false, true) => [before, &as_bytes(&here), b"\n"].concat(),
            (false, false) => return self.note(what, file),
        };
        if let Some(digest) = digest_of(file, Some(&seen)) {
            self.things.insert(what, digest);
        }
    }
}

impl Workspace {
    /// Fingerprints everything that determines what git executes here: the hooks in `core.hooksPath`, the configuration
    /// of user, repository and work tree with all includes, `info/attributes`, `info/exclude`, and the location of the
    /// repository. Executes nothing.
    ///
    /// # Errors
    /// [`Io`](WorkspaceError::Io) if the blocking task fails.
    #[boxed]
    pub async fn fingerprint(&self) -> Result<GitFingerprint, WorkspaceError> {
        self.run_blocking(|place| fingerprint(&place)).await
    }

    /// Checks that the state of hooks and configuration is that at the time of the [lock](Self::lock). Executes
    /// nothing.
    ///
    /// # Errors
    /// [`Tampered`](WorkspaceError::Tampered) with the changes.
    #[boxed]
    pub async fn ensure_untampered(&self) -> Result<(), WorkspaceError> {
        self.run_blocking(|place| ensure_trusted(&place)).await?
    }

    /// Returns whether a hook may run at a commit: the default hooks folder contains a file that is not a sample, or
    /// the effective configuration sets hooks (`core.hooksPath`, `hook.*`).
    ///
    /// # Errors
    /// [`GitMissing`](WorkspaceError::GitMissing) if git cannot be run.
    #[boxed]
    pub async fn has_hooks(&self) -> Result<bool, WorkspaceError> {
        let call = self.git(&["config", "--null", "--get-regexp", r"^(core\.hookspath|hook\..*)$"]);
        if configures_hooks(&call.run().await?.stdout) {
            return Ok(true);
        }
        self.run_blocking(|place| holds_hooks(&place.common_dir.join("hooks"))).await
    }

    /// Returns the folder of the hooks.
    pub(super) async fn hooks_folder(&self) -> Result<PathBuf, WorkspaceError> {
        self.run_blocking(|place| hooks_folder(&place)).await
    }
}

/// Fingerprints of the work trees that this process has locked, by their git folders.
static TRUSTED: Mutex<BTreeMap<PathBuf, GitFingerprint>> = Mutex::new(BTreeMap::new());

fn trusted_fingerprints() -> MutexGuard<'static, BTreeMap<PathBuf, GitFingerprint>> {
    TRUSTED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Trusts the current state until the work tree is unlocked.
pub(super) fn trust(place: &Place) {
    let now = fingerprint(place);
    trusted_fingerprints().insert(place.git_dir.clone(), now);
}

/// Trusts the current state if the work tree is locked: this process or a trusted hook has changed it.
pub(super) fn renew_trust(place: &Place) {
    if trusted_fingerprints().contains_key(&place.git_dir) {
        trust(place);
    }
}

pub(super) fn end_trust(git_dir: &Path) {
    trusted_fingerprints().remove(git_dir);
}

/// Fails if the state differs from that at the time of the lock.
pub(super) fn ensure_trusted(place: &Place) -> Result<(), WorkspaceError> {
    let Some(before) = trusted_fingerprints().get(&place.git_dir).cloned() else { return Ok(()) };
    let changes = before.changes(&fingerprint(place));
    if changes.is_empty() {
        return Ok(());
    }
    Err(WorkspaceError::Tampered { changes: changes.iter().map(ToString::to_string).collect() })
}

fn fingerprint(place: &Place) -> GitFingerprint {
    let mut all = GitFingerprint::default();
    all.note_link(".git".to_owned(), &place.root.join(".git"));
    for name in ["commondir", "gitdir"] {
        all.note_link(format!("git/{name}"), &place.git_dir.join(name));
    }
    for name in ["info/attributes", "info/exclude", "info/grafts", "objects/info/alternates"] {
        all.note(name.to_owned(), &place.common_dir.join(name));
    }
    for file in config_files(place) {
        note_config(&mut all, place, &file, 0);
        for program in programs(&file) {
            note_program(&mut all, place, &program);
        }
    }
    let hooks = hooks_folder(place);
    all.things.insert(format!("hooks in {}", display_path(place, &hooks)), String::new());
    note_folder(&mut all, place, &with_sources(place, hooks), 0);
    all
}

/// Returns the configuration files of user, repository and work tree, in order of precedence.
fn config_files(place: &Place) -> Vec<PathBuf> {
    let variable = |name| place.options.variable(name).map(PathBuf::from);
    let home = variable("HOME");
    let global = match variable("GIT_CONFIG_GLOBAL") {
        Some(global) => vec![global],
        None => {
            let folder = variable("XDG_CONFIG_HOME").or_else(|| Some(home.clone()?.join(".config")));
            let xdg = folder.map(|folder| folder.join("git").join("config"));
            xdg.into_iter().chain(home.map(|home| home.join(".gitconfig"))).collect()
        }
    };
    let own = [place.common_dir.join("config"), place.git_dir.join("config.worktree")];
    global.into_iter().chain(own).collect()
}

/// Adds a configuration with all files it may include, regardless of the conditions.
fn note_config(all: &mut GitFingerprint, place: &Place, file: &Path, depth: usize) {
    let what = format!("config {}", display_path(place, file));
    if depth > DEEPEST || all.things.contains_key(&what) {
        return;
    }
    // Also added if missing: an include may refer to a file created later.
    all.things.insert(what, digest(file).unwrap_or_default());
    for include in includes(file) {
        note_config(all, place, &resolve_path(place, file, &include), depth + 1);
    }
}

/// Returns the includes of a configuration. Includes of an included one are relative to that file; they are read with
/// it.
fn includes(file: &Path) -> Vec<String> {
    values(file, "^include(if\\..*)?\\.path$", |depth| depth == 0)
}

/// Returns the commands that git is configured to run.
fn programs(file: &Path) -> Vec<String> {
    values(file, "^(filter\\..*\\.(clean|smudge|process)|gpg\\.(.*\\.)?program|gpg\\.ssh\\.defaultkeycommand)$", |_| {
        true
    })
}

/// Returns the values of a configuration's keys, from includes of accepted depths.
fn values(file: &Path, keys: &str, is_wanted: impl Fn(u32) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    let read = Config::open(file).and_then(|config| {
        config.entries(Some(keys))?.for_each(|entry| {
            if is_wanted(entry.include_depth()) {
                found.push(String::from_utf8_lossy(entry.value_bytes()).into_owned());
            }
        })
    });
    // A file that does not parse has no values; its content is fingerprinted anyway.
    if read.is_err() { vec![] } else { found }
}

/// Adds the files of the work tree that a command names: changing them changes the command. A word without a dot or a
/// slash is not a file, but a program or an option.
fn note_program(all: &mut GitFingerprint, place: &Place, command: &str) {
    let words = command.split(|c: char| c.is_whitespace() || "'\";|&()".contains(c));
    for word in words.filter(|word| word.contains(['.', '/'])) {
        let file = lexical(&place.root.join(word));
        if file.starts_with(&place.root) && !file.is_dir() {
            all.note(format!("program {}", display_path(place, &file)), &file);
        }
    }
}

fn resolve_path(place: &Place, file: &Path, path: &str) -> PathBuf {
    match (path.strip_prefix("~/"), place.options.variable("HOME")) {
        (Some(below), Some(home)) => Path::new(&home).join(below),
        _ => lexical(&file.parent().unwrap_or(file).join(path)),
    }
}

pub(super) fn hooks_folder(place: &Place) -> PathBuf {
    let configured = || -> Result<Option<String>, git2::Error> {
        let mut config = Config::new()?;
        if let Ok(system) = Config::find_system() {
            config.add_file(&system, ConfigLevel::System, true)?;
        }
        let levels = [ConfigLevel::XDG, ConfigLevel::Global, ConfigLevel::Local, ConfigLevel::Worktree];
        let files = config_files(place);
        let first = levels.len() - files.len().min(levels.len());
        for (file, level) in files.iter().zip(&levels[first..]).filter(|(file, _)| file.exists()) {
            config.add_file(file, *level, true)?;
        }
        Ok(config.get_string("core.hookspath").ok().filter(|path| !path.is_empty()))
    };
    match configured() {
        // Relative to the top of the work tree, where hooks run.
        Ok(Some(path)) => {
            let own = resolve_path(place, &place.root.join(".git"), &path);
            main_hooks_folder(place, &path, &own).unwrap_or(own)
        }
        Ok(None) | Err(_) => place.common_dir.join("hooks"),
    }
}

/// Returns the folder of hooks of the main work tree, if the path is relative and a linked work tree has no such folder:
/// it is in no commit, as that of husky.
fn main_hooks_folder(place: &Place, path: &str, own: &Path) -> Option<PathBuf> {
    let is_relative = Path::new(path).is_relative() && !path.starts_with('~');
    let main = place.main_tree()?;
    let theirs = lexical(&main.join(path));
    (is_relative && main != place.root && !own.exists() && theirs.is_dir()).then_some(theirs)
}

/// Returns the setting with which a commit in a linked work tree runs hooks that only the main work tree has.
pub(super) fn borrowed_hooks(place: &Place) -> Option<String> {
    if place.git_dir == place.common_dir {
        return None;
    }
    let folder = hooks_folder(place);
    let is_inside = folder.starts_with(&place.root) || folder.starts_with(&place.common_dir);
    (!is_inside && folder.is_dir()).then(|| format!("core.hooksPath={}", folder.display()))
}

/// Parses key-value lines, ignoring the setting that every call of git passes.
fn configures_hooks(output: &[u8]) -> bool {
    output.split(|byte| *byte == 0).any(|line| !line.is_empty() && line != b"core.hookspath\n/dev/null")
}

fn holds_hooks(folder: &Path) -> bool {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    entries.map(|entry| entry.path()).any(|path| path.extension().is_none_or(|end| end != "sample") && !path.is_dir())
}

/// Husky's `_` folder contains stubs that run the files next to it.
fn with_sources(place: &Place, hooks: PathBuf) -> PathBuf {
    match hooks.parent() {
        Some(above) if hooks.ends_with("_") && hooks.starts_with(&place.root) && above != place.root => {
            above.to_owned()
        }
        _ => hooks,
    }
}

fn note_folder(all: &mut GitFingerprint, place: &Place, folder: &Path, depth: usize) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.filter_map(Result::ok) {
        let path = entry.path();
        if all.things.len() > MOST {
            return;
        }
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && depth < DEEPEST => note_folder(all, place, &path, depth + 1),
            Ok(_) => all.note(format!("hook {}", display_path(place, &path)), &path),
            Err(_) => {}
        }
    }
}

/// Returns the path relative to the repository, or in full if it is outside.
fn display_path(place: &Place, path: &Path) -> String {
    let inside = path.strip_prefix(&place.common_dir).map(|below| Path::new(".git").join(below));
    let inside = inside.or_else(|_| path.strip_prefix(&place.root).map(Path::to_owned));
    inside.unwrap_or_else(|_| moved::stored_path(path)).display().to_string()
}

/// Returns a digest of content, mode and, for a link, its target; `None` if the file does not exist.
fn digest(file: &Path) -> Option<String> {
    let content = if fs::metadata(file).is_ok_and(|about| about.is_file()) { fs::read(file).ok() } else { None };
    digest_of(file, content.as_deref())
}

fn digest_of(file: &Path, content: Option<&[u8]>) -> Option<String> {
    let about = fs::symlink_metadata(file).ok()?;
    let leads = fs::read_link(file).map(|to| to.display().to_string()).unwrap_or_default();
    let content = content.map(blob_hash).unwrap_or_default();
    let kind = if about.is_dir() { "folder" } else { "file" };
    Some(format!("{kind} {} {content} {leads}", runs(file)))
}

/// Returns `x` for an executable file.
pub(super) fn runs(file: &Path) -> &'static str {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(file).map_or(0, |about| about.permissions().mode());
        if mode & 0o111 != 0 { "x" } else { "-" }
    }
    #[cfg(not(unix))]
    {
        let _ = file;
        "-"
    }
}

fn blob_hash(bytes: &[u8]) -> String {
    Oid::hash_object(ObjectType::Blob, bytes).map(|id| id.to_string()).unwrap_or_default()
}
