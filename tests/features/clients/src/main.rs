//! A user's program with clients of its own beside superstep: they work as they would without it, whoever comes first.

use superstep::drivers::SessionStore;
use superstep::drivers::api::{ApiConfig, ApiDriver};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let own = reqwest::Client::new();
    let tls =
        rustls::ClientConfig::builder().with_root_certificates(rustls::RootCertStore::empty()).with_no_client_auth();
    assert!(!tls.crypto_provider().cipher_suites.is_empty());

    let server = TcpListener::bind("127.0.0.1:0").await?;
    let address = server.local_addr()?;
    let answer = tokio::spawn(async move {
        let (mut socket, _) = server.accept().await?;
        let _ = socket.read(&mut [0; 4096]).await?;
        socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\ntides").await
    });
    let text = own.get(format!("http://{address}")).send().await?.text().await?;
    answer.await??;
    assert_eq!(text, "tides");

    ApiDriver::new(ApiConfig::new("https://models.example/v1"), SessionStore::new("sessions"))?;
    println!("{text}");
    Ok(())
}
