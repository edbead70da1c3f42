//! Garbage collection of git, which removes objects that no reference has. Trees and commits that a thread needs and no
//! branch has are kept by the reference `refs/superstep/THREAD/objects`. It points to a chain of commits, each of which
//! has one of the trees, or one of the commits as its second parent. A collection that runs is waited for: until it
//! ends, git may also remove objects that are new.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use async_recursion::async_recursion as boxed;
use git2::{ErrorCode, ObjectType, Oid, Repository, Signature};

use super::error::WorkspaceError;
use super::git_locks::with_locks;
use super::id::{CommitKey, reference_name};
use super::place::{Fault, Place, Workspace};
use super::references::{delete, find_reference, put};

const LOG: &str = "superstep: keep";
/// Number of attempts if others add objects at the same time.
const TRIES: u32 = 100;

/// Message of the commit that marks a chain to which everything in the records of the thread was added.
const RECORDED: &str = "keep what the records of the thread name\n";

/// A chain: its newest commit, and the objects in it.
#[derive(Clone, Default)]
struct Chain {
    tip: Option<Oid>,
    objects: BTreeSet<Oid>,
    is_recorded: bool,
}

/// Chains that were read, by repository and reference.
static READ: Mutex<BTreeMap<(PathBuf, String), Chain>> = Mutex::new(BTreeMap::new());

fn known_chains() -> MutexGuard<'static, BTreeMap<(PathBuf, String), Chain>> {
    READ.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the reference that keeps a thread's objects.
fn objects_of(thread: &str) -> String {
    reference_name(thread, &["objects"])
}

impl Workspace {
    /// Returns whether objects of a thread are kept.
    ///
    /// # Errors
    /// [`Git`](WorkspaceError::Git) if the reference cannot be read.
    #[boxed]
    pub async fn keeps_objects(&self, thread: &str) -> Result<bool, WorkspaceError> {
        Ok(self.reference(&objects_of(thread)).await?.is_some())
    }

    /// Returns whether everything that the records of a thread name was kept, with
    /// [`keep_recorded`](Self::keep_recorded).
    ///
    /// # Errors
    /// [`Git`](WorkspaceError::Git) if the reference cannot be read.
    #[boxed]
    pub async fn keeps_recorded(&self, thread: &str) -> Result<bool, WorkspaceError> {
        let name = objects_of(thread);
        let look = move |repository: &Repository, place: &Place| {
            let chain = chain(repository, place, &name)?;
            let is_recorded = chain.is_recorded;
            known_chains().insert((place.common_dir.clone(), name), chain);
            Ok(is_recorded)
        };
        self.objects("read a reference", look).await
    }

    /// Keeps these objects for a thread, as [`keep_objects`](Self::keep_objects) does, and notes that they are everything
    /// that its records name so far.
    ///
    /// # Errors
    /// [`Git`](WorkspaceError::Git) if the reference cannot be set.
    #[boxed]
    pub async fn keep_recorded(&self, thread: &str, ids: BTreeSet<String>) -> Result<(), WorkspaceError> {
        let name = objects_of(thread);
        self.objects("keep objects", move |repository, place| {
            add(repository, place, &name, (existing_objects(repository, &ids), true))
        })
        .await
    }

    /// Keeps those of these objects for a thread that are trees or commits of the repository; all others are ignored.
    ///
    /// # Errors
    /// [`Git`](WorkspaceError::Git) if the reference cannot be set.
    #[boxed]
    pub async fn keep_objects(&self, thread: &str, ids: BTreeSet<String>) -> Result<(), WorkspaceError> {
        let name = objects_of(thread);
        self.objects("keep objects", move |repository, place| {
            add(repository, place, &name, (existing_objects(repository, &ids), false))
        })
        .await
    }

    /// Keeps only these objects for a thread, which are those that its records name; without any, the reference is removed.
    ///
    /// # Errors
    /// [`Git`](WorkspaceError::Git) if the reference cannot be set.
    #[boxed]
    pub async fn keep_only(&self, thread: &str, ids: BTreeSet<String>) -> Result<(), WorkspaceError> {
        let name = objects_of(thread);
        self.objects("keep objects", move |repository, place| {
            let mut chain = Chain::default();
            for object in existing_objects(repository, &ids) {
                chain.add(repository, object)?;
            }
            if chain.tip.is_some() {
                chain.mark(repository)?;
            }
            match chain.tip {
                // In one step: at no moment are the objects without a reference.
                Some(tip) => put(repository, place, &name, (tip, LOG)),
                None => delete(repository, place, &name),
            }
        })
        .await
    }

