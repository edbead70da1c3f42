//! The modules of the library: what each file declares, what it shows of other files, and which file a path leads to.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use crate::paths::Reader;

/// One file as a module.
#[derive(Default)]
struct Module {
    file: String,
    declared: BTreeSet<String>,
    /// The names that `use` brings in, with the paths they have here.
    imported: BTreeMap<String, Vec<String>>,
    /// The folders and files from which everything is brought in.
    globs: Vec<Vec<String>>,
    paths: Vec<Vec<String>>,
}

/// The modules of one crate.
pub(crate) struct Modules {
    /// By their paths from the crate's root.
    modules: BTreeMap<Vec<String>, Module>,
    /// The words that lead to the crate's root.
    root_names: &'static [&'static str],
}

impl Modules {
    /// Reads the files below `root`, such as `src/`; what is compiled for tests alone is left out.
    pub(crate) fn of(root: &str, files: &[(String, String)]) -> Self {
        let mut modules = BTreeMap::new();
        for (name, source) in files {
            let Some(inside) = name.strip_prefix(root) else { continue };
            let Ok(tokens) = source.parse::<TokenStream>() else { continue };
            modules.insert(module_path(inside), Module::read(name, shipped(tokens)));
        }
        // The macros and the command line name the library as another crate.
        let root_names: &[&str] = if root == "src/" { &["crate", "superstep"] } else { &["crate"] };
        Self { modules, root_names }
    }

    /// Returns which other files each file names an item of. A name that a face passes on leads to the file that declares it.
    pub(crate) fn arrows(&self) -> BTreeMap<String, BTreeSet<String>> {
        let arrows = self.modules.iter().map(|(at, module)| {
            let named = module.paths.iter().filter_map(|path| self.file_of(at, path, 0));
            (module.file.clone(), named.filter(|file| *file != module.file).collect())
        });
        arrows.collect()
    }

    /// Returns the file in which the item is declared that `path` names from the module `at`.
    fn file_of(&self, at: &[String], path: &[String], depth: usize) -> Option<String> {
        // The root alone, as in `pub(crate)`, names no item.
        let absolute = self.absolute(at, path).filter(|absolute| !absolute.is_empty())?;
        let known = (0..=absolute.len()).rev().find(|length| self.modules.contains_key(&absolute[..*length]))?;
        let (owner, rest) = absolute.split_at(known);
        let module = &self.modules[owner];
        let Some(name) = rest.first() else { return (!is_face(&module.file)).then(|| module.file.clone()) };
        if module.declared.contains(name) || depth > 8 {
            return Some(module.file.clone());
        }
        if let Some(shown) = module.imported.get(name) {
            return self.file_of(owner, &[shown.as_slice(), &rest[1..]].concat(), depth + 1);
        }
        let globs = module.globs.iter().filter(|glob| self.absolute(owner, glob).is_some_and(|from| from != owner));
        let mut through = globs.filter_map(|glob| self.file_of(owner, &[glob.as_slice(), rest].concat(), depth + 1));
        through.next().or_else(|| (!is_face(&module.file)).then(|| module.file.clone()))
    }

    /// Returns a path from the crate's root; none if it leads into another crate.
    fn absolute(&self, at: &[String], path: &[String]) -> Option<Vec<String>> {
        let (first, rest) = path.split_first()?;
        let join = |base: &[String], rest: &[String]| Some([base, rest].concat());
        match first.as_str() {
            root if self.root_names.contains(&root) => Some(rest.to_vec()),
            "self" => join(at, rest),
            "super" => {
                let climbed = path.iter().take_while(|segment| *segment == "super").count();
                join(&at[..at.len().checked_sub(climbed)?], &path[climbed..])
            }
            _ if self.modules.contains_key(&[at, std::slice::from_ref(first)].concat()) => join(at, path),
            _ if path.len() > 1 => {
                let imported = self.modules.get(at)?.imported.get(first).filter(|imported| imported[0] != *first)?;
                self.absolute(at, &[imported.as_slice(), rest].concat())
            }
            _ => None,
        }
    }
}

impl Module {
    fn read(file: &str, tokens: Vec<TokenTree>) -> Self {
        let mut module = Self { file: file.to_owned(), declared: declared(&tokens), ..Self::default() };
        let mut reader = Reader::default();
        reader.read(tokens.into_iter().collect(), &[], 0);
        for mut path in reader.paths.into_iter().filter(|path| path.inline_modules == 0) {
            if path.segments.len() > 1 {
                path.segments.pop_if(|last| last == "self");
            }
            match path.import.as_deref() {
                Some("*") => module.globs.push(path.segments[..path.segments.len() - 1].to_vec()),
                Some(name) => drop(module.imported.insert(name.to_owned(), path.segments.clone())),
                None => {}
            }
            module.paths.push(path.segments);
        }
        module
    }
}

/// Returns the names of the items of a file.
fn declared(tokens: &[TokenTree]) -> BTreeSet<String> {
    let name = |(nth, token): (usize, &TokenTree)| match (token, tokens.get(nth + 1)?) {
        (TokenTree::Ident(word), TokenTree::Ident(name)) if declares(&word.to_string()) => Some(name.to_string()),
        (TokenTree::Ident(word), TokenTree::Punct(_)) if word == "macro_rules" => {
            Some(tokens.get(nth + 2)?.to_string())
        }
        _ => None,
    };
    tokens.iter().enumerate().filter_map(name).collect()
}

fn declares(word: &str) -> bool {
    ["struct", "enum", "union", "trait", "type", "fn", "const", "static"].contains(&word)
}

fn is_face(file: &str) -> bool {
    file.ends_with("mod.rs") || file.ends_with("lib.rs")
}

fn module_path(inside: &str) -> Vec<String> {
    let path = inside.trim_end_matches(".rs");
    let path = path.strip_suffix("mod").map_or(path, |folder| folder.trim_end_matches('/'));
    path.split('/').filter(|part| !["", "lib", "main"].contains(part)).map(str::to_owned).collect()
}

/// Leaves out items under `#[cfg(test)]`.
pub(crate) fn shipped(tokens: TokenStream) -> Vec<TokenTree> {
    let mut kept = Vec::new();
    let mut skipping = false;
    for token in tokens {
        if skipping {
            let ends = match &token {
                TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
                TokenTree::Punct(punct) => punct.as_char() == ';',
                _ => false,
            };
            skipping = !ends;
            continue;
        }
        if matches!(&token, TokenTree::Group(group) if group.delimiter() == Delimiter::Bracket && is_test(group.stream()))
        {
            kept.pop();
            skipping = true;
            continue;
        }
        kept.push(token);
    }
    kept
}

fn is_test(attribute: TokenStream) -> bool {
    attribute.to_string().replace(' ', "") == "cfg(test)"
}
