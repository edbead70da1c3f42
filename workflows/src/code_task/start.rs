//! The start of a task: reads its file and `verifiers.yml` and checks the repository before anything is stored or a
//! model is called. And the start of a fork: what it stores about its own work tree and branch.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::state::{Attempt, CodeTaskState, CodeTaskStateUpdate, ReadTask, Settings, Start, TaskPlace};
use super::summary::DryRun;
use crate::fork::{ForkPlace, ForkedWork};
use crate::start::{StartError, blocking, ensure_programs, has_models, new_branch, origin, ready, with_scenarios};
use crate::{Profile, Role};
use superstep::decide::{DecisionKind, Override};
use superstep::drivers::{DriverName, Scripted};
use superstep::nodes::{Base, Folder};
use superstep::spec::{Flags, RunSettings, SpecError, TaskSpec, VerifierConfig, VerifierEntry, VerifierMode};
use superstep::verifiers::VerifierRegistry;
use superstep::workspace::{Workspace, WorkspaceError, branch_name};

/// The name of the verifiers' configuration file.
const VERIFIERS: &str = "verifiers.yml";

/// The input of a task.
#[derive(Clone, Debug, Default)]
pub struct TaskStart {
    /// The task's file.
    pub task: PathBuf,
    /// The verifiers' file; `None`: `verifiers.yml` beside the task, or else in the root of the repository.
    pub verifiers: Option<PathBuf>,
    /// The profile. Its paths are relative to the current directory.
    pub profile: Profile,
    /// The flags that change policy and verifiers.
    pub flags: Flags,
    /// The depth of the task.
    pub depth: u32,
    /// The folder of records, relative to the root of the work tree; `None`: `runs`.
    pub records: Option<PathBuf>,
    /// Set to allow uncommitted changes of the user.
    pub allow_dirty: bool,
    /// A person's decision instead of the first one.
    pub decision: Option<Override>,
    /// The ids of custom verifiers in code, in addition to those of this library.
    pub in_code: Vec<String>,
}

/// The reason why a task cannot start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TaskStartError {
    /// A file cannot be read.
    #[error("{}: this file cannot be read: {source}", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// The task, the verifiers or a flag are invalid.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// The repository or the profile is not ready.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The depth exceeds the maximum.
    #[error("--depth {depth}: the task allows a depth of at most {most}")]
    TooDeep {
        /// The depth.
        depth: u32,
        /// The maximum.
        most: u32,
    },
    /// The task must be split but is at its maximum depth.
    #[error("--override SPLIT: the task has depth {depth}, and its policy allows a depth of at most {most}")]
    Unsplittable {
        /// The depth.
        depth: u32,
        /// The maximum.
        most: u32,
    },
    /// The repository tracks files in the folder of records.
    #[error("`{}` is the folder of records, and the repository tracks files in it", folder.display())]
    TrackedRecords {
        /// The folder.
        folder: PathBuf,
    },
    /// The folder of records is outside of the repository.
    #[error("--runs {}: the folder of records must be inside the repository", folder.display())]
    RecordsElsewhere {
        /// The folder.
        folder: PathBuf,
    },
    /// A verifier in code has an unknown id.
    #[error("verifier `{id}` has `mode: code`, but there is no such verifier; there are {}", known.join(", "))]
    UnknownVerifier {
        /// Its id.
        id: String,
        /// The known ids.
        known: Vec<String>,
    },
    /// The task names an unknown driver.
    #[error("{}: do_agent.driver: {problem}", file.display())]
    Driver {
        /// The file of the task.
        file: PathBuf,
        /// The problem.
        problem: String,
    },
}

impl From<std::io::Error> for TaskStartError {
    fn from(error: std::io::Error) -> Self {
        Self::Start(error.into())
    }
}

impl From<WorkspaceError> for TaskStartError {
    fn from(error: WorkspaceError) -> Self {
        Self::Start(error.into())
    }
}