    /// Removes the references of a thread below `refs/superstep/THREAD/FOLDER/`.
    ///
    /// # Errors
    /// [`Git`](WorkspaceError::Git) if a reference cannot be removed.
    #[boxed]
    pub async fn remove_references(&self, thread: &str, folder: &str) -> Result<(), WorkspaceError> {
        let below = reference_name(thread, &[folder]);
        self.objects("remove references", move |repository, place| {
            let mut names = vec![];
            for reference in repository.references_glob(&format!("{below}/*"))? {
                names.push(String::from_utf8_lossy(reference?.name_bytes()).into_owned());
            }
            names.iter().try_for_each(|name| delete(repository, place, name))
        })
        .await
    }

    /// Removes the references below `refs/superstep/integration/` to commits of a thread: earlier versions had the phase of a
    /// thread there.
    ///
    /// # Errors
    /// [`Git`](WorkspaceError::Git) if a reference cannot be removed.
    #[boxed]
    pub async fn remove_integration(&self, thread: &str) -> Result<(), WorkspaceError> {
        let thread = thread.to_owned();
        self.objects("remove references", move |repository, place| {
            let mut names = vec![];
            for reference in repository.references_glob("refs/superstep/integration/*")? {
                let reference = reference?;
                let Ok(commit) = reference.peel_to_commit() else { continue };
                let key = CommitKey::read(&String::from_utf8_lossy(commit.message_raw_bytes()));
                if key.is_some_and(|key| key.thread == thread) {
                    names.push(String::from_utf8_lossy(reference.name_bytes()).into_owned());
                }
            }
            names.iter().try_for_each(|name| delete(repository, place, name))
        })
        .await
    }

    /// Keeps an object for the thread that this work tree was opened for, if there is one.
    pub(super) async fn keep_made(&self, id: &str) -> Result<(), WorkspaceError> {
        let Some(thread) = self.0.options.thread.clone() else { return Ok(()) };
        self.keep_objects(&thread, BTreeSet::from([id.to_owned()])).await
    }
}

fn existing_objects(repository: &Repository, ids: &BTreeSet<String>) -> Vec<Oid> {
    let kind = |id: Oid| repository.find_object(id, None).ok().and_then(|object| object.kind());
    let is_kept = |id: &Oid| matches!(kind(*id), Some(ObjectType::Tree | ObjectType::Commit));
    ids.iter().filter_map(|id| Oid::from_str(id).ok()).filter(is_kept).collect()
}

/// Adds objects to a chain, unless they are in it.
fn add(
    repository: &Repository,
    place: &Place,
    name: &str,
    (objects, is_recorded): (Vec<Oid>, bool),
) -> Result<(), Fault> {
    // Optimistic: extend the chain as read, then set the reference only if nobody else has moved it.
    for _ in 0..TRIES {
        let mut chain = chain(repository, place, name)?;
        let before = chain.tip;
        for object in &objects {
            chain.add(repository, *object)?;
        }
        if is_recorded {
            chain.mark(repository)?;
        }
        // An unchanged tip means that the chain has all objects already.
        let Some(tip) = chain.tip.filter(|tip| before != Some(*tip)) else { return Ok(()) };
        let set = with_locks(place, &[name], || {
            match before {
                // Fails with `Modified` if the reference is not at `before` any more.
                Some(before) => repository.reference_matching(name, tip, true, before, LOG)?,
                // Fails with `Exists` if another process created the reference meanwhile.
                None => repository.reference(name, tip, false, LOG)?,
            };
            Ok(())
        });
        match set {
            // Another process won: read its chain and add the objects on top.
            Err(Fault::Git(error)) if [ErrorCode::Modified, ErrorCode::Exists].contains(&error.code()) => {}
            set => {
                set?;
                // The next call reads only commits newer than this tip.
                known_chains().insert((place.common_dir.clone(), name.to_owned()), chain);
                return Ok(());
            }
        }
    }
    Err(git2::Error::from_str("other programs change the reference all the time").into())
}

/// Returns the chain as it is now; only commits that were not read before are read.
fn chain(repository: &Repository, place: &Place, name: &str) -> Result<Chain, Fault> {
    let tip = find_reference(repository, name)?.map(|commit| commit.oid()).transpose()?;
    let known = known_chains().get(&(place.common_dir.clone(), name.to_owned())).cloned().unwrap_or_default();
    let mut chain = Chain { tip, ..Chain::default() };
    let mut next = tip;
    while let Some(at) = next {
        if known.tip == Some(at) {
            chain.objects.extend(known.objects);
            chain.is_recorded |= known.is_recorded;
            break;
        }
        let commit = repository.find_commit(at)?;
        chain.is_recorded |= commit.message_bytes() == RECORDED.as_bytes();
        chain.objects.insert(commit.tree_id());
        chain.objects.extend(commit.parent_id(1).ok());
        next = commit.parent_id(0).ok();
    }
    Ok(chain)
}

