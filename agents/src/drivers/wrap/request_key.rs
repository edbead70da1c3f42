//! Part of a request that a recording compares: prompts and permissions, but not the place, time and key.
//! Pure.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use superstep_base::Fnv;

use crate::drivers::{AgentRequest, Session};

/// Replacement for the agent's folder.
const FOLDER: &str = "{directory}";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct RequestKey {
    pub(super) role: String,
    model: Option<String>,
    system: String,
    prompt: String,
    /// Id of the session; `None` for a new one.
    session: Option<String>,
    /// Name, description and schema of the submit tool.
    submit: Option<(String, String, Value)>,
    write: bool,
    shell: Option<Vec<String>>,
}

impl RequestKey {
    pub(super) fn of(request: &AgentRequest) -> Self {
        let folder = request.directory.display().to_string();
        let anywhere = |text: &str| if folder.len() > 1 { text.replace(&folder, FOLDER) } else { text.to_owned() };
        let session = match &request.session {
            Session::New => None,
            Session::Resume(session) => Some(session.id.clone()),
        };
        let submit = request.submit.as_ref();
        Self {
            role: request.role.clone(),
            model: request.model.clone(),
            system: anywhere(&request.system),
            prompt: anywhere(&request.prompt),
            session,
            submit: submit.map(|tool| (tool.name.clone(), tool.description.clone(), tool.schema.clone())),
            write: request.access.write,
            shell: request.access.shell.as_ref().map(|shell| shell.prefix.clone()),
        }
    }

    /// Returns a hash that is the same on every machine.
    pub(super) fn hash(&self) -> String {
        let text = serde_json::to_vec(self).unwrap_or_default();
        let half = |seed| {
            let mut hash = Fnv::seeded(seed);
            hash.mix(&text);
            hash.finish()
        };
        format!("{:016x}{:016x}", half(0), half(1))
    }

    /// Returns the first difference.
    pub(super) fn difference(&self, asked: &Self) -> Option<Difference> {
        let fields = |of: &Self| match serde_json::to_value(of) {
            Ok(Value::Object(fields)) => fields,
            _ => serde_json::Map::new(),
        };
        let (recorded, asked) = (fields(self), fields(asked));
        let order = ["role", "model", "session", "write", "shell", "submit", "system", "prompt"];
        let differs = |field: &&str| recorded.get(*field) != asked.get(*field);
        let field = order.into_iter().find(differs)?;
        let text = |value: Option<&Value>| match value {
            Some(Value::String(text)) => text.clone(),
            value => value.unwrap_or(&Value::Null).to_string(),
        };
        Some(Difference::of(field, &text(recorded.get(field)), &text(asked.get(field))))
    }
}

/// Difference of two requests.
#[derive(Debug)]
pub(super) struct Difference {
    field: &'static str,
    line: usize,
    recorded: String,
    asked: String,
}

impl Difference {
    fn of(field: &'static str, recorded: &str, asked: &str) -> Self {
        let same = recorded.lines().zip(asked.lines()).take_while(|(one, other)| one == other).count();
        let line = |text: &str| text.lines().nth(same).map(shortened).unwrap_or_default();
        Self { field, line: same + 1, recorded: line(recorded), asked: line(asked) }
    }
}

fn shortened(line: &str) -> String {
    let mut short: String = line.chars().take(120).collect();
    if short.len() < line.len() {
        short.push('…');
    }
    short
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { field, line, recorded, asked } = self;
        write!(f, "`{field}` differs in line {line}: recorded `{recorded}`, asked `{asked}`")
    }
}
