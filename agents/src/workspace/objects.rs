//! Objects of a repository by their ids.

use git2::Repository;

use super::id::TreeId;
use super::place::Fault;

pub(super) fn tree<'a>(repository: &'a Repository, id: &TreeId) -> Result<git2::Tree<'a>, Fault> {
    repository.find_tree(id.oid()?).map_err(|_| id.missing().into())
}
