//! The issue that a plan is made for: an id, a title and a description, read from a markdown file.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use superstep_base::files;

use super::headings::Headings;
use super::source;

/// An issue: the request that a plan is made for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Issue {
    /// The id, used in the names of branches and commits.
    pub id: String,
    /// The title, in one line.
    pub title: String,
    /// The markdown without its front matter.
    pub description: String,
}

/// A file that cannot be read as an issue. Displays as `FILE:LINE: …`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IssueError {
    /// The file cannot be read.
    #[error("{}: the issue cannot be read: {source}", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The content is not a valid issue.
    #[error("{}:{line}: {problem}", file.display())]
    Invalid {
        /// The file.
        file: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The problem.
        problem: IssueProblem,
    },
}

/// A problem with the content of an issue file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IssueProblem {
    /// The file has neither a heading nor text.
    #[error("the issue is empty")]
    Empty,
    /// The front matter is never closed.
    #[error("this front matter is never closed")]
    OpenFrontMatter,
    /// The front matter has two ids or titles.
    #[error("`{key}` is given twice")]
    Twice {
        /// The repeated key.
        key: &'static str,
    },
    /// The id or title is empty, spans several lines, or holds control characters.
    #[error("`{key}` is not a text in one line")]
    NoLine {
        /// The key.
        key: &'static str,
    },
    /// The front matter is neither YAML nor TOML.
    #[error("this front matter cannot be read: {reason}")]
    FrontMatter {
        /// The parser's message.
        reason: String,
    },
    /// The file is not UTF-8.
    #[error("this is not UTF-8 text")]
    NotText,
}

impl IssueError {
    /// Returns a suggestion for fixing the error.
    pub fn help(&self) -> &'static str {
        match self {
            Self::Unreadable { .. } => "pass a markdown file that exists and is readable",
            Self::Invalid { problem: IssueProblem::Empty, .. } => "write what is to be done",
            Self::Invalid { problem: IssueProblem::OpenFrontMatter, .. } => {
                "close it with the line that opens it, or leave it out"
            }
            Self::Invalid { problem: IssueProblem::Twice { .. }, .. } => "leave one of them out",
            Self::Invalid { problem: IssueProblem::NoLine { .. }, .. } => {
                "write `id: …` and `title: …` in a line each; without them, the name of the file and the first heading count"
            }
            Self::Invalid { problem: IssueProblem::FrontMatter { .. }, .. } => {
                "write `key: value` lines between two lines `---`, or leave the front matter out"
            }
            Self::Invalid { problem: IssueProblem::NotText, .. } => "save the file as UTF-8",
        }
    }
}

impl Issue {
    /// Reads an issue from a file.
    ///
    /// # Errors
    ///
    /// [`IssueError`], with the file and, where it applies, the line.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, IssueError> {
        let file = path.as_ref();
        let bytes = files::bytes(file).map_err(|source| IssueError::Unreadable { file: file.to_owned(), source })?;
        let invalid = |(line, problem)| IssueError::Invalid { file: file.to_owned(), line, problem };
        let text = text_of(&bytes).map_err(invalid)?;
        let stem = file.file_stem().unwrap_or_default().to_string_lossy();
        Self::parse(text, &stem).map_err(invalid)
    }

    /// Reads an issue from markdown. The id is that of the front matter, otherwise `stem`; the title is that of the
    /// front matter, otherwise the first heading, otherwise the id.
    ///
    /// ```
    /// # use superstep_agents as superstep;
    /// # use superstep::plan::Issue;
    /// let issue = Issue::parse("---\nid: TIDE-7\n---\n# Read the tides\n\nAll of them.\n", "file").unwrap();
    /// assert_eq!((issue.id.as_str(), issue.title.as_str()), ("TIDE-7", "Read the tides"));
    /// ```
    ///
    /// # Errors
    ///
    /// The line, from 1, and the [`IssueProblem`] there.
    pub fn parse(text: &str, stem: &str) -> Result<Self, (usize, IssueProblem)> {
        let text = source::with_line_feeds(text);
        let body = source::body(&text);
        if body.open_front_matter {
            return Err((1, IssueProblem::OpenFrontMatter));
        }
        let (front, description) = text.split_at(body.start);
        let front = FrontMatter::of(front)?;
        let heading = Headings::of(&text).all.into_iter().map(|heading| heading.heading.text.trim().to_owned());
        let title = front.title.or_else(|| heading.filter(|text| !text.is_empty()).take(1).next());
        if description.trim().is_empty() && title.is_none() {
            return Err((1, IssueProblem::Empty));
        }
        let id = front.id.map_or_else(|| one_line("id", 1, stem), Ok)?;
        Ok(Self { title: title.unwrap_or_else(|| id.clone()), id, description: description.trim().to_owned() })
    }
}

