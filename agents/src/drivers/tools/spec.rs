//! Name, description and schema of each tool, and its arguments, parsed from the JSON of a call. Pure; touches no file.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use superstep_base::gather;

use super::answer::Refusal;
use crate::drivers::Access;

/// Tool definition for a model.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSpec {
    /// Its name.
    pub name: &'static str,
    /// Purpose of the tool.
    pub description: &'static str,
    /// The JSON schema of its arguments.
    pub schema: Value,
}

const PATH: &str = "path from the folder you work in, like `src/main.rs`";

/// Returns the tools that `access` allows.
pub(super) fn available_tools(access: &Access, elsewhere: bool) -> Vec<ToolSpec> {
    let mut specs = vec![
        read(elsewhere),
        spec(
            "list",
            "Lists a folder, folders with a `/`.",
            &[("path", "path of the folder; `.` for the one you work in")],
        ),
        spec(
            "grep",
            "Searches the text files in a folder, or one file, for a regular expression; gives `path:line: text`. Leaves out what `.gitignore` leaves out.",
            &[
                ("pattern", "regular expression, matched line by line"),
                ("path", "path of a folder or file; `.` for all"),
            ],
        ),
    ];
    if access.write {
        specs.push(spec(
            "write",
            "Writes a whole file, new or not; makes the folders it is in.",
            &[("path", PATH), ("content", "all of the file")],
        ));
        specs.push(spec(
            "edit",
            "Replaces a piece of a file. `old` must stand in it exactly once.",
            &[("path", PATH), ("old", "the piece as it stands, letter by letter"), ("new", "what to put there")],
        ));
    }
    if access.shell.is_some() {
        let line = ("command", "command line for `sh -c`; it runs in the folder you work in and cannot ask anything");
        specs.push(spec("shell", "Runs a command; gives its exit code and what it wrote.", &[line]));
    }
    specs
}

/// Returns the only tool with an optional argument.
fn read(elsewhere: bool) -> ToolSpec {
    let or = if elsewhere { ", or the absolute path of a file that you are told to read" } else { "" };
    let mut read = spec("read", "Returns a text file; a long one in pieces.", &[("path", &format!("{PATH}{or}"))]);
    let about = "the line to begin with, from 1: to read on where an answer was cut";
    read.schema["properties"]["line"] = json!({ "type": "integer", "description": about });
    read
}

fn spec(name: &'static str, description: &'static str, fields: &[(&str, &str)]) -> ToolSpec {
    let names: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
    let properties: Map<String, Value> = gather(
        fields.iter().map(|(name, about)| ((*name).to_owned(), json!({ "type": "string", "description": about }))),
    );
    let schema =
        json!({ "type": "object", "properties": properties, "required": names, "additionalProperties": false });
    ToolSpec { name, description, schema }
}

#[derive(Deserialize)]
pub(super) struct Place {
    #[serde(default)]
    pub(super) path: String,
}

#[derive(Deserialize)]
pub(super) struct ReadArguments {
    #[serde(default)]
    pub(super) path: String,
    #[serde(default)]
    pub(super) line: usize,
}

#[derive(Deserialize)]
pub(super) struct Search {
    pub(super) pattern: String,
    #[serde(default)]
    pub(super) path: String,
}

#[derive(Deserialize)]
pub(super) struct WriteArguments {
    pub(super) path: String,
    pub(super) content: String,
}

#[derive(Deserialize)]
pub(super) struct Change {
    pub(super) path: String,
    pub(super) old: String,
    pub(super) new: String,
}

#[derive(Deserialize)]
pub(super) struct ShellArguments {
    pub(super) command: String,
}

pub(super) fn parse<T: DeserializeOwned>(arguments: &str) -> Result<T, Refusal> {
    let given = if arguments.trim().is_empty() { "{}" } else { arguments };
    let value: Value = serde_json::from_str(given)
        .map_err(|error| Refusal::new(format!("the arguments are not JSON ({error}); call the tool again")))?;
    if !value.is_object() {
        return Err(Refusal::new("the arguments are no JSON object"));
    }
    serde_json::from_value(value).map_err(|error| Refusal::new(format!("the arguments do not fit: {error}")))
}
