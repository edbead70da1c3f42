//! The settings of a verifier.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The settings of a verifier.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct VerifierSettings {
    /// The command of a shell verifier; `build` and `test` find one by themselves.
    pub command: Option<String>,
    /// How long it may take, in seconds. Default: 120; at most 600.
    pub timeout_sec: u32,
    /// How many findings are kept. Default: 100; at most 1000.
    pub max_findings: u32,
    /// How much of the diff a model is shown, in bytes. Default: 1 MiB; at most 10 MiB.
    pub max_diff_bytes: u32,
    /// What a model verifier is asked.
    #[serde(flatten)]
    pub model: ModelSettings,
    /// The settings of a verifier in code.
    #[serde(flatten)]
    pub other: BTreeMap<String, serde_json::Value>,
}

/// What a model verifier is asked, and which model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelSettings {
    /// What it is asked; none: the prompt that comes with the verifier.
    pub prompt: Option<String>,
    /// The driver; none: the reviewer's.
    pub driver: Option<String>,
    /// The model; none: the driver's choice.
    pub model: Option<String>,
    /// How many acceptance criteria one turn is asked about; none: all.
    pub acceptance_window: Option<u32>,
    /// How many of the next tasks it is shown; none: all.
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
