//! JSON results in text, for agents without a submit tool. Knows JSON and code fences.

use serde_json::Value;

/// Finds the JSON object at the end of an answer: in the last code fence that holds one (```` ```json ````), else the
/// whole text, else the last object that starts on a new line. Does not validate it against a schema.
///
/// ```
/// # use superstep_agents as superstep;
/// use superstep::drivers::fenced_json;
/// let answer = "Done. My verdict:\n```json\n{\"approved\": true}\n```\nCheers!";
/// assert_eq!(fenced_json(answer), Some(serde_json::json!({"approved": true})));
/// assert_eq!(fenced_json("Approved, I would say."), None);
/// ```
pub fn fenced_json(text: &str) -> Option<Value> {
    let in_fence = || fences(text).into_iter().rev().find_map(|body| object(&body));
    in_fence().or_else(|| object(text)).or_else(|| last_object(text))
}

fn object(text: &str) -> Option<Value> {
    serde_json::from_str(text.trim()).ok().filter(Value::is_object)
}

/// Returns the bodies of the code fences; an unclosed one extends to the end.
fn fences(text: &str) -> Vec<String> {
    let (mut bodies, mut open): (Vec<String>, Option<(char, usize)>) = (vec![], None);
    for line in text.lines() {
        let fence = fence(line);
        match (open, fence) {
            (None, Some((mark, length, _))) => {
                bodies.push(String::new());
                open = Some((mark, length));
            }
            (Some((mark, length)), Some((other, longer, true))) if mark == other && longer >= length => open = None,
            (Some(_), _) => bodies.iter_mut().last().into_iter().for_each(|body| {
                body.push_str(line);
                body.push('\n');
            }),
            (None, None) => {}
        }
    }
    bodies
}

/// Parses a line that opens or closes a fence: its character, its length, and whether nothing follows.
fn fence(line: &str) -> Option<(char, usize, bool)> {
    let line = line.trim();
    let mark = line.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    let rest = line.trim_start_matches(mark);
    let length = line.len() - rest.len();
    (length >= 3 && !rest.contains(mark)).then_some((mark, length, rest.is_empty()))
}

/// Returns the last object that starts on a new line, whatever follows it; not a nested one.
fn last_object(text: &str) -> Option<Value> {
    let (mut last, mut begin, mut read_to) = (None, 0, 0);
    for line in text.split_inclusive('\n') {
        if begin >= read_to && line.trim_start().starts_with('{') {
            let mut objects = serde_json::Deserializer::from_str(&text[begin..]).into_iter();
            if let Some(Ok(object)) = objects.next() {
                read_to = begin + objects.byte_offset();
                last = Some(object);
            }
        }
        begin += line.len();
    }
    last
}
