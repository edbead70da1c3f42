//! Content of a tree: names, texts of files. Reads objects only, not the work tree.

use std::path::Path;

use git2::{ObjectType, Repository};

use super::error::WorkspaceError;
use super::id::TreeId;
use super::objects::tree;
use super::paths::shown;
use super::place::{Fault, Workspace};

impl Workspace {
    /// Returns the names of the files and folders at the top of a tree, in git's order.
    ///
    /// # Errors
    /// [`NoSuchObject`](WorkspaceError::NoSuchObject) if the tree does not exist.
    pub async fn top_names(&self, of: &TreeId) -> Result<Vec<String>, WorkspaceError> {
        let of = of.clone();
        self.objects("read a tree", move |repository, _| {
            let tree = tree(repository, &of)?;
            Ok(tree.iter().map(|entry| shown(entry.name_bytes())).collect())
        })
        .await
    }

    /// Returns the text of a file in a tree; `None` if it does not exist or has more than `most` bytes. `path` is
    /// relative to the top of the work tree; invalid UTF-8 is replaced.
    ///
    /// # Errors
    /// [`NoSuchObject`](WorkspaceError::NoSuchObject) if the tree does not exist.
    pub async fn text_of(&self, of: &TreeId, path: &str, most: usize) -> Result<Option<String>, WorkspaceError> {
        let (of, path) = (of.clone(), path.to_owned());
        self.objects("read a file", move |repository, _| text(repository, &of, Path::new(&path), most)).await
    }
}

fn text(repository: &Repository, of: &TreeId, path: &Path, most: usize) -> Result<Option<String>, Fault> {
    let Ok(entry) = tree(repository, of)?.get_path(path) else { return Ok(None) };
    if entry.kind() != Some(ObjectType::Blob) {
        return Ok(None);
    }
    let (size, _) = repository.odb()?.read_header(entry.id())?;
    if size > most {
        return Ok(None);
    }
    let blob = repository.find_blob(entry.id())?;
    Ok(Some(String::from_utf8_lossy(blob.content()).into_owned()))
}
