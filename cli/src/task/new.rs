//! `task new`: a task file to be filled in.

use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;
use superstep::spec::{SpecId, TaskSpec};
use superstep_app::{CustomOutput, Exit, Refusal};

/// The arguments of `task new`.
#[derive(Args)]
#[command(after_help = "Example:\n  {bin} task new tides --out tasks/tides.md")]
pub(crate) struct New {
    /// The id of the task
    #[arg(value_name = "ID")]
    id: String,

    /// The file to write [default: ID.md]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Writes a task file with everything that can be said in one.
pub(crate) async fn new(args: New) -> Result<CustomOutput, Refusal> {
    let id: SpecId = args.id.parse().map_err(|error| Refusal::new(format!("invalid task id: {error}")))?;
    let file = args.out.unwrap_or_else(|| PathBuf::from(format!("{}.md", id.as_str())));
    write(&file, &TaskSpec::template(&id))?;
    let next = format!("edit it, then run\n  superstep task --task {}\n", file.display());
    CustomOutput::new(format!("wrote {}\n{next}", file.display()), &json!({ "task": id, "file": file }))
}

/// Writes a file that is not there yet.
fn write(file: &Path, text: &str) -> Result<(), Refusal> {
    let opened = std::fs::OpenOptions::new().write(true).create_new(true).open(file);
    opened.and_then(|mut opened| opened.write_all(text.as_bytes())).map_err(|error| {
        let refusal = Refusal::new(format!("{}: {error}", file.display())).exit(Exit::Failed);
        match error.kind() {
            ErrorKind::AlreadyExists => refusal.help("nothing was written; name another file with `--out FILE`"),
            _ => refusal,
        }
    })
}
