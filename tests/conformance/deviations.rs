//! The table of intended differences from LangGraph, next to the cases. Each entry gives *our* outcome of one action
//! (or of a whole case), so that the rest of the case is still compared.

use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use crate::model::Case;
use crate::subject::Way;

#[derive(Debug, Clone, Default)]
pub(crate) struct Deviations(Vec<Deviation>);

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    #[serde(default)]
    deviation: Vec<Entry>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    case: String,
    action: Option<usize>,
    #[serde(alias = "store")]
    way: Option<Way>,
    reason: String,
    /// For a quirk: LangGraph's defect, in a sentence.
    why: Option<String>,
    /// JSON text, preferably in three single quotes; or a table.
    outcome: toml::Value,
}

#[derive(Debug, Clone)]
pub(crate) struct Deviation {
    pub(crate) case: String,
    /// Index of the action; `None` for the whole `expected` of the case.
    pub(crate) action: Option<usize>,
    pub(crate) way: Option<Way>,
    pub(crate) outcome: Value,
}

impl Deviations {
    /// Reads a table; a missing file is an empty table.
    pub(crate) fn read(file: &Path) -> Result<Self, String> {
        match fs::read_to_string(file) {
            Ok(text) => Self::parse(&text).map_err(|error| format!("{}: {error}", file.display())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(format!("{}: {error}", file.display())),
        }
    }

    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let table: Table = toml::from_str(text).map_err(|error| error.to_string())?;
        table.deviation.into_iter().map(Deviation::try_from).collect::<Result<_, _>>().map(Self)
    }

    /// Returns the entries of one case in one way; an entry that names the way comes before one that holds for all.
    pub(crate) fn of(&self, case: &str, way: Way) -> Self {
        let fits = |entry: &&Deviation| entry.case == case && entry.way.is_none_or(|only| only == way);
        let fitting: Vec<&Deviation> = self.0.iter().filter(fits).collect();
        let is_named = |action| fitting.iter().any(|entry| entry.action == action && entry.way.is_some());
        let counts = |entry: &&&Deviation| entry.way.is_some() || !is_named(entry.action);
        Self(fitting.iter().filter(counts).map(|entry| Deviation::clone(entry)).collect())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns our outcome of the action, or of the whole case for `None`.
    pub(crate) fn outcome(&self, action: Option<usize>) -> Option<&Value> {
        self.0.iter().find(|entry| entry.action == action).map(|entry| &entry.outcome)
    }

    pub(crate) fn first_action(&self) -> Option<usize> {
        self.0.iter().find_map(|entry| entry.action)
    }

    pub(crate) fn cases(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|entry| entry.case.as_str())
    }

    /// Returns an entry without effect: for an action that the case does not have, or a duplicate.
    pub(crate) fn misplaced(&self, case: &Case) -> Option<String> {
        let count = case.script.len();
        self.0.iter().enumerate().find_map(|(position, entry)| match entry.action {
            Some(action) if action >= count => Some(format!("a deviation names action {action} of {count}")),
            action if self.0[..position].iter().any(|earlier| earlier.action == action) => {
                Some(format!("two deviations for one action: {action:?}"))
            }
            _ => None,
        })
    }
}

impl TryFrom<Entry> for Deviation {
    type Error = String;

    fn try_from(entry: Entry) -> Result<Self, String> {
        let named = |error: &dyn std::fmt::Display| format!("deviation of {}: {error}", entry.case);
        if !is_reason(&entry.reason) {
            return Err(named(&format!("`{}` is not one of V1 to V15, `quirk` or `timing`", entry.reason)));
        }
        if entry.reason == "quirk" && entry.why.as_ref().is_none_or(|why| why.trim().is_empty()) {
            return Err(named(&"a quirk needs a `why`: what LangGraph does wrong, in a sentence"));
        }
        let outcome = match entry.outcome {
            toml::Value::String(text) => serde_json::from_str(&text).map_err(|error| named(&error))?,
            table => serde_json::to_value(table).map_err(|error| named(&error))?,
        };
        Ok(Self { case: entry.case, action: entry.action, way: entry.way, outcome })
    }
}

/// Accepts the ids of the design's deviations, a defect of LangGraph, and a race between two tasks.
fn is_reason(text: &str) -> bool {
    if ["quirk", "timing"].contains(&text) {
        return true;
    }
    let number = text.strip_prefix('V').and_then(|number| number.parse::<u8>().ok());
    number.is_some_and(|number| (1..=15).contains(&number))
}

/// Returns an entry for the table as text, without the reason and the interrupt ids.
pub(crate) fn entry(case: &str, action: usize, outcome: &Value) -> String {
    format!("[[deviation]]\ncase = \"{case}\"\naction = {action}\nreason = \"V?\"\noutcome = '''{outcome}'''\n")
}