impl TaskStartError {
    /// Returns a suggestion for fixing the error.
    #[must_use]
    pub fn help(&self) -> Option<&'static str> {
        match self {
            Self::Unreadable { file, .. } if file.extension().is_some_and(|end| end == "yml" || end == "yaml") => {
                Some("name another file with `--verifiers FILE`")
            }
            Self::UnknownVerifier { .. } => Some(
                "add it in your own program, as docs/writing-a-verifier.md shows, or make it a command: `mode: shell`",
            ),
            Self::Unreadable { .. } => Some("name a task file with `--task FILE`; `superstep task new ID` writes one"),
            Self::Spec(error) => Some(error.help()),
            Self::Start(error) => error.help(),
            Self::TooDeep { .. } | Self::Unsplittable { .. } => {
                Some("raise `max_depth` in the task's policy, or with `--override-policy max_depth=N`")
            }
            Self::TrackedRecords { .. } => Some("name another folder with `--runs DIR`"),
            Self::RecordsElsewhere { .. } => Some("pass a path relative to the root of the repository, such as `runs`"),
            Self::Driver { .. } => Some("write the name of a driver, such as `api` or `cli:claude`"),
        }
    }

    /// Returns whether the request itself is invalid, regardless of the state of the repository.
    #[must_use]
    pub fn is_usage(&self) -> bool {
        match self {
            Self::Start(error) => error.is_usage(),
            _ => true,
        }
    }
}

impl TaskStart {
    /// The blocking form of [`input`](Self::input), for callers outside of async functions.
    ///
    /// # Errors
    /// As [`input`](Self::input).
    pub fn input_blocking(self) -> Result<CodeTaskStateUpdate, TaskStartError> {
        blocking(self.input())
    }

    /// Checks that the program of the agent that does the task is installed. Not for a [`Crew`](superstep::nodes::Crew) with
    /// drivers of its own under the names of programs.
    ///
    /// # Errors
    /// As [`read`](Self::read), and [`NoProgram`](StartError::NoProgram) or [`NoKey`](StartError::NoKey).
    pub fn ensure_programs_blocking(&self) -> Result<(), TaskStartError> {
        let this = self.clone();
        blocking(async {
            let ReadTask { spec, settings } = this.read().await?;
            let own = spec.do_agent.driver.as_ref().and_then(|name| name.parse::<DriverName>().ok());
            let mut profile = settings.profile;
            let driver = own.unwrap_or_else(|| profile.agent(Role::Developer).driver);
            profile.agents.entry(Role::Developer).or_default().driver = Some(driver);
            Ok(ensure_programs(&profile, &[Role::Developer])?)
        })
    }

