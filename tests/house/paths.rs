//! The paths that a source file names, read off its tokens; comments and strings are no tokens.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// A path as the source names it, use groups spelt out.
#[derive(Debug)]
pub(crate) struct Named {
    pub(crate) segments: Vec<String>,
    pub(crate) line: usize,
    /// Written with `::` in front, or directly after `use` or `crate`.
    pub(crate) is_global: bool,
    /// Written with `$crate`: a path of the macro's callers.
    pub(crate) is_for_callers: bool,
    /// The inline modules around it.
    pub(crate) inline_modules: usize,
    /// The name that it brings in, `*` for all of them, if it is written in a `use`.
    pub(crate) import: Option<String>,
}

impl Named {
    pub(crate) fn names_crate(&self, name: &str) -> bool {
        self.segments[0] == name && (self.segments.len() > 1 || self.is_global)
    }

    /// Returns the segment after `name`.
    pub(crate) fn after(&self, name: &str) -> Option<&str> {
        self.segments.iter().map(String::as_str).skip_while(|segment| *segment != name).nth(1)
    }

    /// Returns the first segment after the crate's root, if the path leads there from `depth` modules down.
    pub(crate) fn beyond_root(&self, depth: usize) -> Option<&str> {
        let mut segments = self.segments.iter().map(String::as_str).peekable();
        if segments
            .next_if(|first| ["crate", "superstep", "superstep_agents", "superstep_verify"].contains(first))
            .is_some()
        {
            return segments.next();
        }
        while segments.next_if_eq(&"self").is_some() {}
        let mut climbed = 0;
        while segments.next_if_eq(&"super").is_some() {
            climbed += 1;
        }
        segments.next().filter(|_| climbed >= depth)
    }
}

/// Collects the paths of a token stream; comments and strings are no tokens.
#[derive(Default)]
pub(crate) struct Reader {
    pub(crate) paths: Vec<Named>,
    in_use: bool,
}

impl Reader {
    pub(crate) fn read(&mut self, tokens: TokenStream, prefix: &[String], inline_modules: usize) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while at < tokens.len() {
            at = match &tokens[at..] {
                [TokenTree::Ident(word), TokenTree::Ident(_), TokenTree::Group(body), ..]
                    if word == "mod" && body.delimiter() == Delimiter::Brace =>
                {
                    self.read(body.stream(), &[], inline_modules + 1);
                    at + 3
                }
                [TokenTree::Ident(word), TokenTree::Ident(_), ..] if word == "as" => at + 2,
                [TokenTree::Ident(word), next, ..] if word == "use" && !is_punct(next, '<') => {
                    self.in_use = true;
                    at + 1
                }
                [end, ..] if is_punct(end, ';') => {
                    self.in_use = false;
                    at + 1
                }
                [TokenTree::Ident(_), ..] => self.read_path(&tokens, at, prefix, inline_modules),
                [TokenTree::Group(group), ..] => {
                    self.read(group.stream(), &[], inline_modules);
                    at + 1
                }
                _ => at + 1,
            };
        }
    }

    /// Reads the path that starts at `at` and returns where it ends.
    fn read_path(&mut self, tokens: &[TokenTree], start: usize, prefix: &[String], inline_modules: usize) -> usize {
        let mut segments = [prefix, &[tokens[start].to_string()]].concat();
        let mut at = start + 1;
        while is_separator(&tokens[at..]) {
            match tokens.get(at + 2) {
                Some(TokenTree::Ident(next)) => segments.push(next.to_string()),
                Some(TokenTree::Punct(star)) if star.as_char() == '*' => segments.push("*".to_owned()),
                Some(TokenTree::Group(group)) => {
                    self.read(group.stream(), &segments, inline_modules);
                    return at + 3;
                }
                _ => break,
            }
            at += 3;
        }
        let line = tokens[start].span().start().line;
        let import = self.in_use.then(|| imported_name(&segments, &tokens[at..]));
        let is_for_callers = start > 0 && is_punct(&tokens[start - 1], '$');
        let is_global = is_global(&tokens[..start]);
        self.paths.push(Named { segments, line, is_global, is_for_callers, inline_modules, import });
        at
    }
}

/// Returns the name under which a `use` brings a path in; `rest` follows the path.
fn imported_name(segments: &[String], rest: &[TokenTree]) -> String {
    match rest {
        [TokenTree::Ident(word), TokenTree::Ident(alias), ..] if word == "as" => alias.to_string(),
        _ => segments.iter().rev().find(|segment| *segment != "self").cloned().unwrap_or_default(),
    }
}

fn is_punct(token: &TokenTree, mark: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == mark)
}

fn is_separator(tokens: &[TokenTree]) -> bool {
    tokens.len() >= 2 && tokens[..2].iter().all(|token| is_punct(token, ':'))
}

fn is_global(before: &[TokenTree]) -> bool {
    let rest = before.len().saturating_sub(2);
    match before.last() {
        Some(TokenTree::Ident(word)) => word == "use" || (word == "crate" && before.len() > 1),
        Some(TokenTree::Punct(_)) if is_separator(&before[rest..]) => {
            !matches!(before[..rest].last(), Some(TokenTree::Punct(punct)) if punct.as_char() == '>')
        }
        _ => false,
    }
}
