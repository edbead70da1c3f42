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
        let mut output = self.thread_output(sent.report.clone(), 0)?;
        let with = key.map(|key| format!(" with the key `{}`", clean(&key))).unwrap_or_default();
        output.text.push_str(&format!("\nsignal `{name}`{with} is stored ({})\n", sent.signal));
        if sent.report.status == "pending" {
            output.text.push_str(&format!(
                "unless a runner resumes it, go on with\n  {}\n",
                self.caller.thread_command("proceed", &thread)
            ));
        }
        Ok(CommandOutput { json: crate::app::local::json(&sent)?, ..output })
    }

    async fn discard(&self, thread: String, signal: String) -> Result<CommandOutput, Failure> {
        let report: ThreadReport = self.call(ThreadRequest::Discard { thread, signal: signal.clone() }).await?;
        let mut output = self.thread_output(report, 0)?;
        output.text.push_str(&format!("\nsignal {} is discarded\n", clean(&signal)));
        Ok(output)
    }
}
