//! The built-in verifiers and stakeholders.

use super::config::Stakeholder;
use super::entry::{ConfigPlace, Criticality, Gate, Requirement, Stage, VerifierEntry, VerifierMode, VerifierSettings};

/// The built-in verifier that is off unless configured.
pub(super) const OFF: &str = "style";

/// The built-in verifiers that can find a command themselves.
pub(super) const FINDS_COMMAND: [&str; 2] = ["build", "test"];

pub(super) fn stakeholders() -> Vec<Stakeholder> {
    let named = [("architecture", "Architecture"), ("product", "Product"), ("security", "Security")];
    named.map(|(id, name)| Stakeholder { id: id.to_owned(), name: name.to_owned() }).into()
}

/// Returns the built-in verifiers in the order of their stages.
pub(super) fn verifiers() -> Vec<VerifierEntry> {
    use Criticality::{Advisory, Blocker, Standard};
    use Requirement::{IfCommand, IfCriteria, No, Yes};
    let built_in = [
        ("build", "architecture", VerifierMode::Shell, Stage::BUILD, Blocker, Yes),
        ("secrets", "security", VerifierMode::Code, Stage::BUILD, Blocker, Yes),
        ("test", "architecture", VerifierMode::Shell, Stage::BUILD, Standard, IfCommand),
        ("alignment", "product", VerifierMode::Model, Stage::ALIGNMENT, Standard, IfCriteria),
        ("bigpicture", "architecture", VerifierMode::Model, Stage::BIG_PICTURE, Standard, No),
        (OFF, "architecture", VerifierMode::Model, Stage::STYLE, Advisory, No),
    ];
    built_in
        .map(|(id, stakeholder, mode, stage, criticality, required)| {
            let gate = Gate { criticality, required, ..Gate::default() };
            VerifierEntry { gate, stakeholder: stakeholder.to_owned(), mode, place: place(id, stage), ..new(id) }
        })
        .into()
}

fn place(id: &str, stage: Stage) -> ConfigPlace {
    let after = if id == "test" { vec!["build".to_owned()] } else { Vec::new() };
    ConfigPlace { stage, after }
}

/// Returns an entry with this id and default settings.
pub(super) fn new(id: &str) -> VerifierEntry {
    VerifierEntry {
        id: id.to_owned(),
        stakeholder: "architecture".to_owned(),
        mode: VerifierMode::Shell,
        place: ConfigPlace { stage: Stage::BUILD, after: Vec::new() },
        gate: Gate::default(),
        config: VerifierSettings::default(),
        skipped: false,
    }
}
