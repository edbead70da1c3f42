//! Value formats of scenarios: times, tasks, dollars. Pure.

use std::time::Duration;

use serde::Deserialize;

use crate::drivers::Usage;

/// Text that may be written as an integer.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "NumberOrText")]
pub(super) struct Text(pub(super) String);

#[derive(Deserialize)]
#[serde(untagged)]
enum NumberOrText {
    Number(u64),
    Text(String),
    Fraction(f64),
}

impl TryFrom<NumberOrText> for Text {
    type Error = String;

    fn try_from(written: NumberOrText) -> Result<Self, String> {
        match written {
            NumberOrText::Number(number) => Ok(Self(number.to_string())),
            NumberOrText::Text(text) => Ok(Self(text)),
            NumberOrText::Fraction(number) => Err(format!("put `{number}` in quotes: 1.10 is not 1.1")),
        }
    }
}

/// One text or a list of them.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(from = "OneOrMany")]
pub(super) struct Several(pub(super) Vec<String>);

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl From<OneOrMany> for Several {
    fn from(written: OneOrMany) -> Self {
        match written {
            OneOrMany::One(text) => Self(vec![text]),
            OneOrMany::Many(texts) => Self(texts),
        }
    }
}

/// Number of times a turn may be used in one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "CountOrWord")]
pub(super) enum Times {
    Count(u32),
    Always,
}

impl Default for Times {
    fn default() -> Self {
        Self::Count(1)
    }
}

impl Times {
    pub(super) fn allow(self, had: usize) -> bool {
        match self {
            Self::Count(times) => had < times as usize,
            Self::Always => true,
        }
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum CountOrWord {
    Count(u32),
    Word(String),
}

impl TryFrom<CountOrWord> for Times {
    type Error = String;

    fn try_from(written: CountOrWord) -> Result<Self, String> {
        match written {
            CountOrWord::Count(0) => Err("times: 0 is never".to_owned()),
            CountOrWord::Count(times) => Ok(Self::Count(times)),
            CountOrWord::Word(word) if word == "always" => Ok(Self::Always),
            CountOrWord::Word(word) => Err(format!("`{word}` is neither a number nor `always`")),
        }
    }
}

/// Duration: `200ms`, `1.5s`, `2m`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Span(pub(super) Duration);

impl TryFrom<String> for Span {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let units = [("ms", 0.001), ("s", 1.0), ("m", 60.0), ("h", 3600.0)];
        let number = |unit: &str| text.strip_suffix(unit)?.trim().parse::<f64>().ok();
        let seconds = units.iter().find_map(|(unit, seconds)| Some(number(unit)? * seconds));
        let span = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        span.map(Self).ok_or_else(|| format!("`{text}` is no time; write `200ms`, `1.5s` or `2m`"))
    }
}

/// Usage of a turn; the cost in dollars.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct UsageSaid {
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
    requests: u64,
    cost: Dollars,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(try_from = "f64")]
struct Dollars(u64);

impl TryFrom<f64> for Dollars {
    type Error = String;

    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be in range")]
    fn try_from(dollars: f64) -> Result<Self, String> {
        let is_cost = (0.0..=1e9).contains(&dollars);
        is_cost
            .then(|| Self((dollars * 1e6).round() as u64))
            .ok_or_else(|| format!("`{dollars}` is no cost in dollars"))
    }
}

impl From<UsageSaid> for Usage {
    fn from(said: UsageSaid) -> Self {
        let UsageSaid { input, output, cache_read, cache_write, requests, cost: Dollars(cost) } = said;
        Self { input, output, cache_read, cache_write, requests, cost, ..Self::default() }
    }
}
