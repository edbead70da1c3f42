//! What an agent's program reads: the prompt, what holds for the session when it begins, and how the result is to be handed
//! over. Pure.

use crate::drivers::{AgentRequest, Session, SubmitTool};

pub(super) fn of(request: &AgentRequest) -> String {
    let system = match request.session {
        Session::New => request.system.trim(),
        Session::Resume(_) => "",
    };
    let result = request.submit.as_ref().map(result).unwrap_or_default();
    let parts = [system, request.prompt.trim(), &result];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
}

/// The program offers no tool of ours: the result is its last message.
fn result(submit: &SubmitTool) -> String {
    let SubmitTool { name, description, schema } = submit;
    format!(
        "When you are done, hand over your result (`{name}`: {description}). There is no tool of this name here: your last \
         message is the result. It is one JSON object that fits this schema, and nothing else:\n\n```json\n{schema}\n```"
    )
}
