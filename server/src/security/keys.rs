//! [`Keys`]: the keys that are accepted, by a file that is read again when it was changed. Must not know requests.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use super::key_error::KeysError;
use super::key_file::{KeyEntry, KeyFile, Stamp, stamp_of};
use super::roles::{Caller, KeyRole};

/// Keys of a server, in a file that holds their hashes. A key that is added or revoked, by this or another process, is accepted or
/// refused from the next request on.
///
/// ```
/// # fn example() -> Result<(), superstep_server::KeysError> {
/// use superstep_server::{Keys, Options, KeyRole};
///
/// let key = Keys::add("keys.json", "ci", KeyRole::Run)?; // the only time that it is seen
/// let options = Options::default().api_keys(Keys::load("keys.json")?);
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Keys(Arc<Loaded>);

struct Loaded {
    path: PathBuf,
    /// None if the file could not be read when it was changed last.
    content: RwLock<Option<Content>>,
}

#[derive(Clone)]
struct Content {
    file: Arc<KeyFile>,
    stamp: Stamp,
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Keys").field("path", &self.0.path).finish_non_exhaustive()
    }
}

impl Keys {
    /// Reads a file of keys.
    ///
    /// # Errors
    /// [`KeysError::Missing`], [`KeysError::Open`], [`KeysError::Io`], [`KeysError::Invalid`].
    pub fn load(path: impl Into<PathBuf>) -> Result<Self, KeysError> {
        let path = path.into();
        let content = read(&path)?;
        Ok(Self(Arc::new(Loaded { path, content: RwLock::new(Some(content)) })))
    }

    /// Adds a key to a file, which is made if it is not there. Returns the key: only its hash is stored.
    ///
    /// # Errors
    /// [`KeysError::Taken`], [`KeysError::InvalidName`]; as [`load`](Self::load).
    pub fn add(path: impl AsRef<Path>, name: &str, role: KeyRole) -> Result<String, KeysError> {
        KeyFile::change(path.as_ref(), true, |file| file.add(name, role))
    }

    /// Removes a key from a file.
    ///
    /// # Errors
    /// [`KeysError::Unknown`]; as [`load`](Self::load).
    pub fn revoke(path: impl AsRef<Path>, name: &str) -> Result<(), KeysError> {
        KeyFile::change(path.as_ref(), false, |file| file.revoke(name))
    }

    /// Returns the keys of a file, the oldest first, without the keys themselves.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn list(path: impl AsRef<Path>) -> Result<Vec<KeyEntry>, KeysError> {
        Ok(KeyFile::read(path.as_ref())?.0.keys)
    }

    /// Returns the caller that a key belongs to; `None` if the key is not accepted.
    pub(super) fn find(&self, key: &str) -> Result<Option<Caller>, KeysError> {
        let file = self.current()?;
        Ok(file.find(key).map(|entry| Caller { name: entry.name.clone(), role: entry.role }))
    }

    /// Returns the content of the file now.
    fn current(&self) -> Result<Arc<KeyFile>, KeysError> {
        let path = &self.0.path;
        let stamp = stamp_of(path).map_err(|error| KeysError::io(path, error))?;
        let known = self.0.content.read().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(known) = known.filter(|known| known.stamp == stamp) {
            return Ok(known.file);
        }
        let read = read(path);
        let mut content = self.0.content.write().unwrap_or_else(PoisonError::into_inner);
        *content = read.as_ref().ok().cloned();
        read.map(|content| content.file)
    }
}

fn read(path: &Path) -> Result<Content, KeysError> {
    let (file, stamp) = KeyFile::read(path)?;
    Ok(Content { file: Arc::new(file), stamp })
}
