//! Commands that move threads between stores, through files or at once; `export --fixture` writes a thread for a test.

use std::fs::{File, OpenOptions, remove_file};
use std::io::{BufWriter, IsTerminal, Write, stdout};
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use superstep::checkpoint::{
    ExportOptions, ExportReport, ImportOptions, MemoryCheckpointer, ThreadArchive, ThreadId, copy_threads,
    export_thread, foreign, import_thread, trust,
};
use superstep::graph::VerifyVerdict;
use superstep_base::files;

use super::session::{CommandOutput, Session, lines};
use crate::args::{CopyStoreArgs, ExportArgs, ImportArgs, RepairArgs, TrustArgs};
use crate::failure::Failure;
use crate::local::{Access, Local, OpenedStore};
use crate::store::{StoreDirectory, StoreLocation};
use crate::text::clean;

const NEEDED: &str = "copying needs exclusive access to both stores: wait for that process, or end it";

impl Session {
    pub(super) async fn export(&self, args: ExportArgs) -> Result<CommandOutput, Failure> {
        let ExportArgs { thread, file, fixture, html, with_secrets } = args;
        if let Some(html) = html {
            return self.export_page(&thread, &html).await;
        }
        if let Some(fixture) = fixture {
            return self.fixture(&thread, &fixture, with_secrets).await;
        }
        if file.is_none() && stdout().is_terminal() {
            return Err(
                Failure::usage("there is no file to write to").help("name a file, or redirect the output to one")
            );
        }
        let local = self.store_to_read().await?;
        let id = local.info(&thread).await?.id;
        let options = if with_secrets { ExportOptions::new().with_secrets() } else { ExportOptions::new() };
        let Some(file) = file else {
            export_thread(&*local.store, &id, &options, stdout().lock()).await?;
            return Ok(CommandOutput::nothing());
        };
        let (exported, name) = (to_file(&local, &id, &options, &file).await?, file.display());
        let mut json = crate::failure::json(&exported)?;
        json["file"] = name.to_string().into();
        CommandOutput::new(lines(&format!("{exported}\nwritten to {name}")), &json)
    }

    pub(super) async fn import(&self, args: ImportArgs) -> Result<CommandOutput, Failure> {
        let ImportArgs { file, thread, trust: trusted } = args;
        let opened = files::open(&file).map_err(|error| {
            let failure = Failure::usage(format!("{}: {error}", file.display()));
            failure.help("use a file that `export` wrote")
        })?;
        let options = thread.into_iter().fold(ImportOptions::new(), ImportOptions::with_name);
        let unpacked = ThreadArchive::read(opened, &options).map_err(|error| {
            let failure = Failure::from(error);
            Failure { error: format!("{}: {}", file.display(), failure.error), ..failure }
        })?;
        let local = self.store_or_new().await?; // not before: what cannot be imported makes no store
        let imported = unpacked.store_in(&*local.store).await?;
        if trusted {
            trust(&*local.store, &imported.thread).await?;
        }
        let mut json = crate::failure::json(&imported)?;
        json["foreign"] = true.into();
        json["trusted"] = trusted.into();
        let next = self.after_import(imported.thread.as_str(), trusted);
        CommandOutput::new(format!("{}\n{next}", lines(&imported.to_string()).trim_end()), &json)
    }

    /// Returns the commands that an imported thread allows.
    fn after_import(&self, name: &str, trusted: bool) -> String {
        let command = |verb: &str| self.caller.thread_command(verb, name);
        if trusted {
            return format!("it is marked as imported and trusted: it can be run\nnext\n  {}\n", command("proceed"));
        }
        let (show, trust) = (command("show"), command("trust"));
        format!(
            "it is marked as imported: it can be inspected, compared and replayed from its records, but not run\nnext\n  {show}\n\
             if you trust its author and its content, trust it with\n  {trust}\n"
        )
    }

    pub(super) async fn trust(&self, args: TrustArgs) -> Result<CommandOutput, Failure> {
        let local = self.local().await?;
        let Some(name) = args.thread else { return self.trust_store(&local) };
        let is_foreign = local.store.is_foreign();
        let id = local.info(&name).await?.id;
        let text = match foreign(&*local.store, &id).await? {
            None => "was not imported: it can be run",
            Some(foreign) if foreign.trusted => "was trusted already: it can be run",
            Some(_) => "can be run now",
        };
        trust(&*local.store, &id).await?;
        let all = if is_foreign { "; so can every thread of this store, which came with a clone" } else { "" };
        CommandOutput::new(format!("{} {text}{all}\n", clean(&name)), &json!({ "thread": name, "trusted": true }))
    }

    fn trust_store(&self, local: &Local) -> Result<CommandOutput, Failure> {
        let text = match local.store.is_foreign() {
            true => "threads of this store can be run now",
            false => "git tracks nothing of this store, or it was trusted already",
        };
        local.store.trust()?;
        CommandOutput::new(format!("{text}\n"), &json!({ "store": self.store, "trusted": true }))
    }

