//! The tests' scripted model server, for manual use: `cargo run --example model_server -- SCENARIO.yaml [ADDRESS]`.
//! Answers `POST /v1/chat/completions` from the scenario and prints each request as a line of JSON.

#[path = "../tests/support/model_server/mod.rs"]
mod model_server;

use std::error::Error;

use model_server::{ModelServer, Scenario};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let file = words.next().ok_or("usage: model_server SCENARIO.yaml [ADDRESS]")?;
    let scenario: Scenario = serde_norway::from_str(&std::fs::read_to_string(&file)?)?;
    let address = words.next().unwrap_or_else(|| "127.0.0.1:0".to_owned());
    let server = ModelServer::start_at(scenario, &address).await?;
    println!("OPENAI_BASE_URL={}", server.url());
    for count in 1.. {
        server.wait_for(count).await;
        println!("{}", server.requests()[count - 1].body);
    }
    Ok(())
}