    /// Reads the task and its verifiers, and returns a preview. Runs and stores nothing.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn dry_run_blocking(self) -> Result<DryRun, TaskStartError> {
        blocking(async {
            let read = self.read().await?;
            DryRun::of(read).await.map_err(|error| std::io::Error::other(error.to_string()).into())
        })
    }

    /// Reads the task and its verifiers, and checks that the repository is ready: no other run uses it, and it has no
    /// uncommitted changes unless they are allowed.
    ///
    /// # Errors
    /// Every problem that can be detected now.
    pub async fn input(self) -> Result<CodeTaskStateUpdate, TaskStartError> {
        let (decision, depth, allow_dirty) = (self.decision.clone(), self.depth, self.allow_dirty);
        let ReadTask { spec, mut settings } = self.read().await?;
        let apart: Vec<PathBuf> = settings.apart.iter().map(|file| settings.repository.join(file)).collect();
        let workspace = ready(&settings.profile.working_dir, &apart, allow_dirty).await?;
        if workspace.is_tracked(&settings.records).await? {
            return Err(TaskStartError::TrackedRecords { folder: settings.records });
        }
        match &spec.git.branch {
            Some(branch) => new_branch(&workspace, branch).await?,
            None => workspace.ensure_room_for(&branch_name("run")).await?,
        }
        let (most, is_split) =
            (spec.policy.max_depth, decision.as_ref().is_some_and(|over| over.decision == DecisionKind::Split));
        if is_split && depth >= most {
            return Err(TaskStartError::Unsplittable { depth, most });
        }
        settings.repository = workspace.root().to_owned();
        settings.profile = with_scenarios(settings.profile)?;
        let place = TaskPlace { depth, ..TaskPlace::default() };
        Ok(CodeTaskState::update().spec(Some(spec)).settings(settings).place(place).pending(decision))
    }

    /// Reads the task and its verifiers.
    ///
    /// # Errors
    /// As [`input`](Self::input), except for the state of the repository.
    pub async fn read(self) -> Result<ReadTask, TaskStartError> {
        let Self { task: file, verifiers, mut profile, flags, depth, records, allow_dirty, in_code, .. } = self;
        let mut spec = TaskSpec::parse(&text(&file)?, &file.display().to_string())?;
        let folder = &profile.working_dir;
        let folder = folder.canonicalize().map_err(|source| StartError::NoFolder { folder: folder.clone(), source })?;
        let workspace = Workspace::open(&folder).await?;
        let root = workspace.root().to_owned();
        profile.origin = origin(&root);
        let found = find_verifiers(verifiers, &file, &root);
        let config = match &found {
            Some(config) => VerifierConfig::parse(&text(config)?, &config.display().to_string())?,
            None => VerifierConfig::default(),
        };
        let run = RunSettings::merge(&config, &spec, &file.display().to_string(), &flags)?;
        spec.policy = run.policy.clone();
        if depth > spec.policy.max_depth {
            return Err(TaskStartError::TooDeep { depth, most: spec.policy.max_depth });
        }
        check_agents(&profile, &spec, &run, &file)?;
        check_code(&run, in_code)?;
        let records = inside(records.unwrap_or_else(|| PathBuf::from("runs")), &root)?;
        let mut apart = vec![];
        for file in [Some(file), found].into_iter().flatten() {
            apart.extend(apart_from(&workspace, &file).await?);
        }
        let settings = Settings { profile, run, repository: root, records, apart, allow_dirty };
        Ok(ReadTask { spec, settings })
    }
}

fn text(file: &Path) -> Result<String, TaskStartError> {
    superstep_base::files::text(file).map_err(|source| TaskStartError::Unreadable { file: file.to_owned(), source })
}

/// Returns the verifiers' file: the named one, the one beside the task, or the one in the root of the repository.
fn find_verifiers(named: Option<PathBuf>, task: &Path, root: &Path) -> Option<PathBuf> {
    let beside = task.with_file_name(VERIFIERS);
    named.or_else(|| [beside, root.join(VERIFIERS)].into_iter().find(|file| file.exists()))
}

/// Returns the folder of records relative to the root of the work tree.
fn inside(records: PathBuf, root: &Path) -> Result<PathBuf, TaskStartError> {
    let path = records.strip_prefix(root).unwrap_or(&records);
    let is_name = |part: std::path::Component<'_>| matches!(part, std::path::Component::Normal(_));
    let is_inside = path.components().next().is_some() && path.components().all(is_name) && !path.starts_with(".git");
    if is_inside { Ok(path.to_owned()) } else { Err(TaskStartError::RecordsElsewhere { folder: records }) }
}

/// Returns the path of a file relative to the root of the work tree if its content differs from HEAD: it is then not
/// part of the work. `None` for other files, in which an agent's changes count.
async fn apart_from(workspace: &Workspace, file: &Path) -> Result<Option<PathBuf>, TaskStartError> {
    let path = file.canonicalize()?;
    let Ok(path) = path.strip_prefix(workspace.root()) else { return Ok(None) };
    let Some(head) = workspace.head_tree().await? else { return Ok(Some(path.to_owned())) };
    let is_same = match path.to_str() {
        Some(name) => workspace.text_of(&head, name, usize::MAX).await? == Some(text(file)?),
        None => false,
    };
    Ok((!is_same).then(|| path.to_owned()))
}

