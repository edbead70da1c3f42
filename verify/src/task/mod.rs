//! Tasks that are executed and verified: their files, the configuration of their verifiers, and the split of a task
//! into smaller ones.
//!
//! Pure functions from text to data: this module opens no file, knows no clock and no run, and decides nothing.
//!
//! | file | what it knows |
//! |---|---|
//! | `spec`, `id`, `policy` | a task, its id, its limits |
//! | `file` | the file of a task: read, rendered, the template |
//! | `entry`, `standard` | a verifier's configuration; the built-in ones |
//! | `config`, `draft`, `merge` | `verifiers.yml`; everything merged, checked and put in order |
//! | `split`, `proposal` | smaller tasks, by a model or by errors |
//! | `yaml`, `problem` | YAML with lines; every problem at once |
//!
//! ```
//! # mod superstep { pub use superstep_verify::task as spec; }
//! use superstep::spec::{Flags, RunSettings, TaskSpec, VerifierConfig};
//! let task = TaskSpec::parse("---\nid: tides\ntitle: Print the tides\npolicy: { max_attempts: 2 }\n---\n", "tides.md")?;
//! let config = VerifierConfig::parse("verifiers: [{ id: test, config: { command: make test } }]", "verifiers.yml")?;
//! let settings = RunSettings::merge(&config, &task, "tides.md", &Flags::default())?;
//! assert_eq!(settings.policy.max_attempts, 2);
//! assert_eq!(settings.verifiers.ids(), ["build", "secrets", "test", "alignment", "bigpicture"]);
//!
//! let wrong = TaskSpec::parse("---\nid: tides\npolicy: { max_atempts: 11 }\n---\n", "tides.md").unwrap_err();
//! assert_eq!(
//!     wrong.to_string(),
//!     "tides.md:2: title: is missing\n\
//!      tides.md:3: policy.max_atempts: this key is unknown; did you mean `max_attempts`?"
//! );
//! # Ok::<(), superstep::spec::SpecError>(())
//! ```

mod config;
mod draft;
mod entry;
mod file;
mod id;
mod merge;
mod policy;
mod problem;
mod proposal;
mod spec;
mod split;
mod standard;
mod yaml;

#[doc(hidden)]
pub use config::AGENT;
pub(crate) use config::PROGRESS;
pub use config::{Stakeholder, VerifierConfig, VerifierPatch};
pub use entry::{
    ConfigPlace, Criticality, Gate, ModelSettings, OnFail, Requirement, Stage, StageError, VerifierEntry, VerifierMode,
    VerifierSettings,
};
pub use id::{IdError, SpecId};
#[doc(hidden)]
pub use merge::MergeStep;
pub use merge::{Flags, RunSettings, Verifiers};
pub(crate) use policy::flag;
pub use policy::{Policy, PolicyError};
pub use problem::{SpecError, SpecProblem};
pub use proposal::{ChildOrder, ProposedChild, SplitProposal};
pub(crate) use spec::sha256;
pub use spec::{
    AgentOptions, Attempts, Constraint, GitOptions, NextTask, Origin, PermissionMode, Relationships, TaskSpec,
};
pub use split::{SplitContext, SplitProblem};
pub(crate) use yaml::choice_of;
