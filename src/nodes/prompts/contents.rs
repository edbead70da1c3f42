//! Texts that are stored once, each in a file named by its hash, for prompts that repeat them. Knows files and keys;
//! must not know what a text is for.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};
use superstep_base::moved::present_path;
use superstep_base::text::hex;

use crate::process::Redactor;
use crate::workspace::git_folder;

/// Length of a hash in hexadecimal digits.
const DIGITS: usize = 64;

/// Counter for names of temporary files.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// A reference to a text in [`Contents`]. Plain data, so that it can be part of a graph's state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Content {
    /// The SHA-256 of the text in hexadecimal digits, which is also the name of its file.
    pub hash: String,
    /// The length of the text in bytes.
    pub bytes: u64,
}

impl Content {
    pub(in crate::nodes) fn of(text: &str) -> Self {
        let hash = hex(digest(&SHA256, text.as_bytes()).as_ref());
        Self { hash, bytes: text.len() as u64 }
    }

    fn is_valid(&self) -> bool {
        self.hash.len() == DIGITS && self.hash.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    }
}

/// Texts that prompts refer to: files in the folder `contents` of an agent's `home`. In a
/// repository they have a second name in git's folder, in `superstep/contents`, which `git clean` does not remove.
///
/// ```
/// # let home = tempfile::tempdir()?;
/// use superstep::nodes::Contents;
/// let contents = Contents::at(home.path());
/// let plan = contents.put("# Clock\n")?;
/// assert_eq!(contents.get(&plan)?, "# Clock\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contents {
    folder: PathBuf,
    /// Has the same files in git's folder of the repository.
    copies: Option<PathBuf>,
}

/// A content that cannot be stored or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ContentError {
    /// There is no file with this content.
    #[error("content {} ({} bytes) is missing: there is no file {}", content.hash, content.bytes, path.display())]
    Missing {
        /// The content.
        content: Content,
        /// The path of its file.
        path: PathBuf,
    },
    /// The file has another content.
    #[error("the file {} does not hold the content {}", path.display(), content.hash)]
    Damaged {
        /// The content.
        content: Content,
        /// The path of its file.
        path: PathBuf,
    },
    /// The hash is no SHA-256.
    #[error("`{hash}` is not the hash of a content")]
    Invalid {
        /// The hash.
        hash: String,
    },
    /// The system failed to read the file.
    #[error("the content in {} cannot be read: {source}", path.display())]
    Unreadable {
        /// The path of the file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The system failed to write the file.
    #[error("the content cannot be written to {}: {source}", path.display())]
    Unwritable {
        /// The path of the file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

impl ContentError {
    /// Returns what can be done about it.
    pub fn help(&self) -> &'static str {
        match self {
            Self::Missing { .. } => "restore the file from a backup of the folder, or start the run again",
            Self::Damaged { .. } => "remove the file and restore it from a backup, or start the run again",
            Self::Invalid { .. } => "use a `Content` that `Contents::put` returned",
            Self::Unreadable { .. } => "make the file readable for the user who runs this program",
            Self::Unwritable { .. } => "make the folder a directory that this program can write to, with free space",
        }
    }
}

impl Contents {
    /// Returns the contents in an agent's home; creates nothing.
    pub fn at(home: impl AsRef<Path>) -> Self {
        Self::of_folder(home.as_ref().join("contents"))
    }

    pub(in crate::nodes) fn of_folder(folder: impl Into<PathBuf>) -> Self {
        let folder = present_path(folder.into());
        let copies = git_folder(&folder).map(|git| git.join("superstep").join("contents"));
        Self { folder, copies }
    }

    pub(in crate::nodes) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Stores a text, unless it exists, and returns when it is on disk. Values of keys that this process knows are
    /// replaced first ([`Redactor::keys`]): the content is the text without them. Blocks.
    ///
    /// # Errors
    /// [`ContentError::Unwritable`].
    pub fn put(&self, text: &str) -> Result<Content, ContentError> {
        let text = Redactor::keys().known(text.to_owned());
        let content = Content::of(&text);
        if get(&self.folder, &content).is_err() {
            write(&self.folder, &content, &text)?;
        }
        if let Some(copies) = self.copies.as_ref().filter(|copies| get(copies, &content).is_err())
            && link(&self.folder, copies, &content).is_err()
            && let Err(error) = write(copies, &content, &text)
        {
            tracing::warn!(%error, "`git clean` would remove the only copy of a text");
        }
        Ok(content)
    }

    /// Returns a text. Blocks.
    ///
    /// # Errors
    /// [`ContentError::Missing`] or [`ContentError::Damaged`], which name the file; a hash that is none; errors of the system.
    pub fn get(&self, content: &Content) -> Result<String, ContentError> {
        let found = get(&self.folder, content);
        match (&found, &self.copies) {
            (Err(_), Some(copies)) => get(copies, content).or(found),
            _ => found,
        }
    }
}

/// Gives a file a second name in another folder, which costs no space.
fn link(from: &Path, to: &Path, content: &Content) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(to)?;
    no_link(to)?;
    fs::hard_link(from.join(&content.hash), to.join(&content.hash))?;
    File::open(to)?.sync_all()
}

fn get(folder: &Path, content: &Content) -> Result<String, ContentError> {
    if !content.is_valid() {
        return Err(ContentError::Invalid { hash: content.hash.clone() });
    }
    let path = folder.join(&content.hash);
    let read = match read_limited(folder, &path, content.bytes) {
        Ok(read) => read,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(ContentError::Missing { content: content.clone(), path });
        }
        Err(source) => return Err(ContentError::Unreadable { path, source }),
    };
    match String::from_utf8(read) {
        Ok(text) if Content::of(&text) == *content => Ok(text),
        Ok(_) | Err(_) => Err(ContentError::Damaged { content: content.clone(), path }),
    }
}

/// Writes a file atomically.
fn write(folder: &Path, content: &Content, text: &str) -> Result<(), ContentError> {
    let path = folder.join(&content.hash);
    let write = || {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        no_link(folder)?;
        let nth = NEXT.fetch_add(1, Ordering::Relaxed);
        let temporary = path.with_extension(format!("{}-{nth}.tmp", std::process::id()));
        let written = write_new(&temporary, text).and_then(|()| fs::rename(&temporary, &path));
        if written.is_err() {
            _ = fs::remove_file(&temporary);
        }
        written.and_then(|()| File::open(folder)?.sync_all())
    };
    write().map_err(|source| ContentError::Unwritable { path: path.clone(), source })
}

/// Fails if an agent has replaced the folder by a link.
fn no_link(folder: &Path) -> io::Result<()> {
    match fs::symlink_metadata(folder)?.is_dir() {
        true => Ok(()),
        false => Err(io::Error::new(ErrorKind::NotADirectory, "the folder of contents is a link or a file")),
    }
}

fn write_new(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// Reads at most one byte more than expected, which is enough to detect another text.
fn read_limited(folder: &Path, path: &Path, bytes: u64) -> io::Result<Vec<u8>> {
    no_link(folder)?;
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let file = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(ErrorKind::InvalidInput, "it is not a file"));
    }
    let mut read = vec![];
    file.take(bytes.saturating_add(1)).read_to_end(&mut read)?;
    Ok(read)
}
