//! Parts that every start of a run shares: its errors, and the checks of agents and of the repository before anything is stored or
//! a model is called.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use super::{Profile, Role};
use superstep::drivers::{CliAgent, DriverKind, DriverName, ScenarioError, Scripted};
use superstep::plan::{IssueError, PlanError};
use superstep::workspace::{RepositoryOrigin, Workspace, WorkspaceError, WorkspaceOptions};

/// The reason why a run cannot start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// There is nothing to do.
    #[error("there is neither a plan nor an issue")]
    Nothing,
    /// There is an issue, but the profile disables issues.
    #[error("`--issue` needs a tracker, but the profile sets `tracker = \"none\"`")]
    NoTracker,
    /// The plan's file cannot be read.
    #[error("{}: the plan cannot be read: {source}", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The plan is invalid.
    #[error("{}: {source}", file.display())]
    Plan {
        /// The file.
        file: PathBuf,
        /// The cause.
        source: PlanError,
    },
    /// The issue's file cannot be read.
    #[error(transparent)]
    Issue(#[from] IssueError),
    /// A scenario cannot be used.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// An agent that needs a model has none.
    #[error("no model is set for the {role}")]
    NoModel {
        /// The role of the agent.
        role: &'static str,
    },
    /// The program of an agent is not installed.
    #[error("the program `{program}`, which the {role} needs, is not installed: it is not in `PATH`")]
    NoProgram {
        /// The role of the agent.
        role: &'static str,
        /// The program.
        program: String,
    },
    /// The key of an agent's server is not set.
    #[error("the variable `{variable}`, with the key that the {role} needs, is not set")]
    NoKey {
        /// The role of the agent.
        role: &'static str,
        /// The variable.
        variable: String,
    },
    /// There are changed files, and HEAD is on the branch of another run, which may have left them.
    #[error("{source}; they are on `{branch}`, the branch of another run, which may have left them")]
    Leftovers {
        /// The branch.
        branch: String,
        /// The changed files.
        source: WorkspaceError,
    },
    /// The repository is not ready.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    /// Reading failed as a whole.
    #[error("plan and repository cannot be read")]
    Io(#[from] std::io::Error),
    /// A folder does not exist.
    #[error("{}: this folder cannot be found", folder.display())]
    NoFolder {
        /// The folder.
        folder: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
}

/// The suggestion for the command that agents run in, if it is not installed.
const INSTALL_PREFIX: &str = "install it, or change `command_prefix` in the profile";

/// The suggestions for agents' programs that are not installed, by program.
static INSTALL: LazyLock<HashMap<&str, String>> = LazyLock::new(|| {
    let or = |install| format!("{install}, or name another agent with `--driver`");
    DriverName::programs().map(|program| (program.command, or(program.install))).collect()
});

impl StartError {
    /// Returns a suggestion for fixing the error.
    pub fn help(&self) -> Option<&'static str> {
        match self {
            Self::Io(_) => None,
            Self::Nothing => Some("pass a plan with `--plan FILE`, or an issue with `--issue FILE`"),
            Self::NoTracker => {
                Some("pass only a plan with `--plan FILE`, or write `tracker = \"file\"` into the profile")
            }
            Self::Unreadable { .. } => Some("pass a markdown file that exists and is readable"),
            Self::Plan { source, .. } => source.help(),
            Self::Issue(error) => Some(error.help()),
            Self::Scenario(error) => Some(error.help()),
            Self::NoModel { .. } => Some(
                "write `model = \"NAME\"` at the top of the profile, or below `[agents.ROLE]`, and give it with `--profile FILE`",
            ),
            Self::NoKey { .. } => Some(
                "set it to the key of the server, name another variable with `api_key_env` in `[api]` of the profile, or another \
                 server with `base_url`",
            ),
            Self::NoProgram { program, .. } => Some(INSTALL.get(&**program).map_or(INSTALL_PREFIX, String::as_str)),
            Self::Workspace(WorkspaceError::Dirty { .. }) => {
                Some("commit or stash them first, or start with `--allow-dirty`: no commit of the run includes them")
            }
            Self::Leftovers { .. } => Some(
                "if that run has not ended, resume it (`threads` lists all); to start again, commit or stash the files with \
                 `git stash -u`, and `git switch` to the branch to start from",
            ),
            Self::Workspace(error) => error.help(),
            Self::NoFolder { .. } => Some("name the repository with `--dir FOLDER`"),
        }
    }

    /// Returns whether the request itself is invalid, regardless of the state of the repository.
    pub fn is_usage(&self) -> bool {
        match self {
            Self::Workspace(error) => {
                matches!(error, WorkspaceError::BadBranch { .. } | WorkspaceError::BranchInTheWay { .. })
            }
            Self::Io(_) | Self::Leftovers { .. } => false,
            _ => true,
        }
    }
}

/// Returns the origin of a run that is started in the current directory.
pub(crate) fn origin(root: &Path) -> Option<RepositoryOrigin> {
    RepositoryOrigin::of(root, &std::env::current_dir().unwrap_or_default())
}

/// Blocks on a future in a separate thread, which works inside a runtime too.
pub(crate) fn blocking<T, E>(work: impl Future<Output = Result<T, E>> + Send + 'static) -> Result<T, E>
where
    T: Send + 'static,
    E: From<std::io::Error> + Send + 'static,
{
    let wait = move || tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(work);
    std::thread::spawn(wait).join().unwrap_or_else(|_| Err(std::io::Error::other("reading them panicked").into()))
}

/// Returns HEAD's branch if a run created it for its work.
pub(crate) async fn of_another_run(workspace: &Workspace) -> Option<String> {
    let head = workspace.head().await.ok()?;
    head.branch().filter(|branch| branch.starts_with("superstep/")).map(str::to_owned)
}

/// Checks that the program of each agent is installed, and that there is a key for OpenAI's server. Not for a [`Crew`](superstep::nodes::Crew) with drivers of its own
/// under the names of programs.
///
/// # Errors
/// [`NoProgram`](StartError::NoProgram), [`NoKey`](StartError::NoKey).
pub fn ensure_programs(profile: &Profile, roles: &[Role]) -> Result<(), StartError> {
    for role in roles {
        match profile.agent(*role).driver.kind() {
            DriverKind::Api(provider) => ensure_key(profile, provider, *role)?,
            DriverKind::Program(known) => ensure_program(profile, CliAgent::new(known), *role)?,
            DriverKind::Scripted(_) => {}
        }
    }
    Ok(())
}

/// Checks that the program of an agent, or the command that it runs in, is installed.
fn ensure_program(profile: &Profile, agent: CliAgent, role: Role) -> Result<(), StartError> {
    let missing = agent.run_in(&profile.tools.command_prefix).missing_program();
    missing.map_or(Ok(()), |program| Err(StartError::NoProgram { role: role.name(), program }))
}

/// Checks that there is a key for OpenAI's own server; others may need none.
fn ensure_key(profile: &Profile, provider: Option<&str>, role: Role) -> Result<(), StartError> {
    let endpoint = profile.api.endpoint(provider).unwrap_or_default();
    let is_set = |name: &str| std::env::var(name).is_ok_and(|value| !value.trim().is_empty());
    let has_model = profile.agent(role).model.is_some();
    if !has_model || endpoint.base_url.is_some() || is_set("OPENAI_BASE_URL") {
        return Ok(());
    }
    let variable = endpoint.api_key_env.unwrap_or_else(|| "OPENAI_API_KEY".to_owned());
    if is_set(&variable) { Ok(()) } else { Err(StartError::NoKey { role: role.name(), variable }) }
}

/// Checks that each agent with an `api` driver has a model.
pub(crate) fn has_models(profile: &Profile, roles: &[Role]) -> Result<(), StartError> {
    for role in roles {
        let agent = profile.agent(*role);
        if matches!(agent.driver, DriverName::Api { .. }) && agent.model.is_none() {
            return Err(StartError::NoModel { role: role.name() });
        }
    }
    Ok(())
}

/// Makes the paths of scenarios absolute, and checks that each can be opened.
pub(crate) fn with_scenarios(mut profile: Profile) -> Result<Profile, StartError> {
    let whole = |name: DriverName| -> Result<DriverName, StartError> {
        let DriverName::Scripted(file) = name else { return Ok(name) };
        Scripted::open(&file)?;
        Ok(DriverName::Scripted(file.canonicalize().unwrap_or(file)))
    };
    let is_used = Role::ALL.iter().any(|role| profile.agents.get(role).is_none_or(|agent| agent.driver.is_none()));
    if is_used {
        profile.driver = whole(profile.driver)?;
    }
    for agent in profile.agents.values_mut() {
        agent.driver = agent.driver.take().map(whole).transpose()?;
    }
    Ok(profile)
}

/// Opens a repository that is ready; `apart` are files that are not part of the work.
pub(crate) async fn ready(folder: &Path, apart: &[PathBuf], allow_dirty: bool) -> Result<Workspace, StartError> {
    let folder = folder.canonicalize().map_err(|source| StartError::NoFolder { folder: folder.to_owned(), source })?;
    let root = Workspace::open(&folder).await?.root().to_owned();
    let apart = apart.iter().filter_map(|file| file.strip_prefix(&root).ok());
    let options = apart.fold(WorkspaceOptions::new(), WorkspaceOptions::exclude);
    let workspace = Workspace::open_with(&root, options).await?;
    workspace.ensure_unheld().await?;
    workspace.ensure_ready().await?;
    workspace.ensure_supported().await?;
    if !allow_dirty && let Err(source) = workspace.ensure_clean().await {
        return Err(match of_another_run(&workspace).await {
            Some(branch) => StartError::Leftovers { branch, source },
            None => source.into(),
        });
    }
    workspace.ensure_identity().await?;
    Ok(workspace)
}

/// Checks that the branch does not exist.
pub(crate) async fn new_branch(workspace: &Workspace, branch: &str) -> Result<(), StartError> {
    workspace.ensure_room_for(branch).await?;
    match workspace.branch_at(branch).await? {
        Some(commit) => Err(WorkspaceError::BranchTaken { branch: branch.to_owned(), commit }.into()),
        None => Ok(()),
    }
}
