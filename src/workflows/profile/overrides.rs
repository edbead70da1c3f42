//! What the command line says against a profile.

use std::path::PathBuf;

use crate::drivers::DriverName;

use super::error::ProfileError;
use super::read::has_provider;
use super::settings::Profile;

/// What was said on the command line; it beats the profile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Overrides {
    /// The driver of every agent, also of those that have their own: `--driver`.
    pub driver: Option<DriverName>,
    /// The repository: `--dir`.
    pub working_dir: Option<PathBuf>,
    /// How many attempts a task gets, a plan without task headings too: `--max-task-reviews`.
    pub max_task_review_iterations: Option<u32>,
    /// How many subtasks of a phase are worked on at once: `--max-parallel`.
    pub max_parallel: Option<u32>,
}

impl Profile {
    /// Returns the profile with what the command line says.
    ///
    /// # Errors
    ///
    /// [`ProfileError::Flag`] for a driver whose provider the profile lacks, an empty folder, no attempts.
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
        Ok(self)
    }
}
