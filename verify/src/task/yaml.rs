//! YAML as a tree of values with their lines. Knows no setting; anchors and tags are rejected, so that a document is
//! never larger than its text.

use std::collections::BTreeMap;
use std::str::FromStr;

use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Span, StrInput, Tag};
use strum::VariantNames;
use superstep_base::settings::{Problems, SettingEntry, SettingNode, SettingsSection, Value, none_of};

/// The maximum nesting depth.
const MAX_DEPTH: usize = 32;

/// The maximum length of a text in bytes.
const MAX_LEN: usize = 1 << 20;

/// The reason why a text is not YAML, or not supported.
#[derive(Debug)]
struct Fault {
    line: usize,
    problem: String,
}

/// Parses a whole file as a section.
pub(super) fn section<'p>(text: &str, problems: &'p Problems) -> Option<SettingsSection<'p>> {
    match parse(text) {
        Ok(root) => SettingsSection::new(String::new(), root.line, root.value, problems),
        Err(fault) => {
            problems.add(fault.line, "", fault.problem);
            None
        }
    }
}

/// Parses one of the words of `C`.
pub(crate) fn choice_of<C: FromStr + VariantNames>(word: &str) -> Result<C, String> {
    word.parse().map_err(|_| none_of(word, C::VARIANTS))
}

/// Parses the first document of a text.
///
/// # Errors
/// The first [`Fault`].
fn parse(text: &str) -> Result<SettingNode, Fault> {
    if text.len() > MAX_LEN {
        return Err(Fault { line: 1, problem: "is larger than 1 MiB".to_owned() });
    }
    let mut reader = Reader { events: Parser::new_from_str(text) };
    loop {
        match reader.next()? {
            (Event::StreamEnd, span) => return Ok(SettingNode { line: span.start.line(), value: Value::Null }),
            (Event::StreamStart | Event::DocumentStart(_), _) => {}
            (event, span) => return reader.node(event, span, 0),
        }
    }
}

struct Reader<'t> {
    events: Parser<'t, StrInput<'t>>,
}

impl<'t> Reader<'t> {
    fn next(&mut self) -> Result<(Event<'t>, Span), Fault> {
        match self.events.next_event() {
            Some(Ok(event)) => Ok(event),
            Some(Err(error)) => Err(fault_of(&error)),
            None => Ok((Event::StreamEnd, Span::default())),
        }
    }

    fn node(&mut self, event: Event<'t>, span: Span, depth: usize) -> Result<SettingNode, Fault> {
        let line = span.start.line();
        let fault = |problem: &str| Err(Fault { line, problem: problem.to_owned() });
        if depth > MAX_DEPTH {
            return fault("nests too deep");
        }
        let value = match event {
            Event::Scalar(_, _, anchor, _) | Event::SequenceStart(anchor, _) | Event::MappingStart(anchor, _)
                if anchor > 0 =>
            {
                return fault("anchors (`&name`) are not read here; write the value out");
            }
            Event::Alias(_) => return fault("aliases (`*name`) are not read here; write the value out"),
            Event::Scalar(text, style, _, tag) => scalar(&text, style, tag.as_deref()),
            Event::SequenceStart(_, None) => Some(Value::List(self.list(depth)?)),
            Event::MappingStart(_, None) => Some(Value::Map(self.map(depth)?)),
            _ => None,
        };
        value.map_or_else(|| fault("tags (`!name`) are not read here"), |value| Ok(SettingNode { line, value }))
    }

    fn list(&mut self, depth: usize) -> Result<Vec<SettingNode>, Fault> {
        let mut items = Vec::new();
        loop {
            match self.next()? {
                (Event::SequenceEnd | Event::StreamEnd, _) => return Ok(items),
                (event, span) => items.push(self.node(event, span, depth + 1)?),
            }
        }
    }

    fn map(&mut self, depth: usize) -> Result<Vec<SettingEntry>, Fault> {
        let mut entries: Vec<SettingEntry> = Vec::new();
        let mut lines: BTreeMap<String, usize> = BTreeMap::new();
        loop {
            let (event, span) = self.next()?;
            let line = span.start.line();
            let Some(key) = key(event, line)? else { return Ok(entries) };
            if let Some(first) = lines.insert(key.clone(), line) {
                let problem = format!("the key `{key}` was already written on line {first}");
                return Err(Fault { line, problem });
            }
            let (event, span) = self.next()?;
            let value = self.node(event, span, depth + 1)?.value;
            entries.push(SettingEntry { key, line, value });
        }
    }
}

/// Returns the name of a key, or `None` at the end of its map.
fn key(event: Event<'_>, line: usize) -> Result<Option<String>, Fault> {
    match event {
        Event::MappingEnd | Event::StreamEnd => Ok(None),
        Event::Scalar(name, _, 0, None) => Ok(Some(name.into_owned())),
        _ => Err(Fault { line, problem: "keys must be plain words".to_owned() }),
    }
}

/// The prefixes of errors that a missing quote causes.
const HINTED: [&str; 2] = ["mapping values are not allowed", "unexpected character"];

const QUOTES: &str = "; a text with `: ` in it, or that starts with a special character, needs quotes";

fn fault_of(error: &ScanError) -> Fault {
    let info = error.info();
    let hint = if HINTED.iter().any(|start| info.starts_with(start)) { QUOTES } else { "" };
    Fault { line: error.marker().line(), problem: format!("it is not valid YAML: {info}{hint}") }
}

/// Returns the value of a scalar by the rules of YAML 1.2; `None` if it has a tag.
fn scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Option<Value> {
    match tag {
        None if style == ScalarStyle::Plain => Some(plain(text)),
        None => Some(Value::Text(text.to_owned())),
        Some(tag) if tag.is_yaml_core_schema() && tag.suffix == "str" => Some(Value::Text(text.to_owned())),
        Some(_) => None,
    }
}

fn plain(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ => number(text).unwrap_or_else(|| Value::Text(text.to_owned())),
    }
}

fn number(text: &str) -> Option<Value> {
    let looks_so = text.trim_start_matches(['-', '+', '.']).starts_with(|c: char| c.is_ascii_digit());
    let radix = |prefix, radix| text.strip_prefix(prefix).and_then(|digits| i64::from_str_radix(digits, radix).ok());
    let whole = text.parse::<i64>().ok().or_else(|| radix("0x", 16)).or_else(|| radix("0o", 8));
    let whole = whole.map(|number| Value::Int(number.into()));
    whole.or_else(|| text.parse().ok().map(Value::Float)).filter(|_| looks_so)
}
