//! A prompt: a text for an agent, made from a template with slots, with references to contents. Pure, except for reading
//! contents. Knows no task, plan or verifier.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::contents::{Content, ContentError, Contents};
use crate::plan::hash;
use crate::process::Redactor;

/// A template file: text in which `{{name}}` is a slot.
pub(super) struct Template {
    pub name: &'static str,
    pub text: &'static str,
}

/// Includes a template file of this folder.
macro_rules! template {
    ($file:literal) => {
        Template { name: $file, text: include_str!(concat!($file, ".md")) }
    };
}

pub(super) use template;

pub(super) const FRAME: Template = template!("frame.system");
pub(super) const REPAIR: Template = template!("repair");

/// A text for an agent, and its source.
///
/// Long texts in it are [contents](Content): the journal has their hashes, and the folder [`Contents`] their text. A
/// prompt can be created from a content's hash alone; its text is read when the request is sent.
///
/// ```
/// # let home = tempfile::tempdir()?;
/// use superstep::nodes::{Contents, Prompt};
/// let contents = Contents::at(home.path());
/// let plan = contents.put("# Clock\n")?;
/// let prompt = Prompt::new("mine", "Do the first task of this plan:\n\n").with_fenced("markdown", plan).with_text("\n");
/// assert_eq!(prompt.resolve(&contents)?, "Do the first task of this plan:\n\n```markdown\n# Clock\n```\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prompt {
    name: String,
    hash: String,
    text: Parts,
}

impl Prompt {
    /// Returns a prompt of your own, with a name for people.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        let text = text.into();
        Self { name: name.into(), hash: hash(&text), text: text.into() }
    }

    /// Returns the prompt with a content at its end.
    #[must_use]
    pub fn with_content(self, content: Content) -> Self {
        Self { text: self.text.with(content), ..self }
    }

    /// Returns the prompt with a content at its end, as a fenced block of a kind such as `markdown` or `diff`.
    #[must_use]
    pub fn with_fenced(self, kind: &str, content: Content) -> Self {
        Self { text: self.text.with(Parts::fenced_content(kind, content)), ..self }
    }

    /// Returns the prompt with a text at its end.
    #[must_use]
    pub fn with_text(self, text: impl Into<String>) -> Self {
        Self { text: self.text.with(text.into()), ..self }
    }

    pub(super) fn of(template: &Template, slots: &[(&str, Parts)]) -> Self {
        Self { name: template.name.into(), hash: hash(template.text), text: template.fill(slots).trim_end().with("\n") }
    }

    /// Returns the name of its template.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the hash of its template, as text.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// Returns the text; a content whose text is not known is replaced by its hash. [`resolve`](Self::resolve) returns
    /// all.
    pub fn text(&self) -> Cow<'_, str> {
        self.text.text()
    }

    /// Returns the text as sent to an agent. Blocks if it reads contents.
    ///
    /// # Errors
    /// As [`Contents::get`].
    pub fn resolve(&self, contents: &Contents) -> Result<String, ContentError> {
        self.text.resolve(contents)
    }

    pub(in crate::nodes) fn parts(&self) -> &Parts {
        &self.text
    }

    /// Returns both prompts as one.
    #[must_use]
    pub fn followed_by(&self, other: &Self) -> Self {
        Self { text: self.text.clone().with("\n\n").with(other.text.clone()), ..self.clone() }
    }

    /// Returns the system prompt of a role: `architect`, `developer`, `reviewer`; other roles get the general rules.
    pub fn system(role: &str, tool: &str) -> Self {
        let duty = match role {
            "architect" => "You plan: you read the code, change nothing, and hand over a plan.",
            "developer" => "You do one task of the plan: you change files and make its checks succeed.",
            "reviewer" => "You judge the work of others: you read, change nothing, and hand over a review.",
            _ => "You do what you are told below.",
        };
        Self::of(&FRAME, &[("role", role.into()), ("duty", duty.into()), ("tool", tool.into())])
    }

    /// Returns the prompt for a readable result.
    pub fn repair(tool: &str, why: &str) -> Self {
        Self::of(&REPAIR, &[("tool", tool.into()), ("why", why.into())])
    }
}

impl Template {
    /// Fills the slots in one pass: values are never searched for slots. A slot without a value is kept.
    pub(super) fn fill(&self, slots: &[(&str, Parts)]) -> Parts {
        let mut rest = self.text;
        let mut filled = Parts::default();
        while let Some((before, after)) = rest.split_once("{{") {
            let Some((slot, end)) = after.split_once("}}") else { break };
            filled.push_literal(before);
            match slots.iter().find(|(name, _)| *name == slot) {
                Some((_, value)) => filled.push(value.clone()),
                None => filled.push_literal(&format!("{{{{{slot}}}}}")),
            }
            rest = end;
        }
        filled.push_literal(rest);
        filled
    }
}