impl Chain {
    fn add(&mut self, repository: &Repository, id: Oid) -> Result<(), Fault> {
        if !self.objects.insert(id) {
            return Ok(());
        }
        let object = repository.find_object(id, None)?;
        let commit = object.as_commit();
        let tree = object.peel_to_tree()?;
        // The first parent is the chain, also at its beginning.
        let before = self.tip.map(|tip| repository.find_commit(tip)).transpose()?;
        let first = match (&before, commit) {
            (None, Some(_)) => Some(Self::begin(repository)?),
            _ => before,
        };
        let parents: Vec<_> = first.iter().chain(commit).collect();
        let who = Signature::now("superstep", "superstep@localhost")?;
        let message = format!("keep {id}\n");
        self.tip = Some(repository.commit(None, &who, &who, &message, &tree, &parents)?);
        Ok(())
    }

    /// Marks it as one with everything in the records.
    fn mark(&mut self, repository: &Repository) -> Result<(), Fault> {
        if self.is_recorded {
            return Ok(());
        }
        let before = self.tip.map(|tip| repository.find_commit(tip)).transpose()?;
        self.tip = Some(empty_commit(repository, RECORDED, before.as_ref())?);
        self.is_recorded = true;
        Ok(())
    }

    /// Returns an empty commit at the beginning of a chain.
    fn begin<'a>(repository: &'a Repository) -> Result<git2::Commit<'a>, Fault> {
        Ok(repository.find_commit(empty_commit(repository, "keep objects of a thread\n", None)?)?)
    }
}

/// Creates a commit without files.
fn empty_commit(repository: &Repository, message: &str, before: Option<&git2::Commit<'_>>) -> Result<Oid, Fault> {
    let who = Signature::now("superstep", "superstep@localhost")?;
    let tree = repository.find_tree(repository.treebuilder(None)?.write()?)?;
    let parents: Vec<_> = before.into_iter().collect();
    Ok(repository.commit(None, &who, &who, message, &tree, &parents)?)
}

/// Age at which git takes the file of a collection for a leftover.
const STALE: Duration = Duration::from_secs(12 * 60 * 60);
/// Time after which the work goes on beside a collection.
const PATIENCE: Duration = Duration::from_secs(60);
const STEP: Duration = Duration::from_millis(20);

/// Collections that were waited for in vain, each with its file and the time of that.
static ENDLESS: Mutex<BTreeSet<(PathBuf, SystemTime)>> = Mutex::new(BTreeSet::new());

impl Workspace {
    /// Waits until no `git gc` runs in the repository, for a minute at most, and once for each that lasts longer.
    pub(super) async fn after_collection(&self) {
        let mut left = PATIENCE;
        while let Some(running) = collection(&self.0.common_dir) {
            let endless = || ENDLESS.lock().unwrap_or_else(PoisonError::into_inner);
            if endless().contains(&running) {
                return;
            }
            if left.is_zero() {
                tracing::warn!(file = %running.0.display(), "`git gc` has run for a minute, or was killed: the work continues");
                endless().insert(running);
                return;
            }
            tokio::time::sleep(STEP).await;
            left = left.saturating_sub(STEP);
        }
    }
}

/// Returns the file of a collection that runs, and its time, as git itself finds out: the file has the id of the process,
/// and the host.
fn collection(common_dir: &Path) -> Option<(PathBuf, SystemTime)> {
    let file = common_dir.join("gc.pid");
    let written = fs::metadata(&file).and_then(|about| about.modified()).ok()?;
    let is_fresh = written.elapsed().map_or(true, |age| age < STALE);
    let text = fs::read_to_string(&file).unwrap_or_default();
    let (id, host) = text.trim().split_once(' ').filter(|_| is_fresh)?;
    (!is_this_host(host) || is_alive(id)).then_some((file, written))
}

/// Returns whether a host is this one; where the system has no file with its name, every host is.
fn is_this_host(host: &str) -> bool {
    fs::read_to_string("/proc/sys/kernel/hostname").map_or(true, |name| name.trim() == host)
}

#[cfg(unix)]
fn is_alive(id: &str) -> bool {
    let process = id.parse().ok().and_then(rustix::process::Pid::from_raw);
    process.is_some_and(|process| rustix::process::test_kill_process(process) != Err(rustix::io::Errno::SRCH))
}

#[cfg(not(unix))]
fn is_alive(_: &str) -> bool {
    true
}
