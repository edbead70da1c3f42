//! What an agent behind the `api` driver can do in its folder: read, list, grep, write, edit, shell. Knows files and
//! commands; must not know models, sessions or HTTP.
//!
//! The rules: a path is names beneath the root, opened folder by folder without following a symbolic link; `.git` and
//! `.superstep` are no names of the agent's; sizes are capped; whatever is refused is an answer that the model can read.

mod edit;
mod folder;
mod grep;
mod path;
mod read;
mod root;
mod shell;
mod spec;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::request::Access;
pub(super) use path::Inside;
use root::Root;
pub use spec::ToolSpec;

/// What people should know before an agent gets a shell with nothing before its commands.
pub const UNCONFINED: &str = "the agent may run commands without a sandbox: they reach everything this user reaches; set \
                              `command_prefix` to run them in one";

/// How much tools take and give. Sizes in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToolLimits {
    /// The largest file that is read, searched, written or edited; 10 MiB.
    pub file: usize,
    /// The longest answer; 96 KiB. What is beyond is cut, and said.
    pub answer: usize,
    /// Entries of a listing; 2000.
    pub entries: usize,
    /// Lines that a search gives; 300.
    pub matches: usize,
    /// Time for one search; 30 seconds.
    pub search: Duration,
    /// Time for one command; 10 minutes.
    pub command: Duration,
    /// CPU time of each process of a command; 10 minutes.
    pub cpu: Duration,
    /// What a command may write before it is ended; 64 MiB.
    pub output: usize,
}

impl Default for ToolLimits {
    fn default() -> Self {
        const MIB: usize = 1024 * 1024;
        let minutes = |n: u64| Duration::from_secs(n * 60);
        Self {
            file: 10 * MIB,
            answer: 96 * 1024,
            entries: 2000,
            matches: 300,
            search: Duration::from_secs(30),
            command: minutes(10),
            cpu: minutes(10),
            output: 64 * MIB,
        }
    }
}

/// What a tool answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolAnswer {
    /// Whether it did what it was asked.
    pub ok: bool,
    /// The answer, for the model.
    pub text: String,
}

/// Why a tool did not do what it was asked, in words for the model.
#[derive(Debug)]
struct Refused(String);

impl Refused {
    fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }
}

/// The tools of one folder.
///
/// ```
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
    held: Option<Held>,
}

/// Something that is not let go before the last file is written, though nobody waits for it any more.
type Held = Arc<dyn std::any::Any + Send + Sync>;

impl std::fmt::Debug for Toolbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
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
        Ok(Self { root, directory, access, limits, files, held: None })
    }

    /// Sets how much the tools take and give.
    #[must_use]
    pub fn limits(self, limits: ToolLimits) -> Self {
        Self { limits, ..self }
    }

    /// Lets files elsewhere be read and searched, by exactly these absolute paths.
    #[must_use]
    pub fn reading(self, files: Vec<PathBuf>) -> Self {
        Self { files: files.into(), ..self }
    }

    /// Holds something as long as a tool may still be at work.
    pub(super) fn holding(self, held: impl std::any::Any + Send + Sync) -> Self {
        Self { held: Some(Arc::new(held)), ..self }
    }

    /// Returns the tools that are offered, with the JSON schemas of what they take.
    pub fn specs(&self) -> Vec<ToolSpec> {
        spec::offered(&self.access, !self.files.is_empty())
    }

    /// Returns what people should know before an agent gets these tools: commands without a sandbox reach everything
    /// that this user reaches.
    pub fn warning(&self) -> Option<&'static str> {
        let shell = self.access.shell.as_ref()?;
        shell.prefix.is_empty().then_some(UNCONFINED)
    }

    /// Carries a call out; `arguments` is JSON. A tool that is not offered, arguments that do not fit and whatever is refused
    /// are answers too. Dropping the future ends a command with all processes of its group.
    pub async fn call(&self, name: &str, arguments: &str) -> ToolAnswer {
        let answer = match self.offers(name) {
            true => self.dispatch(name, arguments).await,
            false => Err(self.unknown(name)),
        };
        let (ok, text) = answer.map_or_else(|Refused(why)| (false, format!("error: {why}")), |text| (true, text));
        ToolAnswer { ok, text: cut(text, self.limits.answer) }
    }

    fn offers(&self, name: &str) -> bool {
        self.specs().iter().any(|spec| spec.name == name)
    }

    fn unknown(&self, name: &str) -> Refused {
        let offered = self.specs().into_iter().map(|spec| spec.name).collect::<Vec<_>>().join(", ");
        Refused::new(format!("there is no tool `{}` here; there are: {offered}", short(name)))
    }

    async fn dispatch(&self, name: &str, arguments: &str) -> Result<String, Refused> {
        let (root, limits, held) = (Arc::clone(&self.root), self.limits, self.held.clone());
        let files = Arc::clone(&self.files);
        match name {
            "read" => {
                let Piece { path, line } = parse(arguments)?;
                blocking(held, move |_| {
                    let (root, at) = located(root, &files, &path)?;
                    read::read(&root, &at, line, &limits)
                })
                .await
            }
            "list" => {
                let place: Place = parse(arguments)?;
                blocking(held, move |_| folder::list(&root, &Inside::parse(&place.path)?, &limits)).await
            }
            "grep" => {
                let search: Search = parse(arguments)?;
                blocking(held, move |stop| {
                    let (root, at) = located(root, &files, &search.path)?;
                    grep::grep(&root, &search.pattern, &at, &limits, stop)
                })
                .await
            }
            "write" => {
                let new: NewFile = parse(arguments)?;
                blocking(held, move |_| edit::write(&root, &Inside::parse(&new.path)?, &new.content, &limits)).await
            }
            "edit" => {
                let change: Change = parse(arguments)?;
                blocking(held, move |_| {
                    edit::edit(&root, &Inside::parse(&change.path)?, &change.old, &change.new, &limits)
                })
                .await
            }
            _ => {
                let line: Line = parse(arguments)?;
                let prefix = self.access.shell.as_ref().map_or(&[][..], |shell| &shell.prefix);
                shell::run(prefix, &line.command, &self.directory, &limits).await
            }
        }
    }
}

