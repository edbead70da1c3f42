//! Value formats of scenarios: times, tasks, dollars. Pure.

use std::fmt;
use std::time::Duration;

use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::drivers::Usage;

/// A value of a scenario as it is written. Its errors are raised where it is read, so that they have its line.
enum Scalar<'a> {
    Number(u64),
    Fraction(f64),
    Text(&'a str),
}

/// Reads a value that may be written in several ways.
struct Reader<T> {
    /// The values that there are, for an error.
    takes: &'static str,
    read: fn(Scalar<'_>) -> Result<T, String>,
}

impl<T> Reader<T> {
    fn run<'de, D: Deserializer<'de>>(
        from: D,
        takes: &'static str,
        read: fn(Scalar<'_>) -> Result<T, String>,
    ) -> Result<T, D::Error> {
        from.deserialize_any(Self { takes, read })
    }
}

impl<T> Visitor<'_> for Reader<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.takes)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<T, E> {
        (self.read)(Scalar::Number(number)).map_err(E::custom)
    }

    #[allow(clippy::cast_precision_loss, reason = "negative numbers are refused")]
    fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
        let written = u64::try_from(number).map_or(Scalar::Fraction(number as f64), Scalar::Number);
        (self.read)(written).map_err(E::custom)
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<T, E> {
        (self.read)(Scalar::Fraction(number)).map_err(E::custom)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        (self.read)(Scalar::Text(text)).map_err(E::custom)
    }
}

/// Text that may be written as an integer.
#[derive(Clone, Debug)]
pub(super) struct Text(pub(super) String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Reader::run(from, "a text or a whole number", |written| match written {
            Scalar::Number(number) => Ok(Self(number.to_string())),
            Scalar::Text(text) => Ok(Self(text.to_owned())),
            Scalar::Fraction(number) => Err(format!("put `{number}` in quotes: 1.10 is not 1.1")),
        })
    }
}

/// One text or a list of them.
#[derive(Clone, Debug, Default)]
pub(super) struct TextOrList(pub(super) Vec<String>);

impl<'de> Deserialize<'de> for TextOrList {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Texts;
        impl<'de> Visitor<'de> for Texts {
            type Value = TextOrList;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text, or a list of texts")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<TextOrList, E> {
                Ok(TextOrList(vec![text.to_owned()]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<TextOrList, A::Error> {
                let mut texts = vec![];
                while let Some(text) = items.next_element()? {
                    texts.push(text);
                }
                Ok(TextOrList(texts))
            }
        }
        from.deserialize_any(Texts)
    }
}

/// Number of times a turn may be used in one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

impl<'de> Deserialize<'de> for Times {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Reader::run(from, "a number or `always`", |written| match written {
            Scalar::Number(0) => Err("0 times is never; write a number from 1, or `always`".to_owned()),
            Scalar::Number(times) => Ok(Self::Count(u32::try_from(times).unwrap_or(u32::MAX))),
            Scalar::Text("always") => Ok(Self::Always),
            Scalar::Text(word) => Err(format!("`{word}` is neither a number nor `always`")),
            Scalar::Fraction(number) => Err(format!("`{number}` is neither a number nor `always`")),
        })
    }
}

/// Duration: `200ms`, `1.5s`, `2m`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span(pub(super) Duration);

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Reader::run(from, "a time such as `200ms`, `1.5s` or `2m`", |written| match written {
            Scalar::Text(text) => Self::try_from(text.to_owned()),
            Scalar::Number(number) => Self::try_from(number.to_string()),
            Scalar::Fraction(number) => Self::try_from(number.to_string()),
        })
    }
}

impl TryFrom<String> for Span {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let units = [("ms", 0.001), ("s", 1.0), ("m", 60.0), ("h", 3600.0)];
        let number = |unit: &str| text.strip_suffix(unit)?.trim().parse::<f64>().ok();
        let seconds = units.iter().find_map(|(unit, seconds)| Some(number(unit)? * seconds));
        let span = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        span.map(Self).ok_or_else(|| format!("`{text}` is not a time; write `200ms`, `1.5s` or `2m`"))
    }
}

/// Usage of a turn; the cost in dollars.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct UsageFields {
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
    requests: u64,
    cost: Dollars,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Dollars(u64);

impl<'de> Deserialize<'de> for Dollars {
    #[allow(clippy::cast_precision_loss, reason = "checked to be in range")]
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Reader::run(from, "a cost in dollars", |written| match written {
            Scalar::Number(dollars) => Self::try_from(dollars as f64),
            Scalar::Fraction(dollars) => Self::try_from(dollars),
            Scalar::Text(text) => Err(format!("`{text}` is not a cost in dollars")),
        })
    }
}

impl TryFrom<f64> for Dollars {
    type Error = String;

    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be in range")]
    fn try_from(dollars: f64) -> Result<Self, String> {
        let is_cost = (0.0..=1e9).contains(&dollars);
        is_cost
            .then(|| Self((dollars * 1e6).round() as u64))
            .ok_or_else(|| format!("`{dollars}` is not a cost in dollars"))
    }
}

impl From<UsageFields> for Usage {
    fn from(said: UsageFields) -> Self {
        let UsageFields { input, output, cache_read, cache_write, requests, cost: Dollars(cost) } = said;
        Self { input, output, cache_read, cache_write, requests, cost, ..Self::default() }
    }
}