fn text_of(bytes: &[u8]) -> Result<&str, (usize, IssueProblem)> {
    std::str::from_utf8(bytes).map_err(|error| {
        let before = &bytes[..error.valid_up_to()];
        (1 + before.iter().filter(|byte| **byte == b'\n').count(), IssueProblem::NotText)
    })
}

#[derive(Default)]
struct FrontMatter {
    id: Option<String>,
    title: Option<String>,
}

impl FrontMatter {
    /// Reads `id` and `title` from front matter and ignores other keys.
    fn of(front: &str) -> Result<Self, (usize, IssueProblem)> {
        let mut found = Self::default();
        for (index, line) in front.lines().enumerate() {
            let Some((key, value)) = line.split_once([':', '=']) else { continue };
            let (place, key) = match key.trim_end() {
                "id" => (&mut found.id, "id"),
                "title" => (&mut found.title, "title"),
                _ => continue,
            };
            if place.is_some() {
                return Err((index + 1, IssueProblem::Twice { key }));
            }
            *place = Some(one_line(key, index + 1, unquote(value.trim()))?);
        }
        well_formed(front)?;
        Ok(found)
    }
}

/// Checks that front matter is YAML, or TOML between `+++` lines, but for `id` and `title`, which are read leniently.
fn well_formed(front: &str) -> Result<(), (usize, IssueProblem)> {
    let mut lines: Vec<&str> = front.trim_start_matches('\u{feff}').lines().collect();
    let is_toml = lines.first().is_some_and(|fence| fence.starts_with('+'));
    if lines.len() < 2 {
        return Ok(());
    }
    (lines[0], _) = ("", lines.pop());
    for line in &mut lines {
        let key = line.split_once([':', '=']).map(|(key, _)| key.trim_end());
        if matches!(key, Some("id" | "title")) {
            *line = "";
        }
    }
    let text = lines.join("\n");
    let (line, reason) = match if is_toml { toml_problem(&text) } else { yaml_problem(&text) } {
        Some(found) => found,
        None => return Ok(()),
    };
    Err((line.clamp(2, lines.len().max(2)), IssueProblem::FrontMatter { reason }))
}

fn yaml_problem(text: &str) -> Option<(usize, String)> {
    let error = serde_norway::from_str::<serde_norway::Value>(text).err()?;
    let (line, reason) = (error.location().map_or(1, |place| place.line()), error.to_string());
    let reason = reason.split(" at line ").next().unwrap_or_default();
    Some((line, format!("it is not valid YAML, {reason}")))
}

fn toml_problem(text: &str) -> Option<(usize, String)> {
    let error = toml::from_str::<toml::Table>(text).err()?;
    let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
    Some((before.matches('\n').count() + 1, format!("it is not valid TOML, {}", error.message())))
}

/// Returns a value without its quotes, or without its trailing comment.
fn unquote(value: &str) -> &str {
    let quoted = ['"', '\''].iter().find_map(|quote| value.strip_prefix(*quote)?.split_once(*quote));
    let plain = value.split_once(" #").map_or(value, |(value, _)| value);
    quoted.map_or(plain.trim_end(), |(inside, _)| inside)
}

fn one_line(key: &'static str, line: usize, value: &str) -> Result<String, (usize, IssueProblem)> {
    let is_block = matches!(value, "|" | ">" | "|-" | ">-");
    let is_line = !value.trim().is_empty() && !is_block && !value.chars().any(char::is_control);
    if is_line { Ok(value.trim().to_owned()) } else { Err((line, IssueProblem::NoLine { key })) }
}
