//! A server over graphs for LangGraph's SDKs: `agent_server [ADDRESS] [STORE]`, on 127.0.0.1:2024 and in memory unless named.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it is a program")]

mod graphs;

use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;

use superstep::checkpoint::Checkpointer;
use superstep::prelude::*;

fn store(path: Option<&str>) -> Result<Arc<dyn Checkpointer>, RunError> {
    Ok(match path {
        Some(path) => Arc::new(SledCheckpointer::open(path)?),
        None => Arc::new(MemoryCheckpointer::new()),
    })
}

async fn serve(address: &str, path: Option<&str>) -> Result<(), Box<dyn Error>> {
    let router = superstep_server::Options::default().router(graphs::graphs()?, store(path)?);
    let listener = tokio::net::TcpListener::bind(address).await?;
    println!("listening on http://{}", listener.local_addr()?);
    Ok(axum::serve(listener, router).await?)
}

#[tokio::main]
async fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let address = words.first().map_or("127.0.0.1:2024", String::as_str);
    match serve(address, words.get(1).map(String::as_str)).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
