//! The command `signal`: sends a signal, or discards one.

use super::json_input;
use super::output::CommandOutput;
use super::session::Session;
use crate::app::args::Signal;
use crate::app::failure::Failure;
use crate::app::service::{SignalInput, ThreadRequest};
use crate::app::shapes::{SignalReport, ThreadReport};
use crate::app::text::clean;

impl Session {
    pub(super) async fn signal(&self, args: Signal) -> Result<CommandOutput, Failure> {
        let Signal { thread, name, value, by, note, key, discard } = args;
        if let Some(signal) = discard {
            return self.discard(thread, signal).await;
        }
        let value = value.map_or(Ok(serde_json::Value::Null), |text| json_input::json("JSON", &text))?;
        let request = SignalInput { thread: thread.clone(), name: name.clone(), value, by, note, key: key.clone() };
        let sent: SignalReport = self.call(ThreadRequest::Signal(request)).await?;
        let with = key.map(|key| format!(" with the key `{}`", clean(&key))).unwrap_or_default();
        let runner = if sent.report.status == "pending" { ": a runner resumes the thread, or you" } else { "" };
        let note = format!("signal `{}`{with} is stored ({}){runner}", clean(&name), sent.signal);
        let output = self.noted_output(sent.report.clone(), 0, &note)?;
        Ok(CommandOutput { json: crate::app::local::json(&sent)?, ..output })
    }

    async fn discard(&self, thread: String, signal: String) -> Result<CommandOutput, Failure> {
        let report: ThreadReport = self.call(ThreadRequest::Discard { thread, signal: signal.clone() }).await?;
        self.noted_output(report, 0, &format!("signal {} is discarded", clean(&signal)))
    }
}
