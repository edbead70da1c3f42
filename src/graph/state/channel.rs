//! The description of a channel: its name, storage and codec. Data only.

use std::borrow::Cow;

/// The storage of a channel in a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    /// One writer per superstep: the write *is* the value, so its bytes serve both records.
    Value,
    /// Reduced: the value is encoded after the reduce.
    Full,
    /// Reduced by appending: stored as the list of all its writes.
    Log,
    /// Reduced, and stored as a value and the writes since; a new value is stored when the writes outgrow it.
    Delta,
    /// Never saved: a resumed run starts with the default.
    Never,
}

impl Storage {
    const fn name(self) -> &'static str {
        match self {
            Self::Value => "last_value",
            Self::Full => "reduce",
            Self::Log => "append",
            Self::Delta => "messages",
            Self::Never => "untracked",
        }
    }

    /// True if writes are entries of a log, except those that replace the value.
    pub(crate) const fn is_logged(self) -> bool {
        matches!(self, Self::Log | Self::Delta)
    }
}

/// The rules that set the value to the write.
pub(crate) const SETS: [&str; 5] = ["last_value", "any_value", "ephemeral", "untracked", "after_finish"];

/// The encoding of a channel's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codec {
    /// Named MessagePack: survives added, removed and reordered fields.
    MessagePack,
    /// bincode: for numbers, byte strings and vectors of them.
    Bincode,
}

/// A channel of a state.
#[derive(Clone, Debug)]
pub struct Channel {
    name: Cow<'static, str>,
    type_name: Cow<'static, str>,
    write_type: Option<&'static str>,
    rule: &'static str,
    former_names: FormerNames,
    added: bool,
    stored: Storage,
    codec: Codec,
    version: u32,
    secret: bool,
}

/// The names that a channel had before, newest first.
#[derive(Clone, Debug)]
struct FormerNames {
    fixed: &'static [&'static str],
    named: Vec<String>,
}

impl Channel {
    /// Returns a channel whose name is known at compile time.
    pub const fn fixed(name: &'static str, type_name: &'static str, stored: Storage) -> Self {
        let (name, type_name) = (Cow::Borrowed(name), Cow::Borrowed(type_name));
        Self::new(name, type_name, stored)
    }

    /// Returns a channel whose name is known at run time.
    pub fn from_name(name: impl Into<String>, type_name: impl Into<String>, stored: Storage) -> Self {
        Self::new(Cow::Owned(name.into()), Cow::Owned(type_name.into()), stored)
    }

    const fn new(name: Cow<'static, str>, type_name: Cow<'static, str>, stored: Storage) -> Self {
        Self {
            name,
            type_name,
            write_type: None,
            rule: stored.name(),
            former_names: FormerNames { fixed: &[], named: vec![] },
            added: false,
            stored,
            codec: Codec::MessagePack,
            version: 1,
            secret: false,
        }
    }

    /// Sets the name of the rule that merges writes: pending writes of one rule cannot be read by another.
    #[must_use]
    pub const fn rule(mut self, rule: &'static str) -> Self {
        self.rule = rule;
        self
    }

    /// Sets the type of a write that goes through the reducer, if it is not the value's type.
    #[must_use]
    pub const fn takes(mut self, write_type: &'static str) -> Self {
        self.write_type = Some(write_type);
        self
    }

    /// Sets the former names of the channel, newest first: values stored under them are read as its own.
    #[must_use]
    pub const fn was(mut self, names: &'static [&'static str]) -> Self {
        self.former_names.fixed = names;
        self
    }

    /// Adds a former name of the channel, known at run time.
    #[must_use]
    pub fn formerly(mut self, name: impl Into<String>) -> Self {
        self.former_names.named.push(name.into());
        self
    }

    /// Marks the channel as new, not renamed: threads stored without it start with its default.
    #[must_use]
    pub const fn added(mut self) -> Self {
        self.added = true;
        self
    }

    /// Marks the channel as secret: never printed or exported.
    #[must_use]
    pub const fn secret(mut self) -> Self {
        self.secret = true;
        self
    }

    /// Sets the codec of the channel's values.
    #[must_use]
    pub const fn codec(mut self, codec: Codec) -> Self {
        self.codec = codec;
        self
    }

    /// Sets the schema version that every stored value carries; 1 unless set.
    #[must_use]
    pub const fn version(mut self, version: u32) -> Self {
        self.version = version;
        self
    }

    /// Returns the channel's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the name of the value's type.
    pub fn type_name(&self) -> &str {
        &self.type_name
    }

    /// Returns the name of the type of a write that goes through the reducer.
    pub fn write_type(&self) -> &str {
        self.write_type.unwrap_or(&self.type_name)
    }

    /// Returns the name of the rule that merges writes.
    pub fn rule_name(&self) -> &str {
        self.rule
    }

    /// Returns the former names of the channel.
    pub fn former_names(&self) -> impl Iterator<Item = &str> {
        self.former_names.fixed.iter().copied().chain(self.former_names.named.iter().map(String::as_str))
    }

    /// Returns true if the channel is marked as new.
    pub fn is_added(&self) -> bool {
        self.added
    }

    /// Returns the storage of the channel.
    pub fn storage(&self) -> Storage {
        self.stored
    }

    /// Returns the codec of the channel's values.
    pub fn value_codec(&self) -> Codec {
        self.codec
    }

    /// Returns the schema version of the values.
    pub fn schema_version(&self) -> u32 {
        self.version
    }

    /// Returns true if the channel is never printed or exported.
    pub fn is_secret(&self) -> bool {
        self.secret
    }

    /// Returns true if a write replaces the value.
    pub fn is_replaced(&self) -> bool {
        SETS.contains(&self.rule)
    }

    /// Returns the message of a user's type or reducer, hidden if the channel is secret.
    pub(crate) fn redact(&self, reason: String) -> String {
        if self.secret { "the reason is hidden because the channel is secret".into() } else { reason }
    }
}
