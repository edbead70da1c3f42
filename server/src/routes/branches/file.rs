//! A thread as a file in memory, up to a limit. Must not know requests.

use std::io;

use axum::http::StatusCode;
use superstep::checkpoint::{CheckpointError, ExportOptions, export_thread};

use crate::error::{ApiError, ApiResult};
use crate::server::Server;

/// The largest file; a larger one is written by the command line.
const LIMIT: usize = 256 << 20;

/// Returns a thread as a file in memory.
pub(super) async fn export(server: &Server, thread: &str, options: &ExportOptions) -> ApiResult<Vec<u8>> {
    let mut file = LimitedFile(vec![]);
    match export_thread(&*server.records.0, &thread.into(), options, &mut file).await {
        Ok(_) => Ok(file.0),
        Err(CheckpointError::Io { .. }) => Err(too_large(thread)),
        Err(CheckpointError::BadImport { reason }) => Err(ApiError::conflict(reason)),
        Err(error) => Err(error.into()),
    }
}

fn too_large(thread: &str) -> ApiError {
    let text =
        format!("the thread `{thread}` is larger than {} MiB as a file: use `export` of the command line", LIMIT >> 20);
    ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, text)
}

/// A file in memory up to the limit.
struct LimitedFile(Vec<u8>);

impl io::Write for LimitedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > LIMIT {
            return Err(io::Error::other("the file is too large"));
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
