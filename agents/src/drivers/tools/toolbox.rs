//! [`Toolbox`]: the tools of one folder, called by name; work on files runs on a blocking thread.

use std::any::Any;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{fmt, io};

use async_recursion::async_recursion as boxed;

use super::answer::{Refusal, ToolAnswer, ToolLimits, cut, short_name};
use super::root::{Records, RelativePath, Root};
use super::shell::{self, UNCONFINED};
use super::spec::{self, Change, Place, ReadArguments, Search, ShellArguments, ToolSpec, WriteArguments, parse};
use super::{edit, read};
use crate::drivers::Access;
use crate::process;

/// The tools of one folder.
///
/// ```
/// # use superstep_agents as superstep;
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// use superstep::drivers::{Access, tools::Toolbox};
/// # let folder = tempfile::tempdir()?;
/// let tools = Toolbox::open(folder.path(), Access { write: true, shell: None })?;
/// assert!(tools.call("write", r#"{"path": "notes/a.txt", "content": "tides"}"#).await.ok);
/// assert_eq!(tools.call("read", r#"{"path": "notes/a.txt"}"#).await.text, "tides");
/// assert!(!tools.call("read", r#"{"path": "../secret"}"#).await.ok);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Toolbox {
    root: Arc<Root>,
    directory: PathBuf,
    access: Access,
    limits: ToolLimits,
    files: Arc<[PathBuf]>,
    keep_alive: Option<KeepAlive>,
}

impl fmt::Debug for Toolbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Toolbox")
            .field("directory", &self.directory)
            .field("access", &self.access)
            .finish_non_exhaustive()
    }
}

impl Toolbox {
    /// Opens a folder for the tools that `access` allows.
    ///
    /// # Errors
    /// If the folder cannot be opened.
    pub fn open(directory: &Path, access: Access) -> io::Result<Self> {
        let root = Arc::new(Root::open(directory)?);
        let (directory, limits, files) = (directory.to_owned(), ToolLimits::default(), Arc::from([]));
        Ok(Self { root, directory, access, limits, files, keep_alive: None })
    }

    /// Sets the limits of the tools.
    #[must_use]
    pub fn limits(self, limits: ToolLimits) -> Self {
        Self { limits, ..self }
    }

    /// Allows reading and searching files elsewhere, by exactly these absolute paths.
    #[must_use]
    pub fn reading(self, files: Vec<PathBuf>) -> Self {
        Self { files: files.into(), ..self }
    }

    /// Keeps a value alive as long as a tool may still be running.
    pub(in crate::drivers) fn keeping_alive(self, keep_alive: impl Any + Send + Sync) -> Self {
        Self { keep_alive: Some(Arc::new(keep_alive)), ..self }
    }

    /// Returns the available tools, with the JSON schemas of their arguments.
    pub fn specs(&self) -> Vec<ToolSpec> {
        spec::available_tools(&self.access, !self.files.is_empty())
    }

