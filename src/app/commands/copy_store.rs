//! The command that copies all threads of a store into another one.

use serde_json::json;

use super::output::CommandOutput;
use super::retention::lines;
use super::session::Session;
use crate::app::args::CopyStore;
use crate::app::failure::Failure;
use crate::app::local::{Access, Local, OpenedStore};
use crate::app::store_location::StoreLocation;
use crate::checkpoint::copy_threads;

const NEEDED: &str = "copying needs both stores for itself: wait for that process, or end it";

impl Session {
    pub(super) async fn copy_store(&self, args: &CopyStore) -> Result<CommandOutput, Failure> {
        self.check_stores(args)?;
        let access = if self.read_only { Access::ReadOnly } else { Access::Look };
        let from = free(Local::open(&self.graphs, &args.from, access)?)?;
        let to = free(Local::create(&self.graphs, &args.to)?)?;
        let copied = copy_threads(&*from.store, &*to.store).await.map_err(|error| refused(error.into(), &args.to))?;
        let mut json = crate::app::local::json(&copied)?;
        json["store"] = json!(args.to);
        let text = format!("{copied}\nthe store is {}", args.to.argument().display());
        let code = u8::from(!copied.is_complete());
        Ok(CommandOutput { code, ..CommandOutput::new(lines(&text), &json)? })
    }

    fn check_stores(&self, CopyStore { from, to }: &CopyStore) -> Result<(), Failure> {
        if self.caller.store.is_some() {
            let help = "leave out `--store`: the first store is copied into the second";
            return Err(Failure::usage("`copy-store` takes both stores as words of its own").help(help));
        }
        let is_same = from.path.canonicalize().is_ok_and(|from| to.path.canonicalize().is_ok_and(|to| from == to));
        if is_same {
            return Err(Failure::usage("both are the same store").help("name another one to copy into"));
        }
        Ok(())
    }
}

fn free(opened: OpenedStore) -> Result<Local, Failure> {
    match opened {
        OpenedStore::Open(local) => Ok(local),
        OpenedStore::Locked(failure) => Err(failure.help(NEEDED)),
    }
}

fn refused(failure: Failure, to: &StoreLocation) -> Failure {
    let error = format!("{} (in {})", failure.error, to.argument().display());
    Failure { error, ..failure }
}
