//! Command-line flags that override a profile.

use std::path::PathBuf;

use crate::drivers::DriverName;

use super::error::ProfileError;
use super::read::has_provider;
use super::settings::Profile;

/// The command-line flags that override a profile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Overrides {
    /// The driver of every agent, even of those with their own: `--driver`.
    pub driver: Option<DriverName>,
    /// The repository: `--dir`.
    pub working_dir: Option<PathBuf>,
    /// The maximum number of attempts at a task, also for a plan without task headings: `--max-task-reviews`.
    pub max_task_review_iterations: Option<u32>,
    /// The maximum number of parallel subtasks of a phase: `--max-parallel`.
    pub max_parallel: Option<u32>,
    /// Set to end on the branch of the work: `--stay`.
    pub stay: bool,
}

impl Profile {
    /// Applies the flags to the profile.
    ///
    /// # Errors
    ///
    /// [`ProfileError::Flag`] for a driver of an unknown provider, an empty folder, no attempts.
    pub fn with(mut self, overrides: Overrides) -> Result<Self, ProfileError> {
        let wrong = |flag, problem: String| ProfileError::Flag { flag, problem };
        if let Some(driver) = overrides.driver {
            self.driver = driver;
            self.agents.values_mut().for_each(|agent| agent.driver = None);
            has_provider(&self.driver, &self.api).map_err(|problem| wrong("--driver", problem))?;
        }
        if let Some(folder) = overrides.working_dir {
            if folder.as_os_str().is_empty() {
                return Err(wrong("--dir", "is empty".to_owned()));
            }
            self.working_dir = folder;
        }
        if let Some(attempts) = overrides.max_task_review_iterations {
            if attempts == 0 {
                return Err(wrong("--max-task-reviews", "must be at least 1".to_owned()));
            }
            self.max_task_review_iterations = attempts;
            self.max_review_iterations = None;
        }
        if let Some(most) = overrides.max_parallel {
            if most == 0 {
                return Err(wrong("--max-parallel", "must be at least 1".to_owned()));
            }
            self.phased.max_parallel = most;
        }
        self.stay_on_branch = if overrides.stay { Some(true) } else { self.stay_on_branch };
        Ok(self)
    }
}
