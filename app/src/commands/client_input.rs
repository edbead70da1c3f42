//! Inputs of clients as the arguments of `run GRAPH`: an object with a field for each, named as its option. Knows clap's arguments; must
//! not know what a graph reads from them.

use std::sync::Arc;

use clap::{Arg, ArgAction, Command};
use serde_json::{Map, Value, json};
use superstep::graph::{AnyState, State};
use superstep_server::{InputReader, Options};

use crate::failure::Failure;
use crate::graphs::{AppGraph, AppGraphs, ParsedInput};
use crate::threads::AnyInput;

/// Lets clients give the arguments of the graphs that take them.
pub(crate) fn read_arguments(graphs: &Arc<AppGraphs>, options: Options) -> Options {
    let names = graphs.0.iter().filter(|graph| graph.takes_client_args()).map(|graph| graph.name().to_owned());
    names.fold(options, |options, name| {
        let reader = ArgumentReader { graphs: Arc::clone(graphs), name: name.clone() };
        options.read_inputs(name, reader)
    })
}

/// Reader of a graph's arguments.
struct ArgumentReader {
    graphs: Arc<AppGraphs>,
    name: String,
}

impl InputReader for ArgumentReader {
    fn schema(&self) -> Value {
        self.graphs.find(&self.name).map_or_else(|| json!({}), |graph| schema(&command(graph)))
    }

    fn takes_one_input(&self) -> bool {
        self.graphs.find(&self.name).is_some_and(AppGraph::takes_one_input)
    }

    fn read(&self, thread: Option<&str>, input: &Map<String, Value>) -> Result<Value, String> {
        let graph = self.graphs.get(&self.name).map_err(text)?;
        let command = command(graph);
        if is_of_channels(graph, &command, input) {
            return Ok(Value::Object(input.clone()));
        }
        let matches = command.clone().try_get_matches_from(words(&command, input)?).map_err(|error| first(&error))?;
        match graph.parse_args(&matches, thread).map_err(text)? {
            ParsedInput::Input(input) => channels(graph, &input),
            ParsedInput::Instead(_) => Err("it asks for a text in the place of a run".into()),
        }
    }
}

/// Returns the command with the graph's own arguments alone.
fn command(graph: &AppGraph) -> Command {
    graph.graph_args(Command::new("input").no_binary_name(true).disable_help_flag(true)).0
}

/// Returns whether an input names a channel that is no argument: then it writes the channels themselves.
fn is_of_channels(graph: &AppGraph, command: &Command, input: &Map<String, Value>) -> bool {
    let is_channel = |name: &String| graph.graph.channels().iter().any(|channel| channel.name() == name);
    input.keys().any(|name| is_channel(name) && argument(command, name).is_none())
}

fn argument<'a>(command: &'a Command, name: &str) -> Option<&'a Arg> {
    command.get_arguments().find(|arg| field(arg).is_some_and(|field| field == name.replace('-', "_")))
}

/// Returns the field of an argument: its long name, with `_` for `-`.
fn field(arg: &Arg) -> Option<String> {
    arg.get_long().map(|name| name.replace('-', "_"))
}

/// Returns the input as words of a command line.
fn words(command: &Command, input: &Map<String, Value>) -> Result<Vec<String>, String> {
    let mut words = vec![];
    for (name, value) in input {
        let arg = argument(command, name).ok_or_else(|| unknown(command, name))?;
        let option = format!("--{}", arg.get_long().unwrap_or_default());
        match (value, arg.get_action()) {
            (Value::Null | Value::Bool(false), _) => {}
            (Value::Bool(true), ArgAction::SetTrue) => words.push(option),
            (Value::Array(values), ArgAction::Append) => {
                for value in values {
                    words.push(format!("{option}={}", word(name, value)?));
                }
            }
            (value, ArgAction::Set | ArgAction::Append) => words.push(format!("{option}={}", word(name, value)?)),
            _ => return Err(format!("`{name}` is true or false")),
        }
    }
    Ok(words)
}

fn unknown(command: &Command, name: &str) -> String {
    let known: Vec<String> = command.get_arguments().filter_map(field).collect();
    format!("there is no field `{name}`: the fields are {}", known.join(", "))
}

fn word(name: &str, value: &Value) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Number(number) => Ok(number.to_string()),
        _ => Err(format!("`{name}` is a text or a number")),
    }
}

/// Returns the problem of a command line, without the usage below it.
fn first(error: &clap::Error) -> String {
    let shown = error.render().to_string();
    let first = shown.split("\n\n").next().unwrap_or_default();
    first.trim_start_matches("error: ").split_whitespace().collect::<Vec<_>>().join(" ")
}

fn text(failure: Failure) -> String {
    let help = failure.help.into_iter().map(|help| format!("; {help}"));
    [vec![failure.error], failure.causes].concat().join(": ") + &help.collect::<String>()
}

/// Returns the writes of an input as an object of channels.
fn channels(graph: &AppGraph, input: &AnyInput) -> Result<Value, String> {
    let (schema, channels) = (graph.graph.schema(), graph.graph.channels());
    let mut fields = Map::new();
    for write in &input.0 {
        let Some(channel) = channels.get(AnyState::channel_of(write)) else { continue };
        let json = AnyState::encode_write(schema, write, serde_json::value::Serializer);
        fields.insert(channel.name().to_owned(), json.map_err(|error| error.to_string())?);
    }
    Ok(fields.into())
}

/// Returns the JSON Schema of the arguments.
fn schema(command: &Command) -> Value {
    let fields = command.get_arguments().filter_map(|arg| Some((field(arg)?, arg)));
    let fields: Vec<(String, &Arg)> = fields.collect();
    let required: Vec<&String> = fields.iter().filter(|(_, arg)| arg.is_required_set()).map(|(name, _)| name).collect();
    let properties: Map<String, Value> = fields.iter().map(|(name, arg)| (name.clone(), property(arg))).collect();
    json!({ "type": "object", "properties": properties, "required": required })
}

fn property(arg: &Arg) -> Value {
    let mut shown = match arg.get_action() {
        ArgAction::SetTrue => json!({ "type": "boolean" }),
        ArgAction::Append => json!({ "type": "array", "items": { "type": "string" } }),
        _ => json!({ "type": ["string", "number"] }),
    };
    if let Some(help) = arg.get_help() {
        shown["description"] = help.to_string().into();
    }
    shown
}
