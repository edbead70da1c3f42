//! What git would run: hooks, configuration, attributes. Fingerprinted before an agent works and compared before git is called
//! again. Files are read and nothing is run, so that what an agent planted is seen before it has its turn.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fmt, fs};

use git2::{Config, ConfigLevel, ObjectType, Oid};
use serde::{Deserialize, Serialize};

use super::error::WorkspaceError;
use super::paths::lexical;
use super::place::{Place, Workspace};

/// How deep folders of hooks are read, and configurations that include others.
const DEEPEST: usize = 8;

/// How many files count in a folder of hooks.
const MOST: usize = 2000;

/// Everything that decides what git runs, each thing with a digest of its content and mode.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fingerprint {
    things: BTreeMap<String, String>,
}

/// Something that decides what git runs and is not as it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tampered {
    /// What: a file, or the place of the hooks.
    pub what: String,
    /// How.
    pub how: Tampering,
}

/// How something changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tampering {
    /// It is new.
    Added,
    /// It is gone.
    Removed,
    /// Its content or mode changed.
    Changed,
}

impl fmt::Display for Tampered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = match self.how {
            Tampering::Added => "is new",
            Tampering::Removed => "is gone",
            Tampering::Changed => "was changed",
        };
        write!(f, "{} {how}", self.what)
    }
}

impl Fingerprint {
    /// Returns one digest of everything.
    pub fn digest(&self) -> String {
        let all: String = self.things.iter().map(|(what, digest)| format!("{digest} {what:?}\n")).collect();
        hashed(all.as_bytes())
    }

    /// Returns what is different in `now`, in the order of names.
    pub fn changes(&self, now: &Self) -> Vec<Tampered> {
        let how = |what: &String| match (self.things.get(what), now.things.get(what)) {
            (None, Some(_)) => Some(Tampering::Added),
            (Some(_), None) => Some(Tampering::Removed),
            (before, now) => (before != now).then_some(Tampering::Changed),
        };
        let mut whats: Vec<_> = self.things.keys().chain(now.things.keys()).collect();
        whats.sort();
        whats.dedup();
        whats.into_iter().filter_map(|what| Some(Tampered { what: what.clone(), how: how(what)? })).collect()
    }

    fn note(&mut self, what: String, file: &Path) {
        if let Some(digest) = digest(file) {
            self.things.insert(what, digest);
        }
    }
}

impl Workspace {
    /// Fingerprints what decides what git runs here: the hooks where `core.hooksPath` has them, the user's, the repository's
    /// and the work tree's configuration with all they include, `info/attributes`, `info/exclude`, and where the
    /// repository lies. Runs nothing.
    ///
    /// # Errors
    /// [`Io`](WorkspaceError::Io) if the reading cannot be begun.
    pub async fn fingerprint(&self) -> Result<Fingerprint, WorkspaceError> {
        self.look(|place| fingerprint(&place)).await
    }

    /// Returns whether a hook may run at a commit: there is a file that is no sample where git looks for hooks unless told
    /// otherwise, or the configuration that holds here tells it otherwise (`core.hooksPath`, `hook.*`).
    ///
    /// # Errors
    /// [`GitMissing`](WorkspaceError::GitMissing) if git cannot be asked.
    pub async fn has_hooks(&self) -> Result<bool, WorkspaceError> {
        let ask = self.git(&["config", "--null", "--get-regexp", r"^(core\.hookspath|hook\..*)$"]);
        if configures_hooks(&ask.run().await?.stdout) {
            return Ok(true);
        }
        self.look(|place| holds_hooks(&place.common_dir.join("hooks"))).await
    }

    /// Returns where the hooks are.
    pub(super) async fn hooks_folder(&self) -> Result<PathBuf, WorkspaceError> {
        self.look(|place| hooks_folder(&place)).await
    }
}

