//! Commands that a program adds, found by their words; the first may name a group or run a graph.

use clap::{ArgMatches, Command};

use super::invocation::Invocation;
use super::runs::{self, RunArgs};
use crate::app::custom::{Additions, CustomCommand, first};
use crate::app::erased::AnyGraph;

/// Returns the commands that a program adds, in the order in which it added them.
pub(super) fn commands(graphs: &[Box<dyn AnyGraph>], added: &Additions) -> Vec<Command> {
    let mut words: Vec<&str> = vec![];
    let shorthands = added.shorthands.iter().map(|(word, _)| word.as_str());
    for word in shorthands.chain(added.commands.iter().map(|own| first(own.path))) {
        if !words.contains(&word) {
            words.push(word);
        }
    }
    words.into_iter().map(|word| command(word, graphs, added)).collect()
}

fn command(word: &str, graphs: &[Box<dyn AnyGraph>], added: &Additions) -> Command {
    if let Some(own) = added.named(word) {
        return own.command.clone();
    }
    let inner: Vec<&CustomCommand> = added.commands.iter().filter(|own| first(own.path) == word).collect();
    let named = added.shorthand(word).and_then(|name| graphs.iter().find(|graph| graph.name() == name));
    let group = match named {
        Some(graph) => runs::shorthand(&**graph, word, !inner.is_empty()),
        None => group(word, &inner),
    };
    group.disable_help_subcommand(true).subcommands(inner.into_iter().map(|own| own.command.clone()))
}

/// Returns a command that only groups others.
fn group(word: &str, inner: &[&CustomCommand]) -> Command {
    let names: Vec<&str> = inner.iter().map(|own| own.command.get_name()).collect();
    Command::new(word.to_owned())
        .about(format!("Commands: {}", names.join(", ")))
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand_value_name("COMMAND")
}

/// Returns the invocation, if it is one of these commands.
pub(super) fn invocation<'a>(word: &'a str, given: &'a ArgMatches, added: &'a Additions) -> Option<Invocation<'a>> {
    let (path, leaf) = match given.subcommand() {
        Some((second, leaf)) => (format!("{word} {second}"), leaf),
        None => (word.to_owned(), given),
    };
    match (added.named(&path), added.shorthand(word)) {
        (Some(own), _) => {
            let thread = leaf.try_get_one::<String>("thread").ok().flatten().map(String::as_str);
            Some(Invocation::CustomCommand(own, thread.unwrap_or_default(), leaf))
        }
        (None, Some(graph)) => Some(Invocation::Run(RunArgs::named(graph, given))),
        (None, None) => None,
    }
}
