//! A store, the processes that serve it, and the ledger that their runs write to. Must not know what the runs are.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::api::{Api, Process};
use crate::postgres;

/// A store in a folder of its own, or in a schema of its own.
pub(crate) struct Site {
    folder: TempDir,
    /// A path, or the address of a database.
    store: PathBuf,
}

impl Site {
    /// Returns a store of sled.
    pub(crate) fn sled() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        Some(Self { store: folder.path().join("store"), folder })
    }

    /// Returns a store of fjall.
    pub(crate) fn fjall() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        Some(Self { store: format!("fjall:{}", folder.path().join("store").display()).into(), folder })
    }

    /// Returns a store in PostgreSQL with short leases; `None` if it is not installed.
    pub(crate) fn postgres() -> Option<Self> {
        let address = format!("{}&lease=1s&pool=6", postgres::new_store()?);
        Some(Self { store: address.into(), folder: tempfile::tempdir().unwrap() })
    }

    /// Starts a process that serves the store.
    pub(crate) fn start(&self) -> (Process, Api) {
        let own = std::env::current_exe().unwrap();
        let program = own.parent().unwrap().parent().unwrap().join("examples/ledger_server");
        let words = ["serve", "--listen", "127.0.0.1:0", "--allow-private-webhooks", "--store"];
        Process::of(Command::new(program).args(words).arg(&self.store).env("LEDGER", self.ledger()))
    }

    pub(crate) fn store(&self) -> &Path {
        &self.store
    }

    fn ledger(&self) -> PathBuf {
        self.folder.path().join("ledger.txt")
    }

    /// Returns the ledger as it is now.
    pub(crate) fn read_ledger(&self) -> Ledger {
        let text = std::fs::read_to_string(self.ledger()).unwrap_or_default();
        let mut labels: HashMap<String, Vec<(u32, u64)>> = HashMap::new();
        for line in text.lines() {
            let mut words = line.split(' ');
            let mut next = || words.next().unwrap();
            let (process, label, number) = (next().parse().unwrap(), next().to_owned(), next().parse().unwrap());
            labels.entry(label).or_default().push((process, number));
        }
        Ledger(labels)
    }
}

/// The entries of the ledger by their labels: processes and numbers.
pub(crate) struct Ledger(HashMap<String, Vec<(u32, u64)>>);

impl Ledger {
    /// Returns the number of entries of a label.
    pub(crate) fn count(&self, label: &str) -> usize {
        self.0.get(label).map_or(0, Vec::len)
    }

    /// Checks that each entry of a label was written once, but for those that a process was writing when it was killed: the next process
    /// may have written them again. Returns the number of entries.
    pub(crate) fn check(&self, label: &str) -> u64 {
        let (mut last, mut writer) = (0, 0);
        for (process, number) in self.0.get(label).into_iter().flatten() {
            let is_repeated = *number == last && *process != writer && last > 0;
            assert!(*number == last + 1 || is_repeated, "{label}: {:?}", self.0[label]);
            (last, writer) = (*number, *process);
        }
        last
    }
}