/// Formats texts as a list; empty if there are none. Further lines of a text are indented, so that they stay in its
/// item.
pub(super) fn format_list(heading: &str, lines: impl IntoIterator<Item = impl std::fmt::Display>) -> String {
    let list: String =
        lines.into_iter().map(|line| format!("- {}\n", line.to_string().replace('\n', "\n  "))).collect();
    if list.is_empty() { list } else { format!("{heading}\n\n{list}\n") }
}

/// Length in bytes from which a text is stored as a content.
const LONG: usize = 1024;

/// A text in parts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "StoredParts", into = "StoredParts")]
pub(in crate::nodes) struct Parts(Vec<PromptPart>);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
enum PromptPart {
    Text(String),
    Content {
        content: Content,
        /// The language of the fenced block that the text becomes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fence: Option<String>,
        /// The text, if known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    },
}

/// Parts as stored: a short prompt is a plain string, the format before there were parts.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum StoredParts {
    Text(String),
    Parts(Vec<PromptPart>),
}

impl From<StoredParts> for Parts {
    fn from(stored: StoredParts) -> Self {
        match stored {
            StoredParts::Text(text) => Self(vec![PromptPart::Text(text)]),
            StoredParts::Parts(parts) => Self(parts),
        }
    }
}

impl From<Parts> for StoredParts {
    fn from(Parts(parts): Parts) -> Self {
        match <[PromptPart; 1]>::try_from(parts) {
            Ok([PromptPart::Text(text)]) => Self::Text(text),
            Ok(other) => Self::Parts(other.into()),
            Err(parts) => Self::Parts(parts),
        }
    }
}

impl From<String> for Parts {
    fn from(text: String) -> Self {
        Self(if text.is_empty() { vec![] } else { vec![part(None, text)] })
    }
}

impl From<&str> for Parts {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<Content> for Parts {
    fn from(content: Content) -> Self {
        Self(vec![PromptPart::Content { content, fence: None, text: None }])
    }
}

fn part(fence: Option<&str>, text: String) -> PromptPart {
    let fence = fence.map(str::to_owned);
    match (text.len() < LONG, fence) {
        (true, None) => PromptPart::Text(text),
        (true, Some(kind)) => PromptPart::Text(add_fence(&kind, &text)),
        (false, fence) => PromptPart::Content { content: Content::of(&text), fence, text: Some(text) },
    }
}

fn in_fence(fence: Option<&str>, text: &str) -> String {
    fence.map_or_else(|| text.to_owned(), |kind| add_fence(kind, text))
}

impl Parts {
    /// Returns a text as a fenced block.
    pub(super) fn fenced_text(kind: &str, text: impl Into<String>) -> Self {
        Self(vec![part(Some(kind), text.into())])
    }

    /// Returns the text of a content as a fenced block.
    pub(super) fn fenced_content(kind: &str, content: Content) -> Self {
        Self(vec![PromptPart::Content { content, fence: Some(kind.to_owned()), text: None }])
    }

    pub(in crate::nodes) fn push(&mut self, others: impl Into<Self>) {
        for part in others.into().0 {
            match (self.0.last_mut(), part) {
                (Some(PromptPart::Text(text)), PromptPart::Text(more)) => text.push_str(&more),
                (_, part) => self.0.push(part),
            }
        }
    }

    #[must_use]
    pub(in crate::nodes) fn with(mut self, others: impl Into<Self>) -> Self {
        self.push(others);
        self
    }

    /// Adds text of a template, which is never stored as a content.
    fn push_literal(&mut self, text: &str) {
        if !text.is_empty() {
            self.push(Self(vec![PromptPart::Text(text.to_owned())]));
        }
    }

    /// Returns the parts without trailing white space; that of a content whose text is not known is kept.
    #[must_use]
    pub(super) fn trim_end(mut self) -> Self {
        while let Some(last) = self.0.pop() {
            let kept = match last {
                PromptPart::Text(text) => PromptPart::Text(text.trim_end().to_owned()),
                PromptPart::Content { fence: None, text: Some(text), .. } => part(None, text.trim_end().to_owned()),
                content @ PromptPart::Content { .. } => content,
            };
            if kept != PromptPart::Text(String::new()) {
                self.0.push(kept);
                break;
            }
        }
        self
    }

