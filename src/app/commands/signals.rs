//! The command that sends a signal.

use super::{Session, Told, given};
use crate::app::args::Signal;
use crate::app::desk::{Ask, SignalAsk};
use crate::app::failure::Failure;
use crate::app::shapes::Sent;

impl Session {
    pub(super) async fn signal(&self, args: Signal) -> Result<Told, Failure> {
        let Signal { thread, name, value, by, note } = args;
        let value = value.map_or(Ok(serde_json::Value::Null), |text| given::json("JSON", &text))?;
        let ask = SignalAsk { thread: thread.clone(), name: name.clone(), value, by, note };
        let sent: Sent = self.ask(Ask::Signal(ask)).await?;
        let mut told = self.stands(sent.stand.clone(), 0)?;
        told.text.push_str(&format!("\nsignal `{name}` is stored ({})\n", sent.signal));
        if sent.stand.status == "pending" {
            told.text.push_str(&format!(
                "unless a runner resumes it, go on with\n  {}\n",
                self.caller.on("proceed", &thread)
            ));
        }
        Ok(Told { json: crate::app::local::json(&sent)?, ..told })
    }
}
