//! One connection: a request, its answer, closed. The subset of HTTP/1.1 that a client of models needs.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

use super::scenario::{Answer, Hang};
use super::{Request, Shared, answer};

pub(super) async fn serve(stream: TcpStream, shared: &Shared) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut stream = BufReader::new(stream);
    let request = read(&mut stream).await?;
    let model = request.body["model"].to_string();
    let answer = shared.choose(request);
    let answer = answer.unwrap_or_else(|| Answer::refusal(404, &format!("no answer fits (model {model})")));
    write(stream.get_mut(), &answer).await
}

async fn read(stream: &mut BufReader<TcpStream>) -> io::Result<Request> {
    let path = line(stream).await?.split(' ').nth(1).unwrap_or_default().to_owned();
    let mut headers = Vec::new();
    loop {
        let line = line(stream).await?;
        let Some((name, value)) = line.split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length").and_then(|(_, value)| value.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body).await?;
    Ok(Request { path, headers, size: body.len(), body: serde_json::from_slice(&body).unwrap_or_default() })
}

/// Fails at the end of the connection: a client that was killed before it had sent its request has made none.
async fn line(stream: &mut BufReader<TcpStream>) -> io::Result<String> {
    let mut line = String::new();
    stream.read_line(&mut line).await?;
    match line.ends_with('\n') {
        true => Ok(line.trim_end().to_owned()),
        false => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

async fn write(stream: &mut TcpStream, answer: &Answer) -> io::Result<()> {
    if answer.how.hang == Some(Hang::Silent) {
        return std::future::pending().await;
    }
    stream.write_all(head(answer).as_bytes()).await?;
    let body = answer::body(answer).into_bytes();
    let sent = match (answer.how.cut, answer.how.hang) {
        (Some(cut), _) => &body[..cut.min(body.len())],
        (None, Some(_)) => &body[..half(&body)],
        (None, None) => &body[..],
    };
    for piece in sent.chunks(if answer.how.bytes == 0 { sent.len().max(1) } else { answer.how.bytes }) {
        chunk(stream, piece).await?;
    }
    match answer.how.hang {
        Some(Hang::Comments) => loop {
            chunk(stream, b"\n\n: still here\n\n").await?;
            tokio::time::sleep(Duration::from_millis(50)).await;
        },
        Some(_) => return std::future::pending().await,
        None => {}
    }
    if answer.how.cut.is_none() {
        stream.write_all(b"0\r\n\r\n").await?;
    }
    stream.shutdown().await
}

/// Returns about half of the body, in whole events.
fn half(body: &[u8]) -> usize {
    let half = body.len() / 2;
    body[..half].windows(2).rposition(|two| two == b"\n\n").map_or(half, |at| at + 2)
}

fn head(answer: &Answer) -> String {
    let is_stream = answer.body.is_none() && !answer.how.json;
    let kind = if is_stream { "text/event-stream" } else { "application/json" };
    let mut head =
        format!("HTTP/1.1 {} Scripted\r\ntransfer-encoding: chunked\r\nconnection: close\r\n", answer.status);
    if !answer.how.no_content_type {
        head.push_str(&format!("content-type: {kind}\r\n"));
    }
    for (name, value) in &answer.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head + "\r\n"
}

async fn chunk(stream: &mut TcpStream, piece: &[u8]) -> io::Result<()> {
    let mut framed = format!("{:x}\r\n", piece.len()).into_bytes();
    framed.extend_from_slice(piece);
    framed.extend_from_slice(b"\r\n");
    stream.write_all(&framed).await?;
    stream.flush().await
}
