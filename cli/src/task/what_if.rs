//! `replay --mode what-if --override-policy`: what other limits, severities and verifiers would have decided.

use superstep::decide::{Rules, SettingChanges, WhatIfDecision, what_if as decided};
use superstep_app::{CustomOutput, Exit, Refusal};
use superstep_workflows::code_task::{CodeTaskState, run_folder};

use super::records;

/// Tells what would have been decided on each attempt, from its records.
pub(crate) fn what_if(state: &CodeTaskState, changes: &[(String, String)]) -> Result<CustomOutput, Refusal> {
    let written: Vec<String> = changes.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let changes =
        SettingChanges::parse(&written, &state.settings.run).map_err(|error| Refusal::new(error.to_string()))?;
    let folder = run_folder(state);
    let records = records::of_task(state)?;
    if !records.missing.is_empty() {
        return Err(records::missing_error(&records.missing));
    }
    let recorded = records.found;
    if recorded.is_empty() {
        let error = format!("{}: there is no record of an attempt", folder.display());
        return Err(Refusal::new(error).exit(Exit::Failed));
    }
    let found = decided(&recorded, &changes, &Rules::standard());
    CustomOutput::new(found.iter().map(line).collect::<String>(), &found)
}

fn line(found: &WhatIfDecision) -> String {
    let WhatIfDecision { attempt, recorded, now, rule, .. } = found;
    match recorded == now {
        true => format!("  attempt {attempt}: {recorded}, still {now} by `{rule}`\n"),
        false => format!("! attempt {attempt}: {recorded}, would be {now} by `{rule}`\n"),
    }
}