/// Checks that each verifier in code is known.
fn check_code(run: &RunSettings, own: Vec<String>) -> Result<(), TaskStartError> {
    let known: Vec<String> = VerifierRegistry::built_in().ids().map(str::to_owned).chain(own).collect();
    let is_missing =
        |entry: &&VerifierEntry| entry.mode == VerifierMode::Code && !entry.skipped && !known.contains(&entry.id);
    match run.verifiers.entries.iter().find(is_missing) {
        Some(entry) => Err(TaskStartError::UnknownVerifier { id: entry.id.clone(), known }),
        None => Ok(()),
    }
}

/// Checks that each required agent has a driver and a model.
fn check_agents(profile: &Profile, spec: &TaskSpec, run: &RunSettings, file: &Path) -> Result<(), TaskStartError> {
    let is_asked = |entry: &VerifierEntry| {
        entry.mode == VerifierMode::Model && !entry.skipped && entry.config.model.model.is_none()
    };
    if run.verifiers.entries.iter().any(is_asked) {
        has_models(profile, &[Role::Verifier])?;
    }
    let problem = |problem: String| TaskStartError::Driver { file: file.into(), problem };
    let own = spec.do_agent.driver.as_ref().map(|name| name.parse::<DriverName>());
    let own = own.transpose().map_err(|error| problem(error.to_string()))?;
    let developer = profile.agent(Role::Developer);
    let model = developer.model.as_ref().filter(|_| own.as_ref().is_none_or(|own| *own == developer.driver));
    match own.as_ref().unwrap_or(&developer.driver) {
        DriverName::Api { .. } if model.or(spec.do_agent.model.as_ref()).is_none() => {
            Err(StartError::NoModel { role: Role::Developer.name() }.into())
        }
        DriverName::Scripted(scenario) if own.is_some() => {
            Scripted::open(scenario).map(drop).map_err(|error| problem(error.to_string()))
        }
        _ => Ok(()),
    }
}

/// Makes a place of its own for a fork of the thread, as [`task_based::fork`](crate::task_based::fork()) does.
///
/// # Errors
/// Those of git.
pub async fn fork(
    at: &CodeTaskState,
    newest: &CodeTaskState,
    thread: &str,
    is_new_thread: bool,
) -> Result<ForkPlace, WorkspaceError> {
    let began = newest.start.as_ref().and_then(|start| start.base.at.commit.clone());
    let base = at.start.as_ref().map(|start| at.attempt.base.as_ref().unwrap_or(&start.base));
    let commit = base.map_or(began, |base| base.at.commit.clone());
    let files =
        base.map(|base| at.attempt.files.as_ref().map_or_else(|| base.tree.clone(), |files| files.tree.clone()));
    let work = ForkedWork { repository: &at.settings.repository, thread, is_new_thread, commit, files };
    let place = work.place().await?;
    let moved = |base: &Base| place.base(base);
    let mut settings = Settings { repository: place.folder.clone(), ..at.settings.clone() };
    settings.profile.working_dir.clone_from(&place.folder);
    settings.profile.stay_on_branch = Some(true);
    let start = at.start.as_ref().map(|start| Start {
        run: place.name.clone(),
        folder: Folder { directory: place.folder.clone(), ..start.folder.clone() },
        base: moved(&start.base),
        came_from: None,
        with_commits: start.with_commits.clone(),
    });
    let attempt = Attempt { base: at.attempt.base.as_ref().map(moved), session: None, cut: None, ..at.attempt.clone() };
    let mut spec = at.spec.clone();
    if let Some(spec) = spec.as_mut().filter(|_| at.start.is_none()) {
        spec.git.branch = Some(place.branch.clone());
    }
    let values = json!({ "settings": settings, "start": start, "attempt": attempt, "spec": spec });
    Ok(ForkPlace::new(place, values))
}