    /// Returns the text; a content whose text is not known is replaced by its hash.
    pub(in crate::nodes) fn text(&self) -> Cow<'_, str> {
        match self.0.as_slice() {
            [PromptPart::Text(text)] => Cow::Borrowed(text),
            parts => Cow::Owned(parts.iter().map(show_part).collect()),
        }
    }

    /// Returns the text with every content read.
    pub(in crate::nodes) fn resolve(&self, contents: &Contents) -> Result<String, ContentError> {
        self.0.iter().map(|part| resolve_part(part, contents)).collect()
    }

    /// Returns the text; a content that cannot be read is replaced by the error.
    pub(in crate::nodes) fn readable(&self, contents: &Contents) -> String {
        let read = |part| resolve_part(part, contents).unwrap_or_else(|error| format!("[{error}]\n"));
        self.0.iter().map(read).collect()
    }

    /// Returns a hash that identifies the parts; it does not depend on which texts are known.
    pub(in crate::nodes) fn digest(&self) -> String {
        let named = |part: &PromptPart| match part {
            PromptPart::Text(text) => text.clone(),
            PromptPart::Content { content, fence, .. } => {
                format!("\0{}\0{}\0", fence.as_deref().unwrap_or_default(), content.hash)
            }
        };
        crate::plan::hash(&self.0.iter().map(named).collect::<String>())
    }

    /// Returns the parts with long texts replaced by their hashes.
    pub(in crate::nodes) fn with_hashes(&self) -> Self {
        let hashed = |part: &PromptPart| match part.clone() {
            PromptPart::Content { content, fence, .. } => PromptPart::Content { content, fence, text: None },
            text @ PromptPart::Text(_) => text,
        };
        Self(self.0.iter().map(hashed).collect())
    }

    /// Returns the parts without the secrets that a redactor knows.
    pub(in crate::nodes) fn without_secrets(&self, redactor: &Redactor) -> Self {
        let redacted = |part: &PromptPart| match part.clone() {
            PromptPart::Text(text) => PromptPart::Text(redactor.known(text)),
            PromptPart::Content { fence, text: Some(text), .. } => {
                let text = redactor.known(text);
                PromptPart::Content { content: Content::of(&text), fence, text: Some(text) }
            }
            unknown @ PromptPart::Content { .. } => unknown,
        };
        Self(self.0.iter().map(redacted).collect())
    }

    /// Stores the long texts that are known, and returns the parts with their hashes. A text that cannot be stored is
    /// kept inline.
    pub(in crate::nodes) fn store(&self, contents: &Contents) -> Self {
        let stored = |part: &PromptPart| match part.clone() {
            PromptPart::Content { fence, text: Some(text), .. } => match contents.put(&text) {
                Ok(content) => PromptPart::Content { content, fence, text: None },
                Err(_) => PromptPart::Text(in_fence(fence.as_deref(), &text)),
            },
            other => other,
        };
        Self(self.0.iter().map(stored).collect())
    }

    /// Returns the parts with all known texts inlined.
    pub(in crate::nodes) fn literal(&self) -> Self {
        let mut all = Self::default();
        for part in &self.0 {
            match part {
                PromptPart::Content { text: None, .. } => all.push(Self(vec![part.clone()])),
                known => all.push_literal(&show_part(known)),
            }
        }
        all
    }

    /// Returns true if a part is a reference.
    pub(in crate::nodes) fn has_contents(&self) -> bool {
        self.0.iter().any(|part| matches!(part, PromptPart::Content { .. }))
    }
}

fn show_part(part: &PromptPart) -> String {
    match part {
        PromptPart::Text(text) => text.clone(),
        PromptPart::Content { fence, text: Some(text), .. } => in_fence(fence.as_deref(), text),
        PromptPart::Content { content, .. } => format!("[content {}, {} bytes]", content.hash, content.bytes),
    }
}

fn resolve_part(part: &PromptPart, contents: &Contents) -> Result<String, ContentError> {
    match part {
        PromptPart::Content { content, fence, text: None } => Ok(in_fence(fence.as_deref(), &contents.get(content)?)),
        known => Ok(show_part(known)),
    }
}

/// Fences text as a block of data, with more backticks than its longest run.
pub(super) fn add_fence(kind: &str, text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let newline = if text.ends_with('\n') || text.is_empty() { "" } else { "\n" };
    format!("{fence}{kind}\n{text}{newline}{fence}")
}