    pub(super) async fn repair(&self, args: RepairArgs) -> Result<CommandOutput, Failure> {
        let StoreDirectory { kind, path } = self.store_directory("repair")?;
        let repaired = kind.repair(path, &args.to).await?;
        let mut json = crate::failure::json(&repaired)?;
        let new = StoreDirectory { kind: *kind, path: args.to }.argument();
        json["store"] = new.display().to_string().into();
        CommandOutput::new(lines(&format!("{repaired}\nthe new store is {}", new.display())), &json)
    }

    pub(super) async fn copy_store(&self, args: &CopyStoreArgs) -> Result<CommandOutput, Failure> {
        self.check_stores(args)?;
        let access = if self.read_only { Access::ReadOnly } else { Access::Look };
        let from = require_open(Local::open(&self.graphs, &args.from, access).await?)?;
        let to = require_open(Local::open(&self.graphs, &args.to, Access::Create).await?)?;
        let copied =
            copy_threads(&*from.store, &*to.store).await.map_err(|error| with_store(error.into(), &args.to))?;
        let mut json = crate::failure::json(&copied)?;
        json["store"] = json!(args.to);
        let text = format!("{copied}\nthe store is {}", args.to.argument().display());
        let code = u8::from(!copied.is_complete());
        Ok(CommandOutput { code, ..CommandOutput::new(lines(&text), &json)? })
    }

    fn check_stores(&self, CopyStoreArgs { from, to }: &CopyStoreArgs) -> Result<(), Failure> {
        if self.caller.store.is_some() {
            let help = "leave out `--store`: the first store is copied into the second";
            return Err(Failure::usage("`copy-store` takes both stores as arguments").help(help));
        }
        if from.is_same(to) {
            return Err(Failure::usage("both are the same store").help("choose another store to copy into"));
        }
        Ok(())
    }

    /// Writes the file, and compares it with the graph as the test will.
    pub(super) async fn fixture(
        &self,
        thread: &str,
        file: &Path,
        with_secrets: bool,
    ) -> Result<CommandOutput, Failure> {
        let local = self.store_to_read().await?;
        let info = local.info(thread).await?;
        let options = if with_secrets { ExportOptions::new().with_secrets() } else { ExportOptions::new() };
        let exported = to_file(&local, &info.id, &options, file).await?;
        let (found, text, verdict) = compare_fixture(&local, &info.graph, file).await?;
        let name = file.display().to_string();
        let mut output = crate::failure::json(&exported)?;
        (output["file"], output["verify"], output["test"]) = (name.as_str().into(), found, test(&name).into());
        let text = format!("{exported}\nwritten to {name}\n{}\n{}", text.trim_end(), verdict_sentence(verdict));
        CommandOutput::new(
            format!("{}the test, with the feature `test-util`\n{}", lines(&text), indent(&test(&name))),
            &output,
        )
    }
}

/// Writes a new file; removes it on failure.
async fn to_file(local: &Local, id: &ThreadId, options: &ExportOptions, path: &Path) -> Result<ExportReport, Failure> {
    let refused = |error: std::io::Error| Failure::new(format!("{}: {error}", path.display()));
    let file = OpenOptions::new().write(true).create_new(true).open(path).map_err(refused)?;
    let mut out = BufWriter::new(file);
    let exported = export_thread(&*local.store, id, options, &mut out).await.map_err(Failure::from);
    let flushed = exported.and_then(|exported| out.flush().map(|()| exported).map_err(refused));
    if flushed.is_err() {
        _ = remove_file(path); // half a file is none
    }
    flushed
}

fn require_open(opened: OpenedStore) -> Result<Local, Failure> {
    match opened {
        OpenedStore::Open(local) => Ok(local),
        OpenedStore::Locked(failure) => Err(failure.help(NEEDED)),
    }
}

fn with_store(failure: Failure, to: &StoreLocation) -> Failure {
    let error = format!("{} (in {})", failure.error, to.argument().display());
    Failure { error, ..failure }
}

/// Compares the thread in a file with its graph.
async fn compare_fixture(local: &Local, graph: &str, file: &Path) -> Result<(Value, String, VerifyVerdict), Failure> {
    let store = MemoryCheckpointer::new();
    let opened = File::open(file).map_err(|error| Failure::new(format!("{}: {error}", file.display())))?;
    let thread: ThreadId = import_thread(&store, opened, &ImportOptions::new()).await?.thread;
    trust(&store, &thread).await?;
    local.graphs.get(graph)?.thread(Arc::new(store), thread).verify(None).await
}

/// Returns the sentence for a verdict.
fn verdict_sentence(verdict: VerifyVerdict) -> &'static str {
    match verdict {
        VerifyVerdict::Same => "the test passes now",
        VerifyVerdict::SameInPart => "the test passes now, for the compared part",
        VerifyVerdict::NothingCompared => {
            "the test has nothing to compare: mark nodes whose side effects all go through `ctx` as `.replayable()`"
        }
        VerifyVerdict::Different => "the test fails until the graph matches the record",
    }
}

fn test(file: &str) -> String {
    let file = json!(file);
    format!(
        "let fixture = superstep::graph::kit::Fixture::load({file})?;\n\
         let report = fixture.verify(&graph).await?;\n\
         assert!(report.agrees(), \"{{report}}\");\n"
    )
}

fn indent(text: &str) -> String {
    text.lines().map(|line| format!("  {}\n", clean(line))).collect()
}
