//! The built-in verifiers and stakeholders.

use super::config::Stakeholder;
use super::entry::{Criticality, Gate, Mode, Place, Requirement, Stage, VerifierEntry, VerifierSettings};

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
        ("build", "architecture", Mode::Shell, Stage::BUILD, Blocker, Yes),
        ("secrets", "security", Mode::Code, Stage::BUILD, Blocker, Yes),
        ("test", "architecture", Mode::Shell, Stage::BUILD, Standard, IfCommand),
        ("alignment", "product", Mode::Model, Stage::ALIGNMENT, Standard, IfCriteria),
        ("bigpicture", "architecture", Mode::Model, Stage::BIG_PICTURE, Standard, No),
        (OFF, "architecture", Mode::Model, Stage::STYLE, Advisory, No),
    ];
    built_in
        .map(|(id, stakeholder, mode, stage, criticality, required)| {
            let gate = Gate { criticality, required, ..Gate::default() };
            VerifierEntry { gate, stakeholder: stakeholder.to_owned(), mode, place: place(id, stage), ..new(id) }
        })
        .into()
}

fn place(id: &str, stage: Stage) -> Place {
    let after = if id == "test" { vec!["build".to_owned()] } else { Vec::new() };
    Place { stage, after }
}

/// Returns an entry with this id and default settings.
pub(super) fn new(id: &str) -> VerifierEntry {
    VerifierEntry {
        id: id.to_owned(),
        stakeholder: "architecture".to_owned(),
        mode: Mode::Shell,
        place: Place { stage: Stage::BUILD, after: Vec::new() },
        gate: Gate::default(),
        config: VerifierSettings::default(),
        skipped: false,
    }
}
