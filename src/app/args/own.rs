//! Commands that a program adds: found by their words, of which the first may be that of a group, or run a graph.

use clap::{ArgMatches, Command};

use super::runs::{self, RunArgs};
use super::wish::Wish;
use crate::app::{
    erased::AnyGraph,
    own::{Added, Own, first},
};

/// Returns the commands that a program adds, in the order in which it added them.
pub(super) fn commands(graphs: &[Box<dyn AnyGraph>], added: &Added) -> Vec<Command> {
    let mut words: Vec<&str> = vec![];
    let shorthands = added.shorthands.iter().map(|(word, _)| word.as_str());
    for word in shorthands.chain(added.own.iter().map(|own| first(own.path))) {
        if !words.contains(&word) {
            words.push(word);
        }
    }
    words.into_iter().map(|word| command(word, graphs, added)).collect()
}

fn command(word: &str, graphs: &[Box<dyn AnyGraph>], added: &Added) -> Command {
    if let Some(own) = added.named(word) {
        return own.command.clone();
    }
    let inner: Vec<&Own> = added.own.iter().filter(|own| first(own.path) == word).collect();
    let named = added.shorthand(word).and_then(|name| graphs.iter().find(|graph| graph.name() == name));
    let group = match named {
        Some(graph) => runs::shorthand(&**graph, word, !inner.is_empty()),
        None => group(word, &inner),
    };
    group.disable_help_subcommand(true).subcommands(inner.into_iter().map(|own| own.command.clone()))
}

/// A command that is nothing but the first word of others.
fn group(word: &str, inner: &[&Own]) -> Command {
    let names: Vec<&str> = inner.iter().map(|own| own.command.get_name()).collect();
    Command::new(word.to_owned())
        .about(format!("Commands: {}", names.join(", ")))
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand_value_name("COMMAND")
}

/// Returns what was asked for, if it is one of these commands.
pub(super) fn wish<'a>(word: &'a str, given: &'a ArgMatches, added: &'a Added) -> Option<Wish<'a>> {
    let (path, leaf) = match given.subcommand() {
        Some((second, leaf)) => (format!("{word} {second}"), leaf),
        None => (word.to_owned(), given),
    };
    match (added.named(&path), added.shorthand(word)) {
        (Some(own), _) => {
            let thread = leaf.try_get_one::<String>("thread").ok().flatten().map(String::as_str);
            Some(Wish::Own(own, thread.unwrap_or_default(), leaf))
        }
        (None, Some(graph)) => Some(Wish::Run(RunArgs::named(graph, given))),
        (None, None) => None,
    }
}