    /// Returns a warning for people before an agent gets these tools: commands without a sandbox can access everything
    /// that this user can.
    pub fn warning(&self) -> Option<&'static str> {
        let shell = self.access.shell.as_ref()?;
        shell.prefix.is_empty().then_some(UNCONFINED)
    }

    /// Runs a call; `arguments` is JSON. Unknown tools, invalid arguments and refusals are returned as results.
    /// Dropping the future kills a command with all processes of its group.
    #[boxed]
    pub async fn call(&self, name: &str, arguments: &str) -> ToolAnswer {
        let answer = match self.has_tool(name) {
            true => self.dispatch(name, arguments).await,
            false => Err(self.unknown_tool(name)),
        };
        let (ok, text) = answer.map_or_else(|Refusal(why)| (false, format!("error: {why}")), |text| (true, text));
        ToolAnswer { ok, text: cut(text, self.limits.answer) }
    }

    fn has_tool(&self, name: &str) -> bool {
        self.specs().iter().any(|spec| spec.name == name)
    }

    fn unknown_tool(&self, name: &str) -> Refusal {
        let offered = self.specs().into_iter().map(|spec| spec.name).collect::<Vec<_>>().join(", ");
        Refusal::new(format!("there is no tool `{}` here; there are: {offered}", short_name(name)))
    }

    async fn dispatch(&self, name: &str, arguments: &str) -> Result<String, Refusal> {
        // Work on a blocking thread may outlive this future, so it owns everything that it uses.
        let (root, limits, keep_alive) = (Arc::clone(&self.root), self.limits, self.keep_alive.clone());
        let files = Arc::clone(&self.files);
        match name {
            "read" => {
                let ReadArguments { path, line } = parse(arguments)?;
                run_blocking(keep_alive, move |_| {
                    let (root, at) = locate(root, &files, &path)?;
                    read::read(&root, &at, line, &limits)
                })
                .await
            }
            // Unlike `read` and `grep`, `list` has no access to the files elsewhere.
            "list" => {
                let place: Place = parse(arguments)?;
                run_blocking(keep_alive, move |_| read::list(&root, &RelativePath::parse(&place.path)?, &limits)).await
            }
            "grep" => {
                // A search checks `stop`, which is set when the caller drops the future.
                let search: Search = parse(arguments)?;
                run_blocking(keep_alive, move |stop| {
                    let (root, at) = locate(root, &files, &search.path)?;
                    read::grep(&root, &search.pattern, &at, &limits, stop)
                })
                .await
            }
            // Both tools that write stay out of the folders of records.
            "write" => {
                let new: WriteArguments = parse(arguments)?;
                let directory = self.directory.clone();
                run_blocking(keep_alive, move |_| {
                    let at = RelativePath::parse(&new.path)?;
                    root.ensure_no_records(at.names(), &Records::load(&directory))?;
                    edit::write(&root, &at, &new.content, &limits)
                })
                .await
            }
            "edit" => {
                let change: Change = parse(arguments)?;
                let directory = self.directory.clone();
                run_blocking(keep_alive, move |_| {
                    let at = RelativePath::parse(&change.path)?;
                    root.ensure_no_records(at.names(), &Records::load(&directory))?;
                    edit::edit(&root, &at, &change.old, &change.new, &limits)
                })
                .await
            }
            // `call` rejects names that are not offered, so the only tool left is `shell`.
            _ => {
                let line: ShellArguments = parse(arguments)?;
                let allowed = self.access.shell.clone().unwrap_or_default();
                // The timeout of the request replaces the driver's limits, for wall time and CPU time alike.
                let limits = allowed.timeout.map_or(limits, |time| ToolLimits { command: time, cpu: time, ..limits });
                shell::run(&allowed.prefix, &line.command, &self.directory, &limits).await
            }
        }
    }
}

/// Returns the folder and the path in it: one of the files elsewhere, or a path beneath the root.
fn locate(root: Arc<Root>, files: &[PathBuf], path: &str) -> Result<(Arc<Root>, RelativePath), Refusal> {
    let elsewhere = files.iter().find(|file| file.as_os_str() == path);
    let parts = elsewhere.and_then(|file| Some((file.parent()?, file.file_name()?.to_str()?)));
    let Some((folder, name)) = parts else { return Ok((root, RelativePath::parse(path)?)) };
    let opened = Root::open(folder).map_err(|error| Refusal::new(format!("`{}`: {error}", short_name(path))))?;
    Ok((Arc::new(opened), RelativePath::parse(name)?))
}

/// Value kept alive until the last file is written, even if the caller stops waiting.
type KeepAlive = Arc<dyn Any + Send + Sync>;

/// Runs work on a blocking thread. Dropping the future sets the flag that tells the work to stop.
async fn run_blocking<F>(keep_alive: Option<KeepAlive>, work: F) -> Result<String, Refusal>
where
    F: FnOnce(&AtomicBool) -> Result<String, Refusal> + Send + 'static,
{
    struct StopOnDrop(Arc<AtomicBool>);
    impl Drop for StopOnDrop {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let stop = StopOnDrop(Arc::new(AtomicBool::new(false)));
    let flag = Arc::clone(&stop.0);
    let working = process::run_blocking(move || {
        let _keep_alive = keep_alive;
        work(&flag)
    });
    let done = working.await;
    done.unwrap_or_else(|_| Err(Refusal::new("the tool failed by a mistake of its own")))
}
