//! The file of keys: names, roles, times and SHA-256 hashes, for its owner only. A key has 256 random bits, so that a plain hash of it
//! can be neither reversed nor guessed. Must not know requests.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom, SystemRandom};
use serde::{Deserialize, Serialize};
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};
use superstep_base::files;
use superstep_base::time::now;

use super::key_error::KeysError;
use super::roles::KeyRole;

/// The version of what this program writes.
const VERSION: u32 = 1;
/// The first letters of a key, by which one is recognized where it should not be.
const PREFIX: &str = "superstep_";
/// The number of random bytes of a key.
const BYTES: usize = 32;
/// The longest name, in characters.
const LONGEST: usize = 64;
/// The permissions of others in the mode of a file.
#[cfg(unix)]
const OTHERS: u32 = 0o077;

/// A key as it is listed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct KeyEntry {
    /// The name.
    pub name: String,
    /// The role.
    pub role: KeyRole,
    /// When it was added, in milliseconds since 1970.
    pub created_at: u64,
    /// The hash of the key, in hexadecimal digits.
    sha256: String,
}

/// Content of a file of keys.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct KeyFile {
    version: u32,
    pub(super) keys: Vec<KeyEntry>,
}

/// Identity of a file's content: it differs once the file, its content or its mode was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stamp([i64; 4]);

impl KeyFile {
    fn empty() -> Self {
        Self { version: VERSION, keys: vec![] }
    }

    /// Reads a file that only its owner may read.
    pub(super) fn read(path: &Path) -> Result<(Self, Stamp), KeysError> {
        let opened = files::open(path).and_then(|file| Ok((file.metadata()?, file)));
        let (about, file) = opened.map_err(|error| KeysError::io(path, error))?;
        check_mode(path, &about)?;
        let bytes = files::read_bounded(file).map_err(|error| KeysError::io(path, error))?;
        let invalid = |reason: String| KeysError::Invalid { path: path.to_owned(), reason };
        let read: Self = serde_json::from_slice(&bytes).map_err(|error| invalid(error.to_string()))?;
        match read.version > VERSION {
            true => Err(invalid(format!("a later release wrote it, as version {}", read.version))),
            false => Ok((read, stamp(&about))),
        }
    }

    /// Changes a file; one that is not there is made if `may_create`. Others that change it at the same time wait.
    pub(super) fn change<T>(
        path: &Path,
        may_create: bool,
        edit: impl FnOnce(&mut Self) -> Result<T, KeysError>,
    ) -> Result<T, KeysError> {
        if !may_create {
            stamp_of(path).map_err(|error| KeysError::io(path, error))?;
        }
        let _lock = lock(path).map_err(|error| KeysError::io(path, error))?;
        let mut file = match Self::read(path) {
            Err(KeysError::Missing { .. }) if may_create => Self::empty(),
            read => read?.0,
        };
        let result = edit(&mut file)?;
        file.write(path).map_err(|error| KeysError::io(path, error))?;
        Ok(result)
    }

    /// Writes the file beside its place and moves it there, so that a reader never finds a part of it.
    fn write(&self, path: &Path) -> io::Result<()> {
        let new = beside(path, ".new");
        match fs::remove_file(&new) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {} // a process was killed here before
        }
        let mut file = private_file().create_new(true).open(&new)?;
        file.write_all(&serde_json::to_vec_pretty(self)?)?;
        file.sync_all()?;
        fs::rename(&new, path)
    }

    /// Adds a key; returns it. Only its hash is kept.
    pub(super) fn add(&mut self, name: &str, role: KeyRole) -> Result<String, KeysError> {
        let is_name = (1..=LONGEST).contains(&name.chars().count()) && !name.chars().any(char::is_control);
        if !is_name || name.trim() != name {
            return Err(KeysError::InvalidName { name: name.to_owned() });
        }
        if self.keys.iter().any(|key| key.name == name) {
            return Err(KeysError::Taken { name: name.to_owned() });
        }
        let key = new_key()?;
        self.keys.push(KeyEntry { name: name.to_owned(), role, created_at: now(), sha256: hash(&key) });
        Ok(key)
    }

    /// Removes a key.
    pub(super) fn revoke(&mut self, name: &str) -> Result<(), KeysError> {
        let at = self.keys.iter().position(|key| key.name == name);
        let at = at.ok_or_else(|| KeysError::Unknown { name: name.to_owned() })?;
        self.keys.remove(at);
        Ok(())
    }

    /// Returns the entry of a key. Takes the same time for all keys that are not there.
    pub(super) fn find(&self, key: &str) -> Option<&KeyEntry> {
        let sought = hash(key);
        let mut found = u32::MAX;
        for (at, entry) in (0_u32..).zip(&self.keys) {
            let is_same: Choice = entry.sha256.as_bytes().ct_eq(sought.as_bytes());
            found.conditional_assign(&at, is_same);
        }
        self.keys.get(usize::try_from(found).ok()?)
    }
}

fn new_key() -> Result<String, KeysError> {
    let mut bytes = [0; BYTES];
    SystemRandom::new().fill(&mut bytes).map_err(|_| KeysError::NoRandomness)?;
    Ok(format!("{PREFIX}{}", hexadecimal(&bytes)))
}

fn hash(key: &str) -> String {
    hexadecimal(digest(&SHA256, key.as_bytes()).as_ref())
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns a lock that is held until it is dropped. It is a file of its own, since the file of keys is replaced.
fn lock(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::create_dir_all(folder)?;
    }
    let file = private_file().create(true).truncate(false).open(beside(path, ".lock"))?;
    file.lock()?;
    Ok(file)
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

#[cfg(unix)]
fn private_file() -> OpenOptions {
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = OpenOptions::new();
    options.write(true).mode(0o600);
    options
}

#[cfg(not(unix))]
fn private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    options
}

#[cfg(unix)]
fn check_mode(path: &Path, about: &Metadata) -> Result<(), KeysError> {
    use std::os::unix::fs::MetadataExt;
    let mode = about.mode() & 0o7777;
    match mode & OTHERS {
        0 => Ok(()),
        _ => Err(KeysError::Open { path: path.to_owned(), mode }),
    }
}

/// The system has no modes.
#[cfg(not(unix))]
fn check_mode(_: &Path, _: &Metadata) -> Result<(), KeysError> {
    Ok(())
}

/// Returns the identity of the content of the file at a path.
pub(super) fn stamp_of(path: &Path) -> io::Result<Stamp> {
    fs::metadata(path).map(|about| stamp(&about))
}

#[cfg(unix)]
fn stamp(about: &Metadata) -> Stamp {
    use std::os::unix::fs::MetadataExt;
    Stamp([about.ino().cast_signed(), about.ctime(), about.ctime_nsec(), about.size().cast_signed()])
}

#[cfg(not(unix))]
fn stamp(about: &Metadata) -> Stamp {
    let since = about.modified().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    let since = since.unwrap_or_default();
    Stamp([since.as_secs().cast_signed(), since.subsec_nanos().into(), about.len().cast_signed(), 0])
}