pub(super) fn fingerprint(place: &Place) -> Fingerprint {
    let mut all = Fingerprint::default();
    all.note(".git".to_owned(), &place.root.join(".git"));
    for name in ["commondir", "gitdir"] {
        all.note(format!("git/{name}"), &place.git_dir.join(name));
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
    all.things.insert(format!("hooks in {}", shown(place, &hooks)), String::new());
    note_folder(&mut all, place, &with_sources(place, hooks), 0);
    all
}

/// The configuration of the user, the repository and the work tree, in rising order.
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

/// Notes a configuration with all files it may include, whether or not the condition holds now.
fn note_config(all: &mut Fingerprint, place: &Place, file: &Path, depth: usize) {
    let what = format!("config {}", shown(place, file));
    if depth > DEEPEST || all.things.contains_key(&what) {
        return;
    }
    // Also noted while it is not there: an include may be waiting for it.
    all.things.insert(what, digest(file).unwrap_or_default());
    for include in includes(file) {
        note_config(all, place, &resolved(place, file, &include), depth + 1);
    }
}

/// The files that a configuration includes. Those of an included one count from there; it has its own turn.
fn includes(file: &Path) -> Vec<String> {
    values(file, "^include(if\\..*)?\\.path$", |depth| depth == 0)
}

/// The commands that git is configured to run.
fn programs(file: &Path) -> Vec<String> {
    values(file, "^(filter\\..*\\.(clean|smudge|process)|gpg\\.(.*\\.)?program|gpg\\.ssh\\.defaultkeycommand)$", |_| {
        true
    })
}

/// The values of a configuration's keys, from files so deep in its includes.
fn values(file: &Path, keys: &str, is_wanted: impl Fn(u32) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    let read = Config::open(file).and_then(|config| {
        config.entries(Some(keys))?.for_each(|entry| {
            if is_wanted(entry.include_depth()) {
                found.push(String::from_utf8_lossy(entry.value_bytes()).into_owned());
            }
        })
    });
    // What does not parse says nothing; its content counts all the same.
    if read.is_err() { vec![] } else { found }
}

/// Notes the files of the work tree that a command names: whoever changes them changes what it does. A word without a dot or
/// a slash is no such file, but a program or an option.
fn note_program(all: &mut Fingerprint, place: &Place, command: &str) {
    let words = command.split(|c: char| c.is_whitespace() || "'\";|&()".contains(c));
    for word in words.filter(|word| word.contains(['.', '/'])) {
        let file = lexical(&place.root.join(word));
        if file.starts_with(&place.root) && !file.is_dir() {
            all.note(format!("program {}", shown(place, &file)), &file);
        }
    }
}

fn resolved(place: &Place, file: &Path, path: &str) -> PathBuf {
    match (path.strip_prefix("~/"), place.options.variable("HOME")) {
        (Some(below), Some(home)) => Path::new(&home).join(below),
        _ => lexical(&file.parent().unwrap_or(file).join(path)),
    }
}

fn hooks_folder(place: &Place) -> PathBuf {
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
        // Counts from the top of the work tree, where hooks run.
        Ok(Some(path)) => resolved(place, &place.root.join(".git"), &path),
        Ok(None) | Err(_) => place.common_dir.join("hooks"),
    }
}

/// Reads lines of a key and its value. What each call of git is told here is no setting of the user's.
fn configures_hooks(told: &[u8]) -> bool {
    told.split(|byte| *byte == 0).any(|line| !line.is_empty() && line != b"core.hookspath\n/dev/null")
}

fn holds_hooks(folder: &Path) -> bool {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    entries.map(|entry| entry.path()).any(|path| path.extension().is_none_or(|end| end != "sample") && !path.is_dir())
}

/// Husky has stubs in `_` that run what lies beside that folder.
fn with_sources(place: &Place, hooks: PathBuf) -> PathBuf {
    match hooks.parent() {
        Some(above) if hooks.ends_with("_") && hooks.starts_with(&place.root) && above != place.root => {
            above.to_owned()
        }
        _ => hooks,
    }
}

fn note_folder(all: &mut Fingerprint, place: &Place, folder: &Path, depth: usize) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.filter_map(Result::ok) {
        let path = entry.path();
        if all.things.len() > MOST {
            return;
        }
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && depth < DEEPEST => note_folder(all, place, &path, depth + 1),
            Ok(_) => all.note(format!("hook {}", shown(place, &path)), &path),
            Err(_) => {}
        }
    }
}

/// Short inside the repository, whole outside.
fn shown(place: &Place, path: &Path) -> String {
    let inside = path.strip_prefix(&place.common_dir).map(|below| Path::new(".git").join(below));
    let inside = inside.or_else(|_| path.strip_prefix(&place.root).map(Path::to_owned));
    inside.unwrap_or_else(|_| path.to_owned()).display().to_string()
}

/// The content with its mode and, for a link, where it leads; none if nothing is there.
fn digest(file: &Path) -> Option<String> {
    let about = fs::symlink_metadata(file).ok()?;
    let leads = fs::read_link(file).map(|to| to.display().to_string()).unwrap_or_default();
    let content = if fs::metadata(file).is_ok_and(|about| about.is_file()) { fs::read(file).ok() } else { None };
    let content = content.map(|content| hashed(&content)).unwrap_or_default();
    let kind = if about.is_dir() { "folder" } else { "file" };
    Some(format!("{kind} {} {content} {leads}", runs(file)))
}

/// Whether it may be run.
fn runs(file: &Path) -> &'static str {
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

fn hashed(bytes: &[u8]) -> String {
    Oid::hash_object(ObjectType::Blob, bytes).map(|id| id.to_string()).unwrap_or_default()
}
