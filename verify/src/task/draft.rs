//! The settings of a verifier while files are merged.

use super::entry::{Mode, VerifierEntry};
use super::patch::VerifierPatch;
use super::problem::SpecProblem;
use super::stage::Stage;
use super::standard;

/// A patch of an entry, with its file and section.
#[derive(Clone, Copy)]
pub(super) struct Layer<'p> {
    pub(super) file: &'p str,
    pub(super) section: &'static str,
    pub(super) patch: &'p VerifierPatch,
}

impl Layer<'_> {
    pub(super) fn problem(&self, id: &str, key: &str, problem: String) -> SpecProblem {
        let (file, line) = (self.file.to_owned(), self.patch.line_of(key));
        SpecProblem { file, line, key: format!("{}.{id}.{key}", self.section), problem }
    }
}

/// A verifier while it is merged.
pub(super) struct Draft<'p> {
    pub(super) entry: VerifierEntry,
    pub(super) enabled: Option<bool>,
    /// False for a built-in verifier.
    pub(super) is_new: bool,
    /// The applied patches, in order.
    pub(super) patches: Vec<Layer<'p>>,
}

impl<'p> Draft<'p> {
    pub(super) fn built_in(entry: VerifierEntry) -> Self {
        Self { entry, enabled: None, is_new: false, patches: Vec::new() }
    }

    pub(super) fn new(id: &str) -> Self {
        Self { is_new: true, ..Self::built_in(standard::new(id)) }
    }

    /// Returns `true` if the verifier is enabled. One that is off by default is enabled by any patch.
    pub(super) fn is_on(&self) -> bool {
        self.enabled.unwrap_or(self.entry.id != standard::OFF || !self.patches.is_empty())
    }

    /// Moves a new verifier of mode `model` without a stage behind the build.
    pub(super) fn place(&mut self) {
        let is_free = self.is_new && self.entry.mode == Mode::Model && !self.has("stage");
        if is_free {
            self.entry.place.stage = Stage::ALIGNMENT;
        }
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.patches.iter().any(|layer| layer.patch.has(key))
    }

    pub(super) fn apply(&mut self, layer: Layer<'p>) {
        self.enabled = layer.patch.enabled().or(self.enabled);
        self.patches.push(layer);
        if let Ok(entry) = layer.patch.over(&self.entry) {
            self.entry = entry;
        }
    }

    /// Returns a problem of the entry, located where the setting `key` was last written.
    pub(super) fn problem(&self, key: &str, problem: String) -> SpecProblem {
        let layer = self.patches.iter().rev().find(|layer| layer.patch.has(key)).or(self.patches.last());
        match layer {
            Some(layer) => layer.problem(&self.entry.id, key, problem),
            None => of_flag("verifiers", &self.entry.id, problem),
        }
    }
}

pub(super) fn of_flag(flag: &str, key: &str, problem: String) -> SpecProblem {
    SpecProblem { file: flag.to_owned(), line: 0, key: key.to_owned(), problem }
}
