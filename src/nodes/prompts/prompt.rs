//! A prompt: a text for an agent, with its template. Knows no task, plan or verifier.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::parts::Parts;
use super::template::{Template, template};
use crate::nodes::contents::{Content, ContentError, Contents};
use crate::plan::hash;

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
