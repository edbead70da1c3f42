//! The settings of a verifier.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The settings of a verifier.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct VerifierSettings {
    /// The command of a shell verifier; `build` and `test` can find one themselves.
    pub command: Option<String>,
    /// The time limit in seconds. Default: 120; at most 600.
    pub timeout_sec: u32,
    /// The maximum number of findings. Default: 100; at most 1000.
    pub max_findings: u32,
    /// The maximum length of the diff in bytes. Default: 1 MiB; at most 10 MiB.
    pub max_diff_bytes: u32,
    /// The settings of a model verifier.
    #[serde(flatten)]
    pub model: ModelSettings,
    /// The custom settings of a verifier in code.
    #[serde(flatten)]
    pub other: BTreeMap<String, serde_json::Value>,
}

/// The prompt and model of a model verifier.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelSettings {
    /// The prompt; `None`: the verifier's built-in prompt.
    pub prompt: Option<String>,
    /// The driver; `None`: the reviewer's.
    pub driver: Option<String>,
    /// The model; `None`: the driver's default.
    pub model: Option<String>,
    /// The number of acceptance criteria in one turn; `None`: all.
    pub acceptance_window: Option<u32>,
    /// The number of next tasks in the prompt; `None`: all.
    pub consider_next_tasks: Option<u32>,
}

impl Default for VerifierSettings {
    fn default() -> Self {
        Self {
            command: None,
            timeout_sec: 120,
            max_findings: 100,
            max_diff_bytes: 1 << 20,
            model: ModelSettings::default(),
            other: BTreeMap::new(),
        }
    }
}