/// The folder and the path in it that are meant: one of the files elsewhere, or beneath the root.
fn located(root: Arc<Root>, files: &[PathBuf], path: &str) -> Result<(Arc<Root>, Inside), Refused> {
    let elsewhere = files.iter().find(|file| file.as_os_str() == path);
    let parts = elsewhere.and_then(|file| Some((file.parent()?, file.file_name()?.to_str()?)));
    let Some((folder, name)) = parts else { return Ok((root, Inside::parse(path)?)) };
    let opened = Root::open(folder).map_err(|error| Refused::new(format!("`{}`: {error}", short(path))))?;
    Ok((Arc::new(opened), Inside::parse(name)?))
}

#[derive(Deserialize)]
struct Place {
    #[serde(default)]
    path: String,
}

#[derive(Deserialize)]
struct Piece {
    #[serde(default)]
    path: String,
    #[serde(default)]
    line: usize,
}

#[derive(Deserialize)]
struct Search {
    pattern: String,
    #[serde(default)]
    path: String,
}

#[derive(Deserialize)]
struct NewFile {
    path: String,
    content: String,
}

#[derive(Deserialize)]
struct Change {
    path: String,
    old: String,
    new: String,
}

#[derive(Deserialize)]
struct Line {
    command: String,
}

fn parse<T: DeserializeOwned>(arguments: &str) -> Result<T, Refused> {
    let given = if arguments.trim().is_empty() { "{}" } else { arguments };
    let value: Value = serde_json::from_str(given)
        .map_err(|error| Refused::new(format!("the arguments are not JSON ({error}); call the tool again")))?;
    if !value.is_object() {
        return Err(Refused::new("the arguments are no JSON object"));
    }
    serde_json::from_value(value).map_err(|error| Refused::new(format!("the arguments do not fit: {error}")))
}

/// Runs on a thread that may block. The work is told to stop when nobody waits for it any more.
async fn blocking<F>(held: Option<Held>, work: F) -> Result<String, Refused>
where
    F: FnOnce(&AtomicBool) -> Result<String, Refused> + Send + 'static,
{
    struct StopOnDrop(Arc<AtomicBool>);
    impl Drop for StopOnDrop {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let stop = StopOnDrop(Arc::new(AtomicBool::new(false)));
    let flag = Arc::clone(&stop.0);
    let working = tokio::task::spawn_blocking(move || {
        let _held = held;
        work(&flag)
    });
    let done = working.await;
    done.unwrap_or_else(|_| Err(Refused::new("the tool failed by a mistake of its own")))
}

/// Cuts text that is longer than `most` bytes, and says so.
fn cut(mut text: String, most: usize) -> String {
    if text.len() > most {
        let (end, all) = (beginning(&text, most).len(), text.len());
        text.truncate(end);
        text.push_str(&format!("\n[cut here: {end} of {all} bytes]"));
    }
    text
}

/// The first `most` bytes of a text, less the character that is cut there.
pub(super) fn beginning(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or(0)]
}

/// A name for a message.
fn short(name: &str) -> String {
    let name = name.chars().take(200).flat_map(char::escape_debug);
    name.collect()
}
