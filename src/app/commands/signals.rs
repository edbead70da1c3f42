//! The command that sends a signal, or discards one.

use super::given;
use super::output::CommandOutput;
use super::session::Session;
use crate::app::{
    args::Signal,
    desk::{Ask, SignalAsk},
    failure::Failure,
    shapes::{Sent, Stand},
    text::clean,
};

impl Session {
    pub(super) async fn signal(&self, args: Signal) -> Result<CommandOutput, Failure> {
        let Signal { thread, name, value, by, note, key, discard } = args;
        if let Some(signal) = discard {
            return self.discard(thread, signal).await;
        }
        let value = value.map_or(Ok(serde_json::Value::Null), |text| given::json("JSON", &text))?;
        let ask = SignalAsk { thread: thread.clone(), name: name.clone(), value, by, note, key: key.clone() };
        let sent: Sent = self.ask(Ask::Signal(ask)).await?;
        let mut output = self.stands(sent.stand.clone(), 0)?;
        let with = key.map(|key| format!(" with the key `{}`", clean(&key))).unwrap_or_default();
        output.text.push_str(&format!("\nsignal `{name}`{with} is stored ({})\n", sent.signal));
        if sent.stand.status == "pending" {
            output.text.push_str(&format!(
                "unless a runner resumes it, go on with\n  {}\n",
                self.caller.on("proceed", &thread)
            ));
        }
        Ok(CommandOutput { json: crate::app::local::json(&sent)?, ..output })
    }

    async fn discard(&self, thread: String, signal: String) -> Result<CommandOutput, Failure> {
        let stand: Stand = self.ask(Ask::Discard { thread, signal: signal.clone() }).await?;
        let mut output = self.stands(stand, 0)?;
        output.text.push_str(&format!("\nsignal {} is discarded\n", clean(&signal)));
        Ok(output)
    }
}
